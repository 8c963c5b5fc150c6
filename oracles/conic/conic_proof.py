"""Proofs of what a conic oracle answers, from its data and the witnesses of the cuts alone.

At a feasible z the vector ``b - A @ z`` is in the cone K, so ``y @ (b - A @ z) >= 0`` for every y of the dual cone: the
half-space ``(A.T @ y) @ z <= b @ y``. Its witness is y, in the rows of one cone.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.conic_value_proof import refuse_infeasible
from oracle_opt.oracles.conic.dual_vector import FIRST, VECTOR
from oracle_opt.oracles.conic.half_spaces import extent_of
from oracle_opt.oracles.conic.lagrangian import MULTIPLIERS, Lagrangian
from oracle_opt.oracles.conic.quadratic import POINT, Quadratic, enclosed
from oracle_opt.oracles.conic.row_matrix import consecutive, row_norms
from oracle_opt.oracles.conic.rows import rows_of
from oracle_opt.oracles.conic.semidefinite import PositiveSemidefinite
from oracle_opt.proof.affine_excess import affine_excess, excess_of
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.linear import half_space
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.parts import Weighted
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import numbers, place

ACTIVE = 1e-3  # of the size of x: how far a row may be from it and have a multiplier


@contextmanager
def refuting(what: str) -> Iterator[None]:
    """Refuse numbers that cannot be counted with; an overflow becomes an infinite excess."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Refuted:
        raise
    except (ValueError, ArithmeticError) as problem:
        raise Refuted(f"the {what} proves nothing: {problem}") from None


class ConicProof:
    """The proof of cuts of ``min 1/2 x @ P @ x + c @ x + offset`` subject to ``b - A @ x`` in K."""

    def __init__(
        self,
        problem: ConicProblem,
        domain: Domain,
        held: NDArray[np.intp],
        tolerance: float,
        quadratic: Quadratic | None,
    ) -> None:
        self.problem, self.domain, self.held, self.tolerance = problem, domain, held, tolerance
        self.quadratic, self.lagrangian = quadratic, Lagrangian(problem, quadratic)

    def cut(self, claim: CutClaim, exact: bool) -> Bound | None:
        """As `Oracle.prove_cut` says."""
        with refuting("witness"):
            if claim.kind is ClaimKind.HALF_SPACE:
                return _half_space_excess(self.problem, self.domain, claim, exact)
            if claim.kind is ClaimKind.BOUND:
                raise Refuted("a conic oracle proves no bounds by itself")
            if claim.kind is ClaimKind.MINORANT and MULTIPLIERS in claim.witness:
                return self._lagrangian(claim, exact)
            return self._objective(claim, exact)

    def _lagrangian(self, claim: CutClaim, exact: bool) -> Bound:
        """By how much a minorant claims more than its point and the multipliers of all rows prove."""
        x = numbers("point of the cut", claim.witness[POINT], self.domain.dimension)
        y = numbers("multipliers", claim.witness[MULTIPLIERS], len(self.problem.b))
        if not exact:
            return affine_excess(self.domain, claim, *self.lagrangian.at_ends(self.domain, x, y), x)
        half_space = combined_half_space(self.problem, y, exact)
        if half_space is None:
            raise Refuted("the dual of a cone of one's own is not known")
        (constant, pull), at = half_space, Enclosure.of(x, exact)
        if self.quadratic is None:
            slope = Enclosure.of(self.problem.c, exact)
            value = (slope * at).sum() + self.problem.offset
        else:
            value, slope = enclosed(self.quadratic.whole.tangent(_kind(exact).of(x)))
        return affine_excess(self.domain, claim, value + constant + (pull * at).sum(), slope + pull, x)

    def _objective(self, claim: CutClaim, exact: bool) -> Bound | None:
        if claim.kind is ClaimKind.SUMMAND:
            if self.quadratic is None or not self.quadratic.multicut:
                raise Refuted("the objective has no summands")
            _refuse_other_summands(self.quadratic, claim)
            if claim.summand > 0:
                return _square_excess(self.quadratic, claim, exact)
        if self.quadratic is None:
            offset, slope = (Enclosure.of(part, exact) for part in (np.array(self.problem.offset), self.problem.c))
            return affine_excess(self.domain, claim, offset, slope)
        if POINT not in claim.witness:
            return None
        point = numbers("point of the cut", claim.witness[POINT], self.domain.dimension)
        part = self.quadratic.rest if claim.kind is ClaimKind.SUMMAND else self.quadratic.whole
        return affine_excess(self.domain, claim, *enclosed(part.tangent(_kind(exact).of(point))), point)

    @np.errstate(all="ignore")
    def value(self, claim: ValueClaim, exact: bool) -> Bound | None:
        """As `Oracle.prove_value` says."""
        x = numbers("best point", claim.point, self.domain.dimension)
        if not refuse_infeasible(self.problem, self.held, self.tolerance, extent_of(self.domain), x):
            return None
        at = _kind(exact).of(x)
        if self.quadratic is None:
            return _number((at * self.problem.c).sums([0, x.size])[0] + self.problem.offset)
        return _number(self.quadratic.tangent(at)[0])

    def infeasible(self, dual: Vector, exact: bool) -> Bound | None:
        """By how much every point of the domain violates the half-space of y, ``min (A.T @ y) @ z - b @ y`` over it.

        It is positive, or y, put into the dual cone, is refused; `None` for cones of a user's own.
        """
        with refuting("vector"):
            proven = combined_half_space(self.problem, dual, exact)
            if proven is None:
                return None
            value, slope = proven
            # a half-space that claims the constant everywhere, and what it claims too much
            constant = max(0.0, float(value.upper))
            excess = excess_of(self.domain, Enclosure.of(constant, exact) - value, -slope)
            margin = Fraction(constant) - Fraction(excess) if np.isfinite(float(excess)) else Fraction(-1)
        if margin <= 0:
            raise Refuted("the vector does not prove that no point of the domain is feasible")
        return margin if exact else float(np.nextafter(float(margin), 0.0))


