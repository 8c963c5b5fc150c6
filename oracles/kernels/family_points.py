"""The points of a bank that computes its kernels on the fly, and what its families see of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.points import Points, distinct, of_features, squared_norms

# Sparse points are kept as dense ones on so few features.
FEW_FEATURES = 4
# Coordinates beyond which single precision is not used: squares of differences then stay finite.
FAR = 1e15

# Points whose roundings are looked at at a time.
POINTS_AT_ONCE = 4096

# What the compiled loops read: rows of a matrix, or CSR arrays, squared norms and the number of columns.
Side = Any


class SharedPoints:
    """Points as all families of a bank read them: once in memory, in double or single precision.

    Single precision is of ``(X - center) / 2**exponent``, entries at most 1 in size: kernels do not change if points
    are moved, the factor is undone by the rates, and small numbers have smaller roundings than large ones.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n, columns)
        Checked; sparse ones are kept in double precision.
    single : bool
        Whether dense points are kept in single precision.

    Attributes
    ----------
    rows : ndarray or CSC array of shape (n, columns)
        As they are kept.
    exponent : int
        As above; 0 in double precision.
    """

    def __init__(self, points: Points, single: bool) -> None:
        self.single = single and not sparse.issparse(points)
        self.exponent, self.center = 0, np.zeros(points.shape[1])
        if self.single:
            self.center = points.mean(axis=0)
            largest = max(float(np.abs(points - self.center).max()), np.finfo(float).tiny)
            self.exponent = int(np.frexp(largest)[1])
        self.rows = self.placed(points)

    def placed(self, points: Points) -> Points:
        """Points, shape (m, columns), as those of the bank are kept."""
        if sparse.issparse(points):
            return points.tocsc()
        if not self.single:
            return np.ascontiguousarray(points)
        moved = np.ldexp(points - self.center, -self.exponent)
        return np.clip(moved, -FAR, FAR, out=moved).astype(np.float32)

    def misplaced(self, points: Points, families: Sequence[Indices]) -> Vector:
        """By how far a point is off at most as it is kept, on the features of each family, in units of X."""
        if not self.single:
            return np.zeros(len(families))
        chosen = np.zeros((points.shape[1], len(families)))
        for i, features in enumerate(families):
            np.add.at(chosen[:, i], features, 1.0)
        most = np.zeros(len(families))
        for start in range(0, points.shape[0], POINTS_AT_ONCE):
            part = slice(start, start + POINTS_AT_ONCE)
            off = np.ldexp(points[part] - self.center, -self.exponent) - self.rows[part]
            np.maximum(most, ((off * off) @ chosen).max(axis=0), out=most)
        # The difference is itself rounded in double: a number of at most 1 by EPS / 2.
        count = chosen.sum(axis=0)
        return np.asarray(np.ldexp(np.sqrt((1 + count * EPS) * most) + EPS * np.sqrt(count), self.exponent))


class FamilyPoints:
    """Points on some features: those that are equal there are one.

    Parameters
    ----------
    shared : SharedPoints
        The points of the bank.
    points : ndarray or CSC array of shape (n, columns)
        The same as given.
    features : ndarray of int, shape (d,)
        The features.
    misplaced : float
        By how far a point is off at most on them, as of `SharedPoints`.

    Attributes
    ----------
    index : ndarray of int, shape (n,)
        Where each point is among those that differ.
    n_distinct : int
        Number of points that differ.
    sparse : bool
        Whether they are kept as CSR.
    most_entries : int
        Numbers that differ from 0 of a point, at most; d if dense.
    largest_norm : float
        Largest squared norm of sparse points.
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
        self._own: Points | None = chosen[first] if sparse.issparse(points) else None
        self._first = None if self.differ else first
        self._every = features.size == shared.rows.shape[1] and bool((features == np.arange(features.size)).all())
        self._few = 4 * features.size <= shared.rows.shape[1]
        self.most_entries, self.largest_norm = features.size, 0.0
        if self.sparse:
            assert self._own is not None
            self._norms = squared_norms(self._own)
            self.largest_norm = float(self._norms.max())
            self.most_entries = int(np.diff(self._own.indptr).max())

    @property
    def single(self) -> bool:
        """Whether the points are kept in single precision."""
        return self.shared.single and not self.sparse

    def side(self, which: Indices | slice, precise: bool) -> Side:
        """Some of the points that differ for the compiled loops; in double precision if `precise`."""
        if self._own is not None:
            own = self._own[which]
            return _csr_side(own, self._norms[which]) if self.sparse else np.ascontiguousarray(own)
        rows = self.shared.rows
        chosen = which if self._first is None else self._first[which]
        if self._few and not isinstance(chosen, slice):
            return np.ascontiguousarray(rows[chosen[:, None], self.features], dtype=float if precise else None)
        return self._cut(rows[chosen], precise)

    def new_side(self, points: Points, precise: bool) -> Side:
        """Points that `SharedPoints.placed` returned, likewise."""
        if self._own is None:
            return self._cut(points, precise)
        own = of_features(points, self.features)
        return _csr_side(own, squared_norms(own)) if self.sparse else np.ascontiguousarray(own.toarray())

    def _cut(self, rows: NDArray[np.floating], precise: bool) -> Side:
        chosen = rows if self._every else np.take(rows, self.features, axis=1)
        return np.ascontiguousarray(chosen, dtype=float if precise else None)


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
