"""Weighted sums of kernels of many families, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.family_points import side_part
from oracle_opt.oracles.kernels.family_sums import FamilySums

# Rows and columns of a tile: all families are added to it while it is in the second-level cache.
TILE_ROWS, TILE_COLUMNS = 256, 512


class Term(Protocol):
    """A matrix that is added to others, part by part."""

    def add(self, rows: slice, columns: slice, out: Matrix) -> None:
        """Add some of its rows and columns to an array of that shape."""


class SumTerm:
    """A weighted sum of kernels of one family, of some rows and columns among the points that differ.

    Parameters
    ----------
    sums : FamilySums
        The kernels.
    rows, columns : ndarray of int
        Of the sum, among the points that differ.
    speeds, weights : ndarray of shape (q,)
        Of the kernels.
    """

    def __init__(self, sums: FamilySums, rows: Indices, columns: Indices, speeds: Vector, weights: Vector) -> None:
        self.sums, self.speeds, self.weights = sums, speeds, weights
        self.rows, self.columns = sums.side(rows), sums.side(columns)

    def add(self, rows: slice, columns: slice, out: Matrix) -> None:
        """Add some of its rows and columns."""
        self.sums.add(side_part(self.rows, rows), side_part(self.columns, columns), self.speeds, self.weights, out)


class TableTerm:
    """Rows and columns of a matrix over the points that differ."""

    def __init__(self, table: Matrix, rows: Indices, columns: Indices) -> None:
        self.table, self.rows, self.columns = table, rows, columns

    def add(self, rows: slice, columns: slice, out: Matrix) -> None:
        """Add some of its rows and columns."""
        out += self.table[self.rows[rows]][:, self.columns[columns]]


def add_terms(terms: Sequence[Term], out: Matrix, first_row: int = 0, first_column: int | None = None) -> None:
    """Add matrices to one; only what is on or below the diagonal if the first column is given.

    Parameters
    ----------
    terms : sequence of Term
        Of the shape of `out`.
    out : ndarray of shape (r, c)
        The sum.
    first_row, first_column : int
        Where `out` stands in a square matrix: tiles above its diagonal are left out.
    """
    for rows in parts(out.shape[0], TILE_ROWS):
        for columns in parts(out.shape[1], TILE_COLUMNS):
            if first_column is not None and first_column + columns.start >= first_row + rows.stop:
                continue
            tile = out[rows, columns]
            for term in terms:
                term.add(rows, columns, tile)


def parts(size: int, most: int) -> Iterator[slice]:
    """Slices of at most so many, and at least one, one after another."""
    step = max(most, 1)
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def mirror(K: Matrix) -> None:
    """Copy what is below the diagonal to the other side."""
    for part in parts(K.shape[0], TILE_COLUMNS):
        square = K[part, part]
        square[:] = np.tril(square) + np.tril(square, -1).T
        K[: part.start, part] = K[part, : part.start].T
