"""Answers to queries that ask for exact slopes on some coordinates alone."""

import numpy as np

from oracle_opt.answers.exact_slopes import ExactSlopes
from oracle_opt.cuts import ObjectiveCut, PartialQuery, Query
from oracle_opt.testing.cut_rules import check_pairs
from oracle_opt.testing.exams import Answered, OracleExam, points_of
from oracle_opt.testing.state_rules import check_kept, check_repeated, check_resumed


def check_partial(exam: OracleExam, step: float, seed: int) -> None:
    """Ask an oracle that declares `ExactSlopes` on some variables, where they have to be exact, and on all in turn."""
    if ExactSlopes not in exam.oracle.gives:
        return
    queries = _queries(exam, seed)
    answers = exam.pass_over(queries)
    check_kept(exam, answers)
    cuts = [answer.cut for answer in answers]
    check_pairs(exam.subject, exam.oracle.convex, cuts, [], exam.tolerance, step)
    told = [_check_coordinates(exam, answer) for answer in answers]
    if not any(told):
        raise exam.fail(
            "a kind of answer in `gives` is given: `ExactSlopes` to some `PartialQuery`",
            f"no cut carries it, of {len(queries)} that a PartialQuery asked for",
            "put it into `answers=` of the cut where slopes elsewhere are too low, or take it out of `gives`",
        )
    check_repeated(exam, answers)
    check_resumed(exam, answers)


def _queries(exam: OracleExam, seed: int) -> list[Query]:
    """Partial queries on three sets of coordinates; after each a query on all, at the same point, and a partial one."""
    domain, rng = exam.oracle.domain, np.random.default_rng(seed)
    n, queries = domain.dimension, list[Query]()
    for share in (2, 3, 2):
        coordinates = np.sort(rng.permutation(n)[: max(n // share, 1)])
        face = domain.face(coordinates)
        if face is None:
            raise exam.fail(
                "an oracle that gives `ExactSlopes` has a domain with faces",
                f"`face` of {domain!r} is None for {len(coordinates)} coordinates",
                "define `face(coordinates)` of the domain, or take ExactSlopes out of `gives`",
            )
        points = [np.zeros(n) for _ in range(3)]
        for point, part in zip(points, points_of(face, 3, rng), strict=True):
            point[coordinates] = part
        asked = [PartialQuery(point, coordinates=coordinates) for point in points]
        queries += [asked[0], asked[1], Query(points[1]), asked[2]]
    return queries


def _check_coordinates(exam: OracleExam, answer: Answered) -> bool:
    """Whether the answer tells of some coordinates; those asked for have to be among them."""
    told = answer.cut.answer(ExactSlopes) if isinstance(answer.cut, ObjectiveCut) else None
    if told is None:
        return False
    wanted = answer.query.coordinates if isinstance(answer.query, PartialQuery) else np.arange(answer.query.point.size)
    if not np.isin(wanted, told.coordinates).all():
        raise exam.fail(
            "slopes are exact on the coordinates asked for, at least",
            f"`ExactSlopes` of {told.coordinates}, asked for {wanted}",
            "answer exact slopes on all `coordinates` of a PartialQuery, and on all of other queries",
            point=answer.query.point,
        )
    return True
