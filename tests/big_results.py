"""Results of a study that was never run, as large as wanted, for tests of the report."""

import numpy as np
import pandas as pd

from oracle_opt.study.results import Results

TAU = (1e-2, 1e-4, 1e-6)


def big_results(instances: int, seeds: int, generators: int, calls: int, seed: int = 0) -> Results:
    """Each run does all calls; its gap falls by random factors, fast or slowly."""
    rng = np.random.default_rng(seed)
    rows, histories = [], []
    for run in range(instances * seeds * generators):
        instance, rest = divmod(run, seeds * generators)
        split, generator = divmod(rest, generators)
        family = f"family {instance % 7}"
        key = {"instance": f"{family}/{instance}", "generator": f"generator {generator}", "seed": split}
        gap = np.exp(1 - np.cumsum(rng.gamma(0.3, 1.0, calls)) * rng.uniform(7, 20) / (0.3 * calls))
        upper = np.minimum.accumulate(100 * (1 + gap * rng.uniform(0.3, 0.7)))
        lower = np.maximum.accumulate(upper - 100 * gap)
        history = pd.DataFrame(
            key
            | {
                "call": np.arange(1, calls + 1),
                "upper_bound": upper,
                "lower_bound": lower,
                "relative_gap": (upper - lower) / upper,
                "single_cut_gap": (upper - lower) / upper,
                "oracle_seconds": rng.gamma(2, 0.01, calls),
                "generator_seconds": rng.gamma(2, 0.005, calls),
            }
        )
        last = history.iloc[-1]
        rows.append(
            key
            | {
                "family": family,
                "n": 10 * instance + 2,
                "status": "CONVERGED" if last["relative_gap"] <= min(TAU) else "MAX_CALLS",
                "message": f"The relative gap is {last['relative_gap']:.17g}.",
                "traceback": "",
                "n_calls": calls,
                "oracle_seconds": history["oracle_seconds"].sum(),
                "processor_seconds": history["oracle_seconds"].sum(),
                "generator_seconds": history["generator_seconds"].sum(),
                "inner_steps": 0,
                "seconds": history["oracle_seconds"].sum() + history["generator_seconds"].sum(),
                "start_value": upper[0],
                "upper_bound": last["upper_bound"],
                "lower_bound": last["lower_bound"],
                "relative_gap": last["relative_gap"],
                "optimum": 100.0,
                "optimum_error": 1e-9,
                "rtol": min(TAU),
                "max_calls": calls,
                "max_seconds": 600.0,
                "recipe": "made up",
                "oracle": f"Family(n={10 * instance + 2}, seed={split}, data=0123456789abcdef)",
                "method": f"Generator(width={generator}, adaptive=True)",
                "version": "0.1.0",
                "certificate": "proven",
                "clock": "processor",
                "machine": "Linux x86_64, a processor, Python 3.11.2, numpy 2.1.0",
                "digest": f"{run:032x}",
            }
        )
        histories.append(history)
    return Results(pd.DataFrame(rows), pd.concat(histories, ignore_index=True), TAU)
