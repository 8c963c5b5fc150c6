"""A list of kernels as users write it, fitted on training points into a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from oracle_opt.arguments import called_otherwise, flag, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_precision
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.kernels.points import FEW_FEATURES
from oracle_opt.oracles.kernels.product import ProductBank
from oracle_opt.oracles.kernels.recipes.gaussian_kernels import GaussianKernels
from oracle_opt.oracles.kernels.recipes.list_plan import Plan, entries_of, planned, warn_of
from oracle_opt.oracles.kernels.recipes.polynomial_kernels import PolynomialKernels
from oracle_opt.oracles.kernels.recipes.recipe_banks import bank_on_the_fly, kept_bank, kept_distances
from oracle_opt.words import shown


class KernelList:
    """Kernels to be made from training points: a recipe, which holds no data.

    Parameters
    ----------
    kernels : list or tuple
        Each entry one of

        - a recipe: `GaussianKernels`, `PolynomialKernels`, `MetricKernel`, `SklearnKernel`, `FunctionKernel`,
          `PrecomputedKernels`, or an object of a subclass of `KernelRecipe` of your own,
        - the name of a kernel of scikit-learn, as for `MetricKernel`: "linear", "cosine", "laplacian", ...,
        - a kernel object of `sklearn.gaussian_process.kernels`, its parameters as they are,
        - a function ``k(X, Z)`` of two tables of points, as for `FunctionKernel`,
        - a tuple ``(group, kernels, columns)``, one or a list of the former on some columns, which are said as in
          scikit-learn's ColumnTransformer: by names, numbers, a slice, a mask, or a function of X.
    normalize : "trace" or None
        Whether each kernel is divided by the weighted mean of its diagonal, ``sum(w_i * k_ii) / sum(w_i)``, so that C
        means what it does in a support vector machine.
    standardize : bool
        Whether the columns are brought to weighted mean 0 and deviation 1 first; those of sparse points to deviation 1
        alone. Columns that are constant are then 0, also of new points.
    dtype : float64 or float32
        As for `GramBank`, or for the Gaussian kernels of `RBFBank`.
    on_the_fly : bool or "auto"
        Whether entries are computed when they are needed, in place of kept. "auto": where they do not fit into the
        budget. Gaussian and polynomial kernels are as fast as `RBFBank` and `PolynomialBank`; others are computed block
        by block, and functions are checked on 1,000 points alone; those of which nobody knows how exact they are are
        refused.
    memory_budget : int
        Bytes the kernels may take, 2 GiB by default. What they will take is known before anything is built.
    n_pairs : int
        Pairs of points from whose distances Gaussian widths are taken; all pairs, if they are no more, and on a single
        column. Those of a recipe that says so itself stay.
    seed : int
        Seed of random samples of pairs of points, where there are many.

    Raises
    ------
    InvalidArgument
        An entry is nothing of that kind.

    See Also
    --------
    KernelBank : What `fit` returns, for all oracles.

    Notes
    -----
    All statistics are weighted, so that a point of weight 2 is two points. Kernels on columns that are constant over
    the training points, and others that are the same for all points, serve nothing in a machine with a bias: they are
    left out with a `ConstantKernels` warning that names them.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import GaussianKernels, KernelList
    >>> kernels = KernelList([GaussianKernels([1.0]), ("second", ["linear", "laplacian"], [1])])
    >>> bank = kernels.fit(np.array([[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]))
    >>> bank.names
    ('gaussian(width=1) of all columns', 'linear of second', 'laplacian(gamma=1) of second')
    >>> bank.groups
    ('all columns', 'second', 'second')
    """

    @called_otherwise()
    def __init__(
        self,
        kernels: Sequence[Any],
        *,
        normalize: str | None = "trace",
        standardize: bool = False,
        dtype: DTypeLike = np.float64,
        on_the_fly: bool | str = False,
        memory_budget: int = 2 << 30,
        n_pairs: int = 100_000,
        seed: int = 0,
    ) -> None:
        if normalize is not None and (not isinstance(normalize, str) or normalize != "trace"):
            raise InvalidArgument(f"`normalize` must be 'trace' or None, got {shown(normalize)}")
        self.dtype: np.dtype[np.floating] = np.dtype(np.float32 if checked_precision(dtype) else np.float64)
        self.normalize, self.standardize = normalize, flag("standardize", standardize)
        if isinstance(on_the_fly, str) and on_the_fly != "auto":
            raise InvalidArgument(f"`on_the_fly` must be True, False or 'auto', got {shown(on_the_fly)}")
        self.on_the_fly = on_the_fly if isinstance(on_the_fly, str) else flag("on_the_fly", on_the_fly)
        self.memory_budget = whole("memory_budget", memory_budget, 0)
        self.n_pairs, self.seed = whole("n_pairs", n_pairs), whole("seed", seed, 0)
        self._entries = entries_of(kernels, self.n_pairs)
        self.kernels = tuple(kernels)

    def __repr__(self) -> str:
        plain = {"normalize": "trace", "standardize": False, "on_the_fly": False, "memory_budget": 2 << 30}
        plain |= {"n_pairs": 100_000, "seed": 0}
        words = [f"{name}={getattr(self, name)!r}" for name, value in plain.items() if getattr(self, name) != value]
        words += ["dtype=float32"] if self.dtype == np.float32 else []
        inside = [shown(one) for one in self.kernels]
        listed = ", ".join(inside if len(inside) <= 6 else [*inside[:5], f"... {len(inside) - 5} more"])
        return f"KernelList([{listed}]{''.join(f', {word}' for word in words)})"

    @property
    def takes_sparse(self) -> bool:
        """Whether all kernels can be made of sparse points."""
        return all(entry.recipe.takes_sparse for entry in self._entries)

    @classmethod
    def default(
        cls,
        *,
        each: bool = True,
        dtype: DTypeLike = np.float64,
        on_the_fly: bool | str = "auto",
        memory_budget: int = 2 << 30,
        n_pairs: int = 100_000,
        seed: int = 0,
    ) -> KernelList:
        """Ten Gaussian widths and three degrees on all columns and, with `each`, on each one alone, standardized.

        `dtype`, `on_the_fly`, `memory_budget`, `n_pairs` and `seed` are as for the class; entries are computed on the
        fly where they do not fit into the budget.
        """
        together: list[Any] = [GaussianKernels(), PolynomialKernels()]
        alone: list[Any] = [GaussianKernels(each=True), PolynomialKernels(each=True)] if flag("each", each) else []
        return cls(
            together + alone,
            standardize=True,
            dtype=dtype,
            on_the_fly=on_the_fly,
            memory_budget=memory_budget,
            n_pairs=n_pairs,
            seed=seed,
        )

    def n_bytes(self, X: Any) -> int:
        """Bytes that the bank of the points X will take at most, known without building it.

        On the fly those of the points and of what is equal among them; else those of all entries on and below the
        diagonals. A `GramBank` may take as much again where the budget allows it, for the pairs that it is asked.
        """
        plan = self._planned(X, None)
        return self._bytes_of(plan, self._flies(plan))

    def fit(self, X: Any, sample_weight: ArrayLike | None = None) -> KernelBank:
        """Make the kernels from training points X, the training part alone, of which used columns need to be numbers.

        The `sample_weight` is positive; a point of weight 2 counts as two; default: ones. `cross` takes new points of
        the same columns; those of a DataFrame are found by name. Kernels that take more bytes than the budget are
        refused.

        Warns
        -----
        ConstantKernels
            Kernels were left out because they are the same for all points; they are named.
        """
        plan = self._planned(X, sample_weight)
        flies = self._flies(plan)
        self._check_budget(plan, flies)
        warn_of(plan.left_out, "constant are")
        source = plan.fitted(self.seed)
        if flies:
            try:
                return bank_on_the_fly(source, plan.weights, self.normalize is not None, self.dtype)
            except InvalidArgument as problem:
                kept, budget = self._bytes_of(plan, False), self.memory_budget
                raise InvalidArgument(
                    f"{problem}. Kept, these {plan.n_kernels} kernels take {kept} bytes in {self.dtype}, and "
                    f"`memory_budget` is {budget}"
                ) from problem
        return kept_bank(source, plan.weights, self.normalize is not None, self.dtype, self.memory_budget)

    def fit_product(self, X: Any, sample_weight: ArrayLike | None = None) -> ProductBank:
        """Make distances from training points, of which `GMKLOracle` learns a product of Gaussian kernels.

        ``K(d) = exp(-sum_k d_k D_k)``: one distance D_k for the columns of each of the `GaussianKernels`, in units of
        its weighted mean over all pairs of points. Their widths are not used: the weights d take their place. Other
        kernels are refused. X, `sample_weight` and what `cross` takes are as for `fit`.
        """
        plan = self._planned(X, sample_weight)
        n = int(plan.points.shape[0])
        n_bytes = 8 * len({place.columns.tobytes() for place in plan.places}) * (n * (n - 1) // 2)
        if n_bytes > self.memory_budget:
            raise InvalidArgument(
                f"`memory_budget` must be at least {n_bytes} bytes for the distances of {n} points, got "
                f"{self.memory_budget}; pass a larger budget or fewer points, or take ProductBank.from_points(X), "
                "which keeps no distances"
            )
        warn_of(plan.left_out, "constant are")
        return ProductBank.of_distances(kept_distances(plan))

    def _planned(self, X: Any, sample_weight: ArrayLike | None) -> Plan:
        return planned(self._entries, X, sample_weight, self.standardize)

    def _flies(self, plan: Plan) -> bool:
        """Whether entries are computed when they are needed."""
        if self.on_the_fly == "auto":
            return self._bytes_of(plan, False) > self.memory_budget
        return bool(self.on_the_fly)

    def _bytes_of(self, plan: Plan, flies: bool) -> int:
        """Bytes of a bank."""
        n = int(plan.points.shape[0])
        if not flies:
            return plan.n_kernels * (n * (n + 1) // 2) * int(self.dtype.itemsize)
        # Points for Gaussian and for polynomial kernels; of each set of columns which points are equal on it; and all
        # numbers in few columns of sparse points.
        sets = {place.columns.tobytes(): place.columns.size for place in plan.places}
        if not sparse.issparse(plan.points):
            return 16 * n * (int(plan.points.shape[1]) + len(sets))
        few = sum(size for size in sets.values() if size <= FEW_FEATURES)
        return 48 * int(plan.points.nnz) + 16 * n * (len(sets) + few + 4)

    def _check_budget(self, plan: Plan, flies: bool) -> None:
        """Refuse a bank that takes more bytes than the budget, before anything is built."""
        n_bytes = self._bytes_of(plan, flies)
        if n_bytes <= self.memory_budget:
            return
        p, n = plan.n_kernels, plan.points.shape[0]
        what = "the points alone" if flies else "pass `on_the_fly=True`, which keeps no entries,"
        advice = "a larger budget, or fewer points" if flies else f"{what} a larger budget, fewer kernels, or float32"
        raise InvalidArgument(
            f"`memory_budget` must be at least {n_bytes} bytes for {p} kernels on {n} points in {self.dtype}"
            f"{' computed on the fly' if flies else ''}, got {self.memory_budget}; {advice}"
        )
