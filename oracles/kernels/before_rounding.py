"""The kernels that a bank stands for: what it holds, and by how much that may differ from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.bank_of_bank import BankOfBank
from oracle_opt.oracles.kernels.base import KernelBank


class BeforeRounding(BankOfBank):
    """A bank with its `rounding` among its errors: what follows from it holds for the kernels that were meant.

    A kernel in single precision, or a matrix that lacks a little to be positive semidefinite, is one problem as it is
    kept, and another one as it was meant. Where weights of kernels add up to 1 the difference is small and mostly does
    not matter. In a mixed norm a kernel may have a weight of 1e6: its rounding is then as large as another kernel, and
    the sum may have negative eigenvalues, for which there is no bound at all.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    """

    def __init__(self, bank: KernelBank) -> None:
        super().__init__(bank)
        # over diagonal entries of the bank, which the rounding may have made a little smaller
        self._rounded = bank.rounding * (1.0 + 8.0 * bank.rounding + 1e-8)
        self.exactness, self.rounding = bank.exactness + self._rounded, 0.0

    @property
    def entry_error(self) -> float:
        """By how much an entry may differ from that of the kernel: with the rounding of the bank."""
        return self.bank.entry_error + self.bank.rounding

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, as the bank has it, see `KernelBank.quadratic_forms`."""
        return self.bank.quadratic_forms(v)

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, as the bank has them, see `KernelBank.row_products`."""
        return self.bank.row_products(rows, v)

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: that of the bank, and its rounding."""
        return self.bank.noise(n_used) + self._rounded

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: that of the bank, and its rounding.

        An error e of entries, over the roots of both diagonal entries, moves a form by at most e times
        ``norm(u, 1) * norm(v, 1)`` and the largest diagonal entry, or ``norm(u) * norm(v)`` and the trace.
        """
        of_largest, of_trace = self.bank.form_error(u, v)
        rounding = self._rounded * (1.0 + EPS * (u.size + 8))
        sums, norms = float(np.abs(u).sum() * np.abs(v).sum()), float(np.linalg.norm(u) * np.linalg.norm(v))
        return of_largest + rounding * sums, of_trace + rounding * norms

    def precise(self, most_bytes: float) -> KernelBank:
        """The same of the bank that adds up entries, see `KernelBank.precise`."""
        bank = self.bank.precise(most_bytes)
        return self if bank is self.bank else bank.before_rounding()

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of the kernels, see `KernelBank.subset`."""
        return self.bank.subset(kernels).before_rounding()
