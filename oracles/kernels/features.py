"""Kernels on subsets of features, and the families of 13 (d + 1) of them that the MKL literature compares on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import e, log2

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.bank_checks import checked_vector
from oracle_opt.oracles.kernels.base import Indices, KeptKernels
from oracle_opt.oracles.kernels.compiled_loops import feature_loops, thread_count
from oracle_opt.oracles.kernels.gram_bank import GramBank, empty_store
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.points import (
    LEAST_DIFFERENCE,
    Standardization,
    products_of,
    sampled_distances,
    squared_distances,
)
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.rbf import RBFBank

N_WIDTHS = 10
QUANTILES = (0.1, 0.9)
DEGREES = (1, 2, 3)  # the compiled loops take them to be 1, 2, ..
SIMPLEMKL_WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)


class KernelKind(Enum):
    """The value is the formula; t is the parameter."""

    RBF = "exp(-norm(x - y)**2 / (2 t**2))"
    POLYNOMIAL = "(1 + x @ y)**t"


@dataclass(frozen=True)
class KernelSpec:
    """One kernel on some columns; its parameter is the width of an RBF kernel, the degree of a polynomial one."""

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
    """Squared distances (RBF) or inner products (polynomial) of the rows of A and B, shape (m, n)."""
    of_rows = squared_distances if kind is KernelKind.RBF else products_of
    return of_rows(A[:, features], B[:, features])


class FeatureKernels(KeptKernels):
    """Kernels on standardized points, evaluated between new points and the bank's points."""

    by_rows = True

    def __init__(
        self, points: Matrix, standardize: Standardization, widths: Matrix, kernels: Indices | None = None
    ) -> None:
        self.points, self.standardize, self.widths, self.kernels = points, standardize, widths, kernels
        self.n_kernels = (N_WIDTHS + len(DEGREES)) * widths.shape[0] if kernels is None else kernels.size
        self.n_points, self._every = points.shape[0], tuple(range(points.shape[1]))

    def __getstate__(self) -> dict[str, object]:
        """Without the specifications, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "specs"}

    @cached_property
    def specs(self) -> tuple[KernelSpec, ...]:
        """The kernels."""
        return tuple(self._spec(k) for k in range(self.n_kernels))

    def _spec(self, k: int) -> KernelSpec:
        group, place = divmod(k if self.kernels is None else int(self.kernels[k]), N_WIDTHS + len(DEGREES))
        features = (group - 1,) if group else self._every
        if place < N_WIDTHS:
            return KernelSpec(features, KernelKind.RBF, float(self.widths[group, place]))
        return KernelSpec(features, KernelKind.POLYNOMIAL, float(DEGREES[place - N_WIDTHS]))

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group: all columns, or one."""
        spec = self.specs[k]
        columns = self.standardize.columns
        group = "all columns" if k < N_WIDTHS + len(DEGREES) else f"x{columns[spec.features[0]]}"
        if spec.kind is KernelKind.RBF:
            return f"gaussian(width={spec.parameter:.4g}) of {group}", group
        return f"polynomial(degree={spec.parameter:.0f}) of {group}", group

    def kept(self, kernels: Indices, points: Indices) -> FeatureKernels:
        """Some of all kernels on some of the points."""
        return FeatureKernels(self.points[points], self.standardize, self.widths, kernels)

    def cross(self, new: ArrayLike, weights: ArrayLike) -> Matrix:
        """Weighted sum of cross-kernels; kernels next to each other on the same features share their distances."""
        A, d = self.standardize(new), checked_vector(weights, self.n_kernels, "weights")
        total = np.zeros((A.shape[0], self.points.shape[0]))
        shared: tuple[tuple[int, ...], KernelKind] | None = None
        for k in np.flatnonzero(d).tolist():
            spec = self.specs[k]
            if shared != (spec.features, spec.kind):
                shared = (spec.features, spec.kind)
                terms = pair_terms(A, self.points, *shared)
            total += float(d[k]) * spec.of_pairs(terms)
        return total


def uci_bank(X: ArrayLike, *, dtype: DTypeLike = np.float64, memory_limit: int | None = None) -> GramBank:
    """Build the 13 (d + 1) kernels of the MKL literature on the points X.

    Constant columns are dropped and the others standardized. Then, first on all features together and next on each one
    alone: 10 kernels ``exp(-D**2 / (2 s**2))``, with s geometric between the 10 % and 90 % quantiles of the positive
    pairwise distances D, and ``(1 + x @ y)**k`` for k = 1, 2, 3. Each is scaled to unit trace. Columns, means,
    deviations, widths and scales are learned here, from X, and used again by the bank's `cross`.

    The entries are written once, in about the time that writing as many numbers takes; exponentials are wrong by at
    most 4.5e-16 of the entry of a point with itself. Many entries are shared among threads as `GramBank` says.

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

    See Also
    --------
    simplemkl_bank : The same kernels of fixed widths.

    Notes
    -----
    The paper speaks of one set of distances, and its figures agree with one set of ten widths, taken from the distances
    on all features, for every feature: see papers/pages/accpm.md. Here each feature has widths of its own.

    References
    ----------
    .. [1] Wulff, Ong (2014), "Analytic center cutting plane method for multiple kernel learning", section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> bank = uci_bank(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]))
    >>> bank.n_kernels
    39
    """
    return bank_of_widths(X, None, dtype, memory_limit)


