"""Kernels on subsets of features, and the family of 13 (d + 1) of them that the MKL literature compares on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank import GramBank, empty_store

N_WIDTHS = 10
DEGREES = (1, 2, 3)


class KernelKind(Enum):
    """The value is the formula; t is the parameter."""

    RBF = "exp(-norm(x - y)**2 / (2 t**2))"
    POLYNOMIAL = "(1 + x @ y)**t"


@dataclass(frozen=True)
class KernelSpec:
    """One kernel on a subset of the features.

    Parameters
    ----------
    features : tuple of int
        Columns it looks at.
    kind : KernelKind
        Its formula.
    parameter : float
        Width of an RBF kernel, degree of a polynomial one.
    """

    features: tuple[int, ...]
    kind: KernelKind
    parameter: float

    def evaluate(self, A: Matrix, B: Matrix) -> Matrix:
        """Kernel between the rows of A, shape (m, d), and those of B, shape (n, d): an ndarray of shape (m, n)."""
        return self.of_pairs(pair_terms(A, B, self.features, self.kind))

    def of_pairs(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Kernel from what `pair_terms` returned for the same features and kind."""
        if self.kind is KernelKind.RBF:
            return np.exp(terms * (-0.5 / self.parameter**2))
        power: NDArray[np.float64] = (1.0 + terms) ** int(self.parameter)
        return power


def pair_terms(A: Matrix, B: Matrix, features: tuple[int, ...], kind: KernelKind) -> Matrix:
    """Squared distances (RBF) or inner products (polynomial) of the rows of A and B, shape (m, n).

    Added up feature by feature: a distance of equal points is then exactly 0, as a difference of norms would not be.
    """
    total = np.zeros((A.shape[0], B.shape[0]))
    for f in features:
        total += _feature_term(A[:, f, None], B[None, :, f], kind)
    return total


def _feature_term(a: Matrix, b: Matrix, kind: KernelKind) -> Matrix:
    if kind is KernelKind.RBF:
        difference = a - b
        difference *= difference
        return difference
    return a * b


class FeatureKernels:
    """Kernels on standardized points, evaluated between new points and those of the bank.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Standardized points of the bank.
    columns : ndarray of shape (d,)
        Columns of a raw point that are kept.
    center, spread : ndarray of shape (d,)
        What the kept columns are standardized by.
    specs : tuple of KernelSpec
        The kernels, p of them.
    n_columns : int
        Number of columns of a raw point.
    """

    def __init__(
        self,
        points: Matrix,
        columns: NDArray[np.intp],
        center: Vector,
        spread: Vector,
        specs: tuple[KernelSpec, ...],
        n_columns: int,
    ) -> None:
        self.points = points
        self.columns = columns
        self.center = center
        self.spread = spread
        self.specs = specs
        self.n_columns = n_columns

    def standardize(self, new: ArrayLike) -> Matrix:
        """Raw points, shape (m, number of columns), as the kernels see them, shape (m, d)."""
        raw = floats("new", new, "points of real numbers, shape (m, columns)")
        if raw.ndim != 2 or raw.shape[1] != self.n_columns or not np.isfinite(raw).all():
            raise InvalidArgument(f"`new` must be finite points of shape (m, {self.n_columns}), got shape {raw.shape}")
        standardized: Matrix = (raw[:, self.columns] - self.center) / self.spread
        return standardized

    def cross(self, new: ArrayLike, which: NDArray[np.intp], weights: Vector) -> Matrix:
        """Weighted sum of cross-kernels; kernels next to each other on the same features share their distances."""
        A = self.standardize(new)
        total = np.zeros((A.shape[0], self.points.shape[0]))
        shared: tuple[tuple[int, ...], KernelKind] | None = None
        for k, weight in zip(which.tolist(), weights.tolist(), strict=True):
            spec = self.specs[k]
            if shared != (spec.features, spec.kind):
                shared = (spec.features, spec.kind)
                terms = pair_terms(A, self.points, *shared)
            total += weight * spec.of_pairs(terms)
        return total


