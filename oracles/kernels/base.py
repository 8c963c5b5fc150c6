"""The interface of every family of kernels on n points, as the oracles use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.bank_checks import Indices as Indices
from oracle_opt.oracles.kernels.bank_checks import checked_indices, checked_out, checked_vector, lack_of
from oracle_opt.words import numbered

# Errors of sums, over the diagonal, from which on their effect is bounded, or avoided; less is left to the solver.
COARSE = 1e-10
# Entries of single kernels that are held at a time where a block of their sum is made of them.
ENTRIES_AT_ONCE = 1 << 22


class KeptKernels(ABC):
    """Some kernels of a bank between new points and some points of the bank; see `KernelBank.kept`.

    Attributes
    ----------
    n_kernels, n_points : int
        How many kernels, and points of the bank, were kept.
    by_rows : bool
        Whether rows of new points can be taken apart, as a row of `cross` depends on no other. Default: False.
    """

    n_kernels: int
    n_points: int
    by_rows: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_kernels={self.n_kernels}, n_points={self.n_points})"

    @abstractmethod
    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between m new points and those of the bank, or those kept, shape (m, n_points).

        `new` is as the class says: a bank and what is kept of it take the same. Only kernels of non-zero weight are
        evaluated, each scaled as on the points of the bank; `weights` has shape (n_kernels,).
        """


