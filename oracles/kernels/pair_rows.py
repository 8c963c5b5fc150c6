"""The second layout of a `GramBank`: pair of points by pair of points, of the pairs that were asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.compiled import pair_loops, thread_count


class PairRows:
    """Entries of all kernels at one pair of points next to each other, for the pairs that were asked for.

    To copy the entries of a pair out of the halves takes about as long as to read them there once, so a pair is copied
    the first time it is asked for, and then kept. Support vectors change little from one query to the next: a run
    copies the pairs of its support vectors, on most data a small part of all. Sums are over the copied rows, in an
    order that does not depend on when they were copied.

    Parameters
    ----------
    packed : ndarray of shape (number of kernels stored, n (n + 1) / 2)
        Lower halves, which are not copied.
    kernels : ndarray of int, shape (p,)
        Rows of `packed` of which this holds the entries.
    """

    def __init__(self, packed: NDArray[np.floating], kernels: Indices) -> None:
        self._packed, self._kernels = packed, kernels
        # Memory is taken from the system where it is first written to.
        self._rows = np.empty((packed.shape[1], kernels.size), packed.dtype)
        self._places = np.full(packed.shape[1], -1, np.int32)
        self._kept = np.zeros(1, np.intp)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that are kept."""
        return int(self._kept[0]) * self._kernels.size * self._packed.itemsize

    def quadratic_forms(self, support: Indices, v: Vector) -> Vector:
        """Quadratic forms of the kernels at v, shape (p,)."""
        n_pairs = support.size * (support.size + 1) // 2
        places, weights = np.empty(n_pairs, np.intp), np.empty(n_pairs)
        pair_loops.support_pairs(
            self._packed, self._kernels, support, v, self._rows, self._places, self._kept, places, weights
        )
        shares = np.empty((pair_loops.piece_count(n_pairs), self._kernels.size))
        pair_loops.weighted_rows(self._rows, places, weights, shares, thread_count(n_pairs * self._kernels.size))
        total: Vector = np.add.reduce(shares, axis=0)
        return total

    def products(self, rows: Indices, support: Indices, values: Vector, out: Matrix) -> None:
        """Write entries `rows` of every kernel times the vector of these values on the support, shape (r, p)."""
        places = np.empty((rows.size, support.size), np.intp)
        pair_loops.row_pairs(self._packed, self._kernels, rows, support, self._rows, self._places, self._kept, places)
        pair_loops.pair_products(self._rows, places, values, out, thread_count(places.size * self._kernels.size))
