"""Ask and tell by hand, beside a second object with the same parameters and a copy."""

import copy
from collections.abc import Sequence

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.checks import as_query
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import Exhausted
from oracle_opt.generator import Minorant, QueryPointGenerator, SequentialGenerator, Step
from oracle_opt.proof.parts import combined
from oracle_opt.testing.conformance import ConformanceError, changed, copied, ruled
from oracle_opt.testing.exams import points_of
from oracle_opt.testing.known_problems import KnownProblem
from oracle_opt.testing.known_runs import leave_alone, named


def check_protocol(generator: QueryPointGenerator, problem: KnownProblem, seed: int, calls: int = 10) -> None:
    """Some calls by hand, beside a second object and, half way, a copy."""
    subject, oracle = named(generator, problem), problem.oracle
    domain, rng = oracle.domain, np.random.default_rng(seed)
    start = domain.interior_point() if problem.start is None else np.array(problem.start, dtype=float)
    samples = _valued([_answered(problem, Query(z)) for z in points_of(domain, 6, rng)])
    twin = type(generator)(**generator.parameters())
    others = [twin]
    for one in (generator, twin):
        one.reset(domain, start.copy())
    handed: list[tuple[Vector, Vector]] = []
    for k in range(calls):
        query = _asked(subject, generator, domain)
        if query is None:
            break
        for other in others:
            same = _asked(subject, other, domain)
            # a copy solves its programs anew, and inexact ones end elsewhere within their tolerance
            allowed = (1e-9 if other is twin else 1e-5) * max(1.0, float(np.abs(query.point).max()))
            if same is None or not np.abs(query.point - same.point).max() <= allowed:
                raise ConformanceError(
                    subject,
                    rule="objects with the same parameters that are told the same cuts ask the same points"
                    if other is twin
                    else "a copy made between calls goes on as the original",
                    seen=f"another point at call {k + 1}",
                    advice="keep state in the object, not in its class or module, nor in what copies share",
                    at={"asked": query.point} | ({} if same is None else {"asked by the other": same.point}),
                )
        handed.append((query.point, query.point.copy()))
        cut = _answered(problem, query)
        samples += _valued([cut])
        # copies asked the same up to rounding; a method may ask whether a cut is that of its very point
        cuts = [cut, *(_answered(problem, as_query(one.ask(), domain, one)) for one in others[1:])]
        for other, theirs in zip(others, cuts, strict=True):
            domain.reset()  # whose warm starts all these objects share
            _quiet_tell(other, theirs)
        domain.reset()
        _tell(subject, generator, cut, samples, k + 1)
        if isinstance(cut, ObjectiveCut) and cut.upper - problem.optimum <= problem.resolution:
            break  # where several points are best, a copy may go on to another
        if k == calls // 2 and not isinstance(generator, SequentialGenerator):
            with ruled(subject, "a generator can be copied between calls", "see which attribute cannot be copied"):
                others.append(copy.deepcopy(generator, {id(domain): domain}))  # which is no state of it
    for one in (generator, *others):
        one.finish()
    for now, before in handed:
        if changed(before, now):
            raise ConformanceError(
                subject,
                rule="the array that `ask` returned is not changed later",
                seen="it was overwritten by a later step",
                advice="make a new array for each query point: `z = z + step`, not `z += step`",
                at={"before": before, "after": now},
            )


def _asked(subject: str, generator: QueryPointGenerator, domain: Domain) -> Query | None:
    """The query of a generator, which is asked twice and must be the same."""
    advice = "compute the point in `reset` or `tell`, and only return it in `ask`"
    with ruled(subject, "`ask` returns a point or a query, or raises Exhausted", advice):
        try:
            first = as_query(generator.ask(), domain, generator)
        except Exhausted:
            return None
        second = as_query(generator.ask(), domain, generator)
    if not first.repeats(second):
        raise ConformanceError(
            subject,
            rule="`ask` is pure: asked twice it gives the same query",
            seen="another query when asked again",
            advice=advice,
            at={"first": first.point, "second": second.point},
        )
    return first


