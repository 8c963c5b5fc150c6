"""Knapsacks of agents, solved exactly: most choices are settled by a bound, the rest by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """The relaxed problem: a knapsack for each agent.

    Parameters
    ----------
    costs : ndarray of shape (m, n)
    uses : ndarray of int of shape (m, n)
    capacities : ndarray of int of shape (m,)
    maximize : bool
    """

    costs: NDArray[np.float64]
    uses: NDArray[np.int64]
    capacities: NDArray[np.int64]
    maximize: bool

    def chosen(self, u: Vector, first: int, last: int) -> NDArray[np.bool_]:
        """Which jobs are best for agents `first` to `last` - 1 at these multipliers."""
        part = slice(first, last)
        worth = self.costs[part] - u if self.maximize else -(self.costs[part] + u)
        agents = zip(worth, self.uses[part], self.capacities[part], strict=True)
        return np.array([_knapsack(*agent) for agent in agents]) > 0


def _knapsack(worth: Vector, size: NDArray[np.int64], capacity: np.int64) -> Vector:
    """0-1 choice of the largest worth within the capacity: ``best[c] = max(best[c], best[c - size] + worth)``."""
    chosen = np.zeros(len(worth))
    chosen[(worth > 0) & (size == 0)] = 1.0
    items = np.flatnonzero((worth > 0) & (size > 0) & (size <= capacity))
    if size[items].sum() <= capacity:
        chosen[items] = 1.0
        return chosen
    best = np.zeros(capacity + 1)
    taken = np.zeros((len(items), capacity + 1), dtype=bool)
    for row, j in zip(taken, items, strict=True):
        s = size[j]
        with_it = best[:-s] + worth[j]
        np.greater(with_it, best[s:], out=row[s:])
        np.maximum(with_it, best[s:], out=best[s:])
    left = int(capacity)
    for row, j in zip(taken[::-1], items[::-1], strict=True):
        if row[left]:
            chosen[j] = 1.0
            left -= int(size[j])
    return chosen
