"""A bar over the runs of a study."""

from __future__ import annotations

from types import TracebackType

from oracle_opt.study.records import Run


class ProgressBar:
    """A bar over the runs on standard error; nothing but the first line where that is no terminal.

    Parameters
    ----------
    wanted : bool
        Whether to show anything.
    n_found, n_missing : int
        Runs found finished, and to do.
    """

    def __init__(self, wanted: bool, n_found: int, n_missing: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, quiet=not wanted)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs {task.description}"), TimeElapsedColumn())
        self._bar = Progress(
            *columns, console=console, transient=True, disable=not wanted or not console.is_terminal or not n_missing
        )
        self._task = self._bar.add_task("", total=n_missing)
        found = f"{n_found} runs found finished, " if n_found else ""
        console.print(f"{found}{n_missing} {'' if n_found else 'runs '}to do", highlight=False)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, place: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, run: Run) -> None:
        """Count a run."""
        instance, generator, _ = run.key
        self._bar.update(self._task, advance=1, description=f"(last: {instance} {generator})")
