"""Simple known sets: project on them, minimise a linear function over them, list their linear constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import digest, fingerprint
from oracle_opt.cuts import EPS, Vector
from oracle_opt.errors import InvalidArgument

EDGE = 0.01  # share of a radius that counts as its edge


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
        """Largest ``sum(abs(slope * z))`` over the set in which a minimiser is promised, or more.

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
        """Say in a sentence that a point lies at the edge of a set that is only stated to hold a minimiser.

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


def _checked_dimension(dimension: int) -> int:
    if int(dimension) != dimension or dimension < 1:
        raise InvalidArgument(f"`dimension` must be a positive integer, got {dimension!r}")
    return int(dimension)


def _checked_radius(radius: float, *, finite: bool) -> float:
    if not radius > 0 or (finite and not np.isfinite(radius)):
        raise InvalidArgument(f"`radius` must be positive{' and finite' if finite else ''}, got {radius!r}")
    return float(radius)


# A multiple of 1 / w added to t moves nu alone. Where nu is this many times what it leaves of the largest t, the sum of
# the difference is lost in rounding: t less its largest is then projected.
FAR = 1e3


def _project_on_simplices(t: NDArray[np.float64], w: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Row-wise ``max(0, t - nu / w)`` with nu such that each row adds up to radius.

    Condat (2016), "Fast projection onto the simplex", sorting variant, with weights: the breakpoints are t * w.
    Padded entries have t = -inf.
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
        return _project_on_simplices(t - top / w, w, radius)
    result: NDArray[np.float64] = np.maximum(t - nu / w, 0.0)
    return result


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
        self.sizes = tuple(_checked_dimension(size) for size in sizes)
        if not self.sizes:
            raise InvalidArgument("`sizes` must name at least one block, got none")
        self.radius = _checked_radius(radius, finite=True)
        self.dimension = sum(self.sizes)
        self._block = np.repeat(np.arange(len(self.sizes)), self.sizes)
        starts = np.cumsum((0, *self.sizes[:-1]))
        self._place = np.arange(self.dimension) - starts[self._block]
        self._starts = starts

    def __repr__(self) -> str:
        return f"ProductOfSimplices({list(self.sizes)}, radius={self.radius:g})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, exact by sorting."""
        shape = (len(self.sizes), max(self.sizes))
        t = np.full(shape, -np.inf)
        w = np.ones(shape)
        t[self._block, self._place] = point
        if metric is not None:
            w[self._block, self._place] = metric
        result: Vector = _project_on_simplices(t, w, self.radius)[self._block, self._place]
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

    def linear_constraints(self) -> LinearConstraints:
        """One equality a block, and 0 <= z <= radius."""
        matrix = (np.arange(len(self.sizes))[:, None] == self._block).astype(float)
        rhs = np.full(len(self.sizes), self.radius)
        return LinearConstraints(matrix, rhs, np.zeros(self.dimension), np.full(self.dimension, np.inf))

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


