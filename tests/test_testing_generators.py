"""Broken generators are caught by `check_generator`, each with the message that says what is wrong."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from oracle_opt import (
    CapabilityMismatch,
    EmptyLocalizationSet,
    FeasibilityCut,
    FunctionOracle,
    ObjectiveCut,
    SequentialGenerator,
    minimize,
    problems,
)
from oracle_opt.domains import Ball, Box, Simplex
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.generators import Kelley, LevelSet, ProjectedGradient, Subgradient
from oracle_opt.testing import ConformanceError, KnownProblem, check_generator, check_run, small_problems


class Impure(Subgradient):
    """Each question moves the point."""

    def ask(self):
        self._point = self._domain.project(self._point - 0.01)
        return super().ask()


class Computing(Subgradient):
    def __init__(self, scale=1.0):
        super().__init__(polyak=False, scale=2.0 * scale)
        self.scale = 2.0 * scale

    def parameters(self):
        return {"scale": self.scale}


class Extra(LevelSet):
    def __init__(self, level=0.8):
        super().__init__(level)
        self.level = level
        self.counter = 0

    def parameters(self):
        return {"level": self.level}


class Unnamed(LevelSet):
    def __init__(self, share=0.8):
        super().__init__(share)


class ShownOtherwise(Subgradient):
    def __repr__(self):
        return f"subgradient {id(self)}"


class Kept(Subgradient):
    """`reset` forgets to forget."""

    _met = 0

    def reset(self, domain, point):
        super().reset(domain, point)
        self._met += 1
        self.__dict__["_point"] = domain.project(point + 1e-3 * (self._met - 1))


class OfTheClass(Subgradient):
    """State is in a list of the class: that of all objects."""

    _told: list = []

    def reset(self, domain, point):
        super().reset(domain, point)
        self._told.clear()

    def tell(self, cut):
        step = super().tell(cut)
        self._told.append(cut)
        self._point = self._domain.project(self._point - 0.01 * len(self._told))
        return step


class Guessing(Kelley):
    """A minorant that is higher than what is proven."""

    def minorant(self):
        proven = super().minorant()
        return (
            None if proven is None else replace(proven, constant=proven.constant + 0.05 * abs(proven.constant) + 1e-3)
        )


class Doubling(Subgradient):
    """It scales the subgradient in place."""

    def tell(self, cut):
        step = super().tell(cut)
        if isinstance(cut, ObjectiveCut):
            cut.subgradient[:] *= 2.0
        return step


class Outside(Subgradient):
    def ask(self):
        return 1.5 * super().ask()


class InPlace(QueryPointGenerator):
    """It steps in the array that it handed out."""

    def reset(self, domain, point):
        self._domain, self._point = domain, point

    def ask(self):
        return self._point

    def tell(self, cut):
        self._point[:] = self._domain.project(self._point - 0.01 * cut.subgradient)
        return Step.SERIOUS


class Modest(Subgradient):
    def tell(self, cut):
        step = super().tell(cut)
        return Step.NULL if step is Step.SERIOUS else step


class Silent(Subgradient):
    def tell(self, cut):
        super().tell(cut)


class Confused(Subgradient):
    def tell(self, cut):
        step = super().tell(cut)
        return Step.SERIOUS if isinstance(cut, FeasibilityCut) else step


class Negative(Subgradient):
    def weight(self):
        return -super().weight()


class Rolling(Subgradient):
    """Random steps from a generator that `reset` does not seed."""

    _rng = np.random.default_rng(0)

    def tell(self, cut):
        step = super().tell(cut)
        self._point = self._domain.project(self._point + 1e-2 * self._rng.normal(size=len(self._point)))
        return step


class Raising(Kelley):
    def tell(self, cut):
        if isinstance(cut, FeasibilityCut):
            raise NotImplementedError("half-spaces")
        return super().tell(cut)


class GivingUp(Kelley):
    """It calls the localization set empty where it has done enough."""

    def ask(self):
        if self._model.gap < 0.1:
            raise EmptyLocalizationSet("enough")
        return super().ask()


class Unrefusing(Kelley):
    """It finds out in `reset` that the domain has no linear constraints."""

    def refusal(self, domain):
        return None


class Wordless(Kelley):
    def refusal(self, domain):
        return None if super().refusal(domain) is None else ""


class Late(Kelley):
    def refusal(self, domain):
        return None

    def tell(self, cut):
        raise CapabilityMismatch("now it is too late")


class Locked(Subgradient):
    """It holds what cannot be copied."""

    def reset(self, domain, point):
        super().reset(domain, point)
        self._lock = threading.Lock()


class Flat(Subgradient):
    def ask(self):
        return super().ask()[:1]


class WrongMinorant(Kelley):
    def minorant(self):
        return Minorant(-1e6, np.zeros(2))


class Choosy(Subgradient):
    def refusal(self, domain):
        return "it serves nobody"


class Forgetful(Subgradient):
    """The point of a cut is taken for the last query point, also where the cut is an old one."""

    def tell(self, cut):
        if not (cut.point == self._point).all():
            raise AssertionError("another point")
        return super().tell(cut)


class Elsewhere(Kelley):
    """It starts where it likes to."""

    def reset(self, domain, point):
        super().reset(domain, domain.interior_point())


MUTANTS = [
    (Impure(), "`ask` is pure"),
    (Computing(), "the constructor stores its parameters under their own names"),
    (Extra(), "the constructor stores its parameters under their own names"),
    (Unnamed(), "the constructor stores its parameters under their own names(.|\n)*share"),
    (ShownOtherwise(), "`repr` says with which parameters"),
    (Kept(), "a second run on the same object gives the same history"),
    (OfTheClass(), "objects with the same parameters that are told the same cuts ask the same points"),
    (Guessing(), "`minorant` of Guessing must lie below the function"),
    (Doubling(), "`tell` leaves the cut alone"),
    (Outside(), "`ask` of Outside must return a point of"),
    (InPlace(), "is not changed later|leaves the cut alone"),
    (Modest(), "the first objective cut is a serious step"),
    (Silent(), "`tell` of Silent must return a Step"),
    (Confused(), "`tell` returns `Step.FEASIBILITY` for feasibility cuts"),
    (Negative(), "`weight` of Negative must"),
    (Rolling(), "a second run on the same object gives the same history"),
    (Raising(), "a run ends with a `Status`, not with an exception(.|\n)*half-spaces"),
    (GivingUp(), "is not said to contradict itself(.|\n)*CONTRADICTION"),
    (Unrefusing(), "a run ends with a `Status`, not with an exception"),
    (Wordless(), "a refusal says why"),
    (Late(), "refuses before the first call"),
    (Locked(), "can be copied between calls"),
    (Flat(), "finite numbers"),
    (WrongMinorant(), "`minorant` of WrongMinorant must have a slope of shape"),
    (Choosy(), "a generator serves some problem(.|\n)*`problems=`"),
    (Forgetful(), "`tell` takes up cuts of an earlier run"),
    (Kelley, "an object, not the class"),
]


@pytest.mark.to_the_bit
@pytest.mark.parametrize(
    ("generator", "message"), MUTANTS, ids=lambda one: one[:30] if isinstance(one, str) else type(one).__name__
)
def test_broken_generators_are_caught(generator, message) -> None:
    domains = [Simplex(4), Box([-1.0, 0.0, 1.0], [1.0, 2.0, 4.0]), Ball(3)]
    with pytest.raises(ConformanceError, match=message) as caught:
        check_generator(generator, domains=domains)
    assert str(caught.value).splitlines()[0].endswith("breaks a rule.")
    assert {"  rule", "  seen", "  do"} <= {line.partition(":")[0] for line in str(caught.value).splitlines()}


def _known(start=None, optimum=0.0, accuracy=1e-9) -> KnownProblem:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Box(-np.ones(3), np.ones(3)))
    return KnownProblem("sum of squares", oracle, optimum, accuracy, start)


class Fixed(Kelley):
    """One form of a method, whose other parameters are those of its class."""

    def __init__(self, max_cuts=50):
        super().__init__(chebyshev=True, max_cuts=max_cuts)


def test_a_class_may_fix_parameters_of_its_parent() -> None:
    assert len(check_generator(Fixed(), domains=[Box([-1.0, -1.0], [1.0, 1.0])])) > 2
    assert repr(Fixed(7)) == "Fixed(max_cuts=7)"


def test_problems_of_the_author() -> None:
    assert check_generator(ProjectedGradient(), [_known()], domains=[]) == ("sum of squares",)
    with pytest.raises(ConformanceError, match="first query point is the point given"):
        check_generator(Elsewhere(), [_known(start=[0.5, 0.5, 1.0])], domains=[])
    with pytest.raises(
        ConformanceError, match=r"lower bound is at most the optimum(.|\n)*optimum of the problem is wrong"
    ):
        check_generator(LevelSet(), [_known(optimum=-1.0)], domains=[])
    with pytest.raises(ConformanceError, match="an upper bound is at least the optimum"):
        check_generator(Subgradient(), [_known(optimum=1.0)], domains=[])


def test_convergence_is_asked_for() -> None:
    assert check_run(LevelSet(), _known(), calls=60, atol=1e-6).success
    with pytest.raises(ConformanceError, match="the gap is proven to be at most 1e-06 within 5 calls"):
        check_run(Subgradient(), _known(start=[1.0, 0.5, 0.2]), calls=5, atol=1e-6)
    with pytest.raises(CapabilityMismatch):
        check_run(Kelley(), small_problems(Ball(3))[0])


def test_refused_problems_are_left_out() -> None:
    names = check_generator(Kelley(), domains=[Simplex(3), Ball(3)])
    assert len(names) == 7
    assert all("Simplex" in name for name in names)


def test_steps_out_of_scale_end_with_a_status_here_and_on_the_steep_problems_of_the_tests() -> None:
    """An exponential far out is +inf, and no warning: both examinations of a generator say the same."""

    class Unscaled(SequentialGenerator):
        needs_convexity = True

        def queries(self, domain, point):
            for k in range(1, 30):
                self.center = cut = yield point
                point = domain.project(point - 1e3 / k * cut.subgradient)

    assert any("exponential on FreeSpace" in name for name in check_generator(Unscaled()))
    for name in ("CB2", "CB3", "Chained CB3 I", "Chained CB3 II"):
        instance = problems.find(f"nonsmooth/{name}")[0](0)
        result = minimize(instance.oracle, Unscaled(), instance.start, max_calls=30)
        assert result.upper_bound >= instance.optimum - 1e-6
