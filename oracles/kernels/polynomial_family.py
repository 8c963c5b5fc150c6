"""Polynomial kernels on the same features, of different degrees: they share their inner products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.family_points import FamilyPoints
from oracle_opt.oracles.kernels.family_sums import FamilySums


class PolynomialFamily:
    """Kernels ``(1 + x @ y)**t`` on some features.

    An inner product of d numbers is off by at most ``d / 2 * EPS`` times the product of the norms, so ``1 + x @ y`` by
    ``(d + 3) / 2 * EPS`` times ``R = sqrt((1 + x @ x) * (1 + y @ y))``, the root of the product of two diagonal
    entries, which it does not exceed itself; and its power by ``t (d + 4) / 2 * EPS * R**t``.

    Parameters
    ----------
    points : FamilyPoints
        The points, on these features alone.
    degrees : ndarray of shape (w,)
        The t, whole numbers of at least 1, as floats.
    """

    table: Matrix | None = None

    def __init__(self, points: FamilyPoints, degrees: Vector) -> None:
        self.points, self.degrees = points, degrees
        self.sums = FamilySums(points, single=False, precise=True, polynomial=True)
        self.exactness = 0.5 * EPS * float(degrees.max()) * (points.most_entries + 5.0)

    def label(self, k: int) -> str:
        """What a kernel is, without its features."""
        return f"polynomial(degree={self.degrees[k]:.0f})"

    def chosen(self, kernels: Indices) -> PolynomialFamily:
        """Some of the kernels on the same points."""
        return PolynomialFamily(self.points, self.degrees[kernels])

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, w)."""
        with np.errstate(over="ignore"):
            powers: Matrix = (1.0 + self.points.norms()[:, None]) ** self.degrees
        return powers[self.points.index]

    def entries(self, rows: Indices, columns: Indices, scale: float, out: NDArray[np.float64]) -> None:
        """Write `scale` times the kernels of two lists of points to an array of shape (r, c, w)."""
        index = self.points.index
        self.sums.entries(index[rows], index[columns], self.degrees, scale, out)

    def at_nodes(self, weights: Vector) -> tuple[Vector, Vector]:
        """Degrees and weights of the kernels that have one."""
        used = np.flatnonzero(weights)
        return self.degrees[used], weights[used]

    def products(self, rows: Indices, v: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, shape (r, w); blocks of so many numbers of points at most."""
        return self.sums.products(rows, v, self.degrees, block)

    def forms(self, v: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (w,)."""
        return self.sums.forms(v, self.degrees)
