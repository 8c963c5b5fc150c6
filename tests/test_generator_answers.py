"""What the driver says of a generator whose answers break a rule: it names the rule, and asks the oracle nothing."""

from dataclasses import replace

import numpy as np
import pytest
from provers import FAST

from oracle_opt import FunctionOracle, InvalidArgument, ObjectiveCut, Oracle, Query, Status, minimize
from oracle_opt.domains import Ball, Box, Polyhedron, Simplex
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.generators import Kelley

SCALES = (1e-8, 1.0, 1e8)


class Scripted(QueryPointGenerator):
    """It answers what it is given, and asks the starting point otherwise."""

    def __init__(self, ask=None, step=Step.NULL, weight=0.0, minorant=None):
        self.asks, self.step, self.weighed, self.minorized = ask, step, weight, minorant

    def reset(self, domain, point):
        self._point = point

    def ask(self):
        return self._point if self.asks is None else self.asks(self._point)

    def tell(self, cut):
        return self.step

    def weight(self):
        return self.weighed

    def minorant(self):
        return self.minorized


class Counting(Oracle):
    """A maximum of affine functions, drawn in some unit, that counts its queries."""

    stateless = True

    def __init__(self, domain, rng, scale=1.0):
        self.domain, self.points = domain, []
        self._slopes, self._constants = scale * rng.normal(size=(6, domain.dimension)), scale * rng.normal(size=6)

    def query(self, query):
        self.points.append(query.point)
        values = self._slopes @ query.point + self._constants
        k = int(values.argmax())
        return ObjectiveCut(query.point, float(values[k]), self._slopes[k])


