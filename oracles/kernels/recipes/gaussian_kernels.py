"""Gaussian kernels of several widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from oracle_opt.arguments import flag, floats, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.rbf_widths import checked_widths
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.weighted import positive_distances, squared_distances, weighted_quantiles
from oracle_opt.words import shown

# Pairs of points whose distances the quantiles are taken of, at most.
N_PAIRS = 2_000_000


class GaussianKernels(KernelRecipe):
    """Kernels ``exp(-norm(x - z)**2 / (2 * width**2))``.

    Parameters
    ----------
    widths : array_like, optional
        The widths, in units of the columns. Default: `n_widths` of them, geometric between two quantiles of the
        positive distances of the training points.
    n_widths : int
        How many, where they are not given.
    quantiles : tuple of two floats
        Between which quantiles of the distances.
    each : bool
        On each column alone in place of on all together.

    Raises
    ------
    InvalidArgument
        A width is not positive, or the quantiles are not two numbers from 0 to 1 in order.

    Examples
    --------
    >>> from oracle_opt.oracles import GaussianKernels
    >>> GaussianKernels([0.5, 1.0]).count()
    2
    """

    def __init__(
        self,
        widths: ArrayLike | None = None,
        *,
        n_widths: int = 10,
        quantiles: tuple[float, float] = (0.1, 0.9),
        each: bool = False,
    ) -> None:
        self.widths = None if widths is None else checked_widths(widths)
        self.n_widths = whole("n_widths", n_widths)
        ends = floats("quantiles", quantiles)
        if ends.shape != (2,) or not 0.0 <= ends[0] <= ends[1] <= 1.0:
            raise InvalidArgument(f"`quantiles` must be two numbers from 0 to 1 in order, got {shown(quantiles)}")
        self.quantiles = (float(ends[0]), float(ends[1]))
        self.each = flag("each", each)

    def count(self) -> int:
        """Number of widths."""
        return self.n_widths if self.widths is None else self.widths.size

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedGaussians:
        """Find the widths, see `KernelRecipe.fit`."""
        if self.widths is not None:
            return FittedGaussians(self.widths)
        distances, of_pairs = positive_distances(Z, weights, N_PAIRS, rng)
        if distances.size == 0:
            raise InvalidArgument("all training points are equal: their distances give no width")
        least, largest = weighted_quantiles(distances, of_pairs, self.quantiles)
        return FittedGaussians(np.geomspace(least, largest, self.n_widths))


class FittedGaussians(FittedKernels):
    """Gaussian kernels of known widths."""

    def __init__(self, widths: Vector) -> None:
        self.widths = widths
        self.labels = tuple(f"gaussian(width={width:.4g})" for width in widths.tolist())

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels, see `FittedKernels.matrices`; the distances are computed once."""
        squares = squared_distances(A, B)
        for k in which:
            yield np.exp(squares * (-0.5 / self.widths[k] ** 2))
