"""A kernel object of scikit-learn's Gaussian processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from oracle_opt.arguments import flag, text
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.recipes.function_kernel import evaluated
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.words import shown


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
