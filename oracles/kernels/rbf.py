"""A family of RBF kernels computed from the points whenever they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats, real, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import (
    Indices,
    KernelBank,
    checked_indices,
    checked_out,
    checked_vector,
    most_of_memory,
)
from oracle_opt.oracles.kernels.points import checked_points, of_features, sampled_distances
from oracle_opt.oracles.kernels.rbf_family import RBFFamily, blocks
from oracle_opt.oracles.kernels.rbf_tables import RBFTables
from oracle_opt.words import shown


class RBFBank(KernelBank):
    """Kernels ``scale * exp(-D / (2 s**2))``, D the squared distances on some features, computed on the fly.

    Nothing of size ``p * n**2`` is kept, and nothing of size ``n**2`` but what `combine` returns: kernels are computed
    from the points in blocks, each time they are asked for. Kernels on the same features share their distances; points
    that are equal on them are one point there; and sums over many widths are interpolated from fewer, to 1e-14 of the
    diagonal. `solve_lp_mkl` needs no combined kernel of all points and serves tens of thousands of them; the oracles
    that solve one SVM per query do need it.

    Parameters
    ----------
    X : array_like or sparse array of shape (n, columns)
        The points, finite; CSR is best. They are used as they are: standardize them first.
    features : sequence of array_like of int
        Columns a family of kernels looks at, one entry per family.
    widths : sequence of array_like of float
        Widths s of each family, positive, in units of X. The kernels are ordered by family, then as their widths.
    scale : float, optional
        Factor of all kernels. Default: 1 / n, for unit trace.
    block_bytes : int
        Bytes a block of distances may take.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    features : tuple of ndarray of int
        As given.
    widths : tuple of ndarray of float
        As given.

    Raises
    ------
    InvalidArgument
        Points, features or widths that cannot be used.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm",
       section 6: kernels computed on the fly.

    Examples
    --------
    >>> import numpy as np
    >>> bank = RBFBank(np.array([[0.0, 1.0], [1.0, 1.0]]), [[0, 1], [1]], [[1.0, 2.0], [1.0]], scale=1.0)
    >>> bank.n_kernels
    3
    >>> bank.entries([0], [1]).round(3).tolist()
    [[[0.607, 0.882, 1.0]]]
    """

    def __init__(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        features: Sequence[ArrayLike],
        widths: Sequence[ArrayLike],
        *,
        scale: float | None = None,
        block_bytes: int = 1 << 26,
    ) -> None:
        points = checked_points(X, "X")
        self.n_points, self._n_columns = points.shape
        for name, given in (("features", features), ("widths", widths)):
            if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
                raise InvalidArgument(f"`{name}` must be a sequence, one entry per family, got {shown(given)}")
        if len(features) == 0 or len(features) != len(widths):
            raise InvalidArgument(
                f"`features` and `widths` must have one entry per family, got {len(features)} and {len(widths)}"
            )
        self.features = tuple(_checked_features(f, self._n_columns) for f in features)
        self.widths = tuple(_checked_widths(w) for w in widths)
        self.scale = 1.0 / self.n_points if scale is None else real("scale", scale, above=0.0)
        self._block = max(whole("block_bytes", block_bytes) // 8, 1)
        by_column = points.tocsc() if sparse.issparse(points) else points
        ends = np.cumsum([0, *(w.size for w in self.widths)]).tolist()
        self._parts = [slice(first, last) for first, last in pairwise(ends)]
        self.n_kernels = ends[-1]
        self._families = [
            RBFFamily(of_features(by_column, f), w) for f, w in zip(self.features, self.widths, strict=True)
        ]
        self._others = [(family, part) for family, part in self._all() if family.table is None]
        tabulated = [(family, part) for family, part in self._all() if family.table is not None]
        self._tables = RBFTables([family for family, _ in tabulated], self.scale) if tabulated else None
        self._in_tables = _indices([part for _, part in tabulated])
        self.exactness = max(family.exactness for family in self._families)

    @classmethod
    def from_quantiles(
        cls,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        n_kernels: int,
        features: Sequence[ArrayLike] | None = None,
        *,
        quantiles: tuple[float, float] = (0.1, 0.9),
        n_pairs: int = 100_000,
        seed: int = 0,
        scale: float | None = None,
        block_bytes: int = 1 << 26,
    ) -> RBFBank:
        """Make kernels whose widths are geometric between two quantiles of the positive distances of their features.

        Parameters
        ----------
        X : array_like or sparse array of shape (n, columns)
            The points.
        n_kernels : int
            Number of kernels, spread evenly over the families; the last ones may have fewer.
        features : sequence of array_like of int, optional
            Columns of each family. Default: all columns that are not constant, then each of these alone.
        quantiles : tuple of float
            Quantiles of the distances that are the least and the largest width.
        n_pairs : int
            Number of pairs the distances are sampled from; all pairs, if they are no more.
        seed : int
            Seed of the random sample.
        scale, block_bytes
            As for the class.

        Returns
        -------
        RBFBank
            The bank.
        """
        points = checked_points(X, "X")
        if n_kernels < 1 or n_pairs < 1:
            raise InvalidArgument(f"`n_kernels` and `n_pairs` must be at least 1, got {n_kernels!r} and {n_pairs!r}")
        if not 0.0 <= quantiles[0] <= quantiles[1] <= 1.0:
            raise InvalidArgument(f"`quantiles` must be two numbers from 0 to 1 in order, got {quantiles!r}")
        by_column = points.tocsc() if sparse.issparse(points) else points
        given: Sequence[ArrayLike]
        if features is None:
            spread = by_column.max(axis=0) - by_column.min(axis=0)
            varied = np.flatnonzero(spread.toarray() if sparse.issparse(spread) else spread)
            if varied.size == 0:
                raise InvalidArgument("`X` must have a column that is not constant, got none")
            given = [varied, *varied[:, None]]
        else:
            given = features
        subsets = [_checked_features(f, points.shape[1]) for f in given[:n_kernels]]
        if not subsets:
            raise InvalidArgument("`features` must have an entry, got none")
        counts = np.full(len(subsets), -(-n_kernels // len(subsets)))
        counts = np.diff(np.minimum(np.cumsum([0, *counts]), n_kernels))
        subsets = subsets[: np.count_nonzero(counts)]
        rng = np.random.default_rng(seed)
        widths = []
        for f, count in zip(subsets, counts.tolist(), strict=False):
            distances = sampled_distances(of_features(by_column, f), n_pairs, rng)
            if distances.size == 0:
                raise InvalidArgument(f"`X` must have points that differ on the features {f.tolist()}")
            least, largest = np.quantile(distances, quantiles)
            widths.append(np.geomspace(least, largest, count))
        return cls(points, subsets, widths, scale=scale, block_bytes=block_bytes)

    def __repr__(self) -> str:
        return f"RBFBank(n_kernels={self.n_kernels}, n_points={self.n_points}, {len(self._families)} families)"

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`; it is refused if it does not fit into memory."""
        d = self.scale * checked_vector(weights, self.n_kernels, "weights")
        n, most = self.n_points, most_of_memory()
        if most is not None and 8 * n * n > most:
            raise InvalidArgument(
                f"the combined kernel of {n} points would take {8 * n * n} bytes, more than 70 % of the memory; "
                "solve_lp_mkl does without, or take fewer points"
            )
        K = checked_out(out, n)
        points = np.arange(n)
        for part in blocks(n, n, self._block):
            block = K[part, : part.stop]
            block[:] = 0.0
            self._add(points[part], points[: part.stop], d, block)
            square = K[part, part]
            square[:] = np.tril(square) + np.tril(square, -1).T
            K[: part.start, part] = K[part, : part.start].T
        return K

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        forms = np.empty(self.n_kernels)
        for family, part in self._others:
            forms[part] = self.scale * family.forms(x, self._block)
        if self._tables is not None:
            forms[self._in_tables] = self._tables.forms(x)
        return forms

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        x = checked_vector(v, self.n_points, "v")
        which = checked_indices(rows, self.n_points, "rows")
        products = np.empty((which.size, self.n_kernels))
        for family, part in self._others:
            products[:, part] = family.products(which, self.scale * x, self._block)
        if self._tables is not None:
            products[:, self._in_tables] = self._tables.products(which, x)
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        found = np.empty((which.size, others.size, self.n_kernels))
        for family, part in self._others:
            family.entries(which, others, found[:, :, part])
            found[:, :, part] *= self.scale
        if self._tables is not None:
            found[:, :, self._in_tables] = self._tables.entries(which, others)
        return found

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return np.full((self.n_points, self.n_kernels), self.scale)

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        return np.full(self.n_kernels, self.scale), np.full(self.n_kernels, self.n_points * self.scale * (1 + EPS))

    def cross(self, new: ArrayLike | sparse.spmatrix | sparse.sparray, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank.

        Parameters
        ----------
        new : array_like or sparse array of shape (m, columns)
            The new points.
        weights : array_like of shape (p,)
            Weights of the kernels.

        Returns
        -------
        ndarray of shape (m, n)
            The sum.
        """
        d = self.scale * checked_vector(weights, self.n_kernels, "weights")
        points = checked_points(new, "new")
        if points.shape[1] != self._n_columns:
            raise InvalidArgument(f"`new` must have {self._n_columns} columns, got shape {points.shape}")
        by_column = points.tocsc() if sparse.issparse(points) else points
        total = np.zeros((points.shape[0], self.n_points))
        for features, (family, part) in zip(self.features, self._all(), strict=True):
            if d[part].any():
                family.cross(of_features(by_column, features), d[part], total)
        return total

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        points = [(family.index, family.points) for family in self._families]
        return digest("rbf", self.n_points, self.scale, self.features, self.widths, points)

    def _all(self) -> Iterator[tuple[RBFFamily, slice]]:
        """The families, and which kernels are theirs."""
        return zip(self._families, self._parts, strict=True)

    def _add(self, rows: Indices, columns: Indices, d: Vector, out: Matrix) -> None:
        for family, part in self._all():
            if d[part].any():
                family.combine(rows, columns, d[part], out)


def _checked_features(features: ArrayLike, n_columns: int) -> Indices:
    which = checked_indices(features, n_columns, "features")
    if which.size == 0:
        raise InvalidArgument("`features` must have a column in each entry, got an empty one")
    return which


def _checked_widths(widths: ArrayLike) -> Vector:
    s = floats("widths", widths).reshape(-1)
    if s.size == 0 or not (np.isfinite(s) & (s > 0)).all():
        raise InvalidArgument(f"`widths` must be positive and finite in each entry, got {widths!r}")
    return s


def _indices(parts: Sequence[slice]) -> slice | Indices:
    """Where some parts are: as a slice, which is faster, if they follow each other."""
    if all(before.stop == after.start for before, after in pairwise(parts)):
        return slice(parts[0].start, parts[-1].stop) if parts else slice(0)
    return np.concatenate([np.arange(part.start, part.stop) for part in parts])
