"""An oracle plus a term that is known in closed form."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from oracle_opt import (
    CapabilityMismatch,
    Cut,
    Domain,
    FeasibilityCut,
    FreeSpace,
    InvalidArgument,
    ObjectiveCut,
    Oracle,
    Query,
    Result,
)
from oracle_opt.arguments import instance
from oracle_opt.arrays import Vector
from oracle_opt.checks import check_cut
from oracle_opt.known import A_TERM, KNOWN_POINT, KNOWN_SLOPE, KnownTerm
from oracle_opt.proof.affine_excess import excess_of
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import number, numbers

TINY = float(np.finfo(float).tiny)
WIDER = 1.05  # times the radius that is computed: for its rounding, and so that no minimizer is at the edge


class Composite(Oracle):
    """``f(z) + h(z)``: f is what an oracle answers, h a term that is known in closed form.

    `LevelSet`, `ProximalBundle` and `Kelley`, the last then known as BMRM, take h as it is: their masters minimize the
    cutting-plane model of f, plus h. Other generators get cuts of the sum.

    The indicator of a box, or of any other simple set, is a `domain`. On a `FreeSpace` of infinite radius a quadratic h
    that bends in every direction proves a radius. With c the least curvature, and g the subgradient of f at the center
    x of h, a minimizer lies within ``norm(g) / c`` of x; where the oracle proves a bound b of f, it lies within
    ``sqrt(2 (f(x) + h(x) - b) / c)``, too. The oracle is then called once, there. Any other radius that is stated is to
    be one of the sum.

    Parameters
    ----------
    oracle : Oracle
        Answers cuts of f. Its domain is taken, unless there is another one.
    known : KnownTerm or cvxpy.Expression
        h: a `QuadraticTerm`, an `L1Term`, or their sum. Or the same in cvxpy, of one variable: multiples of
        ``sum_squares(A @ z - b)`` with A z = b somewhere, and of ``norm1(multiply(w, z))``.
    domain : Domain, optional
        A part of the oracle's domain.

    Raises
    ------
    InvalidArgument
        What is passed is no oracle, no term, or of another number of variables.
    CapabilityMismatch
        The oracle is not convex, or of a problem that was modeled as a maximization.

    Notes
    -----
    Cuts of summands, and other kinds of answers than feasibility cuts, are left out. Each cut names the tangent of h
    that is in it as its witness, so that a certificate of f, plus a tangent of h, is one of the sum: see
    docs/theory_methods.md.

    References
    ----------
    Teo, Vishwanathan, Smola & Le (2010), "Bundle methods for regularized risk minimization"; Kiwiel (1990), "Proximity
    control in bundle methods", on composite functions.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FreeSpace, FunctionOracle, QuadraticTerm, minimize
    >>> from oracle_opt.oracles import Composite
    >>> target = np.array([1.0, 3.0])
    >>> distance = FunctionOracle(lambda z: (abs(z - target).sum(), np.sign(z - target)), FreeSpace(2, radius=np.inf))
    >>> round(minimize(Composite(distance, QuadraticTerm(0.5))).upper_bound, 4)
    2.25
    """

    oracle: Oracle
    known: KnownTerm
    given: Domain

    def __init__(self, oracle: Oracle, known: KnownTerm | Any, domain: Domain | None = None) -> None:
        instance("oracle", oracle, Oracle, "an Oracle; wrap a function in FunctionOracle")
        if hasattr(known, "is_affine"):
            from oracle_opt.oracles.disciplined import known_term  # cvxpy is there, then

            known = known_term(known)
        instance("known", known, KnownTerm, A_TERM)
        if isinstance(oracle, Composite):  # of three terms two are known
            domain, known = oracle.given if domain is None else domain, oracle.known + known
            oracle = oracle.oracle
        self.oracle, self.known = oracle, known
        if not oracle.convex or oracle.maximizes:
            words = "is maximized" if oracle.maximizes else "is not convex"
            raise CapabilityMismatch(f"{oracle!r} {words}: a known term is added to a convex function to be minimized")
        self.domain = oracle.domain if domain is None else instance("domain", domain, Domain, "a Domain such as Box")
        if self.domain.dimension != oracle.domain.dimension:
            raise InvalidArgument(
                f"`domain` must have {oracle.domain.dimension} variables, as the oracle, got {self.domain!r}"
            )
        inside, given = oracle.domain.stated_constraints(), self.domain.bounding_box()
        if inside is not None and ((given[0] < inside.lower) | (given[1] > inside.upper)).any():
            raise InvalidArgument(f"`domain` must be a part of {oracle.domain!r}, the oracle's, got {self.domain!r}")
        known.check(self.domain.dimension)
        self.gives = oracle.gives & {FeasibilityCut}
        self.costly, self.curved, self.adaptive = oracle.costly, oracle.curved, oracle.adaptive
        self.stateless, self.manner = oracle.stateless, oracle.manner
        self.at_edge, self.relaxation = oracle.at_edge, oracle.relaxation
        named = ((KNOWN_POINT, known.quadratic), (KNOWN_SLOPE, known.norm))
        self.witness = oracle.witness + tuple(name for name, part in named if part is not None)
        self.given = self.domain  # without the radius that is proven below
        self._judge = oracle  # of claims, over the domain of the sum
        if isinstance(self.domain, FreeSpace) and np.isinf(self.domain.radius) and known.curvature > 0:
            self.domain = self._bounded(self.domain.dimension)
        if self.domain is not oracle.domain:
            self._judge = copy(oracle)
            self._judge.domain = self.domain

    def _bounded(self, dimension: int) -> Domain:
        """The space with the radius in which a minimizer lies, as the oracle's answer at the term's center proves."""
        known, bend = self.known, self.known.curvature
        assert known.quadratic is not None
        center = np.zeros(dimension) if known.quadratic.center is None else known.quadratic.center
        cut = check_cut(self.oracle.query(Query(center.copy())), center, self.oracle)
        if not isinstance(cut, ObjectiveCut) or cut.upper == np.inf:
            return self.domain
        steep = 0.0 if known.norm is None else float(np.linalg.norm(np.broadcast_to(known.norm.weight, dimension)))
        by_slope = np.inf if cut.error else (float(np.linalg.norm(cut.subgradient)) + steep) / bend
        by_value = float(np.sqrt(2.0 * max(cut.upper + known.value(center) - cut.lower_bound, 0.0) / bend))
        radius = min(by_slope, by_value)
        return self.domain if radius == np.inf else FreeSpace(dimension, max(radius, TINY) * WIDER, center)

    def query(self, query: Query) -> Cut:
        """Ask the oracle, and add the tangent of the term at the query point."""
        cut = self.oracle.query(replace(query, wishes=frozenset()) if query.wishes else query)
        if isinstance(cut, FeasibilityCut) or cut.value == np.inf:
            return cut
        tangent = self.known.touching(cut.point, self.domain)
        value = self.known.value(cut.point)
        cuts = [
            replace(
                one,
                value=one.value + value,
                subgradient=one.subgradient + tangent.slope,
                summands=(),
                further=(),
                answers=(),
                extras={**one.extras, **tangent.witness},
            )
            for one in (cut, *cut.further)
        ]
        return replace(cuts[0], further=tuple(cuts[1:]))

    def reset(self) -> None:
        """As the oracle."""
        self.oracle.reset()

    def resume(self, cut: Cut) -> None:
        """As the oracle, of its own cut."""
        if isinstance(cut, ObjectiveCut):
            value, slope = self.known.value(cut.point), self.known.subgradient(cut.point)
            cut = replace(cut, value=cut.value - value, subgradient=cut.subgradient - slope)
        self.oracle.resume(cut)

    def ended(self, result: Result) -> None:
        """Nothing is told: the oracle knows no run of the sum."""

    def separation(self, point: Vector) -> FeasibilityCut | None:
        """As the oracle."""
        return self.oracle.separation(point)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Take the tangent of the term off the claim; the oracle judges what is left, which claims something of f."""
        if claim.kind is not ClaimKind.MINORANT:  # the term is at least 0
            return self._judge.prove_cut(self._own(claim), exact)
        n = self.domain.dimension
        slope = Enclosure.of(numbers("slope of the claim", claim.slope, n), exact)
        constant = Enclosure.of(number("constant of the claim", claim.constant), exact)
        fixed, steep = self.known.proven(claim.witness, n, exact)
        rest, height = _middle(slope - steep), _middle(constant - fixed)
        own = replace(self._own(claim), constant=float(height), slope=rest)
        excess = self._judge.prove_cut(own, exact)
        if excess is None:
            return None
        left = excess_of(
            self.domain, constant - fixed - Enclosure.of(height, exact), slope - steep - Enclosure.of(rest, exact)
        )
        total: Bound = (_number(excess, exact) + _number(left, exact)).upper.item()
        return total

    def _own(self, claim: CutClaim) -> CutClaim:
        """The claim with the witness of the oracle alone."""
        return replace(claim, witness=_only(claim.witness, self.oracle.witness))

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """The oracle's proof of f, plus the term."""
        point = numbers("best point", claim.point, self.domain.dimension)
        term = self.known.enclosed(point, exact)
        own = replace(
            claim, upper=float(claim.upper) - float(term.lower), witness=_only(claim.witness, self.oracle.witness)
        )
        proven = self._judge.prove_value(own, exact)
        if proven is None:
            return None
        total: Bound = (_number(proven, exact) + term).upper.item()
        return total

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """What the oracle misses, and the tangent of a cut."""
        own = self.oracle.missing_witness(replace(claim, witness=_only(claim.witness, self.oracle.witness)))
        if isinstance(claim, ValueClaim) or claim.kind is not ClaimKind.MINORANT:
            return own
        tangent = [name for name in self.witness if name in (KNOWN_POINT, KNOWN_SLOPE) and name not in claim.witness]
        return (*own, *tangent)

    def size_of_terms(self, point: Vector) -> float:
        """Of the oracle, and of the term."""
        return self.oracle.size_of_terms(point) + self.known.value(point)

    def identity(self) -> str:
        """That of the oracle, and of the term."""
        return f"{super().identity()}, {self.known.identity()}, added to {self.oracle.identity()}"

    def problem_identity(self) -> str:
        """That of the oracle's function, and of the term."""
        return f"{super().identity()}, {self.known.identity()}, added to {self.oracle.problem_identity()}"


def _only(witness: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These names of a witness alone."""
    return {name: witness[name] for name in names if name in witness}


def _number(bound: Bound, exact: bool) -> Enclosure:
    """A bound as a number of a proof."""
    return Enclosure.of(np.array(bound), exact)


def _middle(numbers: Enclosure) -> Any:
    """Floats next to the numbers."""
    ends = numbers.floats() if numbers.exact else numbers
    middle: Any = 0.5 * ends.lower + 0.5 * ends.upper
    return middle
