"""A family of p kernels on n points, held in memory in the layouts its two operations want."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arguments import flag, floats, whole
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
from oracle_opt.oracles.kernels.checked_kernel import check_positive_semidefinite, checked_kernel, n_matrices
from oracle_opt.oracles.kernels.cross import CrossKernels, GivenCrossKernels
from oracle_opt.oracles.kernels.packed_build import (
    combine_halves,
    pack,
    packed_forms,
    piece_count,
    row_products,
    support_pairs,
    thread_count,
    transpose,
    weighted_rows,
)


class GramBank(KernelBank):
    """Precomputed kernels K_1 .. K_p on n points.

    Every kernel is stored as its lower half, twice: kernel by kernel for `combine`, which reads the halves of the
    kernels of non-zero weight, and pair of points by pair of points for `quadratic_forms`, which reads the pairs of
    non-zero entries. Each copy takes ``p * n * (n + 1) / 2`` entries of 8 bytes, or 4 in float32: both together are as
    large as the full matrices. The arrays passed in are not kept.

    Reads of more than 8 million entries are shared among threads, as many as OMP_NUM_THREADS or threadpoolctl allow
    (one in a process made by fork); their number moves no bit of a result.

    Parameters
    ----------
    kernels : array_like of shape (p, n, n), or sequence of p array_like of shape (n, n)
        The kernels: finite, symmetric, positive semidefinite up to rounding, of positive trace.
    normalize : bool
        Whether each kernel is scaled to unit trace; cross-kernels are then scaled alike. Default: kernels mean what
        they say.
    dtype : float64 or float32
        Type of the entries that are stored. The sums over float32 stores are still made in float64, so the bank is
        exactly a bank of slightly rounded kernels; the SVM objective moves by about 1e-8 relative at C = 100 with unit
        trace, 1e-5 at C = 1e6.
    memory_limit : int, optional
        Bytes the stores may take. If only one copy fits, it is the one by kernels: `quadratic_forms` then reads whole
        rows of the non-zero entries and is 2 to 9 times slower. If none fits, the bank is refused. Default: the second
        copy is made if both take at most 70 % of the machine's memory.
    check : bool
        Whether the kernels are checked; a Cholesky factorization of each is the largest part of it.

    Attributes
    ----------
    n_kernels, n_points : int
        p and n.
    scales : ndarray of shape (p,)
        What the kernels passed in were multiplied by: 1, or one over the trace.

    Raises
    ------
    InvalidArgument
        A kernel cannot be used (the message has its index), or `memory_limit` is too small.

    Examples
    --------
    >>> import numpy as np
    >>> bank = GramBank([np.eye(2), np.ones((2, 2))])
    >>> bank.combine([0.5, 0.5]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    >>> bank.quadratic_forms([1.0, -1.0]).tolist()
    [2.0, 0.0]
    """

    def __init__(
        self,
        kernels: Sequence[ArrayLike] | NDArray[np.floating],
        *,
        normalize: bool = False,
        dtype: DTypeLike = np.float64,
        memory_limit: int | None = None,
        check: bool = True,
    ) -> None:
        p = n_matrices("kernels", kernels)
        first = floats("kernels", kernels[0], "matrices of real numbers").shape if p else ()
        normalize, check = flag("normalize", normalize), flag("check", check)
        if len(first) != 2:
            raise InvalidArgument(
                f"`kernels` must have shape (p, n, n) with p >= 1, got {p} entries, the first {first}"
            )
        n = first[0]
        packed = empty_store(p, n, dtype, memory_limit)
        scales = np.ones(p)
        for k in range(p):
            name = f"kernel {k} of `kernels`"
            matrix = checked_kernel(kernels[k], name)
            if matrix.shape != (n, n):
                raise InvalidArgument(f"{name} must have shape {(n, n)} like kernel 0, got {matrix.shape}")
            if check:
                check_positive_semidefinite(matrix, name)
            if normalize:
                scales[k] = 1.0 / np.trace(matrix, dtype=float)
            pack(matrix, scales[k], packed[k])
        self._take(packed, scales, GivenCrossKernels(p, n), memory_limit)

    @classmethod
    def from_packed(
        cls,
        packed: NDArray[np.floating],
        scales: Vector,
        cross_kernels: CrossKernels,
        *,
        memory_limit: int | None = None,
    ) -> GramBank:
        """Make a bank of halves that are known to be good.

        Parameters
        ----------
        packed : ndarray of shape (p, n (n + 1) / 2)
            Lower halves, float32 or float64, scaled already; kept, not copied.
        scales : ndarray of shape (p,)
            What they were scaled by, hence what cross-kernels are to be scaled by.
        cross_kernels : CrossKernels
            Evaluates the kernels at new points.
        memory_limit : int, optional
            As for the class.

        Returns
        -------
        GramBank
            The bank.
        """
        bank = cls.__new__(cls)
        bank._take(packed, scales, cross_kernels, memory_limit)
        return bank

    def _take(
        self, packed: NDArray[np.floating], scales: Vector, cross_kernels: CrossKernels, memory_limit: int | None
    ) -> None:
        self.n_kernels, size = packed.shape
        self.n_points = (int(np.sqrt(8 * size + 1)) - 1) // 2
        self.scales = scales
        self._cross_kernels = cross_kernels
        self._packed = packed
        self._pairs = None
        limit = most_of_memory() if memory_limit is None else memory_limit
        if limit is None or 2 * packed.nbytes <= limit:
            self._pairs = np.empty((size, self.n_kernels), packed.dtype)
            transpose(packed, self._pairs)

    def __repr__(self) -> str:
        return f"GramBank(n_kernels={self.n_kernels}, n_points={self.n_points}, dtype={self._packed.dtype})"

    @property
    def nbytes(self) -> int:
        """Bytes the stores take."""
        return self._packed.nbytes + (0 if self._pairs is None else self._pairs.nbytes)

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, see `KernelBank.combine`."""
        d = checked_vector(weights, self.n_kernels, "weights")
        K = checked_out(out, self.n_points)
        which = np.flatnonzero(d)
        combine_halves(self._packed, which, d[which], K, thread_count(which.size * self._packed.shape[1]))
        return K

    def noise(self, n_used: int) -> float:
        """Error of a sum of so many kernels, see `KernelBank.noise`; four are added up before they are added."""
        return 0.5 * EPS * (n_used / 4 + 8)

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        support = np.flatnonzero(x)
        if self._pairs is None:
            forms = np.empty(self.n_kernels)
            n_entries = self.n_kernels * int(support.sum() + support.size)
            packed_forms(self._packed, support, x, forms, thread_count(n_entries))
            return forms
        n_pairs = support.size * (support.size + 1) // 2
        entries, weights = np.empty(n_pairs, np.intp), np.empty(n_pairs)
        support_pairs(support, x, entries, weights)
        shares = np.empty((piece_count(n_pairs), self.n_kernels))
        weighted_rows(self._pairs, entries, weights, shares, thread_count(n_pairs * self.n_kernels))
        total: Vector = np.add.reduce(shares, axis=0)
        return total

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, see `KernelBank.row_products`."""
        x = checked_vector(v, self.n_points, "v")
        which = checked_indices(rows, self.n_points, "rows")
        support = np.flatnonzero(x)
        products = np.empty((which.size, self.n_kernels))
        self._read_rows(which, support, x[support], products)
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        found, one = np.empty((which.size, others.size, self.n_kernels)), np.ones(1)
        for i, row in enumerate(found):
            self._read_rows(others, which[i : i + 1], one, row)
        return found

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        # The diagonal entries of a half are at i (i + 1) / 2 + i.
        where = np.cumsum(np.arange(1, self.n_points + 1)) - 1
        entries = self._packed[:, where].T if self._pairs is None else self._pairs[where]
        return np.ascontiguousarray(entries, dtype=float)

    def _read_rows(self, rows: Indices, support: Indices, values: Vector, out: Matrix) -> None:
        """Write entries `rows` of every kernel times the vector of these values, shape (r, p)."""
        store = self._packed if self._pairs is None else self._pairs
        threads = thread_count(rows.size * support.size * self.n_kernels)
        row_products(store, self._pairs is not None, rows, support, values, out, threads)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank.

        Parameters
        ----------
        new : array_like
            For a bank of given kernels, the p cross-kernels, shape (p, m, n), those of weight zero perhaps None. For a
            bank made from points (`uci_bank`), m new points, shape (m, d).
        weights : array_like of shape (p,)
            Weights of the kernels; only kernels of non-zero weight are evaluated.

        Returns
        -------
        ndarray of shape (m, n)
            The sum, each kernel scaled as on the points of the bank.
        """
        d = checked_vector(weights, self.n_kernels, "weights")
        which = np.flatnonzero(d)
        return self._cross_kernels.cross(new, which, d[which] * self.scales[which])

    @cached_property
    def _digest(self) -> str:
        return digest(self.n_points, self._packed)

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others; reads the whole store the first time."""
        return self._digest


def empty_store(n_kernels: int, n_points: int, dtype: DTypeLike, memory_limit: int | None) -> NDArray[np.floating]:
    """Return an uninitialized array of p halves, or raise `InvalidArgument` if it cannot be."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidArgument(f"`dtype` must be float32 or float64, got {kind}")
    size = n_points * (n_points + 1) // 2
    memory_limit = None if memory_limit is None else whole("memory_limit", memory_limit, 0)
    if memory_limit is not None and n_kernels * size * kind.itemsize > memory_limit:
        raise InvalidArgument(
            f"`memory_limit` must be at least {n_kernels * size * kind.itemsize} bytes for {n_kernels} kernels on "
            f"{n_points} points in {kind}, got {memory_limit}"
        )
    return np.empty((n_kernels, size), kind)
