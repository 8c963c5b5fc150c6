"""Banks of the kernels of fitted recipes, or distances in their place: kept and checked, or computed when needed."""

from collections.abc import Iterator, Sequence
from math import e, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import check_positive_semidefinite, checked_kernel, rounding_of
from oracle_opt.oracles.kernels.base import ENTRIES_AT_ONCE, Indices, KernelBank
from oracle_opt.oracles.kernels.compiled_loops import feature_loops, packed_loops, thread_count
from oracle_opt.oracles.kernels.distances import StoredDistances, square_form
from oracle_opt.oracles.kernels.gram_bank import GramBank
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.points import parts, squared_distances, squared_norms
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import FittedGaussians, GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, Table
from oracle_opt.oracles.kernels.recipes.list_plan import Plan, warn_of
from oracle_opt.oracles.kernels.recipes.metric_kernel import FittedMetric
from oracle_opt.oracles.kernels.recipes.points_table import points_of
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import FittedPolynomials
from oracle_opt.oracles.kernels.recipes.recipe_cross import (
    KernelTerm,
    Layout,
    RecipeCross,
    RecipeKernels,
    Scaling,
)
from oracle_opt.oracles.kernels.source import EvaluatedBank

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
# The most that entries may be wrong by, over the diagonal, for proven bounds to be of use.
INEXACT = 1e-6
# Points at most on which kernels are checked that are not known to be any.
CHECKED = 1000


