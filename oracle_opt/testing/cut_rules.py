"""Whether cuts of several points can all be true: each is held against the values at all points."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.known import KnownTerm
from oracle_opt.testing.conformance import ConformanceError

MISTAKES = (
    "the usual mistakes: a subgradient of the wrong sign, the value of a maximization without its minus, an inner "
    "problem not solved to the end without an `error`, a function that is not convex (then say `convex = False`)"
)


def check_pairs(
    subject: str, convex: bool, cuts: Sequence[Cut], feasible: Sequence[Vector], tolerance: float, step: float
) -> None:
    """Hold each cut against the values at the points of all others."""
    valued = [cut for cut in cuts if isinstance(cut, ObjectiveCut)]
    for cut in cuts:
        if isinstance(cut, FeasibilityCut):
            _check_half_spaces(subject, cut, [*feasible, *(one.point for one in valued)], tolerance)
    for cut in valued:
        _check_lower_bound(subject, cut, valued, tolerance)
        _check_further_at_home(subject, cut, tolerance)
        if convex:
            for i, one in enumerate((cut, *cut.further)):
                name = f"`further[{i - 1}]`" if i else "the cut"
                _check_minorant(subject, name, one, valued, tolerance)
            _check_summands(subject, cut, valued, tolerance)
    if not convex:
        _check_differences(subject, valued, step)


def check_term(subject: str, term: KnownTerm | None, cuts: Sequence[Cut], tolerance: float) -> None:
    """Hold the cuts without the known term against the values without it: what is left is convex, too."""
    if term is None:
        return
    rest = [
        replace(cut, value=cut.value - term.value(cut.point), subgradient=cut.subgradient - term.subgradient(cut.point))
        for cut in cuts
        if isinstance(cut, ObjectiveCut)
    ]
    size = max((abs(cut.value) for cut in cuts if isinstance(cut, ObjectiveCut)), default=0.0)
    for cut in rest:
        for other in rest:
            claimed = cut.value + float(cut.subgradient @ (other.point - cut.point))
            if claimed > other.upper + tolerance * (size + abs(claimed)):
                raise ConformanceError(
                    subject,
                    rule="without the `known` term the function is convex, and the cuts are cuts of the rest",
                    seen=f"by the cut at `point` the rest is at least {claimed:.10g} at z, and it is {other.value:.9g}",
                    advice=f"see whether {term} is a part of the function, with this weight",
                    at={"point": cut.point, "z": other.point},
                )


def _check_minorant(subject: str, name: str, cut: ObjectiveCut, others: Sequence[ObjectiveCut], share: float) -> None:
    for other in others:
        away = other.point - cut.point
        claimed = cut.value + float(cut.subgradient @ away)
        terms = max(abs(cut.value), abs(other.upper), float(np.abs(cut.subgradient) @ np.abs(away)))
        if claimed > other.upper + share * terms:
            raise ConformanceError(
                subject,
                rule=f"{name} lies below the function: f(z) >= value + subgradient @ (z - point) at every z",
                seen=f"by {name} at `point` f(z) is at least {claimed:.10g}, and at z itself the oracle says "
                f"that it is at most {other.upper:.10g}",
                advice=_by_a_factor(others if any(one is cut for one in others) else [cut], others, share) + MISTAKES,
                at={"point": cut.point, "z": other.point},
            )


def _by_a_factor(cuts: Sequence[ObjectiveCut], others: Sequence[ObjectiveCut], share: float) -> str:
    """Say whether one factor of their subgradients would mend all cuts at all points: -1, or one below 1."""
    least, most = -inf, inf
    for cut, other in product(cuts, others):
        away = other.point - cut.point
        rise = float(cut.subgradient @ away)
        terms = max(abs(cut.value), abs(other.upper), float(np.abs(cut.subgradient) @ np.abs(away)))
        room = other.upper - cut.value + share * terms
        if rise > 0.0:
            most = min(most, room / rise)
        elif rise < 0.0 or room < 0.0:
            least = max(least, room / rise if rise else inf)
    if least <= -1.0 <= most <= 0.0:
        return "with the other sign of the subgradient the rule would hold at all points tried; "
    if max(least, 0.0) <= most and least > -1.0:
        return f"with {most:.3g} times the subgradient the rule would hold at all points tried; "
    return ""


def _check_further_at_home(subject: str, cut: ObjectiveCut, share: float) -> None:
    """At their own point no further cut exceeds the value, convex or not."""
    for i, one in enumerate(cut.further):
        if one.value > cut.upper + share * max(abs(cut.value), abs(one.value)):
            raise ConformanceError(
                subject,
                rule="each of `further` is a minorant by itself",
                seen=f"`further[{i}].value` is {one.value:.10g}, and f(point) is at most {cut.upper:.10g}",
                advice="give as value that of the affine function at the query point",
                at={"point": cut.point},
            )


def _check_lower_bound(subject: str, cut: ObjectiveCut, others: Sequence[ObjectiveCut], share: float) -> None:
    for other in others:
        if cut.lower_bound > other.upper + share * max(abs(cut.lower_bound), abs(other.upper)):
            raise ConformanceError(
                subject,
                rule="`lower_bound` is a bound on the minimum of f",
                seen=f"it is {cut.lower_bound:.10g}, and at z the oracle says that f is at most {other.upper:.10g}",
                advice="leave it out unless the oracle has a proof of its own",
                at={"point": cut.point, "z": other.point},
            )


def _check_summands(subject: str, cut: ObjectiveCut, others: Sequence[ObjectiveCut], share: float) -> None:
    """Refuse summands of one call that are not below those of every other, one by one."""
    for other in others:
        if len(cut.summands) != len(other.summands):
            raise ConformanceError(
                subject,
                rule="`summands` are as many, and in the same order, in every answer",
                seen=f"{len(cut.summands)} at `point` and {len(other.summands)} at z",
                advice="give a cut of every summand, one that is 0 included, or give none at all",
                at={"point": cut.point, "z": other.point},
            )
    for j, one in enumerate(cut.summands):
        # no summand can lie higher above its value than the whole: f_j <= value_j + error
        parts = [(other.summands[j], other.error) for other in others]
        highest = [replace(two, error=max(two.error, error)) for two, error in parts]
        _check_minorant(subject, f"`summands[{j}]`", one, highest, share)


def _check_half_spaces(subject: str, cut: FeasibilityCut, feasible: Sequence[Vector], share: float) -> None:
    for i, one in enumerate((cut, *cut.further)):
        name = f"`further[{i - 1}]` of a feasibility cut" if i else "a feasibility cut"
        for z in feasible:
            away = z - one.point
            terms = max(1.0, abs(one.violation), float(np.abs(one.normal) @ np.abs(away)))
            excess = one.violation + float(one.normal @ away) - one.error
            if excess > share * terms:
                raise ConformanceError(
                    subject,
                    rule=f"{name} holds at every feasible z: violation + normal @ (z - point) <= 0",
                    seen=f"it is {excess:.6g} at a point z that is feasible",
                    advice="turn the normal, if it points inside; else state as `error` what the oracle tolerates",
                    at={"point": one.point, "z": z},
                )


def _check_differences(subject: str, cuts: Sequence[ObjectiveCut], step: float) -> None:
    """Between neighbors the slope is that of one end, or of the other, or between (no cut is a minorant)."""
    longest = max(float(np.linalg.norm(cut.point - cuts[0].point)) for cut in cuts)
    start = cuts[0]
    for end in cuts[1:]:
        away = end.point - start.point
        length = float(np.linalg.norm(away))
        if not 0 < length <= 2 * step * longest:
            continue
        slopes = [float(cut.subgradient @ away) / length for cut in (start, end)]
        difference = (end.value - start.value) / length
        size = max(abs(start.value), abs(end.value))
        noise = (1e-12 * size + start.error + end.error) / length + 1e-3 * max(map(abs, slopes))
        if not min(slopes) - noise <= difference <= max(slopes) + noise:
            raise ConformanceError(
                subject,
                rule="the subgradient of a function that is not convex is its gradient",
                seen=f"the values of two neighbors change by {difference:.6g} a unit of length, and the gradients say "
                f"{slopes[0]:.6g} and {slopes[1]:.6g}",
                advice="compare the gradient with finite differences, component by component",
                at={"point": start.point, "z": end.point},
            )
