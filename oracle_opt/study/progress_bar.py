"""Progress of the runs of a study: a bar over them, a line for each, and a list of failed runs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

from oracle_opt.errors import MissingPackage, StudyFailed, StudyWarning
from oracle_opt.optional import require
from oracle_opt.run_log import Line, NotebookLine, line_writer, on_terminal, to_standard_error
from oracle_opt.study.machine import crowded
from oracle_opt.study.records import REFUSED, FinishedRun
from oracle_opt.study.results import Results
from oracle_opt.words import number


class ProgressBar:
    """A bar over the runs on standard error, or a line in a notebook: how many are done and failed, and the time left.

    Where there is neither, or without rich, a line at the beginning and after each tenth.
    """

    def __init__(self, wanted: bool, n_found: int, n_missing: int, log: bool | Line = False) -> None:
        self._bar: Any = None
        self._plain = False  # whether each tenth is a line
        self._line: NotebookLine | None = None
        self._write, self._n_done, self._n_missing, self._began = line_writer(log), 0, n_missing, perf_counter()
        self.n_failed = 0  # how many of the runs that were done an exception has ended
        found = f"{number(n_found, 'run')} found finished, " if n_found else ""
        words = f"{found}{n_missing if n_found else number(n_missing, 'run')} to do"
        if self._write is not None:
            self._write(words)
        if not wanted:
            return
        self._line = NotebookLine.open(words)
        if self._line is not None:
            return
        if not on_terminal():
            if log is not True:  # which says each run there
                self._plain = True
                to_standard_error(words)
            return
        try:
            require("rich", "cli", "a progress bar")
        except MissingPackage as problem:
            self._plain = True
            to_standard_error(f"{words} ({problem})")
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        left = TimeRemainingColumn(elapsed_when_finished=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs {task.description}, time left"), left)
        self._bar = Progress(*columns, console=console, transient=True, disable=not n_missing)
        self._task = self._bar.add_task("", total=n_missing)
        console.print(words, highlight=False)

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, place: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, run: FinishedRun) -> None:
        """Count a run."""
        instance, generator, seed = run.key
        self.n_failed += run.failed
        self._n_done += 1
        if self._write is not None:
            row = run.row
            self._write(
                f"{self._n_done} of {self._n_missing}: {instance}, {generator}, seed {seed}: {row['status']} after "
                f"{row['n_calls']} calls and {row['seconds']:.3g} seconds, relative gap {row['relative_gap']:.2e}"
            )
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        done, missing = self._n_done, self._n_missing
        if self._line is not None or (self._plain and 10 * done // missing > 10 * (done - 1) // missing):
            left = (perf_counter() - self._began) / done * (missing - done)
            words = f"{done} of {number(missing, 'run')}{failed}, about {duration(left)} left"
            if self._line is None:
                to_standard_error(words)
            else:
                self._line.write(f"{words} (last: {instance} {generator})", last=done == missing)
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=f"(last: {instance} {generator}{failed})")


def duration(seconds: float) -> str:
    """Hours, minutes and seconds as on a clock: "0:07", "1:02:30"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def warn_of_load(jobs: int | None) -> None:
    """Say once that elapsed seconds will tell of the neighbors, too, where there are more of them than cores."""
    if reason := crowded(jobs):
        _warn(f"{reason}: elapsed seconds of these runs will tell of the others, too; take clock='processor', or wait")


WHERE = "the columns `message` and `traceback` of `results.runs` have each"


def warn_of_first(run: FinishedRun) -> None:
    """Say that a run has failed, while the others go on: a mistake that ends all of them is seen at once."""
    instance, generator, seed = run.key
    _warn(
        f"a run has failed, the first of this study: {instance}, {generator}, seed {seed}: {_message(run)}. The study "
        "goes on"
    )


def judge(runs: Sequence[FinishedRun], results: Results) -> None:
    """Say at the end what failed: which instances and generators altogether."""
    failed = [run for run in runs if run.failed]
    if not failed:
        return
    if all(run.failed or run.row["status"] == REFUSED for run in runs):
        raise StudyFailed(
            f"every run of this study failed, {len(failed)} of {len(runs)}, the first one so: {_message(failed[0])}. "
            f"The exception has the `results`: {WHERE}",
            results,
        )
    whole = [*_altogether(runs, "instance", "on"), *_altogether(runs, "generator", "of")]
    if len(failed) > 1:
        words = f": {'; '.join(whole)}" if whole else f", the first one so: {_message(failed[0])}"
        _warn(f"{len(failed)} of {len(runs)} runs failed{words}; {WHERE}")


def _altogether(runs: Sequence[FinishedRun], column: str, word: str) -> list[str]:
    """Instances or generators of which every run failed, in words."""
    groups: dict[str, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(run.row[column], []).append(run)
    return [
        f"every run {word} {name!r}, the first one so: {_message(own[0])}"
        for name, own in groups.items()
        if len(own) > 1 and all(run.failed for run in own)
    ]


def _message(run: FinishedRun) -> str:
    """Its first line."""
    return str(run.row["message"]).partition("\n")[0]


def _warn(words: str) -> None:
    warnings.warn(words, StudyWarning, stacklevel=3)
