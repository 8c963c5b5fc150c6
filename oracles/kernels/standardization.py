"""Raw points as kernels see them: without constant columns, the others of mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument


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
