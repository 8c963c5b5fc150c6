"""Distances of a product of kernels: kept pair by pair, or the squared differences of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import flag
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import (
    check_positive_semidefinite,
    matrix_of_stack,
    size_of_stack,
)
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.kept_kernels import GivenCrossKernels
from oracle_opt.oracles.kernels.points import Standardization

# Entries of the kernel that are held at a time where its forms are added up.
ENTRIES_AT_ONCE = 1 << 19


def square_form(values: NDArray[np.floating], checks: bool = True) -> NDArray[np.float64]:
    """SciPy's `squareform`: from pairs to a symmetric matrix and back."""
    from scipy.spatial.distance import squareform  # only here: the import takes time

    found: NDArray[np.float64] = squareform(values, checks=checks)
    return found


class Between(Protocol):
    """Sums of distances between new points and some points, and names of the distances."""

    n_kernels: int
    n_points: int
    by_rows: bool

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """``sum(d_k D_k)``, ndarray of shape (m, n)."""

    def kept(self, kernels: Indices, points: Indices) -> Between:
        """Some of the distances to some of the points, and nothing else."""

    def label(self, k: int) -> tuple[str, str]:
        """Name of a distance, and of its group, which may be empty."""


class StoredDistances:
    """Distances as condensed vectors, pair by pair of different points."""

    def __init__(self, store: Matrix, n_points: int, between: Between) -> None:
        self._store, self._between, self.shape = store, between, (len(store), n_points)

    def total(self, d: Vector) -> Matrix:
        """``sum(d_k D_k)``, ndarray of shape (n, n), a new one."""
        sums: Matrix = square_form(d @ self._store)
        return sums

    def forms(self, support: Indices, M: Matrix) -> Vector:
        """``sum over i, j of M_ij D_k,ij`` for a symmetric M on some of the points, ndarray of shape (p,)."""
        weights = np.zeros((self.shape[1], self.shape[1]))
        weights[np.ix_(support, support)] = M
        forms: Vector = 2.0 * (self._store @ square_form(weights, checks=False))
        return forms

    def cross(self, new: Any, d: Vector) -> Matrix:
        """``sum(d_k D_k)`` between new points and the bank's points, ndarray of shape (m, n)."""
        return self._between.cross(new, d)

    def content(self) -> Matrix:
        """Return all that tells these distances from others."""
        return self._store

    def label(self, k: int) -> tuple[str, str]:
        """Name of a distance, and of its group, which may be empty."""
        return self._between.label(k)

    def on(self, points: Indices) -> StoredDistances:
        """The distances of some of the points."""
        chosen = [square_form(square_form(one)[np.ix_(points, points)], checks=False) for one in self._store]
        return StoredDistances(np.array(chosen), points.size, self._between.kept(np.arange(self.shape[0]), points))

    def kept(self, which: Indices, points: Indices) -> Between:
        """Some of the distances, between new points and some of the points, and nothing else."""
        return self._between.kept(which, points)