def kept_bank(
    source: RecipeCross, weights: Vector, normalize: bool, dtype: np.dtype[np.floating], memory_budget: int
) -> GramBank:
    """A bank of all kernels of the recipes; those that are the same for all points are left out with a warning."""
    n, p = weights.size, len(source.chosen)
    packed, scales, rounding = np.empty((p, n * (n + 1) // 2), dtype), np.ones(p), 0.0
    k, work, summed = 0, np.zeros((3, packed.shape[1])), True
    for term in source.terms:
        part = slice(k, k + len(term.numbers))
        names = source.names[part]
        # Entries wrong by e of the diagonal move an eigenvalue by at most e times the trace: as much as a check allows.
        if term.fitted.positive_semidefinite and (term.fitted.exactness or 0.0) <= 1e-8:
            if normalize:
                scales[part] = weights.sum() / weighted_traces(term, weights, names)
            summed &= _fill(term, scales[part], packed[part], work)
            if (term.fitted.exactness or 0.0) > EPS * (n + 16):  # beyond what sums are wrong by in any case
                rounding = max(rounding, float(term.fitted.exactness or 0.0))
        else:
            summed = False
            matrices = term.matrices(term.points, term.points, term.numbers)
            for number, matrix in zip(term.numbers, matrices, strict=True):
                K, missing = checked_matrix(matrix, term, number, names[number])
                rounding = max(rounding, missing, rounding_of(K.dtype))
                if normalize:
                    scales[k + number] = weights.sum() / (weights @ np.diagonal(K))
                packed_loops.pack(K, scales[k + number], packed[k + number])
        k = part.stop
    good = ~_are_constant(packed[:, :FIRST])  # the first entries mostly tell
    for i in np.flatnonzero(~good).tolist():
        good[i] = not _are_constant(packed[i : i + 1])[0]
    if not good.all():
        lost = [source.names[i] for i in np.flatnonzero(~good).tolist()]
        if not good.any():
            raise InvalidArgument(f"all kernels are constant on the training points: {', '.join(lost[:5])}")
        warn_of(lost, "constant are the kernels")
        packed, scales = packed[good], scales[good]
        source = source.subset(np.flatnonzero(good))
    # An entry of the sum is rounded at most once for each term, and for each kernel of one term.
    most = max(len(term.numbers) for term in source.terms)
    known = work[0].copy() if summed and good.all() and len(source.terms) + most <= p / 4 + 8 else None
    return GramBank.from_packed(packed, scales, source, memory_limit=memory_budget, rounding=rounding, total=known)


class FittedDistances(FittedKernels):
    """Squared distances in units of their mean over the training points, in place of kernels."""

    def __init__(self, unit: float) -> None:
        self.unit, self.labels = unit, ("squared distance",)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield the distances as often as they are asked for, see `FittedKernels.matrices`."""
        for _ in which:
            yield squared_distances(A, B) / self.unit


def kept_distances(plan: Plan) -> StoredDistances:
    """Distances of training points on each set of columns of Gaussian kernels, over their mean: widths are learned."""
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
            store.append(square_form(0.5 * (D + D.T), checks=False))
            terms[key] = KernelTerm(place.group, place.columns, scaling, FittedDistances(unit), Z)
    names = [f"squared distance of {term.group}" for term in terms.values()]
    between = RecipeCross(list(terms.values()), [(t, 0) for t in range(len(terms))], names, plan.layout)
    return StoredDistances(np.array(store), between.n_points, between)


def weighted_traces(term: KernelTerm, weights: Vector, names: Sequence[str]) -> Vector:
    """``sum(w_i * k_ii)`` of every kernel, or refuse one that is not positive."""
    fitted, traces = term.fitted, np.zeros(len(term.numbers))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if isinstance(fitted, FittedGaussians):  # entries of a point with itself are 1, or no numbers
            traces = weights.sum() * np.exp(0.0 * (0.5 / fitted.widths**2))
        elif isinstance(fitted, FittedPolynomials):
            norms = fitted.constant + squared_norms(term.points)
            traces = weights @ norms[:, None] ** np.array(fitted.degrees, dtype=float)
        else:
            for part in parts(weights.size, DIAGONAL_BLOCK):
                Z = term.points[part]
                entries = [np.diagonal(K) for K in term.matrices(Z, Z, term.numbers)]
                traces += weights[part] @ np.column_stack(entries)
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


def _fill(term: KernelTerm, scales: Vector, packed: NDArray[np.floating], work: Matrix) -> bool:
    """Write the lower halves of kernels that need no check; whether they were added to the sum of all, work[0]."""
    fitted, n, start = term.fitted, term.points.shape[0], 0
    widths = fitted.widths if isinstance(fitted, FittedGaussians) else np.empty(0)
    degrees = fitted.degrees if isinstance(fitted, FittedPolynomials) else ()
    if not sparse.issparse(term.points) and (widths.size > 1 or degrees == tuple(range(1, len(degrees) + 1)) != ()):
        (total, squares, bases), p = work, len(scales)
        constant = fitted.constant if isinstance(fitted, FittedPolynomials) else 1.0
        feature_loops.pair_sums(np.ascontiguousarray(term.points.T), constant, squares, bases)
        rates, odd = -0.5 * log2(e) / widths**2, widths.size % 2  # exp(-D / (2 s^2)) = 2^(rate D)
        for part in (slice(0, p - odd), slice(p - 2, p))[: 1 + odd]:  # Gaussians are written two at a time
            threads = thread_count(packed[part].size)
            feature_loops.fill_of_pairs(squares, bases, rates[part], scales[part], packed[part], total, threads)
        return not odd
    while start < n:  # some rows at a time
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
    return False


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


def _are_constant(halves: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether all entries of each half are the same up to rounding."""
    same = 1e-6 if halves.dtype == np.float32 else SAME
    least, largest = halves.min(axis=1), halves.max(axis=1)
    found: NDArray[np.bool_] = largest - least <= same * np.maximum(np.abs(least), np.abs(largest))
    return found if halves.shape[1] > 1 else ~found


class Seen:
    """New points as the kernels use them: some columns, scaled."""

    def __init__(self, layout: Layout, columns: Indices, scaling: Scaling, factor: float = 1.0) -> None:
        self.layout, self.columns, self.scaling, self.factor = layout, columns, scaling, factor

    def __call__(self, new: Any) -> Table:
        """These columns of new points."""
        Z = self.scaling(self.layout.table(points_of(new, "new"), self.columns))
        return Z if self.factor == 1.0 else Z * self.factor


def bank_on_the_fly(source: RecipeCross, weights: Vector, normalize: bool, dtype: np.dtype[np.floating]) -> JoinedBank:
    """Return a bank that keeps no entry of the kernels of the recipes."""
    terms = list(source.terms)
    gaussians = [t for t, term in enumerate(terms) if _widths(term) is not None]
    polynomials: dict[float, list[int]] = {}
    for t, term in enumerate(terms):
        if isinstance(term.fitted, FittedPolynomials) and term.fitted.constant > 0.0:
            polynomials.setdefault(term.fitted.constant, []).append(t)
    joined = sum(polynomials.values(), gaussians)
    banks: list[KernelBank] = []
    numbers: list[tuple[int, int]] = []
    for constant, group in [(0.0, gaussians), *polynomials.items()]:
        if group:
            some = [terms[t] for t in group]
            banks.append(
                _of_distances(some, source.layout, dtype)
                if constant == 0.0
                else _of_products(some, constant, source.layout, weights, normalize)
            )
            numbers += [(t, k) for t in group for k in terms[t].numbers]
    for t, term in enumerate(terms):
        if t not in joined:
            banks.append(_evaluated(term, source.layout, weights, normalize))
            numbers += [(t, k) for k in term.numbers]
    places = {number: i for i, number in enumerate(numbers)}
    order = np.array([places[number] for number in source.chosen])
    labels = [("", "")] * len(numbers)
    for k, place in enumerate(order.tolist()):
        labels[place] = source.label(k)
    return JoinedBank(banks, labels=labels).subset(order)


def _widths(term: KernelTerm) -> Vector | None:
    """Widths of Gaussian kernels, whatever they are called."""
    if isinstance(term.fitted, FittedGaussians):
        return term.fitted.widths
    if isinstance(term.fitted, FittedMetric) and term.fitted.name == "rbf":
        return np.array([np.sqrt(0.5 / term.fitted.parameters["gamma"])])
    return None


def _of_distances(terms: list[KernelTerm], layout: Layout, dtype: np.dtype[np.floating]) -> JoinedBank:
    """All Gaussian kernels as one bank; their diagonals are 1, so that nothing is left to normalize."""
    columns, scaling, Z, features = _table(terms)
    widths = [found for term in terms if (found := _widths(term)) is not None]
    return JoinedBank([RBFBank(Z, features, widths, scale=1.0, dtype=dtype)], prepare=Seen(layout, columns, scaling))


def _of_products(
    terms: list[KernelTerm], constant: float, layout: Layout, weights: Vector, normalize: bool
) -> JoinedBank:
    """All polynomial kernels of one constant c: ``(c + x @ z)**t = c**t * (1 + (x / sqrt(c)) @ (z / sqrt(c)))**t``."""
    columns, scaling, Z, features = _table(terms)
    factor = 1.0 / np.sqrt(constant)
    degrees = [term.fitted.degrees for term in terms if isinstance(term.fitted, FittedPolynomials)]
    powers = np.concatenate([np.asarray(t, dtype=float) for t in degrees])
    points = Z if factor == 1.0 else Z * factor
    scales = constant**powers
    if normalize:
        traces = np.concatenate([_traces(term, weights) for term in terms])
        scales = scales * (weights.sum() / traces)
    bank = PolynomialBank(points, features, degrees, scale=scales)
    return JoinedBank([bank], prepare=Seen(layout, columns, scaling, factor))


def _evaluated(term: KernelTerm, layout: Layout, weights: Vector, normalize: bool) -> JoinedBank:
    """The kernels of a recipe block by block."""
    exactness, name = term.fitted.exactness, f"{term.fitted.labels[0]} of {term.group}"
    if isinstance(term.fitted, FittedMetric) and not term.fitted.positive_semidefinite:
        raise InvalidArgument(
            f"the kernel {name!r} cannot be computed on the fly: it is no kernel on all points, and on these only its "
            "matrix would tell; keep it, or leave it out"
        )
    if exactness is None:
        raise InvalidArgument(
            f"the kernel {name!r} cannot be computed on the fly: entries that are computed anew differ by rounding, "
            "and proven bounds must know by how much; keep it, or say so: FunctionKernel(k, exactness=1e-12), or the "
            "attribute `exactness` of FittedKernels"
        )
    if exactness > INEXACT:
        raise InvalidArgument(
            f"the kernel {name!r} cannot be computed on the fly: its entries may be wrong by {exactness:.1g} of the "
            "diagonal; bring the columns to one scale, or keep it"
        )
    scales = weights.sum() / _traces(term, weights) if normalize else np.ones(len(term.numbers))
    rounding = 0.0 if term.fitted.positive_semidefinite else _missing_on_some(term)
    bank = EvaluatedBank(RecipeKernels(term, scales, rounding))
    return JoinedBank([bank], prepare=Seen(layout, term.columns, term.scaling))


def _missing_on_some(term: KernelTerm) -> float:
    """What kernels lack to be semidefinite on some of the points, spread evenly: all, if they are few; or refuse."""
    n = int(term.points.shape[0])
    some = np.unique(np.linspace(0, n - 1, min(n, CHECKED)).astype(np.intp))
    few = term.kept(list(term.numbers), some)
    matrices = few.matrices(few.points, few.points, few.numbers)
    return max(
        checked_matrix(matrix, few, number, f"{term.fitted.labels[number]} of {term.group}")[1]
        for number, matrix in zip(few.numbers, matrices, strict=True)
    )


def _traces(term: KernelTerm, weights: Vector) -> Vector:
    """``sum(w_i * k_ii)`` of every kernel of a term."""
    return weighted_traces(term, weights, [f"{label} of {term.group}" for label in term.fitted.labels])


def _table(terms: list[KernelTerm]) -> tuple[Indices, Scaling, Table, list[Indices]]:
    """The columns of several terms together: their numbers, scaling and points, and where those of each term are."""
    columns: Indices = np.unique(np.concatenate([term.columns for term in terms]))
    parts: list[Any] = [None] * columns.size
    center, spread = np.zeros(columns.size), np.ones(columns.size)
    scaled = False
    for term in terms:
        points = sparse.csc_array(term.points) if sparse.issparse(term.points) else term.points
        for i, place in enumerate(np.searchsorted(columns, term.columns).tolist()):
            if parts[place] is None:
                parts[place] = points[:, [i]]
                if term.scaling.spread is not None and term.scaling.center is not None:
                    scaled = True
                    center[place], spread[place] = term.scaling.center[i], term.scaling.spread[i]
    is_sparse = sparse.issparse(terms[0].points)
    Z = sparse.csr_array(sparse.hstack(parts)) if is_sparse else np.ascontiguousarray(np.hstack(parts))
    features = [np.searchsorted(columns, term.columns) for term in terms]
    return columns, Scaling(center, spread) if scaled else Scaling(), Z, features
