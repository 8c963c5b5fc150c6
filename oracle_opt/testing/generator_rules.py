"""What a generator has to keep: the contract of ask and tell, and bounds that hold."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.checks import as_query
from oracle_opt.cuts import Cut, FeasibilityCut, Minorant, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.driver import minimize
from oracle_opt.errors import CapabilityMismatch, Exhausted, InvalidArgument
from oracle_opt.generator import QueryPointGenerator, SequentialGenerator, Step
from oracle_opt.result import Result
from oracle_opt.testing.conformance import ConformanceError, changed, ruled
from oracle_opt.testing.known_problems import KnownProblem, small_domains, small_problems
from oracle_opt.testing.known_runs import Watched, check_run, copied, leave_alone, named
from oracle_opt.testing.samples import points_of


def check_generator(
    generator: QueryPointGenerator,
    problems: Sequence[KnownProblem] = (),
    *,
    domains: Sequence[Domain] | None = None,
    calls: int = 20,
    gap: float | None = None,
    seed: int = 0,
) -> tuple[str, ...]:
    """Check that a generator keeps the contract, on small problems whose optimum is known.

    On each domain stand a quadratic whose oracle is inexact, a maximum of affine functions, a sum of such with
    `summands`, an affine function, one with feasibility cuts, and one without a feasible point. On those it does not
    refuse are checked: that query points lie in the domain; that every bound in every row of the history holds; that
    `ask` is pure, the first objective cut is serious, `minorant` lies below the function at random points, and `tell`
    leaves the cut alone; that a second run, and a second object, ask the same; that a copy goes on alike; that a
    journal is replayed; that old cuts are taken up, or refused. Further that the constructor only stores its
    parameters, and that `repr` repeats them.

    Parameters
    ----------
    generator : QueryPointGenerator
        The generator to check, with the parameters it shall have.
    problems : sequence of KnownProblem
        Further problems, for a generator that needs more than these oracles give.
    domains : sequence of Domain, optional
        Where the small problems stand; default is one domain of each class of the library.
    calls : int
        Oracle calls of each run.
    gap : float, optional
        Gap that has to be proven on every problem within so many calls; default is none, as methods may be slow.
    seed : int
        Of the random data.

    Returns
    -------
    tuple of str
        Names of the problems that it was checked on; it refused the others.

    Raises
    ------
    ConformanceError
        A rule is broken; the message names it, what was seen, where, and what to do.

    Examples
    --------
    >>> from oracle_opt.generators import Kelley
    >>> from oracle_opt.testing import check_generator
    >>> len(check_generator(Kelley())) > 20
    True
    """
    _check_constructor(generator)
    served = []
    small = [small_problems(domain, seed) for domain in (small_domains() if domains is None else domains)]
    for group in (*small, [*problems]):
        thorough = True  # one problem of each group, and all with feasibility cuts
        for problem in group:
            try:
                result = check_run(generator, problem, calls=calls, atol=gap if np.isfinite(problem.optimum) else None)
            except CapabilityMismatch as refusal:
                _check_refusal(generator, problem, refusal)
                continue
            served.append(problem.name)
            _check_same(named(generator, problem), generator, problem, result)
            _check_protocol(generator, problem, seed)
            if thorough:
                _check_journal(generator, problem, result)
                _check_old_cuts(generator, problem, result)
                thorough = False
    if not served:
        raise ConformanceError(
            f"The generator {generator!r}",
            rule="a generator serves some problem",
            seen="it refused all",
            advice="pass problems whose oracles give what it needs as `problems=`",
        )
    return tuple(served)


def _check_constructor(generator: QueryPointGenerator) -> None:
    if not isinstance(generator, QueryPointGenerator):
        raise ConformanceError(
            f"{generator!r}",
            rule="a generator is an object of a subclass of `oracle_opt.QueryPointGenerator`",
            seen=f"an object of the class {type(generator).__name__}",
            advice="derive the class from it, and pass an object, not the class",
        )
    kind = type(generator)
    rule = "the constructor stores its parameters under their own names, and does nothing else"
    advice = "write `self.name = name` for each, check them in `reset`, and name state with a leading underscore"
    with ruled(f"The generator {kind.__name__}", rule, advice):
        given = generator.parameters()
        fresh = kind(**given)
    stored = {name: value for name, value in vars(fresh).items() if not name.startswith("_")}
    if stored.keys() != given.keys() or any(stored[name] is not given[name] for name in given):
        seen = f"parameters {given!r}, and the new object has {stored!r}"
        raise ConformanceError(f"The generator {kind.__name__}", rule=rule, seen=seen, advice=advice)
    if repr(fresh) != repr(generator):
        raise ConformanceError(
            f"The generator {kind.__name__}",
            rule="`repr` says with which parameters a run can be repeated",
            seen=f"{generator!r}, and an object with the same parameters {fresh!r}",
            advice="leave `__repr__` to the base class",
        )


def _check_refusal(generator: QueryPointGenerator, problem: KnownProblem, refusal: CapabilityMismatch) -> None:
    words = str(refusal).partition(": ")[2]
    if not words.strip():
        raise ConformanceError(
            named(generator, problem),
            rule="a refusal says why, in a few words",
            seen=f"{refusal}",
            advice="return from `refusal(domain)` what the method needs, such as 'it needs a bounded domain'",
        )


def _check_same(subject: str, generator: QueryPointGenerator, problem: KnownProblem, first: Result) -> None:
    """Run again on the same object, whose state is that of the run before."""
    second = check_run(generator, problem, calls=min(10, len(first.history)))
    one, two = first.history, second.history
    for name in ("value", "lower_bound", "upper_bound"):
        if changed(getattr(one, name)[: len(two)], getattr(two, name)) or list(one.step)[: len(two)] != list(two.step):
            raise ConformanceError(
                subject,
                rule="a second run on the same object gives the same history",
                seen=f"`history.{name}` differs",
                advice="build all state in `reset`, and seed random numbers there",
            )


def _check_protocol(generator: QueryPointGenerator, problem: KnownProblem, seed: int, calls: int = 10) -> None:
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
        query = _asked(subject, generator, domain.dimension)
        if query is None:
            break
        for other in others:
            same = _asked(subject, other, domain.dimension)
            allowed = 1e-9 * max(1.0, float(np.abs(query.point).max()))
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
        cuts = [cut, *(_answered(problem, as_query(one.ask(), domain.dimension, one)) for one in others[1:])]
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
    for now, before in handed:
        if changed(before, now):
            raise ConformanceError(
                subject,
                rule="the array that `ask` returned is not changed later",
                seen="it was overwritten by a later step",
                advice="make a new array for each query point: `z = z + step`, not `z += step`",
                at={"before": before, "after": now},
            )


def _asked(subject: str, generator: QueryPointGenerator, dimension: int) -> Query | None:
    """What is asked, twice."""
    advice = "compute the point in `reset` or `tell`, and only return it in `ask`"
    with ruled(subject, "`ask` returns a point or a query, or raises Exhausted", advice):
        try:
            first = as_query(generator.ask(), dimension, generator)
        except Exhausted:
            return None
        second = as_query(generator.ask(), dimension, generator)
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


def _answered(problem: KnownProblem, query: Query) -> Cut:
    """The answer of a new oracle, whatever was asked before."""
    problem.oracle.reset()
    return problem.oracle.query(query.copy())


def _valued(cuts: Sequence[Cut]) -> list[tuple[Vector, float]]:
    """Points that have a value, and what the function is at most there."""
    return [(cut.point.copy(), cut.upper) for cut in cuts if isinstance(cut, ObjectiveCut)]


def _check_journal(generator: QueryPointGenerator, problem: KnownProblem, whole: Result) -> None:
    """A run that was broken off goes on from its journal as if it had not been."""
    subject, total = named(generator, problem), len(whole.history)
    advice = "let every query point follow from the parameters and the cuts told, never from the clock or the oracle"
    if total < 2:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.journal"
        start = None if problem.start is None else np.array(problem.start, dtype=float)
        with ruled(subject, "a run is replayed from its journal", advice):
            atol = problem.resolution
            minimize(problem.oracle, generator, start, rtol=0, atol=atol, max_calls=total // 2, journal=path)
            oracle = Watched(problem.oracle)
            again = minimize(
                oracle, generator, start, rtol=0, atol=atol, max_calls=total, journal=path, journal_check=False
            )
    new = len(again.history) - total // 2
    if len(oracle.asked) != new or changed(again.history.value, whole.history.value[: len(again.history)]):
        raise ConformanceError(
            subject,
            rule="a run that goes on from a journal is the same as one that was not broken off",
            seen=f"{len(oracle.asked)} calls where {new} were left, or other values",
            advice=advice,
        )


def _check_old_cuts(generator: QueryPointGenerator, problem: KnownProblem, first: Result) -> None:
    """Cuts of an earlier run are told before the first question; a coroutine may refuse them."""
    subject = named(generator, problem)
    old: list[Cut] = list(first.history.cuts or ())[4::-1]  # in an order that no run of this method has
    if not any(isinstance(cut, FeasibilityCut | ObjectiveCut) for cut in old):
        return
    rule = "`tell` takes up cuts of an earlier run before the first `ask`, or raises InvalidArgument"
    try:
        second = minimize(problem.oracle, generator, cuts=old, rtol=0, max_calls=10)
    except InvalidArgument:
        return
    except Exception as raised:
        seen = f"{type(raised).__name__} was raised: {raised}"
        raise ConformanceError(subject, rule=rule, seen=seen, advice="see the traceback above") from raised
    if second.lower_bound > problem.optimum + problem.accuracy * max(1.0, abs(problem.optimum)):
        raise ConformanceError(
            subject,
            rule="bounds hold after old cuts were told",
            seen=f"the lower bound is {second.lower_bound:.12g}, and the optimum is {problem.optimum:.12g}",
            advice="see whether `tell` takes the last query point for the point of the cut; it is `cut.point`",
        )
