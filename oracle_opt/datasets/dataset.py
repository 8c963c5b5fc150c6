"""What every data set is, wherever it comes from, and its random splits into training and test points."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidData


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


def split_points(y: Vector, seed: int, *, train: float = 0.7) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw the training and the test points of a split.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels -1 and 1; while the training part holds one class alone, the permutation is drawn again.
    seed : int
        Seed of ``numpy.random.default_rng``.
    train : float
        Share of the points that train: the first ``int(train * n)`` of a random permutation.

    Returns
    -------
    train : ndarray of int
        Row numbers of the training points.
    test : ndarray of int
        Those of the others.

    Raises
    ------
    InvalidArgument
        The seed is negative, or the share is not between 0 and 1.
    InvalidData
        There are too few points for both parts.
    """
    seed, train = whole("seed", seed, least=0), real("train", train, above=0.0, below=1.0)
    n_train = int(train * y.size)
    if not 2 <= n_train < y.size:
        raise InvalidData(f"{y.size} points are too few: {n_train} would train and {y.size - n_train} test")
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        order = rng.permutation(y.size)
        if abs(y[order[:n_train]].sum()) < n_train:
            return order[:n_train], order[n_train:]
    raise InvalidData(f"no split out of 1000 has both classes among its {n_train} training points")
