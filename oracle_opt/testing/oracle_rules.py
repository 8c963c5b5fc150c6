"""Checks of an oracle: true cuts, and answers that do not depend on earlier queries."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt._journal_file import decode, encode
from oracle_opt.answers.answer import Answer
from oracle_opt.arrays import Vector
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.listener import Entry
from oracle_opt.oracle import Oracle
from oracle_opt.testing.conformance import ConformanceError, check_class, copied, difference, ruled
from oracle_opt.testing.cut_rules import check_pairs, check_term
from oracle_opt.testing.exams import WRITTEN, Answered, OracleExam, points_of
from oracle_opt.testing.partial_rules import check_partial
from oracle_opt.testing.state_rules import check_kept, check_order, check_pickled, check_repeated, check_resumed
from oracle_opt.testing.witness_rules import check_witness


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
    cuts hold at all points that got a value; that without a `known` term the cuts are still those of a convex
    function; that the query point is left alone, and arrays given out are not changed
    later; that after `reset` the same queries have the same answers, to the last bit, and after `resume(cut)` the next
    ones up to rounding; that answers in another order agree up to their errors; that what the cuts carry is declared;
    that slopes which are told to be exact on some coordinates alone, for a `PartialQuery`, are too high nowhere;
    `identity`. Where it names a `witness`: that `prove_cut` and `prove_value` accept what was answered and, if it is
    raised by a millionth of its size above what is true, or if the witness is spoiled, prove no more than is true.

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
        Seed of these points.

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
    exam = OracleExam(oracle, subject, asked, tuple(accuracies), tolerance)
    _check_identity(oracle, other, subject)
    answers = exam.pass_over(exam.queries())
    check_kept(exam, answers)
    _check_feasible(exam, answers, known)
    check_repeated(exam, answers)  # first: what differs at one point makes any cut look wrong
    check_pairs(subject, oracle.convex, [answer.cut for answer in answers], known, tolerance, step)
    check_term(subject, oracle.known, [answer.cut for answer in answers], tolerance)
    _check_accuracies(exam, answers)
    check_witness(exam, answers)
    check_order(exam, answers)
    check_resumed(exam, answers)
    _check_wishes(exam)
    check_partial(exam, step, seed)
    if pickles:
        check_pickled(exam, answers)
    oracle.reset()


def _check_declarations(oracle: Oracle) -> None:
    check_class(oracle, Oracle, "an oracle", "derive the class from `Oracle`, or wrap a function in `FunctionOracle`")
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


def _check_feasible(exam: OracleExam, answers: list[Answered], known: list[Vector]) -> None:
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


def _check_accuracies(exam: OracleExam, answers: list[Answered]) -> None:
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


def _check_wishes(exam: OracleExam) -> None:
    """Wishes may be ignored, but must not be refused; what is declared is given somewhere, and can be journaled."""
    wishes = frozenset(kind for kind in exam.oracle.gives if issubclass(kind, Answer))
    missing = {kind for kind in wishes if kind.wished}
    for k, z in enumerate(exam.points):
        if k > 1 and not missing:
            return
        answer = exam.ask(Query(z, accuracy=1e-3, wishes=wishes | {_Unheard}))
        advice = "see `arrays` and `from_arrays` of its answers"
        with ruled(exam.subject, WRITTEN, advice):
            read = decode(encode(Entry(Query(z), answer.cut, 0.0)), exam.oracle.gives).cut
        if words := difference(answer.fields, copied(read)):
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
