"""Sums over kernels on the same features by the compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.family_points import FamilyPoints, Side, side_size
from oracle_opt.oracles.kernels.packed_build import thread_count
from oracle_opt.oracles.kernels.points import Points
from oracle_opt.oracles.kernels.rbf_build import add_combined, forms, products, products_across, write_entries

# Entries a thread reads while it computes one, about.
READS = 4


class FamilySums:
    """Sums over kernels ``exp2(-speed * D)``, or polynomials, of the points of a family.

    Parameters
    ----------
    points : FamilyPoints
        The points.
    single, precise : bool
        Whether entries are computed in single precision, and distances in double.
    polynomial : bool
        Whether the kernels are ``(1 + x @ y)**degree``, the degrees being given in place of speeds.
    """

    def __init__(self, points: FamilyPoints, single: bool, precise: bool, polynomial: bool) -> None:
        self.points, self.precise, self.polynomial = points, precise, polynomial
        self.single = single

    def side(self, which: Indices | slice) -> Side:
        """Some of the points that differ, for the loops."""
        return self.points.side(which, self.precise)

    def new_side(self, new: Points) -> Side:
        """Points that are not of the bank, for the loops."""
        return self.points.new_side(new, self.precise)

    def entries(
        self, rows: Indices | slice, columns: Indices | slice, speeds: Vector, scale: float, out: NDArray[np.float64]
    ) -> None:
        """Write `scale` times the kernels of two lists of points that differ to an array of shape (r, c, w)."""
        left, right = self.side(rows), self.side(columns)
        threads = self._threads(side_size(left) * side_size(right), speeds)
        write_entries(right, left, speeds, self.single, self.polynomial, scale, out, threads)

    def products(self, rows: Indices, v: Vector, speeds: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, shape (r, w); rows in blocks of so many numbers."""
        points, w = self.points, self._added_up(v)
        support = np.flatnonzero(w)
        right, w = self.side(support), w[support]
        # If there are fewer points that differ than rows, the products of all of these, each once.
        every = points.n_distinct <= rows.size
        which = np.arange(points.n_distinct) if every else points.index[rows]
        found = np.empty((which.size, speeds.size))
        size = max(block // points.features.size, 1)
        for start in range(0, which.size, size):
            part = slice(start, start + size)
            left = self.side(which[part])
            threads = self._threads(side_size(left) * support.size, speeds)
            if side_size(left) >= support.size:
                found[part] = products(left, right, w, speeds, self.single, self.polynomial, threads)
            else:
                found[part] = products_across(right, left, w, speeds, self.single, self.polynomial, threads)
        return found[points.index[rows]] if every else found

    def forms(self, v: Vector, speeds: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (w,)."""
        w = self._added_up(v)
        support = np.flatnonzero(w)
        threads = self._threads(support.size**2 // 2, speeds)
        return forms(self.side(support), w[support], speeds, self.single, self.polynomial, threads)

    def add(self, rows: Side, columns: Side, speeds: Vector, weights: Vector, out: Matrix) -> None:
        """Add a weighted sum of kernels of two sides to an array of shape (r, c)."""
        threads = self._threads(out.size, speeds)
        add_combined(columns, rows, weights, speeds, self.single, self.polynomial, out, threads)

    def add_new(self, new: Points, speeds: Vector, weights: Vector, out: Matrix) -> None:
        """Add a weighted sum of kernels between new points and those of the family to an array of shape (m, n)."""
        if self.points.differ:
            self.add(self.new_side(new), self.side(slice(None)), speeds, weights, out)
            return
        total = np.zeros((out.shape[0], self.points.n_distinct))
        self.add(self.new_side(new), self.side(slice(None)), speeds, weights, total)
        out += total[:, self.points.index]

    def _added_up(self, v: Vector) -> Vector:
        """Entries of v added up where the points are equal."""
        if self.points.differ:
            return v
        return np.asarray(np.bincount(self.points.index, v, minlength=self.points.n_distinct), dtype=float)

    def _threads(self, pairs: int, speeds: Vector) -> int:
        return thread_count(READS * pairs * (speeds.size + self.points.most_entries // 16))
