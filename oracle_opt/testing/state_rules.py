"""Whether the answers of an oracle depend on what they may depend on, and on nothing else."""

import pickle

from oracle_opt._journal_file import decode, encode
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.listener import Entry
from oracle_opt.testing.conformance import copied, difference, ruled
from oracle_opt.testing.exams import WRITTEN, Answered, OracleExam


def check_kept(exam: OracleExam, answers: list[Answered]) -> None:
    """Arrays given out are the caller's: later queries change none."""
    for answer in answers:
        words = difference(answer.fields, copied(answer.cut))
        if words:
            raise exam.fail(
                "the arrays of a cut are not changed after it was given out",
                f"after further queries {words}",
                "give copies of arrays that the oracle works on; generators and journals keep cuts",
                point=answer.query.point,
            )


def check_repeated(exam: OracleExam, answers: list[Answered]) -> None:
    """After a reset the same queries have the same answers, whatever became of the arrays given out."""
    for answer in answers:
        for array in (answer.cut.point, _vector(answer.cut)):
            if array.flags.writeable:
                array += 1.0
    again = exam.pass_over([answer.query for answer in answers])
    for answer, other in zip(answers, again, strict=True):
        words = difference(answer.fields, other.fields)
        if words:
            raise exam.fail(
                "after `reset()` the same queries in the same order have the same answers, to the last bit",
                f"two answers at one point differ: first and after `reset()` {words}",
                "forget all warm starts in `reset`, seed random numbers there, and give copies of arrays that are kept",
                point=answer.query.point,
            )
    answers[:] = again


def _vector(cut: Cut) -> Vector:
    return cut.subgradient if isinstance(cut, ObjectiveCut) else cut.normal


def check_order(exam: OracleExam, answers: list[Answered]) -> None:
    """In another order the values agree up to the errors stated; those of a stateless oracle to the last bit."""
    exact = exam.oracle.stateless
    for answer, other in zip(
        reversed(answers), exam.pass_over(answer.query for answer in reversed(answers)), strict=True
    ):
        cut, again = answer.cut, other.cut
        if exact and (words := difference(answer.fields, other.fields)):
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


def check_resumed(exam: OracleExam, answers: list[Answered]) -> None:
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
        words = difference(answer.fields, exam.ask(answer.query).fields, exam.tolerance)
        if words:
            raise exam.fail(
                "after `resume(cut)` the oracle answers as after the query that `cut` answered, up to rounding",
                f"asked, and resumed from a journal, {words}",
                "store in `extras` whatever a query leaves behind, and take it up in `resume`",
                point=answer.query.point,
            )


def check_pickled(exam: OracleExam, answers: list[Answered]) -> None:
    """A pickled oracle is the same."""
    advice = "see which attribute cannot be pickled; leave it out in `__getstate__` and make it again in `__setstate__`"
    with ruled(exam.subject, "an oracle that is said to survive pickling does", advice):
        twin = pickle.loads(pickle.dumps(exam.oracle))
    if twin.identity() != exam.oracle.identity():
        seen = f"identity {exam.oracle.identity()!r} before, {twin.identity()!r} after"
        raise exam.fail("a pickled oracle has the same `identity()`", seen, advice)
    for answer, other in zip(answers, exam.pass_over((answer.query for answer in answers), twin), strict=True):
        if words := difference(answer.fields, other.fields):
            raise exam.fail("a pickled oracle gives the same answers", words, advice, point=answer.query.point)
