"""A live line on the terminal: calls, bounds, relative gap. Silent where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oracle_opt.history import Record
from oracle_opt.optional import require


def on_terminal() -> bool:
    """Whether standard error is there, open, and a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # something else stands in its place, or it is closed
        return False


@contextmanager
def progress_display(wanted: bool, description: str, max_calls: int) -> Iterator[Callable[[Record], None]]:
    """Give a function to be called with every record."""
    if not (wanted and on_terminal()):
        yield lambda record: None
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(description, total=max_calls, upper=float("inf"), lower=-float("inf"), gap=float("inf"))

        def show(record: Record) -> None:
            bounds = {"upper": record.upper_bound, "lower": record.lower_bound, "gap": record.relative_gap}
            display.update(task, completed=record.call, **bounds)  # type: ignore[arg-type]

        yield show
