"""What an oracle has to keep: true cuts, and answers that do not depend on what was asked before."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt._journal_entries import Entry, cut_fields, decode, encode
from oracle_opt.answers.answer import Answer
from oracle_opt.arrays import Vector
from oracle_opt.checks import check_cut
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidCut
from oracle_opt.oracle import Oracle
from oracle_opt.testing.conformance import ConformanceError, changed, ruled
from oracle_opt.testing.cut_rules import check_pairs
from oracle_opt.testing.samples import points_of

ASKED = "`query` answers every point of the domain with a cut of it"
WRITTEN = "a cut can be written to a journal and read again"


def check_oracle(
    oracle: Oracle,
    points: Sequence[ArrayLike] | None = None,
    *,
    feasible: Sequence[ArrayLike] = (),
    other: Oracle | None = None,
    accuracies: Sequence[float] = (),
    pickles: bool = False,
    tolerance: float = 1e-9,
    step: float = 1e-4,
    n_points: int = 6,
    seed: int = 0,
) -> None:
    """Check that an oracle keeps what generators, bounds, journals and the driver rely on.

    It is asked at some points, half way between them, and at a small step from the first toward the others. Checked
    are: that each cut is one of its point, finite, of the right shape; that no cut, none of `summands` and none of
    `further` exceeds the value, plus its error, at any other point; that a `lower_bound` exceeds none; that feasibility
    cuts hold at all points that got a value; that the query point is left alone, and arrays given out are not changed
    later; that after `reset` the same queries have the same answers, to the last bit, and after `resume(cut)` the next
    ones, too; that answers in another order agree up to their errors; that what the cuts carry is declared; `identity`.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    points : sequence of array_like of shape (n,), optional
        Where to ask; default is `n_points` random ones of the domain.
    feasible : sequence of array_like of shape (n,)
        Points known to be feasible: they must get a value, and feasibility cuts must hold there.
    other : Oracle, optional
        One of another problem, in some of its data: then its `identity` must differ.
    accuracies : sequence of float
        Relative errors that the oracle is known to reach when a query wishes for them; each point is asked with each.
    pickles : bool
        Whether the oracle is said to survive pickling, as it must to run in other processes.
    tolerance : float
        How far two answers may contradict each other, relative to the largest of their terms.
    step : float
        The small step, as a share of the way.
    n_points : int
        Number of random points.
    seed : int
        Of these points.

    Raises
    ------
    ConformanceError
        A rule is broken; the message names it, what was seen, where, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex
    >>> from oracle_opt.testing import check_oracle
    >>> check_oracle(FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(3)))
    """
    _check_declarations(oracle)
    subject = f"The oracle {type(oracle).__name__} on {oracle.domain!r}"
    known = [np.array(z, dtype=float) for z in feasible]
    given = None if points is None else [np.array(z, dtype=float) for z in points]
    asked = _places(oracle.domain, given, known, step, n_points, seed)
    exam = _Exam(oracle, subject, asked, tuple(accuracies), tolerance)
    _check_identity(oracle, other, subject)
    answers = exam.pass_over(exam.queries())
    _check_kept(exam, answers)
    _check_feasible(exam, answers, known)
    check_pairs(subject, oracle.convex, [answer.cut for answer in answers], known, tolerance, step)
    _check_accuracies(exam, answers)
    _check_repeated(exam, answers)
    _check_order(exam, answers)
    _check_resumed(exam, answers)
    _check_wishes(exam)
    if pickles:
        _check_pickled(exam, answers)
    oracle.reset()


@dataclass(frozen=True, eq=False)
class _Answer:
    """An answered query, and a copy of all that the cut held then."""

    query: Query
    cut: Cut
    fields: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Exam:
    """An oracle, the points to ask it at, the accuracies it reaches, and what is allowed."""

    oracle: Oracle
    subject: str
    points: list[Vector]
    accuracies: tuple[float, ...]
    tolerance: float
    empty: list[Exception] = field(default_factory=list)

    def fail(self, rule: str, seen: str, advice: str, **at: Vector) -> ConformanceError:
        return ConformanceError(self.subject, rule=rule, seen=seen, advice=advice, at=at)

    def queries(self) -> list[Query]:
        return [Query(z, accuracy) for z in self.points for accuracy in (None, *self.accuracies)]

    def pass_over(self, queries: Iterable[Query], oracle: Oracle | None = None) -> list[_Answer]:
        """Answers of a new run."""
        oracle = self.oracle if oracle is None else oracle
        oracle.reset()
        oracle.domain.reset()
        return [self.ask(query, oracle) for query in queries]

    def ask(self, query: Query, oracle: Oracle | None = None) -> _Answer:
        """The answer to a query, which must be a cut of it and leave it alone."""
        oracle, z = self.oracle if oracle is None else oracle, query.point
        given = replace(query, point=z.copy())
        with ruled(self.subject, ASKED, "see the traceback above", {"point": z}):
            cut = oracle.query(given)
        if changed(z, given.point):
            raise self.fail(
                "`query` leaves the query point alone",
                f"it is {given.point} after the query",
                "work on a copy of `query.point`",
                point=z,
            )
        try:
            cut = check_cut(cut, z, oracle)
        except InvalidCut as problem:
            advice = "see `help(oracle_opt.ObjectiveCut)` and `help(oracle_opt.FeasibilityCut)`"
            raise self.fail(ASKED, str(problem), advice, point=z) from problem
        return _Answer(query, cut, _copied(cut))


def _copied(cut: Cut) -> dict[str, Any]:
    return {name: np.array(value) for name, value in cut_fields(cut).items()}


def _difference(one: dict[str, Any], two: dict[str, Any]) -> str:
    """Say in which field the contents of two cuts differ; extras, which may be anything, do not count."""
    for name in sorted(one.keys() | two.keys()):
        if "extras/" not in name:
            if name not in one or name not in two:
                return f"`{name}` is there once and not the other time"
            if changed(one[name], two[name]):
                return f"`{name}` is {one[name]} and {two[name]}"
    return ""


def _check_declarations(oracle: Oracle) -> None:
    if not isinstance(oracle, Oracle):
        raise ConformanceError(
            f"{oracle!r}",
            rule="an oracle is an object of a subclass of `oracle_opt.Oracle`",
            seen=f"an object of the class {type(oracle).__name__}",
            advice="derive the class from `Oracle`, or wrap a function in `FunctionOracle`",
        )
    domain = getattr(oracle, "domain", None)
    if not isinstance(domain, Domain):
        raise ConformanceError(
            f"The oracle {type(oracle).__name__}",
            rule="`oracle.domain` is a Domain, set by the constructor",
            seen=f"{domain!r}",
            advice="set `self.domain`, for example to `oracle_opt.Box(lower, upper)`",
        )


def _places(
    domain: Domain, given: list[Vector] | None, known: list[Vector], step: float, count: int, seed: int
) -> list[Vector]:
    """The points, those half way between neighbors, and those at a small step from the first toward the others."""
    base = points_of(domain, count, np.random.default_rng(seed)) if given is None else given
    base = [*base, *known]
    middles = [0.5 * (x + z) for x, z in pairwise(base)]
    near = [base[0] + step * (z - base[0]) for z in base[1:]]
    return [*base, *middles, *near]


def _check_feasible(exam: _Exam, answers: list[_Answer], known: list[Vector]) -> None:
    for answer in answers:
        z = answer.query.point
        if isinstance(answer.cut, FeasibilityCut) and any(z is point or (z == point).all() for point in known):
            raise exam.fail(
                "a feasible point is answered by its value",
                f"a feasibility cut of violation {answer.cut.violation:.6g} at a point of `feasible`",
                "see whether the point is feasible, or whether the oracle needs a tolerance",
                point=z,
            )
    if not any(isinstance(answer.cut, ObjectiveCut) for answer in answers):
        raise exam.fail(
            "some point is feasible",
            f"feasibility cuts alone, at {len(answers)} points",
            "pass points known to be feasible as `feasible=`, so that cuts can be held against them",
        )


def _check_accuracies(exam: _Exam, answers: list[_Answer]) -> None:
    """Errors as small as wished, where the author says that they are."""
    for answer in answers:
        cut, wanted = answer.cut, answer.query.accuracy
        if wanted is not None and isinstance(cut, ObjectiveCut):
            allowed = (wanted + exam.tolerance) * abs(cut.upper)
            if cut.error > allowed:
                raise exam.fail(
                    f"with the wish `accuracy={wanted:g}` the error is at most so much of abs(value + error)",
                    f"the error {cut.error:.3g} where {allowed:.3g} is allowed",
                    "solve the inner problem further, or leave this accuracy out of `accuracies=`",
                    point=answer.query.point,
                )


def _check_kept(exam: _Exam, answers: list[_Answer]) -> None:
    """Arrays given out are the caller's: later queries change none."""
    for answer in answers:
        words = _difference(answer.fields, _copied(answer.cut))
        if words:
            raise exam.fail(
                "the arrays of a cut are not changed after it was given out",
                f"after further queries {words}",
                "give copies of arrays that the oracle works on; generators and journals keep cuts",
                point=answer.query.point,
            )


