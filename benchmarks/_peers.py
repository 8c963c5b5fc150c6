"""Ours and other solvers on one problem, in turn: processor seconds and memory, each run in a process of its own.

A solver is a function that can be pickled and makes the problem, untimed, then returns what solves it: a function
without arguments, which is timed and returns an `Answer`.
"""

import resource
import shutil
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from _shared import resident, say
from _verified import counted, verified

from oracle_opt import Oracle, Result
from oracle_opt.errors import InvalidCertificate, Refuted


@dataclass(frozen=True)
class Answer:
    """What a solver found.

    Attributes
    ----------
    value : float
        Value of its point.
    bound : float
        Bound it proves on the optimum; nan where it proves none.
    calls : int
        Oracle calls or iterations.
    ended : str
        Empty where it reached the accuracy; else how it ended.
    certificate : bool
        Whether there is one, of a run of ours: it is verified when the clock has stopped.
    """

    value: float
    bound: float = np.nan
    calls: int = 0
    ended: str = ""
    certificate: bool = False


@dataclass(frozen=True)
class Run:
    """A run of ours whose certificate is still to be verified, and what it found."""

    result: Result
    oracle: Oracle
    answer: Answer


@dataclass(frozen=True)
class Measured:
    """Median processor seconds of the solver, with what it started; most bytes that it took above the problem."""

    seconds: float
    bytes: int
    answer: Answer

    @property
    def words(self):
        """Seconds, and how it ended if that was not at the accuracy asked."""
        return f"{self.seconds:.2g}" + (f" ({self.answer.ended})" if self.answer.ended else "")


def from_result(result, oracle, reached=True):
    """Answer of a run of `minimize`, with what verifies it."""
    ended = "" if result.success and reached else f"{result.status.name.lower()}, gap {result.relative_gap:.0e}"
    return Run(result, oracle, Answer(result.upper_bound, result.lower_bound, result.n_calls, ended))


def installed(command):
    """Whether a program is on the path; says which is missing and how Debian calls it."""
    if shutil.which(command):
        return True
    say(f"{command} is not installed (Debian: coinor-csdp, dsdp, sdpa): left out")
    return False


def side_by_side(solvers, rounds=5, limit=600.0):
    """Run each solver in rounds begun by the next one; those that fail or pass the limit once are not run again.

    Parameters
    ----------
    solvers : dict of str to tuple
        Function and arguments of each.
    rounds : int
        Rounds; a solver whose first run took more than a minute runs at most twice.
    limit : float
        Seconds by the wall clock that a run may take, its problem included.

    Returns
    -------
    dict of str to Measured
        What each took, medians over its runs.
    """
    found = {name: [] for name in solvers}
    names = list(solvers)
    for first in range(rounds):
        for i in range(len(names)):
            name = names[(first + i) % len(names)]
            runs = found[name]
            if runs and (runs[-1].answer.ended or (len(runs) > 1 and runs[0].seconds > 60.0)):
                continue
            runs.append(apart(*solvers[name], limit=limit))
            say(f"  {name}: {runs[-1].words} s")
    return {
        name: Measured(median(run.seconds for run in runs), max(run.bytes for run in runs), runs[-1].answer)
        for name, runs in found.items()
    }


def apart(solver, *arguments, limit=600.0):
    """One run in a new process; one that is killed by the limit, or dies, has no value."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_solve, args=(theirs, solver, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(limit):
            return Measured(limit, 0, Answer(np.nan, ended=f"> {limit:.0f} s"))
        found = ours.recv()
        if found.answer.certificate:  # which takes its time after the limit
            word = ours.recv()
            if isinstance(word, Exception):  # it was refused: no table is made of it
                raise word
            counted(word)
        return found
    except EOFError:
        process.join()
        return Measured(np.nan, 0, Answer(np.nan, ended=f"died, exit code {process.exitcode}"))
    finally:
        process.kill()
        process.join()


def _solve(pipe, solver, arguments):
    solve = solver(*arguments)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, began = resident("VmRSS"), _processor()
    try:
        answer = solve()
    except MemoryError:
        answer = Answer(np.nan, ended="MemoryError")
    seconds, most = _processor() - began, resident("VmHWM") - before
    if not isinstance(answer, Run):
        pipe.send(Measured(seconds, most, answer))
        return
    pipe.send(Measured(seconds, most, replace(answer.answer, certificate=True)))
    try:
        pipe.send(verified(answer.result, answer.oracle))
    except (InvalidCertificate, Refuted) as problem:
        pipe.send(problem)


def _processor():
    """Processor seconds of this process and of the programs it ran."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def growth(sizes, seconds):
    """Exponent of the time over the sizes: slope of the logarithms."""
    known = np.isfinite(seconds)
    if known.sum() < 2:
        return np.nan
    return float(np.polyfit(np.log(np.asarray(sizes)[known]), np.log(np.asarray(seconds)[known]), 1)[0])
