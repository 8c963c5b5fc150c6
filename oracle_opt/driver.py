"""The one loop: ask the generator, call the oracle, tell the answer, prove the gap."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import called_otherwise
from oracle_opt.cuts import Cut, ObjectiveCut, is_infinite
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.history import Record
from oracle_opt.listener import Listener
from oracle_opt.oracle import Oracle
from oracle_opt.result import Result, Status
from oracle_opt.run import Run
from oracle_opt.run_options import RunOptions


@called_otherwise(
    x0="point",
    constraints="FunctionOracle(function, domain, constraints=...)` as `oracle",
    tol="rtol",
    ftol="rtol",
    max_iter="max_calls",
    maxiter="max_calls",
    max_iterations="max_calls",
    timeout="max_seconds",
    time_limit="max_seconds",
    verbose="log",
    method="generator",
    solver="generator",
)
def minimize(
    oracle: Oracle,
    generator: QueryPointGenerator | str | None = None,
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
    callback: Callable[[Record], object] | Listener | None = None,
    progress: bool = False,
    log: bool | Callable[[str], object] = False,
    check: bool = True,
    probes: int | Literal["auto"] = "auto",
    clock: Literal["elapsed", "processor", "thread"] = "elapsed",
    first: bool | Literal["auto"] = "auto",
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
    generator : QueryPointGenerator or str, optional
        Proposes query points; or words such as ``"level-set"``, which `oracle_opt.study.generator_of` reads. Default is
        that of `oracle_opt.generators.choose_generator`, and others after it where the answers call for them: where
        they show a smooth function, have errors, or leave a gap at which it ends. `Result.choice` says which and why.
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
        may take long, such as `MKLOracle` on many points. An answer that is not ready by then is given up.
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
    callback : callable or Listener, optional
        Called with a `Record` after each call; stops the run by returning `True`. A `Listener` also learns how the run
        begins and ends, and may answer queries as a journal does.
    progress : bool
        Show a progress display on the terminal; nothing where there is none.
    log : bool or callable
        Say in plain lines how the run goes: what runs on what, the calls, and the status with its message. A call has
        its step, bounds, relative gap and seconds; the first ten and the last have a line, and between them at most one
        a second. `True` writes the lines to standard error; a function is called with each line, such as `print` or
        ``logging.getLogger("runs").info``.
    check : bool
        Whether the value at the best point is recomputed from the data before success is stated, where the oracle can,
        see `Oracle.prove_value`. If it is higher than what was stated, the run ends as `Status.REFUTED`.
    probes : int or "auto"
        How many further points are asked before success is stated, their answers held against those of the run: an
        answer that no convex function gives ends the run as `Status.CONTRADICTION`. Default: a quarter of the calls,
        from 4 to 8, of an oracle without a witness that is said to be convex, else none. Pass 0 where a call is dear.
    clock : {'elapsed', 'processor', 'thread'}
        What the seconds of oracle and generator are read from: elapsed time; the processor time of this process, all
        its threads together; or that of this thread alone. The last two count no waiting, and no other process: those
        of an executor, or a simulation that an oracle starts. `max_seconds` is elapsed by any clock.
    first : bool or "auto"
        Whether the oracle's own solver proposes the first point and a bound, see `Oracle.propose`. Where these close
        the gap no generator is needed; else it goes on from there. Default: where no generator is named.

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
    options = RunOptions(
        rtol=rtol,
        atol=atol,
        gtol=gtol,
        max_calls=max_calls,
        max_seconds=max_seconds,
        cuts=cuts,
        keep_cuts=keep_cuts,
        journal=journal,
        journal_check=journal_check,
        callback=callback,
        progress=progress,
        log=log,
        check=check,
        probes=probes,
        clock=clock,
        first=first,
    )
    recorder = None  # of the run before, on a smaller set
    while True:
        with Run(oracle, generator, point, options, recorder) as run:
            run.begin()
            while True:
                query = run.ask()
                cut = run.answer(query)
                run.tell(cut)
                run.check(_verdict(cut, run, options))
        if (wider := run.wider()) is None:
            return run.handed_over()
        oracle, recorder = wider, run.recorder


def _verdict(cut: Cut, run: Run, options: RunOptions) -> Status | None:
    """Whether the run is over."""
    bounds, domain = run.bounds, run.oracle.domain
    if is_infinite(cut):
        return None
    if bounds.refuted:
        return Status.OUTSIDE
    if bounds.contradiction():
        return Status.CONTRADICTION
    if bounds.closed(options.rtol, options.atol):
        run.pay()
        if not bounds.closed(options.rtol, options.atol):
            run.repair()
        return Status.CONVERGED if bounds.closed(options.rtol, options.atol) else Status.STALLED
    if options.gtol is not None and isinstance(cut, ObjectiveCut):
        moved = domain.project(cut.point - cut.subgradient) - cut.point
        if float(np.linalg.norm(moved)) <= options.gtol:
            return Status.GRADIENT
    return None
