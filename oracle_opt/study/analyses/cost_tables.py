"""Tables of costs: calls to an accuracy, and shifted geometric means, with what was not solved counted apart."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.errors import InvalidArgument
from oracle_opt.study.analyses.convergence import COSTS, accuracy
from oracle_opt.study.analyses.problem_costs import problem_costs
from oracle_opt.study.analyses.table import Table
from oracle_opt.study.plot_style import rounded

if TYPE_CHECKING:
    from oracle_opt.study.runs import Runs


def means(
    results: Runs,
    *,
    shift: float = 10.0,
    limit: float | None = None,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "each",
) -> Table:
    """Make the table of shifted geometric means: ``exp(mean(log(max(1, t + shift)))) - shift``, a row a generator.

    Parameters
    ----------
    shift : float
        Calls or seconds; without it the easiest problems would decide.
    limit : float, optional
        What a problem costs that is not solved; default is the limit of its runs, `max_calls` or `max_seconds`.
    cost, tau, test, seeds
        As in `Results.profile`, with one accuracy.

    Returns
    -------
    Table
        The mean, its ratio to the best mean, and the numbers of problems, and of runs solved, unsolved, ended by an
        exception, refused and missing: the mean of a generator that solves little says little.

    Raises
    ------
    InvalidArgument
        As `Results.profile`; or problems are unsolved and the runs had no limit.

    References
    ----------
    H. Mittelmann, Benchmarks for optimization software, plato.asu.edu/bench.html.
    """
    shift = real("shift", shift, least=0.0)
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    times = costs.table.to_numpy(copy=True)
    unsolved = ~np.isfinite(times)
    if limit is not None:
        limits = np.full(len(times), real("limit", limit, above=0.0))
    else:
        keys = ["instance", "seed"] if seeds == "each" else ["instance"]
        column = "max_calls" if cost == "calls" else "max_seconds"
        known = results.runs.assign(limit=results.runs[column].astype(float)).groupby(keys)["limit"].max()
        limits = known.reindex(costs.table.index).to_numpy()
        if not all(isfinite(value) for value in limits[unsolved.any(axis=1)]):
            raise InvalidArgument(
                f"`limit` must say what a problem costs that is not solved: the runs had no {column}, and not all "
                "problems are solved"
            )
    times = np.where(unsolved, limits[:, None], times)
    values = np.exp(np.log(np.maximum(1.0, times + shift)).mean(axis=0)) - shift
    frame = costs.counts.rename_axis("generator").reset_index()
    frame.insert(1, "mean", values)
    best = float(values.min())
    frame.insert(2, "over the best", values / best if best > 0 else np.nan)
    frame.insert(3, "problems", len(times))
    charged = "its limit" if limit is None else f"{limit:g}"
    return Table(
        frame,
        f"Shifted geometric means of {COSTS[cost]} to {rounded(tau)}, test '{test}'",
        f"The shift is {shift:g}; a problem that is not solved is charged {charged}, and counted apart. "
        f"{costs.sentences} The counts are of runs.",
    )


def table(
    results: Runs,
    *,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "median",
) -> Table:
    """Make the table of costs to an accuracy: a row an instance, a column a generator.

    Parameters
    ----------
    cost, tau, test
        As in `Results.profile`, with one accuracy.
    seeds : {'median', 'each'}
        Whether a row is an instance, with the median cost of its seeds, or an instance and a seed.

    Returns
    -------
    Table
        A cost is infinite, which is written as a dash, where the test never holds. The best of a row is in bold.

    Raises
    ------
    InvalidArgument
        As `Results.profile`.
    """
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    solved = ", ".join(f"{name} {row.solved} of {row.runs}" for name, row in costs.counts.iterrows())
    what = COSTS[cost]
    return Table(
        costs.table.reset_index(),
        f"{what[0].upper()}{what[1:]} to {rounded(tau)}, test '{test}'",
        f"{costs.sentences} A dash stands where the test never holds. Runs solved: {solved}.",
        compared=tuple(costs.table),
    )