def given_distances(distances: Sequence[ArrayLike] | NDArray[np.floating], check: bool) -> StoredDistances:
    """Return distances that a user passed in, or refuse what is none; the index is named."""
    check, (p, n) = flag("check", check), size_of_stack("distances", distances)
    store = np.empty((p, n * (n - 1) // 2))
    for k in range(p):
        name, D = f"distance {k} of `distances`", matrix_of_stack("distances", "distance", distances, k)
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
        store[k] = square_form(D, checks=False)
    return StoredDistances(store, n, GivenCrossKernels(p, n, noun="distance"))


class PointDistances:
    """Squared differences of standardized features, never stored: all sums are matrix products."""

    by_rows = True

    def __init__(self, X: ArrayLike) -> None:
        self._standardize, self._points = Standardization.of(X)
        self._count()

    def _count(self) -> None:
        self.n_points, self.n_kernels = self._points.shape
        self.shape = self.n_kernels, self.n_points

    def total(self, d: Vector) -> Matrix:
        """``sum(d_k D_k)``, ndarray of shape (n, n), a new one."""
        total = self._between(self._points, d)
        total += total.T.copy()  # the sum of the norms rounds differently on both sides
        total *= 0.5
        np.fill_diagonal(total, 0.0)
        return total

    def forms(self, support: Indices, M: Matrix) -> Vector:
        """``sum M_ij (x_i - x_j)**2 = 2 (sum of x_i**2 times row sums - x'M x)``, feature by feature."""
        Z = self._points[support]
        forms: Vector = 2.0 * (M.sum(axis=1) @ (Z * Z) - np.einsum("ik,ik->k", Z, M @ Z))
        return forms

    def kernel(self, d: Vector) -> KernelBank:
        """``exp(-sum(d_k D_k))``: the Gaussian ``exp(-|x - x'|**2 / 2)`` of features times ``sqrt(2 d_k)``."""
        from oracle_opt.oracles.kernels.rbf import RBFBank  # only here: most products are of matrices

        scaled = self._points * (np.sqrt(2.0) * np.sqrt(d))
        bank = RBFBank(scaled, [np.arange(d.size)], [[1.0]], scale=1.0)
        # The factors are rounded three times, which moves the exponent t by 6 units relative and exp(-t) by 0.37 of
        # that; a point by one unit of its length, and exp(-z**2 / 2) has a slope of at most 0.61 in z, with two points.
        longest = float(np.sqrt((scaled * scaled).sum(axis=1).max()))
        bank.exactness = min(bank.exactness + 0.5 * EPS * (2.3 + 1.3 * longest), 1.0)
        return bank

    def forms_on_the_fly(self, v: Vector, kernel: KernelBank) -> Vector:
        """``v @ (D_k * K) @ v``, the kernel being read block by block: rows with all points up to the last of them."""
        support = np.flatnonzero(v)
        s, Z = v[support], self._points[support]
        weighted = s[:, None] * Z
        sums, mixed = np.zeros(s.size), np.zeros(Z.shape[1])
        at_once = max(ENTRIES_AT_ONCE // max(s.size, 1), 1)
        for start in range(0, s.size, at_once):
            seconds_left()
            stop = min(start + at_once, s.size)
            K = kernel.block(np.ones(1), support[start:stop], support[:stop])
            sums[start:stop] += K @ s[:stop]
            sums[:start] += s[start:stop] @ K[:, :start]
            # the part left of the square on the diagonal stands for the one above it, too
            twice = np.r_[np.full(start, 2.0), np.ones(stop - start)][:, None] * weighted[:stop]
            mixed += np.einsum("ik,ik->k", weighted[start:stop], K @ twice)
        forms: Vector = 2.0 * ((s * sums) @ (Z * Z) - mixed)
        return forms

    def cross(self, new: ArrayLike, weights: ArrayLike) -> Matrix:
        """``sum(d_k D_k)`` between new points and the bank's points, ndarray of shape (m, n)."""
        return self._between(self._standardize(new), np.asarray(weights, dtype=float))

    def label(self, k: int) -> tuple[str, str]:
        """Name of a distance, and of its group: its column."""
        column = f"x{self._standardize.columns[k]}"
        return f"squared difference of {column}", column

    def on(self, points: Indices) -> PointDistances:
        """The distances of some of the points, standardized as all are."""
        return self.kept(np.arange(self.shape[0]), points)

    def kept(self, which: Indices, points: Indices) -> PointDistances:
        """Some of the distances, between new points and some of the points, and nothing else."""
        kept = type(self).__new__(type(self))
        raw = self._standardize
        kept._standardize = Standardization(raw.columns[which], raw.center[which], raw.spread[which], raw.n_columns)
        kept._points = np.ascontiguousarray(self._points[np.ix_(points, which)])
        kept._count()
        return kept

    def content(self) -> NDArray[np.float64]:
        """Return all that tells these distances from others."""
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
