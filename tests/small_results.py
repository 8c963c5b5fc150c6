"""Results of a small study made by hand from runs of `minimize`, for tests of what is made of them."""

from functools import cache

import numpy as np
import pandas as pd

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.study.records import REFUSED
from oracle_opt.study.results import Results

GENERATORS = {
    "level-set": LevelSet(),
    "analytic-center": AnalyticCenter(),
    "kelley": Kelley(),
    "proximal-bundle": ProximalBundle(),
}
TAU = (1e-2, 1e-4, 1e-6)


def largest_of_pieces(n: int, seed: int) -> FunctionOracle:
    """The largest of 20 random quadratic functions on a box."""
    rng = np.random.default_rng(seed)
    slopes, heights, centers = rng.normal(size=(20, n)), rng.normal(size=20), rng.uniform(-1, 1, (20, n))

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = slopes @ z + heights + 0.5 * ((z - centers) ** 2).sum(axis=1)
        i = int(values.argmax())
        return float(values[i]), slopes[i] + z - centers[i]

    return FunctionOracle(function, Box(-np.ones(n), np.ones(n)), name=f"pieces {n} {seed}")


def small_results(max_calls: int = 60, instances: int = 3, seeds: int = 2) -> Results:
    """Four generators on the largest of pieces; some converge, some do not, one run is refused."""
    runs, histories = _frames(max_calls, instances, seeds)
    return Results(runs.copy(), histories.copy(), TAU)


@cache
def _frames(max_calls: int, instances: int, seeds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows of the runs, and their histories: many tests ask for the same."""
    runs, histories = [], []
    for i in range(instances):
        n = 2 + 2 * i
        for seed in range(seeds):
            for name, generator in GENERATORS.items():
                result = minimize(
                    largest_of_pieces(n, seed), generator, rtol=min(TAU), max_calls=max_calls, keep_cuts=True
                )
                history = result.history.to_frame()
                history["single_cut_gap"] = result.history.single_cut_gap
                history.insert(0, "instance", f"pieces/{n}")
                history.insert(1, "generator", name)
                history.insert(2, "seed", seed)
                history["accuracy"] = 1.0 - 0.1 * np.minimum(history["relative_gap"], 1.0)
                runs.append(
                    {
                        "instance": f"pieces/{n}",
                        "generator": name,
                        "seed": seed,
                        "family": "pieces",
                        "n": n,
                        "status": result.status.name,
                        "message": result.message,
                        "traceback": "",
                        "n_calls": result.n_calls,
                        "oracle_seconds": result.oracle_seconds,
                        "generator_seconds": result.generator_seconds,
                        "inner_steps": 0,
                        "seconds": 1.1 * (result.oracle_seconds + result.generator_seconds),
                        "processor_seconds": result.oracle_seconds + result.generator_seconds,
                        "start_value": float(history["value"].iloc[0]),
                        "upper_bound": result.upper_bound,
                        "lower_bound": result.lower_bound,
                        "relative_gap": result.relative_gap,
                        "optimum": np.nan,
                        "optimum_error": np.nan,
                        "rtol": min(TAU),
                        "max_calls": max_calls,
                        "max_seconds": np.nan,
                        "recipe": "tests",
                        "oracle": f"pieces {n} {seed}",
                        "method": repr(generator),
                        "version": "0.1.0",
                        "certificate": "proven",
                        "clock": "processor",
                        "machine": "a test",
                        "digest": f"{i:02d}{seed:02d}{name}",
                        "accuracy": float(history["accuracy"].iloc[-1]),
                    }
                )
                histories.append(history)
    refused = dict.fromkeys(runs[0], np.nan) | {
        "instance": "pieces/2",
        "generator": "spectral-bundle",
        "seed": 0,
        "family": "pieces",
        "n": 2,
        "status": REFUSED,
        "message": "it needs eigenpairs, which the oracle does not give",
        "traceback": "",
        "n_calls": 0,
        "rtol": min(TAU),
        "max_calls": max_calls,
        "recipe": "tests",
        "oracle": "pieces 2 0",
        "method": "SpectralBundle()",
        "version": "0.1.0",
        "certificate": "",
        "clock": "processor",
        "machine": "a test",
        "digest": "refused",
    }
    return pd.DataFrame([*runs, refused]), pd.concat(histories, ignore_index=True)
