"""Sums over RBF kernels of many widths from those of a few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.compiled import rbf_loops

# Entries of the map from nodes to widths that are made at a time, and up to which they are kept.
AT_ONCE = 1 << 16


class WidthInterpolation:
    """Interpolation of kernels ``exp(-D * rate)`` between Chebyshev points of ``log(rate)``.

    As a function of ``u = log(rate)`` a kernel ``exp(-D * exp(u))`` is at most 1 in size where ``abs(imag(u))`` is at
    most pi / 2, so that interpolation at m Chebyshev points of an interval of half-length L errs by at most
    ``4 * r**(1 - m) / (r - 1)`` for all D >= 0, where ``(r - 1 / r) * L / 2 = pi / 2`` [1]_. If the m for the error
    that is allowed is below the number of rates, sums are taken at m nodes and mapped to the rates; else at the rates.

    The map is the barycentric formula. What is wrong at the nodes grows by at most ``growth = 1 + 2 / pi * log(m)``,
    the Lebesgue constant; the formula's own rounding is that of sums of m terms, ``(3 m + 8) growth`` times the unit
    roundoff [2]_; that of a logarithm moves a node or a rate by so much of itself, and a kernel by x exp(-x) <= 0.37
    of it.

    Parameters
    ----------
    rates : ndarray of shape (w,)
        Positive.
    allowed : float
        Error allowed to the interpolation, relative to the diagonal.

    Attributes
    ----------
    nodes : ndarray of shape (m,)
        Rates at which sums are to be taken.
    direct : bool
        Whether these are all the rates.
    growth, error : float
        By how much errors at the nodes grow, and what is added to them.

    References
    ----------
    .. [1] Trefethen (2013), "Approximation theory and approximation practice", theorems 8.2 and 15.2.
    .. [2] Higham (2004), "The numerical stability of barycentric Lagrange interpolation", IMA J. Numer. Anal. 24.
    """

    def __init__(self, rates: Vector, allowed: float) -> None:
        self.rates = self.nodes = rates
        self.direct, self.growth, self.error = True, 1.0, 0.0
        logs = np.log(rates)
        low, high = float(logs.min()), float(logs.max())
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        if half == 0.0:
            return
        r = 0.5 * np.pi / half + np.hypot(0.5 * np.pi / half, 1.0)
        m = int(np.ceil(1.0 + np.log(4.0 / ((r - 1.0) * allowed)) / np.log(r)))
        if m >= rates.size:
            return
        angles = (np.arange(m) + 0.5) * np.pi / m
        self.direct = False
        # The weights of Chebyshev points of the first kind are sines of alternating sign.
        self._points, self._factors = np.cos(angles), np.sin(angles) * (-1.0) ** np.arange(m)
        self._places = (logs - middle) / half
        self.nodes = np.exp(middle + half * self._points)
        self.growth = 1.0 + 2.0 / np.pi * float(np.log(m))
        moved = 0.37 * EPS * (4.0 + max(abs(low), abs(high)))
        self.error = allowed + self.growth * (0.5 * EPS * (3 * m + 8) + moved) + moved
        self._kept = self._map(slice(None)) if rates.size * m <= AT_ONCE else None

    def to_rates(self, found: Matrix) -> Matrix:
        """Sums at the rates, shape (r, w), from those at the nodes, shape (r, m)."""
        if self.direct:
            return found
        mapped = np.empty((found.shape[0], self._places.size))
        for part, weights in self._maps():
            np.matmul(found, weights.T, out=mapped[:, part])
        return mapped

    def to_nodes(self, weights: Vector) -> tuple[Vector, Vector]:
        """Rates at which kernels are to be taken, and their weights there, for a sum with weights at the rates."""
        used = np.flatnonzero(weights)
        if self.direct or used.size <= self.nodes.size:
            return self.rates[used], weights[used]
        total = np.zeros(self.nodes.size)
        for part, factors in self._maps():
            total += weights[part] @ factors
        return self.nodes, total

    def _maps(self) -> Iterator[tuple[slice, Matrix]]:
        """Which rates, and what sums at the nodes are multiplied by for them: shape (number of them, m)."""
        if self._kept is not None:
            yield slice(None), self._kept
            return
        size = max(AT_ONCE // self.nodes.size, 1)
        for start in range(0, self.rates.size, size):
            part = slice(start, start + size)
            yield part, self._map(part)

    def _map(self, part: slice) -> Matrix:
        places = self._places[part]
        weights = np.empty((places.size, self.nodes.size))
        rbf_loops.barycentric(places, self._points, self._factors, weights)
        return weights
