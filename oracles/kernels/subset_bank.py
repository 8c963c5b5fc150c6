"""Many RBF kernels, each on features of its own: bits of a mask and a rate are all that is kept of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank import stored_kernels
from oracle_opt.oracles.kernels.bank_checks import (
    checked_indices,
    checked_kernels,
    checked_vector,
)
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.compiled_loops import subset_loops
from oracle_opt.oracles.kernels.points import Points, checked_new, checked_points, columns_in_words
from oracle_opt.oracles.kernels.subset_numbers import (
    PAIRS,
    SINGLE,
    Masks,
    drawn_subsets,
    exactness_of,
    given_masks,
    lower_pairs,
    rates_of,
    scratch_for,
    unit_of,
    unpacked,
)

# Numbers made at a time on the way to entries in double precision.
NUMBERS = 1 << 21
# Bytes that a subset of the kernels may take to be kept, in the two layouts of a `GramBank`; and it may have one of so
# many kernels, so that a bank cut into a few parts is not stored in all of them.
STORED_BYTES, STORED_SHARE = 1 << 28, 16
# Kernels made at a time.
KERNELS = 1 << 14


class SubsetBank(KernelBank):
    """Kernels ``scale * exp(-D / (2 s**2))``, D the squared distances on features of the kernel's own, s its width.

    For a million kernels: one takes a bit for each column of X and 4 bytes for its width, 12 bytes with 60 columns;
    nothing of size ``p * n`` or ``n**2`` is kept. Distances are added up from tables of the sums over all subsets of
    each 8 features, made for a block of pairs of points at a time [1]_; exponentials are taken in single precision.
    `exactness`, `noise` and `form_error` are proven bounds on what that does to an entry, to a sum of kernels and to a
    form, so that the cuts made of them hold for the kernels in exact arithmetic. `entries` and small subsets are
    computed in double precision, and oracles add up entries where these take at most 32 MiB. For few sets of features
    with many widths each `RBFBank` is much faster.

    Work on more than about a million entries is shared among threads, as many as OMP_NUM_THREADS or threadpoolctl
    allow (one in a process made by fork); their number moves no bit of a result.

    Parameters
    ----------
    X : array_like or sparse array of shape (n, columns)
        The points, finite; kept dense. They are used as they are: standardize them first.
    features : sequence of p array_like of int, or array_like of bool, shape (p, columns)
        Columns a kernel looks at, at least one, none twice.
    widths : float or array_like of shape (p,)
        Widths s, positive, in units of X; kept to 7 digits: the kernels are those of `widths`. From about 1e-12 of the
        largest difference of two entries in a column on.
    scale : float, optional
        Factor of all kernels. Default: 1 / n, for unit trace.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    scale : float
        As given.

    Raises
    ------
    InvalidArgument
        Points, features or widths that cannot be used.

    References
    ----------
    .. [1] Arlazarov, Dinic, Kronrod, Faradzev (1970), "On economical construction of the transitive closure of a
       directed graph", Soviet Mathematics Doklady 11: the method of four Russians.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import SubsetBank
    >>> bank = SubsetBank(np.array([[0.0, 1.0], [1.0, 1.0]]), [[0, 1], [1]], [1.0, 2.0], scale=1.0)
    >>> bank.n_kernels, bank.nbytes
    (2, 10)
    >>> bank.entries([0], [1]).round(3).tolist()
    [[[0.607, 1.0]]]
    """

    nonnegative = by_rows = True

    def __init__(
        self,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        features: Sequence[ArrayLike] | NDArray[np.bool_],
        widths: ArrayLike,
        *,
        scale: float | None = None,
    ) -> None:
        points = _dense(checked_points(X, "X"))
        masks = given_masks(features, points.shape[1])
        p = masks.shape[0]
        s = floats("widths", widths)
        if s.ndim == 0:
            s = np.full(p, s)
        if s.shape != (p,):
            raise InvalidArgument(f"`widths` must be one number per kernel, {p}, got shape {s.shape}")
        self._take(points, masks, rates_of(s, unit_of(points)), scale)

    @classmethod
    def random(
        cls,
        X: ArrayLike | sparse.spmatrix | sparse.sparray,
        n_kernels: int,
        *,
        largest: int | None = None,
        widths: tuple[float, float] = (0.3, 2.0),
        seed: int = 0,
        scale: float | None = None,
    ) -> SubsetBank:
        """Draw kernels on random subsets of the features that are not constant.

        X are points, an array or a sparse array, and p is `n_kernels`. The number of features of a kernel is drawn
        evenly from 1 to `largest`; default: half of those that are not constant, rounded up. A width is drawn evenly
        between these multiples, `widths`, of the root of the mean squared distance of two points on the kernel's
        features. More kernels of the same `seed` begin with those of fewer, up to a multiple of 16,384. `scale` is as
        for the class.
        """
        points = _dense(checked_points(X, "X"))
        bank = cls.__new__(cls)
        bank._take(points, *drawn_subsets(points, n_kernels, largest, widths, seed), scale)
        return bank

    def _take(self, points: Matrix, masks: Masks, rates: NDArray[np.float32], scale: float | None) -> None:
        self.n_points, self._n_columns = points.shape
        self.n_kernels = masks.shape[0]
        self.scale = 1.0 / self.n_points if scale is None else real("scale", scale, above=0.0)
        self._masks, self._rates = masks, rates
        self._unit = unit_of(points)
        # Points as columns, in units of a power of two in which no squared difference overflows; without zeros of
        # negative sign, which would count in the digest.
        self._points = np.ascontiguousarray(points.T / self._unit) + 0.0
        self.exactness = exactness_of(masks.shape[1])

    @property
    def entry_error(self) -> float:
        """Largest difference of an entry of `entries` from the kernel's, over the diagonal."""
        # The exponent, a sum of squares times a rate, takes part in so many roundings; x exp(-x) of that is left.
        return float(EPS * (8.0 + 0.5 * self._n_columns))

    @property
    def nbytes(self) -> int:
        """Bytes the kernels take, without the points."""
        return self._masks.nbytes + self._rates.nbytes

    @property
    def widths(self) -> Vector:
        """Widths of the kernels, a new ndarray of shape (p,)."""
        return self._unit / np.sqrt(2.0 * log(2.0) * self._rates.astype(float))

    def features(self, kernel: int) -> Indices:
        """Columns of X that a kernel looks at, ndarray of int, in ascending order."""
        which = checked_indices([kernel], self.n_kernels, "kernel")
        return np.flatnonzero(unpacked(self._masks[which], self._n_columns)[0])

    def _combine(self, d: Vector, K: Matrix) -> None:
        for a, b in lower_pairs(self.n_points):
            K[a, b] = K[b, a] = self._weighted(self._points, a, b, d)
        np.fill_diagonal(K, self.scale * d.sum())

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        return self._rectangle(self._points, rows, columns, d)

    def _forms(self, x: Vector) -> Vector:
        support = np.flatnonzero(x)
        forms = np.zeros(self.n_kernels)
        if support.size == 0:
            return forms
        size = float(np.abs(x).max())
        points, w = np.ascontiguousarray(self._points[:, support]), x[support] / size
        for a, b in lower_pairs(support.size):
            scratch = scratch_for(a.size * self.n_kernels)
            subset_loops.add_weighted_pairs(points, a, b, 2.0 * w[a] * w[b], self._masks, self._rates, forms, scratch)
        forms += float(w @ w)
        forms *= size * size * self.scale
        return forms

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        support = np.flatnonzero(x)
        size = float(np.abs(x).max()) if support.size else 1.0
        left, right = (np.ascontiguousarray(self._points[:, some]) for some in (rows, support))
        found = np.empty((rows.size, self.n_kernels))
        scratch = scratch_for(found.size * support.size)
        subset_loops.products(left, right, x[support] / size, self._masks, self._rates, found, scratch)
        found *= size * self.scale
        return found

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel in double precision, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        found = np.empty((which.size, others.size, self.n_kernels))
        rows_at_once = max(NUMBERS // max(others.size * self._n_columns, 1), 1)
        for first in range(0, self.n_kernels, KERNELS):
            kernels = slice(first, first + KERNELS)
            features = unpacked(self._masks[kernels], self._n_columns).astype(float).T
            for start in range(0, which.size, rows_at_once):
                part = slice(start, start + rows_at_once)
                differences = self._points.T[which[part], None] - self._points.T[others]
                # A product with zeros and ones is a sum of squares, without the cancellation of differences of norms.
                D = (differences * differences).reshape(-1, self._n_columns) @ features
                D *= -self._rates[kernels].astype(float)
                np.exp2(D, out=D)
                D *= self.scale
                found[part, :, kernels] = D.reshape(-1, others.size, D.shape[1])
        return found

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p) that is read only: one number seen many times."""
        return np.broadcast_to(np.float64(self.scale), (self.n_points, self.n_kernels))

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        return np.full(self.n_kernels, self.scale), np.full(self.n_kernels, self.n_points * self.scale * (1 + EPS))

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels, see `KernelBank.noise`.

        The weights are rounded to single precision, 4 terms are added up in it, and their sums in double precision.
        """
        return 1.001 * (self.charge + 5.0 * SINGLE) + 0.5 * EPS * (n_used + 8)

    @property
    def _term_error(self) -> float:
        """Error of a term of a form, over the diagonal: of the single precision of weight, product and two sums."""
        return 1.001 * (self.exactness + 4.0 * SINGLE)

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`.

        Few kernels, at most a sixteenth of all and 256 MiB in a `GramBank`, are computed in double precision and kept
        in one; more are a `SubsetBank`.
        """
        which = checked_kernels(kernels, self.n_kernels)
        bank = self._some(which)
        size = self.n_points * (self.n_points + 1) // 2
        if STORED_SHARE * which.size > self.n_kernels or 2 * 8 * which.size * size > STORED_BYTES:
            return bank
        return stored_kernels(bank)

    def _some(self, which: Indices) -> SubsetBank:
        """Some of the kernels, numbered anew."""
        bank = type(self).__new__(type(self))
        vars(bank).update({name: value for name, value in vars(self).items() if name not in ("sizes", "_precise")})
        bank.n_kernels, bank._masks, bank._rates = which.size, self._masks[which], self._rates[which]
        return bank

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, which are its columns, see `KernelBank.label`."""
        columns = self.features(k)
        group = columns_in_words(columns, self._n_columns)
        width = self._unit / sqrt(2.0 * log(2.0) * float(self._rates[k]))
        return f"gaussian(width={width:.4g}) of {group}", group

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> SubsetBank:
        """Some kernels between new points and some points, see `KernelBank.kept`."""
        which, some = checked_kernels(kernels, self.n_kernels), checked_indices(points, self.n_points, "points")
        bank = self._some(which)
        bank.n_points, bank._points = some.size, np.ascontiguousarray(self._points[:, some])
        return bank

    def cross(self, new: ArrayLike | sparse.spmatrix | sparse.sparray, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, shape (m, columns), and these, see `KernelBank.cross`."""
        d = checked_vector(weights, self.n_kernels, "weights")
        points = _dense(checked_new(new, self._n_columns))
        left = np.ascontiguousarray(points.T / self._unit)
        return self._rectangle(left, np.arange(points.shape[0]), np.arange(self.n_points), d)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        return digest("subsets", self._points, self._unit, self.scale, self._masks, self._rates)

    def _rectangle(self, left: Matrix, rows: Indices, columns: Indices, d: Vector) -> Matrix:
        """Weighted sum of the kernels between some of the left points and some of the bank, shape (r, c)."""
        found = np.empty((rows.size, columns.size))
        at_once = max(PAIRS // max(columns.size, 1), 1)
        for start in range(0, rows.size, at_once):
            part = rows[start : start + at_once].astype(np.intc)
            a, b = np.repeat(part, columns.size), np.tile(columns.astype(np.intc), part.size)
            found[start : start + at_once] = self._weighted(left, a, b, d).reshape(part.size, columns.size)
        return found

    def _weighted(self, left: Matrix, a: NDArray[np.intc], b: NDArray[np.intc], d: Vector) -> Vector:
        """Weighted sum of the kernels at pairs of a left point and one of the bank."""
        used, found = np.flatnonzero(d), np.zeros(a.size)
        if used.size == 0:
            return found
        size = float(np.abs(d).max())
        masks, rates = self._masks, self._rates
        if used.size < d.size:
            masks, rates = masks[used], rates[used]
        weights = (d[used] / size).astype(np.float32)
        subset_loops.weighted_sum(
            left, self._points, a, b, masks, rates, weights, found, scratch_for(a.size * used.size)
        )
        found *= size * self.scale
        return found


def _dense(points: Points) -> Matrix:
    dense: Matrix = points.toarray() if sparse.issparse(points) else points
    return dense
