"""Oracles made of others: in other variables, or with noise that they state."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from oracle_opt.answers.curvature import Curvature
from oracle_opt.arrays import digest
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import FreeSpace, NonnegativeOrthant
from oracle_opt.oracle import Oracle
from oracle_opt.problems.changes import ChangeOfVariables
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers


class ChangedOracle(Oracle):
    """``f(T w)``: an oracle of f asked in the variables w.

    Of what the answers carry curvature and feasibility cuts are given on. Where slopes are rounded, as those of a
    rotation, values are lowered by what that can make over the domain, and the error says so.
    """

    def __init__(self, base: Oracle, change: ChangeOfVariables, words: str) -> None:
        self.base, self.change, self.words = base, change, words
        self.domain = change.new_domain(base.domain)
        self.convex, self.stateless = base.convex, base.stateless
        self.gives = base.gives & {Curvature, FeasibilityCut}
        self.witness = base.witness

    def query(self, query: Query) -> Cut:
        """Ask the oracle at ``T w``."""
        cut = self.base.query(replace(query, point=self.change.old(query.point)))
        return self._half_space(cut, query) if isinstance(cut, FeasibilityCut) else self._minorant(cut, query)

    def reset(self) -> None:
        """Forget what the oracle remembers."""
        self.base.reset()

    def resume(self, cut: Cut) -> None:
        """Take it up."""
        self.base.resume(self.old(cut))

    def old(self, cut: Cut) -> Cut:
        """The cut in the variables of the oracle, as far as rounding lets it."""
        point = self.change.old(cut.point)
        if isinstance(cut, FeasibilityCut):
            return replace(cut, point=point, normal=self.change.old_slope(cut.normal), further=())
        return replace(cut, point=point, subgradient=self.change.old_slope(cut.subgradient), further=(), summands=())

    def _half_space(self, cut: FeasibilityCut, query: Query) -> FeasibilityCut:
        more = tuple(self._half_space(one, query) for one in cut.further)
        return replace(cut, point=query.point, normal=self.change.new_slope(cut.normal), further=more)

    def _minorant(self, cut: ObjectiveCut, query: Query) -> ObjectiveCut:
        point, change = query.point, self.change
        slope, wrong = change.new_slope(cut.subgradient), change.slope_error(cut.subgradient)
        value, error = cut.value, cut.error
        if wrong is not None:
            lost = 2.0 * (float(wrong @ np.abs(point)) + self.domain.extent(wrong))
            value, error = value - lost, error + 2.0 * lost
        curvatures = [one for one in (cut.answer(Curvature),) if one is not None]
        return ObjectiveCut(
            point,
            value,
            slope,
            error,
            cut.lower_bound,
            summands=tuple(self._minorant(one, query) for one in cut.summands) if wrong is None else (),
            further=tuple(self._minorant(one, query) for one in cut.further),
            answers=tuple(Curvature(np.ascontiguousarray(change.new_slope(one.factor))) for one in curvatures),
            extras=cut.extras,
        )

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """What the oracle says."""
        return self.base.missing_witness(claim)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """As the oracle of f proves the cut in its variables, with what these are rounded by.

        A claim with the slope s is one of f with the slope g of which ``g T`` is s, but for rounding; what the
        difference makes over the domain is added. Proven are points w for which ``T w`` is in the set promised for f;
        `None` where a minimizer is promised in a larger set of the w.
        """
        if self.change.grows(self.base.domain):
            return None
        slope = numbers("slope of the claim", claim.slope, self.domain.dimension)
        with np.errstate(all="ignore"):
            old = self.change.old_slope(slope)
            excess = self.base.prove_cut(replace(claim, slope=old), exact)
            if excess is None:
                return None
            constant = Enclosure.of(np.array(claim.constant), exact)
            turned = affine_excess(self.domain, claim, constant, self.change.enclosed_slope(old, exact))
        return _sum(excess, turned)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """As the oracle of f proves the value at ``T w``, where that point is exact; `None` where it is rounded."""
        if not self.change.is_exact:
            return None
        point = numbers("best point", claim.point, self.domain.dimension)
        return self.base.prove_value(replace(claim, point=self.change.old(point)), exact)

    def identity(self) -> str:
        """Words of the change, and the identity of the oracle."""
        return f"{self.words} {self.base.identity()}, asked on {self.domain.identity()}"


class NoisyOracle(Oracle):
    """An oracle whose values and slopes are off, by amounts that its answers state as their error.

    A slope is moved by a random vector d, if the domain is bounded, and the value lowered by at least the most that
    ``d @ (z - point)`` is over it, so that the cut stays one of f. What is lost is at most the level of the noise
    times ``max(1, abs(value))``, which is added to the error: bounds stay proofs, and how good they get is limited. The
    noise depends on the point and the seed alone.
    """

    def __init__(self, base: Oracle, level: float, seed: int) -> None:
        self.base, self.level, self.seed = base, level, seed
        self.domain, self.convex, self.stateless = base.domain, base.convex, base.stateless
        self.gives = base.gives & {FeasibilityCut}
        self.witness = base.witness

    def query(self, query: Query) -> Cut:
        """Ask the oracle, and spoil its answer."""
        cut = self.base.query(query)
        if isinstance(cut, FeasibilityCut):
            return cut
        point, most = query.point, self.level * max(1.0, abs(cut.value))
        rng = np.random.default_rng([self.seed, int(digest(point), 16)])
        share, moved = rng.uniform(0.0, 1.0), rng.normal(size=len(point))
        if isinstance(self.domain, FreeSpace | NonnegativeOrthant) or not np.isfinite(self.domain.bounding_box()).all():
            moved[:] = 0.0  # the set has no end: its extent is that of the promised part
        # over the domain abs(moved @ (z - point)) is at most this
        reach = self.domain.extent(moved) + float(np.abs(moved) @ np.abs(point))
        moved *= 0.25 * most / reach if reach > 0 else 0.0
        value = cut.value - 0.5 * most * (1.0 + 0.9 * share)
        slope = cut.subgradient + moved
        return ObjectiveCut(point, value, slope, cut.error + most, cut.lower_bound, extras=cut.extras)

    def reset(self) -> None:
        """Forget what the oracle remembers."""
        self.base.reset()

    def resume(self, cut: Cut) -> None:
        """Take it up."""
        self.base.resume(cut)

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """What the oracle says."""
        return self.base.missing_witness(claim)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """As the oracle proves it: a cut with noise is one of the same function."""
        return self.base.prove_cut(claim, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """As the oracle proves it: the function is the same."""
        return self.base.prove_value(claim, exact)

    def identity(self) -> str:
        """Level and seed, and the identity of the oracle."""
        return f"noise of {self.level!r}, seed {self.seed}, on {self.base.identity()}"


def _sum(a: Bound, b: Bound) -> Bound:
    """Of two excesses, rounded up if they are floats."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return float(np.nextafter(float(a) + float(b), np.inf)) if b else a
