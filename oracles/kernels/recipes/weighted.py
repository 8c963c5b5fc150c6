"""Statistics of weighted points, in which a point of weight 2 counts as two points."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.points import squared_norms
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table

# Pairs of points whose distances are taken at a time.
PAIRS_AT_ONCE = 1 << 16


def weighted_quantiles(values: Vector, weights: Vector, levels: ArrayLike) -> Vector:
    """Least values at or below which at least these shares of the weight lie: the inverse of the distribution function.

    Values repeated by their weights have the same quantiles, which no interpolation between values would give.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, np.asarray(levels, dtype=float) * reached[-1])
    found: Vector = values[order][np.minimum(at, values.size - 1)]
    return found


def squared_distances(A: Table, B: Table) -> Matrix:
    """Squared distances of the rows of A and of B, shape (m, n); a row of them does not depend on the other rows."""
    if not sparse.issparse(A):
        from scipy.spatial.distance import cdist

        found: Matrix = cdist(A, B, "sqeuclidean")
        return found
    products = products_of(A, B)
    return np.maximum(squared_norms(A)[:, None] + squared_norms(B) - 2.0 * products, 0.0)


def products_of(A: Table, B: Table) -> Matrix:
    """Inner products of the rows of A and of B, shape (m, n); a row of them does not depend on the other rows."""
    if sparse.issparse(A):
        return np.asarray((A @ B.T).todense())
    # einsum without a plan sums every entry by itself, where a matrix product works by blocks of rows
    products: Matrix = np.einsum("id,jd->ij", A, B, optimize=False)
    return products


def positive_distances(Z: Table, weights: Vector, n_pairs: int, rng: Generator) -> tuple[Vector, Vector]:
    """Positive distances of pairs of points and the weights of the pairs, the products of those of their points.

    Of all pairs or, if they are more than `n_pairs`, of so many drawn in proportion to their weights.
    """
    n = weights.size
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
        of_pairs = weights[i] * weights[j]
    else:
        i, j = rng.choice(n, size=(2, n_pairs), p=weights / weights.sum())
        of_pairs = np.ones(n_pairs)
    squares = np.empty(i.size)
    for at in range(0, i.size, PAIRS_AT_ONCE):
        part = slice(at, at + PAIRS_AT_ONCE)
        squares[part] = squared_norms(Z[i[part]] - Z[j[part]])
    apart = squares > 0
    return np.sqrt(squares[apart]), of_pairs[apart]
