"""RBF kernels computed from the points whenever they are needed, and widths from the distances of points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_indices, checked_precision
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.joined_bank import Numbering, joined
from oracle_opt.oracles.kernels.on_the_fly import OnTheFlyBank, checked_features
from oracle_opt.oracles.kernels.points import Points, checked_points, of_features, sampled_distances
from oracle_opt.oracles.kernels.rbf_family import RBFFamily, RBFTables


class RBFBank(OnTheFlyBank[RBFFamily]):
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
        Precision in which the terms of sums are computed; the sums are always made in float64, and so are `entries`. In
        float32 they take about half the time. Terms are then wrong by a few 1e-7 of the diagonal, and `exactness`, a
        proven bound, says by how much at most: oracles lower their cuts by it.
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
        self._single = checked_precision(dtype)
        points = self._placed(X, ("features", features, "widths", widths), self._single, block_bytes)
        checked = [checked_widths(w) for w in widths]
        self.scale = 1.0 / self.n_points if scale is None else real("scale", scale, above=0.0)
        families = [RBFFamily(of, w, self._single) for of, w in zip(points, checked, strict=True)]
        self._take(families, Numbering([w.size for w in checked]), self.scale)

    def _take(self, families: Sequence[RBFFamily], numbering: Numbering, scales: float | Vector) -> None:
        super()._take(families, numbering, scales)
        self.widths = tuple(family.widths for family in families)
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

        X are points, an array or a sparse array. `n_kernels` are spread evenly over the families; the last ones may
        have fewer. `features` are the columns of each family; default: all columns that are not constant, then each of
        these alone. The two `quantiles` of the distances are the least and the largest width. Distances are sampled
        from `n_pairs` pairs, drawn by `seed`; from all pairs, if they are no more. `scale`, `dtype` and `block_bytes`
        are as for the class.
        """
        points = checked_points(X, "X")
        subsets, widths = quantile_widths(points, n_kernels, features, quantiles, n_pairs, seed)
        return cls(points, subsets, widths, scale=scale, dtype=dtype, block_bytes=block_bytes)

    def _alone(self, points: Points, features: list[Indices]) -> Callable[[], RBFBank]:
        dtype: DTypeLike = np.float32 if self._single else np.float64
        options: dict[str, Any] = {"scale": self.scale, "dtype": dtype, "block_bytes": 8 * self._block_size}
        return partial(RBFBank, points, features, self.widths, **options)

    def __repr__(self) -> str:
        precision = ", dtype=float32" if self._single else ""
        families = f"{len(self._families)} families"
        return f"RBFBank(n_kernels={self.n_kernels}, n_points={self.n_points}, {families}{precision})"

    @property
    def entry_error(self) -> float:
        """Largest difference of an entry of `entries`, in double precision, from the kernel's."""
        return max(family.entry_error for family in self._families) if self._single else self.exactness

    def precise(self, most_bytes: float) -> RBFBank:
        """Return this bank, whose precision was asked for."""
        return self

    def _forms(self, x: Vector) -> Vector:
        forms = super()._forms(x)
        if self._tables is not None:
            forms[self._in_tables] = self._tables.forms(x)
        return forms

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        products = super()._products(rows, x)
        if self._tables is not None:
            products[:, self._in_tables] = self._tables.products(rows, x)
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel in double precision, see `KernelBank.entries`."""
        found = super().entries(rows, columns)
        if self._tables is not None:
            which, others = (checked_indices(i, self.n_points, "rows") for i in (rows, columns))
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

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        shared = self._shared
        points = shared.rows, shared.center, shared.exponent, self._single
        return digest("rbf", self.n_points, self.scale, self.features, self.widths, points, self._numbering.order)

    def _one_by_one(self) -> Iterator[tuple[RBFFamily, slice | Indices]]:
        return iter(self._others)


def quantile_widths(
    points: Points,
    n_kernels: int,
    features: Sequence[ArrayLike] | None,
    quantiles: tuple[float, float],
    n_pairs: int,
    seed: int,
) -> tuple[list[Indices], list[Vector]]:
    """Features and widths of the families of `RBFBank.from_quantiles`, whose parameters these are."""
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
    subsets = [checked_features(f, points.shape[1]) for f in given[:n_kernels]]
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
    return subsets, widths


def checked_widths(widths: ArrayLike) -> Vector:
    """Return the widths of a family, or raise `InvalidArgument` unless they are positive."""
    s = floats("widths", widths).reshape(-1)
    if s.size == 0 or not (np.isfinite(s) & (s > 0)).all():
        raise InvalidArgument(f"`widths` must be positive and finite in each entry, got {widths!r}")
    return s
