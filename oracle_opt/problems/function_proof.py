"""Proofs of cuts of the functions that the suite draws: tangents of their convex pieces, computed from the data alone.

Any tangent of a convex function lies below it. So a witness has to tell only which tangent a cut claims to be, and a
wrong witness proves a tangent that the claim exceeds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers


class ProvenTangent(NamedTuple):
    """``value + slope @ (z - point)`` lies below f, whatever the numbers between the ends of both are."""

    value: Enclosure
    slope: Enclosure
    point: Vector | None = None  # default: the origin


class FunctionProof(ABC):
    """Judges claims of a function that the suite draws."""

    witness: tuple[str, ...] = ()  # what tells the tangent of a cut; nothing where the slope of the cut does
    n_summands: int = 0  # how many summands the answers have, 0 for none

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    @abstractmethod
    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangents that the claim may be; its slope is known to be finite numbers, the witness is there."""

    @abstractmethod
    def value(self, point: Vector, exact: bool) -> Enclosure:
        """``f(point)``."""

    @np.errstate(all="ignore")
    def prove_cut(self, claim: CutClaim, exact: bool) -> Bound | None:
        """As `Oracle.prove_cut` says; what overflows becomes an excess that is infinite, or is refused."""
        if claim.kind not in (ClaimKind.MINORANT, ClaimKind.SUMMAND):
            raise Refuted(f"this function answers with no {claim.kind.value}")
        if claim.kind is ClaimKind.SUMMAND and not (
            claim.n_summands == self.n_summands and 0 <= claim.summand < self.n_summands
        ):
            raise Refuted(f"this function has {self.n_summands} summands, the claim is of {claim.n_summands}")
        numbers("slope of the claim", claim.slope, self.domain.dimension)
        lacks = missing(claim, *self.witness)
        if lacks:
            if len(lacks) < len(self.witness):
                raise Refuted(f"its witness lacks {' and '.join(map(repr, lacks))}")
            return None
        try:
            return min(affine_excess(self.domain, claim, *one) for one in self.tangents(claim, exact))
        except (ValueError, ArithmeticError) as problem:
            raise (
                problem if isinstance(problem, Refuted) else Refuted(f"the witness proves nothing: {problem}")
            ) from None

    @np.errstate(all="ignore")
    def prove_value(self, claim: ValueClaim, exact: bool) -> Bound | None:
        """As `Oracle.prove_value` says."""
        point = numbers("best point", claim.point, self.domain.dimension)
        try:
            upper: Bound = self.value(point, exact).upper.item()
        except (ValueError, ArithmeticError) as problem:
            raise Refuted(f"the value at the best point cannot be computed: {problem}") from None
        if isinstance(upper, float) and not np.isfinite(upper):
            raise Refuted("the value at the best point is not finite")
        return upper


def largest(values: Iterable[Enclosure]) -> Enclosure:
    """The largest of some numbers."""
    known = list(values)
    return Enclosure(max(one.lower.item() for one in known), max(one.upper.item() for one in known))


def oracle_of(
    function: Callable[[Vector], tuple[float, Vector] | Cut], proof: FunctionProof, name: str
) -> FunctionOracle:
    """The oracle of a function, with what proves its cuts; far out it is +inf, and no warning."""
    return FunctionOracle(
        np.errstate(over="ignore")(function),
        proof.domain,
        name=name,
        witness=proof.witness,
        prove_cut=proof.prove_cut,
        prove_value=proof.prove_value,
    )


def halved(value: Enclosure) -> Enclosure:
    """One half of it."""
    return value * (Fraction(1, 2) if value.exact else 0.5)
