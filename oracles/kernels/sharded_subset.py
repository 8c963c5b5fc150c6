"""Some kernels of a sharded bank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.executors import Workers
from oracle_opt.oracles.kernels.bank import Bank
from oracle_opt.oracles.kernels.base import Indices, KernelBank, checked_indices, checked_vector
from oracle_opt.oracles.kernels.shards import Shards, forms_by_points, products_by_points

# Entries of kernels, those of all rows and kernels of a call, from which on it is shared out: about 20 ms of work.
WORTH_SENDING = 1 << 25


class ShardedSubset(Bank):
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

    def precise(self, most_bytes: float) -> KernelBank:
        """Return this bank, whose sums are for workers to make."""
        return self

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of these kernels, see `KernelBank.subset`."""
        chosen = self.bank.subset(kernels)
        return ShardedSubset(chosen, self._kernels[np.asarray(kernels)], self._workers, self._parts)
