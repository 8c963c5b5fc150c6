"""Statistics of weighted points, in which a point of weight 2 counts as two points."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.family_points import FEW_FEATURES
from oracle_opt.oracles.kernels.points import distinct, random_sums, squared_norms
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table

# Pairs of points whose distances are taken at a time.
PAIRS_AT_ONCE = 4096


def weighted_quantiles(values: ArrayLike, weights: ArrayLike, levels: ArrayLike) -> Vector:
    """Least values at or below which at least these shares of the weight lie: the inverse of the distribution function.

    Values repeated by their weights have the same quantiles, which no interpolation between values would give.

    Parameters
    ----------
    values, weights : array_like of shape (m,)
        At least one value; weights that are not negative, and not all 0.
    levels : array_like
        Numbers from 0 to 1.

    Returns
    -------
    ndarray
        Of the shape of `levels`.
    """
    v, w = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    if w.min() == w.max():  # no need to sort
        shares = np.asarray(levels, dtype=float) * v.size * (1.0 - 4.0 * EPS * v.size)
        at = np.maximum(np.ceil(shares).astype(np.intp) - 1, 0)
        equal: Vector = np.partition(v, np.unique(at))[at]
        return equal
    order = np.argsort(v, kind="stable")
    order = order[w[order] > 0]
    reached = np.cumsum(w[order])
    # A share that is reached but for rounding is reached.
    wanted = np.asarray(levels, dtype=float) * reached[-1] * (1.0 - 4.0 * EPS * order.size)
    found: Vector = v[order][np.minimum(np.searchsorted(reached, wanted), order.size - 1)]
    return found


def weighted_moments(Z: Table, weights: Vector) -> tuple[Vector, Vector]:
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


def squared_distances(A: Table, B: Table) -> Matrix:
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


def products_of(A: Table, B: Table) -> Matrix:
    """Inner products of the rows of A and of B, shape (m, n); a row of them does not depend on the other rows."""
    if sparse.issparse(A):
        return np.asarray((A @ B.T).toarray())
    # einsum without a plan sums every entry by itself, where a matrix product works by blocks of rows
    products: Matrix = np.einsum("id,jd->ij", A, B, optimize=False)
    return products


def positive_distances(Z: Table, weights: Vector, n_pairs: int, rng: Generator) -> tuple[Vector, Vector]:
    """Positive distances of pairs of points and the weights of the pairs, the products of those of their points.

    Of all pairs of points that differ or, if they are more than `n_pairs`, of so many drawn in proportion to their
    weights. Neither the order of the points nor how often an equal one is repeated matters, but its weight.
    """
    first, index = distinct(Z)
    points, w = Z[first], np.asarray(np.bincount(index, weights), dtype=float)
    order = np.argsort(random_sums(points))  # one order, whatever that of the points is
    points, w = points[order], w[order]
    n = w.size
    of_pairs: Vector
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
        of_pairs = w[i] * w[j]
    else:
        shares = rng.random((2, n_pairs))
        if w.min() == w.max():
            i, j = np.minimum((shares * n).astype(np.intp), n - 1)
        else:
            reached = np.cumsum(w)
            i, j = np.minimum(np.searchsorted(reached, shares * reached[-1], side="right"), n - 1)
        of_pairs = np.ones(n_pairs)
    squares: Vector = np.empty(i.size)
    for at in range(0, i.size, PAIRS_AT_ONCE):
        part = slice(at, at + PAIRS_AT_ONCE)
        squares[part] = squared_norms(points[i[part]] - points[j[part]])
    apart = squares > 0
    return np.sqrt(squares[apart]), of_pairs[apart]
