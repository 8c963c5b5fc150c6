"""Lanes of a grid: each does the runs of a group one by one, in a process of our own or by the user's executor."""

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.optional import require
from oracle_opt.study.execute import Task, execute
from oracle_opt.study.recipes import Named
from oracle_opt.study.records import FinishedRun, Settings, failure


@dataclass(frozen=True, eq=False)
class Group:
    """Runs on one instance with one seed, so that a process makes the instance once."""

    instance: Named
    seed: int
    rows: Mapping[str, dict[str, Any]]  # names of generators to what is known of their rows beforehand
    generators: Mapping[str, QueryPointGenerator]
    expected: str  # the identity that the runs on the instance have in the folder; empty if there are none


@dataclass(frozen=True)
class Ledger:
    """Who is asked before each run, and told after it."""

    # Whether a run, given by its row, has come to be there meanwhile, and need not be done.
    found: Callable[[dict[str, Any]], bool]
    done: Callable[[FinishedRun], object]  # takes each run


class Lane(ABC):
    """Does the runs of one group after the other, one run at a time."""

    alone = True  # a process does one run at a time

    def __init__(self, settings: Settings, processes: int) -> None:
        self._settings, self._processes = settings, processes
        self._group: Group | None = None
        self._left: deque[str] = deque()
        self._blob: bytes | None = None
        self._last: Task | None = None
        self.row: dict[str, Any] = {}

    def next(self, waiting: deque[Group], ledger: Ledger) -> Future[FinishedRun] | None:
        """Begin the next run of this group, or of the next one; None if nothing is left."""
        while True:
            while self._left and self._group is not None:
                name = self._left.popleft()
                self.row = self._group.rows[name]
                if not ledger.found(self.row):
                    generator = _dumps(new_generator(self._group.generators[name]))
                    settings, expected = self._settings, self._group.expected
                    self._last = Task(self.row, self._blob, generator, settings, expected, self._processes, self.alone)
                    return self.submit(self._last)
            if not waiting:
                return None
            self._group = waiting.popleft()
            self._left = deque(self._group.rows)
            self._blob = _dumps(self._group.instance)

    def again(self) -> Future[FinishedRun]:
        """Begin the last run again, with its instance: the process that had it was replaced by another one."""
        assert self._last is not None
        return self.submit(self._last)

    @abstractmethod
    def submit(self, task: Task) -> Future[FinishedRun]:
        """Begin a run."""

    def failed(self, problem: Exception) -> FinishedRun:
        """Make the row of a run whose worker gave nothing back."""
        return failure(self.row, problem)

    @abstractmethod
    def end(self) -> None:
        """Leave nothing running."""


class OwnProcess(Lane):
    """A process of our own: if it dies, no other lane is touched, and it is known whose run it had."""

    def __init__(self, settings: Settings, processes: int) -> None:
        super().__init__(settings, processes)
        self._holds: bytes | None = None
        self._start()

    def _start(self) -> None:
        loky = require("loky", "study", "the processes of a study")
        # Where psutil is installed, loky ends a process that has grown by 300 MB: ours hold instances of that size.
        keep = {"LOKY_MAX_MEMORY_LEAK_SIZE": str(1 << 62)}  # known to loky from 3.7 on; see `again` for those before
        self._executor = loky.ProcessPoolExecutor(1, initializer=_prepare, initargs=(os.getpid(),), env=keep)
        with _deaf_to_interrupts():
            self._executor.submit(os.getpid).exception()  # waits for the process; a failure shows at the next submit

    def submit(self, task: Task) -> Future[FinishedRun]:
        """Send the run; the instance only if the process does not have it."""
        if self._holds is task.recipe:
            task = Task(task.row, None, task.generator, task.settings, task.expected, task.processes, task.alone)
        else:
            self._holds = self._blob
        try:
            future: Future[FinishedRun] = self._executor.submit(execute, task)
        except BrokenExecutor as problem:  # it died as it started, or between two runs
            future = Future()
            future.set_exception(problem)
        return future

    def again(self) -> Future[FinishedRun]:
        """Begin the last run again, with its instance."""
        self._holds = None
        return super().again()

    def failed(self, problem: Exception) -> FinishedRun:
        """Say how the process died, and start another."""
        if isinstance(problem, BrokenExecutor):
            how = str(problem).partition("The exit codes of the workers are ")[2].partition("\n")[0] or "unknown"
            problem = ChildProcessError(f"the worker process died; its exit code: {how.strip('{}')}")
            self.end()
            self._holds = None
            self._start()
        return super().failed(problem)

    def end(self) -> None:
        """End the process, in the middle of a run if need be."""
        self._executor.shutdown(wait=True, kill_workers=True)


class ForeignLane(Lane):
    """A place in the queue of the user's executor."""

    alone = False  # which may be of threads

    def __init__(self, settings: Settings, processes: int, executor: Executor) -> None:
        super().__init__(settings, processes)
        self._executor = executor
        self._future: Future[FinishedRun] | None = None

    def submit(self, task: Task) -> Future[FinishedRun]:
        """Send the run with its instance, as nobody knows where it will be done."""
        self._future = self._executor.submit(execute, task)
        return self._future

    def failed(self, problem: Exception) -> FinishedRun:
        """Make the row, unless no run can be done any more."""
        if isinstance(problem, BrokenExecutor):
            problem.add_note("the executor broke down; the finished runs are kept: repeat the call with another one")
            raise problem
        return super().failed(problem)

    def end(self) -> None:
        """Take back what has not begun; the executor is the user's."""
        if self._future is not None:
            self._future.cancel()


def new_generator(generator: QueryPointGenerator) -> QueryPointGenerator:
    """Make one of the same parameters: after a run a generator holds what cannot be sent, and does not matter."""
    try:
        return type(generator)(**generator.parameters())  # those it was made with
    except (AttributeError, TypeError, ValueError):  # it does not keep its parameters under their own names
        return generator


def _dumps(thing: object) -> bytes:
    blob: bytes = require("cloudpickle", "study", "the runs of a study").dumps(thing)
    return blob


def _prepare(parent: int) -> None:
    """In a worker process: leave Ctrl-C to the parent, and end with it, also in the middle of a run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()


def _die_with(parent: int) -> None:
    """End this process soon after the one that started it has ended, however that was."""
    while os.getppid() == parent or os.name == "nt":  # Windows keeps the number; loky ends idle workers there
        time.sleep(0.5)
    os._exit(1)


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
