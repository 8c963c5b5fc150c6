"""Small problems whose optimum is known by construction, on any domain."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, hypot, inf

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.domains import (
    Ball,
    Box,
    Domain,
    FreeSpace,
    NonnegativeOrthant,
    Polyhedron,
    ProductOfSimplices,
    Simplex,
)
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.oracle import Oracle
from oracle_opt.testing.exams import points_of

SLACK = 1e-9  # by which the oracle with feasibility cuts tolerates points outside, in the unit of its cuts


@dataclass(frozen=True, eq=False)
class KnownProblem:
    """A problem whose optimum is known, to hold the bounds of a generator against.

    Parameters
    ----------
    name : str
        Says in messages which problem it is.
    oracle : Oracle
        The oracle.
    optimum : float
        The minimum of its function over its domain and feasible set; infinite if no point is feasible.
    accuracy : float
        How exactly the optimum is known, relative to the largest value met.
    start : array_like of shape (n,), optional
        Where to start; default is the interior point of the domain.
    """

    name: str
    oracle: Oracle
    optimum: float
    accuracy: float = 1e-9
    start: ArrayLike | None = None

    @property
    def resolution(self) -> float:
        """Gap at which the problem counts as solved: nothing more can be told from its optimum."""
        return self.accuracy * max(1.0, abs(self.optimum)) if np.isfinite(self.optimum) else 0.0


def small_domains() -> list[Domain]:
    """Make one domain of each class, of a few variables.

    Returns
    -------
    list of Domain
        New objects.
    """
    rng = np.random.default_rng(0)
    rows, sides = rng.normal(size=(5, 4)), rng.uniform(0.2, 0.8, size=5)
    return [
        Simplex(4),
        ProductOfSimplices([2, 3], radius=2.0),
        Box([-1.0, -2.0, 0.0, 1.0], [1.0, 3.0, 4.0, 1.5]),
        NonnegativeOrthant(4, radius=9.0),
        Ball(4, radius=2.0, center=np.arange(4.0)),
        FreeSpace(4, radius=10.0),
        Polyhedron(rows, sides, lower=-1, upper=1, equality_matrix=rng.normal(size=(1, 4)), equality_rhs=[0.1]),
    ]


def small_problems(domain: Domain, seed: int = 0) -> list[KnownProblem]:
    """Problems with known optima on a domain: smooth and not, exact, steep, with summands, with feasibility cuts.

    Parameters
    ----------
    domain : Domain
        Any; affine functions are minimized only over sets that end where `minimize_linear` says.
    seed : int
        Seed of the random data.

    Returns
    -------
    list of KnownProblem
    """
    rng = np.random.default_rng(seed)
    points = points_of(domain, 9, rng)
    size = max(float(np.linalg.norm(z - points[0])) for z in points) or 1.0
    made = [_quadratic(domain, points[0] + 0.4 * size * _unit(rng, domain.dimension), size)]
    made += [_maxima(domain, points[2], size, rng, 1), _maxima(domain, points[3], size, rng, 3)]
    made += [_half_space(domain, points[0], points[4], size), _nothing(domain, points[0], size, rng)]
    slope = _unit(rng, domain.dimension)
    made.append(_steep(domain, points[5], slope / size))
    optimum, end = domain.minimize_linear(slope)
    # where the radius is only a statement about where a minimizer lies, an affine function belies it
    if np.isfinite(optimum) and slope @ domain.project(end - size * slope) >= optimum - 1e-6 * size:
        made.append(_affine(domain, slope, optimum))
    return made


def _unit(rng: np.random.Generator, n: int) -> Vector:
    direction: Vector = rng.normal(size=n)
    return direction / float(np.linalg.norm(direction))


def _problem(
    name: str, domain: Domain, function: Callable[[Vector], Cut], optimum: float, feasibility: bool = False
) -> KnownProblem:
    title = f"{name} on {domain!r}"
    oracle = FunctionOracle(function, domain, gives={FeasibilityCut} if feasibility else (), name=title)
    return KnownProblem(title, oracle, optimum, 1e-7 if feasibility else 1e-9)


def _affine(domain: Domain, slope: Vector, optimum: float) -> KnownProblem:
    """The minimum is the domain's own."""
    return _problem("affine", domain, lambda z: ObjectiveCut(z, float(slope @ z) + 3.0, slope), optimum + 3.0)


