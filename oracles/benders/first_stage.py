"""The first stage of a two-stage program: its domain, and points of it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.proof import multiplier_bounds
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.result import Result
from oracle_opt.words import shown

_FARTHEST = 1e6  # radii up to which a bound that rows imply takes the place of the radius


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
    """Rows and bounds of x; infinite bounds become what the rows imply, or else a promise that rests on the radius."""
    A = problem.A.toarray()
    _refuse_empty_rows(problem, A)
    equal = problem.first_lower == problem.first_upper
    above = np.isfinite(problem.first_upper) & ~equal
    below = np.isfinite(problem.first_lower) & ~equal
    lower, upper, promised = _bounds(problem, radius)
    try:
        return Polyhedron(
            np.vstack([A[above], -A[below]]),
            np.r_[problem.first_upper[above], -problem.first_lower[below]],
            equality_matrix=A[equal],
            equality_rhs=problem.first_upper[equal],
            lower=lower,
            upper=upper,
            promised=promised,
        )
    except InvalidArgument as refusal:
        instead = "other rows or bounds"
        if promised.any():
            instead = f"a larger `radius` than {radius:g}, which stands in for infinite bounds of x, or {instead}"
        raise InvalidArgument(
            f"`problem` must have a first stage with a point; state {instead}: {refusal}"
        ) from refusal


def first_stage_bounds(problem: TwoStageProblem, domain: Polyhedron) -> tuple[Vector, Vector]:
    """Bounds of x that every query point keeps: the problem's own, those of its domain where these are infinite."""
    lower, upper = problem.x_lower, problem.x_upper
    return np.where(np.isinf(lower), domain.lower, lower), np.where(np.isinf(upper), domain.upper, upper)


def _bounds(problem: TwoStageProblem, radius: float) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Finite bounds of x, and which lower and upper ones are only promised.

    An infinite one is what rows and other bounds imply, if not too far to count with. Else it is the radius or, where
    the other bound is on that side of 0, so much beyond twice that.
    """
    lower, upper = problem.x_lower, problem.x_upper
    has_lower, has_upper = np.isfinite(problem.first_lower), np.isfinite(problem.first_upper)
    least, most = np.where(has_lower, -np.inf, 0.0), np.where(has_upper, np.inf, 0.0)
    # rows of x are to it what columns of the second stage are to multipliers: A x <= upper side, A x >= lower side
    implied = multiplier_bounds(
        sparse.csr_array(problem.A.T), least, most, problem.first_lower, problem.first_upper, (lower, upper)
    )
    near = [np.abs(side) <= _FARTHEST * radius for side in implied]
    beyond = 2.0 * np.where(np.isfinite(implied[1]), np.minimum(implied[1], 0.0), 0.0) - radius
    above = 2.0 * np.where(np.isfinite(implied[0]), np.maximum(implied[0], 0.0), 0.0) + radius
    infinite = np.isinf([lower, upper])
    result = [
        np.where(is_infinite, np.where(is_near, side, stand_in), own)
        for is_infinite, is_near, side, stand_in, own in zip(
            infinite, near, implied, (beyond, above), (lower, upper), strict=True
        )
    ]
    return result[0], result[1], infinite & ~np.array(near)


def _refuse_empty_rows(problem: TwoStageProblem, A: Matrix) -> None:
    """Refuse rows without variables that do not hold."""
    wrong = ~A.any(axis=1) & ((problem.first_lower > 0) | (problem.first_upper < 0))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise InvalidArgument(
            f"`problem` must have first-stage rows that some x satisfies, and {problem.first_row_names[i]!r} has no "
            f"variables: 0 is not between {problem.first_lower[i]:g} and {problem.first_upper[i]:g}"
        )
