"""The cuts a method keeps: one pool for every cutting-plane method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt import FeasibilityCut, Minorant, ObjectiveCut
from oracle_opt.cuts import Vector


class Rows:
    """A matrix and a right-hand side that grow by rows; equal rows are kept once and counted.

    Attributes
    ----------
    matrix : ndarray of shape (m, n)
    constant : ndarray of shape (m,)
    count : ndarray of shape (m,)
        How often each row was added.
    """

    def __init__(self, dimension: int) -> None:
        self._matrix = np.empty((16, dimension))
        self._constant = np.empty(16)
        self._count = np.empty(16)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Rows, a view."""
        return self._matrix[: self._size]

    @property
    def constant(self) -> Vector:
        """Constants, a view."""
        return self._constant[: self._size]

    @property
    def count(self) -> Vector:
        """Multiplicities, a view."""
        return self._count[: self._size]

    def add(self, row: Vector, constant: float) -> bool:
        """Add one row; `False` if it stood there already, up to rounding, and was only counted."""
        if self._size:
            near = np.abs(self.constant - constant) <= 1e-13 * (1e-300 + abs(constant))
            for i in np.flatnonzero(near):
                if np.abs(self._matrix[i] - row).max() <= 1e-13 * np.abs(row).max():
                    self._count[i] += 1
                    return False
        if self._size == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
            self._constant = np.concatenate([self._constant, np.empty_like(self._constant)])
            self._count = np.concatenate([self._count, np.empty_like(self._count)])
        self._matrix[self._size], self._constant[self._size], self._count[self._size] = row, constant, 1
        self._size += 1
        return True

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows outside the mask."""
        self._size, kept = int(mask.sum()), np.flatnonzero(mask)
        self._matrix[: self._size] = self._matrix[kept]
        self._constant[: self._size] = self._constant[kept]
        self._count[: self._size] = self._count[kept]


class CutPool:
    """Objective cuts ``f(z) >= constant + matrix @ z`` and feasibility cuts ``matrix @ z + constant <= 0``.

    Parameters
    ----------
    dimension : int
        Number of variables.

    Attributes
    ----------
    objective, feasibility : Rows
        The cuts as rows.
    upper : float
        Best value seen plus its error.
    best : ObjectiveCut or None
        The cut it was seen at.
    """

    def __init__(self, dimension: int) -> None:
        self.objective = Rows(dimension)
        self.feasibility = Rows(dimension)
        self.upper = np.inf
        self.best: ObjectiveCut | None = None

    def add(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Take up a cut, and the further feasibility cuts of the same call."""
        if isinstance(cut, ObjectiveCut):
            self.objective.add(cut.subgradient, cut.value - float(cut.subgradient @ cut.point))
            if cut.upper < self.upper:
                self.upper, self.best = cut.upper, cut
        else:
            for part in (cut, *cut.parts):
                self.feasibility.add(part.normal, part.violation - float(part.normal @ part.point))

    def minorant(self, objective: Vector, feasibility: Vector) -> Minorant | None:
        """Convex combination of objective cuts plus nonnegative multiples of feasibility cuts.

        Any nonnegative multipliers give a function below f on the feasible set, good ones a tight one: negative
        entries, which only rounding can make, are cut off, so a solver's tolerance cannot falsify the bound.
        """
        a, u = np.maximum(objective, 0.0), np.maximum(feasibility, 0.0)
        total = float(a.sum())
        if not (total > 0 and np.isfinite(total) and np.isfinite(u).all()):
            return None
        a, u = a / total, u / total
        constant = float(a @ self.objective.constant + u @ self.feasibility.constant)
        return Minorant(constant, a @ self.objective.matrix + u @ self.feasibility.matrix)

    def shrink(self, cap: int, objective: Vector, feasibility: Vector) -> NDArray[np.bool_] | None:
        """Drop slack objective cuts once there are more than `cap`; give the mask of those kept, if any were dropped.

        The minorant of the given multipliers, the proof of the present bound, is added as a cut of its own, so
        that no later model is worse than this bound (aggregation: Kiwiel 1983, "An aggregate subgradient method").
        Half of `cap` stays, those with the largest multipliers, then the newest.
        """
        if len(self.objective) <= cap:
            return None
        aggregate = self.minorant(objective, feasibility)
        order = np.lexsort((np.arange(len(self.objective)), objective))
        mask = np.zeros(len(self.objective), dtype=bool)
        mask[order[-max(1, cap // 2) :]] = True
        self.objective.keep(mask)
        if aggregate is not None:
            self.objective.add(aggregate.slope, aggregate.constant)
        return mask
