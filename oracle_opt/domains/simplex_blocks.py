"""The blocks of a product of simplices: consecutive variables, each block of a given weighted sum."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class SimplexBlocks:
    """The set ``{z >= 0 : scale * z adds up to radius in each block}``, blocks being consecutive variables.

    In the weights ``w = scale * z`` it is a product of simplices: methods for these work on w, with the slopes
    ``g / scale``.

    Parameters
    ----------
    sizes : tuple of int
        Number of variables of each block, in order.
    radius : float
        Sum of the weights of each block.
    scale : ndarray of shape (n,), optional
        Weight of a unit of each variable, positive. Default: 1, the weights are the variables.
    """

    __repr__ = one_line

    sizes: tuple[int, ...]
    radius: float
    scale: Vector | None = None

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """First variable of each block."""
        return np.cumsum((0, *self.sizes[:-1]))

    def weights(self, point: Vector) -> Vector:
        """``scale * point``."""
        return point if self.scale is None else self.scale * point

    def slopes(self, slope: Vector) -> Vector:
        """Slope in the weights of a function with this slope in the variables; of rows, that of each."""
        return slope if self.scale is None else slope / self.scale

    def point(self, weights: Vector) -> Vector:
        """``weights / scale``."""
        return weights if self.scale is None else weights / self.scale

    def without_small(self, point: Vector, share: float) -> Vector:
        """A point near this one of the set: weights below `share` of their block's largest are 0, others scaled up."""
        w, sizes = np.array(self.weights(point)), np.asarray(self.sizes)
        w[w < share * np.repeat(np.maximum.reduceat(w, self.starts), sizes)] = 0.0
        return self.point(w * np.repeat(self.radius / np.add.reduceat(w, self.starts), sizes))

    def linear_constraints(self) -> LinearConstraints:
        """One equation a block, and ``z >= 0``."""
        n = sum(self.sizes)
        block = np.repeat(np.arange(len(self.sizes)), self.sizes)
        matrix = (np.arange(len(self.sizes))[:, None] == block).astype(float)
        rhs = np.full(len(self.sizes), self.radius)
        return LinearConstraints(self.weights(matrix), rhs, np.zeros(n), np.full(n, np.inf))