class KernelBank(KeptKernels):
    """A family of p kernels K_1 .. K_p on n points.

    A class of your own needs `entries`, `diagonal`, `cross` and `digest`, of which all sums are made; one that has
    faster sums overrides `combine`, `block`, `quadratic_forms` and `row_products`, or any of them.

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

    exactness: float = 0.0
    rounding: float = 0.0
    nonnegative: bool = False
    _precise: KernelBank | None = None

    @property
    def entry_error(self) -> float:
        """By how much an entry of `entries` may differ from that of the kernel; see the class."""
        return self.exactness

    def __getstate__(self) -> dict[str, Any]:
        """Without the bank of entries that `precise` keeps, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_precise"}

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, ``sum(weights[k] * K_k)``, float64; `weights` has shape (p,).

        It is written to `out`, shape (n, n), C-contiguous float64; default: a new array. The cost is proportional to
        the number of non-zero weights. `InvalidArgument` says that it would not fit into memory, too.
        """
        d, K = checked_vector(weights, self.n_kernels, "weights"), checked_out(out, self.n_points)
        self._combine(d, K)
        return K

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form ``v @ K_k @ v`` of every kernel, shape (p,), summed in float64; v has shape (n,).

        For an SVM v are its signed dual variables. The cost is proportional to the square of the number of non-zero
        entries.
        """
        return self._forms(checked_vector(v, self.n_points, "v"))

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector v of shape (n,): (i, k) is ``(K_k @ v)[rows[i]]``.

        `rows` are r indices of points. The array of shape (r, p) is a new one, which the caller may overwrite, summed
        in float64. The cost is proportional to the number of rows times that of non-zero entries.
        """
        x = checked_vector(v, self.n_points, "v")
        return self._products(checked_indices(rows, self.n_points, "rows"), x)

    @abstractmethod
    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel: (i, j, k) of the array is ``K_k[rows[i], columns[j]]``."""

    @abstractmethod
    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum of the kernels: (i, j) is ``sum(weights[k] * K_k[rows[i], columns[j]])``.

        `rows` and `columns` are indices of points; the array is a new one, which the caller may overwrite. By default
        it is made of `entries` of the kernels of non-zero weight, `ENTRIES_AT_ONCE` at a time. Its error is as of
        `noise`.
        """
        d = checked_vector(weights, self.n_kernels, "weights")
        which = checked_indices(rows, self.n_points, "rows")
        return self._block(d, which, checked_indices(columns, self.n_points, "columns"))

    def _combine(self, d: Vector, K: Matrix) -> None:
        """Write what `combine` returns; the arguments of this and the next three are checked, and arrays."""
        every = np.arange(self.n_points)
        K[:] = self.block(d, every, every)

    def _forms(self, x: Vector) -> Vector:
        """The result of `quadratic_forms`."""
        support = np.flatnonzero(x)
        forms: Vector = x[support] @ self.row_products(support, x)
        return forms

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        """The result of `row_products`."""
        support, found = np.flatnonzero(x), np.zeros((rows.size, self.n_kernels))
        at_once = max(ENTRIES_AT_ONCE // max(self.n_kernels * support.size, 1), 1)
        for start in range(0, rows.size if support.size else 0, at_once):
            part = slice(start, start + at_once)
            found[part] = np.einsum("rck,c->rk", self.entries(rows[part], support), x[support])
        return found

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        """The result of `block`."""
        used, found = np.flatnonzero(d), np.zeros((rows.size, columns.size))
        if used.size:
            chosen, at_once = self.subset(used), max(ENTRIES_AT_ONCE // max(used.size * columns.size, 1), 1)
            for start in range(0, rows.size, at_once):
                part = slice(start, start + at_once)
                found[part] = chosen.entries(rows[part], columns) @ d[used]
        if np.array_equal(rows, columns):  # products of matrices round differently on both sides of the diagonal
            found = np.tril(found) + np.tril(found, -1).T
        return found

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Return some of the `kernels`, at least one, none twice, as a bank of their own, on the same points.

        They are numbered in the order of their indices. The bank shares memory with this one, and numbers are those of
        this one: up to rounding, which `noise` and `form_error` of the new bank tell. By default it is one that asks
        this bank for all kernels where it has no way to ask for some, see `Bank`.
        """
        from oracle_opt.oracles.kernels.bank import Bank  # which is a bank itself

        return Bank(self, kernels)

    def on(self, points: ArrayLike) -> KernelBank:
        """Return the kernels on some of the `points`, at least one, none twice, numbered anew, as a bank of its own.

        For the machines of pairs of classes, which stand on the same kernels and see a part of the points each. It
        shares memory with this bank, and its numbers are those of this one.
        """
        from oracle_opt.oracles.kernels.bank import Bank  # which is a bank itself

        return Bank(self, points=points)

    def before_rounding(self) -> KernelBank:
        """Return the same kernels as a bank whose errors count its `rounding`: this one where that is 0."""
        from oracle_opt.oracles.kernels.bank import BeforeRounding  # which is a bank itself

        return BeforeRounding(self) if self.rounding else self

    def precise(self, most_bytes: float) -> KernelBank:
        """Return a bank of the same kernels that adds up their `entries`, where its own sums are coarse.

        It is this one, where its sums are as exact as its entries, or where ``8 p n (n + 1)``, the bytes that the
        other one needs, are more than `most_bytes`.
        """
        n = self.n_points
        if not self.entry_error < COARSE < self.exactness or 8 * self.n_kernels * n * (n + 1) > most_bytes:
            return self
        if self._precise is None:
            from oracle_opt.oracles.kernels.bank import stored_kernels  # which is a bank itself

            self._precise = stored_kernels(self)
        return self._precise

    def label(self, k: int) -> tuple[str, str]:
        """Name of kernel number `k`, and of its group, which is empty if it has none."""
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

        `kernels` are indices of kernels, at least one, none twice, `points` indices of points. `cross` takes new points
        as that of the bank does, and weights of these kernels. By default this holds the whole bank; banks that know
        better keep these points alone.
        """
        from oracle_opt.oracles.kernels.bank import Bank  # which is a bank itself

        return Bank(self, kernels, points)

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        diagonal = self.diagonal()
        return diagonal.max(axis=0), (1 + EPS * self.n_points) * diagonal.sum(axis=0)

    @cached_property
    def lacks(self) -> Vector:
        """What each kernel lacks to be positive semidefinite, ndarray of shape (p,): see `lack_of`."""
        return np.array([lack_of(self.combine(one)) for one in np.eye(self.n_kernels)])

    @property
    def charge(self) -> float:
        """`exactness` over the diagonal entries that are told, which are as wrong, rounded up."""
        return charged(self.exactness)

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of `n_used` kernels, over the root of the product of its two diagonal entries."""
        return self.charge + 0.5 * EPS * (n_used + 8)

    @property
    def _term_error(self) -> float:
        """Error of a term of a quadratic form before terms are added up, over the diagonal."""
        return 4.0 * self.exactness

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k: at most the first number times the largest diagonal entry of K_k.

        And at most the second one times the trace: ``abs(u) @ abs(K) @ abs(v)`` is at most ``norm(u, 1) * norm(v, 1)``
        times the former, and at most ``norm(u) * norm(v)`` times the latter; a term takes part in no more roundings
        than a sum over pairs in 64 parts, or two sums over points, have.
        """
        m, one, two = _sizes(u)
        others = (m, one, two) if u is v else _sizes(v)
        relative = self._term_error + 0.5 * EPS * (2 * self.n_points + m * others[0] / 64 + 160)
        return relative * (one * others[1]), relative * two * others[2]

    @abstractmethod
    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""


def charged(error: float) -> float:
    """An error over diagonal entries, over those that are told where these are as wrong, rounded up."""
    return (1.0 + 1e-9 + 4.0 * error) * error


def _sizes(v: Vector) -> tuple[int, float, float]:
    """How many entries are not 0, their sum of sizes, and the norm."""
    return int(np.count_nonzero(v)), float(np.abs(v).sum()), sqrt(v.dot(v))
