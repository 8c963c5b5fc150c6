"""Upper bound, lower bound, duality gap: the best value seen against the best of four proofs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property
from math import frexp, inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.consistency import NOTHING, OBJECTIVE, AnswerMemory
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, bearing
from oracle_opt.domains import Domain
from oracle_opt.feasibility import FAR, ROUNDING
from oracle_opt.generator import Minorant
from oracle_opt.proof.claim import below, claim_of_bound, claim_of_cut
from oracle_opt.proof.parts import Averaged, Parts, alone, steepness_of

if TYPE_CHECKING:
    from oracle_opt.oracle import Oracle

MERGED = 50  # averaged cuts from one claim made of all of them to the next
NOUGHT = 1e-9  # change of a point relative to its variables, or to 1: a value that this may make 0 is 0
SOLVED = 1e-6  # of the terms of the best value: a solver whose point may save more has solved nothing
CROSSED = 1e-8  # of the terms of the best value: bounds that cross by more than rounding and honest tolerances


class BoundSource(Enum):
    """Which proof gave the lower bound."""

    __hash__ = object.__hash__  # that of `Enum` is a function of Python

    NONE = "none"
    ORACLE = "oracle"
    CUT = "cut"
    MODEL = "model"
    AVERAGE = "average"


def relative_gap(upper: float, lower: float) -> float:
    """``(upper - lower) / max(1e-12, abs(upper))``, never negative; infinite while a bound is."""
    if not (isfinite(upper) and isfinite(lower)):
        return inf
    return max(0.0, upper - lower) / max(1e-12, abs(upper))


def cut_rounding(point: Vector, value: float, slope: Vector) -> tuple[float, float]:
    """Bound on the error of a cut's constant ``value - slope @ point``, and ``abs(value) + abs(slope) @ abs(point)``.

    A third of the error is the rounding, two are left to an oracle that computes ``constant + slope @ point``.
    """
    size = abs(value) + float(np.abs(slope).dot(np.abs(point)))
    return EPS * (1.5 * len(slope) + 3) * size, size


def closed(
    upper: float, lower: float, rtol: float, atol: float = 0.0, resolution: float = 0.0, price: float = 0.0
) -> bool:
    """Whether a gap is closed: within the tolerances, or both bounds are 0 or cross by no more than their rounding."""
    gap = upper - lower
    if not isfinite(gap):
        return False
    if max(-gap, gap + price) <= max(atol, rtol * abs(upper)):
        return True
    return max(rtol, atol) > 0 and max(abs(upper) + price, abs(lower)) <= resolution


class CutAverage:
    """Objective cuts averaged with weights: a running convex combination, and what rounding can have done to it."""

    def __init__(self, dimension: int) -> None:
        self._weight = 0.0
        self.constant = self.error = self.size = 0.0
        self.slope: Vector = np.zeros(dimension)

    def add(self, constant: float, slope: Vector, weight: float, error: float = 0.0, size: float = 0.0) -> None:
        """Take up a cut of positive weight, ``a <- a + (w / sum w) (new - a)``, with its error and its terms' size."""
        self._weight += weight
        share = weight / self._weight
        self.error += share * (error - self.error) + EPS * (1.5 * share * size + self.size)
        self.size += share * (size - self.size)
        self.constant += share * (constant - self.constant)
        self.slope = self.slope + share * (slope - self.slope)

    def lowered(self) -> tuple[float, Vector]:
        """Constant, less the error and rounded down, and slope: a function below the average of the cuts."""
        return below(self.constant, self.error), self.slope


def _power(point: Vector) -> int:
    """The power of 2 next to the largest entry."""
    return frexp(float(np.abs(point).max()))[1]


