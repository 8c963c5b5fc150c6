"""Who takes part in a run beside generator and oracle: the journal, the log, the display, and what users add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from oracle_opt.arrays import Vector
    from oracle_opt.cuts import Cut, Query
    from oracle_opt.generator import QueryPointGenerator
    from oracle_opt.history import HistoryRecorder, Record
    from oracle_opt.oracle import Oracle
    from oracle_opt.result import Result


class RunView(Protocol):
    """What a listener reads of a run."""

    oracle: Oracle
    generator: QueryPointGenerator
    options: Any  # the arguments of `minimize`
    start: Vector
    proposed: str
    recorder: HistoryRecorder


@dataclass(frozen=True, eq=False)
class Entry:
    """One answered query: the question, the answer and the seconds the oracle took."""

    query: Query
    cut: Cut
    seconds: float


class Listener:
    """Takes part in a run of `minimize`; each method does nothing unless a class of one's own says otherwise.

    Journal, log and progress display are listeners. An object of a class of one's own is passed as the `callback`. An
    exception that a listener raises ends the run, and carries the partial `Result` as its attribute `result`.

    Examples
    --------
    >>> from oracle_opt import Box, FunctionOracle, Listener, minimize
    >>> class Count(Listener):
    ...     def show(self, record):
    ...         return record.call == 2
    ...     def end(self, result):
    ...         print(result.status.name, "after", result.n_calls)
    >>> oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Box([-1.0], [2.0]))
    >>> minimize(oracle, callback=Count()).n_calls
    STOPPED after 2
    2
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def begin(self, run: RunView) -> None:
        """Learn that a `run` begins: oracle and generator are reset, and earlier cuts are told.

        Its `oracle`, `generator`, `options` and `start` are there to be read.
        """

    def recall(self, query: Query, oracle: Oracle) -> Entry | None:
        """Answer a `query` in place of the `oracle`, as a journal does, or with None leave it to the next listener.

        An entry holds query, cut and the seconds it took. An oracle that keeps state is to be told what to resume.
        """
        return None

    def answered(self, entry: Entry) -> None:
        """Learn what the oracle answered, before the generator does; an `entry` that was recalled is not told."""

    def show(self, record: Record) -> object:
        """Learn from a `record` what is proven after a call; `True` stops the run, anything else is ignored."""
        return None

    def end(self, result: Result) -> None:
        """Learn how the run ended, whatever ended it, once for each `begin`; an exception carries the `result`, too."""


class Callback(Listener):
    """A function that is called with each record."""

    def __init__(self, function: Callable[[Record], object]) -> None:
        self._function = function

    def show(self, record: Record) -> object:
        """Call it."""
        return self._function(record)
