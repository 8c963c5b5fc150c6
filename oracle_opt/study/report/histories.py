"""The histories of the runs, one below the other, and what the page needs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.optional import require
from oracle_opt.study.records import KEY
from oracle_opt.study.report.curve_text import curve_text, levels, widths

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs

# Of the improvements tried, the smallest one with which the page is small enough is taken, or the last.
STEPS = (0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


def kept_points(gap: Vector, first: NDArray[np.bool_], step: float) -> NDArray[np.bool_]:
    """Choose the points of histories, one below the other, that a figure needs.

    First, last, and those in another interval ``((1 - step)^(j+1), (1 - step)^j]`` of the gap than the one before.
    """
    if not len(gap):
        return np.zeros(0, dtype=bool)
    interval = np.full(len(gap), np.nan)
    proper = np.isfinite(gap) & (gap > 0)
    interval[proper] = np.floor(np.log(gap[proper]) / np.log1p(-step))
    interval[gap == 0] = np.inf
    interval[gap == np.inf] = -np.inf
    changed = np.ones(len(gap), dtype=bool)
    changed[1:] = (interval[1:] != interval[:-1]) & ~(np.isnan(interval[1:]) & np.isnan(interval[:-1]))
    kept: NDArray[np.bool_] = changed | first | np.append(first[1:], True)
    return kept


def shortened(texts: list[str], budget: int) -> tuple[list[str], int]:
    """Keep the end of long texts, so that all different ones together have no more characters than the budget."""
    different = np.array([len(text) for text in set(texts)] or [0])
    if different.sum() <= budget:
        return texts, 0
    longest = 80
    while np.minimum(different, 2 * longest).sum() <= budget:
        longest *= 2
    return [text if len(text) <= longest else "... " + text[-longest:] for text in texts], longest


class Histories:
    """The histories of a study's runs in the order of the runs."""

    def __init__(self, results: Runs) -> None:
        pd = require("pandas", "study", "the tables of a study")

        keys = pd.MultiIndex.from_frame(results.runs[list(KEY)].astype(str))
        run = keys.get_indexer(pd.MultiIndex.from_frame(results.history[list(KEY)].astype(str)))
        order = np.argsort(run, kind="stable")
        order = order[run[order] >= 0]
        history = results.history.iloc[order]
        self.n_runs = len(keys)
        bounds = (results.runs[name].astype(float) for name in ("upper_bound", "lower_bound"))
        self.ends = [(f"{upper:.9g}", f"{lower:.9g}") for upper, lower in zip(*bounds, strict=True)]
        self.run = run[order]

        def column(name: str) -> Vector:
            if name not in history.columns:
                return np.full(len(history), np.nan)
            found: Vector = history[name].to_numpy(dtype=float, na_value=np.nan)
            return found

        self.call, self.gap = column("call"), column("relative_gap")
        self.upper, self.lower = column("upper_bound"), column("lower_bound")
        self.first = np.diff(self.run, prepend=-1) != 0
        self.oracle_seconds = self._added(column("oracle_seconds"))
        self.seconds = self.oracle_seconds + self._added(column("generator_seconds"))

    def _added(self, seconds: Vector) -> Vector:
        """Sums from the beginning of each history on."""
        total = np.cumsum(seconds)
        starts = np.flatnonzero(self.first)
        before = np.repeat(total[starts] - seconds[starts], np.diff(np.append(starts, len(total))))
        found: Vector = np.maximum(total - before, 0.0)
        return found

    def n_kept(self, step: float) -> int:
        """Count the points that are kept with this improvement."""
        return int(kept_points(self.gap, self.first, step).sum())

    def curves(self, step: float) -> tuple[int, int, list[Any]]:
        """Write the curves of all runs: the numbers of points kept and in all, and a list, one a run.

        None without a history, else the number of points, six columns, and the last bounds if they are not the run's.
        Columns: calls; levels of the gap, of the bounds' ways to their ends, of seconds in the oracle, and in all.
        """
        kept = kept_points(self.gap, self.first, step)
        fine, coarse = widths(step)
        found: list[Any] = [None] * self.n_runs
        starts = np.flatnonzero(self.first)
        ends = np.append(starts, len(self.run))[1:]
        for start, end in zip(starts, ends, strict=True):
            rows = start + np.flatnonzero(kept[start:end])
            upper, lower = self.upper[end - 1], self.lower[end - 1]
            with np.errstate(invalid="ignore"):  # infinite bounds
                above, below = np.abs(self.upper[rows] - upper), np.abs(lower - self.lower[rows])
            calls = self.call[rows]
            columns = (
                np.where(np.isfinite(calls), calls, 0).astype(np.int64),
                levels(self.gap[rows], fine),
                levels(above, coarse),
                levels(below, coarse),
                levels(self.oracle_seconds[rows], coarse),
                levels(self.seconds[rows], coarse),
            )
            run = self.run[start]
            found[run] = [len(rows), curve_text(columns)]
            bounds = f"{upper:.9g}", f"{lower:.9g}"
            if bounds != self.ends[run]:
                found[run] += map(float, bounds)
        return int(kept.sum()), len(self.run), found