def uci_bank(X: ArrayLike, *, dtype: DTypeLike = np.float64, memory_limit: int | None = None) -> GramBank:
    """Build the 13 (d + 1) kernels of the MKL literature on the points X.

    Constant columns are dropped and the others standardized. Then, first on all features together and next on each one
    alone: 10 kernels ``exp(-D**2 / (2 s**2))``, with s geometric between the 10 % and 90 % quantiles of the positive
    pairwise distances D, and ``(1 + x @ y)**k`` for k = 1, 2, 3. Each is scaled to unit trace. Columns, means,
    deviations, widths and scales are learned here, from X, and used again by the bank's `cross`.

    Parameters
    ----------
    X : array_like of shape (n, columns)
        Raw points: the training part alone.
    dtype, memory_limit
        As for `GramBank`.

    Returns
    -------
    GramBank
        Its `cross` takes raw new points, shape (m, columns).

    Raises
    ------
    InvalidArgument
        X is not finite points of which at least two differ, or the memory does not do.

    References
    ----------
    .. [1] Rakotomamonjy, Bach, Canu, Grandvalet (2008), "SimpleMKL", JMLR 9, section 5.1.
    .. [2] Wulff, Ong (2014), "Analytic center cutting plane method for multiple kernel learning", section 4.

    Examples
    --------
    >>> import numpy as np
    >>> bank = uci_bank(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]))
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
    Z = np.asfortranarray((raw[:, columns] - center) / spread)
    n, d = Z.shape
    packed = empty_store((N_WIDTHS + len(DEGREES)) * (d + 1), n, dtype, memory_limit)
    specs: list[KernelSpec] = []
    scales = np.empty(packed.shape[0])
    for features, distances, products in _pair_groups(Z):
        for spec, terms in _specs(features, distances, products):
            k = len(specs)
            half = spec.of_pairs(terms)
            # The diagonal entries of a half are at i (i + 1) / 2 + i.
            scales[k] = 1.0 / half[np.cumsum(np.arange(1, n + 1)) - 1].sum()
            np.multiply(half, scales[k], out=packed[k], casting="same_kind")
            specs.append(spec)
    source = FeatureKernels(np.ascontiguousarray(Z), columns, center, spread, tuple(specs), raw.shape[1])
    return GramBank.from_packed(packed, scales, source, memory_limit=memory_limit)


def _pair_groups(Z: Matrix) -> Iterator[tuple[tuple[int, ...], Vector, Vector]]:
    """Yield features, squared distances and inner products of the pairs of a half: all features, then each."""
    n, d = Z.shape
    i, j = np.tril_indices(n)

    def terms(f: int) -> tuple[Vector, Vector]:
        a, b = Z[:, f][i], Z[:, f][j]
        return _feature_term(a, b, KernelKind.RBF), _feature_term(a, b, KernelKind.POLYNOMIAL)

    distances, products = np.zeros(i.size), np.zeros(i.size)
    for f in range(d):
        of_feature = terms(f)
        distances += of_feature[0]
        products += of_feature[1]
    yield tuple(range(d)), distances, products
    for f in range(d):
        yield (f,), *terms(f)


def _specs(features: tuple[int, ...], distances: Vector, products: Vector) -> Iterator[tuple[KernelSpec, Vector]]:
    """Yield the kernels on some features, each with the terms of the pairs it is a function of."""
    positive = np.sqrt(distances[distances > 0])
    least, largest = np.quantile(positive, (0.1, 0.9))
    for width in np.geomspace(least, largest, N_WIDTHS):
        yield KernelSpec(features, KernelKind.RBF, float(width)), distances
    for degree in DEGREES:
        yield KernelSpec(features, KernelKind.POLYNOMIAL, float(degree)), products