class BoundTracker:
    """Keeps the incumbent and the four lower bounds.

    An affine function below f, minimized over the domain, bounds the minimum of f from below. The four proofs are

    1. oracle: the bound an oracle proves by itself,
    2. cut: the last objective cut minimized over the domain,
    3. model: the generator's minorant minimized over the domain,
    4. average: the objective cuts averaged with the generator's weights, minimized over the domain.

    From each the largest error that rounding can have made is taken off, so that it holds in exact arithmetic for
    the numbers the oracle answered. Each is kept at its best so far. With feasibility cuts the domain is larger than
    the feasible set, so 2 and 4 stay valid and only 3 can see the constraints.

    Parameters
    ----------
    domain : Domain
        The set the bounds are taken over.
    convex : bool
        `False` turns the lower bounds off: without convexity they prove nothing.
    witness : tuple of str
        Names of the extras that prove a cut.
    size_of_terms : callable
        `Oracle.size_of_terms`: the size of the numbers that a value is computed from, where the oracle knows it.

    Attributes
    ----------
    incumbent : ObjectiveCut or None
        The answer at the best point seen.
    upper, lower : float
        Best value seen with its error; best proven bound.
    conflict : str
        Which two answers contradict each other, if that was noticed: answers are numbered in the order of `update`.
    refuted : bool
        Whether a point outside the set in which a minimizer is promised has a value below the bound over that set: then
        the set holds none, and there is no lower bound any more.
    source : BoundSource
        The proof that gives the best lower bound.
    rounding : float
        What was taken off that bound for rounding.
    tolerance : float
        By how much that bound may exceed the value at a point that the oracle calls feasible within its tolerance.
    violation, price : float
        What the best point misses of the constraint that it misses most, and what that may be worth: see `pay`.
    proofs : dict
        Each of the four bounds, best so far, in the order above.
    """

    def __init__(
        self,
        domain: Domain,
        convex: bool = True,
        witness: tuple[str, ...] = (),
        size_of_terms: Callable[[Vector], float] = lambda _: 0.0,
    ) -> None:
        self._domain, self._size_of_terms = domain, size_of_terms
        self._witness = witness
        self._convex = convex
        self._average = CutAverage(domain.dimension)
        self.incumbent: ObjectiveCut | None = None
        self.conflict = ""
        self.refuted = False
        self._n_answers = 0
        self._memory = AnswerMemory(domain.dimension)
        self.upper = inf
        self.lower = -inf
        self._highest: dict[int, float] = {}  # value, by the power of 2 that is the size of the point
        self._before: ObjectiveCut  # the best one before the incumbent, if there was one
        self._sized: tuple[ObjectiveCut | None, tuple[float, ...]] = None, (0.0,) * 4
        self.source = BoundSource.NONE
        self.rounding = self.tolerance = self.violation = self.price = 0.0
        self._tolerated = 0.0  # the tolerance of what a solver proved
        self._averaged = Averaged()
        self._basis: tuple[ObjectiveCut | Minorant | tuple[Parts, ...], float] = ((), 0.0)  # of the best bound
        self.proofs = dict.fromkeys((BoundSource.ORACLE, BoundSource.CUT, BoundSource.MODEL, BoundSource.AVERAGE), -inf)

    def __repr__(self) -> str:
        return f"BoundTracker(upper={self.upper:.10g}, lower={self.lower:.10g}, by {self.source.value})"

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower

    @property
    def parts(self) -> tuple[Parts, ...]:
        """The claims of the cut or minorant that gave the best bound, made when they are asked for."""
        basis, error = self._basis
        if isinstance(basis, Minorant):
            return basis.proof()
        if isinstance(basis, ObjectiveCut):
            return alone(claim_of_bound(basis) if self.source is BoundSource.ORACLE else claim_of_cut(basis, error))
        return basis

    @property
    def relative_gap(self) -> float:
        """The gap relative to the upper bound."""
        return relative_gap(self.upper, self.lower)

    def wanted(self, rtol: float, atol: float = 0.0) -> float:
        """Largest gap that counts as closed where the minimum is not 0: ``max(atol, rtol * abs(upper))``."""
        return max(atol, rtol * abs(self.upper)) if isfinite(self.upper) else 0.0

    @property
    def resolution(self) -> float:
        """Size up to which both bounds count as 0: see `closed`.

        It is rounding, ``max(8, n**2 / 4)`` units of roundoff of the terms of the best value, or of the highest value
        less the best one where a relative change of 1e-9 of the best point, or of 1, may make the value 0; or what
        rounding leaves of a variable that is 0; or the error that the oracle states, if that is rounding; or, unless
        the bounds exclude 0, what a proof by its own solver's multipliers tolerates of feasible points, if that is
        little beside the terms. Where the upper bound is 0 by that, a lower bound is 0, too, up to four times what was
        taken off it for rounding: the domain may be wide. docs/theory.md says why.
        """
        best = self.incumbent
        if best is None or not (isfinite(self.upper) and isfinite(self.lower)):
            return 0.0
        if best is not self._sized[0]:
            self._sized = best, self._sizes(best)
        terms, changed, left, drop = self._sized[1]
        stated = best.error if best.error <= max(NOUGHT * drop, left) else 0.0
        # both bounds exclude 0 where it is farther from them than they are apart
        excluded = min(abs(self.upper), abs(self.lower)) > abs(self.upper - self.lower)
        proposed = 0.0 if excluded or self._tolerated > SOLVED * max(terms, changed / NOUGHT) else self._tolerated
        size = max(self._units * terms, min(self._units * drop, changed), left, proposed, stated)
        return max(size, 4.0 * (self.rounding + stated)) if abs(self.upper) <= size else size

    @cached_property
    def _units(self) -> float:
        """Share of the terms of a value that is rounding: each of n products in each of n cuts is rounded."""
        return min(EPS * max(8.0, 0.25 * self._domain.dimension**2), NOUGHT)

    @cached_property
    def _extent(self) -> float:
        """The largest finite bound of a variable."""
        extent = np.abs(self._domain.bounding_box())
        return float(extent[np.isfinite(extent)].max(initial=0.0))

    def _sizes(self, best: ObjectiveCut) -> tuple[float, ...]:
        """Of a value: its terms, what a change of 1e-9 of the point, or of 1, may do to it, what is left of a 0.

        Last, how much the highest value at a point that is not 16 times as large, or as 1, is above the best one.
        """
        sizes = NOUGHT * np.maximum(np.abs(best.point), min(self._extent, 1.0))
        changes = [(float(np.abs(cut.subgradient).dot(sizes)), abs(cut.value)) for cut in (best, self._before)]
        changed = max(change * min(1.0, change / value) if value else change for change, value in changes)
        terms = max(self._terms(best), self._size_of_terms(best.point))
        left = ROUNDING * min(self._extent, 1.0) * float(np.abs(best.subgradient).sum())
        far = max(_power(best.point), frexp(min(1.0, self._extent))[1]) + 4
        near = [one for size, one in self._highest.items() if size <= far]
        return terms, changed, left, max(near, default=self.upper) - self.upper

    @staticmethod
    def _terms(cut: ObjectiveCut) -> float:
        """Size of the terms of a value."""
        return abs(cut.value) + float(np.abs(cut.subgradient).dot(np.abs(cut.point)))

    def pay(self, missed: FeasibilityCut | None) -> None:
        """Set the price of what the best point misses, by the half-spaces that exclude it.

        These are `missed`, as `Oracle.separation` answers there. With multipliers u_j of half-spaces
        ``a_j @ z + b_j <= 0`` in the bound, a point at a distance d from what it misses saves about ``d sum u_j |a_j|``
        at most: with exact constraints the minimum may be that much above its value.
        """
        cuts = () if missed is None else (missed, *missed.further)
        self.violation = max((one.violation for one in cuts), default=0.0)
        far = max((one.violation / float(np.linalg.norm(one.normal)) for one in cuts), default=0.0)
        self.price = max(far, 0.0) * steepness_of(self.parts) if far > 0 else 0.0

    def move(self, cut: ObjectiveCut) -> None:
        """Take the answer `cut` at a point that misses no constraint for the best one, even if its value is larger."""
        self.incumbent, self.upper = cut, float(cut.upper)

    def closed(self, rtol: float, atol: float) -> bool:
        """Whether the gap is closed at `rtol` and `atol`, with what missing constraints may save the best point."""
        return closed(self.upper, self.lower, rtol, atol, self.resolution, self.price)

    def warnings(self) -> tuple[str, ...]:
        """The doubt about the gap: a best point at the edge of a set in which a minimizer is only promised."""
        if self.incumbent is None or not isfinite(self.lower) or self.source is BoundSource.ORACLE:
            return ()
        doubt = self._domain.doubt(self.incumbent.point)
        return (doubt,) if doubt else ()

    def contradiction(self) -> bool:
        """Whether some cut is wrong: two answers contradict each other, or the bounds, beyond what they tolerate."""
        if self.conflict or self.incumbent is None or not self.lower > self.upper:
            return bool(self.conflict)
        terms, _, _, drop = self._sizes(self.incumbent)
        left = ROUNDING * min(self._extent, FAR) * float(np.abs(self.incumbent.subgradient).sum())  # see `allowed`
        size = max(CROSSED * max(abs(self.lower), terms) + left, self._units * drop)
        return self.lower - self.upper > max(self.tolerance, self._tolerated) + size

    def exceeded(self, cut: Cut) -> str:
        """Say that the lower bound is above a value that no method asked for: the answer `cut` at a probe.

        Where a minimizer is only promised to lie in a part of the domain a bound says nothing of the points elsewhere:
        the words are empty then, as where the bound is below.
        """
        if not isinstance(cut, ObjectiveCut) or self._domain.promise():
            return ""
        size = max(abs(cut.upper), abs(self.lower), cut_rounding(cut.point, cut.value, cut.subgradient)[1])
        if not self.lower - cut.upper > self.tolerance + self.rounding + OBJECTIVE * size + NOTHING:
            return ""
        return f"A further point has the value {cut.upper:.10g}, below the lower bound {self.lower:.10g}."

    def update(self, cut: Cut, minorant: Minorant | None, weight: float, repeated: bool = False) -> None:
        """Take up an answer, perhaps a `repeated` one, a `minorant` of the model after the `cut`, and its `weight`."""
        self._n_answers += not repeated
        if self._convex and not self.conflict:
            self.conflict = self._memory.conflict(cut, self._n_answers)
        if isinstance(cut, ObjectiveCut):
            upper = float(cut.upper)
            if isfinite(upper):
                power = _power(cut.point)
                if power not in self._highest or upper > self._highest[power]:
                    self._highest[power], self._sized = upper, (None, self._sized[1])
            if upper < self.upper:
                self.upper, self.incumbent, self._before = upper, cut, self.incumbent or cut
            if self._convex:
                if cut.lower_bound > -inf and self._raise(BoundSource.ORACLE, cut.lower_bound, 0.0):
                    self._basis = cut, 0.0
                slope = cut.subgradient
                constant = cut.constant
                error, size = cut_rounding(cut.point, cut.value, slope)
                # what a solver's multipliers prove alone needs no program beside it
                flat = minorant is not None and bool(minorant.extras) and not minorant.slope.any()
                if not flat and self._prove(
                    BoundSource.CUT, constant, slope, error + self._domain.minimum_rounding(slope)
                ):
                    self._basis = cut, error
                if weight > 0:
                    self._prove_average(cut, error, size + self._domain.extent(slope), weight)
        if self._convex and minorant is not None:
            constant, slope = minorant.constant, minorant.slope
            error = minorant.error + self._domain.minimum_rounding(slope)
            if minorant.extras:
                self._tolerated = max(self._tolerated, minorant.tolerance)
            if self._prove(BoundSource.MODEL, constant, slope, error, minorant.tolerance):
                self._basis = minorant, minorant.error
        if self.lower > self.upper and self.contradiction() and not self.conflict and self._outside():
            self.refuted = True
            self.lower, self.source, self.rounding, self.tolerance = -inf, BoundSource.NONE, 0.0, 0.0
            self.proofs, self._basis = dict.fromkeys(self.proofs, -inf), ((), 0.0)

    def _outside(self) -> bool:
        """Whether the best point lies outside the set over which the bounds are taken, by a plane between both."""
        if self.incumbent is None or self.source is BoundSource.ORACLE:
            return False
        point = self.incumbent.point
        away = point - self._domain.interior_point()
        farthest = -self._domain.minimize_linear(-away)[0]
        return float(away @ point) > farthest + 1e-9 * max(abs(farthest), self._domain.extent(away))

    def _prove_average(self, cut: ObjectiveCut, error: float, size: float, weight: float) -> None:
        """Add a cut to the average and minimize this."""
        average, slope = self._average, cut.subgradient
        average.add(cut.constant, slope, weight, error, size)
        self._averaged.add(weight, claim_of_cut(bearing(cut, self._witness), error), average.lowered)
        of_minimum = EPS * (0.5 * len(slope) + 3) * average.size  # at least `minimum_rounding`, without its sums
        if self._prove(BoundSource.AVERAGE, average.constant, average.slope, average.error + of_minimum):
            self._basis = self._averaged.parts(), average.error

    def merge(self, oracle: Oracle) -> None:
        """Now and then, prove what one claim does that the oracle makes of the later half of the averaged cuts.

        Any weights of cuts will do, and cuts at points near a minimizer prove more than cuts of the first steps.

        Parameters
        ----------
        oracle : Oracle
            That of the run.
        """
        if self._averaged.count % MERGED:
            return
        (terms,) = self._averaged.parts()
        averaged = terms.weighted()
        weights, claims = zip(*averaged[len(averaged) // 2 :], strict=True)
        claim = oracle.merged(claims, np.array(weights))
        if claim is not None:
            error = self._domain.minimum_rounding(claim.slope)
            if self._prove(BoundSource.AVERAGE, claim.constant, claim.slope, error):
                self._basis = alone(claim), 0.0

    def _prove(self, source: BoundSource, constant: float, slope: Vector, error: float, tolerance: float = 0.0) -> bool:
        """Minimize an affine function that may lie above f by an error; whether this raised the best bound."""
        least = self._domain.minimize_linear(slope)[0] if slope.any() else 0.0
        error += 2.0 * EPS * (abs(constant) + abs(least))
        return self._raise(source, constant + least - error, error, tolerance)

    def _raise(self, source: BoundSource, bound: float, rounding: float, tolerance: float = 0.0) -> bool:
        """Keep a bound that is the best of its source; whether it is the best of all."""
        if bound > self.proofs[source] and not self.refuted:
            self.proofs[source] = bound = float(bound)
            if bound > self.lower:
                self.lower, self.source, self.rounding, self.tolerance = bound, source, rounding, tolerance
                return True
        return False