def _quiet_tell(generator: QueryPointGenerator, cut: Cut) -> None:
    try:
        generator.tell(cut)
    except Exhausted:
        return


def _tell(
    subject: str, generator: QueryPointGenerator, cut: Cut, samples: list[tuple[Vector, float]], call: int
) -> None:
    """Tell a cut, and look at what comes back."""
    before = copied(cut)
    try:
        with ruled(subject, "`tell` takes up every cut", "see the traceback above", {"point": cut.point}):
            step = generator.tell(cut)
    except ConformanceError as problem:
        if isinstance(problem.__cause__, Exhausted):
            return
        raise
    if not isinstance(step, Step):
        seen = f"it returned {step!r}"
        advice = "return `Step.SERIOUS`, `Step.NULL` or `Step.FEASIBILITY`"
        raise ConformanceError(subject, rule="`tell` returns a Step", seen=seen, advice=advice)
    leave_alone(subject, cut, before)
    weight = generator.weight()
    if not 0 <= weight < np.inf:
        raise ConformanceError(
            subject,
            rule="`weight` is a finite number of at least 0",
            seen=f"{weight!r} after call {call}",
            advice="return 0.0 to leave a cut out of the averaged certificate",
        )
    _check_minorant(subject, generator.minorant(), samples, call)


def _check_minorant(subject: str, minorant: Minorant | None, samples: list[tuple[Vector, float]], call: int) -> None:
    if minorant is None:
        return
    for z, upper in samples:
        if not isinstance(minorant, Minorant) or np.shape(minorant.slope) != z.shape:
            seen, advice = f"{minorant!r} after call {call}", "return `Minorant(constant, slope)` or None"
            rule = "`minorant` is a Minorant with a slope of the point's shape"
            raise ConformanceError(subject, rule=rule, seen=seen, advice=advice)
        value = minorant.constant + float(minorant.slope @ z) - minorant.error - minorant.tolerance
        terms = max(abs(minorant.constant), float(np.abs(minorant.slope) @ np.abs(z)), abs(upper), 1e-3)
        if value > upper + 1e-9 * terms:
            raise ConformanceError(
                subject,
                rule="`minorant` lies below the function at every feasible point",
                seen=f"it is {value:.10g} after call {call} where the function is at most {upper:.10g}",
                advice="make it of cuts by `CutPool.minorant`: a convex combination of objective cuts plus nonnegative "
                "multiples of feasibility cuts",
                at={"z": z},
            )
    if minorant.parts:
        _check_parts(subject, minorant, samples, call)


def _check_parts(subject: str, minorant: Minorant, samples: list[tuple[Vector, float]], call: int) -> None:
    """The parts of a minorant must lie below the function, and together no lower than the minorant."""
    rule = "what `parts` of a minorant add up to is the minorant, or more: below the function at every feasible point"
    advice = "leave `parts` to `CutPool.minorant`, or give positive weights with claims of the oracle's answers alone"
    with ruled(subject, rule, advice):
        constant, slope = combined([term for part in minorant.parts for term in part.weighted()])
    for z, upper in samples:
        value, least = constant + float(slope @ z), minorant.constant + float(minorant.slope @ z) - minorant.error
        sizes = abs(constant), float(np.abs(slope) @ np.abs(z)), abs(minorant.constant), abs(upper)
        room = 1e-9 * max(*sizes, float(np.abs(minorant.slope) @ np.abs(z)), 1e-3)
        if not least - room <= value <= upper + minorant.tolerance + room:
            raise ConformanceError(
                subject,
                rule=rule,
                seen=f"they add up to {value:.10g} after call {call}, the minorant to {least:.10g}, and the function "
                f"is at most {upper:.10g}",
                advice=advice,
                at={"z": z},
            )


def _answered(problem: KnownProblem, query: Query) -> Cut:
    """The answer of a new oracle, whatever was asked before."""
    problem.oracle.reset()
    return problem.oracle.query(query.copy())


def _valued(cuts: Sequence[Cut]) -> list[tuple[Vector, float]]:
    """Points that have a value, and what the function is at most there."""
    return [(cut.point.copy(), cut.upper) for cut in cuts if isinstance(cut, ObjectiveCut)]
