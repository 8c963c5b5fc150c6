"""The next query: a generator's, or a point on the way back from a point where f is +inf."""

from dataclasses import replace

from oracle_opt.arrays import Vector
from oracle_opt.checks import as_query
from oracle_opt.cuts import Cut, ObjectiveCut, Query, is_infinite
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidCut
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.result import Ended, Status
from oracle_opt.words import shown

REPEATS = 3  # so many times in a row a repeated question is answered from memory
STEPS_BACK = 50  # so many answers of +inf in a row are followed by another question


class Questions:
    """The questions of one run: repeated ones are told the last answer, infinite ones lead half way back.

    An answer with an error that moved a bound may be asked for once more. If the generator asks the first point of
    value +inf again, the next question is half way between it and the finite point.
    """

    def __init__(self, generator: QueryPointGenerator, domain: Domain) -> None:
        self._generator, self._domain = generator, domain
        self._asked: Query | None = None
        self._outside: Vector | None = None  # where f was +inf on the way back from the question asked
        self._inside: Vector | None = None  # and where to go from there
        self._going_back = self.repeated = self.may_repeat = False
        self._n_repeats = self._n_infinite = 0

    def next(self) -> Query:
        """The next question."""
        if self._going_back:
            return self._halfway()
        previous, self._asked = self._asked, as_query(self._generator.ask(), self._domain, self._generator)
        self.repeated = previous is not None and self._asked.repeats(previous) and not self.may_repeat
        if not self.repeated:
            self._outside, self._n_repeats = None, 0
        elif self._outside is not None:
            self.repeated, self._going_back = False, True
            return self._halfway()
        self._n_repeats += self.repeated
        if self._n_repeats > REPEATS:
            raise Ended(Status.STALLED, f"the generator asks the same question {self._n_repeats + 1} times in a row")
        return self._asked

    def _halfway(self) -> Query:
        assert self._asked is not None  # f is +inf at this question, or on the way back from there
        assert self._outside is not None
        assert self._inside is not None
        point = self._inside + 0.5 * (self._outside - self._inside)
        if (point == self._inside).all() or (point == self._outside).all():
            raise Ended(Status.STALLED, f"f is +inf as near to {shown(self._inside)} as numbers can tell")
        return replace(self._asked, point=point)

    def answered(self, cut: Cut, best: ObjectiveCut | None) -> bool:
        """Take up an answer that is new; whether to tell it to the generator."""
        if not is_infinite(cut):
            if self._going_back and isinstance(cut, ObjectiveCut):
                self._inside = cut.point
            self._going_back, self._n_infinite = False, 0
            return True
        self._n_infinite += 1
        if self._n_infinite > STEPS_BACK:
            raise Ended(
                Status.STALLED, f"f is +inf at {self._n_infinite} points in a row, the last of them {shown(cut.point)}"
            )
        if best is not None and self._generator.understands_infinity:
            return True
        if not self._going_back:
            self._inside = self._domain.interior_point() if best is None else best.point
        if self._generator.understands_infinity or (cut.point == self._inside).all():
            raise InvalidCut(f"f is +inf at the first point, {shown(cut.point)}: pass a `point` where it is finite")
        self._going_back, self._outside = True, cut.point
        return False
