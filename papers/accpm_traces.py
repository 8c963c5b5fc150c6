"""Wulff & Ong (2014), Table 3 and Figures 1 to 3: gap and accuracy of the intermediate solutions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.study.analyses.curves import Curves, points, together
from oracle_opt.study.plots import spread_of
from papers.accpm_runs import (
    COLUMNS,
    GAP,
    KERNELS,
    OF_THE_PAPER,
    SETS,
    STOP,
    TracedRuns,
    runs_of,
)
from papers.repetitions import Options, Reproduced, Tally

if TYPE_CHECKING:
    import pandas as pd

OF_FIGURE_1 = ("bupa", "sonar", "heart", "vote")
OF_FIGURE_2 = ("ionosphere", "sonar")
OF_FIGURE_3 = ("wpbc", "ionosphere", "pima", "wdbc")
SOLUTIONS = (
    "the intermediate solutions of simpleMKL are those at the end of its iterations, of the others the query points; "
    "their gap is that of the solution's own cut. The paper does not say whether it is that or the least so far"
)


def solutions(trace: pd.DataFrame, method: str) -> pd.DataFrame:
    """The calls at the intermediate solutions of a run."""
    if method != "simpleMKL":
        return trace
    serious = np.where(trace["step"] == "serious", np.arange(len(trace)), 0)
    last = np.maximum.accumulate(serious) if len(trace) else serious
    ended = np.flatnonzero(trace["inner_steps"].to_numpy() > 0)
    return trace.iloc[np.unique(np.r_[0, last[ended]])] if len(trace) else trace


def correlation(trace: pd.DataFrame) -> float:
    """Pearson's, of gap and accuracy; NaN where one of them does not vary."""
    gaps, accuracies = trace["own_gap"].to_numpy(), trace["accuracy"].to_numpy()
    if len(gaps) < 2 or not np.ptp(gaps) or not np.ptp(accuracies):
        return float("nan")
    return float(np.corrcoef(gaps, accuracies)[0, 1])


def table3(options: Options) -> Reproduced:
    """Correlation of gap and accuracy over the intermediate solutions of a run."""
    runs = runs_of(SETS, options)
    tally = _correlations(runs, OF_THE_PAPER)
    agrees = [
        f"{method} on {sum(tally.mean(name, f'correlation, {method}') < 0 for name in runs.sets)}"
        for method in OF_THE_PAPER
    ]
    findings = (
        f"Of {len(runs.sets)} sets a smaller gap goes with a better accuracy, on average over the splits, for "
        f"{', '.join(agrees)}.",
    )
    notes = [*runs.notes, SOLUTIONS, "runs of constant accuracy have no correlation and are left out"]
    caption = " ".join([COLUMNS, KERNELS, STOP])
    return Reproduced(tally.rows(), tuple(notes), caption=caption, findings=findings, absent=runs.absent)


def figure2(options: Options) -> Reproduced:
    """Gap and accuracy of every call of one run of accpm."""
    runs = runs_of({name: SETS[name] for name in OF_FIGURE_2}, options)
    tally = _correlations(runs, ("accpm",))
    parts = []
    for (name, method, _), trace in runs.traces.items():
        if method == "accpm":
            for words, place in (("first", 0), ("last", -1)):
                tally.add(name, f"accuracy % of the {words} call, accpm", 100 * float(trace["accuracy"].iloc[place]))
    for name in runs.sets:
        trace = runs.traces[name, "accpm", options.seed]
        parts.append(points(name, "accpm", trace["own_gap"].to_numpy(), 100 * trace["accuracy"].to_numpy()))
    figure = Curves(
        together(parts),
        "Gap and accuracy of every call",
        "relative gap of the call",
        "test accuracy, %",
        "Test accuracy against the relative gap, a point a call of accpm on the first split.",
        log_x=True,
        kind="points",
    )
    notes = (*runs.notes, SOLUTIONS, "the paper prints points alone; its correlations are in Table 3")
    return Reproduced(tally.rows(), notes, figure, caption=" ".join([COLUMNS, KERNELS, STOP]), absent=runs.absent)


def figure1(options: Options) -> Reproduced:
    """Gap along the iterations, of four sets."""
    return _gap_curves(OF_FIGURE_1, options)


def figure3(options: Options) -> Reproduced:
    """The same of the remaining sets."""
    return _gap_curves(OF_FIGURE_3, options)


def _gap_curves(names: Iterable[str], options: Options) -> Reproduced:
    runs, tally, parts, steady = runs_of({name: SETS[name] for name in names}, options), Tally(), [], []
    for name in runs.sets:
        rises = {}
        for method in OF_THE_PAPER:
            for calls in runs.column(name, method, "calls"):
                tally.add(name, f"calls, {method}", float(calls))
            gaps = [
                solutions(trace, method)["own_gap"].to_numpy()
                for (instance, generator, _), trace in runs.traces.items()
                if (instance, generator) == (name, method) and len(trace)
            ]
            if gaps:
                rows = _as_long(gaps)
                parts.append(points(name, method, np.arange(1.0, 1.0 + rows.shape[1]), *spread_of(rows)))
                rises[method] = np.mean([np.mean(np.diff(of_run) > 0) for of_run in gaps if len(of_run) > 1])
        steady.append(f"{name}: " + ", ".join(f"{method} {100 * share:.0f} %" for method, share in rises.items()))
    findings = (
        "Share of the iterations at which the gap of the solution is wider than at the one before, on average over the "
        f"splits: {'; '.join(steady)}.",
    )
    figure = Curves(
        together(parts),
        "Gap along the iterations",
        "iteration",
        "relative gap of the solution, by its own cut",
        "Gap of each intermediate solution by its own cut: geometric mean over the splits and the range from the 10 % "
        "to the 90 % quantile. A run that has ended keeps its last gap.",
        log_x=True,
        log_y=True,
        threshold=GAP,
        order=OF_THE_PAPER,
    )
    notes = (
        *runs.notes,
        SOLUTIONS,
        "the paper prints curves alone; the calls at which they end are those of its Table 1",
    )
    return Reproduced(
        tally.rows(), notes, figure, " ".join([COLUMNS, KERNELS, STOP]), findings=findings, absent=runs.absent
    )


def _as_long(gaps: list[Vector]) -> Matrix:
    """Rows as long as the longest: a run that has ended keeps its last gap."""
    most = max(map(len, gaps))
    return np.array([np.r_[of_run, np.full(most - len(of_run), of_run[-1])] for of_run in gaps])


def _correlations(runs: TracedRuns, methods: Iterable[str]) -> Tally:
    tally = Tally()
    for name in runs.sets:
        for method in methods:
            for (instance, generator, _), trace in runs.traces.items():
                if (instance, generator) == (name, method):
                    tally.add(name, f"correlation, {method}", correlation(solutions(trace, method)))
    return tally
