"""What every family of kernels on n points offers to the oracles."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import numbered, shown

if TYPE_CHECKING:
    from oracle_opt.oracles.kernels.kept_kernels import KeptKernels

Indices = NDArray[np.intp]

# Errors of sums, over the diagonal, from which on their effect is bounded, or avoided; less is left to the solver.
COARSE = 1e-10
# Entries of single kernels that are held at a time where a block of their sum is made of them.
ENTRIES_AT_ONCE = 1 << 22


class KernelBank(ABC):
    """A family of p kernels K_1 .. K_p on n points.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    exactness : float
        By how much an entry in a sum may differ from that of the kernel, or from one call to the next, over the root of
        the product of the two diagonal entries.
    entry_error : float
        The same of `entries`, which may be computed more precisely than sums are. Default: `exactness`.
    rounding : float
        By how much a kernel may differ from the positive semidefinite one that was meant: from the matrix that was
        passed in before a store rounded it, and by what a matrix with a negative eigenvalue lacks. In the same unit.
    nonnegative : bool
        Whether all entries of all kernels are known to be at least 0.
    """

    n_kernels: int
    n_points: int
    exactness: float = 0.0
    rounding: float = 0.0
    nonnegative: bool = False
    _precise: KernelBank | None = None

    @property
    def entry_error(self) -> float:
        """By how much an entry of `entries` may differ from that of the kernel; see the class."""
        return self.exactness

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_kernels={self.n_kernels}, n_points={self.n_points})"

    def __getstate__(self) -> dict[str, Any]:
        """Without the bank of entries that `precise` keeps, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_precise"}

    @abstractmethod
    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels.

        The cost is proportional to the number of non-zero weights.

        Parameters
        ----------
        weights : array_like of shape (p,)
            Weights of the kernels.
        out : ndarray of shape (n, n), optional
            Where to write the sum, C-contiguous float64; default: a new array.

        Returns
        -------
        ndarray of shape (n, n)
            ``sum(weights[k] * K_k)``, float64.
        """

    @abstractmethod
    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector.

        The cost is proportional to the square of the number of non-zero entries.

        Parameters
        ----------
        v : array_like of shape (n,)
            The vector; for an SVM its signed dual variables.

        Returns
        -------
        ndarray of shape (p,)
            ``v @ K_k @ v``, summed in float64.
        """

    @abstractmethod
    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector.

        The cost is proportional to the number of rows times that of non-zero entries.

        Parameters
        ----------
        rows : array_like of int, shape (r,)
            Indices of points.
        v : array_like of shape (n,)
            The vector.

        Returns
        -------
        ndarray of shape (r, p)
            Entry (i, k) is ``(K_k @ v)[rows[i]]``, summed in float64; a new array, which the caller may overwrite.
        """

    @abstractmethod
    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel.

        Parameters
        ----------
        rows, columns : array_like of int, shapes (r,) and (c,)
            Indices of points.

        Returns
        -------
        ndarray of shape (r, c, p)
            Entry (i, j, k) is ``K_k[rows[i], columns[j]]``.
        """

    @abstractmethod
    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum of the kernels.

        By default made of `entries` of the kernels of non-zero weight, `ENTRIES_AT_ONCE` at a time. Its error is as of
        `noise`.

        Parameters
        ----------
        weights : array_like of shape (p,)
            Weights of the kernels.
        rows, columns : array_like of int, shapes (r,) and (c,)
            Indices of points.

        Returns
        -------
        ndarray of shape (r, c)
            Entry (i, j) is ``sum(weights[k] * K_k[rows[i], columns[j]])``; a new array, which the caller may overwrite.
        """
        d = checked_vector(weights, self.n_kernels, "weights")
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        used = np.flatnonzero(d)
        chosen, found = self.subset(used) if used.size else None, np.zeros((which.size, others.size))
        if chosen is not None:
            at_once = max(ENTRIES_AT_ONCE // max(used.size * others.size, 1), 1)
            for start in range(0, which.size, at_once):
                part = slice(start, start + at_once)
                found[part] = chosen.entries(which[part], others) @ d[used]
        if np.array_equal(which, others):  # products of matrices round differently on both sides of the diagonal
            found = np.tril(found) + np.tril(found, -1).T
        return found

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Return some of the kernels as a bank of their own, on the same points.

        By default one that asks this bank for all kernels where it has no way to ask for some, see `Bank`.

        Parameters
        ----------
        kernels : array_like of int, shape (q,)
            Indices of kernels, at least one, none twice; they are numbered in this order.

        Returns
        -------
        KernelBank
            It shares memory with this one, and numbers are those of this one: up to rounding, which `noise` and
            `form_error` of the new bank tell.
        """
        from oracle_opt.oracles.kernels.bank import Bank  # which is a bank itself

        return Bank(self, kernels)

    def on(self, points: ArrayLike) -> KernelBank:
        """Return the kernels on some of the points, numbered anew, as a bank of its own.

        For the machines of pairs of classes, which stand on the same kernels and see a part of the points each.

        Parameters
        ----------
        points : array_like of int, shape (r,)
            Indices of points, at least one, none twice.

        Returns
        -------
        KernelBank
            It shares memory with this one, and its numbers are those of this one.
        """
        from oracle_opt.oracles.kernels.bank import Bank  # which is a bank itself

        return Bank(self, points=points)

    def before_rounding(self) -> KernelBank:
        """Return the same kernels as a bank whose errors count its `rounding`: those of the kernels that were meant.

        Returns
        -------
        KernelBank
            This bank, where its `rounding` is 0.
        """
        from oracle_opt.oracles.kernels.bank import BeforeRounding  # which is a bank itself

        return BeforeRounding(self) if self.rounding else self

    def precise(self, most_bytes: float) -> KernelBank:
        """Return a bank of the same kernels that adds up their `entries`, where its own sums are coarse.

        Parameters
        ----------
        most_bytes : float
            What it may take: ``8 p n (n + 1)`` bytes are needed.

        Returns
        -------
        KernelBank
            This bank, where its sums are as exact as its entries, or where the other one would take more.
        """
        n = self.n_points
        if not self.entry_error < COARSE < self.exactness or 8 * self.n_kernels * n * (n + 1) > most_bytes:
            return self
        if self._precise is None:
            from oracle_opt.oracles.kernels.bank import stored_kernels  # which is a bank itself

            self._precise = stored_kernels(self)
        return self._precise

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, which is empty if it has none.

        Parameters
        ----------
        k : int
            Number of the kernel.

        Returns
        -------
        tuple of two str
            The name and the group.
        """
        return f"kernel {k}", ""

    @property
    def names(self) -> tuple[str, ...]:
        """What each kernel is, p different texts, made when they are asked for; see `label`."""
        return numbered([self.label(k)[0] for k in range(self.n_kernels)])

    @property
    def groups(self) -> tuple[str, ...]:
        """Group of each kernel in tables of weights, p texts; empty for one that has none."""
        return tuple(self.label(k)[1] for k in range(self.n_kernels))

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some points of the bank: what a fitted model needs of it.

        By default this holds the whole bank; banks that know better keep these points alone.

        Parameters
        ----------
        kernels : array_like of int, shape (q,)
            Indices of kernels, at least one, none twice.
        points : array_like of int, shape (r,)
            Indices of points.

        Returns
        -------
        KeptKernels
            Its `cross` takes new points as that of the bank does, and weights of the q kernels.
        """
        from oracle_opt.oracles.kernels.bank import Bank
        from oracle_opt.oracles.kernels.kept_kernels import Given, KeptPart

        view = Bank(self, kernels, points)
        return KeptPart(Given(view), view.n_kernels, view.n_points, by_rows=False)

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        diagonal = self.diagonal()
        return diagonal.max(axis=0), (1 + EPS * self.n_points) * diagonal.sum(axis=0)

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of `n_used` kernels, over the root of the product of its two diagonal entries."""
        return self.exactness + 0.5 * EPS * (n_used + 8)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: at most the first number times the largest diagonal entry of K_k.

        And at most the second one times the trace: ``abs(u) @ abs(K) @ abs(v)`` is at most ``norm(u, 1) * norm(v, 1)``
        times the former, and at most ``norm(u) * norm(v)`` times the latter; a term takes part in no more roundings
        than a sum over pairs in 64 parts, or two sums over points, have.
        """
        n, m = self.n_points, np.count_nonzero(u) * np.count_nonzero(v)
        relative = 4.0 * self.exactness + 0.5 * EPS * (2 * n + m / 64 + 160)
        sums = float(np.abs(u).sum()) * float(np.abs(v).sum())
        return relative * sums, relative * float(np.linalg.norm(u)) * float(np.linalg.norm(v))

    @abstractmethod
    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank.

        Parameters
        ----------
        new : array_like
            What the class says.
        weights : array_like of shape (p,)
            Weights of the kernels; only kernels of non-zero weight are evaluated.

        Returns
        -------
        ndarray of shape (m, n)
            The sum, each kernel scaled as on the points of the bank.
        """

    @abstractmethod
    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""


def checked_vector(values: ArrayLike, size: int, name: str) -> Vector:
    """Return the values as float64, or raise `InvalidArgument` unless they are so many finite numbers."""
    try:
        vector = np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be {size} finite numbers, got {shown(values)}") from problem
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise InvalidArgument(f"`{name}` must be {size} finite numbers, got shape {vector.shape}")
    return vector


def checked_indices(indices: ArrayLike, n_points: int, name: str) -> Indices:
    """Return the indices, or raise `InvalidArgument` unless they are those of points."""
    try:
        which = np.asarray(indices, dtype=np.intp, order="C")
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`{name}` must be indices, got {shown(indices)}") from problem
    if which.ndim != 1 or (which.size and not 0 <= which.min() <= which.max() < n_points):
        raise InvalidArgument(f"`{name}` must be indices from 0 to {n_points - 1}, got {indices!r}")
    return which


def checked_kernels(kernels: ArrayLike, n_kernels: int) -> Indices:
    """Return indices of kernels, or raise `InvalidArgument` unless they are some, none twice."""
    which = checked_indices(kernels, n_kernels, "kernels")
    if which.size == 0 or np.unique(which).size < which.size:
        raise InvalidArgument(f"`kernels` must be indices of kernels, at least one and none twice, got {shown(which)}")
    return which


def checked_out(out: Matrix | None, n_points: int) -> Matrix:
    """Return where to write a sum of kernels, or raise `InvalidArgument` if it cannot be written there."""
    shape = (n_points, n_points)
    K = np.empty(shape) if out is None else out
    if K.shape != shape or K.dtype != np.float64 or not K.flags.c_contiguous:
        raise InvalidArgument(
            f"`out` must be C-contiguous float64 of shape {shape}, got {K.dtype} of shape {K.shape}; "
            "leave it out for a new array"
        )
    return K


def checked_precision(dtype: DTypeLike) -> bool:
    """Whether the type is float32, or raise `InvalidArgument` if it is not float64 either."""
    try:
        wanted = np.dtype(dtype)
    except TypeError as problem:
        raise InvalidArgument(f"`dtype` must be float64 or float32, got {shown(dtype)}") from problem
    if wanted not in (np.float32, np.float64):
        raise InvalidArgument(f"`dtype` must be float64 or float32, got {wanted}")
    return wanted == np.float32


def check_square_fits(n_points: int) -> None:
    """Raise `InvalidArgument` if a combined kernel of so many points does not fit into memory."""
    most = most_of_memory()
    if most is not None and 8 * n_points * n_points > most:
        raise InvalidArgument(
            f"the combined kernel of {n_points} points would take {8 * n_points * n_points} bytes, more than 70 % of "
            "the memory; solve_lp_mkl does without, or take fewer points"
        )


def most_of_memory() -> int | None:
    """70 % of the bytes of the machine's memory; None where the system does not tell."""
    try:
        return int(0.7 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None
