"""Who takes part in a run: journal, log, display and listeners of a user's own, by one interface, however it ends."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, Listener, ObjectiveCut, Query, Record, Result, Status, minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.journal import Entry
from oracle_opt.oracle import Oracle
from oracle_opt.result import Ended
from oracle_opt.run import Run


def pieces(fails_at: int = 0) -> FunctionOracle:
    """A maximum of ten affine pieces in three variables; an oracle that may fail at one of its calls."""
    rng = np.random.default_rng(0)
    slopes, heights, calls = rng.normal(size=(10, 3)), rng.normal(size=10), [0]

    def function(z: Any) -> tuple[float, Any]:
        calls[0] += 1
        if calls[0] == fails_at:
            raise ZeroDivisionError("the data are gone")
        values = slopes @ z + heights
        return float(values.max()), slopes[values.argmax()]

    return FunctionOracle(function, Box(-np.ones(3), np.ones(3)), name="pieces")


class Notes(Listener):
    """Writes down what it is told."""

    def __init__(self, stop: int = 0) -> None:
        self.words: list[str] = []
        self.entries: list[Entry] = []
        self.results: list[Result] = []
        self.stop = stop

    def begin(self, run: Run) -> None:
        self.words.append(f"begin {type(run.generator).__name__} {run.oracle.domain.dimension} {run.options.max_calls}")

    def answered(self, entry: Entry) -> None:
        self.words.append("answered")
        self.entries.append(entry)

    def show(self, record: Record) -> object:
        self.words.append(f"show {record.call}")
        return record.call == self.stop

    def end(self, result: Result) -> None:
        self.words.append(f"end {result.status.name}")
        self.results.append(result)


class Memory(Listener):
    """Answers queries from the entries of another run, in their order."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = list(entries)

    def recall(self, query: Query, oracle: Oracle) -> Entry | None:
        if not self.entries:
            return None
        entry = self.entries.pop(0)
        assert np.array_equal(entry.query.point, query.point)
        return entry


def test_a_listener_is_told_of_the_run_from_its_beginning_to_its_end() -> None:
    notes = Notes()
    result = minimize(pieces(), Kelley(), callback=notes, probes=0)
    told = [word for call in range(1, result.n_calls + 1) for word in ("answered", f"show {call}")]
    assert notes.words == ["begin Kelley 3 1000", *told, "end CONVERGED"]
    assert notes.results == [result]
    assert [entry.cut.point.tolist() for entry in notes.entries] == [
        entry.query.point.tolist() for entry in notes.entries
    ]


def test_a_listener_stops_the_run() -> None:
    notes = Notes(stop=3)
    result = minimize(pieces(), Kelley(), callback=notes)
    assert (result.status, result.n_calls) == (Status.STOPPED, 3)
    assert notes.words[-1] == "end STOPPED"


def test_a_listener_answers_in_place_of_the_oracle_as_a_journal_does(tmp_path: Path) -> None:
    notes = Notes()
    first = minimize(pieces(), LevelSet(), callback=notes, journal=tmp_path / "j", probes=0)
    again = minimize(pieces(fails_at=1), LevelSet(), callback=Memory(notes.entries), probes=0)
    resumed = minimize(pieces(), LevelSet(), journal=tmp_path / "j", callback=(told := Notes()), probes=0)
    assert "answered" not in told.words  # what is recalled is no answer of the oracle's
    for other in (again, resumed):
        assert other.n_replayed == other.n_calls == first.n_calls
        assert (other.upper_bound, other.lower_bound) == (first.upper_bound, first.lower_bound)
    partly = minimize(pieces(), LevelSet(), callback=Memory(notes.entries[:2]), probes=0)
    assert (partly.n_replayed, partly.lower_bound) == (2, first.lower_bound)


def test_a_recalled_cut_is_looked_at_like_any_other() -> None:
    class Liar(Listener):
        def recall(self, query: Query, oracle: Oracle) -> Entry | None:
            return Entry(query, ObjectiveCut(query.point, float("nan"), query.point), 0.0)

    with pytest.raises(ValueError, match="a cut must be finite"):
        minimize(pieces(), Kelley(), callback=Liar())


@pytest.mark.parametrize(
    ("oracle", "options", "status"),
    [
        (pieces, {}, Status.CONVERGED),
        (pieces, {"max_calls": 2}, Status.MAX_CALLS),
        (pieces, {"max_seconds": 0.0}, Status.MAX_SECONDS),
        (lambda: pieces(fails_at=4), {}, Status.FAILED),
        (lambda: pieces(fails_at=1), {}, Status.FAILED),
    ],
)
def test_each_listener_is_told_of_the_end_once(
    oracle: Callable[[], FunctionOracle], options: dict[str, Any], status: Status, tmp_path: Path
) -> None:
    notes, lines = Notes(), list[str]()
    try:
        result = minimize(oracle(), Kelley(), callback=notes, log=lines.append, journal=tmp_path / "j", **options)
    except ZeroDivisionError as problem:
        result = problem.result  # type: ignore[attr-defined]
    assert notes.results == [result]
    assert result.status is status
    assert sum(line.startswith(status.name) for line in lines) == 1
    minimize(pieces(), Kelley(), journal=tmp_path / "j", max_calls=1)  # which was closed, or it would be in use


