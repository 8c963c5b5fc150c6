"""Kernels of a fitted recipe, computed from the points whenever they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector, digest, fingerprint
from oracle_opt.oracles.kernels.base import (
    Indices,
    KernelBank,
    check_square_fits,
    checked_indices,
    checked_kernels,
    checked_out,
    checked_vector,
)
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels, KeptPart
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table
from oracle_opt.oracles.kernels.recipes.recipe_cross import KernelTerm
from oracle_opt.oracles.kernels.recipes.recipe_gram import diagonals
from oracle_opt.oracles.kernels.tiled_sum import mirror

# Entries of a kernel that are computed at a time.
ENTRIES = 1 << 20


class EvaluatedBank(KernelBank):
    """Kernels that only `FittedKernels.matrices` can compute, block by block.

    Parameters
    ----------
    term : KernelTerm
        The kernels and their points; they state their exactness.
    numbers : sequence of int
        Which of its kernels.
    scales : ndarray of shape (p,)
        Their factors.
    """

    def __init__(self, term: KernelTerm, numbers: list[int], scales: Vector) -> None:
        self._term, self._which, self.scales = term, list(numbers), np.asarray(scales, dtype=float)
        self.n_kernels, self.n_points = len(self._which), int(term.points.shape[0])
        assert term.fitted.exactness is not None
        # A factor rounds once more.
        self.exactness = float(term.fitted.exactness) + float(np.finfo(float).eps)

    def label(self, k: int) -> tuple[str, str]:
        """Name and group of a kernel."""
        return f"{self._term.fitted.labels[self._which[k]]} of {self._term.group}", self._term.group

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`; it is refused if it does not fit into memory."""
        check_square_fits(self.n_points)
        K = checked_out(out, self.n_points)
        d = self.scales * checked_vector(weights, self.n_kernels, "weights")
        points = self._term.points
        for start, stop in self._parts(self.n_points, self.n_points):
            K[start:stop, :stop] = self._sum(points[start:stop], points[:stop], d)
        mirror(K)
        return K

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        d = self.scales * checked_vector(weights, self.n_kernels, "weights")
        which, others = self._checked(rows, columns)
        found, points = np.empty((which.size, others.size)), self._term.points
        for start, stop in self._parts(which.size, others.size):
            found[start:stop] = self._sum(points[which[start:stop]], points[others], d)
        return found

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        support = np.flatnonzero(x)
        s, Z, forms = x[support], self._term.points[support], np.zeros(self.n_kernels)
        for start, stop in self._parts(support.size, support.size):
            for k, matrix in enumerate(self._matrices(Z[start:stop], Z)):
                forms[k] += s[start:stop] @ (matrix @ s)
        forms *= self.scales
        return forms

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        x = checked_vector(v, self.n_points, "v")
        which, support = checked_indices(rows, self.n_points, "rows"), np.flatnonzero(x)
        products, points = np.zeros((which.size, self.n_kernels)), self._term.points
        for start, stop in self._parts(which.size, support.size):
            for k, matrix in enumerate(self._matrices(points[which[start:stop]], points[support])):
                products[start:stop, k] = matrix @ x[support]
        products *= self.scales
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which, others = self._checked(rows, columns)
        found, points = np.empty((which.size, others.size, self.n_kernels)), self._term.points
        for k, matrix in enumerate(self._matrices(points[which], points[others])):
            found[:, :, k] = matrix
        found *= self.scales
        return found

    @cached_property
    def _diagonal(self) -> Matrix:
        found: Matrix = np.empty((self.n_points, self.n_kernels))
        for part, entries in diagonals(self._term):
            found[part] = entries[:, self._which]
        found *= self.scales
        return found

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self._diagonal

    def subset(self, kernels: ArrayLike) -> EvaluatedBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`; it shares the points."""
        chosen = checked_kernels(kernels, self.n_kernels)
        bank = EvaluatedBank(self._term, [self._which[k] for k in chosen.tolist()], self.scales[chosen])
        bank.rounding = self.rounding
        return bank

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between points that the kernels take, scaled already, and those of the bank."""
        d = self.scales * checked_vector(weights, self.n_kernels, "weights")
        found = np.empty((new.shape[0], self.n_points))
        for start, stop in self._parts(new.shape[0], self.n_points):
            found[start:stop] = self._sum(new[start:stop], self._term.points, d)
        return found

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some points, see `KernelBank.kept`."""
        chosen, some = checked_kernels(kernels, self.n_kernels), checked_indices(points, self.n_points, "points")
        numbers = [self._which[k] for k in chosen.tolist()]
        build = partial(EvaluatedBank, self._term.kept(numbers, some), numbers, self.scales[chosen])
        return KeptPart(build, chosen.size, some.size)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others; functions of users count by their names."""
        return digest("evaluated", self._term.points, fingerprint(self._term.fitted), self._which, self.scales)

    def _sum(self, A: Table, B: Table, d: Vector) -> Matrix:
        """Sum of the kernels that have a weight."""
        used = np.flatnonzero(d)
        total = np.zeros((A.shape[0], B.shape[0]))
        numbers = [self._which[k] for k in used.tolist()]
        for weight, matrix in zip(d[used].tolist(), self._term.matrices(A, B, numbers), strict=True):
            matrix *= weight
            total += matrix
        return total

    def _matrices(self, A: Table, B: Table) -> Iterator[Matrix]:
        return self._term.matrices(A, B, self._which)

    def _checked(self, rows: ArrayLike, columns: ArrayLike) -> tuple[Indices, Indices]:
        return checked_indices(rows, self.n_points, "rows"), checked_indices(columns, self.n_points, "columns")

    def _parts(self, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
        """Rows whose entries are computed at a time."""
        at_once = max(ENTRIES // max(n_columns, 1), 1)
        for start in range(0, n_rows, at_once):
            yield start, min(start + at_once, n_rows)
