"""Random points of a domain: vertices, the interior point, points between, and what is projected."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain


def points_of(domain: Domain, count: int, rng: np.random.Generator) -> list[Vector]:
    """Give `count` points of the set in which a minimizer is promised, the interior point first.

    Of three points one minimizes a random linear function, mostly a vertex, one is a random convex combination of such
    points, and one lies on the way to such a combination, mostly near the interior point. Where a linear function has
    no minimum, a random point around the interior point, projected, stands in for a vertex.
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
