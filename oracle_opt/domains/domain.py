"""What a domain answers: a simple known set, its projection, linear minimum and linear constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector, fingerprint


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """The set ``{z : equality_matrix @ z == equality_rhs, lower <= z <= upper}``, cut by ``inequality_matrix @ z <=
    inequality_rhs`` where these are not `None`.
    """

    equality_matrix: NDArray[np.float64]
    equality_rhs: Vector
    lower: Vector
    upper: Vector
    inequality_matrix: NDArray[np.float64] | None = None
    inequality_rhs: Vector | None = None


class Domain(ABC):
    """A closed convex set of points, ndarrays of shape (dimension,)."""

    dimension: int

    @abstractmethod
    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point of the set, in the norm ``sum(metric * z**2)`` (default: all ones)."""

    @abstractmethod
    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum of ``slope @ z`` over the set, and a point that attains it.

        An unbounded minimum is -inf, its point then has infinite entries.
        """

    @abstractmethod
    def interior_point(self) -> Vector:
        """Return a point of the relative interior: the default starting point."""

    def extent(self, slope: Vector) -> float:
        """Largest ``sum(abs(slope * z))`` over the set in which a minimizer is promised, or more.

        Rounding errors of an affine function on the set are multiples of it, and proven bounds are lowered by them. In
        a direction without end the set counts as far as its finite side. By default each variable's range is asked of
        `minimize_linear`, once.
        """
        return float(np.abs(slope).dot(self._reach))

    @cached_property
    def _reach(self) -> Vector:
        """Largest size of each variable, as far as it is finite."""
        unit = np.eye(self.dimension)
        ends = np.abs([[self.minimize_linear(side)[0] for side in (row, -row)] for row in unit])
        reach: Vector = np.where(np.isfinite(ends), ends, 0.0).max(axis=1)
        return reach

    def minimum_rounding(self, slope: Vector) -> float:
        """By how much the minimum that `minimize_linear` gives may exceed the true one.

        Besides the rounding of one sum or product, 4 units of roundoff of the minimum, which is counted anyway. By
        default what a sum of products may, ``(n + 6) / 2 * 2**-52 * extent(slope)``; 0 if it is rounded down.
        """
        return EPS * (0.5 * self.dimension + 3) * self.extent(slope)

    def doubt(self, point: Vector) -> str:
        """Say in a sentence that a point lies at the edge of a set that is only stated to hold a minimizer.

        Where it does, the statement may be false, and with it the lower bounds. No words, the default, if it does not.
        """
        return ""

    def linear_constraints(self) -> LinearConstraints | None:
        """Return the linear description of the set, or `None` if it has none."""
        return None

    def entropic_metric(self, point: Vector) -> Vector | None:
        """Diagonal Hessian of the entropy at a point, kept bounded; `None` where entropy makes no sense."""
        return None

    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """Whether the point is in the set, up to a distance of tolerance * max(1, norm of the point)."""
        return bool(np.linalg.norm(self.project(point) - point) <= tolerance * max(1.0, float(np.linalg.norm(point))))

    def reset(self) -> None:  # noqa: B027 - a set that remembers nothing has nothing to forget
        """Forget warm starts: the next answers are those of a new object."""

    def identity(self) -> str:
        """Words that tell this set from others, to the last bit of its data: part of a problem's identity.

        The default is made of all attributes. A set whose attributes change while it is used returns its data instead.
        """
        shown = "" if type(self).__repr__ is object.__repr__ else f"{self!r}, "  # which would show an address
        return f"{shown}{fingerprint(self)}"
