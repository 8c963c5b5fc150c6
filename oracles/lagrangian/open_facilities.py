"""Which facilities to open: prefixes of an order, then the best of opening, closing and exchanging."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector

_STARTS = 3  # the cheapest prefixes that are improved


def opened_along(opening: Vector, costs: Matrix, orders: list[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Which facilities are open in the best solution found from the first k of each order, for all k.

    Parameters
    ----------
    opening : ndarray of shape (m,)
        Cost of opening each facility.
    costs : ndarray of shape (m, n)
        Cost of serving all of customer j from facility i.
    orders : list of ndarray of int of shape (m,)
        Orders of the facilities, the most promising first.

    Returns
    -------
    ndarray of bool of shape (m,)
        A set that no opening, closing or exchange of one facility makes cheaper.
    """
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

    With d1 and d2 the costs of the two cheapest open facilities of a customer, exchanging r for i changes the cost by
    what opening i does, minus the opening cost of r, plus for each customer of r ``min(d2, c_i) - min(d1, c_i)``.
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
