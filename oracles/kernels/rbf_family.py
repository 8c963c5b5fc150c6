"""RBF kernels on the same features, of different widths: they share their squared distances."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.points import Points, distinct, squared_norms

# Features up to which squared differences are added up one by one: exact, where a difference of norms is rounded.
FEW_FEATURES = 4
# Entries of a block whose exponentials are taken at a time: they and their distances stay in the cache.
CHUNK = 1 << 14
# Widths from which the exponentials of a pair are taken together, as entries next to each other.
MANY_WIDTHS = 8
# Points that differ up to which all entries of the kernels of a few widths are kept.
FEW_POINTS = 64
# Error of an interpolated kernel, relative to its diagonal.
EXACT = 1e-14


class RBFFamily:
    """Kernels ``exp(-D / (2 s**2))``, D the squared distances on some features.

    Points that are equal on these features are one point here. Sums over many widths are taken over fewer: as a
    function of ``u = log(1 / (2 s**2))`` a kernel ``exp(-D * exp(u))`` is at most 1 in size where ``abs(imag(u))`` is
    at most pi / 2, so that interpolation at m Chebyshev points of an interval of half-length L errs by at most
    ``4 * r**(1 - m) / (r - 1)`` for all D >= 0, where ``(r - 1 / r) * L / 2 = pi / 2`` [1]_. If the m for an error of
    1e-14 is below the number of widths, forms and products are taken at these m and mapped to the widths.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n, d)
        The points, on these features alone.
    widths : ndarray of shape (w,)
        The s.

    References
    ----------
    .. [1] Trefethen (2013), "Approximation theory and approximation practice", theorem 8.2.
    """

    def __init__(self, points: Points, widths: Vector) -> None:
        self.rates = 0.5 / widths**2
        if sparse.issparse(points) and points.shape[1] <= FEW_FEATURES:
            points = points.toarray()
        first, self.index = distinct(points)
        points = points[first]
        # A difference of norms loses fewest digits if the points are centered.
        by_norms = points.shape[1] > FEW_FEATURES and not sparse.issparse(points)
        self.center = points.mean(axis=0) if by_norms else np.zeros(points.shape[1])
        self.points = self._prepared(points)
        self.nodes, self.to_widths = _interpolation(self.rates)
        # Rounding of rate * D, relative to the kernel, and of exp: D is wrong by a multiple of itself where differences
        # are squared, and then x exp(-x) of it is left, or by one of the squared norms that are subtracted.
        self.exactness = EPS * (8.0 + 0.5 * points.shape[1])
        if points.shape[1] > FEW_FEATURES:
            largest = float(self.points[:, [-2]].max())
            self.exactness += EPS * (points.shape[1] + 8.0) * 2.0 * float(self.rates.max()) * largest
        if self.to_widths is not None:
            self.exactness = float(np.abs(self.to_widths).sum(axis=1).max()) * self.exactness + 2.0 * EXACT

    @property
    def n_distinct(self) -> int:
        """Number of points that differ."""
        return int(self.points.shape[0])

    def entries(self, rows: Indices, columns: Indices, out: NDArray[np.float64]) -> None:
        """Write the kernels of two lists of points to an array of shape (r, c, w)."""
        a, b = self.index[rows], self.index[columns]
        D = self._distances(self.points[a], self._right(b))
        if self.rates.size >= MANY_WIDTHS:
            np.multiply(D[:, :, None], -self.rates, out=out)
            np.exp(out, out=out)
            return
        for piece, k, E in _decays(D, self.rates):
            out[piece, :, k] = E

    def combine(self, rows: Indices, columns: Indices, weights: Vector, out: Matrix) -> None:
        """Add the weighted sum of the kernels of two lists of points to an array of shape (r, c)."""
        a, b = self.index[rows], self.index[columns]
        if self.table is not None:
            T = (self.table @ weights).reshape(self.n_distinct, self.n_distinct)
            out += T[a][:, b]
        else:
            self._combine(self.points[a], b, weights, out)

    def cross(self, new: Points, weights: Vector, out: Matrix) -> None:
        """Add the weighted sum of the kernels between new points and these to an array of shape (m, n)."""
        if sparse.issparse(new) and not sparse.issparse(self.points):
            new = new.toarray()
        A = self._prepared(new)
        total = np.zeros((A.shape[0], self.n_distinct))
        self._combine(A, np.arange(self.n_distinct), weights, total)
        out += total[:, self.index]

    def products(self, rows: Indices, v: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, shape (r, w); blocks of so many distances at most."""
        w = np.bincount(self.index, v, minlength=self.n_distinct)
        support = np.flatnonzero(w)
        right, w = self._right(support), w[support]
        # If there are fewer points that differ than rows, the products of all of these, each once.
        every = self.n_distinct <= rows.size
        A = self.points if every else self.points[self.index[rows]]
        found = np.empty((A.shape[0], self.nodes.size))
        for part in blocks(A.shape[0], support.size, block):
            D = self._distances(A[part], right)
            for piece, k, E in _decays(D, self.nodes):
                found[part][piece, k] = E @ w
        if every:
            found = found[self.index[rows]]
        return found if self.to_widths is None else found @ self.to_widths.T

    def forms(self, v: Vector, block: int) -> Vector:
        """Quadratic forms of every kernel, shape (w,); blocks of so many distances at most."""
        w = np.bincount(self.index, v, minlength=self.n_distinct)
        support = np.flatnonzero(w)
        A, w = self.points[support], w[support]
        found = np.zeros(self.nodes.size)
        for part in blocks(support.size, support.size, block):
            # Pairs left of the block twice, those in it once.
            D = self._distances(A[part], self._right(support[: part.stop]))
            twice = 2.0 * w[: part.stop]
            twice[part] = w[part]
            for piece, k, E in _decays(D, self.nodes):
                found[k] += w[part][piece] @ (E @ twice)
        return found if self.to_widths is None else self.to_widths @ found

    @cached_property
    def table(self) -> Matrix | None:
        """All entries of the kernels, if the points that differ are few: shape (number of pairs, w)."""
        if self.n_distinct > FEW_POINTS or self.rates.size >= MANY_WIDTHS:
            return None
        D = self._distances(self.points, self._right(np.arange(self.n_distinct)))
        return np.exp(D.reshape(-1, 1) * -self.rates)

    def _combine(self, A: Points, columns: Indices, weights: Vector, out: Matrix) -> None:
        reduced = weights if self.to_widths is None else weights @ self.to_widths
        used = np.flatnonzero(reduced)
        D = self._distances(A, self._right(columns))
        for piece, k, E in _decays(D, self.nodes[used]):
            E *= reduced[used[k]]
            out[piece] += E

    def _prepared(self, points: Points) -> Points:
        """The points as the left factor of distances: if there are several features, with |x|**2 and 1 appended."""
        if not sparse.issparse(points):
            points = points - self.center
        if points.shape[1] <= FEW_FEATURES:
            return points
        squares, ones = squared_norms(points)[:, None], np.ones((points.shape[0], 1))
        if sparse.issparse(points):
            return sparse.hstack([points, squares, ones], format="csr")
        return np.hstack([points, squares, ones])

    def _right(self, chosen: Indices) -> Points:
        """Some points as the right factor, so that ``|x|**2 - 2 x @ y + |y|**2`` is one product."""
        points = self.points[chosen]
        if points.shape[1] <= FEW_FEATURES:
            return points.T
        parts = [-2.0 * points[:, :-2], points[:, -1:], points[:, -2:-1]]
        return sparse.hstack(parts, format="csr").T if sparse.issparse(points) else np.hstack(parts).T

    def _distances(self, left: Points, right: Points) -> Matrix:
        """Squared distances; as differences of norms, they may be below 0 by their rounding."""
        if left.shape[1] > FEW_FEATURES:
            product = left @ right
            return np.asarray(product.toarray() if sparse.issparse(product) else product)
        D = np.zeros((left.shape[0], right.shape[1]))
        for f in range(left.shape[1]):
            difference = left[:, f, None] - right[f]
            difference *= difference
            D += difference
        return D


