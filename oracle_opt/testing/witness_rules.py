"""Whether an oracle proves its cuts by their witness, accepts what it answered and lets nothing false pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, bearing
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import (
    Bound,
    ClaimKind,
    CutClaim,
    ValueClaim,
    claim_of_bound,
    claim_of_cut,
    claim_of_half_space,
)
from oracle_opt.testing.conformance import ruled
from oracle_opt.testing.exams import Answered, OracleExam

RAISED = 1e-6  # by this share of its size a claim is raised above what is true
LOST = 1e-9  # this share of its size may be lost to rounding where a claim is proven
FEW = 4  # so many answers are examined
WITNESS = (
    "see `help(oracle_opt.Oracle.prove_cut)`: compute the claim anew from witness and data, and return by how much it "
    "claims more"
)


@dataclass(frozen=True, eq=False)
class _Known:
    """A claim of an answer, and points of which is known how high a claim of its kind may be there."""

    name: str
    claim: CutClaim
    limits: tuple[tuple[Vector, float], ...]

    @property
    def excess(self) -> float:
        """By how much the claim is false, at least."""
        found = [self.claim.constant + float(self.claim.slope @ z) - most for z, most in self.limits]
        return max(found, default=-inf)

    def raised(self, by: float) -> _Known:
        """The claim raised until it is false by so much."""
        constant = self.claim.constant - self.excess + by
        return replace(self, claim=replace(self.claim, constant=constant))

    def of(self, witness: Mapping[str, Any]) -> _Known:
        """The claim with another witness."""
        return replace(self, claim=replace(self.claim, witness=witness))


def check_witness(exam: OracleExam, answers: list[Answered]) -> None:
    """Hold `prove_cut` and `prove_value` against true answers, and against some raised by a millionth."""
    oracle = exam.oracle
    if not (oracle.witness and oracle.convex):
        return
    oracle.reset()
    values = [one.cut for one in answers if isinstance(one.cut, ObjectiveCut)]
    for answer in _chosen(answers):
        for known in _claims(bearing(answer.cut, oracle.witness), values):
            size = _size(exam, known.claim)
            excess = _prove(exam, known)
            if excess is None:
                continue
            if not -inf < excess <= max(exam.tolerance, LOST) * size:
                raise exam.fail(
                    f"`prove_cut` proves {known.name} as it was answered, but for rounding",
                    f"it may claim {float(excess):.6g} too much, says `prove_cut`, of {size:.6g}",
                    f"{WITNESS}; repair a witness that rounding spoiled, and charge no more than that",
                    point=answer.cut.point,
                )
            if known.limits and known.claim.witness:
                _refute(exam, known.raised(RAISED * size), size, answer)
                for name, none in _spoiled(known.claim.witness):
                    _refute(exam, known.raised(RAISED * size).of(none), size, answer, f" and `{name}` of it spoiled")
        if isinstance(answer.cut, ObjectiveCut):
            _check_value(exam, bearing(answer.cut, oracle.witness))


def _chosen(answers: list[Answered]) -> list[Answered]:
    """Some answers of each kind."""
    objective = [one for one in answers if isinstance(one.cut, ObjectiveCut)]
    return objective[:FEW] + [one for one in answers if isinstance(one.cut, FeasibilityCut)][:FEW]


def _claims(cut: Cut, values: list[ObjectiveCut]) -> Iterator[_Known]:
    """The claims of an answer."""
    if isinstance(cut, FeasibilityCut):
        for i, half in enumerate((cut, *cut.further)):
            error, _ = cut_rounding(half.point, half.violation, half.normal)
            limits = tuple((one.point, half.error) for one in values)
            yield _Known(_name("the feasibility cut", i), claim_of_half_space(half, error), limits)
        return
    limits = tuple((one.point, one.upper) for one in values)
    for i, one in enumerate((cut, *cut.further)):
        error, _ = cut_rounding(one.point, one.value, one.subgradient)
        yield _Known(_name("the cut", i), claim_of_cut(one, error), limits)
    for j, one in enumerate(cut.summands):
        error, _ = cut_rounding(one.point, one.value, one.subgradient)
        claim = replace(claim_of_cut(one, error), kind=ClaimKind.SUMMAND, summand=j, n_summands=len(cut.summands))
        yield _Known(f"`summands[{j}]`", claim, tuple((own.point, own.upper) for own in _summand(values, j)))
    if isfinite(cut.lower_bound):
        yield _Known("`lower_bound`", claim_of_bound(cut), limits)


def _name(what: str, i: int) -> str:
    return f"`further[{i - 1}]`" if i else what


def _summand(values: list[ObjectiveCut], j: int) -> list[ObjectiveCut]:
    return [one.summands[j] for one in values if j < len(one.summands)]


def _size(exam: OracleExam, claim: CutClaim) -> float:
    """Size of the terms of a claim on the domain."""
    return abs(claim.constant) + exam.oracle.domain.extent(claim.slope) or 1.0


def _prove(exam: OracleExam, known: _Known) -> Bound | None:
    """The excess by `prove_cut` of a claim that was answered."""
    with ruled(exam.subject, f"`prove_cut` examines {known.name} as it was answered", WITNESS):
        return exam.oracle.prove_cut(known.claim)


def _refute(exam: OracleExam, false: _Known, size: float, answer: Answered, how: str = "") -> None:
    """A false claim must be refuted, or no more be proven than is true."""
    rule = f"`prove_cut` refutes {false.name} if it is raised above what is true{how}, or proves no more than is true"
    with ruled(exam.subject, rule, "raise `Refuted` where a witness is none, and no other exception"):
        try:
            excess = exam.oracle.prove_cut(false.claim)
        except Refuted:
            return
    allowed = false.excess - max(exam.tolerance, LOST) * size
    if excess is not None and (isnan(excess) or excess < allowed):
        raise exam.fail(
            rule,
            f"it is false by {false.excess:.6g}, and `prove_cut` says by no more than {float(excess):.6g}",
            f"{WITNESS}; trust neither the claim nor the state of the oracle",
            point=answer.cut.point,
        )


def _spoiled(witness: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The witness without each of its entries, and with each made of what is no number, or of the wrong shape."""
    for name, value in witness.items():
        yield name, {other: known for other, known in witness.items() if other != name}
        array = np.asarray(value)
        yield name, {**witness, name: np.append(array.ravel(), array.ravel())}
        if array.dtype.kind in "fc" and array.size:
            yield name, {**witness, name: array * np.nan}


def _check_value(exam: OracleExam, cut: ObjectiveCut) -> None:
    """The proven value must not be below the stated value nor, but for rounding, above it."""
    size = max(abs(cut.value), abs(cut.upper), _size(exam, claim_of_cut(cut, 0.0)))
    rule = "`prove_value` computes an upper bound of the value, whatever is claimed"
    for claimed in (cut.upper, cut.value - RAISED * size):
        with ruled(exam.subject, rule, "raise `Refuted` only where a point is infeasible or a witness is none"):
            try:
                proven = exam.oracle.prove_value(ValueClaim(cut.point, claimed, cut.extras))
            except Refuted:
                if claimed == cut.upper:
                    raise
                continue
        if proven is None:
            return
        room = max(exam.tolerance, LOST) * size
        if not cut.value - room <= proven <= cut.upper + room:
            raise exam.fail(
                rule,
                f"it is {float(proven):.12g}, and the answer was between {cut.value:.12g} and {cut.upper:.12g}",
                "compute the value from witness and data alone; see `help(oracle_opt.Oracle.prove_value)`",
                point=cut.point,
            )
