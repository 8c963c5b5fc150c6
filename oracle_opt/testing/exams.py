"""Tools of the checks of oracles and domains: points to try, and answers kept as they were."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.checks import check_cut
from oracle_opt.cuts import Cut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidCut
from oracle_opt.oracle import Oracle
from oracle_opt.testing.conformance import ConformanceError, changed, copied, ruled

ASKED = "`query` answers every point of the domain with a cut of it"
WRITTEN = "a cut can be written to a journal and read again"


@dataclass(frozen=True, eq=False)
class Answered:
    """An answered query, and a copy of all that the cut held then."""

    query: Query
    cut: Cut
    fields: dict[str, Any]


@dataclass(frozen=True, eq=False)
class OracleExam:
    """An oracle, the points to ask it at, the accuracies it reaches, and what is allowed."""

    oracle: Oracle
    subject: str
    points: list[Vector]
    accuracies: tuple[float, ...]
    tolerance: float

    def fail(self, rule: str, seen: str, advice: str, **at: Vector) -> ConformanceError:
        """The error to raise."""
        return ConformanceError(self.subject, rule=rule, seen=seen, advice=advice, at=at)

    def queries(self) -> list[Query]:
        """Each point, for each accuracy."""
        return [Query(z, accuracy) for z in self.points for accuracy in (None, *self.accuracies)]

    def pass_over(self, queries: Iterable[Query], oracle: Oracle | None = None) -> list[Answered]:
        """Answers of a new run."""
        oracle = self.oracle if oracle is None else oracle
        oracle.reset()
        oracle.domain.reset()
        return [self.ask(query, oracle) for query in queries]

    def ask(self, query: Query, oracle: Oracle | None = None) -> Answered:
        """The answer to a query, which must be a cut of it and leave it alone."""
        oracle, z = self.oracle if oracle is None else oracle, query.point
        given = replace(query, point=z.copy())
        with ruled(self.subject, ASKED, "see the traceback above", {"point": z}):
            cut = oracle.query(given)
        if changed(z, given.point):
            raise self.fail(
                "`query` leaves the query point alone",
                f"it is {given.point} after the query",
                "work on a copy of `query.point`",
                point=z,
            )
        try:
            cut = check_cut(cut, z.copy(), oracle)
        except InvalidCut as problem:
            advice = "see `help(oracle_opt.ObjectiveCut)` and `help(oracle_opt.FeasibilityCut)`"
            raise self.fail(ASKED, str(problem), advice, point=z) from problem
        return Answered(query, cut, copied(cut))


@dataclass(frozen=True, eq=False)
class DomainExam:
    """A domain under examination."""

    domain: Domain
    subject: str
    points: list[Vector]
    size: float
    tolerance: float
    rng: np.random.Generator

    def fail(self, rule: str, seen: str, advice: str, **at: Vector) -> ConformanceError:
        """The error to raise."""
        return ConformanceError(self.subject, rule=rule, seen=seen, advice=advice, at=at)

    def around(self) -> list[Vector]:
        """Points anywhere, most of them outside."""
        reach = self.size * 10.0 ** self.rng.uniform(-1, 1, size=len(self.points))
        noise = self.rng.normal(size=(len(self.points), self.domain.dimension))
        return [z + r * e for z, r, e in zip(self.points, reach, noise, strict=True)]

    def slopes(self) -> list[Vector]:
        """Slopes of several sizes; some with zeros and ties, as those of sparse problems."""
        n, slopes = self.domain.dimension, []
        for k in range(len(self.points)):
            slope = self.rng.normal(size=n) if k % 2 else self.rng.integers(-1, 2, size=n).astype(float)
            slopes.append(slope * 10.0 ** self.rng.uniform(-2, 2))
        return [np.eye(n)[0], *slopes, np.ones(n), -np.ones(n)]


def points_of(domain: Domain, count: int, rng: np.random.Generator) -> list[Vector]:
    """Give `count` points of the set in which a minimizer is promised, the interior point first.

    A third each: minimizers of random linear functions (or projected points), combinations of those, and points on the
    way to combinations, mostly near the interior point.
    """
    middle, n = domain.interior_point(), domain.dimension
    ends = [_end(domain, middle, rng) for _ in range(min(count, 2 * n + 2))]
    points = [middle]
    for k in range(1, count):
        away = rng.dirichlet(np.full(len(ends), 0.5)) @ np.array(ends) - middle
        if k % 3 == 1:
            points.append(ends[k % len(ends)].copy())
        else:
            points.append(middle + (10.0 ** rng.uniform(-3, 0) if k % 3 == 0 else 1.0) * away)
    return points


def _end(domain: Domain, middle: Vector, rng: np.random.Generator) -> Vector:
    end = domain.minimize_linear(rng.normal(size=domain.dimension))[1]
    if np.isfinite(end).all():
        return end
    return domain.project(middle + rng.normal(size=domain.dimension) * max(1.0, float(np.abs(middle).max())))


def size_of(domain: Domain, rng: np.random.Generator) -> float:
    """Distance of some vertex from the interior point; 1 where the set has no end."""
    middle = domain.interior_point()
    end = domain.minimize_linear(rng.normal(size=domain.dimension))[1]
    away = float(np.linalg.norm(end - middle)) if np.isfinite(end).all() else 1.0
    return away or 1.0
