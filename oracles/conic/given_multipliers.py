"""Multipliers of any origin as a proposal: the best of three minorants, of them as they are and of them mended."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.generator import Minorant
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.conic_constraints import ConicConstraints
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.conic_proof import ConicProof
from oracle_opt.oracles.conic.conic_proposal import HELD, _onto_equations, with_rows_of
from oracle_opt.oracles.conic.lagrangian import Lagrangian
from oracle_opt.proposal import Proposal

AWAY = 16.0 * EPS  # of its terms: how far from 0 a reduced cost is brought that may have one sign only
NEARLY = 0.0, 1e-3  # of its terms: a reduced cost that is brought to 0, and left to no bound; both are tried
SLOPPY = 1e-6  # of its terms: a slope that counts as 0 where multipliers are looked at as a ray
PASSES = 10  # over all rows, in search of bounds that they imply
ROOM = 1e-9  # of the terms of a row: how much wider than rounding can make them such bounds are
FAR = 1e9  # a bound beyond is none: rounding of reduced costs would cost more than their sign
CLOSE, LARGE = 1e-12, 300_000  # gap to a given value, or entries of A, from which finite bounds are left unmended
MENDS, STEPS = 3, 200  # rounds of least squares, and steps of each
MOST_SHORTER = 0.1  # share that multipliers of curved cones may lose
NAMED = 10  # columns that a message names


@np.errstate(all="ignore")
def proposal_of(
    oracle: ConicConstraints, proof: ConicProof, y: Vector, point: Vector | None, names: Sequence[str] = ()
) -> Proposal:
    """The proposal of multipliers y, a point of the user's brought into the domain; what proves nothing is refused."""
    problem, domain, lagrangian = oracle.problem, oracle.domain, proof.lagrangian
    if not lagrangian.groups.known:
        raise InvalidArgument("`model` has a cone of your own, whose dual is not known: nothing can be proven")
    y = lagrangian.groups.lifted(y)
    if (ray := ray_of(oracle, proof, y)) is not None:
        raise InvalidArgument(
            f"`multipliers`{'' if ray is y else ', mended,'} prove that no point is feasible, and there is no "
            "bound to certify: `ConicOracle.infeasible_by` takes them"
        )
    x, linear = point, problem.P is None
    if x is None:  # the Lagrangian's own minimizer, as near as least squares come
        x = domain.interior_point() if linear else lsmr(problem.P, -problem.c - problem.A.T @ y)[0]
    tolerance = max(oracle.tolerance, HELD)
    best = raw = lagrangian.minorant(domain, x, y, tolerance, steep=True)
    if not (linear and _good(domain, lagrangian, raw, y, point)):
        tried = [mended_ends(lagrangian, domain, x, y)]
        if lagrangian.A.nnz <= LARGE:
            whole = problem if oracle.free is not None else with_rows_of(problem, domain)
            tried += [mended(whole, domain, x, y, nearly) for nearly in NEARLY]
        for some in tried:
            one = lagrangian.minorant(domain, x, some, tolerance, steep=True)
            best = max(best, one, key=lambda it: float(np.nan_to_num(it.minimum(domain), nan=-np.inf)))
    if not np.isfinite(best.minimum(domain)):
        plain = _without_end(domain, raw.slope)
        plain &= np.abs(raw.slope) > SLOPPY * (abs(problem.A).T @ np.abs(y) + np.abs(problem.c))
        wrong = np.flatnonzero(plain if plain.any() else _without_end(domain, best.slope)).tolist()
        named = ", ".join(names[j] if names else str(j) for j in wrong[:NAMED])
        more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        raise InvalidArgument(
            f"`multipliers` leave a reduced cost at columns {named}{more}, which have no bound on that side, and "
            "cannot be mended: they prove nothing. Bound these columns by a `domain` of the model, state its `radius`, "
            "or solve more exactly"
        )
    if point is not None:
        point = domain.project(point)
        if oracle._separate(point) is not None:
            point = _onto_equations(oracle, lagrangian, point)
    return Proposal(point, best, "given multipliers" + ("" if best is raw else ", mended"))


