"""The second level of a check: each cut and the value of a certificate against the data of the problem."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import TypeVar

import numpy as np

from oracle_opt.arrays import class_name
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate_file import set_words
from oracle_opt.certificates.verify import Checked, FalseLine, Record
from oracle_opt.checks import check_cut
from oracle_opt.consistency import OBJECTIVE
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query, is_infinite
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidCertificate, Refuted
from oracle_opt.function_oracle import POINT, FunctionOracle
from oracle_opt.oracle import Oracle
from oracle_opt.proof.claim import OF_VALUES, UNDERFLOW, Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.words import number, one_line

C = TypeVar("C", CutClaim, ValueClaim)
NEGLIGIBLE = 1e-11  # of them: a bound that loses no more than this needs no second look
ROUNDING = 1e-9  # of the sizes involved: no more than this is lost to rounding


@dataclass(frozen=True, eq=False)
class CertificateVerdict:
    """What holds: the minimum lies between `lower` and `upper`. What does not hold raises `Refuted`, so this says yes.

    ``print(verdict)`` says it in words.

    Parameters
    ----------
    lower, upper : float
        The minimum lies between them, given the cuts that are not proven; -inf or inf where there is no such bound.
    n_cuts : int
        How many cuts the lower bound rests upon.
    n_proven, n_given : int
        How many of them were proven from the data of the problem, and how many are taken as given, because there was
        no oracle or no witness.
    value_proven : bool
        Whether the value at the best point was proven, too; `True` where the certificate has no point.
    outside : float
        By how much the best point violates a constraint, at most.
    promise : str
        What the bounds rest upon besides, in words: a domain in which a minimizer is only promised.
    exact : bool
        Whether the witnesses were examined in fractions.
    n_asked : int
        How many answers of the oracle the claims without a witness were held against.
    """

    __repr__ = one_line

    lower: float
    upper: float
    n_cuts: int
    n_proven: int = 0
    n_given: int = 0
    value_proven: bool = False
    outside: float = 0.0
    promise: str = ""
    exact: bool = False
    n_asked: int = 0

    @property
    def holds(self) -> bool:
        """True: a certificate that does not hold has no verdict but raises `Refuted`."""
        return True

    @property
    def proven(self) -> bool:
        """Whether all cuts and the value were proven from the data, and nothing was taken as given."""
        return self.value_proven and not self.n_given

    @property
    def gap(self) -> float:
        """``upper - lower``, and 0 where that is negative."""
        return max(0.0, self.upper - self.lower)

    def __str__(self) -> str:
        cuts, value = [f"the {self.n_cuts} cuts"] * (self.lower > -inf), ["the value at the point"] * (self.upper < inf)
        if self.proven:
            words = f"holds{self.promise}: {' and '.join(['all ' * bool(cuts) + one for one in cuts] + value)}"
            words += f" {'is' if not cuts else 'are'} proven from the data"
        elif not self.n_proven and not (value and self.value_proven):
            words = f"holds, given {' and '.join(cuts + value)}{self.promise}"
        else:
            words = (
                f"holds, given {self.n_given} of the {self.n_cuts} cuts{self.promise}: the other {self.n_proven} are "
                "proven from the data"
            )
            words += f"; the value at the point is {'proven' if self.value_proven else 'given'}" * bool(value)
        if self.n_asked:
            words += f"; asked anew, the oracle agrees in {number(self.n_asked, 'answer')}"
        feasible = f", and the point is feasible {f'up to {self.outside:.1g}' if self.outside else 'exactly'}"
        return f"{words}; {verify.in_words(self.lower, self.upper, self.gap)}{feasible * bool(value)}"


def prove(
    records: tuple[Record, ...],
    claims: tuple[CutClaim, ...],
    value: ValueClaim | None,
    bounds: tuple[float, float],
    checked: Checked,
    oracle: Oracle,
    exact: bool,
    ask: bool,
) -> CertificateVerdict:
    """Examine each claim; one that exceeds its witness' proof costs ``multiplier * excess / (W + B)`` of the bound."""
    if not oracle.convex:
        raise InvalidCertificate(f"{oracle!r} is not convex: nothing is proven by its cuts")
    claimed_lower, claimed_upper = bounds
    cuts = records[2:-2]
    weights, total = verify.weights_of(cuts) if cuts else ([], 1)
    shares = [Fraction(weight, total) for weight in weights]
    size = size_of(oracle.domain, claims, shares, claimed_lower, claimed_upper)
    size = size if value is None else max(size, oracle.size_of_terms(value.point))
    least, promise = _over_own_domain(records, claimed_lower, oracle.domain, size)
    given: list[tuple[str, CutClaim]] = []
    worst, lost, enough = (Fraction(0), ""), Fraction(0), ROUNDING * size
    quick: list[Bound | None] = [None] * len(claims) if exact else _quick(oracle, claims, shares, size)
    for k, (claim, share) in enumerate(zip(claims, shares, strict=True)):
        name, excess = f"line {k + 3}, cut {k}, a {claim.kind.value}", quick[k]
        if excess is None:
            excess = _judged(oracle.prove_cut, oracle, claim, exact, name)
        if excess is None:
            given.append((name, claim))
            continue
        loss = share * _number(excess, name)
        if not exact and loss * len(claims) > enough:  # on a wide domain that may be the rounding of floats
            sure = _judged(oracle.prove_cut, oracle, claim, True, name)
            loss = loss if sure is None else min(loss, share * _number(sure, name))
        lost, worst = lost + loss, max(worst, (loss, name))
    if lost > enough:
        raise Refuted(
            f"the witnesses prove a lower bound that is {float(lost):.3g} below the claimed {claimed_lower!r}, and "
            f"that is more than rounding; most of it, {float(worst[0]):.3g}, is missing in {worst[1]}"
        )
    name = f"line {len(cuts) + 4}, the incumbent"
    upper, proven = claimed_upper, None if value is None else _judged(oracle.prove_value, oracle, value, exact, name)
    if proven is not None:
        above = max(Fraction(upper), Fraction(_number(proven, name, least=None)))
        if above - Fraction(upper) > OF_VALUES * size:
            raise Refuted(f"{name}: the value is {float(above)!r}, and {upper!r} is claimed")
        upper = verify.rounded_up(above)
    n_asked = 0
    if ask and (given or (value is not None and proven is None)):
        n_asked = _held_against_answers(oracle, value, name, claimed_upper, given)
    return CertificateVerdict(
        -inf if least is None else -verify.rounded_up(lost - min(Fraction(claimed_lower), least)),
        upper,
        len(cuts),
        len(cuts) - len(given),
        len(given),
        value is None or proven is not None,
        checked.outside,
        promise,
        exact,
        n_asked,
    )


