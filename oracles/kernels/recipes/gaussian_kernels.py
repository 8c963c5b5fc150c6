"""Gaussian kernels of several widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import flag, floats, whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.points import FEW_FEATURES, quantiles_of_distances, squared_distances
from oracle_opt.oracles.kernels.rbf import checked_widths
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.words import numbered, shown

# Pairs of points whose distances the quantiles are taken of, at most, where nobody says so.
N_PAIRS = 100_000


class GaussianKernels(KernelRecipe):
    """Kernels ``exp(-norm(x - z)**2 / (2 * width**2))``.

    Parameters
    ----------
    widths : float or array_like, optional
        The widths, in units of the columns. Default: `n_widths` of them, geometric between two quantiles of the
        positive distances of the training points, in which a pair counts by the product of the weights of its points.
        There is one where both quantiles are the same distance, as on a column of zeros and ones.
    n_widths : int
        How many, where they are not given.
    quantiles : tuple of two floats
        Between which quantiles of the distances.
    n_pairs : int, optional
        Pairs of points that are drawn at random for the quantiles, where there are more, in two or more columns.
        Default: as the list says.
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

    takes_sparse = True

    def __init__(
        self,
        widths: ArrayLike | None = None,
        *,
        n_widths: int = 10,
        quantiles: tuple[float, float] = (0.1, 0.9),
        n_pairs: int | None = None,
        each: bool = False,
    ) -> None:
        self.widths = None if widths is None else checked_widths(widths)
        self.n_widths = whole("n_widths", n_widths)
        self.n_pairs = None if n_pairs is None else whole("n_pairs", n_pairs)
        between = floats("quantiles", quantiles)
        if between.shape != (2,) or not 0.0 <= between[0] <= between[1] <= 1.0:
            raise InvalidArgument(f"`quantiles` must be two numbers from 0 to 1 in order, got {shown(quantiles)}")
        self.quantiles = (float(between[0]), float(between[1]))
        self.each = flag("each", each)

    def __repr__(self) -> str:
        words = [] if self.widths is None else [f"[{', '.join(f'{width:g}' for width in self.widths.tolist())}]"]
        words += [f"n_widths={self.n_widths}"] if self.widths is None and self.n_widths != 10 else []
        words += [f"quantiles={self.quantiles}"] if self.widths is None and self.quantiles != (0.1, 0.9) else []
        words += ["each=True"] if self.each else []
        return f"GaussianKernels({', '.join(words)})"

    def count(self) -> int:
        """Number of widths, at most."""
        return self.n_widths if self.widths is None else self.widths.size

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedGaussians:
        """Find the widths, see `KernelRecipe.fit`."""
        if self.widths is not None:
            return FittedGaussians(self.widths, rounding(Z, float(self.widths.min())))
        ends = quantiles_of_distances(Z, weights, np.array(self.quantiles), self.n_pairs or N_PAIRS, rng)
        if ends is None:
            raise InvalidArgument(
                "widths of GaussianKernels are taken from distances, and no two training points differ by more than "
                "1e-150; give other units to the columns, or pass `widths`"
            )
        least, largest = ends.tolist()
        widths = np.geomspace(least, largest, self.n_widths if least < largest else 1)
        return FittedGaussians(widths, rounding(Z, least))


class FittedGaussians(FittedKernels):
    """Gaussian kernels of known widths."""

    positive_semidefinite = True

    def __init__(self, widths: Vector, exactness: float) -> None:
        self.widths, self.exactness = widths, exactness
        self.labels = different(widths, "gaussian(width={})")

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield kernels, see `FittedKernels.matrices`; the distances are computed once."""
        squares = squared_distances(A, B)
        for k in which:
            matrix = squares * (-0.5 / self.widths[k] ** 2)
            yield np.exp(matrix, out=matrix)


def rounding(Z: Table, width: float) -> float:
    """How wrong entries of this width may be: as a sum of squares of differences, or of norms where Z is sparse."""
    d = Z.shape[1]
    if not sparse.issparse(Z) or d <= FEW_FEATURES:
        return EPS * (0.25 * float(d) + 4.0)
    norms = float(Z.multiply(Z).sum(axis=1).max())
    return EPS * (float(d) + 8.0) * (0.5 / width**2) * 4.0 * norms + 4.0 * EPS


def different(values: Vector, form: str) -> tuple[str, ...]:
    """Labels of values, with as few digits, 4 at least, as tell them apart; equal ones are numbered."""
    for digits in (4, 6, 9, 12, 17):
        labels = [form.format(f"{value:.{digits}g}") for value in values.tolist()]
        if len(set(labels)) == len(set(values.tolist())):
            break
    return numbered(labels)