def domains(rng):
    n, width = 4, 10.0 ** rng.uniform(-3, 3)
    rows = np.vstack([rng.normal(size=(3, n)), np.ones((1, n))])
    boxed = Box(np.full(n, -width), np.full(n, width))
    return Simplex(n, radius=width), boxed, Ball(n, radius=width), Polyhedron(rows, np.full(4, width), lower=0.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_point_outside_is_refused_and_not_asked(seed) -> None:
    rng = np.random.default_rng(seed)
    for domain in domains(rng):
        away = rng.normal(size=domain.dimension)
        away *= 10.0 ** rng.uniform(-6, 0) * np.linalg.norm(domain.interior_point() + 1.0) / np.linalg.norm(away)
        farthest = domain.minimize_linear(-away)[1] + away
        for as_asked in (lambda z, far=farthest: far, lambda z, far=farthest: Query(far)):
            oracle = Counting(domain, rng)
            with pytest.raises(InvalidArgument, match=r"`ask` of Scripted(.|\n)*check_generator") as caught:
                minimize(oracle, Scripted(as_asked))
            assert not oracle.points
            assert caught.value.result.point is None


@pytest.mark.parametrize(
    "asked",
    [
        list,
        tuple,
        str,
        lambda z: None,
        lambda z: 0.5,
        lambda z: z[:-1],
        lambda z: z[None],
        lambda z: z + 0j,
        lambda z: z.astype(object),
        lambda z: np.full_like(z, np.nan),
        lambda z: np.full_like(z, np.inf),
        lambda z: Query(list(z)),
        lambda z: Query(z[:-1]),
    ],
)
def test_what_is_no_point_is_refused(asked) -> None:
    oracle = Counting(Box(-np.ones(3), np.ones(3)), np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match=r"`ask` of Scripted must return(.|\n)*check_generator"):
        minimize(oracle, Scripted(asked))
    assert not oracle.points


@pytest.mark.parametrize("kind", [np.float32, int, np.int8])
def test_arrays_of_other_real_numbers_are_points(kind) -> None:
    oracle = Counting(Box(-np.ones(3), np.ones(3)), np.random.default_rng(0))
    minimize(oracle, Scripted(lambda z: z.astype(kind)), max_calls=1)
    assert oracle.points[0].dtype == np.float64


FALSE_NUMBERS = [
    Minorant(np.nan, np.zeros(3)),
    Minorant(np.inf, np.zeros(3)),
    Minorant("0", np.zeros(3)),
    Minorant(-9.0, np.zeros(2)),
    Minorant(-9.0, np.full(3, np.nan)),
    Minorant(-9.0, np.full(3, np.inf)),
    Minorant(-9.0, np.zeros(3), error=-1.0),
    Minorant(-9.0, np.zeros(3), tolerance=np.nan),
]
FALSE_ANSWERS = {
    "tell": [{"step": step} for step in (None, "serious", 1)],
    "weight": [{"weight": weight} for weight in (-1.0, -1e-300, np.nan, np.inf, None, "1", np.ones(2))],
    "minorant": [{"minorant": one} for one in (0.0, (0.0, np.zeros(3)), Kelley, *FALSE_NUMBERS)],
}


@pytest.mark.parametrize(("rule", "answers"), [(rule, one) for rule in FALSE_ANSWERS for one in FALSE_ANSWERS[rule]])
def test_what_follows_a_cut_is_checked(rule, answers) -> None:
    oracle = Counting(Box(-np.ones(3), np.ones(3)), np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match=rf"`{rule}` of Scripted must(.|\n)*check_generator") as caught:
        minimize(oracle, Scripted(**answers))
    assert len(oracle.points) == 1
    assert caught.value.result.lower_bound == -np.inf


class Raising(Kelley):
    """It adds a share of the value's size to a proven minorant, from some call on."""

    def __init__(self, share=0.01, since=0, parts=True):
        super().__init__()
        self.share, self.since, self.parts = share, since, parts

    def reset(self, domain, point):
        super().reset(domain, point)
        self._told = 0

    def tell(self, cut):
        self._told, self._cut = self._told + 1, cut
        return super().tell(cut)

    def minorant(self):
        proven = super().minorant()
        if proven is None or self._told <= self.since:
            return proven
        above = self._cut.value - proven.constant - float(proven.slope @ self._cut.point)
        raised = replace(proven, constant=proven.constant + above + self.share * abs(self._cut.value))
        return raised if self.parts else replace(raised, parts=())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("parts", [True, False])
def test_a_false_minorant_is_the_generators(scale, parts) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        for domain in (one for one in domains(rng) if one.linear_constraints() is not None):
            with pytest.raises(InvalidArgument, match=r"`minorant` of Raising must lie below(.|\n)*check_generator"):
                minimize(Counting(domain, rng, scale), Raising(10.0 ** rng.uniform(-4, 1), int(rng.integers(2)), parts))


@pytest.mark.parametrize("scale", SCALES)
def test_a_false_bound_found_later_is_the_generators(scale) -> None:
    """A minorant that is low where it was given, and too high at a point that is asked afterwards."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        center = rng.uniform(-0.5, 0.5, 3)
        oracle = FunctionOracle(
            lambda z, c=center: (scale * float(np.abs(z - c).sum()), scale * np.sign(z - c)),
            Box(-np.ones(3), np.ones(3)),
        )
        ways = iter([np.ones(3), center, np.zeros(3)])
        false = Scripted(lambda z, ways=ways: next(ways), minorant=Minorant(0.1 * scale, np.zeros(3)))
        with pytest.raises(InvalidArgument, match="`minorant` of Scripted must lie below"):
            minimize(oracle, false)


@pytest.mark.parametrize("scale", SCALES)
def test_a_false_oracle_is_not_blamed_on_the_generator(scale) -> None:
    """A slope of the wrong size or sign: whatever method meets it, it ends without success, and not with its name."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        center = rng.uniform(-0.5, 0.5, 3)
        factor = rng.choice([-1.0, 3.0])

        def wrong(z, c=center, factor=factor):
            return scale * float((z - c) @ (z - c)), 2.0 * factor * scale * (z - c)

        for generator in FAST:
            result = minimize(FunctionOracle(wrong, Box(-np.ones(3), np.ones(3))), generator, max_calls=60)
            ended = result.status in (Status.CONTRADICTION, Status.MAX_CALLS, Status.EMPTY, Status.STALLED)
            assert ended or (result.lower_bound <= 0 <= result.upper_bound <= 1e-12 * scale)  # it came to the minimum
