"""Checks of `minimize`: arguments before the first call, and false answers of oracles and generators."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.answer import Answer
from oracle_opt.arguments import floats, real
from oracle_opt.arrays import EPS, Vector, every, real_array, refuse_single
from oracle_opt.consistency import NOTHING, OBJECTIVE
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query, is_infinite
from oracle_opt.domains import Box, Domain
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, InvalidCut
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.oracle import Oracle
from oracle_opt.proof.parts import combined
from oracle_opt.words import shown

MOVED, ROUNDED = 1e-6, 1e-7  # of the size of a variable, or its width: so near a start, and a query point, may be
HUGE = 1e150  # above that squares are no numbers
OUTSIDE = 1e-8  # distance to the domain, relative to the point's norm, up to which a query point counts as inside


def check_oracle(oracle: object) -> None:
    """Refuse what is no oracle."""
    if not isinstance(oracle, Oracle):
        raise InvalidArgument(f"`oracle` must be an Oracle, got {shown(oracle)}; wrap a function in FunctionOracle")


def check_pair(oracle: Oracle, generator: QueryPointGenerator) -> None:
    """Refuse misuse before the first call; give the starting point."""
    check_oracle(oracle)
    if not isinstance(generator, QueryPointGenerator):
        start = "; a start is passed as `point=`" if isinstance(generator, list | tuple | np.ndarray) else ""
        raise InvalidArgument(
            "`generator` must be a QueryPointGenerator object such as LevelSet(), or words such as 'level-set', got "
            f"{shown(generator)}{start}"
        )
    pair = f"{type(generator).__name__} cannot serve {type(oracle).__name__} on {oracle.domain!r}"
    if generator.needs_convexity and not oracle.convex:
        raise CapabilityMismatch(f"{pair}: it needs a convex function, and this oracle's is not")
    _check_kinds(oracle, generator, pair)
    reason = generator.refusal(oracle.domain)
    if reason is not None:
        raise CapabilityMismatch(f"{pair}: {reason}")


def checked_start(oracle: Oracle, point: ArrayLike | None) -> Vector:
    """Return where a run starts; by default the domain's interior point."""
    start = oracle.domain.interior_point() if point is None else floats("point", point)
    if start.shape != (oracle.domain.dimension,):
        raise InvalidArgument(f"`point` must have shape ({oracle.domain.dimension},), got {start.shape}")
    if not np.isfinite(start).all():
        raise InvalidArgument(f"`point` must be finite, got {shown(start)}")
    return _start_inside(oracle.domain, start)


def _start_inside(domain: Domain, start: Vector) -> Vector:
    """The start, moved inside by what it exceeds bounds by: its value would be below the least one of the domain."""
    constraints = domain.linear_constraints()
    if constraints is not None and constraints.has_bounds_alone:
        inside: Vector = np.clip(start, constraints.lower, constraints.upper)
    else:
        inside = start if domain.contains(start) else domain.project(start)
    if not _is_near(domain, start, inside, MOVED):
        raise InvalidArgument(f"`point` must lie in {domain!r}, got {shown(start)}; project it first")
    return inside


def _is_near(domain: Domain, point: Vector, inside: Vector, share: float) -> bool:
    """Whether a point of the domain is next to one, in the unit of each variable: of its size, or of the width."""
    lower, upper = domain.bounding_box()
    width = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    return bool((np.abs(inside - point) <= share * np.maximum(np.abs(point), width)).all())


def _check_kinds(oracle: Oracle, generator: QueryPointGenerator, pair: str) -> None:
    """Refuse a generator that does not take what the oracle gives, or needs what it does not give."""
    sets = {"gives": oracle.gives, "takes": generator.takes, "needs": generator.needs}
    for name, kinds in sets.items():
        owner = oracle if name == "gives" else generator
        if not (isinstance(kinds, frozenset) and all(_is_kind(kind) for kind in kinds)):
            raise InvalidArgument(
                f"`{name}` of {type(owner).__name__} must be a frozenset of kinds of Answer, or FeasibilityCut, "
                f"got {kinds!r}"
            )
    gives, takes, needs = sets.values()
    names = [kind.__name__ for kind in gives | takes | needs]
    if twice := {name for name in names if names.count(name) > 1}:
        raise CapabilityMismatch(f"{pair}: both know an answer of the name {min(twice)}, but not the same class")
    for kind in sorted(gives - takes - needs, key=lambda kind: kind.__name__):
        if not kind.optional:
            raise CapabilityMismatch(f"{pair}: it takes no {kind.words}, and this oracle gives them")
    if needs - gives:
        words = " and ".join(sorted(kind.words for kind in needs - gives))
        raise CapabilityMismatch(f"{pair}: it needs {words}, and this oracle gives none")


