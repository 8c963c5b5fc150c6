"""Tasks in worker processes, and the store of objects that are sent to a worker once."""

import os
import pickle
import platform
import threading
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

KEPT = 2  # results of recipes, and large shared things, that a process keeps: those used last

# Those who have tasks done, by key, in this process: threads of it are given what is there, and need no recipe.
here: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
making = threading.RLock()

_kept: OrderedDict[str, Any] = OrderedDict()
_shared: OrderedDict[str, Any] = OrderedDict()
_counting = threading.Lock()
_limits: dict[str, Any] = {}
_limited = 0


class _Absent(Exception):
    """Something was not sent along, and is not here."""


@dataclass(frozen=True, eq=False)
class Parcel:
    """Something that may be large: its key, with its pickle for those who do not have it; or small, as it is."""

    key: str
    content: bytes | None = None
    value: Any = None


@dataclass(frozen=True)
class Missing:
    """Answer of a worker that lacks the recipe, or what the tasks share."""

    recipe: bool


@dataclass(frozen=True, eq=False)
class Raised:
    """Answer of a task that raised: told apart from what the executor itself raises."""

    problem: Exception
    where: str


def do_task(
    ticket: int, recipe: Parcel, shared: Parcel, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[str, Any]:
    """Name of the process, and what the task answers."""
    worker, at_hand = f"{platform.node()} {os.getpid()}", here.get(recipe.key)
    try:
        try:
            value = _opened_once(shared, _shared, pickle.loads) if shared.key else shared.value
        except _Absent:
            return worker, Missing(False)
        try:
            made = _opened_once(recipe, _kept, _built) if at_hand is None else at_hand.made
        except _Absent:
            return worker, Missing(True)
        with one_thread():
            return worker, function(made, value, *arguments)
    except Exception as problem:
        return worker, Raised(problem if at_hand is not None else _sendable(problem), traceback.format_exc())


def _built(content: bytes) -> Any:
    return pickle.loads(content)()


def _sendable(problem: Exception) -> Exception:
    """The problem, if it stands being sent: one that does not would end a pool of processes."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:  # whatever a class of exceptions makes of it
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def _opened_once(parcel: Parcel, kept: OrderedDict[str, Any], opened: Callable[[bytes], Any]) -> Any:
    """The object in a parcel, kept for the next tasks; absent if it is neither here nor in the parcel."""
    with making:  # of several tasks in threads of one process, one opens it
        if parcel.key not in kept:
            if parcel.content is None:
                raise _Absent
            while len(kept) >= KEPT:
                kept.popitem(last=False)
            kept[parcel.key] = opened(parcel.content)
        kept.move_to_end(parcel.key)
        return kept[parcel.key]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra have one thread, if threadpoolctl is there, until the last who asks in this process leaves."""
    global _limited
    with _counting:
        if _limited == 0:
            controller = _controller()
            if controller is not None:
                _limits["limit"] = controller.limit(limits=1)
        _limited += 1
    try:
        yield
    finally:
        with _counting:
            _limited -= 1
            if _limited == 0 and "limit" in _limits:
                _limits.pop("limit").restore_original_limits()


def _controller() -> Any:
    """The limiter of threads of linear algebra; None without threadpoolctl, where their number stays as it is."""
    if "controller" not in _limits:
        try:
            from threadpoolctl import ThreadpoolController  # only here: the import takes time
        except ModuleNotFoundError:
            return None
        _limits["controller"] = ThreadpoolController()
    return _limits["controller"]
