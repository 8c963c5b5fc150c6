"""RBF kernels on the same features, of different widths: they share their squared distances."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.oracles.kernels.base import Indices, Matrix, Vector
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
        # Distances are those of centred points, of which a difference of norms loses fewest digits.
        self.center = np.zeros(points.shape[1]) if sparse.issparse(points) else points.mean(axis=0)
        self.points = self._prepared(points)
        self.norms = squared_norms(self.points)
        self.nodes, self.to_widths = _interpolation(self.rates)

    @property
    def n_distinct(self) -> int:
        """Number of points that differ."""
        return int(self.norms.size)

    def entries(self, rows: Indices, columns: Indices, out: NDArray[np.float64]) -> None:
        """Write the kernels of two lists of points to an array of shape (r, c, w)."""
        a, b = self.index[rows], self.index[columns]
        D = self._distances(self.points[a], self.norms[a], self.points[b], self.norms[b])
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
            self._combine(self.points[a], self.norms[a], b, weights, out)

    def cross(self, new: Points, weights: Vector, out: Matrix) -> None:
        """Add the weighted sum of the kernels between new points and these to an array of shape (m, n)."""
        if sparse.issparse(new) and not sparse.issparse(self.points):
            new = new.toarray()
        A = self._prepared(new)
        total = np.zeros((A.shape[0], self.n_distinct))
        self._combine(A, squared_norms(A), np.arange(self.n_distinct), weights, total)
        out += total[:, self.index]

    def products(self, rows: Indices, v: Vector, block: int) -> Matrix:
        """Entries of every kernel times one vector, shape (r, w); blocks of so many distances at most."""
        w = np.bincount(self.index, v, minlength=self.n_distinct)
        support = np.flatnonzero(w)
        B, norms, w = self.points[support], self.norms[support], w[support]
        wanted, back = self.index[rows], None
        if self.n_distinct <= rows.size:
            wanted, back = np.arange(self.n_distinct), wanted
        found = np.empty((wanted.size, self.nodes.size))
        for part in blocks(wanted.size, support.size, block):
            a = wanted[part]
            D = self._distances(self.points[a], self.norms[a], B, norms)
            for piece, k, E in _decays(D, self.nodes):
                found[part][piece, k] = E @ w
        if self.to_widths is not None:
            found = found @ self.to_widths.T
        return found if back is None else found[back]

    def forms(self, v: Vector, block: int) -> Vector:
        """Quadratic forms of every kernel, shape (w,); blocks of so many distances at most."""
        w = np.bincount(self.index, v, minlength=self.n_distinct)
        support = np.flatnonzero(w)
        A, norms, w = self.points[support], self.norms[support], w[support]
        found = np.zeros(self.nodes.size)
        for part in blocks(support.size, support.size, block):
            # Pairs left of the block twice, those in it once.
            D = self._distances(A[part], norms[part], A[: part.stop], norms[: part.stop])
            right = 2.0 * w[: part.stop]
            right[part] = w[part]
            for piece, k, E in _decays(D, self.nodes):
                found[k] += w[part][piece] @ (E @ right)
        return found if self.to_widths is None else self.to_widths @ found

    @cached_property
    def table(self) -> Matrix | None:
        """All entries of the kernels, if the points that differ are few: shape (number of pairs, w)."""
        if self.n_distinct > FEW_POINTS or self.rates.size >= MANY_WIDTHS:
            return None
        D = self._distances(self.points, self.norms, self.points, self.norms)
        return np.exp(D.reshape(-1, 1) * -self.rates)

    def _combine(self, A: Points, norms: Vector, columns: Indices, weights: Vector, out: Matrix) -> None:
        reduced = weights if self.to_widths is None else weights @ self.to_widths
        used = np.flatnonzero(reduced)
        D = self._distances(A, norms, self.points[columns], self.norms[columns])
        for piece, k, E in _decays(D, self.nodes[used]):
            E *= reduced[used[k]]
            out[piece] += E

    def _prepared(self, points: Points) -> Points:
        if sparse.issparse(points):
            return points
        return np.ascontiguousarray(points - self.center)

    def _distances(self, A: Points, a: Vector, B: Points, b: Vector) -> Matrix:
        """Squared distances of points whose squared norms are a and b."""
        if A.shape[1] <= FEW_FEATURES:
            D = np.zeros((a.size, b.size))
            for f in range(A.shape[1]):
                difference = A[:, f, None] - B[:, f]
                difference *= difference
                D += difference
            return D
        D = (A @ B.T).toarray() if sparse.issparse(A) else A @ B.T
        D *= -2.0
        D += a[:, None]
        D += b
        clipped: Matrix = np.maximum(D, 0.0, out=D)
        return clipped


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
    for piece in blocks(*D.shape, CHUNK):
        E = np.empty((piece.stop - piece.start, D.shape[1]))
        for k, rate in enumerate(rates.tolist()):
            np.multiply(D[piece], -rate, out=E)
            yield piece, k, np.exp(E, out=E)