def _held_against_answers(
    oracle: Oracle, value: ValueClaim | None, name: str, upper: float, given: list[tuple[str, CutClaim]]
) -> int:
    """Ask the oracle at the best point, and where cuts are known to have been taken; how often it answered."""
    points = {} if value is None else {value.point.tobytes(): value.point}
    for _, claim in given:
        taken = np.asarray(claim.witness.get(POINT, ()), dtype=float)
        if taken.shape == claim.slope.shape:
            points.setdefault(taken.tobytes(), taken)
    for point in () if oracle.adaptive else points.values():
        answer = check_cut(oracle.query(Query(point.copy())), point, oracle)
        best = value is not None and point is value.point
        if best and (isinstance(answer, FeasibilityCut) or answer.value - upper > _rounding(answer, upper)):
            found = (
                "is none that is feasible" if isinstance(answer, FeasibilityCut) else f"has the value {answer.value!r}"
            )
            raise Refuted(f"{name}: the oracle says that the point {found}, and at most {upper!r} is claimed")
        if isinstance(answer, ObjectiveCut) and not is_infinite(answer):
            for which, claim in given:
                _hold(claim, answer, which)
    return 0 if oracle.adaptive else len(points)


def _hold(claim: CutClaim, answer: ObjectiveCut, name: str) -> None:
    """Refute a claim that is above the answer at a feasible point."""
    stated = 0.0 if claim.kind is ClaimKind.HALF_SPACE else answer.upper
    if claim.kind is ClaimKind.SUMMAND:
        if len(answer.summands) != claim.n_summands:
            return
        stated = answer.summands[claim.summand].upper
    claimed = claim.constant + float(claim.slope @ answer.point)
    size = abs(claim.constant) + float(np.abs(claim.slope) @ np.abs(answer.point))
    if claimed - stated > claim.tolerance + OBJECTIVE * size + _rounding(answer, stated):
        what = "no point is feasible that has more than" if claim.kind is ClaimKind.HALF_SPACE else "the oracle says"
        raise Refuted(f"{name}: at a point where it claims at least {claimed!r}, {what} {stated!r}")


def _rounding(answer: ObjectiveCut, stated: float) -> float:
    """By how much two answers to one question may differ: other processors add in another order."""
    terms = float(np.abs(answer.subgradient) @ np.abs(answer.point))
    return OBJECTIVE * max(abs(answer.value), abs(stated), terms)


