"""Nonnegative variables."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains._checked import checked_dimension, checked_radius
from oracle_opt.domains.box import Box


class NonnegativeOrthant(Box):
    """``{z : z >= 0}``.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        States that some minimizer has all coordinates <= radius. Methods that need a bounded domain use it, and
        the proven lower bounds rest on it. Default: unbounded.
    """

    def __init__(self, dimension: int, radius: float = np.inf) -> None:
        self.radius = checked_radius(radius, finite=False)
        lower, upper = np.zeros(checked_dimension(dimension)), np.full(dimension, self.radius)
        super().__init__(lower, upper, promised=[[False], [True]])

    def __repr__(self) -> str:
        return f"NonnegativeOrthant({self.dimension}, radius={self.radius:g})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Cut off at 0; the stated radius is a promise on the minimizer, not a constraint."""
        return np.maximum(point, 0.0)

    def interior_point(self) -> Vector:
        """All ones, or half the radius if that is less."""
        return np.full(self.dimension, min(1.0, 0.5 * self.radius))
