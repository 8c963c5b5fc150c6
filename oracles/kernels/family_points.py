"""The points of a bank that computes its kernels on the fly, and what its families see of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.points import FEW_FEATURES, Points, distinct, of_features, squared_norms

# Coordinates beyond which single precision is not used: squares of differences then stay finite.
FAR = 1e15

# Points that are copied at a time where all are looked at.
POINTS_AT_ONCE = 4096

# What the compiled loops read: rows of a matrix, or CSR arrays, squared norms and the number of columns.
Side = Any


class SharedPoints:
    """Points as all families of a bank read them: once in memory, in double precision.

    For entries in single precision they are ``(X - center) / 2**exponent``, at most 1 in size and not centered if
    sparse: distances and rates, which undo the factor, then fit into it.
    """

    def __init__(self, points: Points, single: bool) -> None:
        self.single = single
        self.exponent, self.center = 0, np.zeros(points.shape[1])
        if single:
            if not sparse.issparse(points):
                self.center = points.mean(axis=0)
            largest = float(np.abs(points if sparse.issparse(points) else points - self.center).max())
            self.exponent = int(np.frexp(max(largest, np.finfo(float).tiny))[1])
        self.rows = self.placed(points)

    def placed(self, points: Points) -> Points:
        """Points, shape (m, columns), kept as the bank's points are."""
        if sparse.issparse(points):
            by_column = points.tocsc()
            by_column.data = np.ldexp(by_column.data, -self.exponent)
            return by_column
        return np.ldexp(points - self.center, -self.exponent) if self.single else np.ascontiguousarray(points)

    def given(self, which: Indices, columns: Indices) -> Points:
        """Some of the points on some columns, in double precision, as they were given but for rounding."""
        if sparse.issparse(self.rows):
            chosen = sparse.csr_array(self.rows[:, columns])[which]
            chosen.data = np.ldexp(chosen.data, self.exponent)
            return chosen
        return np.ldexp(self.rows[np.ix_(which, columns)], self.exponent) + self.center[columns]

    def misplaced(self, families: Sequence[Indices]) -> Vector:
        """By how far a point moves at most if it is rounded to single precision, on the features of each family."""
        chosen = np.zeros((self.rows.shape[1], len(families)))
        for i, features in enumerate(families):
            np.add.at(chosen[:, i], features, 1.0)
        most = np.zeros(len(families))
        for start in range(0, self.rows.shape[0], POINTS_AT_ONCE):
            rows = self.rows[start : start + POINTS_AT_ONCE]
            off = rows - rows.astype(np.float32)
            np.maximum(most, ((off * off) @ chosen).max(axis=0), out=most)
        return np.asarray(np.sqrt((1.0 + EPS * (chosen.sum(axis=0) + 4.0)) * most))


class FamilyPoints:
    """Points on some features: those that are equal there are one; sparse ones are kept as CSR.

    `index` tells where each is among the `n_distinct`; of a point `most_entries` at most are not 0, d if dense.
    """

    def __init__(self, shared: SharedPoints, points: Points, features: Indices, misplaced: float) -> None:
        self.shared, self.features, self.misplaced = shared, features, misplaced
        self.sparse = sparse.issparse(points) and features.size > FEW_FEATURES
        chosen = of_features(points, features)
        if sparse.issparse(points) and not self.sparse:
            chosen = chosen.toarray()
        first, self.index = distinct(chosen)
        self.n_distinct = int(first.size)
        self.differ = self.n_distinct == chosen.shape[0]
        # Sparse points are sliced by columns once; dense ones each time, from what all families share.
        self._own: Points | None = None
        if sparse.issparse(points):
            own = of_features(shared.rows, features)
            self._own = own[first] if self.sparse else own[first].toarray()
        self._first = None if self.differ else first
        self._every = features.size == shared.rows.shape[1] and bool((features == np.arange(features.size)).all())
        self._few = 4 * features.size <= shared.rows.shape[1]
        self.most_entries, self.largest_norm = features.size, 0.0
        if self.sparse:
            assert self._own is not None
            self._norms = squared_norms(self._own)
            self.largest_norm = float(self._norms.max())
            self.most_entries = int(np.diff(self._own.indptr).max())

    def norms(self) -> Vector:
        """Squared norms of the points that differ, ndarray of shape (n_distinct,)."""
        if self.sparse:
            return self._norms
        found = np.empty(self.n_distinct)
        for start in range(0, self.n_distinct, POINTS_AT_ONCE):
            rows = self.side(slice(start, start + POINTS_AT_ONCE), True)
            found[start : start + POINTS_AT_ONCE] = squared_norms(rows)
        return found

    def side(self, which: Indices | slice, precise: bool) -> Side:
        """Some of the points that differ for the compiled loops; rounded to single precision unless `precise`."""
        if self._own is not None:
            own = self._own[which]
            return _csr_side(own, self._norms[which]) if self.sparse else _rounded(own, precise)
        rows = self.shared.rows
        chosen = which if self._first is None else self._first[which]
        if self._few and not isinstance(chosen, slice):
            return _rounded(rows[chosen[:, None], self.features], precise)
        return self._cut(rows[chosen], precise)

    def new_side(self, points: Points, precise: bool) -> Side:
        """Points that `SharedPoints.placed` returned, likewise."""
        if self._own is None:
            return self._cut(points, precise)
        own = of_features(points, self.features)
        return _csr_side(own, squared_norms(own)) if self.sparse else _rounded(own.toarray(), precise)

    def _cut(self, rows: Matrix, precise: bool) -> Side:
        return _rounded(rows if self._every else np.take(rows, self.features, axis=1), precise)


def _rounded(rows: Matrix, precise: bool) -> NDArray[np.floating]:
    if precise:
        return np.ascontiguousarray(rows)
    # New points may be far away.
    return np.clip(rows, -FAR, FAR).astype(np.float32)


def side_part(side: Side, part: slice) -> Side:
    """Some points of a side that follow each other."""
    if not isinstance(side, tuple):
        return side[part]
    starts, columns, data, norms, d = side
    found = norms[part]
    return starts[part.start : part.start + found.size + 1], columns, data, found, d


def side_size(side: Side) -> int:
    """Number of points of a side."""
    return len(side[3]) if isinstance(side, tuple) else len(side)


def _csr_side(points: Points, norms: Vector) -> Side:
    if points.nnz >= 2**31 or points.shape[1] >= 2**31:
        raise InvalidArgument(f"sparse points may have 2**31 - 1 entries on the features of a family, got {points.nnz}")
    starts, columns = (np.ascontiguousarray(a, dtype=np.intc) for a in (points.indptr, points.indices))
    return starts, columns, np.ascontiguousarray(points.data, dtype=float), norms, points.shape[1]