def _is_kind(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Answer | FeasibilityCut)


def as_query(asked: Vector | Query, domain: Domain, generator: QueryPointGenerator) -> Query:
    """The query of what a generator asked, a point or a query."""
    query = asked if isinstance(asked, Query) else Query(asked)
    point = query.point
    if type(point) is not np.ndarray or point.dtype.char != "d":
        if not (isinstance(point, np.ndarray) and point.dtype.kind in "fiu"):
            raise _broken(generator, "ask", "return an array of real numbers, or a Query of one", point, "np.array it")
        query = replace(query, point=real_array(point))
        point = query.point
    if point.shape != (domain.dimension,) or not every(np.isfinite(point)):
        size = f"an array of shape ({domain.dimension},) of finite numbers"
        raise _broken(generator, "ask", f"return {size}", point, "one number for each variable of the domain")
    if not _inside(domain, point):
        raise _broken(generator, "ask", f"return a point of {domain!r}", point, "`domain.project` gives the nearest")
    wishes = query.wishes
    if not isinstance(wishes, frozenset) or (wishes and not wishes <= generator.takes | generator.needs):
        raise InvalidArgument(
            f"`wishes` of a query must be a frozenset of kinds that {type(generator).__name__} has in `takes` or "
            f"`needs`, got {wishes!r}"
        )
    return query


def _inside(domain: Domain, point: Vector) -> bool:
    """Whether a point is in the domain, or next to it, where a method has rounded more than the domain itself."""
    if type(domain) is Box and every(domain.lower <= point) and every(point <= domain.upper):
        return True
    return domain.contains(point, OUTSIDE) or _is_near(domain, point, domain.project(point), ROUNDED)


def checked_weight(
    generator: QueryPointGenerator, step: Step, minorant: Minorant | None, weight: float, dimension: int
) -> float:
    """The weight that a generator gives a cut it was told, as a float, if its three answers are what they must be."""
    if not isinstance(step, Step):
        raise _broken(generator, "tell", "return a Step", step, "return Step.SERIOUS, Step.NULL or Step.FEASIBILITY")
    if not (isinstance(weight, float) and 0 <= weight < inf):
        try:
            weight = real("weight", weight, least=0.0)
        except InvalidArgument:
            rule, advice = "return a finite number of at least 0", "0 leaves a cut out of the average"
            raise _broken(generator, "weight", rule, weight, advice) from None
    if minorant is not None:
        _check_numbers(generator, minorant, dimension)
    return weight


def _check_numbers(generator: QueryPointGenerator, minorant: object, dimension: int) -> None:
    """Refuse what is no minorant of finite numbers."""
    rule, advice = "return a Minorant or None", "write Minorant(constant, slope)"
    if not isinstance(minorant, Minorant):
        raise _broken(generator, "minorant", rule, minorant, advice)
    slope = minorant.slope
    if not (isinstance(slope, np.ndarray) and slope.dtype.kind in "fiu" and slope.shape == (dimension,)):
        rule, advice = f"have a slope of shape ({dimension},), an array of real numbers", "one number for each variable"
        raise _broken(generator, "minorant", rule, slope, advice)
    try:
        finite = isfinite(minorant.constant) and 0 <= minorant.error < inf and 0 <= minorant.tolerance < inf
    except (TypeError, ValueError):
        finite = False
    if not (finite and every(np.isfinite(slope))):
        rule, advice = "have finite numbers, and `error` and `tolerance` of at least 0", "None proves nothing"
        raise _broken(generator, "minorant", rule, minorant, advice)


def too_high(
    generator: QueryPointGenerator, minorant: Minorant, cut: ObjectiveCut, domain: Domain
) -> InvalidArgument | None:
    """What is said of a minorant above the value at a cut's point; `None` if not, or if the oracle may be wrong."""
    claimed = minorant.constant + float(minorant.slope.dot(cut.point))
    if claimed <= cut.upper:
        return None
    below = minorant.error + minorant.tolerance
    terms = abs(minorant.constant) + float(np.abs(minorant.slope).dot(np.abs(cut.point)))
    rounding = 4.0 * EPS * (domain.dimension + 4) * domain.extent(cut.subgradient)
    allowed = below + OBJECTIVE * max(abs(cut.upper), terms) + rounding + NOTHING
    if claimed - cut.upper <= allowed:
        return None
    if minorant.parts:
        with suppress(ValueError):  # of weights that are none
            constant, slope = combined([term for part in minorant.parts for term in part.weighted()])
            if constant + float(slope.dot(cut.point)) - cut.upper > allowed:
                return None
    rule = f"lie below the function, which is at most {cut.upper:.10g} at {shown(cut.point)}"
    advice = "make it a convex combination of the cuts, as CutPool.minorant does; no two answers of the oracle disagree"
    return _broken(generator, "minorant", rule, claimed, advice)


