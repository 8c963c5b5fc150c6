"""The kernels of fitted recipes, or distances in their place, computed once, checked and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import squareform

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import check_positive_semidefinite, checked_kernel, rounding_of
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE
from oracle_opt.oracles.kernels.compiled import packed_loops
from oracle_opt.oracles.kernels.distances import StoredDistances
from oracle_opt.oracles.kernels.gram_bank import GramBank
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, Table
from oracle_opt.oracles.kernels.recipes.list_plan import Plan, warn_of
from oracle_opt.oracles.kernels.recipes.recipe_cross import KernelTerm, RecipeCross
from oracle_opt.oracles.kernels.recipes.weighted import squared_distances

# Points of a block of the diagonal.
DIAGONAL_BLOCK = 64
# Rows at most whose entries are written at a time: above the diagonal some are computed for nothing.
ROWS = 256
# By how much entries of a single point may differ from those it has among all.
ALONE = 1e-6
# Entries that differ by less, over the largest, are the same.
SAME = 1e-12
# Entries that are looked at first.
FIRST = 1000


def kept_bank(
    source: RecipeCross, weights: Vector, normalize: bool, dtype: np.dtype[np.floating], memory_budget: int
) -> GramBank:
    """Return a bank of all kernels of the recipes; those that are the same for all points are left out with a warning.

    Raises
    ------
    InvalidArgument
        A kernel cannot be used; it is named.
    """
    n, p = weights.size, len(source.chosen)
    packed, scales, rounding = np.empty((p, n * (n + 1) // 2), dtype), np.ones(p), 0.0
    k = 0
    for term in source.terms:
        part = slice(k, k + len(term.numbers))
        names = source.names[part]
        # Entries wrong by e of the diagonal move an eigenvalue by at most e times the trace: as much as a check allows.
        if term.fitted.positive_semidefinite and (term.fitted.exactness or 0.0) <= 1e-8:
            if normalize:
                scales[part] = weights.sum() / weighted_traces(term, weights, names)
            _fill(term, scales[part], packed[part])
            if (term.fitted.exactness or 0.0) > EPS * (n + 16):  # beyond what sums are wrong by in any case
                rounding = max(rounding, float(term.fitted.exactness or 0.0))
        else:
            matrices = term.matrices(term.points, term.points, term.numbers)
            for number, matrix in zip(term.numbers, matrices, strict=True):
                K, missing = checked_matrix(matrix, term, number, names[number])
                rounding = max(rounding, missing, rounding_of(K.dtype))
                if normalize:
                    scales[k + number] = weights.sum() / (weights @ np.diagonal(K))
                packed_loops.pack(K, scales[k + number], packed[k + number])
        k = part.stop
    good = np.array([not _is_constant(row) for row in packed])
    if not good.all():
        lost = [source.names[i] for i in np.flatnonzero(~good).tolist()]
        if not good.any():
            raise InvalidArgument(f"all kernels are constant on the training points: {', '.join(lost[:5])}")
        warn_of(lost, "constant are the kernels")
        packed, scales = packed[good], scales[good]
        source = source.subset(np.flatnonzero(good))
    return GramBank.from_packed(packed, scales, source, memory_limit=memory_budget, rounding=rounding)


class FittedDistances(FittedKernels):
    """Squared distances in units of their mean over the training points, in place of kernels."""

    def __init__(self, unit: float) -> None:
        self.unit, self.labels = unit, ("squared distance",)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield the distances as often as they are asked for, see `FittedKernels.matrices`."""
        for _ in which:
            yield squared_distances(A, B) / self.unit


def kept_distances(plan: Plan) -> StoredDistances:
    """Return distances of all pairs of training points on each set of columns that Gaussian kernels of a list look at.

    Their unit is the weighted mean over all pairs of points. Widths are not looked at, as they are learned.

    Raises
    ------
    InvalidArgument
        A kernel is not Gaussian.
    """
    terms: dict[bytes, KernelTerm] = {}
    share, store = plan.weights / plan.weights.sum(), []
    for place in plan.places:
        if not isinstance(place.recipe, GaussianKernels):
            raise InvalidArgument(
                f"`kernels` of a product must be GaussianKernels, got {place.recipe!r}: "
                "a product learns the widths of distances, one for each group of columns"
            )
        key = place.columns.tobytes()
        if key not in terms:
            scaling, Z = plan.table(place)
            squares = squared_distances(Z, Z)
            unit = float(share @ squares @ share)
            D = squares / unit
            np.fill_diagonal(D, 0.0)
            store.append(squareform(0.5 * (D + D.T), checks=False))
            terms[key] = KernelTerm(place.group, place.columns, scaling, FittedDistances(unit), Z)
    names = [f"squared distance of {term.group}" for term in terms.values()]
    between = RecipeCross(list(terms.values()), [(t, 0) for t in range(len(terms))], names, plan.layout)
    return StoredDistances(np.array(store), between.n_points, between)


