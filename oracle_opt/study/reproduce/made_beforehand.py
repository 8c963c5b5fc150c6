"""RBF kernels of many widths, made beforehand in single precision, where the memory that is free allows it."""

from __future__ import annotations

import numpy as np

from oracle_opt.oracles import GramBank, RBFBank
from oracle_opt.oracles.kernels.kept_kernels import GivenCrossKernels
from oracle_opt.study.reproduce.peak_memory import free_memory

# Vectors of one double a kernel and point that SMO-MKL keeps or makes for a moment, and bytes of its cache and others.
PRODUCTS, BESIDES = 4, 3 << 28
GIB = 2**30


def made_beforehand(bank: RBFBank) -> GramBank:
    """Make the kernels of a bank in memory, as float32.

    They are kept twice, kernel by kernel and pair by pair of points, as `GramBank` does, if that fits into half of the
    memory that is free; columns of all kernels are then faster to read. If not, kernel by kernel alone.

    Parameters
    ----------
    bank : RBFBank
        p kernels on n points.

    Returns
    -------
    GramBank
        The kernels, each rounded.

    Raises
    ------
    MemoryError
        They do not fit once; the message says how much they and SMO-MKL on them need.
    """
    n, p = bank.n_points, bank.n_kernels
    store, besides = 2 * p * n * (n + 1), 8 * PRODUCTS * n * p + BESIDES
    free = free_memory()
    if free is not None and store + besides > free:
        raise MemoryError(f"needs {(store + besides) / GIB:.1f} GiB, and {free / GIB:.1f} GiB are free")
    twice = free is None or 2 * store + besides <= free // 2
    halves = np.empty((p, n * (n + 1) // 2), np.float32)
    start = 0
    for i in range(n):
        halves[:, start : start + i + 1] = bank.entries([i], np.arange(i + 1))[0].T
        start += i + 1
    crosses = GivenCrossKernels(p, n)
    return GramBank.from_packed(halves, np.ones(p), crosses, memory_limit=2 * store if twice else store)
