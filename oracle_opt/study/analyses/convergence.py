"""When a run has reached an accuracy: four tests that are never mixed, and the costs at which they first hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import one_of, real
from oracle_opt.arrays import Vector
from oracle_opt.clocks import kind_of_seconds
from oracle_opt.errors import InvalidArgument
from oracle_opt.result import Status
from oracle_opt.study.plot_style import rounded
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

COSTS = {
    "calls": "oracle calls",
    "oracle seconds": "{seconds} in the oracle",
    "total seconds": "{seconds} in oracle and generator",
}
# What the tests hold against the accuracy: the label of an axis.
GAPS = {
    "certified": "relative gap",
    "single-cut": "relative gap by the best single cut",
    "reference": "distance to the known minimum over max(1, |f*|)",
    "more-wild": "share of the best decrease that is missing",
}
TESTS = {
    "certified": "the proven relative gap is at most {tau}",
    "single-cut": "the relative gap that the best single cut proves is at most {tau}",
    "reference": "the best value is above the known minimum f* by at most {tau} max(1, |f*|)",
    "more-wild": "at most {tau} of the decrease from the start to the best value of any of these generators is missing",
}
WITHOUT = ("REFUSED", "FAILED")  # statuses of runs that count as never having reached anything
UNPROVEN = (
    *(status.name for status in Status if status.disproved),
    "DOUBTFUL",
)  # of runs whose bounds prove nothing, whatever their gap
TICK = 1e-9  # seconds; what took less than a clock can tell is charged so much


@dataclass(frozen=True, eq=False)
class RunPath:
    """The accuracy that a run has reached at each cost."""

    __repr__ = one_line

    instance: str
    generator: str
    seed: int
    n: float  # number of variables
    status: str
    spent: Vector  # cost up to and with each call; empty for a run that was refused or failed
    gap: Vector  # the least gap of the test up to each call, never negative, infinite while there is none
    total: float  # cost of the whole run, also of one that failed; by the certified test, until it converged

    def cost_to(self, tau: float) -> float:
        """First cost at which the gap is at most `tau`; infinite if it never is."""
        place = int(np.searchsorted(-self.gap, -tau))  # gaps never grow
        return float(self.spent[place]) if place < len(self.gap) else inf


def cost_in_words(cost: str, clocks: Iterable[str]) -> str:
    """Say what is charged, and which seconds by the `clocks` of the runs."""
    return COSTS[cost].format(seconds=kind_of_seconds(clocks))


def accuracy(results: Runs, tau: float | None, name: str = "tau") -> float:
    """Return an accuracy; default is the study's nearest to 1e-4."""
    if tau is None:
        return min(results.tau, key=lambda value: abs(np.log10(value) + 4.0))
    return real(name, tau, above=0.0)


