"""Random points of a domain: vertices, the interior point, points between, and what is projected."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain


def points_of(domain: Domain, count: int, rng: np.random.Generator) -> list[Vector]:
    """Give `count` points of the set in which a minimizer is promised, the interior point first.

    Every fourth point is one that minimizes a random linear function, mostly a vertex. The others lie on segments from
    the interior point to such points, half of them near the interior point. Where a linear function has no minimum, the
    points are random ones around the interior point, projected.
    """
    middle = domain.interior_point()
    points = [middle]
    for k in range(1, count):
        end = domain.minimize_linear(rng.normal(size=domain.dimension))[1]
        if not np.isfinite(end).all():
            end = domain.project(middle + rng.normal(size=domain.dimension) * max(1.0, float(np.abs(middle).max())))
        share = (1.0, rng.uniform(), rng.uniform(), 10.0 ** rng.uniform(-3, 0))[k % 4]
        points.append(end if share == 1.0 else middle + share * (end - middle))
    return points


def size_of(domain: Domain, rng: np.random.Generator) -> float:
    """Distance of some vertex from the interior point; 1 where the set has no end."""
    middle = domain.interior_point()
    end = domain.minimize_linear(rng.normal(size=domain.dimension))[1]
    away = float(np.linalg.norm(end - middle)) if np.isfinite(end).all() else 1.0
    return away or 1.0
