"""Random splits into training and test points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidData


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
