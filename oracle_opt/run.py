"""One run of `minimize` as a context: what it keeps, who listens, and how it ends.

Listeners that few runs invite, and the generators that one may be chosen from, are loaded in the methods that need
them: ``import oracle_opt`` loads neither.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from time import perf_counter
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt._deadline import Deadline
from oracle_opt._questions import Questions
from oracle_opt.arrays import Vector
from oracle_opt.bounds import BoundSource, BoundTracker
from oracle_opt.checks import (
    check_cut,
    check_known,
    check_oracle,
    check_pair,
    checked_start,
    checked_weight,
    too_high,
)
from oracle_opt.clocks import clock_of
from oracle_opt.confirmation import Confirmation
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query, bearing, is_infinite
from oracle_opt.errors import EmptyLocalizationSet, Exhausted, InvalidArgument, MissingPackage, OutOfTime
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.history import HistoryRecorder
from oracle_opt.listener import Callback, Entry, Listener
from oracle_opt.oracle import Oracle
from oracle_opt.proof.run_proof import RunProof
from oracle_opt.proposal import SolverFirst
from oracle_opt.result import Ended, Result, Status, named, summary
from oracle_opt.run_options import RunOptions

SEEN = 16  # points that are remembered, of which one may be feasible but for rounding
STEPS_INSIDE = tuple(2.0**-k for k in range(46, -1, -1))  # of the way there: how far the best point is moved at most


class Run:
    """What one run keeps. The loop of `minimize` sees `ask`, `answer`, `tell` and `check` alone.

    As a context it owns oracle and generator, turns `Ended` and Ctrl-C into a `result`, and gives other exceptions the
    partial one. `Ended` is raised by these four, never while a user's code runs, which might swallow it.
    """

    result: Result

    def __init__(
        self,
        oracle: Oracle,
        generator: QueryPointGenerator | str | None,
        point: ArrayLike | None,
        options: RunOptions,
        before: HistoryRecorder | None = None,
    ) -> None:
        self.recorder = HistoryRecorder(options.keep_cuts, before)
        if isinstance(generator, str):
            from oracle_opt.study.methods import generator_of

            generator = generator_of(generator)
        self._story: Callable[[], str] | None = None  # what was chosen, and what went on, in words
        if generator is None:
            generator, self._story = _chosen(oracle)
        self.generator: QueryPointGenerator = generator
        self._proposes = options.first is True or (
            options.first == "auto" and self._story is not None and not options.cuts
        )
        self._unbounded = ""  # the direction, in words, in which the function is proven to fall without end
        self._nowhere = ""  # what proves that no point of the domain is feasible
        self.proposed = self._asked_first = ""  # what the oracle's own solver said, and that it was asked, in words
        check_pair(oracle, self.generator)
        self._point = point
        spent = 0.0 if before is None else before.seconds
        self._ends = inf if options.max_seconds is None else perf_counter() + options.max_seconds - spent
        if point is not None or not self._proposes:
            self.start = checked_start(oracle, point)
        if self._proposes:
            oracle = self._widened(oracle)
        self.oracle, self.options = oracle, options
        self.bounds = BoundTracker(oracle.domain, oracle.convex, oracle.witness, oracle.size_of_terms)
        self.confirmation = Confirmation(oracle, options.check, options.probes)
        self._questions = Questions(self.generator, oracle.domain)
        self._deadline = Deadline(self._ends)
        self._clock = clock_of(options.clock)
        self._listeners: list[Listener] = []
        self._recalling: list[Listener] = []  # those with such a method of their own: the others cost a call nothing
        self._hearing: list[Listener] = []
        self._query: Query | None = None  # the last that was no repetition, and its answer
        self._cut: Cut
        self._oracle_seconds = self._generator_seconds = self._first_seconds = 0.0
        self._minorant: Minorant | None = None  # that proves the best bound of its kind
        self._given_up: Status | None = None  # what the generator says after the last cut
        self._stopped = False  # by a listener
        self._seen: deque[Vector] = deque(maxlen=SEEN)  # points with a value
        self._paid: ObjectiveCut | None = None  # the best point that `_missed` is of
        self._missed: FeasibilityCut | None = None

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._stack.enter_context(_in_use(self.oracle, self.generator))
        self._stack.callback(self.generator.finish)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        over = isinstance(problem, Ended | KeyboardInterrupt)
        with self._stack:
            try:
                if isinstance(problem, Ended) and self._nowhere and self.bounds.incumbent is None:
                    self._end(Status.EMPTY, self._nowhere)
                elif isinstance(problem, Ended):
                    self._end(problem.status, problem.reason)
                elif over:
                    self._end(Status.INTERRUPTED)
            except BaseException as other:  # of a log that cannot write its last line, say
                self._fail(other)
                raise
            if problem is not None and not over:  # also SystemExit: nothing that was computed is lost
                self._fail(problem)
        return over

    def _end(self, status: Status, reason: str = "") -> None:
        """Make the result, and tell each listener once."""
        self.result = self._made(status, reason)
        while self._listeners:
            self._listeners.pop().end(self.result)

    def _made(self, status: Status, reason: str) -> Result:
        """The result: all that was computed, frozen."""
        bounds, recorder, options = self.bounds, self.recorder, self.options
        unbounded = status is Status.UNBOUNDED
        wanted, warnings = bounds.wanted(options.rtol, options.atol), () if unbounded else bounds.warnings()
        if status is Status.CONVERGED and warnings:
            status = Status.EDGE
        message = summary(
            status, reason, "" if self._nowhere else self.oracle.domain.promise(), bounds, recorder, wanted
        )
        if (warnings or status is Status.OUTSIDE) and self.oracle.at_edge:
            message += f" {self.oracle.at_edge}"
        choice = "" if self._story is None else f"{self._asked_first}{self._story()}"
        if self.oracle.relaxation:
            message += f" {self.oracle.relaxation}"
        if self.oracle.known is not None and self.generator.known is None:
            message += " The known term was linearized: the generator takes none."
        memory, memory_growth = recorder.memory()
        return Result(
            point=None if bounds.incumbent is None else bounds.incumbent.point,
            cut=bounds.incumbent,
            upper_bound=bounds.upper,
            lower_bound=-inf if unbounded else bounds.lower,
            gap=inf if unbounded else bounds.gap,
            relative_gap=inf if unbounded else bounds.relative_gap,
            status=status,
            success=status.success and not warnings,
            message=f"{message} {choice}" if choice else message,
            n_calls=recorder.n_calls,
            n_serious=recorder.n_serious,
            oracle_seconds=recorder.oracle_seconds,
            generator_seconds=recorder.generator_seconds,
            history=recorder.freeze(),
            warnings=warnings,
            violation=bounds.violation,
            price=bounds.price,
            generator=named(self.generator),
            choice=choice,
            seconds=recorder.seconds,
            n_replayed=recorder.n_replayed,
            memory=memory,
            memory_growth=memory_growth,
            proof=RunProof(self.oracle, bounds.parts, bounds.source.value),
            checks=tuple(self.confirmation.checks),
            n_probes=self.confirmation.n_probes,
            clock=options.clock,
            maximizes=self.oracle.maximizes,
        )

    def _fail(self, problem: BaseException) -> None:
        """Give an exception what was computed before it."""
        self._end(Status.FAILED)
        with suppress(AttributeError, TypeError):  # some classes of exceptions let no attribute be set
            problem.result = self.result  # type: ignore[attr-defined]
        query = self._query
        where = "before the first query" if query is None else f"at {np.array2string(query.point, threshold=10)}"
        problem.add_note(
            f"during oracle call {self.recorder.n_calls + 1}, {where}; `error.result` holds the run so far"
        )

    def begin(self) -> None:
        """Reset oracle and generator, tell the cuts of an earlier run, and let the listeners begin."""
        oracle, options = self.oracle, self.options
        oracle.reset()
        oracle.domain.reset()
        if self._proposes:
            self.start = self._propose()
        if options.log is not False:
            from oracle_opt.run_log import RunLog

            self._join(RunLog(options.log))
        self.generator.know(oracle.known)
        self.generator.reset(oracle.domain, self.start.copy())
        for cut in options.cuts:
            cut = check_known(cut, oracle)
            _, minorant, weight = self._told(cut)
            self._prove(cut, minorant, weight)
        if options.journal is not None:
            from oracle_opt.journal import Journal

            self._join(Journal.of(options.journal, self))
        if options.progress:
            from oracle_opt.run_log import ProgressDisplay

            self._join(ProgressDisplay())
        if options.callback is not None:
            watcher = options.callback
            self._join(watcher if isinstance(watcher, Listener) else Callback(watcher))
        oracle.domain.reset()  # a journal may have used the domain, and a run meets it as new, resumed or not

    def _propose(self) -> Vector:
        """Where to start: at what the oracle's own solver proposes; where it cannot, as without it."""
        began, proposal = self._clock(), None
        try:
            with self._deadline:
                proposal = self.oracle.propose()
        except OutOfTime:
            self.proposed = "no solver: `max_seconds` is over"
        except MissingPackage as missing:
            if self.options.first is True:
                raise
            self.proposed = f"no solver: {missing}"
        except EmptyLocalizationSet as proof:  # the first question will have the same answer
            self.proposed = f"no solver: {proof}"
        self._first_seconds = self._clock() - began
        if proposal is None:
            return checked_start(self.oracle, self._point)
        self.proposed, self._unbounded, self._nowhere = proposal.words, proposal.unbounded, proposal.empty
        if proposal.point is None:
            return checked_start(self.oracle, self._point)
        self._asked_first = f"{proposal.words}, asked first. "
        self.generator = SolverFirst(proposal, self.generator)
        self._questions = Questions(self.generator, self.oracle.domain)
        return proposal.point

    def wider(self) -> Oracle | None:
        """The oracle of a run that is to follow on a wider domain, if calls and time are left; `None` where none is."""
        over = self.recorder.n_calls >= self.options.max_calls or perf_counter() >= self._ends
        return None if over or self.options.journal is not None else self.oracle.wider(self.result)

    def handed_over(self) -> Result:
        """The result, once the oracle was told how the run ended; what that raises has the result, too."""
        try:
            self.oracle.ended(self.result)
        except Exception as problem:
            problem.result = self.result  # type: ignore[attr-defined]
            raise
        return self.result

    def _empty(self) -> Status:
        """Where a point was seen the set is not empty: that point is outside of what is promised, or a cut is wrong."""
        if self.bounds.incumbent is None:
            return Status.EMPTY
        return Status.OUTSIDE if self.oracle.domain.promise() else Status.CONTRADICTION

    def _widened(self, oracle: Oracle) -> Oracle:
        """The oracle with all the room that its own solver's solution needs."""
        with suppress(OutOfTime), Deadline(self._ends):
            return oracle.wider() or oracle
        return oracle

    def _join(self, listener: Listener) -> None:
        self._listeners.append(listener)
        if type(listener).recall is not Listener.recall:
            self._recalling.append(listener)
        if type(listener).answered is not Listener.answered:
            self._hearing.append(listener)
        listener.begin(self)

    def ask(self) -> Query:
        """Ask for the next query."""
        if self.recorder.n_calls >= self.options.max_calls:
            raise Ended(Status.MAX_CALLS)
        if self._ends < inf and perf_counter() >= self._ends:
            raise Ended(Status.MAX_SECONDS)
        began = self._clock()
        try:
            with self._deadline:
                query = self._questions.next()
        except OutOfTime:
            raise Ended(Status.MAX_SECONDS) from None
        except Exhausted as end:
            raise Ended(self._empty() if isinstance(end, EmptyLocalizationSet) else Status.EXHAUSTED, str(end)) from end
        self._generator_seconds, self._first_seconds = self._clock() - began + self._first_seconds, 0.0
        return query

    def answer(self, query: Query) -> Cut:
        """Answer it: from memory, by a listener that knows, or by a call of the oracle."""
        if self._questions.repeated:
            return self._cut
        self._query, oracle = query, self.oracle
        for listener in self._recalling:
            if (known := listener.recall(query, oracle)) is not None:
                self._oracle_seconds, self.recorder.n_replayed = known.seconds, self.recorder.n_replayed + 1
                return check_cut(known.cut, query.point, oracle)
        began = self._clock()
        try:
            with self._deadline:
                answer = oracle.query(query.copy())
        except OutOfTime:
            raise Ended(Status.MAX_SECONDS) from None
        except EmptyLocalizationSet as proof:
            if FeasibilityCut not in oracle.gives:
                raise
            raise Ended(self._empty(), str(proof)) from proof
        self._oracle_seconds = self._clock() - began
        cut = check_cut(answer, query.point, oracle)
        if self._hearing:
            entry = Entry(query, cut, self._oracle_seconds)
            for listener in self._hearing:
                listener.answered(entry)
        return cut

    def tell(self, cut: Cut) -> None:
        """Tell the generator, prove what can be proven, and write the call down; one that repeats is none."""
        repeated, step, self._given_up = self._questions.repeated, Step.NULL, None
        before = self.bounds.upper, self.bounds.lower
        if repeated or self._questions.answered(cut, self.bounds.incumbent):
            began = self._clock()
            step, minorant, weight = self._told(cut)
            self._generator_seconds += self._clock() - began
            if not is_infinite(cut):
                self._prove(cut, minorant, weight, repeated)
        if repeated:
            return
        inexact = isinstance(cut, ObjectiveCut) and cut.error > 0
        self._questions.may_repeat = inexact and before != (self.bounds.upper, self.bounds.lower)
        if isinstance(cut, ObjectiveCut):
            self._seen.append(cut.point)
        self._note(cut, step)

    def _note(self, cut: Cut, step: Step) -> None:
        """Write a call down, and show it to the listeners."""
        self._cut = cut
        self.confirmation.hold(cut)
        inner = self.generator.inner_steps()
        record = self.recorder.append(cut, step, self.bounds, self._oracle_seconds, self._generator_seconds, inner)
        for listener in self._listeners:
            asked = listener.show(record)
            if isinstance(asked, bool | np.bool_) and asked:
                self._stopped = True

    def _told(self, cut: Cut) -> tuple[Step, Minorant | None, float]:
        """The generator's step, minorant and weight for a cut; no minorant if it runs out of time or gives up."""
        generator = self.generator
        try:
            with self._deadline:
                told = cut if generator.reads_extras else bearing(cut, self.oracle.witness)
                step, minorant, weight = generator.tell(told), generator.minorant(), generator.weight()
            return step, minorant, checked_weight(generator, step, minorant, weight, self.start.size)
        except OutOfTime:
            pass  # `ask` looks at the clock next, and ends
        except EmptyLocalizationSet:
            self._given_up = self._empty()
        except Exhausted:
            self._given_up = Status.EXHAUSTED
        if isinstance(cut, FeasibilityCut):
            return Step.FEASIBILITY, None, 0.0
        return Step.SERIOUS if cut.upper < self.bounds.upper else Step.NULL, None, 0.0

    def _prove(self, cut: Cut, minorant: Minorant | None, weight: float, repeated: bool = False) -> None:
        """Prove bounds by minorants below the values: the new one and the best are held against the new value.

        Where two answers contradict each other the oracle is at fault, and nothing is said of the generator.
        """
        bounds, problem = self.bounds, None
        if self.oracle.convex and isinstance(cut, ObjectiveCut):
            held = [] if minorant is None else [(minorant, cut), (minorant, bounds.incumbent)]
            if self._minorant is not None and cut.upper < bounds.upper:
                held.append((self._minorant, cut))
            for proven, one in held:
                if one is not None and problem is None:
                    problem = too_high(self.generator, proven, one, self.oracle.domain)
        if problem is not None:
            bounds.update(cut, None, 0.0, repeated)
            if not bounds.conflict:
                raise problem
            return
        before = bounds.proofs[BoundSource.MODEL]
        bounds.update(cut, minorant, weight, repeated)
        if weight > 0 and isinstance(cut, ObjectiveCut) and self.oracle.convex:
            bounds.merge(self.oracle)
        if bounds.proofs[BoundSource.MODEL] > before:
            self._minorant = minorant

    def pay(self) -> None:
        """Let the bounds know what the best point misses; the oracle is asked once for each."""
        best = self.bounds.incumbent
        if best is not self._paid and best is not None and FeasibilityCut in self.oracle.gives:
            self._paid = best
            self._missed = self.oracle.separation(best.point)
        self.bounds.pay(self._missed)

    def repair(self) -> None:
        """Move the best point toward a feasible one until it is feasible but for rounding: one more call, or none."""
        best, oracle = self.bounds.incumbent, self.oracle
        inside = next((z for z in reversed(self._seen) if oracle.separation(z) is None), None)
        if best is None or inside is None or self.recorder.n_calls >= self.options.max_calls:
            return
        for share in STEPS_INSIDE:
            point = best.point + share * (inside - best.point)
            if oracle.separation(point) is None:
                break
        self._questions.repeated = False
        cut = self.answer(Query(point))
        if isinstance(cut, ObjectiveCut) and not is_infinite(cut):
            self.bounds.move(cut)
        self._note(cut, Step.NULL)
        self.pay()

    def check(self, verdict: Status | None) -> None:
        """End the run where it is over: by the verdict, a listener, or a generator that gave up."""
        if self._unbounded and self.bounds.incumbent is not None:
            raise Ended(Status.UNBOUNDED, self._unbounded)
        status = verdict or (Status.STOPPED if self._stopped else self._given_up)
        if status is not None:
            options, n_calls = self.options, self.recorder.n_calls
            raise Ended(*self.confirmation.of(status, self.bounds, options.max_calls, n_calls, self._ends))