def _check_repeated(exam: _Exam, answers: list[_Answer]) -> None:
    """After a reset the same queries have the same answers, whatever became of the arrays given out."""
    for answer in answers:
        for array in (answer.cut.point, _vector(answer.cut)):
            if array.flags.writeable:
                array += 1.0
    again = exam.pass_over([answer.query for answer in answers])
    for answer, other in zip(answers, again, strict=True):
        words = _difference(answer.fields, other.fields)
        if words:
            raise exam.fail(
                "after `reset()` the same queries in the same order have the same answers, to the last bit",
                f"first and after `reset()` {words}",
                "forget all warm starts in `reset`, seed random numbers there, and give copies of arrays that are kept",
                point=answer.query.point,
            )
    answers[:] = again


def _vector(cut: Cut) -> Vector:
    return cut.subgradient if isinstance(cut, ObjectiveCut) else cut.normal


def _check_order(exam: _Exam, answers: list[_Answer]) -> None:
    """In another order the values agree up to the errors stated; those of a stateless oracle to the last bit."""
    exact = exam.oracle.stateless
    for answer, other in zip(
        reversed(answers), exam.pass_over(answer.query for answer in reversed(answers)), strict=True
    ):
        cut, again = answer.cut, other.cut
        if exact and (words := _difference(answer.fields, other.fields)):
            raise exam.fail(
                "an oracle that says `stateless = True` answers a query alike, whatever it was asked before",
                f"asked in another order {words}",
                "set `stateless` to False, or keep nothing between queries",
                point=answer.query.point,
            )
        if isinstance(cut, FeasibilityCut) or isinstance(again, FeasibilityCut):
            if type(cut) is not type(again):
                raise exam.fail(
                    "whether a point is feasible does not depend on what was asked before",
                    f"a {type(cut).__name__}, and asked in another order a {type(again).__name__}",
                    "see what a query leaves behind",
                    point=answer.query.point,
                )
            continue
        allowed = exam.tolerance * max(abs(cut.value), abs(again.value))
        if cut.value > again.upper + allowed or again.value > cut.upper + allowed:
            raise exam.fail(
                "f(point) lies in [value, value + error], whatever was asked before",
                f"[{cut.value:.12g}, {cut.upper:.12g}], and asked in another order "
                f"[{again.value:.12g}, {again.upper:.12g}]",
                "count in `error` what the inner problem may still gain, and see what a query leaves behind",
                point=answer.query.point,
            )