def _quadratic(domain: Domain, target: Vector, size: float) -> KnownProblem:
    """Half the squared distance from a point, in units of the size; far from it too low, with an error."""
    nearest = domain.project(target)
    optimum = 0.5 * float(np.sum((nearest - target) ** 2)) / size**2

    def function(z: Vector) -> Cut:
        away = (z - target) / size
        value = 0.5 * float(away @ away)
        error = 0.01 * max(value - optimum, 0.0)
        return ObjectiveCut(z, value - error, away / size, error=error)

    return _problem("quadratic", domain, function, optimum)


def _maxima(domain: Domain, best: Vector, size: float, rng: np.random.Generator, count: int) -> KnownProblem:
    """A sum of maxima of affine functions that are all 0 at one point, some convex combination of slopes being 0."""
    slopes = rng.normal(size=(count, domain.dimension + 2, domain.dimension)) / size
    shares = rng.dirichlet(np.ones(slopes.shape[1]), size=count)
    slopes[:, 0] -= np.einsum("ji,jik->jk", shares, slopes) / shares[:, :1]

    def function(z: Vector) -> Cut:
        values = slopes @ (z - best)
        chosen = values.argmax(axis=1)
        summands = tuple(ObjectiveCut(z, float(values[j, i]), slopes[j, i].copy()) for j, i in enumerate(chosen))
        if count == 1:
            return summands[0]
        value, slope = sum(one.value for one in summands), np.sum([one.subgradient for one in summands], axis=0)
        return ObjectiveCut(z, value, slope, summands=summands)

    name = "maximum of affine functions" if count == 1 else f"sum of {count} maxima, with summands,"
    return _problem(name, domain, function, 0.0)


def _steep(domain: Domain, best: Vector, normal: Vector) -> KnownProblem:
    """``exp(a) - a`` plus a distance, ``a = 20 normal @ (z - best)``: a step out of scale ends where it is +inf."""

    def function(z: Vector) -> Cut:
        along, away = 20.0 * float(normal @ (z - best)), z - best
        distance = hypot(*away)
        if along > 700.0:
            return ObjectiveCut(z, inf, normal)
        slope = 20.0 * (exp(along) - 1.0) * normal + (away / distance if distance else 0.0)
        return ObjectiveCut(z, exp(along) - along + distance, slope)

    return _problem("exponential", domain, function, 1.0)


def _half_space(domain: Domain, center: Vector, end: Vector, size: float) -> KnownProblem:
    """The squared distance from `center` where a cut asks for half the way to `end`: a quarter of that distance's."""
    way = (end - center) / size
    half = 0.5 * float(way @ way)

    def function(z: Vector) -> Cut:
        away = (z - center) / size
        missing = half - float(way @ away)
        if missing > SLACK:
            return FeasibilityCut(z, missing, -way / size, error=SLACK)
        return ObjectiveCut(z, float(away @ away), 2.0 * away / size)

    return _problem("quadratic with a feasibility cut", domain, function, 0.25 * float(way @ way), feasibility=True)


def _nothing(domain: Domain, center: Vector, size: float, rng: np.random.Generator) -> KnownProblem:
    """Two half-spaces that have no point in common."""
    normal = _unit(rng, domain.dimension) / size

    def function(z: Vector) -> Cut:
        along = float(normal @ (z - center))
        side = 1.0 if along >= 0 else -1.0
        return FeasibilityCut(z, side * along + 0.1, side * normal)

    return _problem("no feasible point", domain, function, np.inf, feasibility=True)
