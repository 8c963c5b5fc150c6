"""A program that calls a function, turned around: it runs in a thread of its own, and its calls become questions."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread
from typing import Any, Generic, TypeVar

from oracle_opt._deadline import seconds_left

Q = TypeVar("Q")
A = TypeVar("A")

PATIENCE = 1.0  # seconds to wait for a thread that was told to end; it may be busy with work of its own


class _Ended(BaseException):
    """Raised in the program where it calls its function after the end; no `except Exception` stops it."""


class Conversation(Generic[Q, A]):
    """Run a program until it asks, hand it the answer, run it until it asks again.

    Of the two threads only one runs at a time. The program's thread is a daemon, which does not keep the interpreter
    from ending, and it takes over the context variables of the one that starts it, such as numpy's error state.

    Parameters
    ----------
    program : callable
        Gets the function to call, which takes a question and returns its answer.
    """

    def __init__(self, program: Callable[[Callable[[Q], A]], object]) -> None:
        self._program = program
        self._said: SimpleQueue[tuple[str, Any]] = (
            SimpleQueue()
        )  # ("asks", question), ("raises", error), ("returns", x)
        self._answers: SimpleQueue[tuple[bool, Any]] = SimpleQueue()  # whether to go on, the answer
        self._one_at_a_time = Lock()
        self._thread: Thread | None = None
        self._ended = False
        self.outcome: object = None

    def question(self) -> Q | None:
        """Run the program until it asks; `None` if it returns instead, what it returned is then the `outcome`.

        Raises
        ------
        Exception
            What the program raised.
        OutOfTime
            The deadline of the driver has passed.
        """
        if self._thread is None:
            self._thread = Thread(target=copy_context().run, args=(self._run,), daemon=True, name="foreign solver")
            self._thread.start()
        while True:
            left = seconds_left()
            try:
                kind, what = self._said.get(timeout=min(left, 3600.0))
                break
            except Empty:
                continue
        if kind == "raises":
            raise what
        if kind == "returns":
            self.outcome = what
            return None
        question: Q = what
        return question

    def answer(self, answer: A) -> None:
        """Answer the last question; the program goes on at once."""
        self._answers.put((True, answer))

    def end(self) -> None:
        """Let the program go no further than to its next question, and its thread end."""
        self._ended = True
        self._answers.put((False, None))
        if self._thread is not None and self._thread is not current_thread():
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            outcome = self._program(self._ask)
        except _Ended:
            return
        except BaseException as problem:  # also SystemExit: it is raised again where the question was expected
            self._said.put(("raises", problem))
        else:
            self._said.put(("returns", outcome))

    def _ask(self, question: Q) -> A:
        with self._one_at_a_time:
            if self._ended:
                raise _Ended
            self._said.put(("asks", question))
            go_on, answer = self._answers.get()
            if not go_on:
                raise _Ended
            given: A = answer
            return given