def _broken(generator: QueryPointGenerator, method: str, rule: str, got: object, advice: str) -> InvalidArgument:
    """The error of a generator that breaks a rule."""
    return InvalidArgument(
        f"`{method}` of {type(generator).__name__} must {rule}, got {shown(got)}; {advice}. "
        "`oracle_opt.testing.check_generator` checks all rules of a generator"
    )


def check_cut(cut: Cut, point: Vector, oracle: Oracle) -> Cut:
    """Give a cut of `point` back, as floats and arrays; bare where f, a slope or its square is not finite."""
    if not isinstance(cut, ObjectiveCut | FeasibilityCut):
        raise InvalidCut(f"`query` must return an ObjectiveCut or a FeasibilityCut, got {cut!r}")
    if not _is_plain(cut):
        cut = _plain(cut, "a cut")
    vector, name = (cut.subgradient, "subgradient") if isinstance(cut, ObjectiveCut) else (cut.normal, "normal")
    number = cut.value if isinstance(cut, ObjectiveCut) else cut.violation
    finite = vector.shape == point.shape and every(np.isfinite(vector))
    if isinstance(cut, ObjectiveCut) and (
        number > HUGE or (not finite and isfinite(number) and np.isinf(vector).any())
    ):
        if np.isnan(vector).any() and number <= HUGE:
            raise InvalidCut(f"`subgradient` must hold no NaN, got {vector!r} at {cut.point!r}")
        return ObjectiveCut(point, inf, np.zeros(point.shape))
    if vector.shape != point.shape:
        raise InvalidCut(f"`{name}` must have the shape of the point, {point.shape}, got {vector.shape}")
    if not (finite and isfinite(number)):
        raise InvalidCut(f"a cut must be finite, got {number!r} with {name} {vector!r} at {point!r}")
    if cut.point.shape != point.shape or not every(cut.point == point):
        raise InvalidCut(f"`point` of the cut must be the query point, got {cut.point!r}")
    if isinstance(cut, ObjectiveCut):
        if isnan(cut.lower_bound):
            raise InvalidCut("an answer must have as `lower_bound` no NaN; leave it out where the oracle proves none")
        if cut.further or cut.summands:
            _check_several("further", [(one.point, one.value, one.subgradient) for one in cut.further], point)
            _check_several("summands", [(one.point, one.value, one.subgradient) for one in cut.summands], point)
            _check_sum(cut, oracle.domain)
            for one in (*cut.summands, *cut.further):
                _check_answers(one, oracle)
        if cut.answers != ():
            _check_answers(cut, oracle)
        return cut
    _check_given(FeasibilityCut, oracle)
    if not (cut.violation > 0 and vector.any()):
        raise InvalidCut(
            f"a feasibility cut must cut off its point: violation > 0 and a normal that is not zero, "
            f"got violation {cut.violation!r}"
        )
    _check_several("further", [(one.point, one.violation, one.normal) for one in cut.further], point)
    if not all(one.normal.any() for one in cut.further):
        raise InvalidCut("`further` of a feasibility cut must have normals that are not zero")
    return cut


def check_known(cut: Cut, oracle: Oracle) -> Cut:
    """Give a cut of an earlier run back, as `check_cut` does; of no point where f is +inf."""
    checked = check_cut(cut, cut.point, oracle)
    if is_infinite(checked):
        raise InvalidArgument(f"`cuts` must be finite, got the value +inf at {shown(cut.point)}; leave it out")
    return checked


def _is_plain(cut: Any) -> bool:
    """Whether an answer needs no further look, as most do not: an objective cut alone, of floats."""
    return (
        isinstance(cut, ObjectiveCut)
        and not (cut.summands or cut.further)
        and isinstance(cut.value, float)
        and isinstance(cut.error, float)
        and isinstance(cut.lower_bound, float)
        and cut.error >= 0
        and type(cut.subgradient) is type(cut.point) is np.ndarray
        and cut.subgradient.dtype.char == cut.point.dtype.char == "d"
    )


