"""A family of RBF kernels computed from the points whenever they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import (
    Indices,
    KernelBank,
    check_square_fits,
    checked_indices,
    checked_kernels,
    checked_out,
    checked_precision,
    checked_vector,
)
from oracle_opt.oracles.kernels.family_points import FamilyPoints, SharedPoints
from oracle_opt.oracles.kernels.numbering import Numbering, entries_array, joined, kernels_of
from oracle_opt.oracles.kernels.points import Points, checked_points
from oracle_opt.oracles.kernels.rbf_family import RBFFamily
from oracle_opt.oracles.kernels.rbf_tables import RBFTables
from oracle_opt.oracles.kernels.rbf_widths import checked_features, checked_widths, quantile_widths
from oracle_opt.oracles.kernels.tiled_sum import SumTerm, TableTerm, Term, add_terms, mirror, parts
from oracle_opt.words import shown

# Points of a block of a sum that are copied at a time.
POINTS_AT_ONCE = 2048


class RBFBank(KernelBank):
    """Kernels ``scale * exp(-D / (2 s**2))``, D the squared distances on some features, computed on the fly.

    Nothing of size ``p * n**2`` is kept, and nothing of size ``n**2`` but what `combine` returns: kernels are computed
    from the points in tiles, each time they are asked for, and added up at once. Kernels on the same features share
    their distances; points that are equal on these are one point there; and sums over many widths are interpolated from
    fewer, to 1e-14 of the diagonal (1e-8 in float32). `solve_lp_mkl` needs no combined kernel of all points and serves
    tens of thousands of them.

    Work on many pairs of points is shared among threads, as many as OMP_NUM_THREADS or threadpoolctl allow (one in a
    process made by fork); their number moves no bit of a result.

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
    dtype : float64 or float32
        Precision in which entries are computed; sums over them are always made in float64. In float32, dense points are
        kept in half the memory and sums take about half the time. Entries are then wrong by a few 1e-7 of the diagonal,
        and `exactness`, a proven bound, says by how much at most: oracles lower their cuts by it.
    block_bytes : int
        Bytes of points that may be copied at a time.

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

    nonnegative = True

    def __init__(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        features: Sequence[ArrayLike],
        widths: Sequence[ArrayLike],
        *,
        scale: float | None = None,
        dtype: DTypeLike = np.float64,
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
        subsets = [checked_features(f, self._n_columns) for f in features]
        checked = [checked_widths(w) for w in widths]
        self.scale = 1.0 / self.n_points if scale is None else real("scale", scale, above=0.0)
        self._block = max(whole("block_bytes", block_bytes) // 8, 1)
        self._single = checked_precision(dtype)
        self._shared = SharedPoints(points, self._single)
        by_column = points.tocsc() if sparse.issparse(points) else points
        misplaced = self._shared.misplaced(points, subsets).tolist()
        seen: dict[bytes, FamilyPoints] = {}
        for f, off in zip(subsets, misplaced, strict=True):
            if f.tobytes() not in seen:
                seen[f.tobytes()] = FamilyPoints(self._shared, by_column, f, off)
        families = [RBFFamily(seen[f.tobytes()], w, self._single) for f, w in zip(subsets, checked, strict=True)]
        self._take(families, Numbering([w.size for w in checked]))

    def _take(self, families: Sequence[RBFFamily], numbering: Numbering) -> None:
        """Become the bank of these families."""
        self._families, self._numbering, self.n_kernels = families, numbering, numbering.n_kernels
        self.features = tuple(family.points.features for family in families)
        self.widths = tuple(family.widths for family in families)
        self.exactness = max(family.exactness for family in families)
        self._others = [(family, part) for family, part in self._all() if family.table is None]
        tabulated = [(family, part) for family, part in self._all() if family.table is not None]
        self._tables = RBFTables([family for family, _ in tabulated], self.scale) if tabulated else None
        self._in_tables = joined([part for _, part in tabulated])

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
        dtype: DTypeLike = np.float64,
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
        scale, dtype, block_bytes
            As for the class.

        Returns
        -------
        RBFBank
            The bank.
        """
        points = checked_points(X, "X")
        subsets, widths = quantile_widths(points, n_kernels, features, quantiles, n_pairs, seed)
        return cls(points, subsets, widths, scale=scale, dtype=dtype, block_bytes=block_bytes)

    def __repr__(self) -> str:
        precision = ", dtype=float32" if self._single else ""
        families = f"{len(self._families)} families"
        return f"RBFBank(n_kernels={self.n_kernels}, n_points={self.n_points}, {families}{precision})"

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`; it is refused if it does not fit into memory."""
        d = self.scale * checked_vector(weights, self.n_kernels, "weights")
        check_square_fits(self.n_points)
        K = checked_out(out, self.n_points)
        K[:] = 0.0
        self._add(np.arange(self.n_points), np.arange(self.n_points), d, K, lower=True)
        mirror(K)
        return K

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        d = self.scale * checked_vector(weights, self.n_kernels, "weights")
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        found, same = np.zeros((which.size, others.size)), np.array_equal(which, others)
        self._add(which, others, d, found, lower=same)
        if same:
            mirror(found)
        return found

    def subset(self, kernels: ArrayLike) -> RBFBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`; it shares the points.

        Its `features` and `widths` are those of the families that have such kernels.
        """
        which = checked_kernels(kernels, self.n_kernels)
        numbering, chosen = self._numbering.subset(which)
        bank = type(self).__new__(type(self))
        bank.n_points, bank._n_columns, bank.scale = self.n_points, self._n_columns, self.scale
        bank._block, bank._single, bank._shared = self._block, self._single, self._shared
        bank._take([self._families[i].chosen(at) for i, at in chosen], numbering)
        return bank

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        forms = np.empty(self.n_kernels)
        for family, part in self._others:
            forms[part] = self.scale * family.forms(x)
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
        found = entries_array(which.size, others.size, self.n_kernels, len(self._families))
        for family, part in self._others:
            with kernels_of(found, part) as out:
                family.entries(which, others, self.scale, out)
        if self._tables is not None:
            found[:, :, self._in_tables] = self._tables.entries(which, others)
        return found

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p) that is not to be written to: one number in memory."""
        return np.broadcast_to(self.scale, (self.n_points, self.n_kernels))

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        trace = self.n_points * self.scale * (1 + EPS)
        return np.broadcast_to(self.scale, self.n_kernels), np.broadcast_to(trace, self.n_kernels)

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
        placed = self._shared.placed(_as_bank(points, sparse.issparse(self._shared.rows)))
        total = np.zeros((points.shape[0], self.n_points))
        for family, part in self._all():
            if d[part].any():
                family.add_new(placed, d[part], total)
        return total

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        shared = self._shared
        points = shared.rows, shared.center, shared.exponent, self._single
        return digest("rbf", self.n_points, self.scale, self.features, self.widths, points, self._numbering.order)

    def _all(self) -> Iterator[tuple[RBFFamily, slice | Indices]]:
        """The families, and which kernels are theirs."""
        return zip(self._families, self._numbering.parts, strict=True)

    def _add(self, rows: Indices, columns: Indices, d: Vector, out: Matrix, lower: bool) -> None:
        """Add a weighted sum, or what is on and below the diagonal of it; points are copied block by block."""
        used = [(family, d[part]) for family, part in self._all() if d[part].any()]
        wanted = [(family, *family.at_nodes(weights), weights) for family, weights in used]
        size = max(min(self._block // self._n_columns, POINTS_AT_ONCE), 1)
        for top in parts(rows.size, size):
            for left in parts(columns.size, size):
                if lower and left.start >= top.stop:
                    continue
                terms: list[Term] = []
                for family, speeds, at_nodes, weights in wanted:
                    a, b = family.index[rows[top]], family.index[columns[left]]
                    if family.table is None:
                        terms.append(SumTerm(family.sums, a, b, speeds, at_nodes))
                    else:
                        square = (family.table @ weights).reshape(family.n_distinct, family.n_distinct)
                        terms.append(TableTerm(square, a, b))
                add_terms(terms, out[top, left], top.start, left.start if lower else None)


def _as_bank(points: Points, is_sparse: bool) -> Points:
    """New points, dense or sparse as those of the bank."""
    if is_sparse:
        return sparse.csr_array(points)
    return points.toarray() if sparse.issparse(points) else points
