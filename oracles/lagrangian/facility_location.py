"""The assignment relaxation of uncapacitated facility location."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import flag, floats
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.domains import Box
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.lagrangian.assignments import customers_of, least_cost
from oracle_opt.oracles.lagrangian.lagrangian_oracle import LagrangianOracle, finite_reach
from oracle_opt.oracles.lagrangian.recovery import PrimalSolution
from oracle_opt.oracles.lagrangian.relaxed_proof import Examined
from oracle_opt.oracles.lagrangian.relaxed_solution import RelaxedSolution, RoundedSolution, by_row, positions
from oracle_opt.proof.claim import Bound
from oracle_opt.reading import Words, data_of
from oracle_opt.result import Result

_STARTS = 3  # the cheapest prefixes that are improved


class FacilityLocationOracle(LagrangianOracle):
    """Open facilities and serve customers from them: ``every customer is served once`` is relaxed.

    What is left falls apart: with multipliers u, facility i serves the customers with ``costs[i, j] + u[j] < 0`` and is
    open if that earns more than its opening cost. The best bound is that of the strong linear relaxation.

    Parameters
    ----------
    opening : array_like of shape (m,)
        Cost of opening each facility, at least 0.
    costs : array_like of shape (m, n)
        Costs of serving all of customer j from facility i.
    multicut : bool
        Answer with the facilities as `summands`, default not.

    Attributes
    ----------
    domain : Box
        No radius is stated: minus the multiplier of customer j may be taken between ``min_i costs[i, j]``, below which
        nobody would serve it, and ``min_i costs[i, j] + opening[i]``, which any feasible dual solution of the linear
        relaxation keeps. The box has a tenth more on either side.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite, negative opening costs.

    Notes
    -----
    `solution` of an answer is the 0-1 matrix of shape (m, n) of who serves whom, or its row with `multicut`; `compact`
    holds the numbers ``i * n + j`` of its ones, which prove the cut. `recover` gives `arrays` "open", shape (m,), how
    far each facility is open, and "shares", shape (m, n), who serves how much of whom: a point of the strong linear
    relaxation, up to its violation. A single cut for all facilities needs more calls than `multicut` and less time,
    unless a call takes seconds. There is no `executor` for the facilities: what a task would bring back, a row of this
    matrix, takes about as long to send as to find.

    References
    ----------
    .. [1] Cornuejols, Fisher, Nemhauser (1977), "Location of bank accounts to optimize float", Manag. Sci. 23:789-810.
    .. [2] Beltran-Royo, Vial, Alonso-Ayuso (2012), "Semi-Lagrangian relaxation applied to the uncapacitated facility
       location problem", Comput. Optim. Appl. 51:387-409.

    Examples
    --------
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.oracles import FacilityLocationOracle
    >>> oracle = FacilityLocationOracle([2, 2], [[1, 1, 5], [5, 2, 1]])
    >>> round(oracle.dual_bound(minimize(oracle, Kelley())), 4)
    7.0
    """

    polyhedral = True

    def __init__(self, opening: ArrayLike, costs: ArrayLike, *, multicut: bool = False) -> None:
        f, c = floats("opening", opening), floats("costs", costs)
        if c.ndim != 2 or not c.size:
            raise InvalidArgument(f"`costs` must have shape (m, n), facilities by customers, got {c.shape}")
        if f.shape != c.shape[:1]:
            raise InvalidArgument(f"`opening` must have shape {c.shape[:1]}, one entry per facility, got {f.shape}")
        for name, values in (("opening", f), ("costs", c)):
            if not np.isfinite(values).all():
                raise InvalidArgument(f"`{name}` must be finite, got {values[~np.isfinite(values)][0]}")
        if (f < 0).any():
            raise InvalidArgument(f"`opening` must be at least 0, got {f.min()}")
        self.opening, self.costs, self.multicut = f, c, flag("multicut", multicut)
        with np.errstate(over="ignore"):  # what is too large is refused below
            self._sizes = f + np.abs(c).sum(axis=1)
            least, most = c.min(axis=0), (c + f[:, None]).min(axis=0)
        finite_reach("costs", 2.0 * float(np.abs(c).max()))
        finite_reach("opening", float(most.max()))
        # the box is a bit larger: if an optimum lies on its edge, the edge proves the bound, and averages of the cuts
        # need not be feasible
        room = 0.1 * np.maximum(most - least, max(1e-3 * float(np.abs(c).max()), 1e-3))
        super().__init__(
            self._serve,
            np.ones(c.shape[1]),
            domain=Box(-most - room, -least + room),
            name=f"facilities #{digest(f, c)}{', a summand each' if multicut else ''}",
        )
        self._count = len(c) if self.multicut else 1

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, multicut: bool = False) -> FacilityLocationOracle:
        """Read a file of the OR-Library or of Koerkel and Ghosh at `path`, perhaps packed by gzip; `multicut` as above.

        The first kind holds m n, then for each facility its capacity, which is ignored, and opening cost, then for each
        customer its demand, ignored, and its m costs. The second has a line ``FILE: name``, then ``m n 0``, then for
        each facility its number, opening cost and n costs. `InvalidData` names what cannot be read, with its line.
        """
        words = Words.of_file(Path(path))
        ghosh = words.words[:1] == ["FILE:"]
        first = 2 if ghosh else 0
        m, n = words.count(first, "facilities"), words.count(first + 1, "customers")
        count = 5 + m * (n + 2) if ghosh else 2 + 2 * m + n * (m + 1)
        if len(words) != count:
            raise InvalidData(
                f"{path} must hold data of {m} facilities and {n} customers, {count} words, got {len(words)}"
            )
        with data_of(Path(path)):
            if ghosh:
                table = words.numbers(slice(4, None))[1:].reshape(m, n + 2)
                return cls(table[:, 1], table[:, 2:], multicut=multicut)
            # in some files capacities are words
            opening = words.numbers(slice(3, 2 + 2 * m, 2))
            costs = words.numbers(slice(2 + 2 * m, None)).reshape(n, m + 1)[:, 1:].T
            return cls(opening, costs, multicut=multicut)

    def round(self, result: Result, primal: PrimalSolution | None = None) -> RoundedSolution:
        """Find a solution, from the multipliers of a run's `result` and its averaged solution.

        The average is what `recover` gave as `primal`. Facilities are opened in the order of their reduced costs, and
        in that of how far they are open in the average. The best beginnings are improved by opening, closing, or
        exchanging one facility, as long as that pays. The solution is always feasible. Its `arrays`: "open", shape
        (m,), of bool, and "facility_of", shape (n,), of int, the facility that serves each customer.
        """
        margin = self.opening + np.minimum(self.costs + self._multipliers(result), 0.0).sum(axis=1)
        orders = [np.argsort(margin, kind="stable")]
        if primal is not None:
            orders.append(np.lexsort((margin, -primal.arrays["open"])))
        chosen = opened_along(self.opening, self.costs, orders)
        open_ones = np.flatnonzero(chosen)
        server = open_ones[self.costs[open_ones].argmin(axis=0)]
        cost = fsum((*self.opening[chosen].tolist(), *self.costs[server, np.arange(len(server))].tolist()))
        return RoundedSolution(cost, self.dual_bound(result), True, {"open": chosen, "facility_of": server})

    def _arrays(self, points: Sequence[Vector], weights: Matrix) -> dict[str, Any]:
        shares, opened = np.zeros(self.costs.shape), np.zeros(len(self.opening))
        for u, row in zip(points, weights, strict=True):
            x = self._chosen(u)[0]
            shares += row[:, None] * x
            opened += row * x.any(axis=1)
        return {"open": opened, "shares": shares}

    def _chosen(self, u: Vector) -> tuple[Matrix, Vector]:
        """Who serves whom, a 0-1 matrix of shape (m, n), and what the choice may cost each facility by rounding."""
        reduced = self.costs + u
        margin = self.opening + np.minimum(reduced, 0.0).sum(axis=1)
        # signs of the reduced costs are exact; a facility whose margin may be rounding alone may be judged wrongly
        missed = np.zeros(len(margin))
        unit = EPS * (len(u) + 3)
        near = np.flatnonzero(np.abs(margin) <= unit * (self._sizes + float(np.abs(u).sum())))
        if near.size:
            sizes = (np.abs(self.costs[near]) + np.abs(u)).sum(axis=1, where=reduced[near] < 0)
            doubt = unit * (self.opening[near] + sizes)
            missed[near] = np.where(np.abs(margin[near]) <= doubt, 2.0 * doubt, 0.0)
        x = np.zeros(reduced.shape)
        x[margin < 0] = reduced[margin < 0] < 0
        return x, missed

    def _serve(self, u: Vector) -> RelaxedSolution | Sequence[RelaxedSolution]:
        x, missed = self._chosen(u)
        chosen = np.flatnonzero(x.any(axis=1))
        served = x[chosen] > 0
        compact = positions(served, chosen)
        if self.multicut:
            costs = np.zeros(len(x))
            for i, row in zip(chosen, served, strict=True):
                costs[i] = fsum((*self.costs[i, row].tolist(), self.opening[i]))
            bounds = costs + x @ u - missed
            answers = zip(costs.tolist(), x, bounds.tolist(), by_row(compact, *x.shape), strict=True)
            return [
                RelaxedSolution(cost, row, solution=row, bound=low, compact=some) for cost, row, low, some in answers
            ]
        cost = fsum((*self.costs[chosen][served].tolist(), *self.opening[chosen].tolist()))
        activity = x[chosen].sum(axis=0)
        bound = cost + float(u @ activity - missed.sum())
        return RelaxedSolution(cost, activity, solution=x, bound=bound, compact=compact)

    def _examined(self, witness: Mapping[str, Any], summand: int | None, exact: bool) -> Examined | None:
        return customers_of(self.opening, self.costs, witness, summand, exact)

    def relaxed_bound(self, u: Vector, exact: bool = False) -> Bound:
        """Cost of the relaxed solution in closed form, in floats rounded down."""
        return least_cost(self.opening, self.costs, u, exact)


def opened_along(opening: Vector, costs: Matrix, orders: list[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Which facilities are open in the best solution found from the first k of each order, for all k."""
    best, least = np.zeros(len(opening), dtype=bool), np.inf
    for order in orders:
        totals = np.cumsum(opening[order]) + np.minimum.accumulate(costs[order], axis=0).sum(axis=1)
        for k in np.argsort(totals, kind="stable")[:_STARTS]:
            chosen = np.zeros(len(opening), dtype=bool)
            chosen[order[: k + 1]] = True
            chosen = _improved(opening, costs, chosen)
            total = float(opening[chosen].sum() + costs[chosen].min(axis=0).sum())
            if total < least:
                best, least = chosen, total
    return best


