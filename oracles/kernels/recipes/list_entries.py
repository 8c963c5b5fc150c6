"""What users write into a list of kernels, brought to one form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.recipes.columns import check_form
from oracle_opt.oracles.kernels.recipes.function_kernel import FunctionKernel
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import KernelRecipe
from oracle_opt.oracles.kernels.recipes.metric_kernel import MetricKernel
from oracle_opt.oracles.kernels.recipes.sklearn_kernel import SklearnKernel, is_sklearn_kernel
from oracle_opt.words import shown

ALL = "all columns"
KINDS = (
    "a recipe such as GaussianKernels(), the name of a kernel such as 'laplacian', a kernel object of "
    "sklearn.gaussian_process.kernels, a function k(X, Z), or a tuple (group, kernels, columns)"
)


class ListEntry(NamedTuple):
    """A recipe, the name of its group, and the columns it looks at; None: all."""

    group: str
    recipe: KernelRecipe
    columns: Any


def entries_of(kernels: Any, n_pairs: int) -> tuple[ListEntry, ...]:
    """Return the entries of a list of kernels, or refuse what is none; their types are looked at, nothing else.

    Gaussian kernels that do not say from how many pairs of points they take their widths are told so.
    """
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
