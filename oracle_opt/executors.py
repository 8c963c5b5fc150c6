"""Tasks done by any executor of `concurrent.futures`: what all of them need is sent once, answers come in order.

A task is a function, something that all tasks need, such as a bank of kernels, and some small arguments. It leaves
nothing behind that another one needs: so whoever does it, and however often, the answer is the same, and a worker that
dies costs the task in its hands alone. What all tasks need is made once in each process, from a recipe that is sent to
a process when it says that it has none.
"""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from hashlib import blake2b
from itertools import pairwise
from math import inf
from typing import Any, Generic, TypeVar
from uuid import uuid4

from oracle_opt._deadline import seconds_left
from oracle_opt._worker_tasks import Missing, Parcel, Raised, do_task, here, making, one_thread
from oracle_opt.arguments import instance
from oracle_opt.errors import ExecutorFailed, InvalidArgument, OutOfTime
from oracle_opt.optional import require

T = TypeVar("T")
A = TypeVar("A")

SPAWNED = 'ProcessPoolExecutor(mp_context=get_context("spawn"))'
AN_EXECUTOR = f"an Executor such as {SPAWNED}, or client.get_executor(pure=False) of a Dask client"
WHY = ("parallel", "tasks of an executor")
SMALL = 1 << 16  # bytes up to which every task is sent what all of them share


def checked_executor(executor: Executor | None) -> Executor | None:
    """Return an executor or None, or raise `InvalidArgument`; one that forks is refused."""
    if executor is None:
        return None
    context = getattr(instance("executor", executor, Executor, AN_EXECUTOR), "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise InvalidArgument(
            f"`executor` must not fork this process, and got {type(executor).__name__} with the start method 'fork': "
            "where a thread holds a lock the copy waits for ever. "
            f"Pass {SPAWNED}, with `get_context` from multiprocessing, or an executor of loky"
        )
    return executor


