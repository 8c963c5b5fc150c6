"""Gap against accuracy at the points asked, with their correlation: Figure 2 and Table 3 of Wulff & Ong (2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import one_of
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import WITHOUT
from oracle_opt.study.analyses.curves import Curves, points, together
from oracle_opt.study.analyses.table import Table
from oracle_opt.words import shown

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

BOUNDS = {"certified": "lower_bound", "single-cut": "cut_bound"}


def accuracy(results: Runs, *, trace: str = "accuracy", test: str = "certified") -> Curves:
    """Draw the accuracy at every point asked against its relative gap: a panel an instance, a point a call.

    The `trace` is the column of the history with what is measured at every answer: a name of `Instance.traces`. By the
    `test` the gap of a point is that to the proven bound, 'certified', or to the bound by the best single cut alone,
    'single-cut'. The caption has Pearson's correlation, as `correlations` has it.
    """
    groups: dict[tuple[str, str], list[tuple[Vector, Vector]]] = {}
    for instance, generator, gaps, values in _calls(results, trace, test):
        groups.setdefault((instance, generator), []).append((gaps, values))
    parts = [
        points(instance, generator, *(np.concatenate(columns) for columns in zip(*runs, strict=True)))
        for (instance, generator), runs in groups.items()
    ]
    found = correlations(results, trace=trace, test=test).data
    words = "; ".join(
        f"{row.instance}: {row.generator} {row.correlation:.2f}" for row in found.itertuples() if row.runs
    )
    return Curves(
        together(parts),
        f"{trace.capitalize()} against the gap of the point asked (test '{test}')",
        "relative gap of the call",
        trace,
        f"A point is a call: the relative gap of the point that was asked (test '{test}') and the {trace} there. "
        f"Pearson's correlation of the two, mean over the runs: {words or 'none'}.",
        log_x=True,
        kind="points",
        order=results.order,
    )


def correlations(results: Runs, *, trace: str = "accuracy", test: str = "certified") -> Table:
    """Make the table of Pearson's correlations of gap and accuracy over the calls of a run.

    The correlation is that of the gap itself, not of its logarithm, so the first calls weigh most. Runs of constant
    accuracy have none and are left out. `trace` and `test` are as in `accuracy`. A row is an instance and generator:
    the mean over the runs, its standard deviation, and the number of runs.
    """
    pd = require("pandas", "study", "the tables of a study")

    rows: dict[tuple[str, str], list[float]] = {}
    for instance, generator, gaps, values in _calls(results, trace, test):
        found = rows.setdefault((instance, generator), [])
        if len(gaps) > 1 and np.ptp(gaps) > 0 and np.ptp(values) > 0:
            found.append(float(np.corrcoef(gaps, values)[0, 1]))
    frame = pd.DataFrame(
        [
            (*key, np.mean(found) if found else np.nan, np.std(found) if found else np.nan, len(found))
            for key, found in rows.items()
        ],
        columns=["instance", "generator", "correlation", "deviation", "runs"],
    )
    return Table(
        frame,
        f"Correlation of gap and {trace}, test '{test}'",
        f"Pearson's correlation, over the calls of a run, of the relative gap of the point asked and the {trace} "
        "there: mean and standard deviation over the runs in which both vary.",
    )


def _calls(results: Runs, trace: str, test: str) -> Iterator[tuple[str, str, Vector, Vector]]:
    """Instance, generator, gaps and traced values of every run, where both are known."""
    bound = BOUNDS[one_of("test", test, BOUNDS)]
    history = results.history
    for column in (trace, "value", bound):
        if column not in history.columns:
            raise InvalidArgument(
                f"`trace` must be a column of the history, beside value and {bound}; there is no {shown(column)}. "
                "Give the instances a trace of this name"
            )
    without = {(r.instance, r.generator, r.seed) for r in results.runs.itertuples() if r.status in WITHOUT}
    error = history["error"].fillna(0.0) if "error" in history.columns else 0.0
    upper = (history["value"] + error).astype(float)
    gaps = ((upper - history[bound]).clip(lower=0.0) / upper.abs().clip(lower=1e-12)).to_numpy(dtype=float)
    values = history[trace].to_numpy(dtype=float)
    known = np.isfinite(gaps) & np.isfinite(values)
    if not known.any():
        raise InvalidArgument(f"`trace` {shown(trace)} must be known at a call with a finite gap, and is at none")
    keys = ["instance", "generator", "seed"]
    for key, places in history.groupby(keys, sort=False).indices.items():
        kept = places[known[places]]
        if key not in without and len(kept):
            yield key[0], key[1], gaps[kept], values[kept]
