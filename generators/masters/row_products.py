"""Operations of masters on dense or sparse rows: products through a diagonal, stacks, largest entries."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector

CHUNK = 1 << 18  # entries of the matrix that are scaled at a time: as many as a processor's cache holds


def weighted_gram(matrix: Any, weights: Vector) -> Matrix:
    """``matrix @ diag(weights) @ matrix.T``, dense."""
    roots = np.sqrt(weights)
    if not isinstance(matrix, np.ndarray):
        scaled = matrix.tocsr(copy=True)
        scaled.data *= roots[scaled.indices]
        product: Matrix = (scaled @ scaled.T).toarray()
        return product
    m, n = matrix.shape
    width = max(1, CHUNK // max(m, 1))
    gram = np.zeros((m, m))
    for begin in range(0, n, width):
        part = matrix[:, begin : begin + width] * roots[begin : begin + width]
        gram += part @ part.T
    return gram


def square_products(matrix: Any, weights: Vector) -> Vector:
    """``matrix**2 @ weights``."""
    if not isinstance(matrix, np.ndarray):
        result: Vector = matrix.power(2) @ weights
        return result
    sums = np.zeros(len(matrix))
    width = max(1, CHUNK // max(len(matrix), 1))
    for begin in range(0, matrix.shape[1], width):
        sums += matrix[:, begin : begin + width] ** 2 @ weights[begin : begin + width]
    return sums


def steepness(matrix: Any) -> Vector:
    """Largest size of an entry of each row."""
    if not isinstance(matrix, np.ndarray):
        largest: Vector = abs(matrix).max(axis=1).toarray().ravel()
        return largest
    of_dense: Vector = np.maximum(matrix.max(axis=1, initial=0.0), -matrix.min(axis=1, initial=0.0))
    return of_dense


def stacked(blocks: Sequence[Any], divisors: Vector | None = None, last: Vector | None = None) -> Any:
    """Rows of several matrices above each other, perhaps divided by numbers of their own; and with one more column."""
    if set(map(type, blocks)) == {np.ndarray}:
        n = blocks[0].shape[1]
        stack = np.empty((sum(map(len, blocks)), n + (last is not None)))
        np.concatenate(blocks, out=stack[:, :n])
        if divisors is not None:
            stack[:, :n] /= divisors[:, None]
        if last is not None:
            stack[:, n] = last
        return stack
    import scipy.sparse  # only here: the import takes time

    rows = scipy.sparse.vstack([scipy.sparse.csr_array(block) for block in blocks], format="csr")
    if divisors is not None:
        rows = scipy.sparse.diags_array(1.0 / divisors) @ rows
    if last is None:
        return rows
    return scipy.sparse.hstack([rows, scipy.sparse.csr_array(last[:, None])], format="csr")
