"""Results written down by hand, for tests of definitions: gaps after each call, and how the runs ended."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from oracle_opt.study.records import RUN_COLUMNS
from oracle_opt.study.results import Results

Key = tuple[str, str, int]


def hand_results(
    gaps: Mapping[Key, Sequence[float]],
    tau: Sequence[float] = (1e-2, 1e-4),
    *,
    upper: Mapping[Key, Sequence[float]] | None = None,
    oracle: Mapping[Key, Sequence[float]] | None = None,
    generator: Mapping[Key, Sequence[float]] | None = None,
    single: Mapping[Key, Sequence[float]] | None = None,
    runs: Mapping[Key, Mapping[str, Any]] | None = None,
    columns: Mapping[str, Mapping[Key, Sequence[Any]]] | None = None,
    max_calls: int = 100,
) -> Results:
    """Make results of the relative gaps of runs, by (instance, generator, seed).

    A run CONVERGED if its last gap is at most the finest accuracy, which is its `rtol`; otherwise it stopped at
    MAX_CALLS. An oracle call takes a second, the generator half of one. `runs` holds changes of the rows of runs.
    """
    rows, histories = [], []
    for key, values in gaps.items():
        gap = np.asarray(values, dtype=float)
        n = len(gap)
        up = np.asarray((upper or {}).get(key, 1.0 + gap), dtype=float)
        frame = pd.DataFrame(
            {
                "call": np.arange(1, n + 1),
                "value": up,
                "upper_bound": up,
                "lower_bound": np.ones(n),
                "relative_gap": gap,
                "single_cut_gap": np.asarray((single or {}).get(key, gap), dtype=float),
                "oracle_seconds": np.asarray((oracle or {}).get(key, np.ones(n)), dtype=float),
                "generator_seconds": np.asarray((generator or {}).get(key, np.full(n, 0.5)), dtype=float),
            }
        )
        for name, by_key in (columns or {}).items():
            frame[name] = list(by_key[key])
        for place, name in enumerate(("instance", "generator", "seed")):
            frame.insert(place, name, key[place])
        histories.append(frame)
        row = dict.fromkeys(RUN_COLUMNS, "") | {
            "instance": key[0],
            "generator": key[1],
            "seed": key[2],
            "family": "hand",
            "clock": "processor",
            "n": 4,
            "status": "CONVERGED" if n and gap[-1] <= min(tau) else "MAX_CALLS",
            "n_calls": n,
            "oracle_seconds": float(frame["oracle_seconds"].sum()),
            "generator_seconds": float(frame["generator_seconds"].sum()),
            "inner_steps": 0,
            "seconds": 2.0 * n,
            "processor_seconds": 2.0 * n,
            "start_value": float(up[0]) if n else np.nan,
            "upper_bound": float(up[-1]) if n else np.nan,
            "lower_bound": 1.0,
            "relative_gap": float(gap[-1]) if n else np.nan,
            "optimum": np.nan,
            "optimum_error": np.nan,
            "rtol": min(tau),
            "max_calls": max_calls,
            "max_seconds": np.nan,
            "digest": "/".join(map(str, key)),
        }
        rows.append(row | dict((runs or {}).get(key, {})))
    return Results(pd.DataFrame(rows), pd.concat(histories, ignore_index=True), tau)


def to(calls: float, longest: int = 50, tau: float = 1e-4) -> list[float]:
    """Gaps of a run that has `tau` at this call and 1 before; of one that never has it, for infinite calls."""
    if calls == np.inf:
        return [1.0] * longest
    return [1.0] * (int(calls) - 1) + [tau]
