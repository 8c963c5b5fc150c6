"""Some kernels of a sharded bank."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.executors import Workers
from oracle_opt.oracles.kernels.base import Indices, KernelBank, checked_indices, checked_vector
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels
from oracle_opt.oracles.kernels.shards import Shards, forms_by_points, products_by_points

# Entries of kernels, those of all rows and kernels of a call, from which on it is shared out: about 20 ms of work.
WORTH_SENDING = 1 << 25


class BankInThisProcess(KernelBank):
    """A bank whose other operations than pricing are those of another one.

    Parameters
    ----------
    bank : KernelBank
        The other one.
    """

    def __init__(self, bank: KernelBank) -> None:
        self.bank = bank
        self.n_kernels, self.n_points, self.exactness = bank.n_kernels, bank.n_points, bank.exactness
        self.nonnegative = bank.nonnegative

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, in this process, see `KernelBank.combine`."""
        return self.bank.combine(weights, out)

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, in this process, see `KernelBank.block`."""
        return self.bank.block(weights, rows, columns)

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, in this process, see `KernelBank.entries`."""
        return self.bank.entries(rows, columns)

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self.bank.diagonal()

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        return self.bank.sizes

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: that of the bank."""
        return self.bank.noise(n_used)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: that of the bank.

        Its sum over pairs in 64 parts, or two sums over points, have more roundings than a sum over points whose terms
        are added up in parts.
        """
        return self.bank.form_error(u, v)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank, in this process."""
        return self.bank.cross(new, weights)

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group: those of the bank."""
        return self.bank.label(k)

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some points, see `KernelBank.kept`: what the bank keeps."""
        return self.bank.kept(kernels, points)

    def digest(self) -> str:
        """16 hexadecimal digits, those of the bank: answers differ by rounding alone, and `form_error` covers it."""
        return self.bank.digest()


class ShardedSubset(BankInThisProcess):
    """Some kernels, which live in this process; workers do what takes long, each for some of the points.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    kernels : ndarray of int, shape (p,)
        Which they are of those of the sharded bank.
    workers : Workers
        Those of the sharded bank.
    parts : int
        Tasks of a call.
    """

    def __init__(self, bank: KernelBank, kernels: Indices, workers: Workers[Shards], parts: int) -> None:
        super().__init__(bank)
        self._kernels, self._workers, self._parts = kernels, workers, parts

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        n_support = int(np.count_nonzero(x))
        if n_support * n_support * self.n_kernels < WORTH_SENDING:
            return self.bank.quadratic_forms(x)
        return forms_by_points(self._workers, self._kernels, x, self._parts)

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        x, which = checked_vector(v, self.n_points, "v"), checked_indices(rows, self.n_points, "rows")
        if which.size * int(np.count_nonzero(x)) * self.n_kernels < WORTH_SENDING:
            return self.bank.row_products(which, x)
        return products_by_points(self._workers, self._kernels, which, x, self._parts)

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of these kernels, see `KernelBank.subset`."""
        chosen = self.bank.subset(kernels)
        return ShardedSubset(chosen, self._kernels[np.asarray(kernels)], self._workers, self._parts)
