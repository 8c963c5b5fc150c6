"""The cuts of one kind as rows of a matrix that grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector


class Rows:
    """Affine functions ``constant + matrix @ z``, one a row; equal rows are kept once and counted.

    Adding a row costs a comparison with those of the same constant, O(m + n); the arrays double when they are full.

    Parameters
    ----------
    dimension : int
        Number of variables, n.

    Attributes
    ----------
    matrix : ndarray of shape (m, n)
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

    def __init__(self, dimension: int) -> None:
        self._matrix = np.empty((16, dimension))
        self._sides = np.empty((6, 16))
        self._summand, self._number = np.zeros((2, 16), dtype=np.intp)
        self._size = self._added = 0

    def __len__(self) -> int:
        return self._size

    @property
    def matrix(self) -> Matrix:
        """Rows, a view."""
        return self._matrix[: self._size]

    @property
    def constant(self) -> Vector:
        """Constants, a view."""
        return self._sides[0, : self._size]

    @property
    def value(self) -> Vector:
        """Values, a view."""
        return self._sides[1, : self._size]

    @property
    def count(self) -> Vector:
        """Multiplicities, a view."""
        return self._sides[2, : self._size]

    @property
    def size(self) -> Vector:
        """Units of rounding errors, a view."""
        return self._sides[3, : self._size]

    @property
    def error(self) -> Vector:
        """Errors of the constants, a view."""
        return self._sides[4, : self._size]

    @property
    def tolerance(self) -> Vector:
        """Tolerances of the oracle, a view."""
        return self._sides[5, : self._size]

    @property
    def summand(self) -> NDArray[np.intp]:
        """Summands, a view."""
        return self._summand[: self._size]

    @property
    def number(self) -> NDArray[np.intp]:
        """Serial numbers, a view."""
        return self._number[: self._size]

    def add(
        self,
        row: Vector,
        constant: float,
        value: float,
        size: float,
        error: float,
        summand: int = 0,
        tolerance: float = 0.0,
    ) -> None:
        """Add one row, or count it once more if it stands there already, up to rounding: then the first one stays.

        Parameters
        ----------
        row : ndarray of shape (n,)
            Slope of the cut.
        constant : float
            Its value at 0.
        value : float
            Its value at its own point.
        size : float
            Size of the terms it was computed from, whose rounding it has.
        error : float
            Error that the oracle stated.
        summand : int
            Number of the summand that it belongs to.
        tolerance : float
            What the oracle tolerates of a feasibility cut.
        """
        for i in np.flatnonzero(np.abs(self.constant - constant) <= 1e-13 * abs(constant)):
            if self._summand[i] == summand and np.abs(self._matrix[i] - row).max() <= 1e-13 * np.abs(row).max():
                self._sides[1, i] = min(self._sides[1, i], value)
                self._sides[2, i] += 1
                return
        if self._size == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
            self._sides = np.concatenate([self._sides, np.empty_like(self._sides)], axis=1)
            self._summand = np.concatenate([self._summand, np.zeros_like(self._summand)])
            self._number = np.concatenate([self._number, np.zeros_like(self._number)])
        self._matrix[self._size] = row
        self._summand[self._size], self._number[self._size] = summand, self._added
        self._sides[:, self._size] = constant, value, 1, size, error, tolerance
        self._size += 1
        self._added += 1

    def largest(self, point: Vector) -> float:
        """Largest of the rows' values at a point; -inf without rows."""
        return float((self.constant + self.matrix @ point).max(initial=-np.inf))

    def combine(self, multipliers: Vector) -> Vector:
        """``multipliers @ matrix``, in the time of the rows whose multiplier is not zero."""
        active = np.flatnonzero(multipliers)
        if 2 * len(active) > self._size:
            return multipliers @ self.matrix
        return multipliers[active] @ self._matrix[active]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows outside the mask."""
        kept = np.flatnonzero(mask)
        self._size = len(kept)
        self._matrix[: self._size] = self._matrix[kept]
        self._sides[:, : self._size] = self._sides[:, kept]
        self._summand[: self._size] = self._summand[kept]
        self._number[: self._size] = self._number[kept]