def run_paths(results: Runs, *, cost: str, test: str, finest: float) -> list[RunPath]:
    """Follow every run: a CONVERGED one passes the certified test at `n_calls`, as a gap of rounding is closed, too.

    Bounds of CONTRADICTION, REFUTED, OUTSIDE, UNBOUNDED or DOUBTFUL prove nothing. The test of Moré and Wild goes from
    the median of the first values to the best value of any generator, on the same instance and seed.
    """
    one_of("cost", cost, COSTS)
    one_of("test", test, TESTS)
    if not len(results.runs):
        raise InvalidArgument("`results` must hold at least one run, got none")
    if test == "reference":
        _check_optima(results.runs, finest)
    history = results.history
    if cost != "calls" and len(machines := set(results.runs["machine"][~results.runs["status"].isin(WITHOUT)])) > 1:
        raise InvalidArgument(
            f"`cost` must be 'calls' for runs of {len(machines)} machines, got {cost!r}: their seconds are not compared"
        )
    column = {"certified": "relative_gap", "single-cut": "single_cut_gap"}.get(test, "upper_bound")
    clocks = {
        "calls": [],
        "oracle seconds": ["oracle_seconds"],
        "total seconds": ["oracle_seconds", "generator_seconds"],
    }
    needed = ["call", column, *clocks[cost]]
    missing = [name for name in needed if name not in history.columns]
    if missing and len(history):
        raise InvalidArgument(f"`history` must have the columns {', '.join(missing)} for the test {test!r}")
    arrays = {name: history[name].to_numpy(dtype=float) for name in needed if name not in missing}
    rows = history.groupby(["instance", "generator", "seed"], sort=False).indices
    starts = _starts_and_bests(results.runs, arrays, rows) if test == "more-wild" else {}

    paths = []
    for run in results.runs.itertuples():
        places = rows.get((run.instance, run.generator, run.seed), np.array([], dtype=int))
        if len(places):
            places = places[np.argsort(arrays["call"][places], kind="stable")]
        calls = arrays["call"][places] if len(places) else np.zeros(0)
        seconds = np.zeros(len(places))
        for name in clocks[cost]:
            if len(places):
                seconds += np.nan_to_num(arrays[name][places])
        spent = calls if cost == "calls" else np.maximum(np.cumsum(seconds), TICK)
        if test == "certified" and run.status == "CONVERGED":  # it may have gone on for the sake of another test
            places, spent = places[calls <= run.n_calls], spent[calls <= run.n_calls]
        total = float(spent[-1]) if len(spent) else 0.0
        if run.status in WITHOUT or not len(places):
            spent, gap = np.zeros(0), np.zeros(0)
        else:
            gap = arrays[column][places].copy()
            if test == "reference":
                gap = (gap - run.optimum) / max(1.0, abs(run.optimum))
            elif test == "more-wild":
                gap = _missing_decrease(gap, *starts[run.instance, run.seed])
            elif run.status in UNPROVEN:
                gap[:] = inf
            elif test == "certified" and run.status == "CONVERGED" and run.rtol > 0:
                gap[-1] = np.fmin(gap[-1], run.rtol)
            gap[np.isnan(gap)] = inf
            gap = np.minimum.accumulate(np.maximum(gap, 0.0))
        paths.append(RunPath(run.instance, run.generator, run.seed, float(run.n), str(run.status), spent, gap, total))
    return paths


def _check_optima(runs: pd.DataFrame, finest: float) -> None:
    """Refuse the reference test where a minimum is unknown or too inexact to tell."""
    optimum, error = runs["optimum"].to_numpy(dtype=float), runs["optimum_error"].to_numpy(dtype=float)
    ran = ~runs["status"].isin(WITHOUT).to_numpy()
    unknown = ran & ~np.isfinite(optimum)
    with np.errstate(invalid="ignore"):
        rough = ran & ~unknown & ~(error / np.maximum(1.0, np.abs(optimum)) <= 0.1 * finest)
    for bad, reason in (
        (unknown, "no minimum is known"),
        (rough, f"the known minimum is not ten times as exact as {rounded(finest)}"),
    ):
        if bad.any():
            names = list(dict.fromkeys(runs["instance"][bad]))
            listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise InvalidArgument(
                f"`test` 'reference' cannot be held against {listed}: {reason}. "
                "Filter these instances out, or use the test 'certified', which needs no known minimum"
            )


def _starts_and_bests(
    runs: pd.DataFrame, arrays: dict[str, Vector], rows: dict[tuple[str, str, int], Vector]
) -> dict[tuple[str, int], tuple[float, float]]:
    """Value at the start and best value, for every instance and seed."""
    starts: dict[tuple[str, int], list[float]] = {}
    bests: dict[tuple[str, int], float] = {}
    for run in runs.itertuples():
        problem = (run.instance, run.seed)
        places = rows.get((run.instance, run.generator, run.seed), ())
        values = arrays["upper_bound"][places] if len(places) else np.zeros(0)
        values = values[np.isfinite(values)]
        bests[problem] = min(bests.get(problem, inf), values.min(initial=inf))
        start = run.start_value if isfinite(run.start_value) else values[0] if len(values) else inf
        if isfinite(start):
            starts.setdefault(problem, []).append(start)
    return {problem: (float(np.median(starts.get(problem, [inf]))), best) for problem, best in bests.items()}


def _missing_decrease(upper: Vector, start: float, best: float) -> Vector:
    """``(u - f_L) / (f(x_0) - f_L)``, which is at most tau exactly where Moré and Wild's test holds."""
    if not start > best:  # the start is the best point, or nothing is known
        return np.where(upper <= best, 0.0, inf) if isfinite(best) else np.full(len(upper), inf)
    return (upper - best) / (start - best)
