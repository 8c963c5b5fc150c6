"""Tables 1 and 2 of Wulff & Ong (2014) for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.datasets import Dataset
from oracle_opt.study.records import Run, Settings
from oracle_opt.study.summary import groups

if TYPE_CHECKING:
    from rich.table import Table


def table_of_results(dataset: Dataset, runs: Sequence[Run], settings: Settings) -> Table:
    """Make the table of one data set.

    Parameters
    ----------
    dataset : Dataset
        For the title.
    runs : sequence of Run
        Its finished runs, at least one.
    settings : Settings
        Those of the runs.

    Returns
    -------
    rich.table.Table
        One row a generator: means and standard deviations over the splits.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    n, d = dataset.shape
    title = (
        f"{escape(dataset.name)}: {n} points, {int(settings.train * n)} of them train, {d} features, C = {settings.C:g}"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("generator", no_wrap=True)
    for heading in (
        "calls",
        *(["by the single-\ncut gap"] if settings.single_cut else []),
        "oracle\nseconds",
        "generator\nseconds",
        "kernels",
        "accuracy\n%",
        "final\nrelative gap",
        "con-\nverged",
    ):
        table.add_column(heading, justify="right")
    for (_, generator), group in groups(runs).items():
        reached = [run.single_cut_calls for run in group if run.single_cut_calls is not None]
        share = "" if len(reached) == len(group) else f" ({len(reached)}/{len(group)})"
        table.add_row(
            escape(generator),
            spread([run.n_calls for run in group], "{:.1f}"),
            *([spread(reached, "{:.1f}") + share if reached else "-"] if settings.single_cut else []),
            spread([run.oracle_seconds for run in group], "{:.3f}"),
            spread([run.generator_seconds for run in group], "{:.3f}"),
            spread([run.n_kernels for run in group], "{:.1f}"),
            spread([100 * run.accuracy for run in group], "{:.1f}"),
            spread([run.relative_gap for run in group], "{:.1e}"),
            f"{sum(run.converged for run in group)}/{len(group)}",
        )
    return table


def spread(values: Sequence[float], form: str) -> str:
    """Write mean and standard deviation."""
    return f"{form.format(np.mean(values))} ± {form.format(np.std(values))}"