def _check_resumed(exam: _Exam, answers: list[_Answer]) -> None:
    """After `resume` of the recorded cuts the answers go on as if these had been asked."""
    half = len(answers) // 2
    exam.oracle.reset()
    exam.oracle.domain.reset()
    for answer in answers[:half]:
        with ruled(exam.subject, WRITTEN, "extras are arrays or numbers"):
            read = decode(encode(Entry(answer.query, answer.cut, 0.0)), exam.oracle.gives).cut
        advice = "take from `cut.extras` what a query leaves behind, and nothing else"
        with ruled(exam.subject, "`resume` takes up every cut that `query` gave", advice):
            exam.oracle.resume(read)
    for answer in answers[half:]:
        words = _difference(answer.fields, exam.ask(answer.query).fields)
        if words:
            raise exam.fail(
                "after `resume(cut)` the oracle answers as after the query that `cut` answered, to the last bit",
                f"asked, and resumed from a journal, {words}",
                "store in `extras` whatever a query leaves behind, and take it up in `resume`",
                point=answer.query.point,
            )


def _check_wishes(exam: _Exam) -> None:
    """Wishes may be ignored, but must not be refused; what is declared is given somewhere, and can be journaled."""
    wishes = frozenset(kind for kind in exam.oracle.gives if issubclass(kind, Answer))
    missing = set(wishes)
    for k, z in enumerate(exam.points):
        if k > 1 and not missing:
            return
        answer = exam.ask(Query(z, accuracy=1e-3, wishes=wishes | {_Unheard}))
        advice = "see `arrays` and `from_arrays` of its answers"
        with ruled(exam.subject, WRITTEN, advice):
            read = decode(encode(Entry(Query(z), answer.cut, 0.0)), exam.oracle.gives).cut
        if words := _difference(answer.fields, _copied(read)):
            raise exam.fail("a cut read from a journal is the one that was written", words, advice, point=z)
        missing -= {type(one) for one in answer.cut.answers} if isinstance(answer.cut, ObjectiveCut) else set()
    if missing:
        names = ", ".join(sorted(kind.__name__ for kind in missing))
        raise exam.fail(
            "a kind of answer in `gives` is given, at some point at least, where a query wishes for it",
            f"no cut carries {names}, with `wishes` of it at {len(exam.points)} points",
            "put it into `answers=` of the cut where `kind in query.wishes`, or take it out of `gives`",
        )


