"""A product of simplices: blocks of nonnegative variables of a given sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains._domain_arguments import checked_radius
from oracle_opt.domains.described_sets import Described, described_blocks
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.simplex_blocks import SimplexBlocks
from oracle_opt.errors import InvalidArgument
from oracle_opt.words import shown

# A multiple of 1 / w added to t moves nu alone. Where nu is this many times what it leaves of the largest t, the sum of
# the difference is lost in rounding: t less its largest is then projected.
FAR = 1e3


class ProductOfSimplices(Domain):
    """``{z >= 0 : each block of z adds up to radius}``.

    Parameters
    ----------
    sizes : sequence of int
        Number of variables of each block, in order.
    radius : float
        Sum of each block, default 1.

    Examples
    --------
    >>> ProductOfSimplices([2, 3]).interior_point().round(2).tolist()
    [0.5, 0.5, 0.33, 0.33, 0.33]
    """

    def __init__(self, sizes: Sequence[int], radius: float = 1.0) -> None:
        if isinstance(sizes, str) or not isinstance(sizes, Iterable):
            raise InvalidArgument(f"`sizes` must be a sequence of whole numbers, got {shown(sizes)}")
        self.sizes = tuple(whole(f"sizes[{i}]", size) for i, size in enumerate(sizes))
        if not self.sizes:
            raise InvalidArgument("`sizes` must name at least one block, got none")
        self.radius = checked_radius(radius, finite=True)
        self.dimension = sum(self.sizes)
        self._block = np.repeat(np.arange(len(self.sizes)), self.sizes)
        starts = np.cumsum((0, *self.sizes[:-1]))
        self._place = np.arange(self.dimension) - starts[self._block]
        self._starts = starts

    def __repr__(self) -> str:
        return f"ProductOfSimplices({shown(list(self.sizes))}, radius={self.radius:g})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, exact by sorting."""
        shape = (len(self.sizes), max(self.sizes))
        t = np.full(shape, -np.inf)
        w = np.ones(shape)
        t[self._block, self._place] = point
        if metric is not None:
            w[self._block, self._place] = metric
        result: Vector = project_on_simplices(t, w, self.radius)[self._block, self._place]
        return result

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Put all of each block on its smallest slope."""
        best = np.minimum.reduceat(slope, self._starts)
        smallest = np.flatnonzero(slope == best[self._block])
        block = self._block[smallest]
        first = np.ones(block.size, dtype=bool)
        first[1:] = block[1:] != block[:-1]
        point = np.zeros(self.dimension)
        point[smallest[first]] = self.radius
        return self.radius * float(best.sum()), point

    def extent(self, slope: Vector) -> float:
        """All of each block on its largest slope."""
        return self.radius * float(np.maximum.reduceat(np.abs(slope), self._starts).sum())

    def minimum_rounding(self, slope: Vector) -> float:
        """One sum over the blocks and one product."""
        return EPS * (0.5 * len(self.sizes) + 1) * self.extent(slope)

    def interior_point(self) -> Vector:
        """Equal weights in each block."""
        result: Vector = self.radius / np.asarray(self.sizes, dtype=float)[self._block]
        return result

    def simplices(self) -> SimplexBlocks:
        """Return the blocks."""
        return SimplexBlocks(self.sizes, self.radius)

    def face(self, coordinates: NDArray[np.intp]) -> ProductOfSimplices | None:
        """Return the product of the simplices of these coordinates; `None` if a block has none of them."""
        sizes = np.bincount(self._block[coordinates], minlength=len(self.sizes))
        return ProductOfSimplices(sizes.tolist(), self.radius) if sizes.all() else None

    def linear_constraints(self) -> LinearConstraints:
        """One equation a block, and ``z >= 0``."""
        return self._constraints

    @cached_property
    def _constraints(self) -> LinearConstraints:
        """Made once: masters and the ellipsoid method ask for them at every call."""
        return self.simplices().linear_constraints()

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """One equation a block."""
        return {"set": described_blocks(self.simplices(), slope)}

    def bounding_box(self) -> tuple[Vector, Vector]:
        """0 and the radius."""
        return np.zeros(self.dimension), np.full(self.dimension, self.radius)

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """Around each simplex a ball in its hyperplane; around d dimensions of balls of d_k an ellipsoid."""
        import scipy.linalg  # only here: the import takes time

        n = self.dimension
        blocks = np.split(np.arange(n), self._starts[1:])
        axes = np.zeros((n, n - len(blocks)))
        column = 0
        for block in blocks:
            size = len(block)
            if size > 1:
                radius = self.radius * np.sqrt((1 - 1 / size) * axes.shape[1] / (size - 1))
                axes[block, column : column + size - 1] = radius * scipy.linalg.null_space(np.ones((1, size)))
                column += size - 1
        return self.interior_point(), axes

    def entropic_metric(self, point: Vector) -> Vector:
        """``1 / z``, with z kept above a hundredth of its block's mean."""
        return 1.0 / np.maximum(point, 0.01 * self.interior_point())

    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """As for every domain; without a projection where the point is nonnegative with the right sums.

        A block z >= 0 that adds up to s is within ``norm(z) * abs(1 - radius / s) <= abs(s - radius)`` of its simplex.
        """
        if point.shape == (self.dimension,) and point.min() >= 0:
            excess = np.add.reduceat(point, self._starts) - self.radius
            if float(excess @ excess) <= tolerance**2:
                return True
        return super().contains(point, tolerance)


def project_on_simplices(t: NDArray[np.float64], w: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Row-wise ``max(0, t - nu / w)`` with nu such that each row adds up to radius; padded entries have t = -inf.

    Condat (2016), "Fast projection onto the simplex", sorting variant, with weights: the breakpoints are t * w.
    """
    order = np.argsort(-(t * w), axis=1)
    sorted_t = np.take_along_axis(t, order, axis=1)
    sorted_w = np.take_along_axis(w, order, axis=1)
    padded = np.isneginf(sorted_t)
    total = np.cumsum(np.where(padded, 0.0, sorted_t), axis=1) - radius
    inverse = np.cumsum(np.where(padded, 0.0, 1.0 / sorted_w), axis=1)
    positive = (sorted_t * sorted_w > total / inverse) & ~padded
    last = np.maximum(positive.sum(axis=1) - 1, 0)[:, None]
    nu = np.take_along_axis(total, last, axis=1) / np.take_along_axis(inverse, last, axis=1)
    top = sorted_t[:, :1] * sorted_w[:, :1]
    if (np.abs(nu) > FAR * (top - nu)).any():
        return project_on_simplices(t - top / w, w, radius)
    result: NDArray[np.float64] = np.maximum(t - nu / w, 0.0)
    return result
