"""Points, dense or sparse: checks, choice of features, equal points, distances of pairs, and weighted statistics.

A point of weight 2 counts as two points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.compiled_loops import feature_loops

Points = Any  # ndarray or CSR array of shape (n, d)
# Sparse points are kept as dense ones on so few features.
FEW_FEATURES = 4
MIRRORED = 512  # columns of a square that `mirror` copies at a time
# Squares of smaller differences may be 0.
LEAST_DIFFERENCE = 1e-153
# Pairs of points whose distances are taken at a time.
PAIRS_AT_ONCE = 4096


def checked_points(X: ArrayLike | sparse.spmatrix | sparse.sparray, name: str) -> Points:
    """Return the points as a float64 ndarray or CSR array, or raise `InvalidArgument`."""
    if sparse.issparse(X):
        points = _canonical(X, name)
    else:
        points = floats(name, X, "points of real numbers, shape (n, columns)")
    if points.ndim != 2 or 0 in points.shape:
        raise InvalidArgument(f"`{name}` must be finite points of shape (n, columns), got shape {points.shape}")
    return finite(points, name)


def finite(points: Points, name: str) -> Points:
    """Return points, or refuse them by the row and the column of the first number that is not finite."""
    if not np.isfinite(points.data if sparse.issparse(points) else points).all():
        entries = sparse.coo_array(points)
        at = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        where = f"row {entries.row[at]}, column {entries.col[at]}, both counted from 0"
        raise InvalidArgument(
            f"`{name}` must be finite points, got {entries.data[at]} in {where}; fill such numbers in, or drop the rows"
        )
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
    """First of each of the points that differ by sums with random numbers, and where each point is among them."""
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
    """Positive distances of all pairs of points, or of `n_pairs` at random; if all are 0, of points that differ."""
    positive = _distances_of_pairs(points, n_pairs, rng)
    return positive if positive.size else _distances_of_pairs(points[distinct(points)[0]], n_pairs, rng)


def _distances_of_pairs(points: Points, n_pairs: int, rng: np.random.Generator) -> Vector:
    n = points.shape[0]
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
    else:
        i, j = rng.integers(n, size=(2, n_pairs))
    squares = _squares_of_pairs(points, i, j)
    positive: Vector = np.sqrt(squares[squares > 0])
    return positive


def _squares_of_pairs(points: Points, i: Indices, j: Indices) -> Vector:
    """Squared distances of the points of these numbers, some pairs at a time."""
    squares = np.empty(i.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(0, i.size, PAIRS_AT_ONCE):
            part = slice(at, at + PAIRS_AT_ONCE)
            squares[part] = squared_norms(points[i[part]] - points[j[part]])
    refuse_overflow(squares, points)
    return squares


def refuse_overflow(squares: Vector, points: Points) -> None:
    """Refuse points of which these sums of squares, or their roots, are not finite."""
    if not np.isfinite(squares).all():
        largest = np.abs(points).max()
        raise InvalidArgument(
            f"`X` must have entries whose squares are finite, below about 1e154, got {largest:g}; divide its columns "
            "by their largest entries"
        )


@dataclass(frozen=True, eq=False)
class Standardization:
    """A standardization of points, learned from some of them by `of`."""

    columns: NDArray[np.intp]
    center: Vector
    spread: Vector
    n_columns: int

    @classmethod
    def of(cls, X: ArrayLike) -> tuple[Standardization, Matrix]:
        """The standardization of the points X, shape (n, columns), and the standardized points, shape (n, d)."""
        raw = floats("X", X, "points of real numbers, shape (n, columns)")
        if raw.ndim != 2 or raw.size == 0:
            raise InvalidArgument(f"`X` must be finite points of shape (n, columns), got shape {raw.shape}")
        finite(raw, "X")
        columns = np.flatnonzero(raw.max(axis=0) > raw.min(axis=0))
        if columns.size == 0:
            raise InvalidArgument("`X` must have a column that is not constant, got none")
        kept = raw[:, columns]
        with np.errstate(over="ignore", invalid="ignore"):
            learned = cls(columns, kept.mean(axis=0), kept.std(axis=0), raw.shape[1])
        refuse_overflow(learned.spread, raw)
        return learned, (kept - learned.center) / learned.spread

    def __call__(self, new: ArrayLike) -> Matrix:
        """Standardized points, shape (m, d), or `InvalidArgument` if they do not have so many columns."""
        raw = floats("new", new, "points of real numbers, shape (m, columns)")
        if raw.ndim != 2 or raw.shape[1] != self.n_columns:
            raise InvalidArgument(f"`new` must be finite points of shape (m, {self.n_columns}), got shape {raw.shape}")
        standardized: Matrix = (finite(raw, "new")[:, self.columns] - self.center) / self.spread
        return standardized


def weighted_quantiles(values: ArrayLike, weights: ArrayLike, levels: ArrayLike) -> Vector:
    """Least values at or below which these shares of the weight lie, which weights and repeated values tell alike."""
    v, w = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    if w.min() == w.max():  # no need to sort
        shares = np.asarray(levels, dtype=float) * v.size * (1.0 - 4.0 * EPS * v.size)
        at = np.maximum(np.ceil(shares).astype(np.intp) - 1, 0)
        equal: Vector = np.partition(v, np.unique(at))[at]
        return equal
    order = np.argsort(v)
    order = order[w[order] > 0]
    reached = np.cumsum(w[order])
    # A share that is reached but for rounding is reached.
    wanted = np.asarray(levels, dtype=float) * reached[-1] * (1.0 - 4.0 * EPS * order.size)
    found: Vector = v[order][np.minimum(np.searchsorted(reached, wanted), order.size - 1)]
    return found


def quantiles_of_distances(Z: Points, weights: Vector, levels: Vector, n_pairs: int, rng: Generator) -> Vector | None:
    """Such `weighted_quantiles` of the positive distances, in one column of all of them."""
    if Z.shape[1] > 1:
        distances, of_pairs = positive_distances(Z, weights, n_pairs, rng)
        return weighted_quantiles(distances, of_pairs, levels) if distances.size else None
    values = (Z.toarray() if sparse.issparse(Z) else Z)[:, 0]
    order = np.argsort(values)
    ranked, sums, found = values[order], np.concatenate([[0.0], np.cumsum(weights[order])]), np.empty(levels.size)
    with np.errstate(over="ignore"):
        refuse_overflow((ranked[-1:] - ranked[:1]) ** 2, Z)
    if ranked[-1] - ranked[0] <= LEAST_DIFFERENCE:
        return None
    feature_loops.quantiles_of_differences(ranked[None], sums[None], LEAST_DIFFERENCE, levels, True, found[None])
    return found


def weighted_moments(Z: Points, weights: Vector) -> tuple[Vector, Vector]:
    """Weighted means and deviations of the columns, two ndarrays of shape (columns,)."""
    share = weights / weights.sum()
    center = np.asarray(share @ Z).reshape(-1)
    if sparse.issparse(Z):
        # (z - c)**2 of the entries that are stored, c**2 of the others
        stored, columns = Z.data - center[Z.indices], Z.indices
        of_entries = np.repeat(share, np.diff(Z.indptr))
        inside = np.bincount(columns, of_entries * stored * stored, minlength=Z.shape[1])
        variance = inside + np.maximum(1.0 - np.bincount(columns, of_entries, minlength=Z.shape[1]), 0.0) * center**2
    else:
        differences = Z - center
        differences *= differences
        variance = share @ differences
    return center, np.asarray(np.sqrt(variance), dtype=float)


def squared_distances(A: Points, B: Points) -> Matrix:
    """Squared distances of the rows of A and of B, shape (m, n); a row of them does not depend on the other rows."""
    if not sparse.issparse(A) or A.shape[1] <= FEW_FEATURES:
        from scipy.spatial.distance import cdist

        left, right = (Z.toarray() if sparse.issparse(Z) else Z for Z in (A, B))
        found: Matrix = cdist(left, right, "sqeuclidean")
        return found
    # |x|^2 + |z|^2 - 2 x z, which rounding may bring below 0
    products = products_of(A, B)
    products *= -2.0
    products += squared_norms(A)[:, None]
    products += squared_norms(B)
    return np.maximum(products, 0.0, out=products)


def products_of(A: Points, B: Points) -> Matrix:
    """Inner products of the rows of A and of B, shape (m, n); a row of them does not depend on the other rows."""
    if sparse.issparse(A):
        return np.asarray((A @ B.T).toarray())
    # einsum without a plan sums every entry by itself, where a matrix product works by blocks of rows
    products: Matrix = np.einsum("id,jd->ij", A, B, optimize=False)
    return products


def positive_distances(Z: Points, weights: Vector, n_pairs: int, rng: Generator) -> tuple[Vector, Vector]:
    """Positive distances of pairs of points, and the weights of the pairs, the products of their points' weights.

    The pairs are all of points that differ or, if more than `n_pairs`, so many drawn in proportion to weights.
    """
    first, index = distinct(Z)
    points, w = Z[first], np.asarray(np.bincount(index, weights), dtype=float)
    order = np.argsort(random_sums(points))  # one order, whatever that of the points is
    points, w = points[order], w[order]
    n = w.size
    of_pairs: Vector
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.tril_indices(n)
        of_pairs = w[i] * w[j]
    else:
        shares = rng.random((2, n_pairs))
        if w.min() == w.max():
            i, j = np.minimum((shares * n).astype(np.intp), n - 1)
        else:
            reached = np.cumsum(w)
            i, j = np.minimum(np.searchsorted(reached, shares * reached[-1], side="right"), n - 1)
        of_pairs = np.ones(n_pairs)
    if sparse.issparse(points) or i.size < n * (n + 1) // 2:
        squares = _squares_of_pairs(points, i, j)
    else:
        squares, bases = np.empty((2, i.size))
        feature_loops.pair_sums(np.ascontiguousarray(points.T), 1.0, squares, bases)
        refuse_overflow(squares, points)
    apart = squares > 0
    return np.sqrt(squares[apart]), of_pairs[apart]


def parts(size: int, most: int) -> Iterator[slice]:
    """Slices of at most so many, and at least one, one after another."""
    step = max(most, 1)
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def mirror(K: Matrix) -> None:
    """Copy what is below the diagonal to the other side."""
    for part in parts(K.shape[0], MIRRORED):
        square = K[part, part]
        square[:] = np.tril(square) + np.tril(square, -1).T
        K[: part.start, part] = K[part, : part.start].T
