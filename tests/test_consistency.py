"""Oracles that lie are caught when their answers contradict each other; honest ones, with errors or rounding, never."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provers import PROVERS

from oracle_opt import Box, FeasibilityCut, FunctionOracle, ObjectiveCut, QueryPointGenerator, Status, Step, minimize
from oracle_opt.consistency import AnswerMemory, contradiction, suspects
from oracle_opt.generators import LevelSet

DOMAIN = Box(-np.ones(3), np.ones(3))
TARGET, WEIGHTS = np.array([0.3, -0.2, 0.1]), np.array([1.0, 8.0, 0.3])
NORMAL, SIDE = np.array([1.0, 1.0, 0.0]), 0.05  # feasible: NORMAL @ z <= SIDE


def honest(z):
    """Weighted distance squared to TARGET, to be minimized on a half-space."""
    if NORMAL @ z > SIDE + 1e-8:
        return FeasibilityCut(z, float(NORMAL @ z - SIDE), NORMAL)
    return ObjectiveCut(z, float(WEIGHTS @ (z - TARGET) ** 2), 2 * WEIGHTS * (z - TARGET))


def wrong_value(cut, seen):
    """State too much every other time."""
    return replace(cut, value=cut.value + 0.5) if isinstance(cut, ObjectiveCut) and len(seen) % 2 else cut


def wrong_subgradient(cut, seen):
    """Point the other way."""
    return replace(cut, subgradient=-cut.subgradient) if isinstance(cut, ObjectiveCut) and len(seen) > 3 else cut


def wrong_error(cut, seen):
    """Call a value exact that is too low by a half."""
    return replace(cut, value=cut.value - 0.5) if isinstance(cut, ObjectiveCut) and len(seen) == 4 else cut


def wrong_lower_bound(cut, seen):
    """Claim a bound that is above the minimum."""
    return replace(cut, lower_bound=0.2) if isinstance(cut, ObjectiveCut) else cut


def wrong_further_cut(cut, seen):
    """Add a minorant that is none."""
    if not isinstance(cut, ObjectiveCut):
        return cut
    tilt = 5.0 if len(seen) % 2 else -5.0
    return replace(cut, further=(replace(cut, subgradient=cut.subgradient + tilt),))


def excludes_the_best_point(cut, seen):
    """Cut off, with the query point, the best feasible point known."""
    points = [one for one in seen if isinstance(one, ObjectiveCut)]
    if len(points) < 3 or not isinstance(cut, ObjectiveCut):
        return cut
    away = cut.point - min(points, key=lambda one: one.value).point
    return FeasibilityCut(cut.point, 0.1 + float(np.abs(away).sum()), np.sign(away) + (away == 0))


def excludes_in_a_part(cut, seen):
    """The same in a further cut of a good answer."""
    points = [one.point for one in seen if isinstance(one, ObjectiveCut)]
    if not points or isinstance(cut, ObjectiveCut):
        return cut
    away = points[-1] - cut.point
    part = FeasibilityCut(cut.point, 0.1, away / max(float(np.linalg.norm(away)), 1e-9))
    return replace(cut, further=(part,))


def forgets_its_feasibility_cuts(cut, seen):
    """Give values to points that its own cuts exclude."""
    excluded = [one for one in seen if isinstance(one, FeasibilityCut)]
    if not excluded:
        return FeasibilityCut(cut.point, 0.2, NORMAL)
    return ObjectiveCut(cut.point, float((cut.point + 1) @ (cut.point + 1)), 2 * (cut.point + 1))


def liar(lie):
    """The honest oracle, each of whose answers a lie may change; `seen` holds what was said before."""
    seen = []

    def function(z):
        cut = lie(honest(z), seen)
        seen.append(cut)
        return cut

    return FunctionOracle(function, DOMAIN, gives={FeasibilityCut}), seen


@pytest.mark.parametrize("generator", PROVERS, ids=repr)
@pytest.mark.parametrize(
    "lie",
    [
        wrong_value,
        wrong_subgradient,
        wrong_error,
        wrong_lower_bound,
        wrong_further_cut,
        excludes_the_best_point,
        excludes_in_a_part,
    ],
)
def test_liars_are_caught(lie, generator):
    oracle, _ = liar(lie)
    result = minimize(oracle, generator, -0.5 * np.ones(3), rtol=1e-9, max_calls=500)
    assert result.status is Status.CONTRADICTION, (result.status, result.n_calls)
    assert "contradict each other" in result.message


@pytest.mark.parametrize("generator", PROVERS, ids=repr)
def test_the_honest_one_is_not(generator):
    oracle, _ = liar(lambda cut, seen: cut)
    result = minimize(oracle, generator, -0.5 * np.ones(3), rtol=1e-6, max_calls=500)
    assert result.status is Status.CONVERGED
    # NORMAL @ TARGET exceeds SIDE by 0.05: the nearest point in the metric WEIGHTS
    known = 0.05**2 / float(NORMAL**2 @ (1 / WEIGHTS))
    assert result.lower_bound <= known <= result.upper_bound + 1e-7


class InTurn(QueryPointGenerator):
    """Asks random points."""

    takes = frozenset({FeasibilityCut})

    def reset(self, domain, point):
        self._rng = np.random.default_rng(0)

    def ask(self):
        return self._rng.uniform(-1, 1, size=3)

    def tell(self, cut):
        return Step.NULL


@pytest.mark.parametrize("lie", [excludes_the_best_point, excludes_in_a_part, forgets_its_feasibility_cuts])
def test_the_message_names_the_feasibility_cut_and_the_point(lie):
    oracle, seen = liar(lie)
    result = minimize(oracle, InTurn(), max_calls=200)
    assert result.status is Status.CONTRADICTION
    i, j = map(int, re.findall(r"answer (\d+)", result.message))
    excluder, point = seen[i - 1], seen[j - 1]
    assert isinstance(excluder, FeasibilityCut)
    assert isinstance(point, ObjectiveCut)
    assert any(one.violation + one.normal @ (point.point - one.point) > 1e-3 for one in (excluder, *excluder.further))


def pieces_of_max(seed):
    """A maximum of affine functions of random scale, an inexact oracle of it, and a half-space that is cut."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-6, 8)
    slopes, constants = scale * rng.normal(size=(6, 4)), scale * rng.normal(size=6)
    normal = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=4)

    def answer(z):
        if normal @ z > 0:
            return FeasibilityCut(z, float(normal @ z), normal)
        values = slopes @ z + constants
        i = int(rng.integers(6))  # any piece is a minorant
        return ObjectiveCut(z, float(values[i]), slopes[i], error=float(values.max() - values[i]))

    return answer, rng


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([1.0, 1e4, 1e8]))
def test_honest_errors_and_rounding_contradict_nothing(seed, spread):
    answer, rng = pieces_of_max(seed)
    memory, base = AnswerMemory(4), rng.normal(size=4)
    for number in range(1, 40):
        z = spread * (base + 10.0 ** -rng.integers(0, 12) * rng.normal(size=4))
        assert memory.conflict(answer(z), number) == ""


