"""Tasks done by any executor of `concurrent.futures`: what all of them need is sent once, answers come in order.

A task is a function, something that all tasks need, such as a bank of kernels, and some small arguments. It leaves
nothing behind that another one needs: so whoever does it, and however often, the answer is the same, and a worker that
dies costs the task in its hands alone. What all tasks need is made once in each process, from a recipe that is sent to
a process when it says that it has none.
"""

from __future__ import annotations

import os
import pickle
import platform
import threading
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Generic, TypeVar
from uuid import uuid4

from oracle_opt.arguments import instance
from oracle_opt.errors import ExecutorFailed, InvalidArgument

T = TypeVar("T")
A = TypeVar("A")

AN_EXECUTOR = "an Executor such as ProcessPoolExecutor(), or client.get_executor(pure=False) of a Dask client"
KEPT = 2  # results of recipes, and large shared things, that a worker process keeps: those used last
SMALL = 1 << 16  # bytes up to which every task is sent what all of them share


def checked_executor(executor: Executor | None) -> Executor | None:
    """Return an executor or None, or raise `InvalidArgument`."""
    return None if executor is None else instance("executor", executor, Executor, AN_EXECUTOR)


def successive(count: int, parts: int) -> list[tuple[int, int]]:
    """First numbers, and ends, of so many successive parts of ``range(count)``, at most `count`, of about one size."""
    parts = min(parts, count)
    return list(pairwise(count * part // parts for part in range(parts + 1))) if parts else []


class Workers(Generic[T]):
    """Whoever does the tasks: an executor of the user's, or this process.

    Parameters
    ----------
    build : callable
        Takes no arguments and makes what the tasks need. Called once in each process, which it is sent to by
        cloudpickle.
    executor : Executor, optional
        Does the tasks; default is this process, one task after the other.
    name, instead : str
        The argument of the user's that `build` rests on, and what to pass if it cannot be pickled.
    made : object, optional
        What `build` makes, where this process has it.

    Raises
    ------
    InvalidArgument
        The executor is none, or may do tasks in another process and `build` cannot be pickled.
    """

    def __init__(
        self, build: Callable[[], T], executor: Executor | None, name: str, instead: str, made: T | None = None
    ) -> None:
        self._build, self._made, self.executor = build, made, checked_executor(executor)
        in_threads = executor is None or isinstance(executor, ThreadPoolExecutor)
        self._key = uuid4().hex if in_threads else sendable(name, build, instead)
        self._ticket = 0
        self._seen: set[str] = set()  # processes that have answered
        self._last = ""  # key of what tasks shared last
        _here[self._key] = self

    @property
    def made(self) -> T:
        """What the tasks need, in this process."""
        with _making:
            if self._made is None:
                self._made = self._build()
        return self._made

    def run(self, function: Callable[..., A], shared: object, arguments: Sequence[tuple[Any, ...]]) -> list[A]:
        """Do ``function(what build made, shared, *one)`` for each one of `arguments`; return the answers in this order.

        Linear algebra has one thread in every task, so that no sum depends on who does it.

        Parameters
        ----------
        function : callable
            Of a module, so that workers find it by its name.
        shared : object
            What all these tasks need, such as a vector, and do not change. If it is large, a process is sent it once.
        arguments : sequence of tuple
            They can be pickled, and are small.

        Raises
        ------
        ExecutorFailed
            The executor takes no tasks, lost one, or a worker ran out of memory.
        Exception
            What a task raised; its traceback is in the notes.
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
                    _Parcel(self._key, recipe),
                    _Parcel(parcel.key, content) if content else parcel,
                    function,
                    arguments[i],
                )
                if at < given
                else (_Parcel(self._key), parcel, function, arguments[i])
                for at, i in enumerate(waiting)
            ]
            without = []
            for i, (worker, answer) in zip(waiting, self._answers(self.executor, tasks), strict=True):
                self._seen.add(worker)
                if isinstance(answer, _Missing):
                    without.append((i, worker, answer.recipe))
                else:
                    answers[i] = self._opened(answer, i, len(arguments))
            waiting = [i for i, _, _ in without]
            given = len({worker for _, worker, _ in without})  # each of them needs it once
            if recipe is None and any(of_recipe for _, _, of_recipe in without):
                import cloudpickle  # only here: the import takes time

                recipe = cloudpickle.dumps(self._build)
        return answers

    def _packed(self, shared: object) -> tuple[_Parcel, bytes | None]:
        """How tasks are told what they share, and what it is for those who do not have it; None if it is in the former.

        Threads of this process are given it as it is.
        """
        if isinstance(self.executor, ThreadPoolExecutor):
            return _Parcel("", value=shared), None
        content = pickle.dumps(shared, protocol=5)
        if len(content) <= SMALL:
            return _Parcel("", value=shared), None
        return _Parcel(blake2b(content, digest_size=16).hexdigest()), content

    def _answers(self, executor: Executor, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Answers as they come back, in the order of the tasks; after a failure or Ctrl-C no other task begins."""
        futures: list[Future[Any]] = []
        try:
            for task in tasks:
                # The ticket makes each submission one of its own: an executor may know the answers of equal ones.
                self._ticket += 1
                futures.append(executor.submit(_do, self._ticket, *task))
            return [future.result() for future in futures]
        except BaseException as problem:
            for future in futures:
                future.cancel()
            if isinstance(problem, Exception | CancelledError):
                raise _failure(problem, len(futures) < len(tasks)) from problem
            raise

    @staticmethod
    def _opened(answer: Any, task: int, n_tasks: int) -> Any:
        """What a task returned; what it raised is raised here."""
        if not isinstance(answer, _Raised):
            return answer
        if isinstance(answer.problem, MemoryError):
            raise ExecutorFailed(
                f"a worker of `executor` ran out of memory in task {task + 1} of {n_tasks} "
                f"({_words(answer.problem)}): raise `parts`, so that tasks are smaller, start fewer workers on a "
                "machine, or give them more memory. What was computed is not lost where there is a `journal`"
            ) from answer.problem
        answer.problem.add_note(f"in task {task + 1} of {n_tasks}, done by a worker of `executor`:\n{answer.where}")
        raise answer.problem


def _failure(problem: BaseException, submitting: bool) -> ExecutorFailed:
    """What to say where the executor itself fails."""
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


# What follows is done by the workers.

_here: weakref.WeakValueDictionary[str, Workers[Any]] = weakref.WeakValueDictionary()
_kept: OrderedDict[str, Any] = OrderedDict()
_shared: OrderedDict[str, Any] = OrderedDict()
_making, _counting = threading.RLock(), threading.Lock()


@dataclass(frozen=True, eq=False)
class _Parcel:
    """Something that may be large: its key, with its pickle for those who do not have it; or small, as it is."""

    key: str
    content: bytes | None = None
    value: Any = None


@dataclass(frozen=True)
class _Missing:
    """Answer of a worker that lacks the recipe, or what the tasks share."""

    recipe: bool


@dataclass(frozen=True, eq=False)
class _Raised:
    """Answer of a task that raised: told apart from what the executor itself raises."""

    problem: Exception
    where: str


def _do(
    ticket: int, recipe: _Parcel, shared: _Parcel, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[str, Any]:
    """Name of the process, and what the task answers."""
    worker = f"{platform.node()} {os.getpid()}"
    try:
        try:
            value = shared.value if not shared.key else _opened_once(shared, _shared, KEPT, pickle.loads)
        except KeyError:
            return worker, _Missing(False)
        try:
            made = _made(recipe)
        except KeyError:
            return worker, _Missing(True)
        with one_thread():
            return worker, function(made, value, *arguments)
    except Exception as problem:
        return worker, _Raised(problem, traceback.format_exc())


def _made(recipe: _Parcel) -> Any:
    """What the tasks need, made if need be; a KeyError if it is not here and there is no recipe."""
    at_hand = _here.get(recipe.key)
    return _opened_once(recipe, _kept, KEPT, _built) if at_hand is None else at_hand.made


def _built(content: bytes) -> Any:
    return pickle.loads(content)()


def _opened_once(parcel: _Parcel, kept: OrderedDict[str, Any], most: int, opened: Callable[[bytes], Any]) -> Any:
    """What is in a parcel, kept for the next tasks; a KeyError if it is not here and has not come along."""
    with _making:  # of several tasks in threads of one process, one opens it
        if parcel.key not in kept:
            if parcel.content is None:
                raise KeyError(parcel.key)
            while len(kept) >= most:
                kept.popitem(last=False)
            kept[parcel.key] = opened(parcel.content)
        kept.move_to_end(parcel.key)
        return kept[parcel.key]


_limits: dict[str, Any] = {}
_limited = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra have one thread, until the last of those who ask for it in this process leaves."""
    global _limited
    with _counting:
        if _limited == 0:
            from threadpoolctl import ThreadpoolController  # only here: the import takes time

            controller = _limits.get("controller") or ThreadpoolController()
            _limits["controller"], _limits["limit"] = controller, controller.limit(limits=1)
        _limited += 1
    try:
        yield
    finally:
        with _counting:
            _limited -= 1
            if _limited == 0:
                _limits.pop("limit").restore_original_limits()


class _Hashed:
    """A file that keeps nothing of what is written to it but a hash."""

    def __init__(self) -> None:
        self.content = blake2b(digest_size=16)

    def write(self, content: bytes | pickle.PickleBuffer) -> int:
        raw = memoryview(content).cast("B")  # large arrays come as buffers, which have no length
        self.content.update(raw)
        return raw.nbytes


def sendable(name: str, thing: object, instead: str) -> str:
    """Hash of what cloudpickle makes of a thing, 32 hexadecimal digits; nothing of it is kept.

    Parameters
    ----------
    name : str
        The argument that is, or holds, the thing.
    thing : object
    instead : str
        What to do if it cannot be sent, a sentence.

    Raises
    ------
    InvalidArgument
        It cannot be pickled.
    """
    import cloudpickle  # only here: the import takes time

    file = _Hashed()
    try:
        cloudpickle.Pickler(file).dump(thing)
    except Exception as problem:  # whatever the pieces of the user's objects raise
        raise InvalidArgument(
            f"`{name}` cannot be sent to another process ({type(problem).__name__}: {problem}). {instead}"
        ) from problem
    return file.content.hexdigest()
