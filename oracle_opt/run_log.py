"""How a run goes: lines for files of jobs, notebooks, and wherever there is no terminal, and the live line on one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING

from oracle_opt.errors import InvalidArgument
from oracle_opt.history import Record
from oracle_opt.listener import Listener, RunView
from oracle_opt.optional import require
from oracle_opt.result import Result, named
from oracle_opt.words import shown

if TYPE_CHECKING:
    from rich.progress import Progress

Line = Callable[[str], object]
FIRST = 10  # calls with a line each
PAUSE = 1.0  # seconds between lines from then on
RENEWED = 0.2  # seconds between changes of the line of a notebook
TITLES = f"{'call':>8}  {'step':<11} {'upper bound':>17} {'lower bound':>17} {'rel. gap':>9} {'seconds':>9}"


def line_writer(log: bool | Line) -> Line | None:
    """The writer of a line: none for False, standard error for True, or the user's function."""
    if log is True:
        return to_standard_error
    if log is False:
        return None
    if not callable(log):
        raise InvalidArgument(
            "`log` must be True, False, or a function of a line such as print or logging.getLogger('runs').info, "
            f"got {shown(log)}"
        )
    return log


def to_standard_error(line: str) -> None:
    """Write a line at once; no trouble with standard error ends a run."""
    # Where the program looks for it now; none may be there, or the terminal may be gone: the run goes on.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


class RunLog(Listener):
    """The lines of one run: two above it, one for each of the first ten calls and then at most one a second, the last
    call, and how the run ended.
    """

    def __init__(self, log: bool | Line) -> None:
        self._write = line_writer(log)
        self._due = 0.0  # when the next line may be written
        self._held: str | None = None  # the last call's, if it was not

    def begin(self, run: RunView) -> None:
        """Write what runs on what."""
        self._recorder = run.recorder  # which has the clock
        manner = f" ({run.oracle.manner})" if run.oracle.manner else ""
        problem = f"{type(run.oracle).__name__} in {run.oracle.domain.dimension} variables{manner}"
        limits = f"rtol {run.options.rtol:g}, atol {run.options.atol:g}, at most {run.options.max_calls} calls"
        self._say(f"{named(run.generator)} on {problem}: {limits}")
        if run.proposed:
            self._say(f"proposed first by {run.proposed}")
        self._say(TITLES)

    def show(self, record: Record) -> None:
        """Write the line of a call, unless one was written a moment ago."""
        now = perf_counter()
        self._held = (
            f"{record.call:>8}  {record.step.value:<11} {record.upper_bound:>17.10g} {record.lower_bound:>17.10g} "
            f"{record.relative_gap:>9.2e} {self._recorder.seconds:>9.2f}"
        )
        if record.call <= FIRST or now >= self._due:
            self._due = now + PAUSE
            self._say_held()

    def end(self, result: Result) -> None:
        """Write the last call, if it has no line yet, and how the run ended; nothing comes after it."""
        self._say_held()
        calls = f"{result.n_calls} oracle calls and {result.seconds:.3g} seconds"
        self._say(f"{result.status.name} after {calls}: {result.message}")

    def _say_held(self) -> None:
        line, self._held = self._held, None
        if line is not None:
            self._say(line)

    def _say(self, line: str) -> None:
        write, self._write = self._write, None
        if write is not None:
            write(line)
            self._write = write  # one that raised is not asked again: its exception ends the run, and is the last word


def on_terminal() -> bool:
    """Whether standard error is there, open, and a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # something else stands in its place, or it is closed
        return False


class NotebookLine:
    """A line below the cell of a notebook that is written anew, at most every `RENEWED` seconds; needs no widgets."""

    def __init__(self, words: str) -> None:
        from IPython.display import display

        self._handle = display({"text/plain": words}, raw=True, display_id=True)
        self._due = perf_counter() + RENEWED

    @classmethod
    def open(cls, words: str) -> NotebookLine | None:
        """The line, if this is the cell of a notebook."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        return cls(words) if hasattr(shell, "kernel") else None

    def write(self, words: str, last: bool = False) -> None:
        """Show these words instead."""
        if last or perf_counter() >= self._due:
            self._handle.update({"text/plain": words}, raw=True)
            self._due = perf_counter() + RENEWED


class ProgressDisplay(Listener):
    """A live line on the terminal or in a notebook: calls, bounds, relative gap. Silent elsewhere."""

    _display: Progress | None = None
    _line: NotebookLine | None = None
    _words = ""

    def begin(self, run: RunView) -> None:
        """Open the line, if there is where to."""
        self._line = NotebookLine.open(f"{type(run.generator).__name__}: no call yet")
        if self._line is not None:
            self._head = f"{type(run.generator).__name__}, call {{}} of at most {run.options.max_calls}: "
        if self._line is not None or not on_terminal():
            return
        require("rich", "cli", "the line that progress=True shows")
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("upper {task.fields[upper]:.8g}  lower {task.fields[lower]:.8g}  gap {task.fields[gap]:.1e}"),
            TimeElapsedColumn(),
        )
        self._display = Progress(*columns, console=Console(stderr=True), transient=True)
        self._display.start()
        name, inf = type(run.generator).__name__, float("inf")
        self._task = self._display.add_task(name, total=run.options.max_calls, upper=inf, lower=-inf, gap=inf)

    def show(self, record: Record) -> None:
        """Show what is proven after a call."""
        if self._line is not None:
            bounds = f"upper {record.upper_bound:.8g}  lower {record.lower_bound:.8g}  gap {record.relative_gap:.1e}"
            self._words = self._head.format(record.call) + bounds
            self._line.write(self._words)
        if self._display is not None:
            fields = {"upper": record.upper_bound, "lower": record.lower_bound, "gap": record.relative_gap}
            self._display.update(self._task, completed=record.call, **fields)  # type: ignore[arg-type]

    def end(self, result: Result) -> None:
        """Take the line away; in a notebook it stays as it was at the end."""
        if self._line is not None and self._words:
            self._line.write(self._words, last=True)
        if self._display is not None:
            self._display.stop()
