"""The kernels of a bank on some of its points, as a bank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import (
    Indices,
    KernelBank,
    checked_indices,
    checked_out,
    checked_vector,
)
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels


class ChosenPoints(KernelBank):
    """The kernels of a bank between some of its points, which are numbered anew; nothing is copied.

    For the machines of pairs of classes, which stand on the same kernels and see a part of the points each.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    points : array_like of int, shape (r,)
        Indices of points, at least one, none twice.

    Raises
    ------
    InvalidArgument
        The indices are not those of points, or one is there twice.
    """

    def __init__(self, bank: KernelBank, points: ArrayLike) -> None:
        self.bank, self.points = bank, checked_indices(points, bank.n_points, "points")
        if self.points.size == 0 or np.unique(self.points).size < self.points.size:
            raise InvalidArgument("`points` must be indices of points, at least one and none twice")
        self.n_kernels, self.n_points, self.exactness = bank.n_kernels, self.points.size, bank.exactness
        self.nonnegative, self.rounding = bank.nonnegative, bank.rounding

    @property
    def entry_error(self) -> float:
        """By how much an entry may differ from that of the kernel: that of the bank."""
        return self.bank.entry_error

    def precise(self, most_bytes: float) -> KernelBank:
        """These points of the bank that adds up entries, which others share, see `KernelBank.precise`."""
        bank = self.bank.precise(most_bytes)
        return self if bank is self.bank else ChosenPoints(bank, self.points)

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`."""
        K = checked_out(out, self.n_points)
        K[:] = self.bank.block(weights, self.points, self.points)
        return K

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        return self.bank.block(weights, self._own(rows, "rows"), self._own(columns, "columns"))

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        return self.bank.quadratic_forms(self._among_all(v))

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        return self.bank.row_products(self._own(rows, "rows"), self._among_all(v))

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        return self.bank.entries(self._own(rows, "rows"), self._own(columns, "columns"))

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (r, p)."""
        return self.bank.diagonal()[self.points]

    def subset(self, kernels: ArrayLike) -> ChosenPoints:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`."""
        return ChosenPoints(self.bank.subset(kernels), self.points)

    @property
    def names(self) -> tuple[str, ...]:
        """What each kernel is: those of the bank."""
        return self.bank.names

    @property
    def groups(self) -> tuple[str, ...]:
        """Group of each kernel: those of the bank."""
        return self.bank.groups

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some of these points, see `KernelBank.kept`."""
        return self.bank.kept(kernels, self._own(points, "points"))

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: that of the bank."""
        return self.bank.noise(n_used)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: that of the bank, whose sums these are."""
        return self.bank.form_error(self._among_all(u), self._among_all(v))

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, as the bank takes them, and these points."""
        return self.bank.cross(new, weights)[:, self.points]

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        return digest(self.bank.digest(), "points", self.points)

    def _own(self, indices: ArrayLike, name: str) -> Indices:
        """Where these points are among those of the bank."""
        own: Indices = self.points[checked_indices(indices, self.n_points, name)]
        return own

    def _among_all(self, v: ArrayLike) -> Vector:
        """A vector of these points as one of all points of the bank, 0 elsewhere."""
        whole = np.zeros(self.bank.n_points)
        whole[self.points] = checked_vector(v, self.n_points, "v")
        return whole
