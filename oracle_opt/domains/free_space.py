"""All of R^n, with a promise on where a minimizer lies."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains._domain_arguments import (
    EDGE,
    checked_center,
    checked_dimension,
    checked_radius,
    edge_of_promise,
    short,
)
from oracle_opt.domains.ball import ball_cut, ball_extent
from oracle_opt.domains.box import Box
from oracle_opt.domains.described_sets import Described, described_bounds
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.errors import InvalidArgument


class FreeSpace(Domain):
    """All of R^n, with the statement that some minimizer lies within `radius` of `center`.

    The set is R^n: projections are the points themselves, and there are no constraints. The promised set is the ball:
    linear minima, and with them the proven lower bounds, are taken over it. State it generously.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Euclidean distance within which some minimizer lies, to be stated; infinite if nothing is known, and then no
        affine minorant but a flat one proves a bound.
    center : array_like of shape (dimension,), optional
        Default: the origin.
    """

    def __init__(self, dimension: int, radius: float | None = None, center: ArrayLike | None = None) -> None:
        self.dimension = checked_dimension(dimension)
        if radius is None:
            raise InvalidArgument(
                "`radius` must state how far from `center` some minimizer lies at most; inf if unknown"
            )
        self.radius = checked_radius(radius, finite=False)
        self.center = checked_center(center, self.dimension)
        self._away = np.abs(self.center) if self.center.any() else None

    def __repr__(self) -> str:
        return f"FreeSpace({self.dimension}, radius={self.radius:g}, center={short(self.center)})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Return the point itself, a copy."""
        return np.array(point)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum over the ball the minimizer is stated to lie in."""
        length = float(np.linalg.norm(slope))
        if length == 0:
            return 0.0, self.center.copy()
        if np.isinf(self.radius):
            return -np.inf, np.where(slope == 0, self.center, -np.copysign(np.inf, slope))
        return float(slope @ self.center) - self.radius * length, self.center - (self.radius / length) * slope

    def doubt(self, point: Vector) -> str:
        """At the edge of the radius, or beyond: farther out than all but a hundredth of it."""
        distance = float(np.linalg.norm(point - self.center))
        if not distance >= (1.0 - EDGE) * self.radius:
            return ""
        return edge_of_promise(
            f"it is {distance:.6g} away from the center, and the radius is stated to be {self.radius:g}"
        )

    def promise(self) -> str:
        """Return the radius, if it is finite."""
        center = "origin" if self._away is None else "center"
        return f"that it lies within {self.radius:g} of the {center}" if self.radius < np.inf else ""

    def extent(self, slope: Vector) -> float:
        """``abs(slope) @ abs(center) + radius * norm(slope)``, as of a ball; an infinite radius counts as none."""
        return ball_extent(slope, self._away, self.radius if self.radius < np.inf else 0.0)

    def interior_point(self) -> Vector:
        """Return the center."""
        return self.center.copy()

    def linear_constraints(self) -> LinearConstraints:
        """There are none: every bound is infinite."""
        n = self.dimension
        return LinearConstraints(np.zeros((0, n)), np.zeros(0), np.full(n, -np.inf), np.full(n, np.inf))

    def promised_polyhedron(self) -> Box:
        """Return the box around the ball the minimizer is stated to lie in."""
        return Box(*self.bounding_box())

    def bounding_box(self) -> tuple[Vector, Vector]:
        """``center - radius`` and ``center + radius``."""
        return self.center - self.radius, self.center + self.radius

    def enclosing_ball(self) -> tuple[Vector, float]:
        """Return the ball the minimizer is stated to lie in."""
        return self.center.copy(), self.radius

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """Return that ball."""
        return self.center.copy(), self.radius * np.eye(self.dimension)

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """All of R^n, and the ball the minimizer is stated to lie in."""
        everything = np.full(self.dimension, np.inf)
        described = {"set": described_bounds(-everything, everything)}
        if self.radius < np.inf:
            described["promised"] = {"center": self.center, "radius": self.radius}
        return described

    def deepest_cut(self, point: Vector, axes: Matrix, tolerance: float) -> tuple[Vector, float] | None:
        """Half-space at the nearest point of that ball."""
        return ball_cut(point, self.center, self.radius, tolerance)
