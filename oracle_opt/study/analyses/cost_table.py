"""Tables of calls to an accuracy, instances by generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle_opt.study.analyses.convergence import COSTS, accuracy
from oracle_opt.study.analyses.problem_costs import problem_costs
from oracle_opt.study.analyses.table import Table
from oracle_opt.study.plot_style import rounded

if TYPE_CHECKING:
    from oracle_opt.study.results import Results


def table(
    results: Results,
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
