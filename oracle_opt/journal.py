"""A log of answered cuts: written durably call by call, replayed when the same run is started again.

Record 0 of the file names the run, record n is its n-th answered query. Before a run goes on, the oracle is asked the
last one again: an answer given anew has to be one to the problem whose answers the journal holds.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from oracle_opt._journal_file import RecordFile, cut_fields, decode, encode
from oracle_opt.arrays import Vector, class_name, digest
from oracle_opt.checks import check_cut
from oracle_opt.consistency import contradiction
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query, is_infinite
from oracle_opt.errors import Exhausted, InvalidCut, JournalMismatch, JournalWarning
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.listener import Entry, Listener, RunView
from oracle_opt.oracle import Oracle
from oracle_opt.words import literal

if TYPE_CHECKING:
    from oracle_opt.result import Result

ROUNDING = 1e-8  # relative to the value and to the terms of the cut: by so much exact answers may differ


class Journal(Listener):
    """Reads what a file holds, then appends to it; no other run can open it meanwhile."""

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str], kinds: Set[Kind] = frozenset()) -> None:
        self.path = Path(path)
        self._kinds = kinds
        self._file = RecordFile(path)
        try:
            if self._file.records:
                self._compare(self._file.records[0], identity)
            else:
                self._file.append(json.dumps(identity).encode())
            self.entries = [self._decoded(k, record) for k, record in enumerate(self._file.records[1:], 1)]
            self._replayed = 0
            if self._file.torn:
                warnings.warn(
                    f"journal {self.path}: dropped a torn last record of {self._file.torn} bytes; "
                    f"{len(self.entries)} answers are kept",
                    JournalWarning,
                    stacklevel=3,
                )
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def of(cls, path: str | os.PathLike[str], run: RunView) -> Self:
        """Open the journal of a run."""
        oracle, generator = run.oracle, run.generator
        kinds = oracle.gives | generator.takes | generator.needs
        return cls(path, run_identity(oracle, generator, run.start, run.options.cuts), kinds)

    def begin(self, run: RunView) -> None:
        """Hold the oracle's answer to the last recorded query against the recorded ones, unless told not to."""
        if not (run.options.journal_check and self.entries):
            return
        oracle, query = run.oracle, self.last_query(run.oracle.domain.dimension)
        try:
            fresh = check_cut(oracle.query(query), query.point, oracle)
        except Exhausted as problem:
            raise self.refusal(f"it proves now that there is no point at all, {problem}") from problem
        self.compare(fresh, oracle.convex)
        oracle.reset()  # it forgets that query

    def _decoded(self, number: int, payload: bytes) -> Entry:
        try:
            return decode(payload, self._kinds)
        except Exception as problem:
            raise JournalMismatch(f"`journal` {self.path}: answer {number} cannot be read: {problem!r}") from problem

    def _compare(self, payload: bytes, identity: dict[str, str]) -> None:
        try:
            recorded = {str(name): str(words) for name, words in json.loads(payload).items()}
        except (ValueError, AttributeError) as problem:
            raise JournalMismatch(
                f"`journal` {self.path} does not say which run it belongs to: {problem!r}"
            ) from problem
        for name in identity | recorded:
            then, now = recorded.get(name, "none"), identity.get(name, "none")
            if then != now:
                raise JournalMismatch(
                    f"`journal` {self.path} was written for another {name}: {_differing(then, now)}, now "
                    f"{_differing(now, then)}; use another file or remove this one"
                )

    def last_query(self, dimension: int) -> Query:
        """The last recorded query, in as many variables as the problem has now."""
        query = self.entries[-1].query
        if query.point.shape != (dimension,):
            raise self.refusal(f"it is one in {query.point.size} variables, and there are {dimension} now")
        return query.copy()

    def compare(self, fresh: Cut, convex: bool) -> None:
        """Raise `JournalMismatch` unless `fresh` can answer the last recorded query for the recorded problem."""
        words = disagreement(self.entries, fresh, convex)
        if words:
            raise self.refusal(words)

    def refusal(self, words: str) -> JournalMismatch:
        """The error to raise if the last recorded query is answered otherwise now."""
        return JournalMismatch(
            f"`journal` {self.path}: the oracle answers the last recorded query, number {len(self.entries)}, "
            f"otherwise: {words}; the journal was written for another function, random seed or data file, so use "
            "another file or remove this one"
        )

    def recall(self, query: Query, oracle: Oracle) -> Entry | None:
        """Return the recorded answer to this query, for the oracle to resume; `None` once all are replayed."""
        if self._replayed == len(self.entries):
            return None
        entry, number = self.entries[self._replayed], self._replayed + 1
        if words := _difference(entry.query, query):
            raise JournalMismatch(
                f"`journal` {self.path}: call {number} was asked {words}; it was written by another problem, "
                "generator, seed or version"
            )
        try:
            cut = check_cut(entry.cut, query.point, oracle)
            if not is_infinite(cut):
                oracle.resume(cut)
            entry = replace(entry, cut=cut)
        except (InvalidCut, KeyError) as problem:
            raise JournalMismatch(
                f"`journal` {self.path}: answer {number} is none of this oracle: {problem}; use another file"
            ) from problem
        self._replayed = number
        return entry

    def answered(self, entry: Entry) -> None:
        """Write one answer durably."""
        self._file.append(encode(entry))

    def end(self, result: Result) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def run_identity(oracle: Oracle, generator: QueryPointGenerator, start: Vector, cuts: Sequence[Cut]) -> dict[str, str]:
    """What a journal must share with a run to be replayed in it."""
    words = {
        name: literal(value) for name, value in generator.parameters().items() if not isinstance(value, np.ndarray)
    }
    arrays = {name: value for name, value in generator.parameters().items() if isinstance(value, np.ndarray)}
    told = [
        {name: value for name, value in cut_fields(cut).items() if not np.asarray(value).dtype.hasobject}
        for cut in cuts
    ]
    return {
        "oracle": oracle.identity(),
        "generator": f"{generator!r}, {class_name(type(generator))} #{digest(words, arrays)}",
        "starting point": f"#{digest(start)}",
        "sequence of earlier cuts": f"{len(cuts)} #{digest(told)}",
    }