def successive(count: int, parts: int) -> list[tuple[int, int]]:
    """First numbers, and ends, of so many successive parts of ``range(count)``, at most `count`, of about one size."""
    parts = min(parts, count)
    return list(pairwise(count * part // parts for part in range(parts + 1))) if parts else []


class Workers(Generic[T]):
    """Whoever does the tasks: an executor of the user's, or this process."""

    def __init__(
        self, build: Callable[[], T], executor: Executor | None, name: str, instead: str, made: T | None = None
    ) -> None:
        self._build, self._made, self.executor = build, made, checked_executor(executor)
        if executor is not None:
            require("threadpoolctl", *WHY)  # one thread of linear algebra in each task
        in_threads = executor is None or isinstance(executor, ThreadPoolExecutor)
        self._key = uuid4().hex if in_threads else sendable(name, build, instead)
        self._ticket = 0
        self._seen: set[str] = set()  # processes that have answered
        self._last = ""  # key of what tasks shared last
        here[self._key] = self

    @property
    def made(self) -> T:
        """The data that the tasks need, in this process."""
        with making:
            if self._made is None:
                self._made = self._build()
        return self._made

    def run(self, function: Callable[..., A], shared: object, arguments: Sequence[tuple[Any, ...]]) -> list[A]:
        """Do ``function(what build made, shared, *one)`` for each one of `arguments`; return the answers in this order.

        Linear algebra has one thread in every task, so that no sum depends on who does it; it has as many as it likes
        without an executor or without the package threadpoolctl.
        """
        if self.executor is None:
            with one_thread():
                return [function(self.made, shared, *one) for one in arguments]
        parcel, content = self._packed(shared)
        answers: list[Any] = [None] * len(arguments)
        waiting, given = list(range(len(arguments))), 0 if parcel.key == self._last else max(len(self._seen), 1)
        self._last = parcel.key
        recipe: bytes | None = None
        while waiting:
            # The first tasks in the queue carry what is large, so that whoever takes one has it for the tasks behind.
            tasks = [
                (
                    Parcel(self._key, recipe),
                    Parcel(parcel.key, content) if content else parcel,
                    function,
                    arguments[i],
                )
                if at < given
                else (Parcel(self._key), parcel, function, arguments[i])
                for at, i in enumerate(waiting)
            ]
            without = []
            for i, (worker, answer) in zip(waiting, self._answers(self.executor, tasks), strict=True):
                self._seen.add(worker)
                if isinstance(answer, Missing):
                    without.append((i, worker, answer.recipe))
                else:
                    answers[i] = self._opened(answer, i, len(arguments))
            waiting = [i for i, _, _ in without]
            given = len({worker for _, worker, _ in without})  # each of them needs it once
            if recipe is None and any(of_recipe for _, _, of_recipe in without):
                recipe = require("cloudpickle", *WHY).dumps(self._build)
        return answers

    def _packed(self, shared: object) -> tuple[Parcel, bytes | None]:
        """How tasks are told what they share, as it is in threads, and what it is for who does not have it, or None."""
        if isinstance(self.executor, ThreadPoolExecutor):
            return Parcel("", value=shared), None
        content = pickle.dumps(shared, protocol=5)
        if len(content) <= SMALL:
            return Parcel("", value=shared), None
        return Parcel(blake2b(content, digest_size=16).hexdigest()), content

    def _answers(self, executor: Executor, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Answers as they come back, in the order of the tasks; after a failure or Ctrl-C no other task begins."""
        futures: list[Future[Any]] = []
        try:
            for task in tasks:
                self._ticket += 1
                futures.append(executor.submit(do_task, self._ticket, *task))
            return [future.result(_patience()) for future in futures]
        except BaseException as problem:
            for future in futures:
                future.cancel()
            if isinstance(problem, TimeoutError):
                seconds_left()  # raises OutOfTime if that was it
            if isinstance(problem, OutOfTime):
                raise
            if isinstance(problem, Exception | CancelledError):
                raise _failure(problem, len(futures) < len(tasks)) from problem
            raise

    @staticmethod
    def _opened(answer: Any, task: int, n_tasks: int) -> Any:
        """The returned value of a task; an exception of the task is raised here."""
        if not isinstance(answer, Raised):
            return answer
        if isinstance(answer.problem, MemoryError):
            raise ExecutorFailed(
                f"a worker of `executor` ran out of memory in task {task + 1} of {n_tasks} "
                f"({_words(answer.problem)}): raise `parts`, so that tasks are smaller, start fewer workers on a "
                "machine, or give them more memory. What was computed is not lost where there is a `journal`"
            ) from answer.problem
        answer.problem.add_note(f"in task {task + 1} of {n_tasks}, done by a worker of `executor`:\n{answer.where}")
        raise answer.problem


def _patience() -> float | None:
    """Seconds to wait for an answer: until the deadline of the driver, if there is one."""
    left = seconds_left()
    return None if left == inf else left


def _failure(problem: BaseException, submitting: bool) -> ExecutorFailed:
    """The error to raise where the executor itself fails."""
    again = (
        "Repeat the call with another executor, and the same `journal` to keep what was answered; workers that are "
        "killed mostly lacked memory, so raise `parts` or start fewer of them on a machine"
    )
    if isinstance(problem, BrokenExecutor):
        return ExecutorFailed(
            f"a worker of `executor` died, and it does no more tasks ({_words(problem)}). {again}. An executor of "
            "Dask gives the tasks of a dead worker to the others"
        )
    if isinstance(problem, CancelledError):
        return ExecutorFailed(f"`executor` was shut down, or a task of it cancelled, while tasks were waiting. {again}")
    if submitting:
        return ExecutorFailed(f"`executor` takes no tasks: {_words(problem)}. {again}")
    return ExecutorFailed(f"`executor` could not do a task, or not bring its answer back: {_words(problem)}. {again}")


def _words(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"


class _Hashed:
    """A file that keeps nothing of what is written to it but a hash."""

    def __init__(self) -> None:
        self.content = blake2b(digest_size=16)

    def write(self, content: bytes | pickle.PickleBuffer) -> int:
        raw = memoryview(content).cast("B")  # large arrays come as buffers, which have no length
        self.content.update(raw)
        return raw.nbytes


def sendable(name: str, thing: object, instead: str) -> str:
    """Hash of what cloudpickle makes of a thing, 32 hexadecimal digits; nothing of it is kept."""
    pickler = require("cloudpickle", *WHY).Pickler
    file = _Hashed()
    try:
        pickler(file).dump(thing)
    except Exception as problem:  # whatever the pieces of the user's objects raise
        raise InvalidArgument(
            f"`{name}` cannot be sent to another process ({type(problem).__name__}: {problem}). {instead}"
        ) from problem
    return file.content.hexdigest()
