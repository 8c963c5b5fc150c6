"""An oracle whose cuts carry a number as their witness, so that each claim of a proof can be traced to its answer."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from oracle_opt import Cut, FeasibilityCut, ObjectiveCut, Oracle, Query, Refuted
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.exact_sums import exact, exact_dot
from oracle_opt.testing.known_runs import Watched


class Signed(Watched):
    """Answers of another oracle, numbered, with as many numbers of proof; other extras are kept, and are no witness."""

    signs = True  # see `last_place`

    def __init__(self, inner: Oracle, n_numbers: int = 1) -> None:
        super().__init__(inner)
        self.witness = ("number", "proof")
        self.n_numbers = n_numbers
        self.answers: list[tuple[Cut, ClaimKind, int]] = []

    def query(self, query: Query) -> Cut:
        return self._numbered(super().query(query))

    def _numbered(self, cut: Cut, kind: ClaimKind = ClaimKind.MINORANT, summand: int = 0) -> Any:
        extras = {**cut.extras, "number": float(len(self.answers)), "proof": np.zeros(self.n_numbers)}
        kind = ClaimKind.HALF_SPACE if isinstance(cut, FeasibilityCut) else kind
        self.answers.append((cut, kind, summand))
        further = tuple(self._numbered(one, kind) for one in cut.further)
        if isinstance(cut, FeasibilityCut):
            return replace(cut, extras=extras, further=further)
        summands = tuple(self._numbered(one, ClaimKind.SUMMAND, j) for j, one in enumerate(cut.summands))
        return replace(cut, extras=extras, further=further, summands=summands)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | None:
        """The number is the proof."""
        if not claim.witness:
            return None
        if words := self.difference(claim):
            raise Refuted(words)
        return 0.0

    def difference(self, claim: CutClaim) -> str:
        """What a claim says that its answer does not; no words if it is that answer, rounded down."""
        if claim.witness.keys() != {*self.witness}:
            return f"the witness is {claim.witness!r}: {claim.note}"
        cut, kind, summand = self.answers[int(claim.witness["number"])]
        if claim.kind is ClaimKind.BOUND and isinstance(cut, ObjectiveCut):
            return "" if claim.constant == cut.lower_bound and not claim.slope.any() else "another bound"
        if (claim.kind, claim.summand) != (kind, summand):
            return f"{claim.kind} of {claim.summand} is {kind} of {summand}"
        value, slope = (cut.value, cut.subgradient) if isinstance(cut, ObjectiveCut) else (cut.violation, cut.normal)
        if not np.array_equal(claim.slope, slope):
            return "another slope"
        constant = exact(value) - exact_dot(slope.tolist(), cut.point.tolist())
        lost = constant - exact(claim.constant)
        size = abs(value) + float(np.abs(slope) @ np.abs(cut.point))
        return "" if 0 <= lost <= Fraction(4e-16 * (len(slope) + 3)) * Fraction(size) + Fraction(1e-300) else f"{lost}"
