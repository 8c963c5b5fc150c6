"""A Euclidean ball."""

from collections.abc import Mapping
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains._domain_arguments import checked_center, checked_dimension, checked_radius, short
from oracle_opt.domains.described_sets import Described
from oracle_opt.domains.domain import Domain
from oracle_opt.errors import InvalidArgument


class Ball(Domain):
    """``{z : norm(z - center) <= radius}``.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Euclidean radius, default 1.
    center : array_like of shape (dimension,), optional
        Default: the origin.
    """

    euclidean_only = True

    def __init__(self, dimension: int, radius: float = 1.0, center: ArrayLike | None = None) -> None:
        self.dimension = checked_dimension(dimension)
        self.radius = checked_radius(radius, finite=True)
        self.center = checked_center(center, self.dimension)
        self._away = np.abs(self.center) if self.center.any() else None

    def __repr__(self) -> str:
        return f"Ball({self.dimension}, radius={self.radius:g}, center={short(self.center)})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Shrink toward the center; Euclidean only."""
        if metric is not None:
            raise InvalidArgument("`metric` must be None on a Ball: its projection is Euclidean only")
        away = point - self.center
        return self.center + away / max(1.0, sqrt(float(away.dot(away))) / self.radius)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Go the radius against the slope."""
        length = sqrt(float(slope.dot(slope)))
        point = self.center - (self.radius / length) * slope if length > 0 else self.center.copy()
        return float(slope @ self.center) - self.radius * length, point

    def extent(self, slope: Vector) -> float:
        """``abs(slope) @ abs(center) + radius * norm(slope)``."""
        return ball_extent(slope, self._away, self.radius)

    def interior_point(self) -> Vector:
        """Return the center."""
        return self.center.copy()

    def bounding_box(self) -> tuple[Vector, Vector]:
        """``center - radius`` and ``center + radius``."""
        return self.center - self.radius, self.center + self.radius

    def enclosing_ball(self) -> tuple[Vector, float]:
        """Return the ball itself."""
        return self.center.copy(), self.radius

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """Return the ball itself."""
        return self.center.copy(), self.radius * np.eye(self.dimension)

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """Return center and radius."""
        return {"set": {"center": self.center, "radius": self.radius}}

    def deepest_cut(self, point: Vector, axes: Matrix, tolerance: float) -> tuple[Vector, float] | None:
        """Half-space at the nearest point of the ball."""
        return ball_cut(point, self.center, self.radius, tolerance)


def ball_extent(slope: Vector, center: Vector | None, radius: float) -> float:
    """``abs(slope) @ center + radius * norm(slope)``, no center being the origin."""
    length = radius * sqrt(float(slope.dot(slope)))
    return length if center is None else length + float(np.abs(slope).dot(center))


def ball_cut(point: Vector, center: Vector, radius: float, tolerance: float) -> tuple[Vector, float] | None:
    """Half-space that holds a ball and cuts a point off, as `Domain.deepest_cut` gives it."""
    away = point - center
    distance = float(np.linalg.norm(away))
    return None if distance <= radius + tolerance else (away / distance, distance - radius)
