"""A live line on the terminal: calls, bounds, relative gap. Silent where there is no terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from oracle_opt.listener import Listener
from oracle_opt.optional import require

if TYPE_CHECKING:
    from rich.progress import Progress

    from oracle_opt.history import Record
    from oracle_opt.result import Result
    from oracle_opt.run import Run


def on_terminal() -> bool:
    """Whether standard error is there, open, and a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # something else stands in its place, or it is closed
        return False


class ProgressDisplay(Listener):
    """The line of one run."""

    _display: Progress | None = None

    def begin(self, run: Run) -> None:
        """Open the line, if there is a terminal."""
        if not on_terminal():
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
        if self._display is not None:
            bounds = {"upper": record.upper_bound, "lower": record.lower_bound, "gap": record.relative_gap}
            self._display.update(self._task, completed=record.call, **bounds)  # type: ignore[arg-type]

    def end(self, result: Result) -> None:
        """Take the line away."""
        if self._display is not None:
            self._display.stop()
