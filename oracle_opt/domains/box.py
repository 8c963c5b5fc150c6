"""Lower and upper bounds of each variable."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains._domain_arguments import short
from oracle_opt.domains.described_sets import Described, described_bounds
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.linear_constraints import LinearConstraints, ellipsoid_around
from oracle_opt.domains.promised_bounds import PromisedBounds, checked_promised
from oracle_opt.errors import InvalidArgument
from oracle_opt.feasibility import within_bounds


class Box(Domain):
    """``{z : lower <= z <= upper}``; bounds may be infinite, and equal ones fix a variable.

    Parameters
    ----------
    lower, upper : array_like of shape (n,)
        Bounds, ``lower <= upper``.
    promised : array_like of bool, shape (2, n) or to be broadcast
        Which lower and upper bounds are no constraints of the problem but the statement that some minimizer lies
        within. No point beyond them is asked; runs that end at one of these say so. Default: none.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, promised: ArrayLike = False) -> None:
        self.lower: Vector
        self.upper: Vector
        self.lower, self.upper = _broadcast(floats("lower", lower), floats("upper", upper))
        if self.lower.ndim != 1 or self.lower.size == 0:
            raise InvalidArgument(f"`lower` and `upper` must have shape (n,), got {self.lower.shape}")
        ordered = (self.lower <= self.upper) & (self.lower < np.inf) & (self.upper > -np.inf)
        if not ordered.all():
            j = int(np.flatnonzero(~ordered)[0])
            raise InvalidArgument(
                "`lower` must be at most `upper`, with a number between them, "
                f"got {self.lower[j]} and {self.upper[j]} at index {j}"
            )
        self.dimension = self.lower.size
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        lower, upper = np.where(below, self.lower, 0.0), np.where(above, self.upper, 0.0)
        self._middle = np.where(below & above, 0.5 * (lower + upper), lower + upper + below - above)
        self._reach = np.maximum(np.abs(lower), np.abs(upper))
        self.promised: NDArray[np.bool_] = checked_promised(promised, lower.size)

    def __repr__(self) -> str:
        return f"Box({short(self.lower)}, {short(self.upper)}, dimension={self.dimension})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Clip; the same in every diagonal metric."""
        return np.minimum(np.maximum(point, self.lower), self.upper)

    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """Whether each variable is within its bounds, up to a share of its own size and of the bound's."""
        return within_bounds(point, self.lower, self.upper, tolerance)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Lower bound where the slope is positive, upper bound where it is negative."""
        point = np.where(slope > 0, self.lower, self.upper)
        if not slope.all():  # where it is flat a bound may be infinite, and 0 * inf is no number
            np.copyto(point, self.interior_point(), where=slope == 0)
        return float(slope.dot(point)), point

    def doubt(self, point: Vector) -> str:
        """At a promised bound, within a hundredth of its size or of the width."""
        return self._stated().doubt(point)

    def promise(self) -> str:
        """Return which bounds are only promised."""
        return self._stated().words()

    def _stated(self) -> PromisedBounds:
        return PromisedBounds(self.lower, self.upper, self.promised)

    def interior_point(self) -> Vector:
        """Return the middle; one unit inside the finite bound where the other is infinite; else 0."""
        return self._middle.copy()

    @cached_property
    def _bounds(self) -> LinearConstraints:
        return LinearConstraints(np.zeros((0, self.dimension)), np.zeros(0), self.lower, self.upper)

    def linear_constraints(self) -> LinearConstraints:
        """Return the bounds."""
        return self._bounds

    def bounding_box(self) -> tuple[Vector, Vector]:
        """Return the bounds."""
        return self.lower.copy(), self.upper.copy()

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """Return the bounds that are none of them promised, and if some are, all."""
        bounds = described_bounds(self.lower, self.upper)
        if not self.promised.any():
            return {"set": bounds}
        return {"set": described_bounds(*self._stated().constraints()), "promised": bounds}

    def enclosing_ball(self) -> tuple[Vector, float]:
        """Ball through the corners."""
        half = 0.5 * (self.upper - self.lower)
        return self._middle.copy(), float(np.linalg.norm(half))

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """Ellipsoid through the corners, without the fixed variables."""
        return ellipsoid_around(self.lower, self.upper)


def _broadcast(lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Both sides as arrays of one shape: a number stands for all, a list of one for itself."""
    if lower.shape != upper.shape and lower.ndim and upper.ndim:
        raise InvalidArgument(f"`lower` and `upper` must have one shape, got {lower.shape}, {upper.shape}")
    low, high = (np.array(side) for side in np.broadcast_arrays(lower, upper))
    return low, high