def combined_half_space(problem: ConicProblem, dual: Vector, exact: bool) -> tuple[Enclosure, Enclosure] | None:
    """``-b @ y`` and ``A.T @ y`` of the half-space of y, put into the dual cone; `None` for cones of a user's own."""
    y, start = numbers("dual vector", dual, len(problem.b)), 0
    value, slope = Enclosure.of(np.zeros(()), exact), Enclosure.of(np.zeros(problem.A.shape[1]), exact)
    for cone in problem.cones:
        rows = slice(start, start + cone.dimension)
        start += cone.dimension
        if not y[rows].any():
            continue
        short = cone.witness(y[rows])
        part = cone.dual_near(Enclosure.of(y[rows] if short is None else short, exact))
        if part is None:
            return None
        constant, pull = half_space(consecutive(problem.A, rows), Enclosure.of(problem.b[rows], exact), part)
        value, slope = value + constant, slope + pull
    return value, slope


def combined_multipliers(problem: ConicProblem, terms: Iterable[Weighted]) -> Vector:
    """The multipliers of all rows behind a minorant that is made of these claims; 0 for rows that the domain holds."""
    y, total = np.zeros(len(problem.b)), 0.0
    for weight, claim in terms:
        if claim.kind is ClaimKind.MINORANT:
            total += weight
        if MULTIPLIERS in claim.witness:
            y += weight * np.asarray(claim.witness[MULTIPLIERS])
        elif claim.kind is ClaimKind.HALF_SPACE and FIRST in claim.witness:
            found = _dual_vector(problem, claim.witness, False)
            if found is not None:
                y[found[0]] += 0.5 * weight * (found[1].lower + found[1].upper)
    return y / (total or 1.0)


