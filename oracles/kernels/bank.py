"""A bank seen through a view: some kernels on some points, with its rounding among its errors, or kept in memory."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import instance
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.oracles.kernels.bank_checks import checked_indices, checked_kernels, checked_vector
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE, Indices, KeptKernels, KernelBank, charged
from oracle_opt.oracles.kernels.gram_bank import GramBank
from oracle_opt.oracles.kernels.source import Source, checked_source


class Bank(KernelBank):
    """Some kernels of a source on some of its points, numbered anew; nothing is copied.

    The source may be functions of two points, which are evaluated whenever they are needed, or another bank. A bank is
    asked for all of its kernels, and with vectors of all of its points that are 0 where the view looks away: as fast as
    a bank of its own, where the sums of that one are. Errors are those of the bank, whose sums these are.

    Parameters
    ----------
    source : Source or KernelBank
        p kernels on n points.
    kernels, points : array_like of int, optional
        Indices of kernels and of points, at least one, none twice. Default: all.

    Attributes
    ----------
    bank : KernelBank
        The source, as a bank.

    Raises
    ------
    InvalidArgument
        The source is none, or the indices are not those of kernels or points, or one is there twice.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import Bank, GramBank
    >>> bank = Bank(GramBank([np.eye(3), np.ones((3, 3))]), points=[2, 0])
    >>> bank.combine([1.0, 2.0]).tolist()
    [[3.0, 2.0], [2.0, 3.0]]
    """

    def __init__(
        self, source: Source | KernelBank, kernels: ArrayLike | None = None, points: ArrayLike | None = None
    ) -> None:
        bank = source
        if isinstance(source, Source):
            bank, kernels = checked_source(source, kernels), None
        self.bank = bank = instance("source", bank, KernelBank, "a KernelBank, or a Source of kernels")
        self.kernels = None if kernels is None else checked_kernels(kernels, bank.n_kernels)
        self.points = None if points is None else checked_kernels(points, bank.n_points, "points")
        self.n_kernels = bank.n_kernels if self.kernels is None else self.kernels.size
        self.n_points = bank.n_points if self.points is None else self.points.size
        self.exactness, self.nonnegative, self.rounding = bank.exactness, bank.nonnegative, bank.rounding

    @property
    def entry_error(self) -> float:
        """The error of an entry, as in the underlying bank."""
        return self.bank.entry_error

    def precise(self, most_bytes: float) -> KernelBank:
        """The same view of the bank that adds up entries, which others share, see `KernelBank.precise`."""
        bank = self.bank.precise(most_bytes)
        return self if bank is self.bank else Bank(bank, self.kernels, self.points)

    def _combine(self, d: Vector, K: Matrix) -> None:
        if self.points is None:
            self.bank.combine(self._weights(d), K)
        else:
            K[:] = self.bank.block(self._weights(d), self.points, self.points)

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, see `KernelBank.block`."""
        if self.kernels is not None:
            weights = self._weights(checked_vector(weights, self.n_kernels, "weights"))
        return self.bank.block(weights, self._own(rows, "rows"), self._own(columns, "columns"))

    def _forms(self, x: Vector) -> Vector:
        return self._seen(self.bank.quadratic_forms(self._vector(x)))

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        return self._seen(self.bank.row_products(rows if self.points is None else self.points[rows], self._vector(x)))

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        return self._seen(self.bank.entries(self._own(rows, "rows"), self._own(columns, "columns")))

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        found = self._seen(self.bank.diagonal())
        return found if self.points is None else found[self.points]

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        if self.points is not None:
            return super().sizes
        largest, trace = self.bank.sizes
        return self._seen(largest), self._seen(trace)

    def noise(self, n_used: int) -> float:
        """The error of an entry of a sum of so many kernels, as in the underlying bank."""
        return self.bank.noise(n_used)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """The error of ``u @ K_k @ v`` for all k, as in the underlying bank."""
        return self.bank.form_error(self._vector(u), self._vector(v))

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, as the bank takes them, and these points."""
        found = self.bank.cross(new, self._weights(checked_vector(weights, self.n_kernels, "weights")))
        return found if self.points is None else found[:, self.points]

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group: those it has in the bank."""
        return self.bank.label(k if self.kernels is None else int(self.kernels[k]))

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`: on points, a subset's view."""
        if self.kernels is None and self.points is not None:
            return Bank(self.bank.subset(kernels), points=self.points)
        return super().subset(kernels)

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some of these points, see `KernelBank.kept`: what the bank keeps."""
        if self.kernels is not None:
            kernels = self.kernels[checked_kernels(kernels, self.n_kernels)]
        return self.bank.kept(kernels, self._own(points, "points"))

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        found = self.bank.digest()
        if self.kernels is not None:
            found = digest(found, self.kernels)
        return found if self.points is None else digest(found, "points", self.points)

    def _seen(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """The entries of these kernels, of an array whose last axis is all kernels of the bank."""
        return found if self.kernels is None else found[..., self.kernels]

    def _own(self, indices: ArrayLike, name: str) -> ArrayLike:
        """The places of these points among the points of the bank, which checks its own."""
        return indices if self.points is None else self.points[checked_indices(indices, self.n_points, name)]

    def _vector(self, v: Vector) -> Vector:
        """A vector of these points as one of all points of the bank, 0 elsewhere."""
        return v if self.points is None else _spread(v, self.points, self.bank.n_points)

    def _weights(self, d: Vector) -> Vector:
        """Weights of all kernels of the bank."""
        return d if self.kernels is None else _spread(d, self.kernels, self.bank.n_kernels)


def _spread(values: Vector, places: Indices, size: int) -> Vector:
    """Numbers at some places of a vector of that size, 0 elsewhere."""
    every = np.zeros(size)
    every[places] = values
    return every


class BeforeRounding(Bank):
    """A bank with its `rounding` among its errors, for the kernels that were meant: see docs/theory_smooth_mkl.md."""

    def __init__(self, bank: KernelBank) -> None:
        super().__init__(bank)
        # over diagonal entries of the bank, which both errors may have made a little smaller
        self._rounded = charged(bank.exactness + bank.rounding) - bank.exactness
        self.exactness, self.rounding = bank.exactness + self._rounded, 0.0

    @property
    def entry_error(self) -> float:
        """The error of an entry: that in the underlying bank plus the rounding of its entries."""
        return self.bank.entry_error + self.bank.rounding

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: the bank's, and its rounding."""
        return self.bank.noise(n_used) + self._rounded

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: the bank's, and its `rounding`, over roots of the diagonal."""
        of_largest, of_trace = self.bank.form_error(u, v)
        rounding = self._rounded * (1.0 + EPS * (u.size + 8))
        sums, norms = float(np.abs(u).sum() * np.abs(v).sum()), float(np.linalg.norm(u) * np.linalg.norm(v))
        return of_largest + rounding * sums, of_trace + rounding * norms

    def precise(self, most_bytes: float) -> KernelBank:
        """The kernels that were meant, of the bank that adds up entries: see `KernelBank.precise`."""
        bank = self.bank.precise(most_bytes)
        return self if bank is self.bank else bank.before_rounding()

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of the kernels, see `KernelBank.subset`."""
        return self.bank.subset(kernels).before_rounding()


def stored_kernels(bank: KernelBank) -> GramBank:
    """Return a bank of ``4 p n (n + 1)`` bytes and more that keeps all entries of another, which sees new points."""
    n, p = bank.n_points, bank.n_kernels
    packed = np.empty((p, n * (n + 1) // 2))
    at_once = max(ENTRIES_AT_ONCE // (n * p), 1)
    for start in range(0, n, at_once):
        rows = np.arange(start, min(start + at_once, n))
        entries = bank.entries(rows, np.arange(rows[-1] + 1))
        for i in rows.tolist():
            packed[:, i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] = entries[i - start, : i + 1].T
    kept = GramBank.from_packed(packed, np.ones(p), bank)
    kept.exactness, kept.rounding, kept.nonnegative = bank.entry_error, bank.rounding, bank.nonnegative
    return kept