def _good(domain: Domain, lagrangian: Lagrangian, raw: Minorant, y: Vector, point: Vector | None) -> bool:
    """Whether mending can be left: the bound is next to the value at a point, or finite and the matrix is large."""
    least = raw.minimum(domain)
    if not np.isfinite(least) or (point is None and lagrangian.A.nnz <= LARGE):
        return False
    value = least if point is None else float(lagrangian.problem.c @ point) + lagrangian.problem.offset
    return lagrangian.A.nnz > LARGE or value - least <= CLOSE * abs(value)


def _without_end(domain: Domain, slope: Vector) -> NDArray[np.bool_]:
    """The variables along which a slope falls without end."""
    lower, upper = domain.bounding_box()
    return ((slope > 0) & np.isinf(lower)) | ((slope < 0) & np.isinf(upper))


def ray_of(oracle: ConicConstraints, proof: ConicProof, y: Vector) -> Vector | None:
    """Multipliers, y or y mended, by which no point of the domain is feasible, where these are such."""
    problem, domain = oracle.problem, oracle.domain
    A, b, (lower, upper) = problem.A, problem.b, domain.bounding_box()
    slope = A.T @ y
    used = np.abs(slope) > SLOPPY * (abs(A).T @ np.abs(y))
    with np.errstate(all="ignore"):
        if not np.where(slope > 0, slope * lower, slope * upper)[used].sum() > b @ y:
            return None
        with suppress(Refuted, ArithmeticError):
            if proof.infeasible(y, False):
                return y
        n = len(slope)
        flat = ConicProblem(np.zeros(n), A, b, problem.cones)
        one = mended(flat if oracle.free is not None else with_rows_of(flat, domain), domain, np.zeros(n), y, SLOPPY)
        with suppress(Refuted, ArithmeticError):
            if proof.infeasible(one, False):
                return one
    return None


def mended(whole: ConicProblem, domain: Domain, x: Vector, y: Vector, nearly: float) -> Vector:
    """Multipliers near y with the least reduced costs, of the sign that columns with a single bound may have.

    Rows of the problem after those of y are the domain's: its bounds take the reduced costs of y up, but for those that
    are `nearly` 0, which are to be 0.
    """
    m, z, known = len(y), np.r_[y, np.zeros(len(whole.b) - len(y))], domain.linear_constraints()
    c = whole.c if whole.P is None else whole.P @ x + whole.c
    if len(z) > m and known is not None:
        r, start = c + whole.A[:m].T @ y, m + len(known.equality_rhs)
        r[np.abs(r) <= nearly * (abs(whole.A[:m]).T @ np.abs(y) + np.abs(c))] = 0.0
        of_bounds = np.r_[np.maximum(-r, 0.0)[np.isfinite(known.upper)], np.maximum(r, 0.0)[np.isfinite(known.lower)]]
        z[start : start + len(of_bounds)] = of_bounds
    lower, upper = np.isfinite(domain.bounding_box())
    away = AWAY * (1.0 * lower - upper) * (abs(whole.A[:m]).T @ np.abs(y) + np.abs(c))
    shifted = ConicProblem(whole.c - away, whole.A, whole.b, whole.cones, whole.P)
    return Lagrangian(shifted).refined(x, z, whole.b - whole.A @ x)[:m]


