"""Whether a point is feasible within the tolerance that `ConicOracle` states, told anew from A, b and the cones.

An equation or inequality may be missed by what `feasibility.allowed` says, those that the domain took up as the domain
holds its rows. For a curved cone, let d be the distance of ``v = b - A @ x`` from it, y the direction to a point of the
cone, and R the extent of the domain. Then d is at most ``tolerance * min(1, R) * norm(A.T @ y)``, and ``tolerance``
times the largest term of v, or, as multipliers amplify rounding, 32 EPS times the terms of ``y @ v``. The
point of the cone is the projection of v, which need not be believed: it is put into the cone by its construction, and
what that moves it counts as distance.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.feasibility import allowed
from oracle_opt.oracles.conic.cones import Nonnegative, Zero, lengths
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.row_matrix import RowMatrix, consecutive, row_norms
from oracle_opt.oracles.conic.second_order import SecondOrder

NEAR = 32 * EPS  # what counts as rounding beside a curved cone, relative to the terms of ``y @ (b - A @ x)``
ROUNDING = 16 * EPS  # beside a row, relative to its terms
HELD = 1e-9  # how near to its rows a point of the domain is
AT_ONCE = 1 << 12  # rows whose terms are in memory at a time
SLACK = 1.001  # of what is allowed: its own norms are rounded


def refuse_infeasible(
    problem: ConicProblem, held: NDArray[np.intp], tolerance: float, extent: Vector, x: Vector
) -> bool:
    """Refuse a point that is farther from some constraint than the oracle tolerates."""
    v = problem.b - problem.A @ x
    terms, reach = np.abs(problem.b), float(np.linalg.norm(extent))
    largest, may = float(terms.max(initial=0.0)), ROUNDING * terms
    for first in range(0, len(v), AT_ONCE):
        rows = slice(first, min(first + AT_ONCE, len(v)))
        sizes = abs(consecutive(problem.A, rows))
        terms[rows] += sizes @ np.abs(x)
        may[rows] += tolerance * terms[rows] + allowed(sizes, x, terms[rows], 0.0, extent)
        none = first + np.flatnonzero(sizes @ np.ones(len(x)) == 0.0)
        terms[none], may[none] = largest, ROUNDING * largest
    may[held] += max(HELD - tolerance, 0.0) * terms[held]
    may *= SLACK
    start, known, near_ones = 0, True, _near_ones(problem, v, terms, tolerance, reach)
    for cone in problem.cones:
        rows = slice(start, start + cone.dimension)
        start += cone.dimension
        if rows.start in near_ones:
            continue
        if isinstance(cone, Zero | Nonnegative):
            size = np.abs if isinstance(cone, Zero) else np.negative
            missed = size(v[rows], out=terms[rows])  # in memory that is not needed any more
            if not (missed <= may[rows]).all():
                row = rows.start + int(np.argmax(np.where(missed <= may[rows], -np.inf, missed)))
                raise Refuted(
                    f"the point misses row {row} by {missed[row - rows.start]:.6g}, {may[row]:.3g} is allowed"
                )
            continue
        near = cone.point_near(v[rows])
        if near is None:
            known = False
            continue
        away = near - v[rows]
        distance = float(np.linalg.norm(away))
        if not distance:
            continue
        y = away / distance
        pull = consecutive(problem.A, rows).T @ y
        near_enough = tolerance * min(min(1.0, reach) * sqrt(pull @ pull), float(terms[rows].max()))
        most = SLACK * max(near_enough, (NEAR + cone.rounding) * float(np.abs(y) @ terms[rows]))
        if not distance <= most:
            raise Refuted(
                f"the point misses the {cone!r} from row {rows.start} on by {distance:.6g}, {most:.3g} is allowed"
            )
    return known


def near_enough(
    A: RowMatrix, rows: NDArray[np.intp], away: Matrix, terms: Matrix, tolerance: float, reach: float, noise: float
) -> NDArray[np.bool_]:
    """Whether cones, a row each, are as near to ``b - A @ x`` as is allowed, the way there known; NaN is not."""
    distances = lengths(away)
    y = away / np.where(distances > 0.0, distances, 1.0)[:, None]
    k, size = rows.shape
    turned = sparse.csr_array((y.ravel(), rows.ravel(), size * np.arange(k + 1)), shape=(k, A.shape[0]))
    pulls = row_norms(turned @ A)
    allowed = tolerance * np.minimum(min(1.0, reach) * pulls, terms.max(axis=1))
    near: NDArray[np.bool_] = distances <= np.maximum(allowed, noise * (np.abs(y) * terms).sum(axis=1))
    return near


def _near_ones(problem: ConicProblem, v: Vector, terms: Vector, tolerance: float, reach: float) -> set[int]:
    """The first rows of those second-order and exponential cones that are found to be near, kind by kind."""
    near, groups, start = set[int](), dict[object, list[int]](), 0
    alike = {}
    for cone in problem.cones:
        if type(cone) in (SecondOrder, Exponential):
            groups.setdefault(cone.alike, []).append(start)
            alike[cone.alike] = cone
        start += cone.dimension
    for key, starts in groups.items():
        cone = alike[key]
        rows = np.array(starts)[:, None] + np.arange(cone.dimension)
        points = cone.nearby(v[rows])
        assert points is not None
        noise = NEAR + cone.rounding
        found = near_enough(problem.A, rows, points - v[rows], terms[rows], tolerance, reach, noise)
        near.update(np.array(starts)[found].tolist())
    return near
