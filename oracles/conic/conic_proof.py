"""Proofs of what a conic oracle answers, from its data and the witnesses of the cuts alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.certificates.affine_excess import affine_excess, numbers
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.conic_value_proof import refuse_infeasible
from oracle_opt.oracles.conic.half_space_proof import half_space_excess, infeasibility_margin
from oracle_opt.oracles.conic.half_spaces import extent_of
from oracle_opt.oracles.conic.quadratic import POINT, Quadratic
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim


class ConicProof:
    """What proves cuts of ``min 1/2 x @ P @ x + c @ x + offset`` subject to ``b - A @ x`` in K.

    Parameters
    ----------
    problem : ConicProblem
        The data.
    domain : Domain
        Where x lies.
    held : ndarray of int
        Rows that the domain takes up.
    tolerance : float
        By how much a feasible point may miss a constraint.
    quadratic : Quadratic, optional
        The objective, if it is one.
    """

    def __init__(
        self,
        problem: ConicProblem,
        domain: Domain,
        held: NDArray[np.intp],
        tolerance: float,
        quadratic: Quadratic | None,
    ) -> None:
        self.problem, self.domain, self.held, self.tolerance = problem, domain, held, tolerance
        self.quadratic = quadratic

    @np.errstate(all="ignore")
    def cut(self, claim: CutClaim, exact: bool) -> float | Fraction | None:
        """As `Oracle.prove_cut` says; what overflows becomes an excess that is infinite, or is refused."""
        try:
            if claim.kind is ClaimKind.HALF_SPACE:
                return half_space_excess(self.problem, self.domain, claim, exact)
            if claim.kind is ClaimKind.BOUND:
                raise Refuted("a conic oracle proves no bounds by itself")
            return self._objective(claim, exact)
        except (ValueError, ArithmeticError) as problem:
            raise (
                problem if isinstance(problem, Refuted) else Refuted(f"the witness proves nothing: {problem}")
            ) from None

    def _objective(self, claim: CutClaim, exact: bool) -> float | Fraction | None:
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
        return affine_excess(self.domain, claim, *part.tangent(Enclosure.of(point, exact)), point)

    @np.errstate(all="ignore")
    def value(self, claim: ValueClaim, exact: bool) -> float | Fraction | None:
        """As `Oracle.prove_value` says."""
        x = numbers("best point", claim.point, self.domain.dimension)
        if not refuse_infeasible(self.problem, self.held, self.tolerance, extent_of(self.domain), x):
            return None
        if self.quadratic is None:
            at: Any = Enclosure.of(x, exact)
            return _number((at * self.problem.c).sum() + self.problem.offset)
        return _number(self.quadratic.tangent(Enclosure.of(x, exact))[0])

    @np.errstate(all="ignore")
    def infeasible(self, dual: Vector, exact: bool) -> float | Fraction | None:
        """As `ConicOracle.prove_infeasible` says."""
        try:
            return infeasibility_margin(self.problem, self.domain, dual, exact)
        except (ValueError, ArithmeticError) as problem:
            if isinstance(problem, Refuted):
                raise
            raise Refuted(f"the vector proves nothing: {problem}") from None


def _number(value: Enclosure) -> float | Fraction:
    """The upper end."""
    upper: float | Fraction = value.upper.item()
    if isinstance(upper, float) and not np.isfinite(upper):
        raise Refuted("the value at the best point is not finite")
    return upper


def _square_excess(quadratic: Quadratic, claim: CutClaim, exact: bool) -> float | Fraction:
    """By how much a cut of a square exceeds it: with the slope g it needs no point.

    For any number s, ``w/2 (r @ z)**2 >= s (r @ z) - s**2 / (2 w)``, and the best s is ``g @ r / r @ r``.
    """
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