@pytest.mark.parametrize("method", ["begin", "recall", "answered", "show", "end"])
def test_a_listener_that_fails_leaves_the_result_and_lets_the_others_end(method: str, tmp_path: Path) -> None:
    def fail(self: Listener, *given: object) -> None:
        raise OSError("no space left")

    broken: type[Listener] = type("Broken", (Listener,), {method: fail})
    lines: list[str] = []
    with pytest.raises(OSError, match="no space left") as caught:
        minimize(pieces(), Kelley(), callback=broken(), log=lines.append, journal=tmp_path / "j")
    assert caught.value.result.status is Status.FAILED
    assert lines[-1].startswith("FAILED after")
    assert minimize(pieces(), Kelley(), journal=tmp_path / "j").success


@pytest.mark.parametrize("method", ["begin", "recall", "answered", "show"])
def test_an_interrupt_inside_a_listener_ends_the_run_with_its_result(method: str) -> None:
    def interrupt(self: Notes, *given: object) -> None:
        raise KeyboardInterrupt

    notes = type("Interrupted", (Notes,), {method: interrupt})()
    result = minimize(pieces(), Kelley(), callback=notes)
    assert (result.status, result.n_calls) == (Status.INTERRUPTED, 1 if method == "show" else 0)
    assert notes.results == [result]


def test_a_resumed_run_shows_every_call_and_answers_what_is_new(tmp_path: Path) -> None:
    first = minimize(pieces(), LevelSet(), journal=tmp_path / "j", max_calls=3)
    notes = Notes()
    result = minimize(pieces(), LevelSet(), journal=tmp_path / "j", callback=notes, probes=0)
    new = range(first.n_calls + 1, result.n_calls + 1)
    told = [word for call in new for word in ("answered", f"show {call}")]
    assert notes.words[1:-1] == ["show 1", "show 2", "show 3", *told]
    assert result.n_replayed == first.n_calls == 3


def test_log_and_journal_are_told_before_a_listener_of_a_users_own(tmp_path: Path) -> None:
    words: list[str] = []
    path = tmp_path / "j"

    class Order(Listener):
        def begin(self, run: Run) -> None:
            words.append(f"begin, a journal is there: {path.exists()}")

        def answered(self, entry: Entry) -> None:
            words.append(f"answered, {path.stat().st_size > size[0]}")
            size[0] = path.stat().st_size

        def show(self, record: Record) -> object:
            words.append("show")
            return True

        def end(self, result: Result) -> None:
            words.append("end")

    size = [0]
    minimize(
        pieces(), Kelley(), callback=Order(), journal=path, log=lambda line: words.append(line.split("(")[0].split()[0])
    )
    assert words == [
        "Kelley",
        "call",
        "begin, a journal is there: True",
        "answered, True",
        "1",
        "show",
        "end",
        "STOPPED",
    ]


def test_a_listener_may_be_used_again() -> None:
    notes = Notes(stop=2)
    for _ in range(2):
        minimize(pieces(), Kelley(), callback=notes)
    assert notes.words[: len(notes.words) // 2] == notes.words[len(notes.words) // 2 :]


def test_what_is_no_listener_is_refused() -> None:
    with pytest.raises(ValueError, match="`callback` must be a function of a Record, a Listener or None"):
        minimize(pieces(), Kelley(), callback="log.txt")  # type: ignore[arg-type]


def test_a_run_never_ends_inside_code_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such code may swallow every exception: so where `Ended` is made, none of it is on the stack."""
    inside: list[str] = []
    made = Ended.__init__

    def watched(self: Ended, status: Status, reason: str = "") -> None:
        inside.extend(frame.function for frame in inspect.stack() if frame.filename == __file__)
        made(self, status, reason)

    monkeypatch.setattr(Ended, "__init__", watched)
    ends = []
    for options in ({}, {"max_calls": 3}, {"max_seconds": 0.0}, {"callback": Notes(stop=2)}, {"probes": 5}):
        ends.append(minimize(pieces(), Kelley(), **options).status)  # type: ignore[arg-type]
    ends.append(minimize(FunctionOracle(lambda z: (1.0, 0 * z), Box([0.0], [1.0])), Kelley()).status)
    assert {Status.CONVERGED, Status.MAX_CALLS, Status.MAX_SECONDS, Status.STOPPED} <= set(ends)
    assert set(inside) == {"watched", "test_a_run_never_ends_inside_code_of_a_user"}
    assert len(inside) == 2 * len(ends)


def test_a_listener_shows_itself() -> None:
    assert repr(Notes()) == "Notes()"