def diagonals(term: KernelTerm) -> Iterator[tuple[slice, Matrix]]:
    """Diagonals of the kernels of a term, block by block: which points, and their entries, shape (points, kernels)."""
    n = term.points.shape[0]
    for start in range(0, n, DIAGONAL_BLOCK):
        part = slice(start, min(start + DIAGONAL_BLOCK, n))
        Z = term.points[part]
        yield part, np.column_stack([np.diagonal(K) for K in term.matrices(Z, Z, term.numbers)])


def weighted_traces(term: KernelTerm, weights: Vector, names: Sequence[str]) -> Vector:
    """``sum(w_i * k_ii)`` of every kernel, or refuse one that is not positive."""
    traces = np.zeros(len(term.numbers))
    for part, entries in diagonals(term):
        traces += weights[part] @ entries
    for name, trace in zip(names, traces.tolist(), strict=True):
        check_trace(name, trace)
    return traces


def check_trace(name: str, trace: float) -> None:
    """Refuse a kernel whose diagonal is zero, negative or not finite."""
    if not np.isfinite(trace):
        raise InvalidArgument(
            f"the kernel {name!r} must be finite, got the trace {trace}; standardize the columns, or lower its degree"
        )
    if trace <= 0.0:
        what = "is zero on all training points" if trace == 0.0 else f"must have a positive trace, got {trace:g}"
        raise InvalidArgument(
            f"the kernel {name!r} {what}: it cannot be brought to the scale of the others; leave it out"
            f"{', or take chi2, its exponential' if 'additive_chi2' in name else ''}"
        )


def _fill(term: KernelTerm, scales: Vector, packed: NDArray[np.floating]) -> None:
    """Write the lower halves of kernels that need no check, some rows at a time."""
    n, start = term.points.shape[0], 0
    while start < n:
        stop = min(start + min(max(ENTRIES_AT_ONCE // n, 16), ROWS), n)
        # Entries on and below the diagonal of these rows, which follow each other in a half.
        where = np.flatnonzero(np.arange(stop) <= np.arange(start, stop)[:, None])
        part = slice(start * (start + 1) // 2, stop * (stop + 1) // 2)
        some = term.matrices(term.points[start:stop], term.points[:stop], term.numbers)
        for number, matrix in zip(term.numbers, some, strict=True):
            entries = np.take(matrix, where)
            entries *= scales[number]
            packed[number, part] = entries
        start = stop


def checked_matrix(matrix: Matrix, term: KernelTerm, number: int, name: str) -> tuple[NDArray[np.floating], float]:
    """The matrix of a kernel on the training points, and what it lacks to be semidefinite; or refuse it by name."""
    n, what = term.points.shape[0], f"the kernel {name!r}"
    if np.shape(matrix) != (n, n):
        raise InvalidArgument(f"{what} must have shape {(n, n)} on the training points, got {np.shape(matrix)}")
    K = checked_kernel(matrix, what, "let it return (K + K.T) / 2, if that is rounding; else it is no kernel")
    check_trace(name, float(np.trace(K)))
    missing = check_positive_semidefinite(
        K, what, "leave it out, or take parameters for which it is a kernel: with others no gap would be proven"
    )
    if n > 2:
        _check_alone(K, term, number, what)
    return K, missing


def _check_alone(K: NDArray[np.floating], term: KernelTerm, number: int, what: str) -> None:
    """Refuse a kernel that gives a point other entries alone than among all: it is no function of two points."""
    n = K.shape[0]
    a, b = np.array([n // 2]), np.array([0, n - 1])
    (alone,) = term.matrices(term.points[a], term.points[b], [number])
    scale = np.sqrt(np.maximum(K[a, a] * K[b, b], 0.0))
    off = np.abs(np.asarray(alone, dtype=float).reshape(-1) - K[a, b])
    if (off > ALONE * np.maximum(scale, np.abs(K).max() * 1e-3)).any():
        j = int(off.argmax())
        raise InvalidArgument(
            f"{what} must be a function of two points, got {K[a[0], b[j]]:g} for rows {a[0]} and {b[j]} among all "
            f"training points and {float(np.ravel(alone)[j]):g} for the first of them alone; center, scale or count "
            "before, in a pipeline, and not in the kernel"
        )


def _is_constant(half: NDArray[np.floating]) -> bool:
    """Whether all entries are the same up to rounding; the first ones mostly tell that they are not."""
    same = 1e-6 if half.dtype == np.float32 else SAME
    for some in (half[:FIRST], half):
        least, largest = float(some.min()), float(some.max())
        if largest - least > same * max(abs(least), abs(largest)):
            return False
    return half.size > 1
