"""Polynomial kernels of several degrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from oracle_opt.arguments import flag, real
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.kernels.points import products_of
from oracle_opt.oracles.kernels.polynomial_bank import checked_degrees
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.words import numbered


class PolynomialKernels(KernelRecipe):
    """Kernels ``(constant + x @ z)**degree``.

    Parameters
    ----------
    degrees : int or sequence of int
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

    takes_sparse = True

    def __init__(self, degrees: ArrayLike = (1, 2, 3), *, constant: float = 1.0, each: bool = False) -> None:
        self.degrees = tuple(int(degree) for degree in checked_degrees(degrees))
        self.constant = real("constant", constant, least=0.0)
        self.each = flag("each", each)

    def count(self) -> int:
        """Number of degrees."""
        return len(self.degrees)

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedPolynomials:
        """Take the parameters as they are, see `KernelRecipe.fit`."""
        return FittedPolynomials(self.degrees, self.constant, Z.shape[1])


class FittedPolynomials(FittedKernels):
    """Polynomial kernels of known degrees."""

    positive_semidefinite = True

    def __init__(self, degrees: tuple[int, ...], constant: float, n_columns: int) -> None:
        self.degrees, self.constant = degrees, constant
        words = "" if constant == 1.0 else f", constant={constant:.4g}"
        self.labels = numbered([f"polynomial(degree={degree}{words})" for degree in degrees])
        # as of PolynomialFamily
        self.exactness = 0.5 * EPS * max(degrees) * (n_columns + 8.0)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels, see `FittedKernels.matrices`; the products are computed once."""
        base = self.constant + products_of(A, B)
        for k in which:
            with np.errstate(over="ignore"):  # a diagonal that is not finite is refused
                power = _power(base, self.degrees[k])
            yield power


def _power(base: Matrix, degree: int) -> Matrix:
    """A new array of the powers, by products: several times as fast as `numpy.power`."""
    power = base.copy()
    for bit in bin(degree)[3:]:
        power *= power
        if bit == "1":
            power *= base
    return power
