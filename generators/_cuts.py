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
    value : ndarray of shape (m,)
        The cut's value plus its error, or the violation, at the point it came from; the least of equal rows.
    count : ndarray of shape (m,)
        How often each row was added.
    """

    def __init__(self, dimension: int) -> None:
        self._matrix = np.empty((16, dimension))
        self._sides = np.empty((3, 16))
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
        return self._sides[0, : self._size]

    @property
    def value(self) -> Vector:
        """Values, a view."""
        return self._sides[1, : self._size]

    @property
    def count(self) -> Vector:
        """Multiplicities, a view."""
        return self._sides[2, : self._size]

    def add(self, row: Vector, constant: float, value: float) -> None:
        """Add one row, or count it once more if it stands there already, up to rounding."""
        for i in np.flatnonzero(np.abs(self.constant - constant) <= 1e-13 * abs(constant)):
            if np.abs(self._matrix[i] - row).max() <= 1e-13 * np.abs(row).max():
                self._sides[1, i] = min(self._sides[1, i], value)
                self._sides[2, i] += 1
                return
        if self._size == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
            self._sides = np.concatenate([self._sides, np.empty_like(self._sides)], axis=1)
        self._matrix[self._size] = row
        self._sides[:, self._size] = constant, value, 1
        self._size += 1

    def combine(self, multipliers: Vector) -> Vector:
        """``multipliers @ matrix``, in the time of the rows whose multiplier is not zero."""
        active = np.flatnonzero(multipliers)
        if 2 * len(active) > self._size:
            return multipliers @ self.matrix
        return multipliers[active] @ self._matrix[active]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows outside the mask."""
        kept = np.flatnonzero(mask)
        self._size = len(kept)
        self._matrix[: self._size] = self._matrix[kept]
        self._sides[:, : self._size] = self._sides[:, kept]


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
        """Take up a cut, and the further ones of the same call."""
        if isinstance(cut, ObjectiveCut):
            for one in (cut, *cut.further):
                self.objective.add(one.subgradient, one.value - float(one.subgradient @ one.point), cut.upper)
            if cut.upper < self.upper:
                self.upper, self.best = cut.upper, cut
        else:
            for part in (cut, *cut.parts):
                constant = part.violation - float(part.normal @ part.point)
                self.feasibility.add(part.normal, constant, part.violation)

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
        return Minorant(constant, self.objective.combine(a) + self.feasibility.combine(u))

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
            self.objective.add(aggregate.slope, aggregate.constant, self.upper)
        return mask
