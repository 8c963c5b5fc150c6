"""Knapsacks of agents, solved exactly: most choices are settled by a bound, the rest by dynamic programming."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """The relaxed problem: a knapsack for each agent."""

    costs: NDArray[np.float64]
    uses: NDArray[np.int64]
    capacities: NDArray[np.int64]
    maximize: bool

    def chosen(self, u: Vector, first: int, last: int) -> NDArray[np.bool_]:
        """Which jobs are best for agents `first` to `last` - 1 at these multipliers."""
        part = slice(first, last)
        worth = self.costs[part] - u if self.maximize else -(self.costs[part] + u)
        return best_choices(worth, self.uses[part], self.capacities[part])


def best_choices(worth: Matrix, size: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.bool_]:
    """0-1 choices of the largest worth within the capacities, a row a knapsack.

    Bounds settle most (Dembo & Hammer 1980, see docs/theory_benders.md), dynamic programming decides on the others.
    """
    wanted = (worth > 0) & (size <= capacity[:, None])
    chosen: NDArray[np.bool_] = wanted & (size == 0)
    items = wanted & (size > 0)
    sizes = np.where(items, size, 0)
    chosen |= items & (sizes.sum(axis=1) <= capacity)[:, None]
    rows = np.flatnonzero(sizes.sum(axis=1) > capacity)
    if not rows.size:
        return chosen
    items, sizes, limit = items[rows], sizes[rows], capacity[rows]
    values = np.where(items, worth[rows], 0.0)
    ratio = np.divide(values, sizes, out=np.full(values.shape, -1.0), where=items)
    order = np.argsort(-ratio, axis=1, kind="stable")
    by_size, by_value = (np.take_along_axis(one, order, axis=1) for one in (sizes, values))
    cumulated = np.cumsum(by_size, axis=1)
    at = np.arange(len(rows))
    broken = (cumulated > limit[:, None]).argmax(axis=1)
    left = limit - cumulated[at, broken] + by_size[at, broken]
    taken = np.cumsum(by_value, axis=1)[at, broken] - by_value[at, broken]
    price = by_value[at, broken] / by_size[at, broken]
    most, least = taken + left * price, taken
    # items after the break item that fit, in their order
    after = (np.arange(order.shape[1]) > broken[:, None]) & (by_size > 0)
    while True:
        fits = after & (by_size <= left[:, None])
        if not fits.any():
            break
        first = fits.argmax(axis=1)
        found = fits[at, first]
        least = least + np.where(found, by_value[at, first], 0.0)
        left = left - np.where(found, by_size[at, first], 0)
        after[at, first] = False
    # sums of at most n worths, each rounded
    doubt = 8.0 * EPS * (worth.shape[1] + 4) * values.sum(axis=1)
    settled = items & (most[:, None] - np.abs(values - price[:, None] * sizes) < (least - doubt)[:, None])
    sure = settled & (ratio > price[:, None])
    for row, i in enumerate(rows):
        picked = sure[row]
        open_ones = np.flatnonzero(items[row] & ~settled[row])
        room = int(limit[row] - sizes[row, picked].sum())
        chosen[i] |= picked
        chosen[i, open_ones[_knapsack(values[row, open_ones], sizes[row, open_ones], room)]] = True
    return chosen


def _knapsack(worth: Vector, size: NDArray[np.int64], capacity: int) -> NDArray[np.intp]:
    """The items of the best choice: ``best[c] = max(best[c], best[c - size] + worth)``."""
    if size.sum() <= capacity:
        return np.arange(len(size))
    best = np.zeros(capacity + 1)
    taken = np.zeros((len(size), capacity + 1), dtype=bool)
    for row, s, w in zip(taken, size.tolist(), worth.tolist(), strict=True):
        if s <= capacity:
            with_it = best[:-s] + w
            np.greater(with_it, best[s:], out=row[s:])
            np.maximum(with_it, best[s:], out=best[s:])
    left, chosen = capacity, []
    for j in range(len(size) - 1, -1, -1):
        if taken[j, left]:
            chosen.append(j)
            left -= int(size[j])
    return np.array(chosen, dtype=np.intp)
