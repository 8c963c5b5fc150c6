"""Kernels as functions of two points, and the bank that adds up their entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Matrix, Vector, digest, fingerprint
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import (
    checked_indices,
    checked_kernels,
    checked_vector,
)
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE, Indices, KernelBank
from oracle_opt.oracles.kernels.points import mirror, parts
from oracle_opt.words import shown

# Entries of a sum that are made at a time.
ENTRIES = 1 << 20
# Points of a block of the diagonal.
DIAGONAL_BLOCK = 64


class Source(ABC):
    """Where kernels come from: p functions of two points, and n points.

    A class of your own needs the first three attributes and `entries`. `Bank` makes a bank of it, with all that oracles
    ask, for all kernels and points or for some. `weighted` and `products` are there to be overridden by faster sums.

    Attributes
    ----------
    points : ndarray, csr_array, or other sequence that takes arrays of indices
        The points, which `entries` gets some of; nothing else that it holds may depend on the points.
    n_kernels : int
        p.
    entry_error : float
        By how much an entry may differ from that of the kernel in exact arithmetic, and from one call to the next, over
        the root of the product of the two diagonal entries: 1e-14, say. Bounds count it.
    sum_error : float or None
        The same of the terms of `weighted` and `products`. Default: None, that of entries.
    rounding : float
        As for `KernelBank`. Default: 0.
    nonnegative : bool
        Whether all entries are known to be at least 0. Default: False.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import Bank, Source
    >>> class Powers(Source):
    ...     entry_error = 1e-14
    ...     def __init__(self, points, n_kernels):
    ...         self.points, self.n_kernels = points, n_kernels
    ...     def entries(self, left, right, kernels):
    ...         return (1.0 + left @ right.T)[:, :, None] ** (1 + kernels)
    >>> bank = Bank(Powers(np.array([[0.0], [1.0], [2.0]]), 3), kernels=[0, 2], points=[1, 2])
    >>> bank.combine([1.0, 0.1]).round(1).tolist()
    [[2.8, 5.7], [5.7, 17.5]]
    """

    points: Any
    n_kernels: int
    entry_error: float
    sum_error: float | None = None
    rounding: float = 0.0
    nonnegative: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_kernels={self.n_kernels})"

    @abstractmethod
    def entries(self, left: Any, right: Any, kernels: Indices) -> NDArray[np.float64]:
        """Entries of some kernels between two lists of points.

        Parameters
        ----------
        left, right : ndarray, or as `points` are
            r and c points, from `points` or from `taken`.
        kernels : ndarray of int, shape (q,)
            Numbers of the kernels, in this order.

        Returns
        -------
        ndarray of shape (r, c, q)
            A new array.
        """

    def taken(self, new: Any) -> Any:
        """Return `new` points, as users pass them to `cross`, in the form of `points`; default: as they are."""
        return new

    def diagonal(self, points: Any, kernels: Indices) -> Matrix:
        """Entries of `points` with themselves, for some `kernels`: shape (m, q); default: those of `entries`."""
        found = np.empty((points.shape[0], kernels.size))
        for part in parts(points.shape[0], DIAGONAL_BLOCK):
            found[part] = np.einsum("iik->ik", self.entries(points[part], points[part], kernels))
        return found

    def weighted(self, left: Any, right: Any, kernels: Indices, weights: Vector) -> Matrix:
        """Sum, shape (r, c), of some `kernels` times `weights` between two lists of points; bounds count `sum_error`.

        By default it is made of `entries`, of which `left` and `right` are the points.
        """
        found = np.empty((left.shape[0], right.shape[0]))
        for part in parts(left.shape[0], ENTRIES_AT_ONCE // max(kernels.size * right.shape[0], 1)):
            # not a product of matrices, which rounds differently on both sides of a diagonal
            np.einsum("rck,k->rc", self.entries(left[part], right, kernels), weights, out=found[part])
        return found

    def products(self, left: Any, right: Any, kernels: Indices, v: Vector) -> Matrix:
        """Entries of some `kernels` times a vector v of shape (c,), shape (r, q); bounds count `sum_error`.

        By default it is made of `entries`, of which `left` and `right` are the points.
        """
        found = np.empty((left.shape[0], kernels.size))
        for part in parts(left.shape[0], ENTRIES_AT_ONCE // max(kernels.size * right.shape[0], 1)):
            found[part] = np.einsum("rck,c->rk", self.entries(left[part], right, kernels), v)
        return found

    def label(self, k: int) -> tuple[str, str]:
        """Name of kernel `k`, and of its group, which may be empty."""
        return f"kernel {k}", ""

    def digest(self, kernels: Indices) -> str:
        """16 hexadecimal digits that tell these kernels on the points from others, functions by their names."""
        return digest(fingerprint(self), kernels)

    def kept(self, kernels: Indices, points: Indices) -> Source:
        """The same of some of the points, for kernels of which some alone are asked for; they keep their numbers."""
        made = copy(self)
        made.points = self.points[points]
        return made


class EvaluatedBank(KernelBank):
    """Kernels of a source on all of its points, evaluated whenever they are needed, block by block."""

    by_rows = True

    def __init__(self, source: Source, kernels: ArrayLike | None = None) -> None:
        p = whole("source.n_kernels", source.n_kernels)
        self.source = source
        self._which = np.arange(p) if kernels is None else checked_kernels(kernels, p)
        self.n_kernels, self.n_points = self._which.size, int(source.points.shape[0])
        error = real("source.entry_error", getattr(source, "entry_error", None), least=0.0)
        self.exactness = error if source.sum_error is None else source.sum_error
        self.rounding, self.nonnegative = source.rounding, source.nonnegative

    @property
    def entry_error(self) -> float:
        """The error of an entry, as the source says."""
        return self.source.entry_error

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group: those it has in the source."""
        return self.source.label(int(self._which[k]))

    def _combine(self, d: Vector, K: Matrix) -> None:
        points = self.source.points
        for part in parts(self.n_points, ENTRIES // self.n_points):
            K[part, : part.stop] = self._sum(points[part], points[: part.stop], d)
        mirror(K)

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        return self._sum(self.source.points[rows], self.source.points[columns], d)

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        support = np.flatnonzero(x)
        return self._products_of(self.source.points[rows], self.source.points[support], x[support])

    def _forms(self, x: Vector) -> Vector:
        support = np.flatnonzero(x)
        points, v = self.source.points[support], x[support]
        forms: Vector = v @ self._products_of(points, points, v)
        return forms

    def _products_of(self, left: Any, right: Any, v: Vector) -> Matrix:
        """Entries of the kernels between two lists of points times numbers of the right ones."""
        n_rows, most = left.shape[0], ENTRIES // max(v.size, 1)
        if n_rows <= most and v.size:
            return self.source.products(left, right, self._which, v)
        found = np.zeros((n_rows, self.n_kernels))
        for part in parts(n_rows, most) if v.size else ():
            found[part] = self.source.products(left[part], right, self._which, v)
        return found

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        return self.source.entries(self._some(rows, "rows"), self._some(columns, "columns"), self._which)

    @cached_property
    def _diagonal(self) -> Matrix:
        return self.source.diagonal(self.source.points, self._which)

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self._diagonal

    def subset(self, kernels: ArrayLike) -> EvaluatedBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`."""
        return EvaluatedBank(self.source, self._which[checked_kernels(kernels, self.n_kernels)])

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points, as the source takes them, and the bank's points."""
        d = checked_vector(weights, self.n_kernels, "weights")
        return self._sum(self.source.taken(new), self.source.points, d)

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> EvaluatedBank:
        """Some kernels between new points and some points, see `KernelBank.kept`."""
        which = self._which[checked_kernels(kernels, self.n_kernels)]
        return EvaluatedBank(self.source.kept(which, checked_indices(points, self.n_points, "points")), which)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others, see `Source.digest`."""
        return self.source.digest(self._which)

    def _some(self, indices: ArrayLike, name: str) -> Any:
        """Points by their numbers."""
        return self.source.points[checked_indices(indices, self.n_points, name)]

    def _sum(self, left: Any, right: Any, d: Vector) -> Matrix:
        """Sum of the kernels that have a weight between two lists of points."""
        used, n_rows = np.flatnonzero(d), left.shape[0]
        which, d = self._which[used], d[used]
        most = ENTRIES // max(right.shape[0], 1)
        if n_rows <= most and used.size:
            return self.source.weighted(left, right, which, d)
        found = np.zeros((n_rows, right.shape[0]))
        for part in parts(n_rows, most) if used.size else ():
            found[part] = self.source.weighted(left[part], right, which, d)
        return found


def checked_source(source: Source, kernels: ArrayLike | None) -> EvaluatedBank:
    """Return the bank of a source of a user's, or raise `InvalidArgument` if its first entries are none."""
    bank = EvaluatedBank(source, kernels)
    left, right, which = source.points[:1], source.points[:2], np.arange(bank.source.n_kernels)[-1:]
    found, shape = source.entries(left, right, which), (1, int(right.shape[0]), 1)
    if np.shape(found) != shape or not np.isfinite(found).all():
        raise InvalidArgument(f"`source.entries` must return finite numbers, here of shape {shape}, got {shown(found)}")
    return bank
