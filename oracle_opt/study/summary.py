"""From runs to tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.study.methods import GENERATORS
from oracle_opt.study.records import Run

if TYPE_CHECKING:
    import pandas as pd

SUMMARY_COLUMNS = (
    "dataset",
    "generator",
    "runs",
    "n_calls_mean",
    "n_calls_std",
    "oracle_seconds_mean",
    "generator_seconds_mean",
    "n_kernels_mean",
    "n_kernels_std",
    "accuracy_mean",
    "accuracy_std",
    "relative_gap_mean",
    "relative_gap_max",
    "converged",
)


def groups(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Gather runs by data set and generator: data sets in the order met, generators in that of their table."""
    found: dict[tuple[str, str], list[Run]] = {}
    datasets: dict[str, int] = {}
    for run in runs:
        datasets.setdefault(run.dataset, len(datasets))
        found.setdefault((run.dataset, run.generator), []).append(run)
    ranks = {name: rank for rank, name in enumerate(GENERATORS)}

    def rank(key: tuple[str, str]) -> tuple[int, int, str]:
        return datasets[key[0]], ranks.get(key[1], len(ranks)), key[1]

    return {key: sorted(found[key], key=lambda run: run.split) for key in sorted(found, key=rank)}


def summary_table(runs: Iterable[Run]) -> pd.DataFrame:
    """Mean and spread over the splits.

    Parameters
    ----------
    runs : iterable of Run
        Finished runs.

    Returns
    -------
    DataFrame
        One row per data set and generator, with the columns of `SUMMARY_COLUMNS`: `runs` is their number and
        `converged` the number of those whose relative gap reached `rtol`; `accuracy` is a share in [0, 1]; `std` is
        the population's (divided by the number of runs), hence 0 for one run; `relative_gap` is that at the end.
    """
    import pandas as pd

    rows = []
    for (dataset, generator), group in groups(runs).items():
        calls, kernels, accuracies, gaps = (
            np.array([getattr(run, name) for run in group], dtype=float)
            for name in ("n_calls", "n_kernels", "accuracy", "relative_gap")
        )
        oracle = np.mean([run.oracle_seconds for run in group])
        own = np.mean([run.generator_seconds for run in group])
        rows.append(
            (
                *(dataset, generator, len(group)),
                *(calls.mean(), calls.std(), oracle, own, kernels.mean(), kernels.std()),
                *(accuracies.mean(), accuracies.std(), gaps.mean(), gaps.max()),
                sum(run.converged for run in group),
            )
        )
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def history_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Histories one below the other.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs, at least one.

    Returns
    -------
    DataFrame
        One row per oracle call of every run: `dataset`, `generator`, `split`, the columns of `History`,
        `relative_gap` and `single_cut_gap`.
    """
    import pandas as pd

    tables = []
    for group in groups(runs).values():
        for run in group:
            table = run.history.copy()
            for place, name in enumerate(("dataset", "generator", "split")):
                table.insert(place, name, getattr(run, name))
            tables.append(table)
    return pd.concat(tables, ignore_index=True)