def _chosen(oracle: Oracle) -> tuple[QueryPointGenerator, Callable[[], str]]:
    """The generator chosen for an oracle, and its story: the one place where the core knows generators."""
    check_oracle(oracle)
    from oracle_opt.generators.sequel import Sequel

    sequel = Sequel(oracle)
    check_pair(oracle, sequel.chosen)  # which is named where none can serve
    return sequel, sequel.story


# By process and identity, and not in the objects: these can be copied and pickled while a run goes on, and a forked
# process starts free. Single operations of a dict are atomic, so that no lock is needed.
_used: dict[tuple[int, int], object] = {}


@contextmanager
def _in_use(oracle: Oracle, generator: QueryPointGenerator) -> Iterator[None]:
    """Keep both for one run, until the block ends; an oracle that is stateless may serve several."""
    run, taken = object(), []
    try:
        for name, thing in (("oracle", oracle), ("generator", generator)):
            if name == "oracle" and oracle.stateless:
                continue
            key = os.getpid(), id(thing)
            if _used.setdefault(key, run) is not run:
                raise InvalidArgument(
                    f"`{name}` must serve one run at a time, and another run is using this {type(thing).__name__}, "
                    "which keeps state between calls; make one for each run"
                )
            taken.append(key)
        yield
    finally:
        for key in taken:
            del _used[key]
