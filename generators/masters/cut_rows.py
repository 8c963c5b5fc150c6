"""The cuts of one kind as rows of a matrix that grows, dense or sparse."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
import scipy.linalg.blas
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.proof.claim import ClaimKind, CutClaim, below
from oracle_opt.proof.parts import Combination, Parts, numbers_in


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


NOTHING: Mapping[str, Any] = MappingProxyType({})
MANY = 1000  # variables from which on rows may be kept sparse ...
SHARE = 0.1  # ... where no more than this share of their entries is not zero
LONG = 1 << 14  # rows as long are added up one by one: a copy of those wanted would cost more


class RowHolder(Protocol):
    """An object that refers to rows by their numbers, such as the parts of a minorant."""

    def hold(self, numbers: NDArray[np.intp]) -> None:
        """Keep what is needed of these rows: they are about to be dropped."""


class Rows:
    """Affine functions ``constant + matrix @ z``, one a row; equal rows are kept once and counted.

    Adding a row costs a comparison with those of the same constant, O(m + n); the arrays double when they are full.
    With a thousand variables or more, a row with at most a tenth of its entries not zero takes the memory of these
    entries alone.

    Parameters
    ----------
    dimension : int
        Number of variables, n.
    kind : ClaimKind
        What each row is said to be.

    Attributes
    ----------
    shares : weak set of RowHolder
        Those that refer to rows: they are told before these are dropped.
    n_summands : int
        Number of summands of f, where the rows are cuts of these.
    matrix : ndarray of shape (m, n)
        The rows, with their zeros: a new array where some are kept sparse.
    steepness : ndarray of shape (m,)
        Largest size of an entry of each row.
    constant : ndarray of shape (m,)
    value : ndarray of shape (m,)
        The cut's value plus its error, or the violation, at the point it came from; the least of equal rows.
    count : ndarray of shape (m,)
        How often each row was added.
    size : ndarray of shape (m,)
        Sum of the sizes of its terms, at the point it came from and at most on the domain: the unit of rounding.
    error : ndarray of shape (m,)
        By how much rounding may have raised the constant.
    tolerance : ndarray of shape (m,)
        By how much a point that the oracle calls feasible may violate the row, as the oracle says; of an aggregate, by
        how much the row may exceed f there.
    summand : ndarray of shape (m,)
        Which summand of f the row is a cut of; 0 where f is not split.
    number : ndarray of shape (m,)
        Serial number of the row, increasing; it stays when others are dropped, so that multipliers can be kept by it.
    """

    def __init__(self, dimension: int, kind: ClaimKind = ClaimKind.MINORANT) -> None:
        self.dimension, self.kind, self.n_summands = dimension, kind, 0
        self.shares: WeakSet[RowHolder] = WeakSet()
        self._origins: list[Mapping[str, Any] | Parts] = []
        self._matrix = np.empty((0, dimension))
        self._sparse = SparseRows(dimension)
        self._is_sparse = np.zeros(16, dtype=bool)
        self._n_dense = 0
        self._sides, self._integers = np.empty((7, 16)), np.zeros((2, 16), dtype=np.intp)
        self._size = self._added = 0
        self._show()

    def __len__(self) -> int:
        return self._size

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "shares": None}  # those that are copied or pickled with it join again

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.shares = WeakSet()
        self._show()

    @property
    def matrix(self) -> Matrix:
        """Rows, a view if none is sparse."""
        if self._n_dense == self._size:
            return self._matrix[: self._size]
        matrix = np.empty((self._size, self.dimension))
        for i in range(self._size):
            matrix[i] = self.row(i)
        return matrix

    @property
    def compact(self) -> Any:
        """Rows as they are kept: a view, or a new `scipy.sparse.csr_array` if some are sparse."""
        if self._n_dense == self._size:
            return self._matrix[: self._size]
        import scipy.sparse  # only here: the import takes time

        sparse = self._sparse.csr()
        if not self._n_dense:
            return sparse
        both = scipy.sparse.vstack([scipy.sparse.csr_array(self._matrix[: self._n_dense]), sparse], format="csr")
        kinds = self._is_sparse[: self._size]
        order = np.where(kinds, self._n_dense - 1 + np.cumsum(kinds), np.cumsum(~kinds) - 1)
        return both[order]

    def _show(self) -> None:
        """Make the attributes views of what is filled."""
        sides = self._sides[:, : self._size]
        self.constant, self.size, self.error, self.tolerance, self.value, self.count, self.steepness = sides
        self.summand, self.number = self._integers[:, : self._size]

    def sums(self, weights: Vector) -> Vector:
        """The sums of constants, sizes, errors and tolerances with these weights."""
        sums: Vector = self._sides[:4, : self._size] @ weights
        return sums

    def add(
        self,
        row: Vector,
        constant: float,
        value: float,
        size: float,
        error: float,
        summand: int = 0,
        tolerance: float = 0.0,
        origin: Mapping[str, Any] | Parts = NOTHING,
    ) -> None:
        """Add one row, or count it once more if it stands there already, up to rounding: then the first one stays.

        The cut has the slope `row`, is `constant` at 0 and `value` at its own point; `size` is that of the terms it was
        computed from, whose rounding it has, and `error` what the oracle stated. It belongs to a `summand`, or has the
        `tolerance` of a feasibility cut. `origin` are its extras, or the claims that it was made of.
        """
        steepness = float(np.abs(row).max())
        for i in (np.abs(self.constant - constant) <= 1e-13 * abs(constant)).nonzero()[0]:
            if self.summand[i] == summand and np.abs(self.row(i) - row).max() <= 1e-13 * steepness:
                self.value[i] = min(self.value[i], value)
                self.count[i] += 1
                return
        if self._size == len(self._is_sparse):
            self._is_sparse = np.concatenate([self._is_sparse, np.zeros_like(self._is_sparse)])
            self._sides = np.concatenate([self._sides, np.empty_like(self._sides)], axis=1)
            self._integers = np.concatenate([self._integers, np.zeros_like(self._integers)], axis=1)
        sparse = self.dimension >= MANY and np.count_nonzero(row) <= SHARE * self.dimension
        if sparse:
            self._sparse.add(row)
        else:
            if self._n_dense == len(self._matrix):
                larger = np.empty((max(16, 2 * self._n_dense), self.dimension))  # what is not written takes no memory
                larger[: self._n_dense] = self._matrix
                self._matrix = larger
            self._matrix[self._n_dense] = row
            self._n_dense += 1
        self._is_sparse[self._size] = sparse
        self._integers[:, self._size] = summand, self._added
        self._origins.append(origin)
        self._sides[:, self._size] = constant, size, error, tolerance, value, 1, steepness
        self._size += 1
        self._added += 1
        self._show()

    def row(self, i: int | np.intp) -> Vector:
        """Row i, with its zeros."""
        before = 0 if self._n_dense == self._size else int(np.count_nonzero(self._is_sparse[:i]))
        return self._sparse.row(before) if self._is_sparse[i] else self._matrix[i - before]

    def claimed(self, number: int) -> Combination:
        """Return the claim of the row with a serial number, or those that it was made of."""
        i = int(self.number.searchsorted(number))
        origin = self._origins[i]
        if isinstance(origin, Combination):
            return origin
        if isinstance(origin, Parts):
            made = Combination.of(origin.members())
        else:
            constant = below(float(self.constant[i]), float(self.error[i]))
            summand, tolerance = int(self.summand[i]), float(self.tolerance[i])
            slope = np.array(self.row(i))
            made = Combination(
                [(1.0, CutClaim(self.kind, constant, slope, summand, self.n_summands, tolerance, origin))]
            )
        self._origins[i] = made
        return made

    def held(self, numbers: list[int]) -> int:
        """About as many numbers as the claims of the rows with these serial numbers hold."""
        origins = [self._origins[i] for i in self.number.searchsorted(numbers).tolist()]
        return sum(one.most_size if isinstance(one, Parts) else self.dimension + numbers_in(one) for one in origins)

    def copied(self, numbers: list[int]) -> int:
        """How many numbers are copied to claim these rows: their slopes, where they stand in no claim."""
        origins = [self._origins[i] for i in self.number.searchsorted(numbers).tolist()]
        return sum(one.n_copied if isinstance(one, Parts) else self.dimension for one in origins)

    def products(self, point: Vector) -> Vector:
        """``matrix @ point``."""
        dense: Vector = self._matrix[: self._n_dense] @ point
        if self._n_dense == self._size:
            return dense
        products, sparse = np.empty(self._size), self._is_sparse[: self._size]
        products[~sparse], products[sparse] = dense, self._sparse.products(point)
        return products

    @property
    def touched(self) -> NDArray[np.bool_]:
        """Which variables have an entry in some row that is not zero, where all rows are sparse; else all."""
        return np.ones(self.dimension, dtype=bool) if self._n_dense else self._sparse.touched()

    def block(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
        """Some columns of some rows, both in increasing order; dense."""
        if self._n_dense == self._size:
            return self._matrix[rows[:, None], columns]
        sparse, before = self._is_sparse[rows], np.cumsum(self._is_sparse[: self._size])[rows]
        block = np.empty((len(rows), len(columns)))
        block[~sparse] = self._matrix[(rows - before)[~sparse][:, None], columns]
        block[sparse] = self._sparse.block(before[sparse] - 1, columns)
        return block

    def known(self, numbers: NDArray[np.intp], multipliers: Vector) -> Vector:
        """For each row here its entry of `multipliers`, given for rows with rising serial `numbers`; else 0."""
        found = np.zeros(self._size)
        if self._size and len(numbers):
            places = np.minimum(np.searchsorted(self.number, numbers), self._size - 1)
            kept = self.number[places] == numbers
            found[places[kept]] = multipliers[kept]
        return found

    def largest(self, point: Vector) -> float:
        """Largest of the rows' values at a point; -inf without rows."""
        return float((self.constant + self.products(point)).max()) if self._size else -np.inf

    def combine(self, multipliers: Vector) -> Vector:
        """``multipliers @ matrix``, in the time of the rows whose multiplier is not zero."""
        if self._n_dense == self._size:
            return self._of_dense(multipliers)
        sparse = self._is_sparse[: self._size]
        return self._of_dense(multipliers[~sparse]) + self._sparse.combine(multipliers[sparse])

    def _of_dense(self, multipliers: Vector) -> Vector:
        active = multipliers.nonzero()[0]
        if 2 * len(active) > self._n_dense:
            return multipliers @ self._matrix[: self._n_dense]
        if self.dimension < LONG:
            return multipliers[active] @ self._matrix[active]
        slope = np.zeros(self.dimension)
        for i in active.tolist():
            scipy.linalg.blas.daxpy(self._matrix[i], slope, a=multipliers[i])
        return slope

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows outside the mask."""
        dropped = self.number[~mask]
        for share in self.shares:
            share.hold(dropped)
        self._origins = [origin for origin, stays in zip(self._origins, mask.tolist(), strict=True) if stays]
        kept, sparse = np.flatnonzero(mask), self._is_sparse[: self._size].copy()
        dense = np.flatnonzero(mask[~sparse])
        self._matrix[: len(dense)] = self._matrix[dense]
        self._sparse.keep(np.flatnonzero(mask[sparse]))
        self._size, self._n_dense = len(kept), len(dense)
        self._is_sparse[: self._size] = sparse[kept]
        self._sides[:, : self._size] = self._sides[:, kept]
        self._integers[:, : self._size] = self._integers[:, kept]
        self._show()
