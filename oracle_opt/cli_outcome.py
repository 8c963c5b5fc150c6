"""Output and exit codes of the commands: a part of `oracle_opt.cli`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.console import Console
from typer.core import TyperCommand

if TYPE_CHECKING:
    from oracle_opt.study import Results

INTERRUPTED = 130  # exit code of a command that Ctrl-C ended
REFUSED = 2


class Worded(TyperCommand):
    """A command that shows the value it refuses, and knows `--tau` of studies by its name here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command."""
        words = " ".join(args).replace("=", " ").split()
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:  # of click, of which typer may have a copy of its own
            if "--tau" in words and hasattr(problem, "possibilities"):
                problem.possibilities = ["--rtol"]
            for name, value in pairwise(words):
                if hasattr(problem, "message") and name in getattr(getattr(problem, "param", None), "opts", ()):
                    problem.message += f", got {value!r}"
            raise


def results_of(run: Callable[[], Results]) -> Results:
    """The results of a study, also of one of which every run failed; what it warns of is a line on standard error."""
    from oracle_opt.errors import StudyFailed, StudyWarning

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, StudyWarning):
                say(f"warning: {message}")
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("always", StudyWarning)
        try:
            return run()
        except StudyFailed as failed:
            results: Results = failed.results
            return results


def ended(results: Results, folder: Path, seeds: str) -> None:
    """Say which runs came to nothing, and choose the exit code."""
    ended = results.runs[results.runs["status"].isin(["FAILED", "REFUSED", "DOUBTFUL"])]
    for row in ended.head(20).itertuples():
        say(f"{row.status.lower()}: {row.instance}, {row.generator}, {seeds} {row.seed}: {row.message}")
    failed = int((ended["status"] == "FAILED").sum())
    if failed:
        where = folder / "failures.txt"
        say(f"{failed} runs failed; " + (f"tracebacks are in {where}" if where.exists() else "the report has more"))
    if results.interrupted:
        say(f"interrupted: kept {len(results)} finished runs in {folder}; run the same command again to continue")
        raise typer.Exit(INTERRUPTED)
    if failed:
        raise typer.Exit(1)


def say(message: str) -> None:
    """Print a line on standard error."""
    Console(stderr=True).print(message, markup=False, highlight=False, soft_wrap=True)


def console_of(width: int = 150) -> Console:
    """Standard output; tables do not fold where it is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=max(width, console.width))


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the library's refusals into a message and exit code 2."""
    from oracle_opt.errors import DataUnavailable, InvalidArgument, InvalidData, MissingPackage, StoreMismatch

    try:
        yield
    except (DataUnavailable, InvalidArgument, InvalidData, MissingPackage, StoreMismatch, OSError) as problem:
        say(f"error: {problem}")
        raise typer.Exit(REFUSED) from None
