"""Where a run's lower bound comes from: the claims behind it, gathered for a certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.certificates.parts import MOST, Combination, Parts, Weighted, below, numbers_of

if TYPE_CHECKING:
    from oracle_opt.certificates.certificate import Certificate
    from oracle_opt.cuts import FeasibilityCut, Minorant, ObjectiveCut
    from oracle_opt.oracle import Oracle
    from oracle_opt.result import Result


C = TypeVar("C", CutClaim, ValueClaim)
BARE = "it came without a witness"  # cuts told by the user or by a program that knew of none, and those too large


def parts_of_minorant(minorant: Minorant) -> tuple[Parts, ...]:
    """What a minorant is made of; itself, where that is not known."""
    if minorant.parts:
        return minorant.parts
    note = "" if minorant.extras else "a minorant that the generator's model gave"
    constant = below(minorant.constant, minorant.error)
    whole = CutClaim(
        ClaimKind.MINORANT,
        constant,
        minorant.slope,
        tolerance=minorant.tolerance,
        witness=minorant.extras,
        note=note,
    )
    return alone(whole)


def claim_of_cut(cut: ObjectiveCut, error: float) -> CutClaim:
    """The cut itself, with its constant lowered by the error."""
    return CutClaim(ClaimKind.MINORANT, below(cut.constant, error), cut.subgradient, witness=cut.extras)


def claim_of_half_space(cut: FeasibilityCut, error: float) -> CutClaim:
    """The half-space of a feasibility cut, with its constant lowered by the error."""
    constant, kind = below(cut.constant, error), ClaimKind.HALF_SPACE
    return CutClaim(kind, constant, cut.normal, tolerance=cut.error, witness=cut.extras)


def claim_of_bound(cut: ObjectiveCut) -> CutClaim:
    """The bound that the oracle proved by itself."""
    return CutClaim(ClaimKind.BOUND, cut.lower_bound, np.zeros(cut.subgradient.size), witness=cut.extras)


def alone(claim: CutClaim) -> tuple[Parts, ...]:
    """One claim and no other."""
    return (Combination([(1.0, claim)]),)


class Averaged:
    """The cuts of a running average, kept as long as they are not too many."""

    def __init__(self) -> None:
        self._terms: list[Weighted] = []
        self._size = 0

    def add(self, weight: float, claim: CutClaim, average: Callable[[], tuple[float, Vector]]) -> None:
        """Take up a cut; `average` tells constant, rounded down, and slope of all so far, if they are too many."""
        self._terms.append((weight, claim))
        self._size += numbers_of(claim)
        if self._size > MOST:
            constant, slope = average()
            note = "an average of cuts that were too many to be kept"
            whole = CutClaim(ClaimKind.MINORANT, constant, slope, note=note)
            self._terms = [(fsum(weight for weight, _ in self._terms), whole)]
            self._size = numbers_of(whole)

    def parts(self) -> tuple[Parts, ...]:
        """The average so far."""
        return (_First(self._terms, len(self._terms)),)


class _First(Parts):
    """The first terms of a list that grows."""

    def __init__(self, terms: list[Weighted], count: int) -> None:
        self._terms, self._count = terms, count

    def weighted(self) -> Sequence[Weighted]:
        return self._terms[: self._count]

    @property
    def size(self) -> int:
        return sum(numbers_of(claim) for _, claim in self.weighted())

    @property
    def n_copied(self) -> int:
        return 0


class RunProof:
    """What a certificate of a run is written from: the oracle, and the parts of the best lower bound.

    Parts that are not large are gathered at once, so that the generator's pool is let go; large ones are gathered when
    the certificate is written. A pickled proof holds the identity of the problem in place of the oracle.

    Parameters
    ----------
    oracle : Oracle
        That of the run.
    parts : tuple of Parts
        What the best lower bound is made of; none if there is no bound.
    source : str
        Which proof gave it.
    """

    def __init__(self, oracle: Oracle, parts: tuple[Parts, ...], source: str) -> None:
        self._oracle: Oracle | None = oracle
        self._problem = ""
        self._domain, self._convex, self._witness = oracle.domain, oracle.convex, oracle.witness
        self._source = source
        self._parts = parts
        if sum(part.n_copied for part in parts) <= MOST:
            self._gather()

    def __repr__(self) -> str:
        return f"RunProof(by {self._source}, on {self._domain!r})"

    def __getstate__(self) -> dict[str, Any]:
        self._gather()
        return {**vars(self), "_oracle": None, "_problem": self.problem}

    @property
    def problem(self) -> str:
        """Identity of the problem."""
        return self._problem if self._oracle is None else self._oracle.problem_identity()

    def _gather(self) -> None:
        self._parts = (Combination.of(member for part in self._parts for member in part.members()),)

    def certificate(self, result: Result) -> Certificate:
        """Make the certificate of the run that this is the proof of."""
        from oracle_opt.certificates.certificate import Certificate  # only here: few runs need it
        from oracle_opt.certificates.fewer import fewer
        from oracle_opt.certificates.leaned import leaned

        terms, cut = leaned(self._domain, fewer(self._domain, self.terms)), result.cut
        return Certificate.of(
            self._domain,
            [claim for _, claim in terms],
            np.array([weight for weight, _ in terms]),
            None if cut is None else self._noted(ValueClaim(cut.point, result.upper_bound, cut.extras)),
            result.lower_bound,
            result.upper_bound,
            {
                "problem": self.problem,
                "convex": self._convex,
                "generator": result.generator,
                "status": result.status.name,
                "calls": result.n_calls,
                "proof": self._source,
            },
        )

    @property
    def terms(self) -> Sequence[Weighted]:
        """The claims, with their weights."""
        self._gather()
        return [(weight, self._noted(claim)) for weight, claim in self._parts[0].weighted()]

    def _noted(self, claim: C) -> C:
        """The claim with those of its extras that prove it; without any, a note says so."""
        named = {name: claim.witness[name] for name in self._witness if name in claim.witness}
        return replace(claim, witness=named, note=claim.note or (BARE if self._witness and not named else ""))
