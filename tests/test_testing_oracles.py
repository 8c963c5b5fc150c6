"""Broken oracles are caught by `check_oracle`, each with the message that says what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from oracle_opt import Answer, Box, FeasibilityCut, FunctionOracle, InvalidArgument, ObjectiveCut, Oracle, Query
from oracle_opt.arrays import digest
from oracle_opt.testing import ConformanceError, check_oracle

TARGET = np.array([0.3, -0.2, 0.1])


class Slope(Answer):
    """A kind of the tests' own."""

    words = "slopes along a line"

    def __init__(self, numbers):
        self.numbers = numbers

    def arrays(self):
        return {"numbers": self.numbers}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["numbers"])

    def check(self, cut):
        """Any is good."""


class Sound(Oracle):
    """f(z) = norm(z - target)**2, in three summands, with a further minorant; warm starts change the error alone."""

    gives = frozenset({Slope})

    def __init__(self, target=TARGET):
        self.domain = Box(-np.ones(3), np.ones(3))
        self.target = target
        self.reset()

    def reset(self):
        self._calls = 0

    def resume(self, cut):
        self._calls = int(cut.extras["calls"])

    def query(self, query):
        self._calls += 1
        away = query.point - self.target
        error = 1e-6 / self._calls
        accuracy = query.accuracy or 0.0
        error = max(error, min(accuracy, 1e-3) * float(away @ away))
        summands = tuple(
            ObjectiveCut(query.point, away[j] ** 2 - error / 3, 2 * away[j] * row) for j, row in enumerate(np.eye(3))
        )
        further = (ObjectiveCut(query.point, -0.5, np.zeros(3)),)
        value, slope = sum(one.value for one in summands), 2 * away
        answers = (Slope(2 * away),) if Slope in query.wishes else ()
        cut = ObjectiveCut(query.point, value, slope, error=1.1 * error, lower_bound=-0.1, summands=summands)
        return replace(cut, further=further, answers=answers, extras={"calls": self._calls})

    def identity(self):
        return f"{super().identity()} {digest(self.target)}"


def changed(**how):
    """The sound oracle, some fields of its cuts changed by functions of cut and query."""

    class Broken(Sound):
        def query(self, query):
            cut = super().query(query)
            return replace(cut, **{name: function(cut, query) for name, function in how.items()})

    return Broken()


class WrongSign(Sound):
    def query(self, query):
        cut = super().query(query)
        return ObjectiveCut(cut.point, cut.value, -cut.subgradient, cut.error, extras=cut.extras, answers=cut.answers)


class Concave(Sound):
    def query(self, query):
        cut = super().query(query)
        return ObjectiveCut(cut.point, -cut.value, -cut.subgradient, cut.error, extras=cut.extras, answers=cut.answers)


class Overwriting(Sound):
    def query(self, query):
        query.point[:] -= self.target
        return super().query(query)


class Reusing(Sound):
    """It gives out the array it works on."""

    work = np.zeros(3)

    def query(self, query):
        cut = super().query(query)
        self.work[:] = cut.subgradient
        return replace(cut, subgradient=self.work)


