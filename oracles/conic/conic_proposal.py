"""Clarabel's solution of a conic problem as a point to ask first and a minorant that is proven."""

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import lsmr

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Vector
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import MissingPackage, OutOfTime, Refuted
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_constraints import ConicConstraints
from oracle_opt.oracles.conic.conic_problem import ConicProblem, recession_of
from oracle_opt.oracles.conic.dual_vector import ROWS
from oracle_opt.oracles.conic.exponential import Exponential
from oracle_opt.oracles.conic.lagrangian import Lagrangian
from oracle_opt.oracles.conic.power import Power
from oracle_opt.oracles.conic.ray import proven_ray
from oracle_opt.oracles.conic.second_order import SecondOrder
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite
from oracle_opt.proof.claim import Bound
from oracle_opt.proposal import Proposal

TOLERANCE = 1e-10  # of Clarabel: at 1e-8 fewer problems are proven to 1e-6, and nothing is saved
REPAIRS = 3
DENSE_ENTRIES = 10**7  # of equations, up to which a point is brought on them by dense least squares
HELD = 1e-9  # how near to its rows a point of the domain is
BOUNDED = ("Solved", "PrimalInfeasible", "MaxTime")  # words of a status after which no direction without end is sought
# Rows for each variable, and entries, from which cuts find the few rows that matter sooner: linear objectives, others
MANY_ROWS = ((10, 20_000), (100, 400_000))


@np.errstate(all="ignore")
def proposed(
    oracle: ConicConstraints,
    lagrangian: Lagrangian,
    direction: Callable[[Vector], str],
    proves: Callable[[Vector, bool], Bound | None],
    where: str,
) -> Proposal | None:
    """The proposal of Clarabel; `None` where it does not know a cone, or inequalities of few variables are many.

    Points not feasible are repaired, see docs/theory_cones.md; `direction` says where f falls without a minimum, and
    `proves` whether multipliers leave no feasible point `where` it looks.
    """
    problem, (m, n) = oracle.problem, oracle.problem.A.shape
    found = oracle.solution()
    if found is None:
        return None
    import clarabel

    whole = problem if oracle.free is not None else with_rows_of(problem, oracle.domain)
    wider = lagrangian if whole is problem else Lagrangian(whole)
    name = f"Clarabel {version('clarabel')}"
    if isinstance(found, Exception):  # nothing rests on the solver: the run begins without it
        return Proposal(None, None, f"{name} failed: {found}")
    x, z, s, status = found
    if oracle.free is not None and not any(word in status for word in BOUNDED):
        ray = _ray(clarabel, *recession_of(problem, oracle.free), x)
        if ray is not None:
            anywhere = ConicProblem(np.zeros(n), problem.A, problem.b, problem.cones)
            point = _onto_equations(oracle, lagrangian, _solved(clarabel, anywhere, problem.b)[0])
            return Proposal(point if np.isfinite(point).all() else None, None, f"{name}: {status}", direction(ray))
    if "PrimalInfeasible" in status:
        return Proposal(None, None, f"{name}: {status}", empty=_emptiness(proves, z[:m], name, where))
    if not m or "Infeasible" in status or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return Proposal(None, None, f"{name}: {status}")
    try:
        y = wider.refined(x, z, s)[:m]
        minorant = lagrangian.minorant(oracle.domain, x, y, max(oracle.tolerance, HELD))
    except (
        ArithmeticError,
        np.linalg.LinAlgError,
        RuntimeError,
    ) as failure:  # of a singular matrix, or of numbers too large
        return Proposal(None, None, f"{name}: {status}, of which nothing is proven: {failure}")
    if not (np.isfinite(minorant.constant) and np.isfinite(minorant.slope).all()):
        return Proposal(None, None, f"{name}: {status}, of which nothing is proven")
    point, words, shift = _onto_equations(oracle, lagrangian, x), f"{name}: {status}", 0.0
    for _ in range(REPAIRS):
        answer = oracle._separate(point)
        if answer is None:
            break
        shift = 10.0 * max(shift, answer.violation / float(np.linalg.norm(answer.normal)))
        inward = wider.groups.inward(np.where(_missed(answer, len(whole.b)), shift * (1.0 + np.abs(whole.b)), 0.0))
        again, _, _, ended = _solved(clarabel, whole, whole.b - inward)
        if "Solved" not in ended:
            break
        point, words = _onto_equations(oracle, lagrangian, again), f"{name}: {status}, repaired by {shift:.0e}"
    return Proposal(point, minorant, words)


