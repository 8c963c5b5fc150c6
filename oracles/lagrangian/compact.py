"""Relaxed solutions in few numbers: which entries of a table are not zero."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def positions(table: NDArray[np.generic], rows: NDArray[np.intp] | None = None) -> NDArray[np.signedinteger]:
    """Numbers ``i * n + j`` of the entries (i, j) of a table of n columns that are not zero, in increasing order.

    Parameters
    ----------
    table : ndarray of shape (m, n)
        Some rows of it, or all.
    rows : ndarray of int of shape (m,), optional
        Which rows these are, in increasing order; default is all.
    """
    m, n = table.shape
    found = np.flatnonzero(table)
    if rows is None or not len(found):
        return small(found, m * n)
    return small(found + (rows - np.arange(m))[found // n] * n, n * (1 + int(rows[-1])))


def small(numbers: NDArray[np.intp], count: int) -> NDArray[np.signedinteger]:
    """Numbers below `count` in as many bytes as they need: 4 or 8."""
    return numbers.astype(np.int32 if count <= 2**31 else np.int64)


def by_row(numbers: NDArray[np.signedinteger], m: int, n: int) -> list[NDArray[np.signedinteger]]:
    """Those of each row of a table of shape (m, n)."""
    ends = np.searchsorted(numbers, np.arange(m + 1) * n)
    return [numbers[first:last] for first, last in pairwise(ends.tolist())]