class Simplex(ProductOfSimplices):
    """``{z >= 0 : sum(z) == radius}``.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Sum of the variables, default 1.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex(2).project(np.array([2.0, 0.0])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, dimension: int, radius: float = 1.0) -> None:
        super().__init__([dimension], radius)

    def __repr__(self) -> str:
        return f"Simplex({self.dimension}, radius={self.radius:g})"

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Put all on the smallest slope; bounds need this several times a call, and one block needs no search."""
        best = int(slope.argmin())
        point = np.zeros(self.dimension)
        point[best] = self.radius
        return self.radius * float(slope[best]), point

    def extent(self, slope: Vector) -> float:
        """All on the largest slope."""
        sizes = np.abs(slope)
        return self.radius * float(sizes[sizes.argmax()])

    def minimum_rounding(self, slope: Vector) -> float:
        """Return 0: one product is rounded as any minimum is, which is counted for all domains."""
        return 0.0

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, exact by sorting; as for a product, without its padding."""
        inverse = np.ones(self.dimension) if metric is None else 1.0 / metric
        breakpoints = point if metric is None else point * metric
        order = np.argsort(-breakpoints)
        nu = (np.cumsum(point[order]) - self.radius) / np.cumsum(inverse[order])
        last = max(int(np.count_nonzero(breakpoints[order] > nu)) - 1, 0)
        top = breakpoints[order[0]]
        if abs(nu[last]) > FAR * (top - nu[last]):
            return self.project(point - top * inverse, metric)
        result: Vector = np.maximum(point - nu[last] * inverse, 0.0)
        return result


class Box(Domain):
    """``{z : lower <= z <= upper}``; bounds may be infinite.

    Parameters
    ----------
    lower, upper : array_like of shape (n,)
        Bounds, ``lower < upper``.
    promised : array_like of bool, shape (2, n) or to be broadcast
        Which lower and upper bounds are no constraints but the statement that some minimiser lies within. Runs that end
        at one of these say so. Default: none.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, promised: ArrayLike = False) -> None:
        self.lower: Vector
        self.upper: Vector
        self.lower, self.upper = (np.array(side, dtype=float) for side in np.broadcast_arrays(lower, upper))
        if self.lower.ndim != 1 or self.lower.size == 0:
            raise InvalidArgument(f"`lower` and `upper` must have shape (n,), got {self.lower.shape}")
        if not np.all(self.lower < self.upper):
            j = int(np.flatnonzero(~(self.lower < self.upper))[0])
            raise InvalidArgument(
                f"`lower` must be below `upper`, got {self.lower[j]} and {self.upper[j]} at index {j}; "
                "take a fixed variable out of the problem"
            )
        self.dimension = self.lower.size
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        lower, upper = np.where(below, self.lower, 0.0), np.where(above, self.upper, 0.0)
        self._middle = np.where(below & above, 0.5 * (lower + upper), lower + upper + below - above)
        self._reach = np.maximum(np.abs(lower), np.abs(upper))
        self.promised: NDArray[np.bool_] = np.array(np.broadcast_to(np.asarray(promised, dtype=bool), (2, lower.size)))

    def __repr__(self) -> str:
        return f"Box({_words(self.lower)}, {_words(self.upper)}, dimension={self.dimension})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Clip; the same in every diagonal metric."""
        return np.clip(point, self.lower, self.upper)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Lower bound where the slope is positive, upper bound where it is negative."""
        point = np.where(slope > 0, self.lower, self.upper)
        if not slope.all():  # where it is flat a bound may be infinite, and 0 * inf is no number
            np.copyto(point, self.interior_point(), where=slope == 0)
        return float(slope @ point), point

    def doubt(self, point: Vector) -> str:
        """At a promised bound, within a hundredth of its size or of the width."""
        rooms = np.array([point - self.lower, self.upper - point])
        width = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, self._reach)
        sides, which = np.nonzero(self.promised & (rooms <= EDGE * width))
        if not len(which):
            return ""
        side, j = int(sides[0]), int(which[0])
        bound = (self.lower, self.upper)[side][j]
        return _doubt(f"variable {j} is {point[j]:.6g}, where the bound {bound:g} is only promised")

    def interior_point(self) -> Vector:
        """Return the middle; one unit inside the finite bound where the other is infinite; else 0."""
        return self._middle.copy()

    def linear_constraints(self) -> LinearConstraints:
        """Return the bounds."""
        return LinearConstraints(np.zeros((0, self.dimension)), np.zeros(0), self.lower, self.upper)


class NonnegativeOrthant(Box):
    """``{z : z >= 0}``.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        States that some minimiser has all coordinates <= radius. Methods that need a bounded domain use it, and
        the proven lower bounds rest on it. Default: unbounded.
    """

    def __init__(self, dimension: int, radius: float = np.inf) -> None:
        self.radius = _checked_radius(radius, finite=False)
        lower, upper = np.zeros(_checked_dimension(dimension)), np.full(dimension, self.radius)
        super().__init__(lower, upper, promised=[[False], [True]])

    def __repr__(self) -> str:
        return f"NonnegativeOrthant({self.dimension}, radius={self.radius:g})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Cut off at 0; the stated radius is a promise on the minimiser, not a constraint."""
        return np.maximum(point, 0.0)

    def interior_point(self) -> Vector:
        """All ones, or half the radius if that is less."""
        return np.full(self.dimension, min(1.0, 0.5 * self.radius))


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

    def __init__(self, dimension: int, radius: float = 1.0, center: ArrayLike | None = None) -> None:
        self.dimension = _checked_dimension(dimension)
        self.radius = _checked_radius(radius, finite=True)
        self.center = _checked_center(center, self.dimension)
        self._away = np.abs(self.center) if self.center.any() else None

    def __repr__(self) -> str:
        return f"Ball({self.dimension}, radius={self.radius:g}, center={_words(self.center)})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Shrink towards the centre; Euclidean only."""
        if metric is not None:
            raise InvalidArgument("`metric` must be None on a Ball: its projection is Euclidean only")
        away = point - self.center
        return self.center + away / max(1.0, float(np.linalg.norm(away)) / self.radius)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Go the radius against the slope."""
        length = float(np.linalg.norm(slope))
        point = self.center - (self.radius / length) * slope if length > 0 else self.center.copy()
        return float(slope @ self.center) - self.radius * length, point

    def extent(self, slope: Vector) -> float:
        """``abs(slope) @ abs(center) + radius * norm(slope)``."""
        return _ball_extent(slope, self._away, self.radius)

    def interior_point(self) -> Vector:
        """Return the centre."""
        return self.center.copy()


class FreeSpace(Domain):
    """All of R^n, with the statement that some minimiser lies within `radius` of `center`.

    The proven lower bounds rest on that statement: state it generously.

    Parameters
    ----------
    dimension : int
        Number of variables.
    radius : float
        Euclidean distance within which some minimiser lies; infinite if nothing is known, and then no affine
        minorant but a flat one proves a bound.
    center : array_like of shape (dimension,), optional
        Default: the origin.
    """

    def __init__(self, dimension: int, radius: float, center: ArrayLike | None = None) -> None:
        self.dimension = _checked_dimension(dimension)
        self.radius = _checked_radius(radius, finite=False)
        self.center = _checked_center(center, self.dimension)
        self._away = np.abs(self.center) if self.center.any() else None

    def __repr__(self) -> str:
        return f"FreeSpace({self.dimension}, radius={self.radius:g}, center={_words(self.center)})"

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Return the point itself, a copy."""
        return np.array(point)

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum over the ball the minimiser is stated to lie in."""
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
        return _doubt(f"it is {distance:.6g} away from the center, and the radius is stated to be {self.radius:g}")

    def extent(self, slope: Vector) -> float:
        """``abs(slope) @ abs(center) + radius * norm(slope)``, as of a ball; an infinite radius counts as none."""
        return _ball_extent(slope, self._away, self.radius if self.radius < np.inf else 0.0)

    def interior_point(self) -> Vector:
        """Return the centre."""
        return self.center.copy()

    def linear_constraints(self) -> LinearConstraints:
        """Return the box around the ball the minimiser is stated to lie in."""
        none = np.zeros((0, self.dimension))
        return LinearConstraints(none, np.zeros(0), self.center - self.radius, self.center + self.radius)


def _doubt(where: str) -> str:
    return (
        f"The best point lies at the edge of what is promised: {where}. A minimiser may lie farther out, and then the "
        "lower bound is none; state a larger `radius`."
    )


def _ball_extent(slope: Vector, center: Vector | None, radius: float) -> float:
    """``abs(slope) @ center + radius * norm(slope)``, no center being the origin."""
    length = radius * sqrt(float(slope.dot(slope)))
    return length if center is None else length + float(np.abs(slope).dot(center))


def _checked_center(center: ArrayLike | None, dimension: int) -> Vector:
    checked = np.zeros(dimension) if center is None else np.array(center, dtype=float)
    if checked.shape != (dimension,) or not np.isfinite(checked).all():
        raise InvalidArgument(f"`center` must be {dimension} finite numbers, got shape {checked.shape}")
    return checked


def _words(values: Vector) -> str:
    """Return a short text that differs for different arrays."""
    if (values == values[0]).all():
        return f"{values[0]:g}"
    return f"[{values[0]:g} .. {values[-1]:g} #{digest(values)}]"
