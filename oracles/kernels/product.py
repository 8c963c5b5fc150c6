"""Products of RBF kernels: ``K(d) = exp(-sum(d_k D_k))`` entrywise, for p distances D_k on n points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import (
    checked_indices,
    checked_kernels,
    checked_vector,
)
from oracle_opt.oracles.kernels.base import KeptKernels, KernelBank
from oracle_opt.oracles.kernels.distances import Between, PointDistances, StoredDistances, given_distances
from oracle_opt.words import numbered


class KeptProduct(KeptKernels):
    """The kept kernels and points of a product of kernels."""

    def __init__(self, distances: Between) -> None:
        self._distances, self.by_rows = distances, distances.by_rows
        self.n_kernels, self.n_points = distances.n_kernels, distances.n_points

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Product of the kernels, see `ProductBank.cross`."""
        return np.exp(-self._distances.cross(new, checked_vector(weights, self.n_kernels, "weights")))


class ProductBank(KeptKernels):
    """Distances D_1 .. D_p on n points, combined into one kernel by ``exp(-sum(d_k D_k))``.

    Parameters
    ----------
    distances : array_like of shape (p, n, n), or sequence of p array_like of shape (n, n)
        Squared distances, or any other for which ``exp(-t D)`` is a kernel for all t >= 0: finite, symmetric, zero on
        the diagonal, nonnegative, of negative type. Their halves are kept, ``p * n * (n - 1) / 2`` entries of 8 bytes.
    check : bool
        Whether they are checked to be of negative type, a Cholesky factorization each.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    on_the_fly : bool
        Whether `kernel` serves: for a bank made of points.

    Raises
    ------
    InvalidArgument
        A distance cannot be used; the message has its index.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", section 5; Schoenberg (1938), "Metric spaces and positive definite
    functions", for the condition on the distances.

    Examples
    --------
    >>> import numpy as np
    >>> bank = ProductBank([[[0.0, 1.0], [1.0, 0.0]]])
    >>> bank.combine([2.0]).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """

    def __init__(self, distances: Sequence[ArrayLike] | NDArray[np.floating], *, check: bool = True) -> None:
        self._take(given_distances(distances, check))

    @classmethod
    def from_points(cls, X: ArrayLike) -> ProductBank:
        """Make a bank of the squared differences in each feature: one RBF kernel a feature, widths to be learned.

        Nothing of size p n**2 is stored, and nothing of size n**2 either where the kernel is read through `kernel`.
        Constant columns are dropped and the others standardized. X are the raw points, the training part alone; `cross`
        takes raw new points.
        """
        bank = cls.__new__(cls)
        bank._take(PointDistances(X))
        return bank

    @classmethod
    def of_distances(cls, distances: StoredDistances | PointDistances) -> ProductBank:
        """Make a bank of distances that were checked before, as `KernelList.fit_product` does."""
        bank = cls.__new__(cls)
        bank._take(distances)
        return bank

    def on(self, points: ArrayLike) -> ProductBank:
        """Return the distances of some `points`, at least one, none twice, numbered anew, as a bank of its own."""
        return self.of_distances(self._source.on(checked_indices(points, self.n_points, "points")))

    def _take(self, source: StoredDistances | PointDistances) -> None:
        self._source = source
        self.n_kernels, self.n_points = source.shape
        self.on_the_fly = isinstance(source, PointDistances)

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """``exp(-sum(d_k D_k))`` at nonnegative `weights` d, written to `out`, C-contiguous float64, or a new array."""
        return np.exp(-self._source.total(self._checked(weights)), out=out)

    def kernel(self, weights: ArrayLike) -> KernelBank:
        """Product of the kernels at nonnegative `weights` as a bank of one kernel, on the fly.

        Its `exactness` counts the rounding of its entries. Distances that were given as matrices are refused.
        """
        return self._points().kernel(self._checked(weights))

    def distance_forms(self, v: ArrayLike, K: Matrix | KernelBank) -> Vector:
        """Forms ``v @ (D_k * K) @ v`` of the distances: minus the derivatives of ``v @ K(d) @ v`` in d.

        For an SVM v are its signed dual variables. K is what `combine` or `kernel` returned; the latter is read in
        blocks of 2**19 entries.
        """
        x = checked_vector(v, self.n_points, "v")
        if isinstance(K, KernelBank):
            return self._points().forms_on_the_fly(x, K)
        support = np.flatnonzero(x)
        s = x[support]
        return self._source.forms(support, K[np.ix_(support, support)] * (s[:, None] * s))

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Product of the kernels between new points and those of the bank at nonnegative `weights`, shape (m, n).

        For a bank made from points, `new` are m raw new points, shape (m, columns). For given distances they are the p
        distances between new points and those of the bank, shape (p, m, n), those of weight zero perhaps None.
        """
        return np.exp(-self._source.cross(new, self._checked(weights)))

    def label(self, k: int) -> tuple[str, str]:
        """Name of distance number k, and of its group: of points the column, else its number and none."""
        return self._source.label(k)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the distances, p different texts."""
        return numbered([self.label(k)[0] for k in range(self.n_kernels)])

    @property
    def groups(self) -> tuple[str, ...]:
        """Group of each distance in tables of weights, p texts; empty for one that has none."""
        return tuple(self.label(k)[1] for k in range(self.n_kernels))

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Product of some kernels between new points and some points of the bank: what a fitted model needs of it.

        `kernels` are numbers of distances, at least one, none twice; the others count as of weight 0; `points` are
        indices of points. `cross` takes new points, or distances, as that of the bank does, and weights of these.
        """
        which = checked_kernels(kernels, self.n_kernels)
        return KeptProduct(self._source.kept(which, checked_indices(points, self.n_points, "points")))

    def digest(self) -> str:
        """16 hexadecimal digits that tell these distances from others."""
        return digest("product", self.n_kernels, self.n_points, self._source.content())

    def _points(self) -> PointDistances:
        if not isinstance(self._source, PointDistances):
            raise InvalidArgument(
                "`kernel` must be asked of a bank made by `from_points`, got given distances; take `combine`"
            )
        return self._source

    def _checked(self, weights: ArrayLike) -> Vector:
        d = checked_vector(weights, self.n_kernels, "weights")
        if (d < 0).any():
            raise InvalidArgument(f"`weights` must be {self.n_kernels} finite numbers >= 0, got {d.min():g}")
        return d
