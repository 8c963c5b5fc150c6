"""Multipliers of any origin as a proposal: the best of three minorants, of them as they are and of them mended."""

from contextlib import suppress
from copy import copy
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.generator import Minorant
from oracle_opt.oracles.conic.cone_groups import ConeGroups
from oracle_opt.oracles.conic.conic_constraints import ConicConstraints
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.conic_proof import ConicProof, combined_half_space, refuting
from oracle_opt.oracles.conic.conic_proposal import HELD, _onto_equations, with_rows_of
from oracle_opt.oracles.conic.lagrangian import MULTIPLIERS, Lagrangian
from oracle_opt.oracles.conic.quadratic import POINT, EnclosedRows, affine_below, enclosed
from oracle_opt.proof.claim import Bound, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import numbers
from oracle_opt.proposal import Proposal

AWAY = 16.0 * EPS  # of its terms: how far from 0 a reduced cost is brought that may have one sign only
NEARLY = 0.0, 1e-3  # of its terms: a reduced cost that is brought to 0, and left to no bound; both are tried
SLOPPY = 1e-6  # of its terms: a slope that counts as 0 where multipliers are looked at as a ray
PASSES = 10  # over all rows, in search of bounds that they imply
ROOM = 1e-9  # of the terms of a row: how much wider than rounding can make them such bounds are
FAR = 1e9  # a bound beyond is none: rounding of reduced costs would cost more than their sign
NAMED = 10  # columns that a message names


@np.errstate(all="ignore")
def proposal_of(oracle: ConicConstraints, proof: ConicProof, y: Vector, point: Vector | None) -> Proposal:
    """The proposal of multipliers y, a point of the user's brought into the domain; what proves nothing is refused."""
    problem, domain, lagrangian = oracle.problem, oracle.domain, proof.lagrangian
    if not lagrangian.groups.known:
        raise InvalidArgument("`model` has a cone of your own, whose dual is not known: nothing can be proven")
    whole = problem if oracle.free is not None else with_rows_of(problem, domain)
    y = lagrangian.groups.lifted(y)
    if (ray := _ray(proof, whole, domain, y)) is not None:
        raise InvalidArgument(
            f"`multipliers`{'' if ray is y else ', mended,'} prove that no point is feasible, and there is no "
            "bound to certify: `oracle.prove_infeasible(Infeasibility.of(oracle, multipliers))` says so"
        )
    x, linear = point, problem.P is None
    if x is None:  # the Lagrangian's own minimizer, as near as least squares come
        x = domain.interior_point() if linear else lsmr(problem.P, -problem.c - problem.A.T @ y)[0]
    found = [
        steep_minorant(lagrangian, domain, x, one, max(oracle.tolerance, HELD))
        for one in (y, *(mended(whole, domain, x, y, nearly) for nearly in NEARLY))
    ]
    best = max(found, key=lambda one: float(np.nan_to_num(one.minimum(domain), nan=-np.inf)))
    if not np.isfinite(best.minimum(domain)):
        raw, better, _ = (_without_end(domain, one.slope) for one in found)
        plain = raw & (np.abs(found[0].slope) > SLOPPY * (abs(problem.A).T @ np.abs(y) + np.abs(problem.c)))
        wrong = np.flatnonzero(plain if plain.any() else better)
        more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        raise InvalidArgument(
            f"`multipliers` leave a reduced cost at columns {', '.join(map(str, wrong[:NAMED].tolist()))}{more}, which "
            "have no bound on that side, and cannot be mended: they prove nothing. Bound these columns by a `domain` "
            "of the model, state its `radius`, or solve more exactly"
        )
    if point is not None:
        point = domain.project(point)
        if oracle._separate(point) is not None:
            point = _onto_equations(oracle, lagrangian, point)
    return Proposal(point, best, "given multipliers" + ("" if best is found[0] else ", mended"))


def _without_end(domain: Domain, slope: Vector) -> NDArray[np.bool_]:
    """The variables along which a slope falls without end."""
    lower, upper = domain.bounding_box()
    return ((slope > 0) & np.isinf(lower)) | ((slope < 0) & np.isinf(upper))


def steep_minorant(lagrangian: Lagrangian, domain: Domain, x: Vector, y: Vector, tolerance: float) -> Minorant:
    """As `Lagrangian.minorant`, with all of its slope: where that is next to nothing, too, it tells the last digits."""
    value, slope = enclosed_at(lagrangian, domain, x, y)
    (least,), (chosen,) = affine_below(domain, x, value, EnclosedRows.of(slope))
    unknown = np.isinf(domain.bounding_box()).all(axis=0) & (slope.lower < slope.upper)
    chosen = np.where(unknown, slope.upper, chosen)  # not proven to be 0: the minorant falls without end
    lost = 4.0 * EPS * ((len(x) + 4) * float(np.abs(chosen) @ np.abs(x)) + abs(float(least)))
    saved, extras = lagrangian._tolerated(domain, x, y, tolerance), {POINT: x, MULTIPLIERS: y}
    return Minorant(float(least - chosen @ x - lost), chosen, lost, saved, extras=extras)