def mended_ends(lagrangian: Lagrangian, domain: Domain, x: Vector, y: Vector) -> Vector:
    """Multipliers near y whose reduced costs have the sign that columns without an end need, by least squares.

    Those are moved that are nearly 0 or wrong, by linear rows that have a multiplier already. Multipliers of other
    cones become shorter, which the epigraph of a norm needs.
    """
    problem, A, groups = lagrangian.problem, lagrangian.A, lagrangian.groups
    c = problem.c if problem.P is None else problem.P @ x + problem.c
    below, above = np.isinf(domain.bounding_box())
    far, y = np.zeros(len(y)), y.copy()
    terms, r = abs(A).T @ np.abs(y) + np.abs(c), c + A.T @ y
    curved = np.ones(len(y), dtype=bool)
    curved[groups.plus] = curved[groups.zero] = False
    if curved.any():  # so much shorter that the worst column is right
        pull, missed = A[curved].T @ y[curved], AWAY * terms * (1.0 * above - below) - r
        needed = ((above & (missed > 0)) | (below & (missed < 0))) & (pull * missed < 0)
        y[curved] *= 1.0 - min(float((-missed / pull)[needed].max(initial=0.0)), MOST_SHORTER)
        r = c + A.T @ y
    wrong = np.where((above & (r < 0)) | (below & (r > 0)), np.abs(r) / np.where(terms > 0, terms, 1.0), 0.0)
    near = (AWAY + min(2.0 * float(wrong.max(initial=0.0)), NEARLY[1])) * terms
    chosen = (above & (r < near)) | (below & (r > -near))
    wanted = (AWAY * (1.0 * above - below) * terms)[chosen]
    small = float(np.abs(wanted - r[chosen]).max(initial=1e-300))  # what multipliers are moved by
    far[groups.plus], far[groups.zero] = y[groups.plus] / (y[groups.plus] + small), 1.0
    moved = (sparse.diags_array(far) @ A[:, chosen]).T.tocsr()
    unit = np.sqrt(moved.multiply(moved).sum(axis=1))
    unit[unit == 0.0] = np.inf
    moved = sparse.diags_array(1.0 / unit) @ moved
    turned = sparse.csr_array(A[:, chosen].T).astype(np.longdouble)
    for _ in range(MENDS if chosen.any() else 0):
        missed = wanted - (turned @ y.astype(np.longdouble) + c[chosen]).astype(float)
        y = groups.lifted(y + far * lsmr(moved, missed / unit, atol=1e-12, btol=1e-12, maxiter=STEPS)[0])
    return y


def bounds_of_rows(problem: ConicProblem, known: tuple[Vector, Vector] | None = None) -> tuple[Vector, Vector]:
    """Bounds that single rows imply, given those of their other columns, a little wider; infinite where none do.

    Known ones of the columns are kept as they are.
    """
    groups, A = ConeGroups(problem.cones), sparse.csr_array(problem.A)
    # of a norm's bound, and of the diagonal of a semidefinite matrix, it is known that they are not negative
    ends = [its[np.cumsum(np.arange(1, cone.order + 1)) - 1] for cone, its in groups.matrices]
    plus = np.concatenate([groups.plus, *(its[:, 0] for its in groups.second), *ends])
    A = sparse.coo_array(sparse.vstack([A[plus], A[groups.zero], -A[groups.zero]]))
    A.eliminate_zeros()
    (rows, columns), a, m = A.coords, A.data, A.shape[0]
    b = np.r_[problem.b[plus], problem.b[groups.zero], -problem.b[groups.zero]]
    alone = np.bincount(rows, minlength=m)[rows] == 1
    lower, upper = known or (np.full(A.shape[1], -np.inf), np.full(A.shape[1], np.inf))
    for _ in range(PASSES):  # a @ x <= b, where all terms but one have their least value
        least = np.where(a > 0, a * lower[columns], a * upper[columns])
        without_end = np.isinf(least)
        finite = np.where(without_end, 0.0, least)
        others = np.bincount(rows, without_end, m)[rows] - without_end == 0
        rest = np.bincount(rows, finite, m)[rows] - finite
        terms = np.bincount(rows, np.abs(finite), m)[rows] + np.abs(b[rows])
        # one number over another is rounded once, and not at all by a power of 2
        room = np.where(alone, np.where(np.frexp(np.abs(a))[0] == 0.5, 0.0, 2.0 * EPS), ROOM) * terms
        side = (b[rows] - rest + room) / a
        took, before = others & (np.abs(side) <= FAR) | alone, (lower, upper)
        lower, upper = lower.copy(), upper.copy()
        for sign, end, best in ((1, upper, np.minimum), (-1, lower, np.maximum)):
            new = took & (sign * a > 0) & (alone | np.isinf(end[columns]))
            best.at(end, columns[new], side[new])
        if np.array_equal(before, (lower, upper)):
            break
    crossed = lower > upper  # then nothing is feasible: any bounds will do, but known ones prove it
    first = (np.minimum(lower, upper), np.maximum(lower, upper)) if known is None else known
    return np.where(crossed, first[0], lower), np.where(crossed, first[1], upper)