def _improved(opening: Vector, costs: Matrix, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Steepest descent by opening, closing, or exchanging one facility (Whitaker 1983), O(m n) a step.

    d1, d2 are a customer's two cheapest. r for i costs what opening i does, less r's opening cost, and for each
    customer of r ``min(d2, c_i) - min(d1, c_i)``.
    """
    chosen = chosen.copy()
    tolerance = 1e-12 * float(opening.sum() + np.abs(costs).max(axis=0).sum())
    while True:
        open_ones, closed = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        of = costs[open_ones]
        if len(open_ones) > 1:
            first, second = np.partition(of, 1, axis=0)[:2]
        else:
            first, second = of[0], np.full(of.shape[1], np.inf)
        server = of.argmin(axis=0)
        # customers sorted by their facility; those without customers cost nothing to close
        order, counts = np.argsort(server, kind="stable"), np.bincount(server, minlength=len(open_ones))
        busy = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[busy]
        moved = np.zeros(len(open_ones))
        moved[busy] = np.add.reduceat((second - first)[order], starts)
        closing = moved - opening[open_ones]
        best, change = (int(open_ones[closing.argmin()]), -1), float(closing.min())
        if len(closed):
            capped = np.minimum(costs[closed], first)
            adding = opening[closed] + (capped - first).sum(axis=1)
            if adding.min() < change:
                best, change = (-1, int(closed[adding.argmin()])), float(adding.min())
            extra = np.zeros((len(closed), len(open_ones)))
            extra[:, busy] = np.add.reduceat((np.minimum(costs[closed], second) - capped)[:, order], starts, axis=1)
            exchange = adding[:, None] + extra - opening[open_ones]
            i, r = np.unravel_index(exchange.argmin(), exchange.shape)
            if exchange[i, r] < change:
                best, change = (int(open_ones[r]), int(closed[i])), float(exchange[i, r])
        if not change < -tolerance:
            return chosen
        for at, value in zip(best, (False, True), strict=True):
            if at >= 0:
                chosen[at] = value
