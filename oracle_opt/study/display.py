"""Tables 1 and 2 of Wulff & Ong (2014) for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.datasets import Dataset
from oracle_opt.optional import require
from oracle_opt.result import Status
from oracle_opt.study.summary import certificates, groups

if TYPE_CHECKING:
    from rich.table import Table

    from oracle_opt.study.results import Results


def table_of_results(dataset: Dataset, results: Results, *, train: float, C: float, single_cut: bool = False) -> Table:
    """Make the table of one data set.

    Parameters
    ----------
    dataset : Dataset
        For the title.
    results : Results
        Its runs; those without an answer are left out.
    train, C : float
        As for `compare`.
    single_cut : bool
        Whether the runs went on until the gap by the best single cut had closed, too, and the calls to that are shown.

    Returns
    -------
    rich.table.Table
        One row a generator: means and standard deviations over the splits.
    """
    require("rich", "cli", "tables on the terminal")
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    n, d = dataset.shape
    title = f"{escape(dataset.name)}: {n} points, {int(train * n)} of them train, {d} features, C = {C:g}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("generator", no_wrap=True)
    shown = groups(results)
    inner = any((group["inner_steps"] > 0).any() for group in shown.values())
    for heading in (
        "calls",
        *(["by the single-\ncut gap"] if single_cut else []),
        *(["inner\nsteps"] if inner else []),
        "oracle\nseconds",
        "generator\nseconds",
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
            spread(group["n_calls"], "{:.1f}"),
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