class Caching(Sound):
    """It gives out an array that it answers from again."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def query(self, query):
        cut = super().query(query)
        slope = self.kept.setdefault(query.point.tobytes(), cut.subgradient)
        return replace(cut, subgradient=slope, summands=())


class Unforgetting(Sound):
    def __init__(self):
        super().__init__()
        self._calls = 0

    def reset(self):
        self._calls = getattr(self, "_calls", 0)


class NotStateless(Sound):
    stateless = True


class Drifting(Sound):
    """The value depends on what was asked before."""

    def query(self, query):
        cut = super().query(query)
        shift = 1e-3 * np.sin(self._calls)
        return ObjectiveCut(cut.point, cut.value + shift, cut.subgradient, cut.error, extras=cut.extras)

    gives = frozenset()


class Unstated(Sound):
    """Drifting below, without an error."""

    gives = frozenset()

    def query(self, query):
        cut = super().query(query)
        return ObjectiveCut(cut.point, cut.value - 1e-3 * (self._calls % 3), cut.subgradient, extras=cut.extras)


class NotResuming(Sound):
    """The number of calls, on which the error depends, is not taken up."""

    def resume(self, cut):
        return


class Unjournaled(Sound):
    def query(self, query):
        return replace(super().query(query), extras={"calls": self._calls, "notes": {"no": "array"}})


class Nameless(Sound):
    def identity(self):
        return "an oracle"


class Counting(Sound):
    def identity(self):
        self._calls += 1
        return f"oracle {self._calls}"


class NotPickling(Sound):
    def __init__(self):
        super().__init__()
        self.function = lambda z: z


class Refusing(Sound):
    def query(self, query):
        if query.wishes - self.gives:
            raise InvalidArgument("`wishes` must be known")
        return super().query(query)


class NeverGiving(Sound):
    def query(self, query):
        return replace(super().query(query), answers=())


class Undeclared(Sound):
    gives = frozenset()

    def query(self, query):
        return replace(super().query(query), answers=(Slope(query.point),))


class Losing(Slope):
    @classmethod
    def from_arrays(cls, arrays):
        return cls(0 * arrays["numbers"])


class LosingOracle(Sound):
    gives = frozenset({Losing})

    def query(self, query):
        cut = super().query(query)
        return replace(cut, answers=(Losing(cut.subgradient),) if Losing in query.wishes else ())


class Raising(Sound):
    def query(self, query):
        if query.point[0] < 0:
            raise ZeroDivisionError("division by a negative square root")
        return super().query(query)


class Infeasible(Sound):
    """z_1 >= 0 by cuts; `sign` and `gives` can be wrong."""

    gives = frozenset({FeasibilityCut})
    sign = 1.0

    def resume(self, cut):
        if isinstance(cut, ObjectiveCut):
            super().resume(cut)

    def query(self, query):
        if query.point[0] < 0:
            return FeasibilityCut(query.point, -query.point[0], -self.sign * np.eye(3)[0])
        return replace(super().query(query), answers=())


class Inverted(Infeasible):
    sign = -1.0


class Silent(Infeasible):
    gives = frozenset()


class NowhereFeasible(Sound):
    gives = frozenset({FeasibilityCut})

    def query(self, query):
        return FeasibilityCut(query.point, 1.0, np.ones(3))


class Flipping(Infeasible):
    """Whether a point is feasible depends on the call."""

    def query(self, query):
        self._calls += 1
        if self._calls % 5 == 0:
            return FeasibilityCut(query.point, 1e-12, np.eye(3)[1] * 1e-9)
        return replace(Sound.query(self, query), answers=())


class Homeless(Sound):
    def __init__(self):
        super().__init__()
        self.domain = None


def wrong_gradient(z):
    return float(np.sin(z).sum()), np.cos(z) + np.array([0.0, 0.1, 0.0])


MUTANTS = [
    (WrongSign(), "the cut lies below the function(.|\n)*with the other sign of the subgradient"),
    (Concave(), "the cut lies below the function"),
    (Overwriting(), "`query` leaves the query point alone|must be the query point"),
    (Reusing(), "arrays of a cut are not changed after it was given out"),
    (Caching(), r"after `reset\(\)` the same queries(.|\n)*give copies of arrays that are kept"),
    (Unforgetting(), r"after `reset\(\)` the same queries"),
    (NotStateless(), "says `stateless = True`"),
    (Drifting(), "lies below the function|whatever was asked before"),
    (Unstated(), "lies below the function|whatever was asked before"),
    (NotResuming(), r"after `resume\(cut\)` the oracle answers as after the query"),
    (Unjournaled(), "a cut can be written to a journal"),
    (Nameless(), r"`identity\(\)` tells this problem from others"),
    (Counting(), r"`identity\(\)` gives the same text"),
    (NotPickling(), "said to survive pickling"),
    (Refusing(), "InvalidArgument was raised: `wishes` must be known"),
    (NeverGiving(), "a kind of answer in `gives` is given(.|\n)*Slope"),
    (Undeclared(), "Slope|gives"),
    (LosingOracle(), "a cut read from a journal is the one that was written"),
    (Raising(), "ZeroDivisionError was raised"),
    (Inverted(), r"a feasibility cut holds at every feasible z"),
    (Silent(), "gives"),
    (NowhereFeasible(), "some point is feasible(.|\n)*pass points known to be feasible"),
    (Flipping(), "holds at every feasible z|whether a point is feasible|the same queries"),
    (Homeless(), "`oracle.domain` is a Domain"),
    (lambda z: (z @ z, 2 * z), "wrap a function in `FunctionOracle`"),
    (FunctionOracle(wrong_gradient, Box(-np.ones(3), np.ones(3)), convex=False), "is its gradient"),
    (changed(lower_bound=lambda cut, _: 0.5), "`lower_bound` is a bound on the minimum"),
    (changed(summands=lambda cut, _: cut.summands[:2]), "`summands` must add up to the cut"),
    (changed(summands=lambda cut, _: cut.summands[:: 1 if cut.point[0] < 0.1 else -1]), r"`summands\[\d\]` lies below"),
    (changed(summands=lambda cut, _: cut.summands if cut.point[0] < 0.1 else ()), "`summands` are as many"),
    (
        changed(further=lambda cut, _: (ObjectiveCut(cut.point, cut.value, 9 * cut.subgradient),)),
        r"`further\[0\]` lies below",
    ),
    (
        changed(further=lambda cut, _: (ObjectiveCut(cut.point, cut.value + 1, cut.subgradient),)),
        r"`further\[0\]` lies below|each of `further` is a minorant",
    ),
    (changed(subgradient=lambda cut, _: cut.subgradient[:2]), "must have the shape of the point"),
    (changed(value=lambda cut, _: np.nan), "a cut must be finite"),
    (changed(error=lambda cut, _: -1.0), "`error`"),
    (changed(point=lambda cut, _: cut.point + 1e-9), "must be the query point"),
    (changed(error=lambda cut, query: 2e-2 if query.accuracy else 1e-3), "with the wish `accuracy=0.01`"),
]


@pytest.mark.to_the_bit
@pytest.mark.parametrize(
    ("oracle", "message"), MUTANTS, ids=lambda one: one[:30] if isinstance(one, str) else type(one).__name__
)
def test_broken_oracles_are_caught(oracle, message) -> None:
    with pytest.raises(ConformanceError, match=message) as caught:
        check_oracle(oracle, other=Nameless(), accuracies=(1e-2,), pickles=isinstance(oracle, NotPickling))
    assert str(caught.value).splitlines()[0].endswith("breaks a rule.")
    assert {"  rule", "  seen", "  do"} <= {line.partition(":")[0] for line in str(caught.value).splitlines()}


def test_sound_ones_pass() -> None:
    check_oracle(Sound(), other=Sound(2 * TARGET), accuracies=(1e-2,), pickles=True)
    check_oracle(Infeasible())
    oracle = FunctionOracle(lambda z: (float(np.sin(z).sum()), np.cos(z)), Box(-np.ones(3), np.ones(3)), convex=False)
    check_oracle(oracle)


def test_a_feasible_point_that_is_refused_is_named() -> None:
    with pytest.raises(ConformanceError, match="a feasible point is answered by its value") as caught:
        check_oracle(Infeasible(), feasible=[np.array([-0.5, 0.0, 0.0])])
    np.testing.assert_array_equal(caught.value.at["point"], [-0.5, 0.0, 0.0])


def test_points_of_the_author() -> None:
    asked = []

    class Listening(Sound):
        def query(self, query):
            asked.append(query.point.copy())
            return super().query(query)

    points = [[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]]
    check_oracle(Listening(), points)
    assert {tuple(z) for z in points} <= {tuple(z) for z in asked}
    assert all(np.linalg.norm(np.cross(z - points[0], np.subtract(*points))) < 1e-12 for z in asked)  # between them
    assert len(asked) < 60
    assert isinstance(Listening().query(Query(np.zeros(3))), ObjectiveCut)


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "said", "unsaid"),
    [
        (lambda z: (z @ z, 2.2 * z), r"with 0\.9\d* times the subgradient .* at all points tried", "other sign"),
        (lambda z: (z @ z, -2 * z), "with the other sign of the subgradient .* at all points tried", " times the"),
        (lambda z: (z @ z, 2 * z * [1, 1, 0]), "usual mistakes", "points tried"),
        (lambda z: (-z @ z, -2 * z), "usual mistakes", "points tried"),
        (lambda z: (z @ z + NOISE.random(), 2 * z), "two answers at one point differ", "sign"),
    ],
)
def test_what_would_mend_a_cut_is_said_only_where_it_holds_at_all_points(function, said, unsaid) -> None:
    with pytest.raises(ConformanceError, match=said) as caught:
        check_oracle(FunctionOracle(function, Box(-np.ones(3), np.ones(3))))
    assert unsaid not in str(caught.value).replace("a subgradient of the wrong sign", "")
