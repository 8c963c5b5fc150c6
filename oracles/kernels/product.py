"""Products of RBF kernels: ``K(d) = exp(-sum(d_k D_k))`` entrywise, for p distances D_k on n points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import squareform

from oracle_opt.arguments import flag, floats
from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.checked_kernel import check_positive_semidefinite, checked_kernel, n_matrices


class ProductBank:
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
        self._take(_GivenDistances(distances, check))

    @classmethod
    def from_points(cls, X: ArrayLike) -> ProductBank:
        """Make a bank of the squared differences in each feature: one RBF kernel a feature, widths to be learned.

        Nothing of size p n**2 is stored. Constant columns are dropped and the others standardized.

        Parameters
        ----------
        X : array_like of shape (n, columns)
            Raw points: the training part alone.

        Returns
        -------
        ProductBank
            Its `cross` takes raw new points, shape (m, columns).
        """
        bank = cls.__new__(cls)
        bank._take(_PointDistances(X))
        return bank

    def _take(self, source: _Distances) -> None:
        self._source = source
        self.n_kernels, self.n_points = source.shape

    def __repr__(self) -> str:
        return f"ProductBank(n_kernels={self.n_kernels}, n_points={self.n_points})"

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Product of the kernels.

        Parameters
        ----------
        weights : array_like of shape (p,)
            d, nonnegative.
        out : ndarray of shape (n, n), optional
            Where to write it, C-contiguous float64; default: a new array.

        Returns
        -------
        ndarray of shape (n, n)
            ``exp(-sum(d_k D_k))``.
        """
        return np.exp(-self._source.total(self._checked(weights)), out=out)

    def distance_forms(self, v: ArrayLike, K: Matrix) -> Vector:
        """Quadratic forms of the distances within the kernel: minus the derivatives of ``v @ K(d) @ v`` in d.

        Parameters
        ----------
        v : array_like of shape (n,)
            The vector; for an SVM its signed dual variables.
        K : ndarray of shape (n, n)
            What `combine` returned.

        Returns
        -------
        ndarray of shape (p,)
            ``v @ (D_k * K) @ v``.
        """
        x = floats("v", v)
        if x.shape != (self.n_points,) or not np.isfinite(x).all():
            raise InvalidArgument(f"`v` must be {self.n_points} finite numbers, got shape {x.shape}")
        support = np.flatnonzero(x)
        s = x[support]
        return self._source.forms(support, K[np.ix_(support, support)] * (s[:, None] * s))

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Product of the kernels between new points and those of the bank.

        Parameters
        ----------
        new : array_like
            For given distances the p distances between new points and those of the bank, shape (p, m, n), those of
            weight zero perhaps None. For a bank made from points, m raw new points, shape (m, columns).
        weights : array_like of shape (p,)
            d, nonnegative.

        Returns
        -------
        ndarray of shape (m, n)
            The kernel.
        """
        return np.exp(-self._source.cross(new, self._checked(weights)))

    def digest(self) -> str:
        """16 hexadecimal digits that tell these distances from others."""
        return digest("product", self.n_kernels, self.n_points, self._source.content())

    def _checked(self, weights: ArrayLike) -> Vector:
        d = floats("weights", weights)
        if d.shape != (self.n_kernels,) or not (np.isfinite(d) & (d >= 0)).all():
            raise InvalidArgument(f"`weights` must be {self.n_kernels} finite numbers >= 0, got shape {d.shape}")
        return d


class _Distances(Protocol):
    """What a bank asks of its distances."""

    shape: tuple[int, int]

    def total(self, d: Vector) -> Matrix:
        """``sum(d_k D_k)``, shape (n, n), a new array."""

    def forms(self, support: NDArray[np.intp], M: Matrix) -> Vector:
        """``sum over i, j of M_ij D_k,ij`` for a symmetric M on some of the points."""

    def cross(self, new: Any, d: Vector) -> Matrix:
        """``sum(d_k D_k)`` between new points and those of the bank."""

    def content(self) -> NDArray[np.float64]:
        """Return all that tells these distances from others."""


class _GivenDistances:
    """Distances as condensed vectors, pair by pair of different points."""

    def __init__(self, distances: Sequence[ArrayLike] | NDArray[np.floating], check: bool) -> None:
        p = n_matrices("distances", distances)
        first = floats("distances", distances[0], "matrices of real numbers").shape if p else ()
        check = flag("check", check)
        if len(first) != 2:
            raise InvalidArgument(
                f"`distances` must have shape (p, n, n) with p >= 1, got {p} entries, the first {first}"
            )
        n = first[0]
        self.shape = (p, n)
        self._store = np.empty((p, n * (n - 1) // 2))
        for k in range(p):
            name = f"distance {k} of `distances`"
            D = checked_kernel(distances[k], name)
            if D.shape != (n, n):
                raise InvalidArgument(f"{name} must have shape {(n, n)} like distance 0, got {D.shape}")
            if D.min() < 0:
                where = tuple(int(i) for i in np.unravel_index(int(D.argmin()), D.shape))
                raise InvalidArgument(f"{name} must be nonnegative, got {D.min():g} at {where}")
            if D.diagonal().any():
                raise InvalidArgument(f"{name} must be zero on its diagonal, got {D.diagonal().max():g}")
            if check:
                means = D.mean(axis=0)
                check_positive_semidefinite(
                    -0.5 * (D - means - means[:, None] + means.mean()), f"the centered -1/2 D of {name}"
                )
            self._store[k] = squareform(D, checks=False)

    def total(self, d: Vector) -> Matrix:
        sums: Matrix = squareform(d @ self._store)
        return sums

    def forms(self, support: NDArray[np.intp], M: Matrix) -> Vector:
        weights = np.zeros((self.shape[1], self.shape[1]))
        weights[np.ix_(support, support)] = M
        forms: Vector = 2.0 * (self._store @ squareform(weights, checks=False))
        return forms

    def cross(self, new: Sequence[ArrayLike | None], d: Vector) -> Matrix:
        p, n = self.shape
        if n_matrices("new", new) != p:
            raise InvalidArgument(f"`new` must hold {p} cross-distances, got {len(new)}")
        given = {k: floats(f"new[{k}]", D, "a matrix of real numbers") for k, D in enumerate(new) if D is not None}
        shapes = {D.shape for D in given.values()}
        if len(shapes) != 1 or len(shape := shapes.pop()) != 2 or shape[1] != n:
            raise InvalidArgument(f"`new` must hold arrays of one shape (m, {n}), got the shapes {shapes or {shape}}")
        total = np.zeros(shape)
        for k in np.flatnonzero(d).tolist():
            if k not in given:
                raise InvalidArgument(f"distance {k} of `new` must be given, as its weight is {d[k]:g}; got None")
            total += d[k] * given[k]
        return total

    def content(self) -> NDArray[np.float64]:
        return self._store


class _PointDistances:
    """Squared differences of standardized features, never stored: all sums are matrix products."""

    def __init__(self, X: ArrayLike) -> None:
        raw = floats("X", X, "points of real numbers, shape (n, columns)")
        if raw.ndim != 2 or raw.size == 0 or not np.isfinite(raw).all():
            raise InvalidArgument(f"`X` must be finite points of shape (n, columns), got shape {raw.shape}")
        self._columns = np.flatnonzero(raw.max(axis=0) > raw.min(axis=0))
        if self._columns.size == 0:
            raise InvalidArgument("`X` must have a column that is not constant, got none")
        self._n_columns = raw.shape[1]
        kept = raw[:, self._columns]
        self._center, self._spread = kept.mean(axis=0), kept.std(axis=0)
        self._points: Matrix = (kept - self._center) / self._spread
        self.shape = (self._columns.size, raw.shape[0])

    def total(self, d: Vector) -> Matrix:
        total = self._between(self._points, d)
        total += total.T.copy()  # the sum of the norms rounds differently on both sides
        total *= 0.5
        np.fill_diagonal(total, 0.0)
        return total

    def forms(self, support: NDArray[np.intp], M: Matrix) -> Vector:
        """``sum M_ij (x_i - x_j)**2 = 2 (sum of x_i**2 times row sums - x'M x)``, feature by feature."""
        Z = self._points[support]
        forms: Vector = 2.0 * (M.sum(axis=1) @ (Z * Z) - np.einsum("ik,ik->k", Z, M @ Z))
        return forms

    def cross(self, new: ArrayLike, d: Vector) -> Matrix:
        raw = floats("new", new, "points of real numbers, shape (m, columns)")
        if raw.ndim != 2 or raw.shape[1] != self._n_columns or not np.isfinite(raw).all():
            raise InvalidArgument(f"`new` must be finite points of shape (m, {self._n_columns}), got shape {raw.shape}")
        return self._between((raw[:, self._columns] - self._center) / self._spread, d)

    def content(self) -> NDArray[np.float64]:
        return self._points

    def _between(self, A: Matrix, d: Vector) -> Matrix:
        """``|a|**2 + |b|**2 - 2 a @ b`` of the points scaled by the square root of d, not below 0."""
        a, b = A * np.sqrt(d), self._points * np.sqrt(d)
        total = a @ b.T
        total *= -2.0
        total += (a * a).sum(axis=1)[:, None]
        total += (b * b).sum(axis=1)
        clipped: Matrix = np.maximum(total, 0.0, out=total)
        return clipped
