"""A bank that stands on another one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels


class BankOfBank(KernelBank):
    """A bank whose operations are those of another one, but for forms, products and what a class changes.

    Parameters
    ----------
    bank : KernelBank
        The other one.
    """

    def __init__(self, bank: KernelBank) -> None:
        self.bank = bank
        self.n_kernels, self.n_points, self.exactness = bank.n_kernels, bank.n_points, bank.exactness
        self.nonnegative, self.rounding = bank.nonnegative, bank.rounding

    @property
    def entry_error(self) -> float:
        """By how much an entry may differ from that of the kernel: that of the bank."""
        return self.bank.entry_error

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`."""
        return self.bank.combine(weights, out)

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        return self.bank.block(weights, rows, columns)

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
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
        """Weighted sum of the kernels between new points and those of the bank, the bank holds."""
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
