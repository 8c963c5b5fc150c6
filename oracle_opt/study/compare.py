"""The comparison of Wulff & Ong (2014): run what is missing, then write tables and curves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oracle_opt.datasets import Dataset
from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_file, atomic_text, folder_name
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.study.grid import Task, run_tasks
from oracle_opt.study.plots import plot_curves
from oracle_opt.study.records import Failure, Run, Settings
from oracle_opt.study.store import RunStore
from oracle_opt.study.summary import history_table, summary_table
from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcome of `compare`.

    Attributes
    ----------
    folder : Path
        Where the files are.
    runs : tuple of Run
        All finished runs in the folder, those of earlier calls included.
    failures : tuple of Failure
        Runs of this call that raised.
    n_found, n_done : int
        Runs of this grid found finished, and finished by this call.
    interrupted : bool
        Whether Ctrl-C ended it early.
    """

    __repr__ = one_line

    folder: Path
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    n_found: int
    n_done: int
    interrupted: bool


def compare(
    datasets: Sequence[Dataset],
    generators: Mapping[str, QueryPointGenerator],
    folder: os.PathLike[str] | str,
    settings: Settings | None = None,
    *,
    splits: int = 20,
    jobs: int = 1,
    on_start: Callable[[int, int], object] | None = None,
    on_run: Callable[[Run | Failure], object] | None = None,
) -> Comparison:
    """Compare generators on the l1-MKL problems of random splits.

    Every finished run is kept in the folder at once. The same call again runs what is missing only. Settings belong to
    the folder; data sets, generators and splits may be added to it by further calls, and its files cover all of them.

    Parameters
    ----------
    datasets : sequence of Dataset
        With different names.
    generators : mapping
        Names to generators.
    folder : path-like
        Gets `runs/`, `settings.json`, `summary.csv`, `history.parquet` and `curves.png`.
    settings : Settings, optional
        The protocol's numbers; default those of the paper.
    splits : int
        Number of random splits of each data set.
    jobs : int
        Number of processes; -1 stands for one per core. With more than one, a script must call this under
        ``if __name__ == "__main__":``.
    on_start : callable, optional
        Called with the numbers of runs found finished and of runs to do.
    on_run : callable, optional
        Called with each `Run` or `Failure`, after it has been stored.

    Returns
    -------
    Comparison
        Also after Ctrl-C.

    Raises
    ------
    InvalidArgument
        An argument cannot be used.
    StoreMismatch
        The folder belongs to other settings, other data or other methods, or a run in it is damaged.
    OSError
        A run cannot be written, as the disk is full; those finished before are kept.
    """
    names = [dataset.name for dataset in datasets]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"`datasets` must be at least one, with different names, got {names}")
    if not generators:
        raise InvalidArgument("`generators` must be at least one, got none")
    if splits < 1:
        raise InvalidArgument(f"`splits` must be at least 1, got {splits!r}")
    if jobs < 1 and jobs != -1:
        raise InvalidArgument(f"`jobs` must be at least 1, or -1 for one per core, got {jobs!r}")
    for name in (*names, *generators):
        folder_name(name)
    settings = Settings() if settings is None else settings
    store = RunStore(folder, settings)
    runs = {run.key: run for run in store.load()}
    digests = {dataset.name: dataset.digest() for dataset in datasets}
    store.check(runs.values(), digests, {name: repr(generator) for name, generator in generators.items()})

    tasks = []
    for dataset in datasets:
        for split in range(splits):
            missing = {
                name: generator for name, generator in generators.items() if (dataset.name, name, split) not in runs
            }
            if missing:
                tasks.append(Task(dataset, missing, split))
    n_missing = sum(len(task.generators) for task in tasks)
    n_found = len(datasets) * len(generators) * splits - n_missing
    if on_start is not None:
        on_start(n_found, n_missing)

    before = len(runs)
    failures: list[Failure] = []

    def report(outcome: Run | Failure) -> None:
        if isinstance(outcome, Run):
            _save(store, outcome)
            runs[outcome.key] = outcome
        else:
            failures.append(outcome)
        if on_run is not None:
            on_run(outcome)

    interrupted = False
    try:
        run_tasks(tasks, settings, _cores() if jobs == -1 else jobs, report)
    except KeyboardInterrupt:
        interrupted = True
        runs = {run.key: run for run in store.load()}  # one may have been stored and not yet counted
    ordered = _in_order(list(runs.values()), names)
    _write(store.folder, ordered, failures, settings.rtol)
    return Comparison(store.folder, ordered, tuple(failures), n_found, len(runs) - before, interrupted)


def _save(store: RunStore, run: Run) -> None:
    try:
        store.save(run)
    except OSError as problem:
        kept = f"{problem}; the runs finished before are kept in {store.folder}: mend that, and repeat the call"
        raise OSError(problem.errno, kept) from problem


def _in_order(runs: list[Run], names: list[str]) -> tuple[Run, ...]:
    """Sort by data set, those of this call first and in its order, then generator and split."""
    ranks = {name: rank for rank, name in enumerate(names)}
    return tuple(sorted(runs, key=lambda run: (ranks.get(run.dataset, len(ranks)), *run.key)))


def _write(folder: Path, runs: tuple[Run, ...], failures: list[Failure], rtol: float) -> None:
    log = folder / "failures.txt"
    if failures:
        atomic_text(log, "\n".join(f"{'/'.join(map(str, failure.key))}\n{failure.details}" for failure in failures))
    else:
        log.unlink(missing_ok=True)
    if not runs:
        return
    atomic_text(folder / "summary.csv", summary_table(runs).to_csv(index=False))
    history = history_table(runs)
    atomic_file(folder / "history.parquet", lambda path: history.to_parquet(path, index=False))
    atomic_file(folder / "curves.png", lambda path: plot_curves(history, rtol, path))


def _cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