def _plain(cut: Any, name: str) -> Any:
    """The same cut if its numbers are floats, else one of floats; with errors that are no negative numbers."""
    of_objective = isinstance(cut, ObjectiveCut)
    number, vector = ("value", "subgradient") if of_objective else ("violation", "normal")
    numbers = (number, "error", "lower_bound") if of_objective else (number, "error")
    several = ("summands", "further") if of_objective else ("further",)
    changed: dict[str, Any] = {}
    try:
        if not cut.error:
            refuse_single(getattr(cut, number), getattr(cut, vector))
        for which in numbers:
            if not isinstance(getattr(cut, which), float):
                changed[which] = float(real_array(getattr(cut, which)).reshape(()))
        for which in (vector, "point"):
            array = getattr(cut, which)
            if type(array) is not np.ndarray or array.dtype != np.float64:
                changed[which] = real_array(array)
        for which in several:
            if getattr(cut, which):
                kind = type(cut)
                if not all(isinstance(one, kind) for one in getattr(cut, which)):
                    raise TypeError(f"`{which}` must hold objects of the kind {kind.__name__}")
                changed[which] = tuple(_plain(one, f"`{which}[{i}]`") for i, one in enumerate(getattr(cut, which)))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, InvalidCut):
            raise
        raise InvalidCut(f"{name} must be made of real numbers, got {cut!r}: {problem}") from problem
    if changed:
        cut = replace(cut, **changed)
    if not cut.error >= 0:
        raise InvalidCut(
            f"`error` {'' if of_objective else 'of a feasibility cut '}must be >= 0, got {cut.error!r} in {name}"
        )
    return cut


def _check_several(name: str, cuts: Sequence[tuple[Vector, float, Vector]], point: Vector) -> None:
    """Raise InvalidCut unless further cuts, as point, number and vector, fit the query point."""
    for i, (at, number, vector) in enumerate(cuts):
        if vector.shape != point.shape or not (isfinite(number) and np.isfinite(vector).all()):
            raise InvalidCut(
                f"`{name}[{i}]` must be finite and of the point's shape, {point.shape}, got {number!r} with {vector!r}"
            )
        if not np.array_equal(at, point):
            raise InvalidCut(f"`{name}[{i}].point` must be the query point, got {at!r}")


def _check_answers(cut: ObjectiveCut, oracle: Oracle) -> None:
    """Raise InvalidCut unless the answers of a cut are of kinds that the oracle gives, one of each, and fit the cut."""
    answers = cut.answers
    if type(answers) is tuple and not answers:
        return
    if not (isinstance(answers, tuple) and all(isinstance(one, Answer) for one in answers)):
        raise InvalidCut(f"`answers` of a cut must be a tuple of objects of kinds of Answer, got {answers!r}")
    if len({type(one) for one in answers}) < len(answers):
        raise InvalidCut(f"`answers` of a cut must hold at most one of a kind, got {answers!r}")
    for one in answers:
        _check_given(type(one), oracle)
        one.check(cut)


def _check_given(kind: Kind, oracle: Oracle) -> None:
    if kind not in oracle.gives:
        owner, name = type(oracle).__name__, kind.__name__
        raise InvalidCut(f"{owner} answered with {kind.words}, which it does not have in `gives`; add {name} there")


def _check_sum(cut: ObjectiveCut, domain: Domain) -> None:
    """Raise InvalidCut unless the summands add up to the cut, within rounding and the errors they state.

    See docs/theory_methods.md, "Multicut": the sum may lie above the value by the cut's own error, below it by the
    summands', and slopes may differ by as much over the width of the domain.
    """
    if not cut.summands:
        return
    values, n = np.array([one.value for one in cut.summands]), len(cut.subgradient)
    (total, size), step = np.zeros((2, n)), max(1, 20_000 // n)
    for start in range(0, len(values), step):  # a matrix of them all may be large
        rows = np.array([one.subgradient for one in cut.summands[start : start + step]])
        total += rows.sum(axis=0)
        size += np.abs(rows).sum(axis=0)
    missed, slack = np.abs(total - cut.subgradient), 1e-9 * np.abs(values).sum()
    above = float(values.sum() - cut.value)
    errors = sum(one.error for one in cut.summands)
    fits = -errors - slack <= above <= cut.error + slack
    if fits and missed.max() > 1e-9 * size.max():
        steeper = np.flatnonzero(missed > 1e-9 * size)
        lower, upper = domain.bounding_box()
        fits = float(missed[steeper] @ (upper - lower)[steeper]) <= slack + cut.error + errors
    if not fits:
        raise InvalidCut(
            f"`summands` must add up to the cut, got values that add up to {values.sum()!r} for {cut.value!r}, and "
            f"subgradients that miss the cut's by up to {missed.max():.2g}; a sum of values may lie above by the cut's "
            f"error {cut.error:.2g}, and below by the summands' {errors:.2g}"
        )
