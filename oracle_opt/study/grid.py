"""Running what is missing of a grid, in this process or in several."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, connection, get_context, parent_process
from multiprocessing.process import BaseProcess

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
        _run_in_processes(deque(tasks), settings, jobs, report)
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


# What is left of the task of a worker process; it is empty in the parent.
_runs: Iterator[Run | Failure] = iter(())


def _first_run(task: Task, settings: Settings, jobs: int) -> Run | Failure | None:
    """In a worker process: begin a task."""
    global _runs
    _runs = _run_task(task, settings, jobs)
    return _next_run()


def _next_run() -> Run | Failure | None:
    """In a worker process: one outcome of its task more, None after the last one."""
    return next(_runs, None)


def _prepare() -> None:
    """In a worker process: leave Ctrl-C to the parent, and end with it, also in the middle of a run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """End this process as soon as the one that started it has ended, however that was."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class _Worker:
    """An executor of one process: if that dies, no other's executor is broken, and it is known whose task it had."""

    def __init__(self) -> None:
        self._executor = ProcessPoolExecutor(1, get_context("spawn"), initializer=_prepare)
        with _deaf_to_interrupts():
            self._pid = self._executor.submit(os.getpid)
        self._process: BaseProcess | None = None
        self._task: Task | None = None
        self._missing: list[str] = []  # generators of the task not heard of yet

    def begin(self, task: Task, settings: Settings, jobs: int) -> Future[Run | Failure | None]:
        """Give it a task; the future is the first outcome."""
        self._task, self._missing = task, list(task.generators)
        problem = self._pid.exception()  # waits: the process is known before anything is sent that may end it
        if problem is not None:
            future: Future[Run | Failure | None] = Future()
            future.set_exception(problem)
            return future
        self._process = next(child for child in active_children() if child.pid == self._pid.result())
        return self._executor.submit(_first_run, task, settings, jobs)

    def following(self, outcome: Run | Failure) -> Future[Run | Failure | None]:
        """Take note of an outcome; the future is the next one."""
        self._missing.remove(outcome.generator)
        return self._executor.submit(_next_run)

    def failures(self, problem: BaseException) -> list[Failure]:
        """Failures of all of the task that is missing."""
        if isinstance(problem, BrokenProcessPool):
            self._executor.shutdown()  # which waits for the process
            how = "as it started" if self._process is None else f"with exit code {self._process.exitcode}"
            problem = ChildProcessError(f"the worker process died {how}")
        assert self._task is not None
        return [Failure.of(self._task.dataset.name, name, self._task.split, problem) for name in self._missing]

    def end(self) -> None:
        """End the process, in the middle of a run if need be."""
        if self._process is not None:
            self._process.terminate()
        self._executor.shutdown(cancel_futures=True)


def _run_in_processes(waiting: deque[Task], settings: Settings, jobs: int, report: Report) -> None:
    """Keep so many workers busy; one that dies costs its task alone."""
    busy: dict[Future[Run | Failure | None], _Worker] = {}
    workers = [_Worker() for _ in range(jobs)]
    try:
        for worker in workers:
            busy[worker.begin(waiting.popleft(), settings, jobs)] = worker
        while busy:
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                worker = busy.pop(future)
                problem = future.exception()
                outcome = None if problem is not None else future.result()
                if outcome is not None:
                    busy[worker.following(outcome)] = worker
                    report(outcome)
                    continue
                if problem is not None:
                    for failure in worker.failures(problem):
                        report(failure)
                if isinstance(problem, BrokenProcessPool):
                    workers.remove(worker)
                    if waiting:
                        worker = _Worker()
                        workers.append(worker)
                if waiting:
                    busy[worker.begin(waiting.popleft(), settings, jobs)] = worker
    finally:
        for worker in workers:
            worker.end()


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
