"""Half-spaces between a point x and the feasible ones, from the cones that ``A @ x + b`` is outside of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.cuts import FeasibilityCut, Vector
from oracle_opt.domain import Domain
from oracle_opt.errors import EmptyLocalizationSet
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Duals, Nonnegative, Zero, length


class HalfSpaces:
    """The constraint ``A @ x + b`` in K, and when a point counts as satisfying it.

    Parameters
    ----------
    A : csr_array of shape (m, n)
    b : ndarray of shape (m,)
    cones : sequence of Cone
        Whose product is K.
    tolerance : float
        As `ConicOracle` says.
    most : int
        Limit on the half-spaces of one cone.

    Attributes
    ----------
    impossible : list of ndarray of shape (m,)
        Vectors of the dual cone each of which proved that no point of the domain is feasible.
    """

    def __init__(self, A: sparse.csr_array, b: Vector, cones: Sequence[Cone], tolerance: float, most: int) -> None:
        self.A, self.b, self.cones, self.tolerance, self.most = A, b, cones, tolerance, most
        starts = np.cumsum([0, *(cone.dimension for cone in cones)])
        self._parts = [slice(*ends) for ends in pairwise(starts)]
        self._blocks = [A[part] for part in self._parts]
        self._row_norms = np.asarray(sparse.linalg.norm(A, axis=1)) if A.shape[0] else np.zeros(0)
        self.impossible: list[Vector] = []

    def at(self, x: Vector, held: NDArray[np.intp], extent: float) -> list[FeasibilityCut]:
        """Half-spaces that exclude x, the farthest first; none if x counts as feasible.

        Parameters
        ----------
        x : ndarray of shape (n,)
            The query point.
        held : ndarray of int
            Rows that need no look, as the domain holds them.
        extent : float
            No point of the domain has a larger norm.

        Raises
        ------
        EmptyLocalizationSet
            Some y of the dual cone has ``y @ (A @ z + b) < 0`` for all z of the domain, as ``A.T @ y`` is zero.
        """
        v = self.A @ x + self.b
        v[held] = 0.0  # satisfied, up to the domain's tolerance
        cuts: list[FeasibilityCut] = []
        for k, cone in enumerate(self.cones):
            rows = cone.separate(v[self._parts[k]], self.most)
            if len(rows):
                one_by_one = isinstance(cone, Zero | Nonnegative)
                cuts += (self._inequalities if one_by_one else self._curved)(x, v[self._parts[k]], k, rows, extent)
        cuts.sort(key=lambda cut: -cut.violation)
        return cuts

    def _inequalities(self, x: Vector, v: Vector, k: int, rows: Duals, extent: float) -> Iterator[FeasibilityCut]:
        """Each row of A is a cone of its own: its tolerance is in units of the distance in x."""
        norm, part = float(np.linalg.norm(x)), self._parts[k]
        for row in rows:
            unit, depth = float(np.abs(row) @ self._row_norms[part]), -float(row @ v)
            size = unit * max(1.0, norm) if unit else max(1.0, float(np.abs(self.b).max()))
            if depth > max(self.tolerance * size, self._rounding(x, part, row)):
                yield from self._cut(x, k, row, depth, self.tolerance * max(1.0, extent) * unit, extent)

    def _curved(self, x: Vector, v: Vector, k: int, rows: Duals, extent: float) -> Iterator[FeasibilityCut]:
        """The distance of the cone decides; the half-space through its nearest point has the normal y."""
        part, depths = self._parts[k], -(rows @ v)
        distance = length(depths)
        y = (depths @ rows) / distance
        allowed = self.tolerance * max(length(self._blocks[k].T @ y), float(np.abs(y) @ np.abs(v)))
        allowed = max(allowed, self._rounding(x, part, y))
        if distance <= allowed and (len(rows) < self.most or self.cones[k].distance(v) <= allowed):
            return
        # within the distance allowed, another half-space of the cone may be violated by as much
        size = length(self._row_norms[part])
        error = self.tolerance * max(size, (size * extent if size else 0.0) + length(self.b[part]))
        found = [
            cut
            for row, depth in zip(rows, depths, strict=True)
            for cut in self._cut(x, k, row, float(depth), error, extent)
        ]
        yield from found or self._cut(x, k, y, distance, error, extent)

    def _rounding(self, x: Vector, part: slice, y: Vector) -> float:
        """What ``y @ (A @ x + b)`` may be off by."""
        return ROUNDING * float(np.abs(y) @ (self._row_norms[part] * float(np.linalg.norm(x)) + np.abs(self.b[part])))

    def _cut(
        self, x: Vector, k: int, row: Vector, depth: float, error: float, extent: float
    ) -> Iterator[FeasibilityCut]:
        """The half-space of one vector of the dual cone, in units of the distance in x; none if it is rounding."""
        part, normal = self._parts[k], -(self._blocks[k].T @ row)
        unit, noise = length(normal), ROUNDING * float(np.abs(row) @ self._row_norms[part])
        dual = np.zeros(len(self.b))
        if unit <= 16.0 * noise:
            constant, terms = float(row @ self.b[part]), float(np.abs(row) @ np.abs(self.b[part]))
            if -constant - ROUNDING * terms > ((unit + noise) * extent if unit + noise else 0.0):
                dual[part] = row
                self.impossible.append(dual)
                raise EmptyLocalizationSet("a vector of the dual cone proves that no point is feasible")
            return
        rounding = self._rounding(x, part, row)
        if depth > rounding:
            dual[part] = row / unit
            # in units of the distance: what a cone calls its violation has no meaning in x
            yield FeasibilityCut(
                x, (depth - rounding) / unit, normal / unit, extras={"dual": dual}, error=(error + rounding) / unit
            )


def extent_of(domain: Domain) -> float:
    """Norm that no point of the domain, or of the ball in which a minimiser is promised, exceeds."""
    limits = domain.linear_constraints()
    n = domain.dimension
    lower, upper = (np.full(n, -np.inf), np.full(n, np.inf)) if limits is None else (limits.lower, limits.upper)
    largest = np.maximum(np.abs(lower), np.abs(upper))
    for i in np.flatnonzero(np.isinf(largest)):
        unit = np.zeros(n)
        unit[i] = 1.0
        largest[i] = max(abs(domain.minimize_linear(sign * unit)[0]) for sign in (1.0, -1.0))
    return length(largest)
