"""The kernels of `uci_bank`, computed from the points whenever they are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from oracle_opt.arguments import whole
from oracle_opt.oracles.kernels.features import DEGREES, N_WIDTHS, FeatureKernels
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.points import sampled_distances
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.oracles.kernels.standardization import Standardization


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
    standardize, Z = Standardization.of(X)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    n_pairs = whole("n_pairs", n_pairs, least=1)
    features = [np.arange(Z.shape[1]), *np.arange(Z.shape[1])[:, None]]
    widths = []
    for of_family in features:
        least, largest = np.quantile(sampled_distances(Z[:, of_family], n_pairs, rng), (0.1, 0.9))
        widths.append(np.geomspace(least, largest, N_WIDTHS))
    rbf = RBFBank(Z, features, widths, dtype=dtype)
    polynomial = PolynomialBank(Z, features, [DEGREES] * len(features))
    families = np.arange(len(features))[:, None]
    first = families * N_WIDTHS + np.arange(N_WIDTHS), rbf.n_kernels + families * len(DEGREES) + np.arange(len(DEGREES))
    order = np.hstack(first).ravel()
    labels = [("", "")] * order.size
    of_features = FeatureKernels(Z[:1], standardize, np.array(widths))
    for k, place in enumerate(order.tolist()):
        labels[place] = of_features.label(k)
    return JoinedBank([rbf, polynomial], prepare=standardize, labels=labels).subset(order)
