"""Sums over kernels on the same features by the compiled loops, and of many such families, tile by tile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.compiled_loops import rbf_loops, thread_count
from oracle_opt.oracles.kernels.family_points import FamilyPoints, Side, side_part, side_size
from oracle_opt.oracles.kernels.points import Points, parts

# Entries a thread reads while it computes one, about.
READS = 4
# Rows and columns of a tile: all families are added to it while it is in the second-level cache.
TILE_ROWS, TILE_COLUMNS = 256, 512


class FamilySums:
    """Sums over kernels ``exp2(-speed * D)``, or polynomials, of the points of a family."""

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
        rbf_loops.write_entries(right, left, speeds, self.single, self.polynomial, scale, out, threads)

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
                found[part] = rbf_loops.products(left, right, w, speeds, self.single, self.polynomial, threads)
            else:
                found[part] = rbf_loops.products_across(right, left, w, speeds, self.single, self.polynomial, threads)
        return found[points.index[rows]] if every else found

    def forms(self, v: Vector, speeds: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (w,)."""
        w = self._added_up(v)
        support = np.flatnonzero(w)
        threads = self._threads(support.size**2 // 2, speeds)
        return rbf_loops.forms(self.side(support), w[support], speeds, self.single, self.polynomial, threads)

    def add(self, rows: Side, columns: Side, speeds: Vector, weights: Vector, out: Matrix) -> None:
        """Add a weighted sum of kernels of two sides to an array of shape (r, c)."""
        threads = self._threads(out.size, speeds)
        rbf_loops.add_combined(columns, rows, weights, speeds, self.single, self.polynomial, out, threads)

    def add_new(self, new: Points, speeds: Vector, weights: Vector, out: Matrix) -> None:
        """Add a weighted sum of kernels between new points and the family's points to an array of shape (m, n)."""
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


class KernelFamily(ABC):
    """Kernels of one kind on the same features, before any scaling: w of them."""

    exactness: float  # how wrong an entry may be in a sum, over the diagonal

    def __init__(self, points: FamilyPoints, sums: FamilySums, told: Vector, fine: FamilySums | None = None) -> None:
        self.points, self.sums, self._told, self._fine = points, sums, told, sums if fine is None else fine

    @abstractmethod
    def label(self, k: int) -> str:
        """The name of a kernel, without its features."""

    @abstractmethod
    def chosen(self, kernels: Indices) -> KernelFamily:
        """Some of the kernels, on the same points."""

    @property
    def table(self) -> Matrix | None:
        """All entries, shape (number of pairs of points that differ, w), where they are kept."""
        return None

    def entries(self, rows: Indices, columns: Indices, scale: float, out: NDArray[np.float64]) -> None:
        """Write `scale` times the kernels of two lists of points to an array of shape (r, c, w)."""
        index = self.points.index
        self._fine.entries(index[rows], index[columns], self._told, scale, out)

    def at_nodes(self, weights: Vector) -> tuple[Vector, Vector]:
        """The arguments of the compiled loops for a weighted sum: kernels and weights."""
        used = np.flatnonzero(weights)
        return self._told[used], weights[used]

    def products(self, rows: Indices, v: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, shape (r, w); blocks of so many numbers of points at most."""
        return self.sums.products(rows, v, self._told, block)

    def forms(self, v: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (w,)."""
        return self.sums.forms(v, self._told)


class SumTerm:
    """A weighted sum of kernels of one family, of some rows and columns among the points that differ."""

    def __init__(self, sums: FamilySums, rows: Indices, columns: Indices, speeds: Vector, weights: Vector) -> None:
        self.sums, self.speeds, self.weights = sums, speeds, weights
        self.rows, self.columns = sums.side(rows), sums.side(columns)

    def add(self, rows: slice, columns: slice, out: Matrix) -> None:
        """Add some of its rows and columns."""
        self.sums.add(side_part(self.rows, rows), side_part(self.columns, columns), self.speeds, self.weights, out)


class TableTerm:
    """Rows and columns of a matrix over the points that differ."""

    def __init__(self, table: Matrix, rows: Indices, columns: Indices) -> None:
        self.table, self.rows, self.columns = table, rows, columns

    def add(self, rows: slice, columns: slice, out: Matrix) -> None:
        """Add some of its rows and columns."""
        out += self.table[self.rows[rows]][:, self.columns[columns]]


def add_terms(
    terms: Sequence[SumTerm | TableTerm], out: Matrix, first_row: int = 0, first_column: int | None = None
) -> None:
    """Add matrices to one; only what is on or below the diagonal if the first column is given."""
    for rows in parts(out.shape[0], TILE_ROWS):
        for columns in parts(out.shape[1], TILE_COLUMNS):
            if first_column is not None and first_column + columns.start >= first_row + rows.stop:
                continue
            tile = out[rows, columns]
            for term in terms:
                term.add(rows, columns, tile)