def solution_of(oracle: ConicConstraints) -> Any:
    """Clarabel's answer or failure; `None` where it does not know a cone, or inequalities of few variables are many."""
    problem, (m, n) = oracle.problem, oracle.problem.A.shape
    groups = ConeGroups(problem.cones)
    most, entries = MANY_ROWS[problem.P is not None]
    held = getattr(problem.A, "nnz", m * n)
    many = len(groups.plus) >= max(most * n, 1) and held >= entries
    if many or not groups.known:
        return None
    try:
        import clarabel
    except ModuleNotFoundError as failure:
        raise MissingPackage("`clarabel` is needed for a solution to begin with, and comes with cvxpy") from failure
    whole = problem if oracle.free is not None else with_rows_of(problem, oracle.domain)
    try:
        return _solved(clarabel, whole, whole.b)
    except OutOfTime:
        raise
    except Exception as failure:
        return failure


def _emptiness(proves: Callable[[Vector, bool], Bound | None], z: Vector, name: str, where: str) -> str:
    """What proves that no point is feasible; no words if multipliers of the rows alone do not."""
    with suppress(Refuted, ArithmeticError):
        if proves(z, False):
            return f"multipliers of {name} prove that no point{where} satisfies all rows"
    return ""


def with_rows_of(problem: ConicProblem, domain: Domain) -> ConicProblem:
    """The problem with the linear constraints of a domain as further rows, after its own."""
    known = domain.linear_constraints()
    if known is None:
        return problem
    eye = sparse.eye_array(len(known.lower), format="csr")
    high, low = np.isfinite(known.upper), np.isfinite(known.lower)
    matrix, side = known.inequalities
    plus = sparse.vstack([eye[high], -eye[low], sparse.csr_array(matrix)])
    sides = np.concatenate([known.upper[high], -known.lower[low], side])
    zero = sparse.csr_array(known.equality_matrix)
    cones = [kind(count) for kind, count in ((Zero, zero.shape[0]), (Nonnegative, len(sides))) if count]
    A = sparse.csr_array(sparse.vstack([sparse.csr_array(problem.A), zero, plus]))
    b = np.concatenate([problem.b, known.equality_rhs, sides])
    return ConicProblem(problem.c, A, b, (*problem.cones, *cones), problem.P, problem.offset)


def _solved(clarabel: Any, problem: ConicProblem, b: Vector) -> tuple[Vector, Vector, Vector, str]:
    """Clarabel's x, multipliers, slacks and status."""
    n = problem.c.size
    P = sparse.csc_matrix((n, n)) if problem.P is None else sparse.triu(problem.P, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    if isfinite(left := seconds_left()):
        settings.time_limit = left
    cones = [_cone_of(clarabel, cone) for cone in problem.cones]
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(P), problem.c, sparse.csc_matrix(problem.A), b, cones, settings
    ).solve()
    return np.array(found.x), np.array(found.z), np.array(found.s), str(found.status)


def _cone_of(clarabel: Any, cone: Cone) -> Any:
    if isinstance(cone, Zero | Nonnegative | SecondOrder):
        return getattr(clarabel, f"{type(cone).__name__}ConeT")(cone.dimension)
    if isinstance(cone, PositiveSemidefinite):
        return clarabel.PSDTriangleConeT(cone.order)
    if isinstance(cone, Exponential):
        return clarabel.ExponentialConeT()
    assert isinstance(cone, Power)
    return clarabel.PowerConeT(cone.exponent)


def _ray(clarabel: Any, recession: ConicProblem, box: Box, x: Vector) -> Vector | None:
    """A direction in which the objective is proven to fall without end: that of x, or the steepest one in a box."""
    within = with_rows_of(recession, box)
    rays = (proven_ray(recession, near) for near in (x, _solved(clarabel, within, within.b)[0]))
    return next((ray for ray in rays if ray is not None), None)


def _missed(answer: FeasibilityCut, m: int) -> Any:
    """The rows of the cones that a point misses."""
    missed = np.zeros(m, dtype=bool)
    for one in (answer, *answer.further):
        missed[one.extras[ROWS]] = True
    return missed


def _onto_equations(oracle: ConicConstraints, lagrangian: Lagrangian, x: Vector) -> Vector:
    """The nearest point on the equations that the domain does not hold, projected on the domain."""
    rows = np.setdiff1d(lagrangian.groups.zero, oracle._held)
    if len(rows):
        A, b = lagrangian.A[rows], oracle.problem.b[rows]
        if A.shape[0] * A.shape[1] > DENSE_ENTRIES:
            return oracle.domain.project(x + lsmr(A, b - A @ x, atol=1e-15, btol=1e-15)[0])
        for _ in range(2):
            x = x + linalg.lstsq(A.toarray(), b - A @ x, check_finite=False, lapack_driver="gelsy")[0]
    return oracle.domain.project(x)