@pytest.mark.parametrize(("error", "caught"), [(0.0, True), (1e-4, False), (1e-6, True)])
def test_a_feasibility_cut_may_exclude_a_point_by_the_error_it_states(error, caught):
    z = np.array([0.5, 0.0])
    for excluder_first in (False, True):
        memory = AnswerMemory(2)
        value, excluder = (
            ObjectiveCut(z, 1.0, np.zeros(2)),
            FeasibilityCut(z + 0.5, 0.5 + 5e-5, np.eye(2)[0], error=error),
        )
        answers = (excluder, value) if excluder_first else (value, excluder)
        words = [memory.conflict(answer, number) for number, answer in enumerate(answers, 1)]
        assert words[0] == ""
        assert bool(words[1]) == caught


@pytest.mark.parametrize("seed", range(10))
def test_an_honest_function_far_from_the_origin_contradicts_nothing(seed) -> None:
    """Sums of absolute values are exact near their targets; the constants of cuts err by the size of these."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=3) * 1e9
    memory = AnswerMemory(3)
    for number in range(1, 40):
        z = target + 10.0 ** rng.uniform(-6, 1) * rng.normal(size=3)
        away = z - target
        cut = ObjectiveCut(z, float(np.abs(away).sum()), np.sign(away))
        assert memory.conflict(cut, number) == ""
    lie = ObjectiveCut(target + 5.0, 15.0 + 1e-3, np.ones(3))
    memory.conflict(ObjectiveCut(target + 2.0, 6.0, np.ones(3)), 40)
    assert "answer 41" in memory.conflict(lie, 41)


@pytest.mark.parametrize("seed", range(12))
def test_a_long_valley_contradicts_nothing(seed) -> None:
    """Slopes along the valley are what rounding leaves of terms of 1e20."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    Q = (U * np.geomspace(1e-10, 1e10, n)) @ U.T
    Q, q, memory = (Q + Q.T) / 2, rng.normal(size=n), AnswerMemory(n)
    assert memory.conflict(ObjectiveCut(U[:, -1], 0.5 * U[:, -1] @ Q @ U[:, -1], Q @ U[:, -1]), 1) == ""
    for number in range(2, 60):
        z = U[:, :-1] @ rng.normal(size=n - 1) * 10.0 ** rng.uniform(-3, 0)
        assert memory.conflict(ObjectiveCut(z, float(0.5 * z @ Q @ z + q @ z), Q @ z + q), number) == ""