def enclosed_at(lagrangian: Lagrangian, domain: Domain, x: Vector, y: Vector) -> tuple[Enclosure, Enclosure]:
    """As `Lagrangian.at`; where a column has no end, a reduced cost that may be 0 is counted in fractions."""
    value, slope = lagrangian.at(x, y)
    lower, upper, given, turned = (
        slope.lower,
        slope.upper,
        lagrangian.groups.lifted(y),
        sparse.csr_array(lagrangian.A.T),
    )
    if lagrangian.problem.P is None:
        for j in np.flatnonzero(np.isinf(domain.bounding_box()).any(axis=0) & (lower <= 0) & (upper >= 0)).tolist():
            its = slice(turned.indptr[j], turned.indptr[j + 1])
            terms = zip(turned.data[its].tolist(), given[turned.indices[its]].tolist(), strict=True)
            if sum((Fraction(a) * Fraction(v) for a, v in terms), Fraction(lagrangian.problem.c[j])) == 0:
                lower[j] = upper[j] = 0.0
    return value, Enclosure(lower, upper)


def _ray(proof: ConicProof, whole: ConicProblem, domain: Domain, y: Vector) -> Vector | None:
    """Multipliers, y or y mended, by which no point of the domain is feasible, where these are such."""
    A, b, (lower, upper) = proof.problem.A, proof.problem.b, domain.bounding_box()
    slope = A.T @ y
    used = np.abs(slope) > SLOPPY * (abs(A).T @ np.abs(y))
    if not np.where(slope > 0, slope * lower, slope * upper)[used].sum() > b @ y:
        return None
    n = len(slope)
    for one in (y, mended(ConicProblem(np.zeros(n), whole.A, whole.b, whole.cones), domain, np.zeros(n), y, SLOPPY)):
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


def bounds_of_rows(problem: ConicProblem) -> tuple[Vector, Vector]:
    """Bounds that single rows imply, given those of their other columns, a little wider; infinite where none do."""
    groups, A = ConeGroups(problem.cones), sparse.csr_array(problem.A)
    A = sparse.coo_array(sparse.vstack([A[groups.plus], A[groups.zero], -A[groups.zero]]))
    (rows, columns), a, m = A.coords, A.data, A.shape[0]
    b = np.r_[problem.b[groups.plus], problem.b[groups.zero], -problem.b[groups.zero]]
    alone = np.bincount(rows, minlength=m)[rows] == 1
    lower, upper = np.full(A.shape[1], -np.inf), np.full(A.shape[1], np.inf)
    for _ in range(PASSES):  # a @ x <= b, where all terms but one have their least value
        least = np.where(a > 0, a * lower[columns], a * upper[columns])
        without_end = np.isinf(least)
        known = np.where(without_end, 0.0, least)
        others = np.bincount(rows, without_end, m)[rows] - without_end == 0
        rest = np.bincount(rows, known, m)[rows] - known
        terms = np.bincount(rows, np.abs(known), m)[rows] + np.abs(b[rows])
        # one number over another is rounded once, and not at all by a power of 2
        room = np.where(alone, np.where(np.frexp(np.abs(a))[0] == 0.5, 0.0, 2.0 * EPS), ROOM) * terms
        side = (b[rows] - rest + room) / a
        took, before = others & (np.abs(side) <= FAR) | alone, (lower, upper)
        lower, upper = lower.copy(), upper.copy()
        for sign, ends, best in ((1, upper, np.minimum), (-1, lower, np.maximum)):
            new = took & (sign * a > 0) & (alone | np.isinf(ends[columns]))
            best.at(ends, columns[new], side[new])
        if np.array_equal(before, (lower, upper)):
            break
    return np.minimum(lower, upper), np.maximum(lower, upper)  # where they cross nothing is feasible: any will do


def excess_without_end(proof: ConicProof, claim: CutClaim, exact: bool) -> Bound | None:
    """As `ConicProof.cut`, over bounds some of which are infinite: there a claim may differ to the safe side alone.

    Then it exceeds what is proven by most at the finite end.
    """
    lower, upper = proof.domain.bounding_box()
    with refuting("witness"):
        x = numbers("point of the cut", claim.witness[POINT], len(lower))
        y = numbers("multipliers", claim.witness[MULTIPLIERS], len(proof.problem.b))
        if exact and (half_space := combined_half_space(proof.problem, y, exact)) is not None:
            c = Enclosure.of(proof.problem.c, exact)
            quadratic = proof.quadratic
            slope = half_space[1] + (c if quadratic is None else enclosed(quadratic.whole.tangent(Fractions.of(x)))[1])
        else:
            slope = enclosed_at(proof.lagrangian, proof.domain, x, y)[1]
        over = Enclosure.of(numbers("slope of the claim", claim.slope, len(lower)), slope.exact) - slope
        if (((over.upper > 0) & np.isinf(upper)) | ((over.lower < 0) & np.isinf(lower))).any():
            return np.inf  # else it is most at the finite ends
        ends = np.where(np.isfinite(lower), lower, 0.0), np.where(np.isfinite(upper), upper, 0.0)
        finite = copy(proof)
        finite.domain = Box(np.where(np.isfinite(lower), lower, ends[1]), np.where(np.isfinite(upper), upper, ends[0]))
        return finite.cut(claim, exact)
