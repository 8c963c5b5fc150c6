"""Points, dense or sparse: checks, choice of features, equal points, distances of pairs, standardization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices

Points = Any  # ndarray or CSR array of shape (n, d)

# Pairs of points whose distances are taken at a time.
PAIRS_AT_ONCE = 4096


def checked_points(X: ArrayLike | sparse.spmatrix | sparse.sparray, name: str) -> Points:
    """Return the points as a float64 ndarray or CSR array, or raise `InvalidArgument`."""
    if sparse.issparse(X):
        points = _canonical(X, name)
        finite = np.isfinite(points.data).all()
    else:
        points = floats(name, X, "points of real numbers, shape (n, columns)")
        finite = np.isfinite(points).all()
    if points.ndim != 2 or 0 in points.shape or not finite:
        raise InvalidArgument(f"`{name}` must be finite points of shape (n, columns), got shape {points.shape}")
    return points


def _canonical(X: sparse.spmatrix | sparse.sparray, name: str) -> sparse.csr_array:
    """A copy with sorted columns, each once, no zeros; flags are not trusted, as the data may have changed since."""
    points = sparse.csr_array(X, dtype=float, copy=True)
    try:
        points.check_format(full_check=True)
    except ValueError as problem:
        raise InvalidArgument(f"`{name}` must be a valid sparse array: {problem}") from problem
    points.has_sorted_indices = points.has_canonical_format = False
    points.sum_duplicates()
    points.eliminate_zeros()
    return points


def checked_new(new: ArrayLike | sparse.spmatrix | sparse.sparray, n_columns: int) -> Points:
    """Return new points as `checked_points` does, or raise `InvalidArgument` unless they have so many columns."""
    points = checked_points(new, "new")
    if points.shape[1] != n_columns:
        raise InvalidArgument(f"`new` must have {n_columns} columns, got shape {points.shape}")
    return points


def of_features(by_column: Points, features: Indices) -> Points:
    """Some columns of an ndarray or CSC array, as a contiguous ndarray or CSR array."""
    chosen = by_column[:, features]
    return sparse.csr_array(chosen) if sparse.issparse(chosen) else np.ascontiguousarray(chosen)


def columns_in_words(features: Indices, n_columns: int) -> str:
    """Name of a group of columns: "all columns", "x3", "x0, x2", or the first and the last of many and their number."""
    if features.size == n_columns:
        return "all columns"
    if features.size <= 4:
        return ", ".join(f"x{f}" for f in features.tolist())
    return f"x{features[0]}, x{features[1]} .. x{features[-1]} ({features.size} columns)"


def random_sums(points: Points) -> Vector:
    """Sums of the coordinates with random numbers, the same each time: equal points have equal ones, others hardly."""
    n = points.shape[0]
    numbers = np.random.default_rng(0).normal(size=points.shape[1])
    if sparse.issparse(points):
        rows = np.repeat(np.arange(n), np.diff(points.indptr))
        return np.asarray(np.bincount(rows, points.data * numbers[points.indices], minlength=n), dtype=float)
    sums = np.zeros(n)
    for f in range(points.shape[1]):  # one by one, as sums in another order round differently
        sums += points[:, f] * numbers[f]
    return sums


def distinct(points: Points) -> tuple[Indices, Indices]:
    """First of each of the points that differ, and where each point is among them.

    Equal rows have equal sums with random numbers; should ever two that differ, all points count as different.
    """
    n = points.shape[0]
    _, first, index = np.unique(random_sums(points), return_index=True, return_inverse=True)
    if first.size < n:
        changes = points != points[first[index]]
        if not (changes.nnz if sparse.issparse(points) else changes.any()):
            return first, index
    return np.arange(n), np.arange(n)


def squared_norms(points: Points) -> Vector:
    """Squared norms of the rows, ndarray of shape (n,)."""
    squares = points.multiply(points).sum(axis=1) if sparse.issparse(points) else (points * points).sum(axis=1)
    return np.asarray(squares, dtype=float).reshape(-1)


def sampled_distances(points: Points, n_pairs: int, rng: np.random.Generator) -> Vector:
    """Positive distances of all pairs of points or, if they are more than `n_pairs`, of so many drawn at random.

    If the pairs drawn have none, those of points that differ are taken.
    """
    positive = _distances_of_pairs(points, n_pairs, rng)
    return positive if positive.size else _distances_of_pairs(points[distinct(points)[0]], n_pairs, rng)


def _distances_of_pairs(points: Points, n_pairs: int, rng: np.random.Generator) -> Vector:
    n = points.shape[0]
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
    else:
        i, j = rng.integers(n, size=(2, n_pairs))
    squares = np.empty(i.size)
    for at in range(0, i.size, PAIRS_AT_ONCE):
        part = slice(at, at + PAIRS_AT_ONCE)
        squares[part] = squared_norms(points[i[part]] - points[j[part]])
    positive: Vector = np.sqrt(squares[squares > 0])
    return positive


@dataclass(frozen=True, eq=False)
class Standardization:
    """What standardizes points, learned from some of them by `of`.

    Parameters
    ----------
    columns : ndarray of shape (d,)
        Columns of a raw point that are kept.
    center, spread : ndarray of shape (d,)
        What they are standardized by.
    n_columns : int
        Number of columns of a raw point.
    """

    columns: NDArray[np.intp]
    center: Vector
    spread: Vector
    n_columns: int

    @classmethod
    def of(cls, X: ArrayLike) -> tuple[Standardization, Matrix]:
        """What standardizes the points X, shape (n, columns), and these points standardized, shape (n, d).

        Raises
        ------
        InvalidArgument
            X is not finite points of which at least two differ.
        """
        raw = floats("X", X, "points of real numbers, shape (n, columns)")
        if raw.ndim != 2 or raw.size == 0 or not np.isfinite(raw).all():
            raise InvalidArgument(f"`X` must be finite points of shape (n, columns), got shape {raw.shape}")
        columns = np.flatnonzero(raw.max(axis=0) > raw.min(axis=0))
        if columns.size == 0:
            raise InvalidArgument("`X` must have a column that is not constant, got none")
        kept = raw[:, columns]
        learned = cls(columns, kept.mean(axis=0), kept.std(axis=0), raw.shape[1])
        return learned, (kept - learned.center) / learned.spread

    def __call__(self, new: ArrayLike) -> Matrix:
        """Standardized points, shape (m, d), or `InvalidArgument` if they do not have so many columns."""
        raw = floats("new", new, "points of real numbers, shape (m, columns)")
        if raw.ndim != 2 or raw.shape[1] != self.n_columns or not np.isfinite(raw).all():
            raise InvalidArgument(f"`new` must be finite points of shape (m, {self.n_columns}), got shape {raw.shape}")
        standardized: Matrix = (raw[:, self.columns] - self.center) / self.spread
        return standardized
