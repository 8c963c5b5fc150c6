"""Kernels of any bank kept in memory: all their entries, computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.bank import GramBank
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE, Indices, KernelBank
from oracle_opt.oracles.kernels.cross import CrossKernels
from oracle_opt.oracles.kernels.kept_kernels import KeptKernels


def stored_kernels(bank: KernelBank) -> GramBank:
    """Return a bank that keeps all entries of the kernels of another one, which it asks for those at new points.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.

    Returns
    -------
    GramBank
        It takes ``4 p n (n + 1)`` bytes, and as many again for the pairs that it is asked for. It is as exact as the
        `entries` of the other one.
    """
    n, p = bank.n_points, bank.n_kernels
    packed = np.empty((p, n * (n + 1) // 2))
    at_once = max(ENTRIES_AT_ONCE // (n * p), 1)
    for start in range(0, n, at_once):
        rows = np.arange(start, min(start + at_once, n))
        entries = bank.entries(rows, np.arange(rows[-1] + 1))
        for i in rows.tolist():
            packed[:, i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] = entries[i - start, : i + 1].T
    kept = GramBank.from_packed(packed, np.ones(p), _CrossOfBank(bank))
    kept.exactness, kept.rounding, kept.nonnegative = bank.entry_error, bank.rounding, bank.nonnegative
    return kept


class _CrossOfBank(CrossKernels):
    """Kernels of a bank between new points, as it takes them, and its own."""

    def __init__(self, bank: KernelBank) -> None:
        self.bank = bank

    def cross(self, new: Any, which: Indices, weights: Vector) -> Matrix:
        """Weighted sum of some kernels, shape (m, n)."""
        every = np.zeros(self.bank.n_kernels)
        every[which] = weights
        return self.bank.cross(new, every)

    def kept(self, which: Indices, points: Indices) -> _CrossOfKept:
        """Some of the kernels on some of the points."""
        return _CrossOfKept(self.bank.kept(which, points))

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group."""
        return self.bank.label(k)


class _CrossOfKept:
    """Some kernels of a bank between new points, as it takes them, and some of its own."""

    def __init__(self, kernels: KeptKernels) -> None:
        self.kernels = kernels

    def cross(self, new: Any, which: Indices, weights: Vector) -> Matrix:
        """Weighted sum of some kernels, shape (m, number of points kept)."""
        every = np.zeros(self.kernels.n_kernels)
        every[which] = weights
        return self.kernels.cross(new, every)
