"""What users write into a list of kernels, and what it will make of training points: recipes and their columns."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.points import refuse_overflow, weighted_moments
from oracle_opt.oracles.kernels.recipes.function_kernel import FunctionKernel, SklearnKernel, is_sklearn_kernel
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.metric_kernel import MetricKernel
from oracle_opt.oracles.kernels.recipes.points_table import (
    check_form,
    chosen_columns,
    column_names,
    points_of,
    table_of,
)
from oracle_opt.oracles.kernels.recipes.recipe_cross import KernelTerm, Layout, RecipeCross, Scaling
from oracle_opt.words import numbered, shown

ALL = "all columns"
KINDS = (
    "a recipe such as GaussianKernels(), the name of a kernel such as 'laplacian', a kernel object of "
    "sklearn.gaussian_process.kernels, a function k(X, Z), or a tuple (group, kernels, columns)"
)
# What is left out by name in a warning; the others are counted.
NAMED = 8


class ListEntry(NamedTuple):
    """A recipe, the name of its group, and the columns it looks at; None: all."""

    group: str
    recipe: KernelRecipe
    columns: Any


def entries_of(kernels: Any, n_pairs: int) -> tuple[ListEntry, ...]:
    """Return the entries of a list of kernels, refused by type alone; Gaussian ones are told how many pairs."""
    if isinstance(kernels, tuple) and len(kernels) == 3 and not _is_kernel(kernels[2]):
        raise InvalidArgument("`kernels` must be a list, got one tuple (group, kernels, columns); put it into a list")
    if not isinstance(kernels, list | tuple) or not kernels:
        hint = f"; put it into a list: [{shown(kernels)}]" if _is_kernel(kernels) else ""
        raise InvalidArgument(f"`kernels` must be a list of kernels, at least one, got {shown(kernels)}{hint}")
    entries = [entry for i, given in enumerate(kernels) for entry in _entries(given, f"kernels[{i}]")]
    return tuple(entry._replace(recipe=_told(entry.recipe, n_pairs)) for entry in entries)


def _told(recipe: KernelRecipe, n_pairs: int) -> KernelRecipe:
    if isinstance(recipe, GaussianKernels) and recipe.n_pairs is None:
        recipe = copy(recipe)
        recipe.n_pairs = n_pairs
    return recipe


def _entries(given: Any, name: str) -> Iterator[ListEntry]:
    if not isinstance(given, tuple):
        yield ListEntry(ALL, recipe_of(given, name), None)
        return
    if len(given) != 3 or not isinstance(given[0], str):
        raise InvalidArgument(f"`{name}` must be a tuple (group, kernels, columns) with a name, got {shown(given)}")
    group, kernels, columns = given
    check_form(columns, group)
    several: Sequence[Any] = kernels if isinstance(kernels, list | tuple) else [kernels]
    if not several:
        raise InvalidArgument(f"`{name}` must have a kernel for {group!r} at least, got none")
    for kernel in several:
        yield ListEntry(group, recipe_of(kernel, name), columns)


def recipe_of(kernel: Any, name: str) -> KernelRecipe:
    """Return the recipe of what stands for one: a name, an object of scikit-learn, or a function."""
    if isinstance(kernel, KernelRecipe):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, KernelRecipe):
        raise InvalidArgument(
            f"`{name}` must be {KINDS}, got the class {kernel.__name__}; call it: {kernel.__name__}(...)"
        )
    try:
        if isinstance(kernel, str):
            return MetricKernel(kernel)
        if is_sklearn_kernel(kernel):
            return SklearnKernel(kernel)
        if callable(kernel):
            return FunctionKernel(kernel)
    except InvalidArgument as problem:
        raise InvalidArgument(f"`{name}` cannot be used: {problem}") from problem
    raise InvalidArgument(f"`{name}` must be {KINDS}, got {shown(kernel)}")


def _is_kernel(thing: Any) -> bool:
    return isinstance(thing, KernelRecipe | str) or is_sklearn_kernel(thing)


class ConstantKernels(UserWarning):
    """Kernels were left out because all training points are the same to them."""


@dataclass(eq=False)
class Place:
    """A recipe on some columns of the training points."""

    group: str
    recipe: KernelRecipe
    columns: Indices


@dataclass(eq=False)
class Plan:
    """Recipes and their columns."""

    points: Any
    weights: Vector
    standardize: bool
    places: list[Place]
    left_out: list[str]
    _tables: dict[bytes, tuple[Scaling, Table]] = field(default_factory=dict)

    @property
    def n_kernels(self) -> int:
        """How many kernels there will be, at most."""
        return sum(place.recipe.count() for place in self.places)

    @property
    def layout(self) -> Layout:
        """Columns of the points."""
        return Layout(self.points.shape[1], column_names(self.points))

    def table(self, place: Place) -> tuple[Scaling, Table]:
        """The scaling of a place's columns, and the points so scaled; made once for all places on these columns."""
        scale = self.standardize and place.recipe.of_points
        key = place.columns.tobytes() + bytes([scale])
        if key not in self._tables:
            Z = table_of(self.points, place.columns, "X")
            scaling = Scaling()
            if scale:
                with np.errstate(over="ignore", invalid="ignore"):
                    center, spread = weighted_moments(Z, self.weights)
                constant = _constant(Z)
                refuse_overflow(spread[~constant], Z)
                scaling = Scaling(center, np.where(constant, np.inf, np.where(spread > 0, spread, 1.0)))
            self._tables[key] = scaling, scaling(Z)
        return self._tables[key]

    def fitted(self, seed: int) -> RecipeCross:
        """Fit the recipes one after the other."""
        rng, terms = np.random.default_rng(seed), []
        for place in self.places:
            scaling, Z = self.table(place)
            terms.append(KernelTerm(place.group, place.columns, scaling, _fitted(place, Z, self.weights, rng), Z))
        chosen = [(t, k) for t, term in enumerate(terms) for k in term.numbers]
        names = numbered([f"{terms[t].fitted.labels[k]} of {terms[t].group}" for t, k in chosen])
        return RecipeCross(terms, chosen, names, self.layout)


