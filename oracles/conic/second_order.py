"""The second-order cone."""

from collections.abc import Hashable

import numpy as np

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Duals, length, lengths, one_row, refuse_misfit, scaled
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST


class SecondOrder(Cone):
    """``{(t, u) : norm(u) <= t}``. It is its own dual.

    Parameters
    ----------
    dimension : int
        Length of (t, u).
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension)
        self.rounding = ROUNDING + self.dimension * EPS

    @property
    def alike(self) -> Hashable:
        """Second-order cones of one dimension are alike."""
        return SecondOrder, self.dimension

    def screen(self, points: Matrix) -> Vector:
        """``(norm(u) - t) / sqrt(2)``, the distance unless the nearest point is the origin."""
        sizes = np.abs(points).max(axis=1)
        unit = points / np.where(sizes > 0.0, sizes, 1.0)[:, None]  # else the squares might be zero or infinite
        outside = np.sqrt(np.einsum("ij,ij->i", unit[:, 1:], unit[:, 1:])) - unit[:, 0]
        distances: Vector = sizes * np.maximum(outside, 0.0) / np.sqrt(2.0)
        return distances

    def nearby(self, points: Matrix) -> Matrix:
        """The nearest points, the first entry enlarged by more than the rounding of the others."""
        t, size = points[:, 0], lengths(points[:, 1:])
        middle = np.where(size <= t, t, np.maximum(0.5 * t + 0.5 * size, 0.0))
        share = np.where(size <= t, 1.0, np.minimum(middle / np.where(size > 0.0, size, 1.0), 1.0))
        near: Matrix = np.c_[middle, share[:, None] * points[:, 1:]]
        least = lengths(near[:, 1:]) * (1.0 + (self.dimension + 8) * EPS)
        least += self.dimension * SMALLEST * near[:, 1:].any(axis=1)
        near[:, 0] = np.maximum(middle, least)
        return near

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One row, ``(1, -u / norm(u)) / sqrt(2)`` unless the nearest point is the origin.

        The first entry is enlarged by more than the rounding of the others.
        """
        v = scaled(v)
        t, u = float(v[0]), v[1:]
        size = float(np.linalg.norm(u))
        if size <= t:
            return np.zeros((0, self.dimension))
        # where v is in the polar cone the nearest point is the origin, and -v separates
        y = -v / length(v) if size <= -t else np.r_[1.0, -u / size] / np.sqrt(2.0)
        y[0] = max(y[0], (1.0 + self.dimension * EPS) * float(np.linalg.norm(y[1:])))
        return one_row(y, v)

    def dual_near(self, y: Enclosure) -> Enclosure:
        """The first entry raised to the norm of the others, rounded up."""
        refuse_misfit(self, y)
        norm = (y[1:] ** 2).sum().sqrt().upper.item()
        raised = y.lower.copy()
        raised[0] = max(raised[0], norm)
        return Enclosure(raised, raised)

    def point_near(self, v: Vector) -> Vector:
        """The projection, its first entry enlarged by more than the rounding of the others."""
        near = self.project(v)
        near[0] = max(near[0], (1.0 + self.dimension * EPS) * float(np.linalg.norm(near[1:])))
        return near
