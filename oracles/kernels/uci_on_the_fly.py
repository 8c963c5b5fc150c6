"""The kernels of `uci_bank`, computed from the points whenever they are needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arguments import floats, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.features import DEGREES, N_WIDTHS
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.points import sampled_distances
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.rbf import RBFBank


@dataclass(frozen=True, eq=False)
class Standardization:
    """Raw points as kernels see them.

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

    def __call__(self, new: ArrayLike) -> Matrix:
        """Standardized points, shape (m, d), or `InvalidArgument` if they do not have so many columns."""
        raw = floats("new", new, "points of real numbers, shape (m, columns)")
        if raw.ndim != 2 or raw.shape[1] != self.n_columns or not np.isfinite(raw).all():
            raise InvalidArgument(f"`new` must be finite points of shape (m, {self.n_columns}), got shape {raw.shape}")
        standardized: Matrix = (raw[:, self.columns] - self.center) / self.spread
        return standardized


def uci_bank_on_the_fly(
    X: ArrayLike, *, dtype: DTypeLike = np.float64, n_pairs: int = 100_000, seed: int = 0
) -> JoinedBank:
    """Make the 13 (d + 1) kernels of `uci_bank` on the points X, in its order, without keeping an entry.

    They take 16 bytes an entry of X (12 in float32) in place of 8 or 16 bytes an entry of every kernel. For n up to 447
    the kernels are those of `uci_bank` up to rounding; for larger n widths come from the distances of `n_pairs` pairs.

    Parameters
    ----------
    X : array_like of shape (n, columns)
        Raw points: the training part alone.
    dtype : float64 or float32
        Precision of the RBF kernels, as for `RBFBank`.
    n_pairs : int
        Number of pairs from whose distances widths are taken; all pairs, if they are no more.
    seed : int
        Seed of the random sample.

    Returns
    -------
    JoinedBank
        Of an `RBFBank` and a `PolynomialBank`. Its `cross` takes raw new points, shape (m, columns).

    Raises
    ------
    InvalidArgument
        X is not finite points of which at least two differ.

    Examples
    --------
    >>> import numpy as np
    >>> bank = uci_bank_on_the_fly(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]))
    >>> bank.n_kernels
    39
    """
    raw = floats("X", X, "points of real numbers, shape (n, columns)")
    if raw.ndim != 2 or raw.size == 0 or not np.isfinite(raw).all():
        raise InvalidArgument(f"`X` must be finite points of shape (n, columns), got shape {raw.shape}")
    columns = np.flatnonzero(raw.max(axis=0) > raw.min(axis=0))
    if columns.size == 0:
        raise InvalidArgument("`X` must have a column that is not constant, got none")
    center, spread = raw[:, columns].mean(axis=0), raw[:, columns].std(axis=0)
    standardize = Standardization(columns, center, spread, raw.shape[1])
    Z, rng = standardize(raw), np.random.default_rng(whole("seed", seed, least=0))
    n_pairs = whole("n_pairs", n_pairs, least=1)
    features = [np.arange(columns.size), *np.arange(columns.size)[:, None]]
    widths = []
    for of_family in features:
        least, largest = np.quantile(sampled_distances(Z[:, of_family], n_pairs, rng), (0.1, 0.9))
        widths.append(np.geomspace(least, largest, N_WIDTHS))
    rbf = RBFBank(Z, features, widths, dtype=dtype)
    polynomial = PolynomialBank(Z, features, [DEGREES] * len(features))
    families = np.arange(len(features))[:, None]
    first = families * N_WIDTHS + np.arange(N_WIDTHS), rbf.n_kernels + families * len(DEGREES) + np.arange(len(DEGREES))
    return JoinedBank([rbf, polynomial], prepare=standardize).subset(np.hstack(first).ravel())
