"""A family of p kernels on n points, held in memory in the layouts its two operations want."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oracle_opt.arguments import flag, whole
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import (
    check_fits_single,
    check_positive_semidefinite,
    checked_indices,
    checked_kernels,
    checked_vector,
    matrix_of_stack,
    most_of_memory,
    rounding_of,
    size_of_stack,
)
from oracle_opt.oracles.kernels.base import Indices, KeptKernels, KernelBank
from oracle_opt.oracles.kernels.compiled_loops import packed_loops, pair_loops, thread_count
from oracle_opt.oracles.kernels.kept_kernels import (
    CrossKernels,
    Given,
    GivenCrossKernels,
    KeptPart,
)


class GramBank(KernelBank):
    """Precomputed kernels K_1 .. K_p on n points.

    Every kernel is stored as its lower half, ``p * n * (n + 1) / 2`` entries of 8 bytes, or 4 in float32, kernel by
    kernel: `combine` reads the halves of the kernels of non-zero weight. `quadratic_forms` and `row_products` want them
    pair of points by pair of points; a pair is copied to a second store when it is first asked for, which takes about
    as long as to read it where it is. A run asks for the pairs of its support vectors; with all pairs the two stores
    together are as large as the full matrices. The arrays passed in are not kept.

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
        trace, 1e-5 at C = 1e6. Mixed norms, whose weights may be large, count the `rounding` in their bounds.
    memory_limit : int, optional
        Bytes the stores may take. If only one of them fits, it is the one by kernels: `quadratic_forms` then reads
        whole rows of the non-zero entries and is 2 to 9 times slower. If none fits, the bank is refused before anything
        is built. (An index of 4 bytes a pair is not counted.) Default: 70 % of the machine's memory.
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
        normalize, check = flag("normalize", normalize), flag("check", check)
        p, n = size_of_stack("kernels", kernels)
        packed = empty_store(p, n, dtype, memory_limit)
        scales, rounding = np.ones(p), 0.0
        for k in range(p):
            name = f"kernel {k} of `kernels`"
            matrix = matrix_of_stack("kernels", "kernel", kernels, k)
            rounding = max(rounding, rounding_of(matrix.dtype))
            if check:
                rounding = max(rounding, check_positive_semidefinite(matrix, name))
            if normalize:
                scales[k] = 1.0 / np.trace(matrix, dtype=float)
            if packed.dtype == np.float32:
                check_fits_single(scales[k] * np.diagonal(matrix).astype(float), name)
            packed_loops.pack(matrix, scales[k], packed[k])
        self._take(packed, scales, GivenCrossKernels(p, n), memory_limit, rounding)

    @classmethod
    def from_packed(
        cls,
        packed: NDArray[np.floating],
        scales: Vector,
        cross_kernels: CrossKernels,
        *,
        memory_limit: int | None = None,
        sizes: tuple[Vector, Vector] | None = None,
        total: Vector | None = None,
        rounding: float = 0.0,
    ) -> GramBank:
        """Make a bank of halves that are known to be good.

        `packed` are the lower halves, shape (p, n (n + 1) / 2), float32 or float64, scaled already; kept, not copied.
        `scales` are what they were scaled by, hence what the `cross_kernels`, which evaluate the kernels at new points,
        are to be scaled by. `memory_limit` is as for the class. The attribute `sizes`, rounded up, is found by reading
        the diagonals where it is not known. The `total`, where it is known, is the sum of the halves, float64, as exact
        as `noise` says: `combine` then reads it for equal weights, where most runs start. `rounding` is the attribute
        but for that of a store in float32, which is added.
        """
        bank = cls.__new__(cls)
        bank._take(packed, scales, cross_kernels, memory_limit, rounding)
        bank._sizes, bank._total = sizes, total
        return bank

    def _take(
        self,
        packed: NDArray[np.floating],
        scales: Vector,
        cross_kernels: CrossKernels,
        memory_limit: int | None,
        rounding: float,
    ) -> None:
        self.rounding = rounding + rounding_of(packed.dtype)
        self.n_points = (int(np.sqrt(8 * packed.shape[1] + 1)) - 1) // 2
        limit = most_of_memory() if memory_limit is None else memory_limit
        fits = limit is None or 2 * packed.nbytes <= limit
        every = np.arange(packed.shape[0])
        self._choose(packed, every, scales, every, cross_kernels, fits and packed.shape[1] < 2**31)

    def _choose(
        self,
        packed: NDArray[np.floating],
        kernels: Indices,
        scales: Vector,
        numbers: Indices,
        cross_kernels: CrossKernels,
        keeps_pairs: bool,
    ) -> None:
        """Be the bank of some of the halves, which are of these scales and have these numbers as cross-kernels."""
        self.n_kernels, self.scales = kernels.size, scales
        self._packed, self._kernels = packed, kernels
        self._cross_kernels, self._numbers = cross_kernels, numbers
        self._sizes: tuple[Vector, Vector] | None = None
        self._total: Vector | None = None
        self._pairs = PairRows(packed, kernels) if keeps_pairs else None

    def __getstate__(self) -> dict[str, Any]:
        """Without pairs, which a copy keeps anew, and halves that another bank shares."""
        state = self.__dict__ | {"_pairs": self._pairs is not None}
        if not self._whole:
            state |= {"_packed": self._packed[self._kernels], "_kernels": np.arange(self.n_kernels)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pairs = PairRows(self._packed, self._kernels) if state["_pairs"] else None

    @property
    def _whole(self) -> bool:
        """Whether these are all the halves there are, in the order in which they are stored."""
        return np.array_equal(self._kernels, np.arange(self._packed.shape[0]))

    def __repr__(self) -> str:
        return f"GramBank(n_kernels={self.n_kernels}, n_points={self.n_points}, dtype={self._packed.dtype})"

    @property
    def nbytes(self) -> int:
        """Bytes the stores take now; those of a subset include the halves it shares."""
        return self._packed.nbytes + (0 if self._pairs is None else self._pairs.nbytes)

    def label(self, k: int) -> tuple[str, str]:
        """Name of a kernel, and of its group, see `KernelBank.label`."""
        return self._cross_kernels.label(int(self._numbers[k]))

    def kept(self, kernels: ArrayLike, points: ArrayLike) -> KeptKernels:
        """Some kernels between new points and some points, see `KernelBank.kept`; no entry is kept."""
        which, some = checked_kernels(kernels, self.n_kernels), checked_indices(points, self.n_points, "points")
        kept, scales = self._cross_kernels.kept(self._numbers[which], some), self.scales[which]
        if (scales == 1.0).all():
            return kept
        return KeptPart(Given(kept), which.size, some.size, scales=scales, by_rows=kept.by_rows)

    def _combine(self, d: Vector, K: Matrix) -> None:
        if self._total is not None and (d == d[0]).all():
            packed_loops.combine_halves(self._total[None], np.zeros(1, np.intp), d[:1], K, 1)
            return
        used = np.flatnonzero(d)
        threads = thread_count(used.size * self._packed.shape[1])
        packed_loops.combine_halves(self._packed, self._kernels[used], d[used], K, threads)

    def _block(self, d: Vector, rows: Indices, columns: Indices) -> Matrix:
        used, found = np.flatnonzero(d), np.zeros((rows.size, columns.size))
        threads = thread_count(found.size * used.size)
        packed_loops.combine_block(self._packed, self._kernels[used], d[used], rows, columns, found, threads)
        return found

    def subset(self, kernels: ArrayLike) -> GramBank:
        """Return some of the kernels as a bank of their own, see `KernelBank.subset`.

        It reads the halves of this one, and keeps pairs of its own if this one keeps any. Its `cross` takes new points,
        or cross-kernels, as this one takes them.
        """
        which = checked_kernels(kernels, self.n_kernels)
        bank = GramBank.__new__(GramBank)
        bank.n_points, bank.exactness, bank.rounding = self.n_points, self.exactness, self.rounding
        numbers = self._numbers[which]
        bank._choose(
            self._packed,
            self._kernels[which],
            self.scales[which],
            numbers,
            self._cross_kernels,
            self._pairs is not None,
        )
        largest, trace = self.sizes
        bank._sizes = largest[which], trace[which]
        return bank

    def noise(self, n_used: int) -> float:
        """Error of a sum of so many kernels, see `KernelBank.noise`; four are added up before they are added."""
        return self.charge + 0.5 * EPS * (n_used / 4 + 8)

    def _forms(self, x: Vector) -> Vector:
        support = np.flatnonzero(x)
        if self._pairs is not None:
            return self._pairs.quadratic_forms(support, x)
        forms = np.empty(self.n_kernels)
        n_entries = self.n_kernels * int(support.sum() + support.size)
        packed_loops.packed_forms(self._packed, self._kernels, support, x, forms, thread_count(n_entries))
        return forms

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        support, products = np.flatnonzero(x), np.empty((rows.size, self.n_kernels))
        self._read_rows(rows, support, x[support], products)
        return products

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, see `KernelBank.entries`."""
        which = checked_indices(rows, self.n_points, "rows")
        others = checked_indices(columns, self.n_points, "columns")
        halves, one = np.zeros((self.n_kernels, which.size, others.size)), np.ones(1)
        for k, half in enumerate(halves):  # kernel by kernel, without a store of pairs
            packed_loops.combine_block(self._packed, self._kernels[k : k + 1], one, which, others, half, 1)
        return halves.transpose(1, 2, 0)

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Matrix:
        # The diagonal entries of a half are at i (i + 1) / 2 + i.
        where = np.cumsum(np.arange(1, self.n_points + 1)) - 1
        kept = np.ascontiguousarray(self._packed[self._kernels[:, None], where].T, dtype=float)
        kept.flags.writeable = False
        return kept

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        return super().sizes if self._sizes is None else self._sizes

    def _read_rows(self, rows: Indices, support: Indices, values: Vector, out: Matrix) -> None:
        """Write entries `rows` of every kernel times the vector of these values, shape (r, p)."""
        if self._pairs is not None:
            self._pairs.products(rows, support, values, out)
        else:
            threads = thread_count(rows.size * support.size * self.n_kernels)
            packed_loops.row_products(self._packed, self._kernels, rows, support, values, out, threads)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank, see `KernelBank.cross`.

        New points of a bank made from points (`uci_bank`) have shape (m, d). For given kernels these are the p
        cross-kernels, shape (p, m, n), those of weight zero perhaps None.
        """
        every = np.zeros(self._cross_kernels.n_kernels)
        every[self._numbers] = self.scales * checked_vector(weights, self.n_kernels, "weights")
        return self._cross_kernels.cross(new, every)

    @cached_property
    def _digest(self) -> str:
        return digest(self.n_points, self._packed if self._whole else self._packed[self._kernels])

    def digest(self) -> str:
        """16 hexadecimal digits that tell these kernels from others; reads the whole store the first time."""
        return self._digest


def empty_store(n_kernels: int, n_points: int, dtype: DTypeLike, memory_limit: int | None) -> NDArray[np.floating]:
    """Return an uninitialized array of p halves, or raise `InvalidArgument` if it cannot be."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidArgument(f"`dtype` must be float32 or float64, got {kind}")
    size = n_points * (n_points + 1) // 2
    limit = most_of_memory() if memory_limit is None else whole("memory_limit", memory_limit, 0)
    n_bytes = n_kernels * size * kind.itemsize
    if limit is not None and n_bytes > limit:
        got = f"{limit}" if memory_limit is not None else f"None, which is 70 % of this machine's memory, {limit}"
        raise InvalidArgument(
            f"`memory_limit` must be at least {n_bytes} bytes for {n_kernels} kernels on {n_points} points in {kind}, "
            f"got {got}; banks on the fly keep no entries: uci_bank_on_the_fly(X), RBFBank, "
            "KernelList(..., on_the_fly=True)"
        )
    return np.empty((n_kernels, size), kind)


class PairRows:
    """Entries of all kernels at one pair of points next to each other, for the pairs that were asked for.

    A copy takes as long as reading once, and support vectors change little from query to query: so a pair is copied
    when first asked for, then kept. Sums are in an order that does not depend on when.
    """

    def __init__(self, packed: NDArray[np.floating], kernels: Indices) -> None:
        self._packed, self._kernels = packed, kernels
        # Memory is taken from the system where it is first written to.
        self._rows = np.empty((packed.shape[1], kernels.size), packed.dtype)
        self._places = np.full(packed.shape[1], -1, np.int32)
        self._kept = np.zeros(1, np.intp)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that are kept."""
        return int(self._kept[0]) * self._kernels.size * self._packed.itemsize

    def quadratic_forms(self, support: Indices, v: Vector) -> Vector:
        """Quadratic forms of the kernels at v, shape (p,)."""
        n_pairs = support.size * (support.size + 1) // 2
        places, weights = np.empty(n_pairs, np.intp), np.empty(n_pairs)
        pair_loops.support_pairs(
            self._packed, self._kernels, support, v, self._rows, self._places, self._kept, places, weights
        )
        shares = np.empty((pair_loops.piece_count(n_pairs), self._kernels.size))
        pair_loops.weighted_rows(self._rows, places, weights, shares, thread_count(n_pairs * self._kernels.size))
        total: Vector = np.add.reduce(shares, axis=0)
        return total

    def products(self, rows: Indices, support: Indices, values: Vector, out: Matrix) -> None:
        """Write entries `rows` of every kernel times the vector of these values on the support, shape (r, p)."""
        places = np.empty((rows.size, support.size), np.intp)
        pair_loops.row_pairs(self._packed, self._kernels, rows, support, self._rows, self._places, self._kept, places)
        pair_loops.pair_products(self._rows, places, values, out, thread_count(places.size * self._kernels.size))
