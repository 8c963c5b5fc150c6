"""Polynomial kernels of several degrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from oracle_opt.arguments import flag, real
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.polynomial_bank import checked_degrees
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.weighted import products_of


class PolynomialKernels(KernelRecipe):
    """Kernels ``(constant + x @ z)**degree``.

    Parameters
    ----------
    degrees : sequence of int
        The degrees, from 1 to 64.
    constant : float
        What is added to the inner product, not negative.
    each : bool
        On each column alone in place of on all together.

    Raises
    ------
    InvalidArgument
        There is no degree, one is not a whole number from 1 to 64, or the constant is negative.

    Examples
    --------
    >>> from oracle_opt.oracles import PolynomialKernels
    >>> PolynomialKernels((1, 2)).count()
    2
    """

    def __init__(self, degrees: Sequence[int] = (1, 2, 3), *, constant: float = 1.0, each: bool = False) -> None:
        self.degrees = tuple(int(degree) for degree in checked_degrees(degrees))
        self.constant = real("constant", constant, least=0.0)
        self.each = flag("each", each)

    def count(self) -> int:
        """Number of degrees."""
        return len(self.degrees)

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedPolynomials:
        """Take the parameters as they are, see `KernelRecipe.fit`."""
        return FittedPolynomials(self.degrees, self.constant)


class FittedPolynomials(FittedKernels):
    """Polynomial kernels of known degrees."""

    def __init__(self, degrees: tuple[int, ...], constant: float) -> None:
        self.degrees, self.constant = degrees, constant
        self.labels = tuple(f"polynomial(degree={degree})" for degree in degrees)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels, see `FittedKernels.matrices`; the products are computed once."""
        base = self.constant + products_of(A, B)
        for k in which:
            yield np.power(base, self.degrees[k])
