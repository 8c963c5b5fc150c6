"""RBF kernels on features of few different values: all their entries in tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.rbf_family import RBFFamily


class RBFTables:
    """Families whose kernels are kept in tables, one of ``u**2`` entries a kernel, u points differing; all at once.

    Parameters
    ----------
    families : sequence of RBFFamily
        At least one; each has a table. Their kernels are numbered in this order, t of them.
    scale : float
        Factor of all kernels.
    """

    def __init__(self, families: Sequence[RBFFamily], scale: float) -> None:
        tables: list[Matrix] = [scale * family.table for family in families if family.table is not None]
        index = np.concatenate([np.broadcast_to(f.index, (f.rates.size, f.index.size)) for f in families])
        sizes = np.concatenate([np.full(f.rates.size, f.n_distinct) for f in families])
        # Value a of kernel k has the number starts[k] + a, its pairs (a, b) are at pair_starts[k] + sizes[k] * a + b.
        self.sizes = sizes
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.pair_starts = np.cumsum([0, *sizes[:-1] ** 2])
        self.values = np.ascontiguousarray(index.T)
        self.pairs = np.concatenate([table.T.ravel() for table in tables])
        self.matrix = sparse.block_diag(
            [sparse.coo_array(block) for t in tables for block in _squares(t)], format="csr"
        )

    def entries(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Kernels of two lists of points, shape (r, c, t)."""
        others = self.values[columns]
        where = np.empty(others.shape, np.intp)
        found = np.empty((rows.size, *others.shape))
        for i, of_row in enumerate(self.pair_starts + self.sizes * self.values[rows]):
            np.take(self.pairs, np.add(of_row, others, out=where), out=found[i], mode="clip")
        return found

    def products(self, rows: Indices, v: Vector) -> Matrix:
        """Entries of every kernel times one vector, shape (r, t)."""
        products = self.matrix @ self._added_up(v)
        of_rows: Matrix = np.asarray(products)[self.starts + self.values[rows]]
        return of_rows

    def forms(self, v: Vector) -> Vector:
        """Quadratic forms of every kernel, shape (t,)."""
        w = self._added_up(v)
        return np.add.reduceat(w * (self.matrix @ w), self.starts)

    def _added_up(self, v: Vector) -> Vector:
        """Entries of v added up where the points are equal, value by value of kernel by kernel."""
        support = np.flatnonzero(v)
        numbers = self.starts + self.values[support]
        weights = np.broadcast_to(v[support, None], numbers.shape)
        added = np.bincount(numbers.ravel(), weights.ravel(), minlength=self.matrix.shape[0])
        return np.asarray(added, dtype=float)


def _squares(table: Matrix) -> list[Matrix]:
    size = round(table.shape[0] ** 0.5)
    return [column.reshape(size, size) for column in table.T]
