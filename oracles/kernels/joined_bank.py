"""Several banks on the same points as one, and how the kernels of a bank are numbered that is made of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_indices, checked_kernels, checked_vector
from oracle_opt.oracles.kernels.base import Indices, KeptKernels, KernelBank
from oracle_opt.words import shown

Labels = list[tuple[str, str]]


class JoinedBank(KernelBank):
    """The kernels of several banks on the same points, numbered one bank after the other.

    Every operation is done by the banks: only banks with a kernel that has a weight are asked for a sum.

    Parameters
    ----------
    banks : sequence of KernelBank
        At least one, all on the same points in the same order.
    prepare : callable, optional
        What is done to new points before they are handed to each bank's `cross`. Default: nothing.
    labels : sequence of tuples (str, str), optional
        Name and group of each kernel. Default: those it has in its bank.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    banks : tuple of KernelBank
        As given.

    Raises
    ------
    InvalidArgument
        There is no bank, or their numbers of points differ.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import PolynomialBank, RBFBank
    >>> X = np.array([[0.0], [1.0]])
    >>> bank = JoinedBank([RBFBank(X, [[0]], [[1.0, 2.0]]), PolynomialBank(X, [[0]], [[1]], scale=1.0)])
    >>> bank.combine([0.0, 0.0, 1.0]).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """

    def __init__(
        self,
        banks: Sequence[KernelBank],
        *,
        prepare: Callable[[Any], Any] | None = None,
        labels: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        given = list(banks) if isinstance(banks, Sequence) else []
        if not given or not all(isinstance(bank, KernelBank) for bank in given):
            raise InvalidArgument(f"`banks` must be a sequence of banks, at least one, got {shown(banks)}")
        if len({bank.n_points for bank in given}) > 1:
            raise InvalidArgument(f"`banks` must be on the same points, got {[bank.n_points for bank in given]} points")
        if prepare is not None and not callable(prepare):
            raise InvalidArgument(f"`prepare` must be a function of new points or None, got {shown(prepare)}")
        numbering = Numbering([bank.n_kernels for bank in given])
        self._take(given, numbering, prepare, None if labels is None else _checked_labels(labels, numbering.n_kernels))

    def _take(
        self,
        banks: Sequence[KernelBank],
        numbering: Numbering,
        prepare: Callable[[Any], Any] | None,
        labels: Labels | None,
    ) -> None:
        self.banks, self._numbering, self._prepare, self._labels = tuple(banks), numbering, prepare, labels
        self.n_points, self.n_kernels = banks[0].n_points, numbering.n_kernels
        self.exactness = max(bank.exactness for bank in banks)
        self.rounding = max(bank.rounding for bank in banks)
        self.nonnegative = all(bank.nonnegative for bank in banks)

    def __repr__(self) -> str:
        return f"JoinedBank(n_kernels={self.n_kernels}, n_points={self.n_points}, {len(self.banks)} banks)"

    @property
    def entry_error(self) -> float:
        """The error of an entry: the largest of the banks."""
        return max(bank.entry_error for bank in self.banks)

    def _combine(self, d: Vector, K: Matrix) -> None:
        used = self._used(d)
        if not used:
            K[:] = 0.0
        for i, (bank, of_bank) in enumerate(used):
            if i == 0:
                bank.combine(of_bank, out=K)
            else:
                K += bank.combine(of_bank)

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        found = np.zeros((rows.size, columns.size))
        for bank, of_bank in self._used(d):
            found += bank.block(of_bank, rows, columns)
        return found

    def _forms(self, x: Vector) -> Vector:
        return self._by_kernel([bank.quadratic_forms(x) for bank in self.banks])

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        return self._by_kernel([bank.row_products(rows, x) for bank in self.banks])

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        return self._by_kernel([bank.entries(which, others) for bank in self.banks])

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self._by_kernel([bank.diagonal() for bank in self.banks])

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        largest, traces = zip(*(bank.sizes for bank in self.banks), strict=True)
        return self._by_kernel(largest), self._by_kernel(traces)

    def subset(self, kernels: ArrayLike) -> JoinedBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`: subsets of the banks, joined."""
        which = checked_kernels(kernels, self.n_kernels)
        numbering, chosen = self._numbering.subset(which)
        bank = type(self).__new__(type(self))
        labels = None if self._labels is None else [self._labels[k] for k in which.tolist()]
        bank._take([self.banks[i].subset(at) for i, at in chosen], numbering, self._prepare, labels)
        return bank

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, see `KernelBank.label`: those of its bank, if none were given."""
        if self._labels is not None:
            return self._labels[k]
        part, number = self._numbering.place(k)
        return self.banks[part].label(number)

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptJoined:
        """Some kernels between new points and some points, see `KernelBank.kept`: what is kept of the banks."""
        which, some = checked_kernels(kernels, self.n_kernels), checked_indices(points, self.n_points, "points")
        numbering, chosen = self._numbering.subset(which)
        return KeptJoined([self.banks[i].kept(at, some) for i, at in chosen], numbering.parts, self._prepare)

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: the worst bank's, and the error of adding them up."""
        return max(bank.noise(n_used) for bank in self.banks) + 0.5 * EPS * len(self.banks)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """The error of ``u @ K_k @ v`` for all k: the largest of the banks."""
        by_largest, by_trace = zip(*(bank.form_error(u, v) for bank in self.banks), strict=True)
        return max(by_largest), max(by_trace)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KernelBank.cross`; new points are as every bank takes them, once `prepare` saw them."""
        return KeptJoined(self.banks, self._numbering.parts, self._prepare).cross(new, weights)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others."""
        return digest("joined", [bank.digest() for bank in self.banks], self._numbering.order)

    def _used(self, d: Vector) -> list[tuple[KernelBank, Vector]]:
        """Banks of which a kernel has a weight, and the weights of all of theirs."""
        parts = [
            (bank, np.ascontiguousarray(d[part])) for bank, part in zip(self.banks, self._numbering.parts, strict=True)
        ]
        return [(bank, of_bank) for bank, of_bank in parts if of_bank.any()]

    def _by_kernel(self, of_banks: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The banks' answers on their kernels, along the last axis, in the order of all kernels."""
        if self._numbering.order is None:
            return np.concatenate(of_banks, axis=-1)
        found = np.empty((*of_banks[0].shape[:-1], self.n_kernels))
        for part, of_bank in zip(self._numbering.parts, of_banks, strict=True):
            found[..., part] = of_bank
        return found


class KeptJoined(KeptKernels):
    """Several banks on the same points, or what is kept of them, between new points and these."""

    def __init__(
        self,
        kept: Sequence[KeptKernels],
        parts: Sequence[slice | Indices],
        prepare: Callable[[Any], Any] | None,
    ) -> None:
        self.n_kernels, self.n_points = sum(one.n_kernels for one in kept), kept[0].n_points
        self._kept, self._parts, self._prepare = tuple(kept), tuple(parts), prepare
        self.by_rows = all(one.by_rows for one in kept)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum, see `KeptKernels.cross`."""
        d = checked_vector(weights, self.n_kernels, "weights")
        points = new if self._prepare is None else self._prepare(new)
        total: Matrix | None = None
        for one, part in zip(self._kept, self._parts, strict=True):
            if d[part].any():
                term = one.cross(points, d[part])
                total = term if total is None else total + term
        if total is None:
            raise InvalidArgument("`weights` must not be all zero")
        return total


def _checked_labels(labels: Sequence[tuple[str, str]], n_kernels: int) -> Labels:
    """Return a name and a group of each kernel, or refuse what is none."""
    given = [] if isinstance(labels, str) or not isinstance(labels, Sequence) else list(labels)
    pairs = all(isinstance(one, tuple) and [type(word) for word in one] == [str, str] for one in given)
    if len(given) != n_kernels or not pairs:
        raise InvalidArgument(f"`labels` must be {n_kernels} tuples (name, group) of texts, got {shown(labels)}")
    return given


class Numbering:
    """Which kernels of a bank are those of its parts."""

    def __init__(self, sizes: Sequence[int], order: Indices | None = None) -> None:
        self._ends = np.cumsum(sizes)
        self.n_kernels, self.order = int(self._ends[-1]), order
        starts = (self._ends - np.asarray(sizes)).tolist()
        slices = [slice(start, stop) for start, stop in zip(starts, self._ends.tolist(), strict=True)]
        self.parts: list[slice | Indices] = list(slices)
        if order is not None:
            places = np.empty_like(order)
            places[order] = np.arange(order.size)
            self.parts = [places[part] for part in slices]

    def place(self, k: int) -> tuple[int, int]:
        """Number of the part that kernel k belongs to, and its number there."""
        number = k if self.order is None else int(self.order[k])
        part = int(np.searchsorted(self._ends, number, side="right"))
        return part, number - (int(self._ends[part - 1]) if part else 0)

    def subset(self, kernels: Indices) -> tuple[Numbering, list[tuple[int, Indices]]]:
        """Number some of the kernels anew, in the order given."""
        numbers = kernels if self.order is None else self.order[kernels]
        part = np.searchsorted(self._ends, numbers, side="right")
        by_part = np.argsort(part, kind="stable")
        used, first = np.unique(part[by_part], return_index=True)
        groups = np.split(numbers[by_part], first[1:])
        starts = np.concatenate([[0], self._ends])
        order = None
        if (np.diff(by_part) < 0).any():
            order = np.empty_like(by_part)
            order[by_part] = np.arange(by_part.size)
        chosen = [(i, group - starts[i]) for i, group in zip(used.tolist(), groups, strict=True)]
        return Numbering([group.size for group in groups], order), chosen


def joined(parts: Sequence[slice | Indices]) -> slice | Indices:
    """Where some parts are, one after another: as a slice, which is faster, if they follow each other."""
    if not parts:
        return slice(0)
    slices = [part for part in parts if isinstance(part, slice)]
    if len(slices) == len(parts) and all(a.stop == b.start for a, b in pairwise(slices)):
        return slice(slices[0].start, slices[-1].stop)
    return np.concatenate([np.arange(part.start, part.stop) if isinstance(part, slice) else part for part in parts])


def entries_array(rows: int, columns: int, n_kernels: int, n_parts: int) -> NDArray[np.float64]:
    """Return an array of shape (r, c, p) for entries: kernel by kernel in memory if the parts have few kernels each."""
    if 4 * n_parts < n_kernels:
        return np.empty((rows, columns, n_kernels))
    return np.empty((n_kernels, rows, columns)).transpose(1, 2, 0)


@contextmanager
def kernels_of(found: NDArray[np.float64], part: slice | Indices) -> Iterator[NDArray[np.float64]]:
    """Yield where to write the entries of some kernels, an array of shape (r, c, number of them)."""
    if isinstance(part, slice):
        yield found[:, :, part]
        return
    out = np.empty((part.size, *found.shape[:2]))
    yield out.transpose(1, 2, 0)
    found.transpose(2, 0, 1)[part] = out
