"""Distances of a product of kernels that are the squared differences of points, feature by feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.oracles.kernels.standardization import Standardization

# Entries of the kernel that are held at a time where its forms are added up.
ENTRIES_AT_ONCE = 1 << 19


class PointDistances:
    """Squared differences of standardized features, never stored: all sums are matrix products."""

    def __init__(self, X: ArrayLike) -> None:
        self._standardize, self._points = Standardization.of(X)
        self.shape = self._points.shape[1], self._points.shape[0]

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
        """``exp(-sum(d_k D_k))``, a bank of that one kernel, which computes its entries on the fly.

        It is the Gaussian ``exp(-|x - x'|**2 / 2)`` of the points x, features times ``sqrt(2 d_k)``.
        """
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

    def cross(self, new: ArrayLike, d: Vector) -> Matrix:
        """``sum(d_k D_k)`` between new points and those of the bank, ndarray of shape (m, n)."""
        return self._between(self._standardize(new), d)

    def label(self, k: int) -> tuple[str, str]:
        """Name of a distance, and of its group: its column."""
        column = f"x{self._standardize.columns[k]}"
        return f"squared difference of {column}", column

    def on(self, points: Indices) -> PointDistances:
        """The distances of some of the points: not of these, whose new points would have to be cut down, too."""
        raise InvalidArgument("`points` can be chosen of the distances that KernelList.fit_product makes alone")

    def kept(self, which: Indices, points: Indices) -> PointDistances:
        """Some of the distances, between new points and some of the points, and nothing else."""
        kept = type(self).__new__(type(self))
        raw = self._standardize
        kept._standardize = Standardization(raw.columns[which], raw.center[which], raw.spread[which], raw.n_columns)
        kept._points = np.ascontiguousarray(self._points[np.ix_(points, which)])
        kept.shape = kept._points.shape[1], kept._points.shape[0]
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
