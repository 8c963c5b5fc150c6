"""Data profiles: the share of problems solved against the cost itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.study.analyses.convergence import choice
from oracle_opt.study.analyses.curves import SHARES, Curves, points, together
from oracle_opt.study.analyses.problem_costs import problem_costs, shares
from oracle_opt.study.analyses.profiles import several, taus
from oracle_opt.study.plot_style import rounded

if TYPE_CHECKING:
    from oracle_opt.study.results import Results

# Scales, with the cost behind them and the label of the axis.
SCALES = {
    "calls": ("calls", "oracle calls"),
    "calls/(n+1)": ("calls", "oracle calls / (n + 1)"),
    "oracle seconds": ("oracle seconds", "seconds in the oracle"),
    "seconds": ("total seconds", "seconds in oracle and generator"),
}


def data_profile(
    results: Results,
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

    Parameters
    ----------
    scale : {'calls', 'calls/(n+1)', 'oracle seconds', 'seconds'}
        The cost: calls, calls over the number of variables and one, seconds in the oracle, or in oracle and generator.
    tau, test, seeds
        As in `Results.profile`.

    Returns
    -------
    Curves

    Raises
    ------
    InvalidArgument
        As `Results.profile`.

    References
    ----------
    J. J. Moré, S. M. Wild, Benchmarking derivative-free optimization algorithms, SIAM J. Optim. 20 (2009), 172-191.
    """
    cost, label = SCALES[choice("scale", scale, SCALES)]
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
