"""The one loop: ask the generator, call the oracle, tell the answer, prove the gap."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from math import inf
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt._choice import chosen
from oracle_opt._deadline import Deadline
from oracle_opt._in_use import in_use
from oracle_opt._questions import Questions
from oracle_opt.bounds import BoundTracker, closed
from oracle_opt.checks import check_arguments, check_cut, check_known, check_options
from oracle_opt.confirmation import Confirmation
from oracle_opt.cuts import Cut, FeasibilityCut, Minorant, ObjectiveCut, Query, bearing, is_infinite
from oracle_opt.errors import EmptyLocalizationSet, Exhausted, OutOfTime
from oracle_opt.generator import QueryPointGenerator, Step
from oracle_opt.history import HistoryRecorder, Record
from oracle_opt.journal import Entry, Journal
from oracle_opt.oracle import Oracle
from oracle_opt.progress import progress_display
from oracle_opt.result import Ended, Result, Status, make_result
from oracle_opt.run_log import RunLog


def minimize(
    oracle: Oracle,
    generator: QueryPointGenerator | None = None,
    point: ArrayLike | None = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    gtol: float | None = None,
    max_calls: int = 1000,
    max_seconds: float | None = None,
    cuts: Sequence[Cut] = (),
    keep_cuts: bool = False,
    journal: str | os.PathLike[str] | None = None,
    journal_check: bool = True,
    callback: Callable[[Record], object] | None = None,
    progress: bool = False,
    log: bool | Callable[[str], object] = False,
    check: bool = True,
    probes: int | Literal["auto"] = "auto",
) -> Result:
    """Minimize the oracle's function over its domain.

    ::

        generator --ask--> query point --> oracle --cut--> bounds, history
            ^                                  |
            +------------- tell ---------------+

    Parameters
    ----------
    oracle : Oracle
        Answers query points with cuts. Wrap a plain function in `FunctionOracle`.
    generator : QueryPointGenerator, optional
        Proposes query points; default is that of `oracle_opt.generators.choose_generator`.
    point : array_like of shape (n,), optional
        Where to start, in the domain; default is the domain's interior point.
    rtol, atol : float
        Stop when the proven gap is at most ``max(atol, rtol * abs(upper bound))``. An optimum of 0 is reached where
        both bounds are 0 up to rounding; docs/theory.md says what that means.
    gtol : float, optional
        Stop when ``norm(project(z - g) - z) <= gtol`` for the last point z and its subgradient g.
    max_calls : int
        Limit on oracle calls, replayed ones and probes included.
    max_seconds : float, optional
        Limit on elapsed seconds; checked between calls, inside the generator's own work, and in oracles whose queries
        may take long, such as `MKLOracle` on many points: an answer that is not ready by then is given up.
    cuts : sequence of cuts
        Cuts of the same function from an earlier run, told before the first call and not counted. The proof may rest on
        them, and a certificate then names them with their own witness.
    keep_cuts : bool
        Keep the cuts in ``result.history.cuts``.
    journal : path-like, optional
        Log every answer durably in this file. If it holds the answers of the same run, they are replayed instead
        of calling the oracle, and the run goes on from there.
    journal_check : bool
        Whether the oracle is first asked the last recorded query again, one call that is not counted, and its answer
        compared with the recorded one. `False` is for oracles too expensive for that.
    callback : callable, optional
        Called with a `Record` after each call; stops the run by returning `True`.
    progress : bool
        Show a progress display on the terminal; nothing where there is none.
    log : bool or callable
        Say in plain lines how the run goes: what runs on what, call, step, bounds, relative gap and seconds of each of
        the first ten calls and then of at most one a second, the last call, and the status with its message. `True`
        writes them to standard error; a function is called with each line, such as `print` or
        ``logging.getLogger("runs").info``.
    check : bool
        Whether the value at the best point is recomputed from the data before success is stated, where the oracle can,
        see `Oracle.prove_value`. If it is higher than what was stated, the run ends as `Status.REFUTED`.
    probes : int or "auto"
        How many further points are asked before success is stated, their answers held against those of the run: an
        answer that no convex function gives ends the run as `Status.CONTRADICTION`. Default: a quarter of the calls,
        from 4 to 8, of an oracle without a witness that is said to be convex, else none. Pass 0 where a call is dear.

    Returns
    -------
    Result
        Also on limits, a stall, an empty localization set and Ctrl-C: see its `status`.

    Raises
    ------
    InvalidArgument
        An argument cannot be used, or another run is using the oracle or the generator.
    CapabilityMismatch
        This generator cannot serve this oracle; raised before the first call.
    InvalidCut
        The oracle answered no cut of the query point. Like any exception that ends a run, of an oracle, a generator,
        a callback or a journal, and like `SystemExit`, it carries the partial `Result` as its attribute `result`.
    JournalMismatch
        The journal belongs to another run, is damaged, or is in use by another run.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex, minimize
    >>> from oracle_opt.generators import Kelley
    >>> target = np.array([0.2, 0.3, 0.5])
    >>> oracle = FunctionOracle(lambda z: (abs(z - target).sum(), np.sign(z - target)), Simplex(3))
    >>> minimize(oracle, Kelley(), atol=1e-9).point.round(6).tolist()
    [0.2, 0.3, 0.5]
    """
    recorder = HistoryRecorder(keep_cuts)
    generator, choice = (generator, "") if generator is not None else chosen(oracle)
    start = check_arguments(oracle, generator, point, rtol, atol, gtol, max_calls, max_seconds)
    cuts = check_options(cuts, keep_cuts, journal, journal_check, callback, progress, check, probes)
    bounds, lines = BoundTracker(oracle.domain, oracle.convex, oracle.witness), RunLog(log, recorder)
    questions, confirmation = Questions(generator, oracle.domain), Confirmation(oracle, check, probes)
    ends = inf if max_seconds is None else perf_counter() + max_seconds
    query = None

    def result(status: Status, reason: str = "") -> Result:
        made = make_result(status, oracle, bounds, recorder, generator, choice, rtol, atol, reason, confirmation)
        lines.end(made)
        return made

    with in_use(oracle, generator):
        try:
            lines.begin(oracle, generator, rtol, atol, max_calls)
            oracle.reset()
            oracle.domain.reset()
            generator.reset(oracle.domain, start.copy())
            for cut in cuts:
                cut = check_known(cut, oracle)
                _, minorant, weight, _ = _told(generator, cut, oracle.witness, ends, bounds)
                bounds.update(cut, minorant, weight)
            file = nullcontext() if journal is None else Journal.of(journal, oracle, generator, start, cuts)
            with file as kept, progress_display(progress, type(generator).__name__, max_calls) as show:
                if kept is not None and journal_check and kept.entries:
                    _ask_again(kept, oracle)
                oracle.domain.reset()  # the check may have used the domain, and a run meets it as new, resumed or not
                while True:
                    if recorder.n_calls >= max_calls:
                        return result(Status.MAX_CALLS)
                    if perf_counter() >= ends:
                        return result(Status.MAX_SECONDS)
                    clock = perf_counter()
                    asked = _asked(questions, ends)
                    generator_seconds = perf_counter() - clock

                    if not questions.repeated:
                        query, entry = asked, None if kept is None else kept.next_answer(asked, oracle)
                        if entry is None:
                            clock = perf_counter()
                            answer = _answer(oracle, query, ends)
                            oracle_seconds = perf_counter() - clock
                            cut = check_cut(answer, query.point, oracle)
                            if kept is not None:
                                kept.append(Entry(query, cut, oracle_seconds))
                        else:
                            cut, oracle_seconds = entry.cut, entry.seconds
                            recorder.n_replayed += 1

                    step, status, finite = Step.NULL, None, not is_infinite(cut)
                    if questions.repeated or questions.answered(cut, bounds.incumbent):
                        clock = perf_counter()
                        step, minorant, weight, status = _told(generator, cut, oracle.witness, ends, bounds)
                        generator_seconds += perf_counter() - clock
                        if finite:
                            bounds.update(cut, minorant, weight, questions.repeated)
                    if not questions.repeated:
                        confirmation.hold(cut)
                        inner = generator.inner_steps()
                        record = recorder.append(cut, step, bounds, oracle_seconds, generator_seconds, inner)
                        show(record)
                        lines.show(record)
                        if callback is not None and callback(record) is True:
                            status = Status.STOPPED
                    if finite:
                        status = _verdict(bounds, cut, oracle, rtol, atol, gtol) or status
                    if status is not None:
                        return result(*confirmation.of(status, bounds, max_calls, recorder.n_calls, ends))
        except Ended as end:
            return result(end.status, end.reason)
        except KeyboardInterrupt:
            return result(Status.INTERRUPTED)
        except BaseException as problem:  # also SystemExit: nothing that was computed is lost
            with suppress(AttributeError, TypeError):  # some classes of exceptions let no attribute be set
                problem.result = result(Status.FAILED)  # type: ignore[attr-defined]
            where = "before the first query" if query is None else f"at {np.array2string(query.point, threshold=10)}"
            problem.add_note(f"during oracle call {recorder.n_calls + 1}, {where}; `error.result` holds the run so far")
            raise
        finally:
            generator.finish()


def _ask_again(kept: Journal, oracle: Oracle) -> None:
    """Hold the oracle's answer to the last recorded query against the recorded ones, and let it forget that query."""
    query = kept.last_query(oracle.domain.dimension)
    try:
        fresh = check_cut(oracle.query(query), query.point, oracle)
    except Exhausted as problem:
        raise kept.refusal(f"it proves now that there is no point at all, {problem}") from problem
    kept.compare(fresh, oracle.convex)
    oracle.reset()


