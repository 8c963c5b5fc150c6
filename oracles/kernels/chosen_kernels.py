"""Some kernels of a bank, as a bank."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.oracles.kernels.base import Indices, KernelBank, checked_kernels, checked_vector
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels


class ChosenKernels(KernelBank):
    """Some kernels of any bank, which is asked for all of its kernels where it cannot be asked for some.

    What `KernelBank.subset` returns of a bank that knows no better.

    Parameters
    ----------
    bank : KernelBank
        Kernels on n points.
    kernels : ndarray of int, shape (p,)
        Which of them, in this order; checked by `KernelBank.subset`.
    """

    def __init__(self, bank: KernelBank, kernels: Indices) -> None:
        self.bank, self.kernels = bank, kernels
        self.n_kernels, self.n_points, self.exactness = kernels.size, bank.n_points, bank.exactness
        self.nonnegative, self.rounding = bank.nonnegative, bank.rounding

    @property
    def entry_error(self) -> float:
        """By how much an entry may differ from that of the kernel: that of the bank."""
        return self.bank.entry_error

    def precise(self, most_bytes: float) -> KernelBank:
        """These kernels of the bank that adds up entries, which others share, see `KernelBank.precise`."""
        bank = self.bank.precise(most_bytes)
        return self if bank is self.bank else ChosenKernels(bank, self.kernels)

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`."""
        return self.bank.combine(self._among_all(weights), out)

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        return self.bank.block(self._among_all(weights), rows, columns)

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        return self.bank.quadratic_forms(v)[self.kernels]

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        return self.bank.row_products(rows, v)[:, self.kernels]

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        return self.bank.entries(rows, columns)[:, :, self.kernels]

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self.bank.diagonal()[:, self.kernels]

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        largest, trace = self.bank.sizes
        return largest[self.kernels], trace[self.kernels]

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: that of the bank."""
        return self.bank.noise(n_used)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: that of the bank."""
        return self.bank.form_error(u, v)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, as the bank takes them, and those of the bank."""
        return self.bank.cross(new, self._among_all(weights))

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group: those it has in the bank."""
        return self.bank.label(int(self.kernels[k]))

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some points, see `KernelBank.kept`."""
        return self.bank.kept(self.kernels[checked_kernels(kernels, self.n_kernels)], points)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        return digest(self.bank.digest(), self.kernels)

    def _among_all(self, weights: ArrayLike) -> Vector:
        """Weights of all kernels of the bank, shape (number of its kernels,)."""
        d = np.zeros(self.bank.n_kernels)
        np.add.at(d, self.kernels, checked_vector(weights, self.n_kernels, "weights"))
        return d
