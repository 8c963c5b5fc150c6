"""What the checks of a domain share: the domain, some of its points, and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain
from oracle_opt.testing.conformance import ConformanceError


@dataclass(frozen=True, eq=False)
class DomainExam:
    """A domain under examination.

    Parameters
    ----------
    domain : Domain
        The domain.
    subject : str
        Its name in messages.
    points : list of ndarray
        Points of the set in which a minimizer is promised.
    size : float
        Distance of a vertex from the interior point.
    tolerance : float
        Relative error allowed.
    rng : numpy Generator
        For random points.
    """

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