def _difference(recorded: Query, query: Query) -> str:
    """Say how a query was asked otherwise than now; no words if it was not."""
    if recorded.point.shape != query.point.shape:
        return f"in {recorded.point.size} variables, now {query.point.size}"
    if not np.array_equal(recorded.point, query.point):
        away = float(np.abs(recorded.point - query.point).max())
        return f"at another point than now, away by {away:.3g} in some variable"
    if recorded.accuracy != query.accuracy:
        return f"for the accuracy {recorded.accuracy}, now {query.accuracy}"
    for kind in sorted(recorded.wishes ^ query.wishes, key=lambda kind: kind.__name__):
        return f"with{'' if kind in recorded.wishes else 'out'} the wish for {kind.words}, now the other way"
    return ""


def _differing(words: str, others: str) -> str:
    """The parts of an identity that another one does not have."""
    known = others.split(", ")
    return ", ".join(part for part in words.split(", ") if part not in known) or words


def disagreement(entries: Sequence[Entry], fresh: Cut, convex: bool) -> str:
    """Say how an answer to the last recorded query, given anew, contradicts the recorded ones; no words if it does not.

    At one point both intervals ``[value, value + error]`` meet, and both answers call it feasible or none does. If f is
    convex no earlier answer may be contradicted, either, unless the recorded answer did so already.
    """
    last = entries[-1].cut
    if type(fresh) is not type(last):
        feasible = isinstance(fresh, ObjectiveCut)
        return f"{_stated(fresh)} now, {_stated(last)} then: the point is {'' if feasible else 'in'}feasible now"
    if isinstance(fresh, ObjectiveCut) and isinstance(last, ObjectiveCut):
        if is_infinite(fresh) or is_infinite(last):
            return "" if is_infinite(fresh) and is_infinite(last) else f"{_stated(fresh)} now, {_stated(last)} then"
        apart = max(fresh.value - last.upper, last.value - fresh.upper)
        if apart > ROUNDING * max(_size(fresh), _size(last)):
            return f"{_stated(fresh)} now, {_stated(last)} then"
    if convex:
        finite = [(k, entry) for k, entry in enumerate(entries[:-1], 1) if not is_infinite(entry.cut)]
        for number, entry in finite:
            words = contradiction(entry.cut, fresh, number, len(entries))
            if words and not contradiction(entry.cut, last, 0, 0):
                return f"the answer given now contradicts answer {number}. {words}"
    return ""


def _size(cut: ObjectiveCut) -> float:
    return max(abs(cut.value), float(np.abs(cut.subgradient) @ np.abs(cut.point)))


def _stated(cut: Cut) -> str:
    if isinstance(cut, FeasibilityCut):
        return f"violation {cut.violation:.10g}"
    return f"value {cut.value:.10g}" + (f" to {cut.upper:.10g}" if cut.error else "")
