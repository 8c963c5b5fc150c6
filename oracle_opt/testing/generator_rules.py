"""Checks of a generator: the contract of ask and tell, and bounds that hold."""

import inspect
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.driver import minimize
from oracle_opt.errors import CapabilityMismatch, InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.result import Result
from oracle_opt.testing.conformance import ConformanceError, changed, check_class, ruled
from oracle_opt.testing.generator_protocol import check_protocol
from oracle_opt.testing.known_problems import KnownProblem, small_domains, small_problems
from oracle_opt.testing.known_runs import Watched, check_run, named


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
        Seed of the random data.

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
            check_protocol(generator, problem, seed)
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
    check_class(
        generator, QueryPointGenerator, "a generator", "derive the class from it, and pass an object, not the class"
    )
    kind = type(generator)
    rule = "the constructor stores its parameters under their own names, and does nothing else"
    advice = "write `self.name = name` for each, check them in `reset`, and name state with a leading underscore"
    with ruled(f"The generator {kind.__name__}", rule, advice):
        given = generator.parameters()
        fresh = kind(**given)
    stored = {name: value for name, value in vars(fresh).items() if not name.startswith("_")}
    of_parents = {name for parent in kind.__mro__[1:-1] for name in inspect.signature(parent).parameters}
    if not given.keys() <= stored.keys() <= given.keys() | of_parents or any(
        stored[name] is not given[name] for name in given
    ):
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
    """Run again on the same object, in the state that the run before left."""
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
