"""Mean and spread over the seeds by generator, Tables 1 and 2 of Wulff & Ong (2014): a frame, and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.clocks import kind_of_seconds
from oracle_opt.optional import require
from oracle_opt.result import Status

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from oracle_opt.datasets import Dataset
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
    "clock",
)


def groups(results: Results) -> dict[tuple[str, str], pd.DataFrame]:
    """Gather the runs that were answered by instance and generator: both in the order given."""
    runs = results.runs[results.runs["n_calls"] > 0]
    found = {}
    for instance in dict.fromkeys(runs["instance"]):
        part = runs[runs["instance"] == instance]
        for generator in (name for name in results.order if name in set(part["generator"])):
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
        runs), hence 0 for one run; `relative_gap` is that at the end; `clock`
        says which seconds they are.
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
                kind_of_seconds(group["clock"]),
            )
        )
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def certificates(runs: pd.DataFrame) -> str:
    """Say how many certificates of runs came to what, as "2 proven"; "-" for those that were not verified."""
    counts = runs["certificate"].value_counts(sort=False)
    return ", ".join(f"{count} {word}" if word else f"{count} -" for word, count in counts.items())


def table_of_results(dataset: Dataset, results: Results, *, train: float, C: float, single_cut: bool = False) -> Table:
    """Make the table of one data set."""
    require("rich", "cli", "tables on the terminal")
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    n, d = dataset.shape
    title = f"{escape(dataset.name)}: {n} points, {int(train * n)} of them train, {d} features, C = {C:g}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("generator", no_wrap=True)
    shown = groups(results)
    seconds = kind_of_seconds(results.runs["clock"])
    inner = any((group["inner_steps"] > 0).any() for group in shown.values())
    for heading in (
        "calls",
        *(["by the single-\ncut gap"] if single_cut else []),
        *(["inner\nsteps"] if inner else []),
        f"oracle\n{seconds}",
        f"generator\n{seconds}",
        "kernels",
        "accuracy\n%",
        "final\nrelative gap",
        "con-\nverged",
        "certificates",
    ):
        table.add_column(heading, justify="right")
    for (instance, generator), group in shown.items():
        reached = _single_cut_calls(results, instance, generator) if single_cut else []
        share = "" if len(reached) == len(group) else f" ({len(reached)}/{len(group)})"
        table.add_row(
            escape(generator),
            ("" if (group["status"] == Status.CONVERGED.name).all() else "> ") + spread(group["n_calls"], "{:.1f}"),
            *([spread(reached, "{:.1f}") + share if reached else "-"] if single_cut else []),
            *([spread(group["inner_steps"], "{:.0f}")] if inner else []),
            spread(group["oracle_seconds"], "{:.3f}"),
            spread(group["generator_seconds"], "{:.3f}"),
            spread(group["n_kernels"], "{:.1f}"),
            spread(100 * group["accuracy"], "{:.1f}"),
            spread(group["relative_gap"], "{:.1e}"),
            f"{(group['status'] == Status.CONVERGED.name).sum()}/{len(group)}",
            certificates(group),
        )
    return table


def spread(values: Sequence[float], form: str) -> str:
    """Write mean and standard deviation."""
    return f"{form.format(np.mean(values))} ± {form.format(np.std(values))}"


def _single_cut_calls(results: Results, instance: str, generator: str) -> list[int]:
    """Calls of each run until the gap by the best single cut was at most `rtol`; of those where it ever was."""
    history, rtol = results.history, results.tau[-1]
    closed = history[
        (history["instance"] == instance) & (history["generator"] == generator) & (history["single_cut_gap"] <= rtol)
    ]
    return [int(calls) for calls in closed.groupby("seed")["call"].min()]
