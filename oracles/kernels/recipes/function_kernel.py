"""A kernel that is a function of two tables: a user's own, or an object of scikit-learn's Gaussian processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import flag, real, text
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.words import shown

Function = Callable[[Any, Any], ArrayLike]


class FunctionKernel(KernelRecipe):
    """A kernel by a function ``k(X, Z)`` of two tables of points, one point a row.

    The function returns the matrix with entry (i, j) for row i of X and row j of Z. It has to be a kernel of two
    points: what it returns for two of them depends on no others, so that it must not center or scale the tables it is
    given. On the training points the matrix is checked: its shape, finite, symmetric, positive semidefinite, and that
    single points have the entries they have among all.

    Parameters
    ----------
    function : callable
        As above. To pickle a model, define it in a module.
    name : str, optional
        Name of the kernel in tables. Default: that of the function.
    exactness : float, optional
        By how much an entry may differ from one call to the next, over the root of the product of the two diagonal
        entries: rounding, 1e-13 say. A list with ``on_the_fly=True`` wants to know, as proven bounds count on it.
    each : bool
        On each column alone in place of on all together.

    Raises
    ------
    InvalidArgument
        The function cannot be called, or another argument cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import FunctionKernel, KernelList
    >>> def shared(X, Z):
    ...     return np.minimum(X[:, None], Z[None]).sum(axis=2)
    >>> bank = KernelList([FunctionKernel(shared)]).fit(np.array([[1.0, 2.0], [3.0, 1.0]]))
    >>> bank.names
    ('shared of all columns',)
    """

    takes_sparse = True

    def __init__(
        self, function: Function, name: str | None = None, *, exactness: float | None = None, each: bool = False
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise InvalidArgument(f"`function` must be a function k(X, Z) of two tables, got {shown(function)}")
        self.function = function
        self.name = None if name is None else text("name", name)
        self.exactness = None if exactness is None else real("exactness", exactness, least=0.0)
        self.each = flag("each", each)

    def count(self) -> int:
        """One."""
        return 1

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedFunction:
        """Take the function as it is, see `KernelRecipe.fit`."""
        return FittedFunction(self.function, self.name or name_of(self.function), self.exactness)


class FittedFunction(FittedKernels):
    """A function of two tables of points."""

    def __init__(self, function: Function, name: str, exactness: float | None) -> None:
        self.function, self.labels, self.exactness = function, (name,), exactness

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield the kernel as often as it is asked for, see `FittedKernels.matrices`."""
        for _ in which:
            yield evaluated(self.function, A, B, self.labels[0])


def name_of(function: Any) -> str:
    """Name of a function; that of its class for an object that can be called."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return "function" if name == "<lambda>" else str(name)


def evaluated(function: Function, A: Table, B: Table, name: str) -> Matrix:
    """What a user's function returns, as a matrix of the right shape."""
    try:
        given: Any = function(A, B)
    except Exception as problem:
        advice = "; it was given sparse points: pass X.toarray()" if sparse.issparse(A) else ""
        raise InvalidArgument(
            f"the kernel {name!r} raised {type(problem).__name__} for tables of shapes {A.shape} and {B.shape}: "
            f"{' '.join(str(problem).split())}{advice}"
        ) from problem
    wanted = (A.shape[0], B.shape[0])
    matrix = np.asarray(given.toarray() if sparse.issparse(given) else given)
    if matrix.dtype.kind not in "fiub":
        raise InvalidArgument(f"the kernel {name!r} must return a matrix of real numbers, got {shown(given)}")
    if matrix.shape != wanted:
        one_point = matrix.ndim < 2 and callable(function)
        advice = "; it seems to take two single points: let it return the entries of all pairs" if one_point else ""
        raise InvalidArgument(
            f"the kernel {name!r} must return an array of shape {wanted}, one row for each point of X and one column "
            f"for each of Z, got shape {matrix.shape}{advice}"
        )
    return np.array(matrix, dtype=float)


class SklearnKernel(KernelRecipe):
    """A kernel object of `sklearn.gaussian_process.kernels`, its parameters as they are.

    It is copied by scikit-learn's `clone` whenever it is fitted, and nothing is optimized. Sums and products of such
    objects are such objects.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Such as ``RationalQuadratic(alpha=0.5)``.
    name : str, optional
        Name of the kernel in tables. Default: what its repr says.
    each : bool
        On each column alone in place of on all together.

    Raises
    ------
    InvalidArgument
        It is no such object. From `fit`: it adds noise (`WhiteKernel`), which is no kernel of two points.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RationalQuadratic
    >>> from oracle_opt.oracles import SklearnKernel
    >>> SklearnKernel(RationalQuadratic(alpha=0.5)).count()
    1
    """

    def __init__(self, kernel: Any, name: str | None = None, *, each: bool = False) -> None:
        if not is_sklearn_kernel(kernel):
            raise InvalidArgument(
                "`kernel` must be an object of sklearn.gaussian_process.kernels such as RBF(1.0), got "
                f"{shown(kernel)}{'; call it' if isinstance(kernel, type) else ''}"
            )
        self.kernel, self.each = kernel, flag("each", each)
        self.name = None if name is None else text("name", name)

    def count(self) -> int:
        """One."""
        return 1

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedSklearnKernel:
        """Copy the kernel, see `KernelRecipe.fit`."""
        from sklearn.base import clone

        label = self.name or " ".join(repr(self.kernel).split())
        fitted = FittedSklearnKernel(clone(self.kernel), label)
        fitted.check(Z[:2])
        return fitted


class FittedSklearnKernel(FittedKernels):
    """A kernel object of scikit-learn."""

    def __init__(self, kernel: Any, label: str) -> None:
        self.kernel, self.labels = kernel, (label,)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield the kernel as often as it is asked for, see `FittedKernels.matrices`."""
        for _ in which:
            yield evaluated(self.kernel, A, B, self.labels[0])

    def check(self, Z: Table) -> None:
        """Refuse a kernel that treats a point with itself in another way than with an equal one."""
        alone = evaluated(lambda A, B: self.kernel(A), Z, Z, self.labels[0])
        noise = float(np.abs(alone - evaluated(self.kernel, Z, Z.copy(), self.labels[0])).max())
        if noise > 1e-9 * float(np.abs(alone).max()):
            raise InvalidArgument(
                f"the kernel {self.labels[0]!r} adds {noise:g} to the diagonal of the training points alone; leave "
                "WhiteKernel out and take the squared hinge, SquaredHinge(C), which adds 1 / (2 * C) there"
            )


def is_sklearn_kernel(thing: Any) -> bool:
    """Whether it is such an object; there is none before their module was imported."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(thing, module.Kernel)