def held_multipliers(problem: ConicProblem, held: NDArray[np.intp], x: Vector, slope: Vector) -> Vector:
    """Multipliers of those rows that the domain holds and that are active at x which take off the most of a slope."""
    rows = problem.A[held]
    free = np.isin(held, rows_of(problem.cones, Zero))
    active = free | (problem.b[held] - rows @ x <= ACTIVE * (abs(rows).sum(axis=1) * np.abs(x).max(initial=0.0)))
    y = np.zeros(len(problem.b))
    if active.any():
        from scipy.optimize import lsq_linear  # only here: it takes a while to load

        lower = np.where(free[active], -np.inf, 0.0)
        units, size = row_norms(rows[active]), float(np.abs(slope).max(initial=0.0)) or 1.0
        units = np.where(units > 0.0, units, 1.0)
        scaled = sparse.diags_array(1.0 / units) @ rows[active]
        with np.errstate(all="ignore"):
            found = lsq_linear(scaled.T, -slope / size, (lower, np.inf)).x * size / units
        y[held[active]] = np.where(np.isfinite(found), found, 0.0)
    return y


def _half_space_excess(problem: ConicProblem, domain: Domain, claim: CutClaim, exact: bool) -> Bound | None:
    """By how much a half-space claims more than the vector y of its witness proves; `None` without, or if unknown."""
    if FIRST not in claim.witness or VECTOR not in claim.witness:
        return None
    y = _dual_vector(problem, claim.witness, exact)
    if y is None:
        return None
    rows, dual = y
    block, side = consecutive(problem.A, rows), Enclosure.of(problem.b[rows], exact)
    return affine_excess(domain, claim, *half_space(block, side, dual))


def _dual_vector(problem: ConicProblem, witness: Mapping[str, Any], exact: bool) -> tuple[slice, Enclosure] | None:
    """The rows of a witness, and a vector of the dual cone in these; `None` for a cone that is not known here."""
    first = place("first row of the dual vector", witness[FIRST], len(problem.b))
    given = np.asarray(witness[VECTOR])
    cone, start = _cone_of(problem, first)
    if isinstance(cone, PositiveSemidefinite):
        if first != start or given.ndim != 2:
            raise Refuted("the dual vectors of a semidefinite cone are no matrix, or do not begin in its first row")
        rows = slice(start, start + cone.dimension)
    else:
        rows = slice(first, first + given.size)
        linear = isinstance(cone, Zero | Nonnegative)
        if given.ndim != 1 or not given.size or rows.stop > start + cone.dimension or not (linear or first == start):
            raise Refuted("the dual vector does not fit the rows of one cone")
    dual = cone.dual_near(Enclosure.of(numbers("dual vector", given, *given.shape), exact))
    return None if dual is None else (rows, dual)


def _cone_of(problem: ConicProblem, row: int) -> tuple[Cone, int]:
    """The cone in which a row is, and its first row."""
    start = 0
    for cone in problem.cones:
        if row < start + cone.dimension:
            return cone, start
        start += cone.dimension
    raise Refuted(f"there is no row {row}")


def _kind(exact: bool) -> type[Numbers]:
    return Fractions if exact else Floats


def _number(value: Numbers) -> Bound:
    """The upper end."""
    upper: Bound = value.above()
    if isinstance(upper, float) and not np.isfinite(upper):
        raise Refuted("the value at the best point is not finite")
    return upper


def _square_excess(quadratic: Quadratic, claim: CutClaim, exact: bool) -> Bound:
    """By how much a cut of a square exceeds it, from its slope alone: see docs/theory_cones.md, "the tangent"."""
    number = claim.summand - 1
    r = quadratic.squares.roots[[number]].toarray()[0]
    weight = float(quadratic.squares.weights[number])
    steep = Enclosure.of(np.array(float(claim.slope @ r) / float(r @ r)), exact)
    return affine_excess(quadratic.domain, claim, -(steep**2 / (2.0 * weight)), Enclosure.of(r, exact) * steep)


def _refuse_other_summands(quadratic: Quadratic, claim: CutClaim) -> None:
    """Refuse a claim of a summand that the objective does not have."""
    n = quadratic.n_summands
    if claim.n_summands != n or not 0 <= claim.summand < n:
        raise Refuted(f"the function has {n} summands, the claim is of {claim.n_summands}")