class _Unheard(Answer):
    """A kind of answer that no oracle gives."""

    words = "answers of a kind that nobody gives"


def _check_pickled(exam: _Exam, answers: list[_Answer]) -> None:
    advice = "see which attribute cannot be pickled; leave it out in `__getstate__` and make it again in `__setstate__`"
    with ruled(exam.subject, "an oracle that is said to survive pickling does", advice):
        twin = pickle.loads(pickle.dumps(exam.oracle))
    if twin.identity() != exam.oracle.identity():
        seen = f"identity {exam.oracle.identity()!r} before, {twin.identity()!r} after"
        raise exam.fail("a pickled oracle has the same `identity()`", seen, advice)
    for answer, other in zip(answers, exam.pass_over((answer.query for answer in answers), twin), strict=True):
        if words := _difference(answer.fields, other.fields):
            raise exam.fail("a pickled oracle gives the same answers", words, advice, point=answer.query.point)


def _check_identity(oracle: Oracle, other: Oracle | None, subject: str) -> None:
    words = oracle.identity()
    if not isinstance(words, str) or words != oracle.identity():
        raise ConformanceError(
            subject,
            rule="`identity()` gives the same text whenever it is asked",
            seen=f"{words!r}, then {oracle.identity()!r}",
            advice="make it of the data alone, with `oracle_opt.arrays.digest`",
        )
    if other is not None and words == other.identity():
        raise ConformanceError(
            subject,
            rule="`identity()` tells this problem from others",
            seen=f"the oracle passed as `other` has the same identity, {words!r}",
            advice="put all your data into it: f'{super().identity()} {digest(...)}' with `oracle_opt.arrays.digest`",
        )