def same_but_for_names(oracle: Oracle, stored: str) -> bool:
    """Whether words of an identity differ from an oracle's by names of functions and classes of its own at most."""
    given = isinstance(oracle, FunctionOracle) and oracle.name != getattr(oracle.function, "__qualname__", None)
    if given or type(oracle).identity not in (Oracle.identity, FunctionOracle.identity):
        return stored == oracle.problem_identity()
    tail = Oracle.identity(oracle).removeprefix(class_name(type(oracle)))
    return stored.endswith(tail) or f"{tail}, function " in stored


def _quick(oracle: Oracle, claims: tuple[CutClaim, ...], shares: list[Fraction], size: float) -> list[Bound | None]:
    """The excess of each cut in floats, where it is too small to matter; None where fractions must decide."""
    found: list[Bound | None] = list(oracle.prove_cuts(claims))
    enough = NEGLIGIBLE * size
    losses = [inf if one is None else float(share) * float(one) for one, share in zip(found, shares, strict=True)]
    if sum(losses) <= enough:
        return found
    return [one if loss <= enough / len(losses) else None for one, loss in zip(found, losses, strict=True)]


def size_of(domain: Domain, cuts: tuple[CutClaim, ...], shares: list[Fraction], lower: float, upper: float) -> float:
    """Size of the terms of the minorant on the domain, on the average of the cuts: what rounding is relative to."""
    sizes = [abs(cut.constant) + domain.extent(cut.slope) for cut in cuts]
    known = [abs(bound) for bound in (lower, upper) if isfinite(bound)]
    return float(max(np.dot([float(share) for share in shares], sizes), *known, UNDERFLOW))


def _judged(prove: Callable[[C, bool], Bound | None], oracle: Oracle, claim: C, exact: bool, name: str) -> Bound | None:
    """What the oracle says of a claim, whose witness may not be kept back; `None` if the claim is taken as given."""
    missing = oracle.missing_witness(claim)
    try:
        found = prove(claim, exact)
    except Refuted as problem:
        raise Refuted(f"{name}: {problem}") from problem
    except LookupError:
        if not missing:
            raise
        found = None  # a proof of a user's own that looks up what is not there
    if found is None and missing and not claim.note:
        raise Refuted(
            f"{name}: its witness is missing, {' and '.join(map(repr, missing))}, with which answers of this oracle "
            "are proven, and no note says why"
        )
    return found


def _over_own_domain(
    records: tuple[Record, ...], lower: float, domain: Domain, size: float
) -> tuple[Fraction | None, str]:
    """Minimum of the minorant over the domain of the oracle, whatever the file says of it, and what that rests upon.

    Without cuts there is no minorant, and the point alone is held against the domain.
    """
    n, cuts = domain.dimension, records[2:-2]
    if n != records[1]["n"]:
        raise Refuted(f"line 2, the domain: it has {records[1]['n']} variables, and {domain!r} has {n}")
    stated = np.zeros(n)
    for j, word in verify.entries(records[-2], n):
        stated[j] = float.fromhex(word)
    words = {name: set_words(one) for name, one in domain.described(stated).items()}
    if {name: records[1][name] for name in ("set", "promised") if name in records[1]} == words:
        # what the file says of it was checked
        return (Fraction(lower), verify.PROMISE * ("promised" in words)) if cuts else (None, "")
    weights, total = verify.weights_of(cuts) if cuts else ([], 1)
    constant, slope = verify.combined(cuts, weights, n)
    scale = total * verify.ONE
    described = domain.described(np.array([entry / scale for entry in slope]))
    words = {name: set_words(one) for name, one in described.items()}
    try:
        least = verify.minimum(words.get("promised", words["set"]), slope, scale)
        if "point" in records[-1]:
            verify.violations(words["set"], [], [*map(verify.units, records[-1]["point"].split())])
    except FalseLine as problem:
        raise Refuted(f"line 2, the domain of the oracle, {domain!r}, is another: {problem}") from problem
    if not cuts:
        return None, ""
    minimum = None if least is None else (constant + least) / scale
    if minimum is None or lower - minimum > ROUNDING * size:
        found = "no minimum" if minimum is None else f"the minimum {float(minimum)!r}"
        raise Refuted(f"line 2, the domain: over that of the oracle, {domain!r}, the minorant has {found}")
    return minimum, verify.PROMISE * ("promised" in words)


def _number(given: Bound, name: str, least: float | None = 0.0) -> Fraction:
    if not isinstance(given, Fraction) and not isfinite(given):
        raise Refuted(f"{name}: its witness proves nothing")
    return Fraction(given) if least is None else max(Fraction(given), Fraction(least))
