"""Equations and inequalities, of which there may be a million: the deepest of those that a point violates, as cuts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.feasibility import allowed
from oracle_opt.oracles.conic.cones import ROUNDING, deepest
from oracle_opt.oracles.conic.dual_vector import DualVector
from oracle_opt.oracles.conic.row_matrix import RowMatrix, dense_rows

LOOKED_AT = 20  # times as many of the deepest rows are looked at as are wanted
AT_ONCE = 1 << 12  # rows whose terms are in memory at a time
ALIKE = 0.999  # cosine of the angle from which on two rows tell nearly the same


@dataclass(frozen=True, eq=False)
class ViolatedRows:
    """Rows ``a @ x <= b`` that a point violates, the farthest first."""

    numbers: NDArray[np.intp]
    normals: Matrix
    depths: Vector
    units: Vector
    sides: Vector
    signs: Vector

    def different(self, most: int) -> ViolatedRows:
        """At most so many; if there are more, without those that point nearly where a farther one points.

        The deepest rows of a curved boundary are neighbors: they make programs longer and leave out those elsewhere.
        """
        if len(self.units) <= most:
            return self
        unit = self.normals / np.where(self.units > 0.0, self.units, 1.0)[:, None]
        kept: list[int] = []
        left = np.arange(len(unit))
        while len(left) and len(kept) < most:
            kept.append(int(left[0]))
            left = left[1:]
            left = left[unit[left] @ unit[kept[-1]] <= ALIKE]
        return ViolatedRows(*(column[kept] for column in vars(self).values()))

    @property
    def duals(self) -> list[DualVector]:
        """Vectors of the dual cone behind the half-spaces of norm 1, where these are rows of a conic problem."""
        values = self.signs / self.units
        return [DualVector(row, value) for row, value in zip(self.numbers[:, None], values[:, None], strict=True)]

    def cuts(
        self, x: Vector, tolerance: float, extent: Vector, extras: Sequence[Mapping[str, Any]]
    ) -> list[FeasibilityCut]:
        """Half-spaces of norm 1, less what rounding may have added to the depths; no row may be without entries."""
        normals = self.normals / self.units[:, None]
        # what ``a @ x - b`` may be off by, over the norm of a
        rounding = ROUNDING * (np.abs(normals) @ np.abs(x) + self.sides / self.units)
        violations = (self.depths / self.units - rounding).tolist()
        errors = (allowed(np.abs(normals), extent, self.sides / self.units, tolerance, extent) + rounding).tolist()
        return [
            FeasibilityCut(x, violation, normal, extras=told, error=error)
            for violation, normal, told, error in zip(violations, normals, extras, errors, strict=True)
        ]


def too_far(
    rows: Callable[[NDArray[np.intp]], RowMatrix],
    depths: Vector,
    units: Vector,
    sides: Vector,
    x: Vector,
    extent: Vector,
    tolerance: float,
    largest: float,
) -> Vector:
    """Distances of x from rows that it misses by `depths`, 0 where that is allowed of a row in the unit of its terms.

    Infinite of a row without entries, unless it misses what is rounding beside the largest side. Terms are looked at,
    by `rows`, only where norms do not tell.
    """
    distances: Vector = np.divide(depths, units, out=np.full(len(units), inf), where=units > 0.0)
    distances[(units == 0.0) & (depths <= ROUNDING * largest)] = 0.0
    norm, reach = sqrt(x @ x), float(np.linalg.norm(extent))
    steepest, largest = float(units.max(initial=0.0)), float(sides.max(initial=0.0))
    most = tolerance * (steepest * norm + largest) + ROUNDING * (steepest * reach + largest)
    doubtful = np.flatnonzero((depths <= most) & (units > 0.0))
    of_unit, of_side = tolerance * norm + ROUNDING * reach, tolerance + ROUNDING
    doubtful = doubtful[depths[doubtful] <= of_unit * units[doubtful] + of_side * sides[doubtful]]
    if len(doubtful) < np.count_nonzero(distances):
        distances[doubtful] = 0.0  # rows that are missed by more come first
        return distances
    for near in np.array_split(doubtful, 1 + len(doubtful) // AT_ONCE):
        may = allowed(abs(rows(near)), x, sides[near], tolerance, extent) + ROUNDING * sides[near]
        distances[near[depths[near] <= may]] = 0.0
    return distances


class LinearRows:
    """Rows ``a @ x <= b`` and ``a @ x == b``, each a cone of its own; a look costs memory for a few vectors alone."""

    def __init__(
        self,
        A: RowMatrix,
        b: Vector,
        norms: Vector,
        equations: NDArray[np.intp],
        inequalities: NDArray[np.intp],
        tolerance: float,
    ) -> None:
        self._A, self._b, self._norms, self._tolerance = A, b, norms, tolerance
        self._equations, self._inequalities = _part(equations), _part(inequalities)
        self._largest_side = float(np.abs(b).max(initial=0.0))

    def violated(self, excess: Vector, x: Vector, extent: Vector, most: int) -> ViolatedRows:
        """The farthest rows; if there are too many, of those that are nearly parallel the farthest alone."""
        above = np.flatnonzero(excess[self._inequalities] > 0.0)
        off = np.flatnonzero(excess[self._equations])
        where = np.r_[_numbers(self._inequalities, above), _numbers(self._equations, off)]
        depths = np.abs(excess[where])
        sides = np.abs(self._b[where])
        norms, largest = self._norms[where], self._largest_side
        rows_of = lambda near: self._A[where[near]]  # noqa: E731
        distances = too_far(rows_of, depths, norms, sides, x, extent, self._tolerance, largest)
        chosen = deepest(distances, np.flatnonzero(distances), LOOKED_AT * most)
        numbers = where[chosen]
        signs = np.sign(excess[numbers])
        normals = dense_rows(self._A, numbers) * signs[:, None]
        rows = ViolatedRows(numbers, normals, depths[chosen], self._norms[numbers], sides[chosen], signs)
        return rows.different(most)


def _part(rows: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """The same rows as a slice, which makes no copy, if they follow each other."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _numbers(part: slice | NDArray[np.intp], chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Numbers of the chosen ones among the rows of a part."""
    return part[chosen] if isinstance(part, np.ndarray) else part.start + chosen