def planned(entries: Sequence[ListEntry], X: Any, sample_weight: ArrayLike | None, standardize: bool) -> Plan:
    """Find the columns of every recipe, or refuse points, weights and columns that cannot be used."""
    points = points_of(X, "X")
    weights = _checked_weights(sample_weight, points.shape[0])
    plan = Plan(points, weights, standardize, [], [])
    constant: dict[bytes, Any] = {}
    for entry in entries:
        for place in _places(entry, points, plan.layout):
            if sparse.issparse(points) and not place.recipe.takes_sparse:
                raise InvalidArgument(
                    f"{place.recipe!r} of {place.group!r} takes no sparse `X`; pass X.toarray(), or leave it out"
                )
            key = place.columns.tobytes()
            if place.recipe.of_points and key not in constant:
                constant[key] = bool(_constant(table_of(points, place.columns, "X")).all())
            if place.recipe.of_points and constant[key]:
                label = place.group if place.columns.size > 1 else plan.layout.label(int(place.columns[0]))
                plan.left_out += [label] if label not in plan.left_out else []
            else:
                plan.places.append(place)
    if not plan.places:
        n = points.shape[0]
        raise InvalidArgument(
            f"`X` must have a column that is not constant, got {n} sample{'s, all the same' if n > 1 else ''} on the "
            f"columns of {_named(plan.left_out)}: kernels do not tell these points apart"
        )
    return plan


def warn_of(left_out: Sequence[str], what: str) -> None:
    """Warn of what was left out because it is the same for all points."""
    if left_out:
        warnings.warn(
            f"{what} {_named(left_out)}: all training points are the same there, and such kernels serve nothing in a "
            "machine with a bias; they are left out",
            ConstantKernels,
            stacklevel=3,
        )


def _places(entry: ListEntry, points: Any, layout: Layout) -> Iterator[Place]:
    """The places of an entry: one, or one for each column."""
    every = np.arange(points.shape[1])
    columns = every if entry.columns is None else chosen_columns(entry.columns, points, entry.group)
    if not entry.recipe.each:
        yield Place(entry.group, entry.recipe, columns)
        return
    for j in columns.tolist():
        yield Place(layout.label(j), entry.recipe, np.array([j]))


def _constant(Z: Table) -> Any:
    """Whether each column is the same for all points."""
    if not sparse.issparse(Z):
        return Z.max(axis=0) == Z.min(axis=0)
    return np.asarray(Z.max(axis=0).toarray() == Z.min(axis=0).toarray()).reshape(-1)


def _fitted(place: Place, Z: Table, weights: Vector, rng: np.random.Generator) -> FittedKernels:
    """Fit one recipe, and look at what a user's own made."""
    fitted = place.recipe.fit(Z, weights, rng)
    if not isinstance(fitted, FittedKernels):
        raise InvalidArgument(f"{place.recipe!r}.fit must return FittedKernels, got {shown(fitted)}")
    labels: Any = getattr(fitted, "labels", None)
    p, several = place.recipe.count(), isinstance(labels, tuple | list)
    if not several or not 0 < len(set(labels)) == len(labels) <= p or not all(isinstance(one, str) for one in labels):
        raise InvalidArgument(
            f"{place.recipe!r}.fit must return kernels with different `labels`, from 1 to count() = {p} of them, got "
            f"{shown(labels)}"
        )
    return fitted


def _checked_weights(sample_weight: ArrayLike | None, n: int) -> Vector:
    if sample_weight is None:
        return np.ones(n)
    weights = floats("sample_weight", sample_weight)
    if weights.shape != (n,):
        raise InvalidArgument(f"`sample_weight` must have shape ({n},), one weight for each point, got {weights.shape}")
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidArgument(
            f"`sample_weight` must be positive and finite, got {weights[row]:g} for row {row}; drop rows of weight 0"
        )
    return weights


def _named(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return f"{', '.join(map(repr, labels[:NAMED]))}{more}"
