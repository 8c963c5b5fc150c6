"""Rows of which only the entries that are not zero are kept, in a matrix that grows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector


class SparseRows:
    """Compressed sparse rows in arrays that double when they are full: 12 bytes an entry that is not zero."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._entries, self._columns = np.empty(0), np.empty(0, dtype=np.int32)
        self._starts = np.zeros(16, dtype=np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, row: Vector) -> None:
        """Add a row."""
        columns = np.flatnonzero(row)
        begin = int(self._starts[self._size])
        end = begin + len(columns)
        if end > len(self._entries):
            capacity = max(2 * len(self._entries), end)
            self._entries, self._columns = _longer(self._entries, capacity), _longer(self._columns, capacity)
        if self._size + 2 > len(self._starts):
            self._starts = _longer(self._starts, 2 * len(self._starts))
        self._entries[begin:end], self._columns[begin:end] = row[columns], columns
        self._size += 1
        self._starts[self._size] = end

    def row(self, i: int) -> Vector:
        """Row i with its zeros."""
        dense, part = np.zeros(self._dimension), slice(self._starts[i], self._starts[i + 1])
        dense[self._columns[part]] = self._entries[part]
        return dense

    def products(self, point: Vector) -> Vector:
        """Products of all rows with a point."""
        result: Vector = self.csr() @ point
        return result

    def combine(self, multipliers: Vector) -> Vector:
        """Sum of the rows times multipliers."""
        active = np.flatnonzero(multipliers)
        slope = np.zeros(self._dimension)
        for i in active.tolist():
            part = slice(self._starts[i], self._starts[i + 1])
            slope[self._columns[part]] += multipliers[i] * self._entries[part]
        return slope

    def block(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
        """Some columns, in increasing order, of some rows; dense."""
        place = np.full(self._dimension, -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        block = np.zeros((len(rows), len(columns)))
        for into, i in zip(block, rows.tolist(), strict=True):
            part = slice(self._starts[i], self._starts[i + 1])
            where = place[self._columns[part]]
            known = where >= 0
            into[where[known]] = self._entries[part][known]
        return block

    def touched(self) -> NDArray[np.bool_]:
        """Which columns have an entry in some row."""
        mask = np.zeros(self._dimension, dtype=bool)
        mask[self._columns[: self._starts[self._size]]] = True
        return mask

    def keep(self, kept: NDArray[np.intp]) -> None:
        """Keep some rows, in increasing order."""
        end = 0
        for new, i in enumerate(kept.tolist()):
            part = slice(self._starts[i], self._starts[i + 1])
            size = part.stop - part.start
            self._entries[end : end + size], self._columns[end : end + size] = self._entries[part], self._columns[part]
            self._starts[new] = end
            end += size
        self._size = len(kept)
        self._starts[self._size] = end

    def csr(self) -> Any:
        """All rows as a `scipy.sparse.csr_array` over the same memory."""
        import scipy.sparse  # only here: the import takes time

        end = self._starts[self._size]
        parts = self._entries[:end], self._columns[:end], self._starts[: self._size + 1]
        return scipy.sparse.csr_array(parts, shape=(self._size, self._dimension))


def _longer(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    longer = np.zeros(capacity, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
