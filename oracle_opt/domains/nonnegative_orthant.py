"""Nonnegative variables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains._domain_arguments import checked_dimension, checked_radius
from oracle_opt.domains.box import Box
from oracle_opt.domains.described_sets import Described, described_bounds
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.linear_constraints import LinearConstraints


class NonnegativeOrthant(Domain):
    """``{z : z >= 0}``, with the statement that some minimizer has no coordinate above `radius`.

    The set is the orthant: projections have no upper bounds. The promised set is the box ``0 <= z <= radius``: linear
    minima, and with them the proven lower bounds, are taken over it.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Bound on the coordinates of some minimizer. Methods that need a bounded domain search the box. Default: none.
    """

    def __init__(self, dimension: int, radius: float = np.inf) -> None:
        self.dimension = checked_dimension(dimension)
        self.radius = checked_radius(radius, finite=False)
        lower, upper = np.zeros(self.dimension), np.full(self.dimension, self.radius)
        self._promised = Box(lower, upper, promised=[[False], [True]])

    def __repr__(self) -> str:
        return f"NonnegativeOrthant({self.dimension}, radius={self.radius:g})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Cut off at 0; the stated radius is a promise on the minimizer, not a constraint."""
        return np.maximum(point, 0.0)

    def face(self, coordinates: NDArray[np.intp]) -> NonnegativeOrthant | None:
        """Return the orthant of these coordinates, with the same radius; `None` if there are none."""
        return NonnegativeOrthant(len(coordinates), self.radius) if len(coordinates) else None

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum over the box the minimizer is stated to lie in: 0 where the slope is positive, else the radius."""
        point = np.where(slope > 0, 0.0, self.radius)
        if not slope.all():  # where it is flat the radius may be infinite, and 0 * inf is no number
            np.copyto(point, self.interior_point(), where=slope == 0)
        return float(slope @ point), point

    def interior_point(self) -> Vector:
        """All ones, or half the radius if that is less."""
        return np.full(self.dimension, min(1.0, 0.5 * self.radius))

    def linear_constraints(self) -> LinearConstraints:
        """Return the lower bounds 0; the upper ones are infinite."""
        n = self.dimension
        return LinearConstraints(np.zeros((0, n)), np.zeros(0), np.zeros(n), np.full(n, np.inf))

    def promised_polyhedron(self) -> Box:
        """Return the box the minimizer is stated to lie in."""
        return Box(*self.bounding_box())

    def bounding_box(self) -> tuple[Vector, Vector]:
        """0 and the radius."""
        return self._promised.bounding_box()

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """The smallest around the box the minimizer is stated to lie in."""
        return self._promised.enclosing_ellipsoid()

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """``z >= 0``, and the box the minimizer is stated to lie in."""
        zeros = np.zeros(self.dimension)
        described = {"set": described_bounds(zeros, zeros + np.inf)}
        if self.radius < np.inf:
            described["promised"] = described_bounds(zeros, zeros + self.radius)
        return described

    def deepest_cut(self, point: Vector, axes: Matrix, tolerance: float) -> tuple[Vector, float] | None:
        """Return a bound of that box."""
        return self._promised.deepest_cut(point, axes, tolerance)

    def extent(self, slope: Vector) -> float:
        """The radius times the sum of the slope's sizes; an infinite radius counts as none."""
        return self._promised.extent(slope)

    def doubt(self, point: Vector) -> str:
        """At the radius, within a hundredth of it."""
        return self._promised.doubt(point)

    def promise(self) -> str:
        """Return the radius, if it is finite."""
        return self._promised.promise()
