"""The kernels of fitted recipes, computed whenever they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.joined_bank import JoinedBank
from oracle_opt.oracles.kernels.polynomial_bank import PolynomialBank
from oracle_opt.oracles.kernels.rbf import RBFBank
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import FittedGaussians
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table
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
from oracle_opt.oracles.kernels.recipes.recipe_gram import checked_matrix, weighted_traces
from oracle_opt.oracles.kernels.source import EvaluatedBank

# The most that entries may be wrong by, over the diagonal, for proven bounds to be of use.
INEXACT = 1e-6
# Points at most on which kernels are checked that are not known to be any.
CHECKED = 1000


class Seen:
    """What kernels see of new points: some columns, scaled.

    Parameters
    ----------
    layout : Layout
        Columns of the training points.
    columns : ndarray of int
        Those that are looked at.
    scaling : Scaling
    factor : float
        What is multiplied besides.
    """

    def __init__(self, layout: Layout, columns: Indices, scaling: Scaling, factor: float = 1.0) -> None:
        self.layout, self.columns, self.scaling, self.factor = layout, columns, scaling, factor

    def __call__(self, new: Any) -> Table:
        """These columns of new points."""
        Z = self.scaling(self.layout.table(points_of(new, "new"), self.columns))
        return Z if self.factor == 1.0 else Z * self.factor


def bank_on_the_fly(source: RecipeCross, weights: Vector, normalize: bool, dtype: np.dtype[np.floating]) -> JoinedBank:
    """Return a bank that keeps no entry of the kernels of the recipes.

    Raises
    ------
    InvalidArgument
        It is not known how exact the entries of a kernel are; it is named.
    """
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
