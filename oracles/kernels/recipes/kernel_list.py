"""A list of kernels as users write it, fitted on training points into a bank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from oracle_opt.arguments import flag, floats, whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank import GramBank
from oracle_opt.oracles.kernels.base import KernelBank, checked_precision
from oracle_opt.oracles.kernels.checked_kernel import check_positive_semidefinite, checked_kernel
from oracle_opt.oracles.kernels.packed_build import pack
from oracle_opt.oracles.kernels.recipes.columns import chosen_columns, column_names, table_of
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.kernel_recipe import KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import PolynomialKernels
from oracle_opt.oracles.kernels.recipes.recipe_cross import KernelTerm, RecipeCross, Scaling
from oracle_opt.words import by_attributes, shown

ALL = "all columns"


class ListEntry(NamedTuple):
    """A recipe, the name of its group, and the columns it looks at; None: all."""

    group: str
    recipe: KernelRecipe
    columns: Any


class KernelList:
    """Kernels to be made from training points: a recipe, which holds no data.

    Parameters
    ----------
    kernels : sequence
        Each entry a `KernelRecipe`, or a tuple ``(group, recipe or list of recipes, columns)`` as in scikit-learn's
        ColumnTransformer, with the columns by name, number, slice or mask.
    normalize : "trace" or None
        Whether each kernel is divided by the weighted mean of its diagonal, so that C means what it does in an SVM.
    standardize : bool
        Whether the columns are brought to mean 0 and deviation 1 first; those of sparse points to deviation 1 alone.
    dtype : float64 or float32
        As for `GramBank`.
    on_the_fly : bool
        Whether entries are computed when they are needed, in place of kept.
    memory_budget : int
        Bytes the kernels may take.
    seed : int
        Seed of random samples of pairs of points, where there are many.

    Raises
    ------
    InvalidArgument
        An entry is nothing of that kind.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels
    >>> kernels = KernelList([GaussianKernels([1.0]), ("second", PolynomialKernels((1,)), [1])])
    >>> kernels.fit(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]])).names
    ('gaussian(width=1) of all columns', 'polynomial(degree=1) of second')
    """

    __repr__ = by_attributes

    def __init__(
        self,
        kernels: Sequence[Any],
        *,
        normalize: str | None = "trace",
        standardize: bool = False,
        dtype: DTypeLike = np.float64,
        on_the_fly: bool = False,
        memory_budget: int = 2 << 30,
        seed: int = 0,
    ) -> None:
        if not isinstance(kernels, list | tuple) or not kernels:
            raise InvalidArgument(f"`kernels` must be a list of kernels, at least one, got {shown(kernels)}")
        if normalize not in ("trace", None):
            raise InvalidArgument(f"`normalize` must be 'trace' or None, got {shown(normalize)}")
        checked_precision(dtype)
        self.kernels = tuple(kernels)
        self.normalize, self.standardize, self.dtype = normalize, flag("standardize", standardize), dtype
        self.on_the_fly = flag("on_the_fly", on_the_fly)
        self.memory_budget, self.seed = whole("memory_budget", memory_budget), whole("seed", seed, 0)
        self._entries = tuple(_entries(self.kernels))

    @classmethod
    def default(cls, *, each: bool = True, memory_budget: int = 2 << 30) -> KernelList:
        """Ten Gaussian widths and three degrees on all columns and, with `each`, on each one alone, standardized."""
        together: list[KernelRecipe] = [GaussianKernels(), PolynomialKernels()]
        alone: list[KernelRecipe] = [GaussianKernels(each=True), PolynomialKernels(each=True)] if each else []
        return cls(together + alone, standardize=True, memory_budget=memory_budget)

    def fit(self, X: Any, sample_weight: ArrayLike | None = None) -> KernelBank:
        """Make the kernels from training points.

        Parameters
        ----------
        X : array_like, DataFrame or sparse array of shape (n, d)
            The points: the training part alone.
        sample_weight : array_like of shape (n,), optional
            Positive weights; a point of weight 2 counts as two. Default: ones.

        Returns
        -------
        KernelBank
            Its `cross` takes new points of the same columns.

        Raises
        ------
        InvalidArgument
            Points, weights or columns that cannot be used, or kernels that take more bytes than the budget.
        """
        if not sparse.issparse(X) and not hasattr(X, "iloc"):
            X = floats("X", X, "points of real numbers, shape (n, columns)")
        if len(X.shape) != 2 or 0 in X.shape:
            raise InvalidArgument(f"`X` must be points of shape (n, columns), got shape {X.shape}")
        n, d = X.shape
        weights = np.ones(n) if sample_weight is None else floats("sample_weight", sample_weight)
        if weights.shape != (n,) or not (weights > 0).all() or not np.isfinite(weights).all():
            raise InvalidArgument(f"`sample_weight` must be {n} positive numbers, got {shown(sample_weight)}")
        self._check_bytes(X)
        terms = list(self._terms(X, weights))
        chosen = [(t, k) for t, term in enumerate(terms) for k in range(len(term.fitted.labels))]
        return self._gram_bank(RecipeCross(terms, chosen, d), weights)

    def _check_bytes(self, X: Any) -> None:
        """Refuse kernels that take more than the budget, before one is made."""
        names, (n, d) = column_names(X), X.shape
        p = 0
        for _, recipe, columns in self._entries:
            n_columns = d if columns is None else chosen_columns(columns, names, d).size
            p += recipe.count() * (n_columns if recipe.each else 1)
        size = p * n * (n + 1) // 2 * np.dtype(self.dtype).itemsize
        if size > self.memory_budget:
            raise InvalidArgument(
                f"{p} kernels on {n} points take {size} bytes in {np.dtype(self.dtype)}, more than `memory_budget` = "
                f"{self.memory_budget}; pass `on_the_fly=True`, fewer kernels, or a larger budget"
            )

    def _terms(self, X: Any, weights: Vector) -> Iterator[KernelTerm]:
        """Fit every recipe on its columns."""
        rng, names, d = np.random.default_rng(self.seed), column_names(X), X.shape[1]
        for group, recipe, columns in self._entries:
            which = np.arange(d) if columns is None else chosen_columns(columns, names, d)
            for one in which[:, None] if recipe.each else [which]:
                name = (f"x{one[0]}" if names is None else names[one[0]]) if recipe.each else group
                Z = table_of(X, one)
                scaling = Scaling(*_moments(Z, weights)) if self.standardize else Scaling()
                Z = scaling(Z)
                yield KernelTerm(name, one, scaling, recipe.fit(Z, weights, rng), Z)

    def _gram_bank(self, source: RecipeCross, weights: Vector) -> GramBank:
        """Keep all kernels."""
        p, n = len(source.chosen), weights.size
        packed, scales = np.empty((p, n * (n + 1) // 2), self.dtype), np.ones(p)
        k = 0
        for term in source.terms:
            for matrix in term.fitted.matrices(term.points, term.points, range(len(term.fitted.labels))):
                name = f"kernel {source.label(k)[0]!r}"
                K = checked_kernel(matrix, name)
                check_positive_semidefinite(K, name)
                if self.normalize:
                    scales[k] = weights.sum() / float(weights @ np.diagonal(K))
                pack(K, scales[k], packed[k])
                k += 1
        return GramBank.from_packed(packed, scales, source)


def _entries(kernels: Sequence[Any]) -> Iterator[ListEntry]:
    """Bring what users write to one form."""
    for i, given in enumerate(kernels):
        group, recipes, columns = given if isinstance(given, tuple) and len(given) == 3 else (ALL, given, None)
        for recipe in recipes if isinstance(recipes, list) else [recipes]:
            if not isinstance(recipe, KernelRecipe):
                raise InvalidArgument(f"`kernels[{i}]` must be a recipe such as GaussianKernels(), got {shown(recipe)}")
            yield ListEntry(str(group), recipe, columns)


def _moments(Z: Table, weights: Vector) -> tuple[Vector, Vector]:
    """Weighted means and deviations of the columns; 1 for a deviation of 0."""
    share = weights / weights.sum()
    center = np.asarray(share @ Z).reshape(-1)
    squares = Z.multiply(Z) if sparse.issparse(Z) else (Z - center) ** 2
    variance = np.asarray(share @ squares).reshape(-1) - (center**2 if sparse.issparse(Z) else 0.0)
    spread = np.sqrt(np.maximum(variance, 0.0))
    return center, np.where(spread > 0, spread, 1.0)
