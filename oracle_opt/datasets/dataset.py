"""What every data set is, wherever it comes from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from oracle_opt.arrays import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Dataset:
    """A binary classification problem. Features are raw: neither scaled nor centered.

    Attributes
    ----------
    name : str
        Its name, or its file's name without folder and endings.
    X : ndarray or scipy.sparse.csr_array of shape (n, d)
        Float64, one row per point. Sparse for LIBSVM files, dense for all else; `dense` gives an array either way.
    y : ndarray of shape (n,)
        Labels -1.0 and 1.0.
    feature_names : tuple of str
        Names of the d columns.
    description : str
        What the labels mean and where the data are from.
    source : str
        Where this copy was read.
    """

    name: str
    X: Any
    y: Vector
    feature_names: tuple[str, ...]
    description: str
    source: str

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of features."""
        n, d = self.X.shape
        return int(n), int(d)

    @property
    def n_positive(self) -> int:
        """Number of points labeled 1."""
        return int((self.y > 0).sum())

    def dense(self) -> Matrix:
        """Return the features as an ndarray of shape (n, d)."""
        return np.asarray(self.X.toarray() if issparse(self.X) else self.X, dtype=float)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these points and labels from others; the order of the rows counts."""
        content = hashlib.blake2b(f"{self.shape}".encode(), digest_size=8)
        X = self.X
        numbers = (self.y, X.data, X.indices, X.indptr) if issparse(X) else (self.y, X)
        for array in numbers:
            content.update(np.asarray(array, dtype="<f8").tobytes())
        return content.hexdigest()

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Dataset({self.name!r}, n={n}, d={d}, positive={self.n_positive}, source={self.source!r})"
