"""Mean and spread over the seeds, generator by generator: Tables 1 and 2 of Wulff & Ong (2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.optional import require
from oracle_opt.result import Status
from oracle_opt.study.methods import GENERATORS

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.results import Results

SUMMARY_COLUMNS = (
    "instance",
    "generator",
    "runs",
    "n_calls_mean",
    "n_calls_std",
    "inner_steps_mean",
    "oracle_seconds_mean",
    "generator_seconds_mean",
    "n_kernels_mean",
    "n_kernels_std",
    "accuracy_mean",
    "accuracy_std",
    "relative_gap_mean",
    "relative_gap_max",
    "converged",
    "certificates",
)


def groups(results: Results) -> dict[tuple[str, str], pd.DataFrame]:
    """Gather the runs that were answered by instance and generator: instances in the order met, generators in that of
    their table.
    """
    runs = results.runs[results.runs["n_calls"] > 0]
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys((*GENERATORS, *sorted(set(runs["generator"])))))}
    found = {}
    for instance in dict.fromkeys(runs["instance"]):
        part = runs[runs["instance"] == instance]
        for generator in sorted(set(part["generator"]), key=lambda name: ranks[name]):
            found[instance, generator] = part[part["generator"] == generator].sort_values("seed")
    return found


def summary_table(results: Results) -> pd.DataFrame:
    """Mean and spread over the seeds.

    Parameters
    ----------
    results : Results
        Runs whose instances measure `accuracy` and `n_kernels`, as those of `mkl_problem`; refused and failed runs
        without an answer are left out.

    Returns
    -------
    DataFrame
        One row per instance and generator, with the columns of `SUMMARY_COLUMNS`: `runs` is their number and
        `converged` the number of those whose relative gap reached the accuracy asked for, `certificates` what
        theirs came to, in words; `accuracy` is a share in [0, 1]; `std` is the population's (divided by the number of
        runs), hence 0 for one run; `relative_gap` is that at the end.
    """
    pd = require("pandas", "study", "the tables of a study")

    rows: list[tuple[object, ...]] = []
    for (instance, generator), group in groups(results).items():
        calls, kernels, accuracies, gaps = (
            group[name].to_numpy(dtype=float) for name in ("n_calls", "n_kernels", "accuracy", "relative_gap")
        )
        seconds = [np.mean(group[name]) for name in ("oracle_seconds", "generator_seconds")]
        converged = int((group["status"] == Status.CONVERGED.name).sum())
        rows.append(
            (
                *(instance, generator, len(group)),
                *(calls.mean(), calls.std(), np.mean(group["inner_steps"]), *seconds, kernels.mean(), kernels.std()),
                *(accuracies.mean(), accuracies.std(), gaps.mean(), gaps.max(), converged, certificates(group)),
            )
        )
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def certificates(runs: pd.DataFrame) -> str:
    """Say how many certificates of runs came to what, as "2 proven"; "-" for those that were not verified."""
    counts = runs["certificate"].value_counts(sort=False)
    return ", ".join(f"{count} {word}" if word else f"{count} -" for word, count in counts.items())