def _interpolation(rates: Vector) -> tuple[Vector, Matrix | None]:
    """Rates between which the kernels are interpolated, and the map from there, shape (w, m); or the rates alone."""
    ends = np.log([rates.min(), rates.max()])
    half, middle = 0.5 * (ends[1] - ends[0]), ends.mean()
    if half == 0.0:
        return rates, None
    r = 0.5 * np.pi / half + np.hypot(0.5 * np.pi / half, 1.0)
    m = int(np.ceil(1.0 + np.log(4.0 / ((r - 1.0) * EXACT)) / np.log(r)))
    if m >= rates.size:
        return rates, None
    angles = (np.arange(m) + 0.5) * np.pi / m
    nodes = np.cos(angles)
    # Barycentric formula; the weights of Chebyshev points of the first kind are sines of alternating sign.
    places = (np.log(rates) - middle) / half
    apart = places[:, None] - nodes
    at_node = apart == 0.0
    terms = np.sin(angles) * (-1.0) ** np.arange(m) / np.where(at_node, 1.0, apart)
    hit = at_node.any(axis=1)
    terms[hit] = at_node[hit]
    return np.exp(middle + half * nodes), terms / terms.sum(axis=1, keepdims=True)


def blocks(rows: int, columns: int, block: int) -> Iterator[slice]:
    """Slices of rows, of at most so many entries, but one row at least."""
    size = max(block // max(columns, 1), 1)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _decays(D: Matrix, rates: Vector) -> Iterator[tuple[slice, int, Matrix]]:
    """Yield ``exp(-rates[k] * D[piece])`` piece by piece, rate by rate; the array is used again."""
    for piece in blocks(D.shape[0], D.shape[1], CHUNK):
        E = np.empty((piece.stop - piece.start, D.shape[1]))
        for k, rate in enumerate(rates.tolist()):
            np.multiply(D[piece], -rate, out=E)
            yield piece, k, np.exp(E, out=E)
