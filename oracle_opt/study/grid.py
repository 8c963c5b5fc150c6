"""Running what is missing of a grid, in this process or in several."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import cast

from oracle_opt.datasets import Dataset
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.study.protocol import run_split
from oracle_opt.study.records import Failure, Run, Settings

Report = Callable[[Run | Failure], object]


@dataclass(frozen=True)
class Task:
    """All generators that are to run on one split of one data set, so that they share its kernels."""

    dataset: Dataset
    generators: Mapping[str, QueryPointGenerator]
    split: int


def run_tasks(tasks: Sequence[Task], settings: Settings, jobs: int, report: Report) -> None:
    """Run tasks, each process with one thread of linear algebra.

    Parameters
    ----------
    tasks : sequence of Task
        What to run.
    settings : Settings
        The protocol's numbers.
    jobs : int
        Number of processes; 1 runs everything in this one.
    report : callable
        Called in this process with each finished or failed run.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C. Runs not reported by then are lost.
    """
    jobs = min(jobs, len(tasks))
    if jobs > 1:
        _Crew(tasks, settings, jobs, report).work()
        return
    for task in tasks:
        for outcome in _run_task(task, settings, 1):
            report(outcome)


def _run_task(task: Task, settings: Settings, jobs: int) -> Iterator[Run | Failure]:
    from threadpoolctl import threadpool_limits

    from oracle_opt.oracles.kernels.base import most_of_memory

    memory = most_of_memory()
    with threadpool_limits(limits=1):
        yield from run_split(
            task.dataset, task.generators, task.split, settings, None if memory is None else memory // jobs
        )


def _serve(pipe: Connection, settings: Settings, jobs: int) -> None:
    """Body of a worker process: receive tasks, send outcomes, and None after each task."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        while True:
            task = pipe.recv()
            for outcome in _run_task(task, settings, jobs):
                pipe.send(outcome)
            pipe.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _die_with_parent() -> None:
    """End this process as soon as the one that started it has ended, however that was, also in the middle of a run."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@dataclass
class _Worker:
    process: SpawnProcess
    task: Task
    missing: list[str]  # generators of the task not heard of yet


class _Crew:
    """Worker processes, a pipe to each; a worker that dies costs its task alone."""

    def __init__(self, tasks: Sequence[Task], settings: Settings, jobs: int, report: Report) -> None:
        self._waiting = list(reversed(tasks))
        self._settings = settings
        self._jobs = jobs
        self._report = report
        self._workers: dict[Connection, _Worker] = {}

    def work(self) -> None:
        """Run everything."""
        try:
            for _ in range(self._jobs):
                self._hire()
            while self._workers:
                for pipe in wait(list(self._workers)):
                    self._listen(cast(Connection, pipe))
        finally:
            for pipe, worker in self._workers.items():
                worker.process.terminate()
                pipe.close()
            for worker in self._workers.values():
                worker.process.join()

    def _hire(self) -> None:
        context = get_context("spawn")
        pipe, other_end = context.Pipe()
        process = context.Process(target=_serve, args=(other_end, self._settings, self._jobs), daemon=True)
        with _deaf_to_interrupts():
            process.start()
        other_end.close()
        self._assign(pipe, process)

    def _assign(self, pipe: Connection, process: SpawnProcess) -> None:
        """Give the worker a task, or the sack."""
        if self._waiting:
            task = self._waiting.pop()
            self._workers[pipe] = _Worker(process, task, list(task.generators))
            with suppress(BrokenPipeError, ConnectionResetError):  # it has died: `wait` finds out
                pipe.send(task)
        else:
            self._workers.pop(pipe, None)
            pipe.close()
            process.join()

    def _listen(self, pipe: Connection) -> None:
        worker = self._workers[pipe]
        try:
            outcome = pipe.recv()
        except (EOFError, ConnectionResetError):
            self._bury(pipe, worker)
            return
        if outcome is None:
            self._assign(pipe, worker.process)
        else:
            worker.missing.remove(outcome.generator)
            self._report(outcome)

    def _bury(self, pipe: Connection, worker: _Worker) -> None:
        del self._workers[pipe]
        pipe.close()
        worker.process.join()
        problem = ChildProcessError(f"the worker process died with exit code {worker.process.exitcode}")
        for name in worker.missing:
            self._report(Failure.of(worker.task.dataset.name, name, worker.task.split, problem))
        if self._waiting:
            self._hire()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes started here ignore Ctrl-C, which a terminal sends to the whole group: the parent ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
