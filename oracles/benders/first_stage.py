"""The first stage of a two-stage program: its domain, and points of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import floats
from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.result import Result
from oracle_opt.words import shown


def first_stage_point(at: Result | ObjectiveCut | ArrayLike, dimension: int) -> Vector:
    """The first-stage decision that a user of `second_stage` means."""
    if isinstance(at, Result) and at.point is None:
        raise InvalidArgument("`at` is a result without a point: no point was feasible in every scenario")
    given = at.point if isinstance(at, Result | ObjectiveCut) else at
    assert given is not None
    x = floats("at", given, "a Result, an ObjectiveCut or a first-stage decision")
    if x.shape != (dimension,) or not np.isfinite(x).all():
        raise InvalidArgument(f"`at` must be a finite first-stage decision of shape ({dimension},), got {shown(x)}")
    return x


def first_stage(problem: TwoStageProblem, radius: float) -> Polyhedron:
    """Rows and bounds of x; infinite bounds are replaced by the radius."""
    lower, upper = np.maximum(problem.x_lower, -radius), np.minimum(problem.x_upper, radius)
    equal = problem.first_lower == problem.first_upper
    above = np.isfinite(problem.first_upper) & ~equal
    below = np.isfinite(problem.first_lower) & ~equal
    A = problem.A.toarray()
    rows, sides = np.vstack([A[above], -A[below]]), np.r_[problem.first_upper[above], -problem.first_lower[below]]
    used = np.abs(rows).max(axis=1, initial=0.0) > 0
    return Polyhedron(
        rows[used],
        sides[used],
        equality_matrix=A[equal],
        equality_rhs=problem.first_upper[equal],
        lower=lower,
        upper=upper,
    )