@pytest.mark.parametrize("generator", [None, LevelSet()], ids=repr)
def test_a_contradiction_says_what_is_likeliest_and_who_finds_it(generator) -> None:
    for slope in (-2.0, 2.0):  # of the wrong sign, and a maximization
        oracle = FunctionOracle(lambda z, t=slope: (-np.sign(t) * (z @ z), -2.0 * z), Box([-1.0, -1.0], [2.0, 1.0]))
        result = minimize(oracle, generator)
        assert result.status is Status.CONTRADICTION
        assert "likeliest cause is a subgradient of the wrong sign or with a wrong entry" in result.message
        assert "check_oracle" in result.message


@pytest.mark.parametrize("seed", range(10))
def test_a_start_outside_a_box_by_rounding_accuses_nobody(seed) -> None:
    rng = np.random.default_rng(seed)
    slope = 10.0 ** rng.uniform(0, 6)
    start = np.array([1e3, -(10.0 ** rng.uniform(-9, -6.1))])
    oracle = FunctionOracle(lambda z: (slope * z[1], np.array([0.0, slope])), Box([1e3, 0.0], [2e3, 1.0]))
    result = minimize(oracle, point=start, max_calls=20)
    assert result.upper_bound >= 0.0
    assert not result.status.disproved


def answers_that_may_lie(rng) -> list[ObjectiveCut | FeasibilityCut]:
    """Of a quadratic over a half-space, in any unit and at any place, where a few are false by a little or by much."""
    n, unit, size = int(rng.integers(1, 6)), 10.0 ** rng.uniform(-9, 9), 10.0 ** rng.uniform(-6, 6)
    middle = size * rng.choice([0.0, 1.0, 1e6]) * rng.normal(size=n)
    constant, normal = rng.choice([0.0, 1.0, 1e9]) * rng.normal(), rng.normal(size=n) / size
    cuts: list[ObjectiveCut | FeasibilityCut] = []
    for _ in range(int(rng.integers(2, 12))):
        away = size * rng.normal(size=n)
        z = middle + away
        lie = (rng.random() < 0.2) * 10.0 ** rng.uniform(-9, 1) * rng.choice([-1.0, 1.0])
        beyond = float(normal @ away) - 0.5
        if beyond > 0:
            half = FeasibilityCut(z, beyond + abs(lie), normal)
            cuts.append(replace(half, further=(half,) * int(rng.integers(0, 2))))
        else:
            value, slope = unit * (constant + away @ away / size**2 + lie), 2 * unit * away / size**2
            cut = ObjectiveCut(z, value, slope, error=unit * 1e-9 * (rng.random() < 0.3))
            higher = replace(cut, value=cut.value + unit * (rng.random() < 0.1))
            cuts.append(replace(cut, further=(higher,) * int(rng.integers(0, 2))))
    return cuts


def test_all_pairs_that_contradict_each_other_are_suspects_and_few_others() -> None:
    rng = np.random.default_rng(0)
    found = accused = possible = 0
    for _ in range(2000):
        cuts = answers_that_may_lie(rng)
        first = int(rng.integers(0, len(cuts)))
        pairs = [(i, j) for j in range(first, len(cuts)) for i in range(j)]
        false = {(i, j) for i, j in pairs if contradiction(cuts[i], cuts[j], i, j)}
        some = suspects(cuts, first)
        assert some == sorted(some)
        assert false <= set(some) <= set(pairs)
        found, accused, possible = found + len(false), accused + len(some), possible + len(pairs)
    assert 500 < found <= accused < 1.1 * found < 0.1 * possible