def simplemkl_bank(X: ArrayLike, *, dtype: DTypeLike = np.float64, memory_limit: int | None = None) -> GramBank:
    """Build the 13 (d + 1) kernels of SimpleMKL on the points X: those of `uci_bank` of fixed widths.

    Constant columns are dropped and the others standardized. Then, first on all features together and next on each one
    alone: ``exp(-D**2 / (2 s**2))`` of the distances D with s = 0.5, 1, 2, 5, 7, 10, 12, 15, 17, 20, and
    ``(1 + x @ y)**k`` for k = 1, 2, 3. Each is scaled to unit trace. Columns, means, deviations and scales are learned
    here, from X, and used again by the bank's `cross`.

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

    See Also
    --------
    uci_bank : Widths that follow the distances of the points.

    Notes
    -----
    The paper has ten widths and does not print them; they stand in the scripts of its experiments, in the toolbox of
    its authors.

    References
    ----------
    .. [1] Rakotomamonjy, Bach, Canu, Grandvalet (2008), "SimpleMKL", JMLR 9, section 5.1, and its toolbox.

    Examples
    --------
    >>> import numpy as np
    >>> bank = simplemkl_bank(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]))
    >>> bank.n_kernels
    39
    """
    return bank_of_widths(X, np.array(SIMPLEMKL_WIDTHS), dtype, memory_limit)


def bank_of_widths(
    X: ArrayLike, fixed: Vector | None, dtype: DTypeLike = np.float64, memory_limit: int | None = None
) -> GramBank:
    """Build the bank, of the ten widths given, the same for all features, or of those by quantiles."""
    standardize, Z = Standardization.of(X)
    packed = empty_store((N_WIDTHS + len(DEGREES)) * (Z.shape[1] + 1), Z.shape[0], dtype, memory_limit)
    widths, scales, largest, total = _fill(Z, packed, fixed)
    source = FeatureKernels(Z, standardize, widths)
    # A diagonal entry is rounded half a dozen times.
    up = 1.0 + 8.0 * float(np.finfo(packed.dtype).eps)
    sizes = up * largest, np.full(scales.size, up * (1.0 + EPS * Z.shape[0]))
    return GramBank.from_packed(packed, scales, source, memory_limit=memory_limit, sizes=sizes, total=total)


def _fill(Z: Matrix, packed: NDArray[np.floating], fixed: Vector | None) -> tuple[Matrix, Vector, Vector, Vector]:
    """Write the halves of all kernels on standardized points.

    Returned are widths, shape (d + 1, 10), scales, the largest entries of the diagonals, and the sum of the halves.
    """
    n, d = Z.shape
    features = np.ascontiguousarray(Z.T)
    per_group, threads = N_WIDTHS + len(DEGREES), thread_count(packed.size)
    squares, bases = np.empty((2, packed.shape[1]))
    feature_loops.pair_sums(features, 1.0, squares, bases)
    widths = _widths_of_quantiles(features, squares) if fixed is None else np.tile(fixed, (d + 1, 1))
    # exp(-D / (2 s^2)) = 2^(rate D)
    rates = np.ascontiguousarray(-0.5 * log2(e) / widths**2)
    scales = np.full((d + 1, per_group), 1.0 / n)
    norms = 1.0 + np.vstack([(features * features).sum(axis=0), features * features])
    largest = scales.copy()
    for degree in DEGREES:
        powers = norms**degree
        scales[:, N_WIDTHS + degree - 1] = 1.0 / powers.sum(axis=1)
        largest[:, N_WIDTHS + degree - 1] = powers.max(axis=1) / powers.sum(axis=1)
    total = np.zeros(packed.shape[1])
    feature_loops.fill_of_pairs(squares, bases, rates[0], scales[0], packed[:per_group], total, threads)
    feature_loops.fill_of_features(features, rates[1:], scales[1:], packed[per_group:], total, threads)
    return widths, scales.reshape(-1), largest.reshape(-1), total


def _widths_of_quantiles(features: Matrix, squares: Vector) -> Matrix:
    """Ten widths between the quantiles of the distances, of all features and of each: shape (d + 1, 10)."""
    ends = np.empty((features.shape[0] + 1, 2))
    ends[0] = _quantiles_of_distances(squares)
    ones = np.tile(np.arange(features.shape[1] + 1.0), (features.shape[0], 1))
    ranked, levels = np.sort(features, axis=1), np.array(QUANTILES)
    feature_loops.quantiles_of_differences(ranked, ones, LEAST_DIFFERENCE, levels, False, ends[1:])
    widths: Matrix = np.geomspace(ends[:, 0], ends[:, 1], N_WIDTHS, axis=1)
    return widths


def _quantiles_of_distances(squares: Vector) -> Vector:
    """Quantiles of the positive distances; to sort their squares is faster than to search for two places."""
    ranked = np.sort(squares)
    ranked = ranked[np.searchsorted(ranked, LEAST_DIFFERENCE**2, "right") :]
    at = np.array(QUANTILES) * (ranked.size - 1)
    first = at.astype(int)
    around = np.sqrt(ranked[[first, np.minimum(first + 1, ranked.size - 1)]])
    found: Vector = around[0] + (around[1] - around[0]) * (at - first)
    return found


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
