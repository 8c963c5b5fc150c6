"""Performance profiles of all generators, of pairs, and the ratios of two; data profiles, against the cost itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import one_of
from oracle_opt.clocks import kind_of_seconds
from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.convergence import COSTS, accuracy, cost_in_words
from oracle_opt.study.analyses.curves import SHARES, Curves, points, together
from oracle_opt.study.analyses.problem_costs import ProblemCosts, at_least_two, problem_costs, shares
from oracle_opt.study.plot_style import rounded
from oracle_opt.words import number, shown

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.study.runs import Runs

RATIO = "cost over the least of any generator"
SWITCHING = (
    "The order of two of the curves may change when a third generator is taken away (Gould and Scott, 2016): compare "
    "two by their pairwise profile."
)
# Scales, with the cost behind them and the label of the axis.
SCALES = {
    "calls": ("calls", "oracle calls"),
    "calls/(n+1)": ("calls", "oracle calls / (n + 1)"),
    "oracle seconds": ("oracle seconds", COSTS["oracle seconds"]),
    "seconds": ("total seconds", COSTS["total seconds"]),
}


def profile(
    results: Runs,
    *,
    cost: str = "calls",
    tau: float | Iterable[float] | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Curves:
    """Draw the performance profile of Dolan and Moré (2002).

    With the cost ``t_{p,s}`` of generator s on problem p, infinite if it is never solved, the curve of s is the share
    of problems with ``t_{p,s} <= x min_s t_{p,s}``. At x = 1 it is the share of wins, where ties count for all; at the
    right end the share of problems solved.

    Parameters
    ----------
    cost : {'calls', 'oracle seconds', 'total seconds'}
        What is compared; total seconds are those in oracle and generator.
    tau : float or iterable of float, optional
        The accuracy, or several, a panel each; default is that of the study which is nearest to 1e-4.
    test : {'certified', 'single-cut', 'reference', 'more-wild'}
        What counts as solved.
    seeds : {'each', 'median'}
        Whether each seed of an instance is a problem of its own, or the median cost of its seeds is taken.

    Returns
    -------
    Curves

    Raises
    ------
    InvalidArgument
        There are no runs, the test cannot be applied, or runs were stopped at a coarser accuracy.

    References
    ----------
    E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Math. Program. 91 (2002).
    """
    found = {
        value: problem_costs(results, cost=cost, tau=value, test=test, seeds=seeds) for value in taus(results, tau)
    }
    parts = []
    for value, costs in found.items():
        parts += _profile(f"tau = {rounded(value)}", costs.table)
    words = "The share of problems that a generator solves at no more than x times the least cost of any generator."
    last = list(found.values())[-1]
    more = f" {SWITCHING}" if last.table.shape[1] > 2 else ""
    return Curves(
        together(parts),
        f"Performance profile of {cost_in_words(cost, results.runs['clock'])}, test '{test}'",
        RATIO,
        "share of problems",
        f"{words} {several(found)}{more}",
        log_x=True,
        kind="steps",
        y_limits=SHARES,
        order=results.order,
    )


def pairs(
    results: Runs,
    *,
    against: str | None = None,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Curves:
    """Draw the performance profiles of pairs of generators, a panel a pair, which no third one changes.

    All pairs are drawn, or those with the generator `against`. `cost`, `tau`, `test` and `seeds` are as in `profile`,
    with one accuracy.
    """
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    at_least_two(costs.table, "pairs")
    names = list(costs.table)
    if against is not None:
        one_of("against", against, names)
    chosen = [pair for pair in combinations(names, 2) if against is None or against in pair]
    parts = []
    for first, second in chosen:
        parts += _profile(f"{first} | {second}", costs.table[[first, second]])
    what = cost_in_words(cost, results.runs["clock"])
    return Curves(
        together(parts),
        f"Pairwise performance profiles of {what} to {rounded(tau)}, test '{test}'",
        "cost over the lesser of the two",
        "share of problems",
        "The share of problems that a generator solves at no more than x times the lesser cost of the two. "
        f"{costs.sentences}",
        log_x=True,
        kind="steps",
        y_limits=SHARES,
        order=results.order,
    )


def log_ratio(
    results: Runs,
    first: str,
    second: str,
    *,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Curves:
    """Draw the log-ratio profile of two generators: ``log2(t_first / t_second)`` of every problem, sorted.

    The color of a point is that of the generator with the lesser cost, the `first` or the `second`. Where one alone
    solves a problem, the ratio is infinite and drawn at 1.1 times the largest finite one (at least 1.1). `cost`, `tau`,
    `test` and `seeds` are as in `profile`, with one accuracy.
    """
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    for argument, name in (("first", first), ("second", second)):
        one_of(argument, name, list(costs.table))
    if first == second:
        raise InvalidArgument(f"`second` must be another generator than `first`, got {shown(second)} twice")
    a, b = costs.table[first].to_numpy(), costs.table[second].to_numpy()
    solved = np.isfinite(a) | np.isfinite(b)
    ratios = np.sort(np.log2(a[solved]) - np.log2(b[solved]))
    finite = np.abs(ratios[np.isfinite(ratios)])
    end = 1.1 * max(1.0, finite.max(initial=0.0))
    heights = np.clip(ratios, -end, end)
    place = np.arange(1, len(ratios) + 1, dtype=float)
    parts = []
    for name, of in ((first, ratios < 0), (second, ratios > 0), ("equal", ratios == 0)):
        if of.any():
            parts.append(points("", name, place[of], heights[of]))
    neither = int((~solved).sum())
    left_out = f" {number(neither, 'problem')} that neither solves left out." if neither else ""
    return Curves(
        together(parts),
        f"{first} against {second}: {cost_in_words(cost, results.runs['clock'])} to {rounded(tau)}, test '{test}'",
        "problems, sorted",
        f"log2 of the costs' ratio, {first} over {second}",
        f"Every point is a problem; below zero {first} is cheaper, by a factor of 2 at -1. At {end:.3g} and -{end:.3g} "
        f"one of the two alone solves it.{left_out} {costs.sentences}",
        kind="points",
        threshold=0.0,
        order=results.order,
    )


def data_profile(
    results: Runs,
    *,
    scale: str = "calls",
    tau: float | Iterable[float] | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Curves:
    """Draw the data profile of Moré and Wild (2009): the share of problems solved within a cost.

    No generator changes the curve of another, unless the test is 'more-wild'. In their article the cost is divided by
    the ``n + 1`` evaluations of a simplex gradient, as their solvers have no gradient; one call of an oracle gives one,
    so calls stand for themselves by default.

    The `scale` of costs is 'calls', 'calls/(n+1)', n the number of variables, 'oracle seconds', or 'seconds', those in
    oracle and generator. `tau`, `test` and `seeds` are as in `Results.profile`.

    References
    ----------
    J. J. Moré, S. M. Wild, Benchmarking derivative-free optimization algorithms, SIAM J. Optim. 20 (2009), 172-191.
    """
    cost, words = SCALES[one_of("scale", scale, SCALES)]
    label = words.format(seconds=kind_of_seconds(results.runs["clock"]))
    found = {
        value: problem_costs(results, cost=cost, tau=value, test=test, seeds=seeds) for value in taus(results, tau)
    }
    parts = []
    for value, costs in found.items():
        table = costs.table
        if scale == "calls/(n+1)":
            table = table.div(costs.n + 1.0, axis=0)
        times = table.to_numpy()
        finite = times[np.isfinite(times)]
        least = 0.9 * finite.min() if cost != "calls" and len(finite) else 1.0
        if scale == "calls/(n+1)":
            least = float((1.0 / (costs.n + 1.0)).min())  # one call
        right = 1.1 * max(finite.max(initial=least), 1.8 * least)
        parts += [
            points(f"tau = {rounded(value)}", name, *shares(times[:, i], least, right)) for i, name in enumerate(table)
        ]
    return Curves(
        together(parts),
        f"Data profile, test '{test}'",
        label,
        "share of problems",
        f"The share of problems that a generator solves within a cost. {several(found)}",
        log_x=True,
        kind="steps",
        y_limits=SHARES,
        order=results.order,
    )


def taus(results: Runs, tau: float | Iterable[float] | None) -> list[float]:
    """Return the accuracies of several panels, from the coarsest to the finest."""
    if isinstance(tau, Iterable) and not isinstance(tau, str):
        values = [accuracy(results, value) for value in tau]
        if not values:
            raise InvalidArgument("`tau` must be an accuracy, or several, got none")
        return sorted(set(values), reverse=True)
    return [accuracy(results, tau)]


def several(found: dict[float, ProblemCosts]) -> str:
    """Say for one or several accuracies what was tested."""
    if len(found) == 1:
        return next(iter(found.values())).sentences
    words = ", ".join(map(rounded, found))
    return f"One panel for each tau of {words}. {found[min(found)].in_general}"


def _profile(panel: str, table: pd.DataFrame) -> list[pd.DataFrame]:
    """The curves of one panel."""
    times = table.to_numpy()
    least = times.min(axis=1, keepdims=True)
    ratios = np.where(np.isfinite(times), times / np.where(np.isfinite(least), least, 1.0), inf)
    right = 1.1 * max(ratios[np.isfinite(ratios)].max(initial=1.0), 1.8)
    return [points(panel, name, *shares(ratios[:, i], 1.0, right)) for i, name in enumerate(table)]