def _asked(questions: Questions, ends: float) -> Query:
    """The next question."""
    try:
        with Deadline(ends):
            return questions.next()
    except OutOfTime:
        raise Ended(Status.MAX_SECONDS) from None
    except Exhausted as end:
        empty = isinstance(end, EmptyLocalizationSet)
        raise Ended(Status.EMPTY if empty else Status.EXHAUSTED, str(end)) from end


def _answer(oracle: Oracle, query: Query, ends: float) -> Cut:
    """The oracle's answer, unless no point is feasible, or no time is left in a long one that asks."""
    try:
        with Deadline(ends):
            return oracle.query(query.copy())
    except OutOfTime:
        raise Ended(Status.MAX_SECONDS) from None
    except EmptyLocalizationSet as proof:
        if FeasibilityCut not in oracle.gives:
            raise
        raise Ended(Status.EMPTY, str(proof)) from proof


def _told(
    generator: QueryPointGenerator, cut: Cut, witness: tuple[str, ...], ends: float, bounds: BoundTracker
) -> tuple[Step, Minorant | None, float, Status | None]:
    """What a generator makes of a cut: step, minorant and weight; no proof if it runs out of time or gives up."""
    end = None
    try:
        with Deadline(ends):
            told = cut if generator.reads_extras else bearing(cut, witness)
            return generator.tell(told), generator.minorant(), generator.weight(), None
    except OutOfTime:
        pass  # the loop looks at the clock next, and ends
    except EmptyLocalizationSet:
        end = Status.EMPTY
    except Exhausted:
        end = Status.EXHAUSTED
    if isinstance(cut, FeasibilityCut):
        return Step.FEASIBILITY, None, 0.0, end
    return Step.SERIOUS if cut.upper < bounds.upper else Step.NULL, None, 0.0, end


def _verdict(
    bounds: BoundTracker, cut: Cut, oracle: Oracle, rtol: float, atol: float, gtol: float | None
) -> Status | None:
    """Whether the run is over."""
    if bounds.refuted:
        return Status.OUTSIDE
    if bounds.contradiction():
        return Status.CONTRADICTION
    if closed(bounds.upper, bounds.lower, rtol, atol, bounds.resolution):
        return Status.CONVERGED
    if gtol is not None and isinstance(cut, ObjectiveCut):
        moved = oracle.domain.project(cut.point - cut.subgradient) - cut.point
        if float(np.linalg.norm(moved)) <= gtol:
            return Status.GRADIENT
    return None
