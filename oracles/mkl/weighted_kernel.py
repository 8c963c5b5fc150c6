"""A weighted sum of kernels that is never formed: blocks of it, and its products with vectors."""

from collections.abc import Iterator

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices, KernelBank

# Entries of the products that are computed at a time.
ENTRIES_AT_ONCE = 1 << 21
# Points of a block that is made symmetric at a time.
SQUARE = 256


class WeightedKernel:
    """``K = sum_k w_k K_k``, of which entries and products are computed when they are asked for."""

    def __init__(self, bank: KernelBank, weights: Vector) -> None:
        self.bank, self.weights = bank, weights

    def block(self, points: Indices) -> Matrix:
        """K on some points, ndarray of shape (r, r), rounded alike on both sides of the diagonal."""
        return symmetric(self.bank.block(self.weights, points, points))

    def columns(self, points: Indices) -> Matrix:
        """Some columns of K, ndarray of shape (n, r)."""
        return self.bank.block(self.weights, np.arange(self.bank.n_points), points)

    def product(self, b: Vector) -> Vector:
        """``K @ b``, ndarray of shape (n,)."""
        return np.concatenate([products(self.bank, rows, b) @ self.weights for rows in row_pieces(self.bank)])


def products(bank: KernelBank, rows: Indices, b: Vector) -> Matrix:
    """The products of all kernels of a bank with b at some points: what several workers may share by their rows."""
    seconds_left()
    return bank.row_products(rows, b)


def row_pieces(bank: KernelBank) -> Iterator[Indices]:
    """The points, as many at a time as products of all kernels may take."""
    at_once = rows_at_once(bank)
    for start in range(0, bank.n_points, at_once):
        yield np.arange(start, min(start + at_once, bank.n_points))


def rows_at_once(bank: KernelBank) -> int:
    """Points whose products are computed at a time."""
    return min(max(ENTRIES_AT_ONCE // bank.n_kernels, 1), bank.n_points)


def symmetric(K: Matrix) -> Matrix:
    """A block of a kernel, rounded alike on both sides of the diagonal, in place."""
    for first in range(0, len(K), SQUARE):
        last = first + SQUARE
        K[:first, first:last] = K[first:last, :first].T
        square = K[first:last, first:last]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return K
