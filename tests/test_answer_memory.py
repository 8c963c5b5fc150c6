"""Pairs of answers that contradict each other, in either order, from just inside to just outside of the tolerances."""

import copy
import re

import numpy as np
import pytest

from oracle_opt import BoundTracker, Box, FeasibilityCut, FunctionOracle, ObjectiveCut, Status, minimize
from oracle_opt.consistency import REMEMBERED, AnswerMemory
from oracle_opt.generators import SPG


def told(*answers):
    """Words at each answer of a row, numbered from 1."""
    memory = AnswerMemory(len(answers[0].point))
    return [memory.conflict(answer, number) for number, answer in enumerate(answers, 1)]


def pair(rng, share, scale=1.0, offset=0.0, value=1.0, steep=1.0):
    """Two cuts; by the first the function is higher at the second's point than stated, by a share of the largest term.

    Terms are the two values and the first's slope over the way between the points, however far these are from the
    origin. The second's own minorant is far below the first's value: only one of the two comparisons can tell.
    """
    a, b = offset + rng.normal(size=(2, 4))
    g = steep * scale * rng.normal(size=4)
    first = ObjectiveCut(a, value * scale, g)
    claimed = value * scale + g @ (b - a)
    terms = max(abs(first.value), abs(claimed), float(np.abs(g) @ np.abs(b - a)))
    stated = claimed - share * terms
    slope = (b - a) * (stated - first.value + 9 * terms) / ((b - a) @ (b - a))  # at a it claims 9 * terms less
    return first, ObjectiveCut(b, float(stated), slope), terms


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize(
    "sizes",
    [{}, {"offset": 300.0}, {"value": 1e3, "steep": 0.1}, {"value": -1e3}, {"value": 0.0, "steep": 100.0}],
    ids=str,
)
@pytest.mark.parametrize(
    ("share", "caught"), [(-1e-3, False), (1e-9, False), (3e-8, False), (3e-7, True), (1e-2, True)]
)
def test_a_pair_is_held_against_each_other_both_ways(sizes, scale, share, caught):
    for seed in range(4):
        first, second, terms = pair(np.random.default_rng(seed), share, scale, **sizes)
        for later, answers in ((False, (first, second)), (True, (second, first))):
            before, words = told(*answers)
            assert before == ""
            assert bool(words) == caught
            if caught:
                claims, stated = map(int, re.findall(r"answer (\d+)", words))
                assert (claims, stated) == ((2, 1) if later else (1, 2))
                least, most = map(float, re.findall(r"at (?:least|most) (\S+?)[ .]*(?:$|at )", words))
                assert least - most == pytest.approx(share * terms, rel=2e-2)
                assert most == pytest.approx(second.value, rel=1e-8, abs=1e-8 * terms)


def test_terms_that_cancel_excuse_what_is_rounding_of_them():
    """A slope of 1e9 over a distance of 1 may be off by 1, that of 1 may not."""
    for slope, caught in ((1e9, False), (1.0, True)):
        first = ObjectiveCut(np.array([0.0, 0.0]), 1.0, np.array([slope, -slope]))
        second = ObjectiveCut(np.array([1.0, 1.0]), 0.5, np.array([-5e9, 5e9 - 2.0]))
        for answers in ((first, second), (second, first)):
            assert bool(told(*answers)[1]) == caught


@pytest.mark.parametrize(("error", "caught"), [(0.0, True), (0.4, True), (0.6, False)])  # of the largest term
def test_stated_errors_count(error, caught):
    first, second, terms = pair(np.random.default_rng(0), 0.5)
    second = ObjectiveCut(second.point, second.value, second.subgradient, error=error * terms)
    for answers in ((first, second), (second, first)):
        assert bool(told(*answers)[1]) == caught


def test_further_cuts_are_held_against_earlier_values():
    first, second, _ = pair(np.random.default_rng(1), 0.5)
    for further, caught in ((first, True), (ObjectiveCut(first.point, -9.0, np.zeros(4)), False)):
        modest = ObjectiveCut(first.point, -50.0, np.zeros(4), error=100.0)
        whole = ObjectiveCut(modest.point, -50.0, modest.subgradient, error=100.0, further=(modest, further))
        words = told(second, whole)[1]
        assert words.startswith("By the cut of answer 2 the function is at least") == bool(words) == caught


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize(("share", "caught"), [(-1e-3, False), (1e-8, False), (3e-7, False), (1e-5, True), (0.1, True)])
def test_excluded_points_are_told_in_either_order(share, caught, length):
    rng = np.random.default_rng(2)
    for _ in range(5):
        a, b, normal = rng.normal(size=(3, 4))
        normal *= length / np.linalg.norm(normal)
        value = ObjectiveCut(a, 1.0, np.zeros(4))
        unit = max(1.0, length, float(np.abs(normal) @ np.abs(a)), abs(share + float(normal @ a)))
        # at a the half-space is violated by share * unit
        excluder = FeasibilityCut(b, float(share * unit - normal @ (a - b)), normal)
        for answers, numbers in (((value, excluder), (2, 1)), ((excluder, value), (1, 2))):
            before, words = told(*answers)
            assert before == ""
            assert bool(words) == caught
            if caught:
                assert tuple(map(int, re.findall(r"answer (\d+)", words))) == numbers
                assert float(re.search(r"infeasible, by (\S+) in", words)[1]) == pytest.approx(share * unit, rel=1e-2)


def test_parts_of_a_feasibility_cut_are_held_against_points():
    point = np.array([1.0, 0.0])
    harmless = FeasibilityCut(np.array([0.0, 5.0]), 1.0, np.array([0.0, 1.0]))
    part = FeasibilityCut(np.array([0.0, 5.0]), 0.5, np.array([1.0, 0.0]))
    value = ObjectiveCut(point, 0.0, np.zeros(2))
    assert told(value, harmless)[1] == ""
    whole = FeasibilityCut(harmless.point, harmless.violation, harmless.normal, further=(harmless, part))
    assert "cut of answer 2 the point of answer 1 is infeasible, by 1.5" in told(value, whole)[1]
    excused = FeasibilityCut(part.point, part.violation, part.normal, error=1.5)
    whole = FeasibilityCut(harmless.point, harmless.violation, harmless.normal, further=(excused,))
    assert told(value, whole)[1] == ""


def excluder_of(point, others):
    """A feasibility cut that excludes one point and none of the others, which lie on the other side."""
    normal = point - np.mean(others, axis=0)
    side = max(float(normal @ other) for other in others)
    depth = 0.5 * (float(normal @ point) - side)
    assert depth > 1e-3
    where = point + normal
    return FeasibilityCut(where, float(normal @ where) - side - depth, normal)


def on_a_circle(count):
    angles = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("best", [1, 3, 8, 12, 29])
def test_the_best_answer_is_remembered_for_ever_and_no_other_is_accused(best):
    count = 30
    points, memory = on_a_circle(count), AnswerMemory(2)
    for number, point in enumerate(points, 1):
        assert not memory.conflict(ObjectiveCut(point, 1.0 + (number != best), np.zeros(2), error=2.0), number)
    known = {best, *range(count, count - REMEMBERED + 1, -1)}
    for number in range(1, count + 1):
        others = np.delete(points, number - 1, axis=0)
        words = memory.conflict(excluder_of(points[number - 1], others), 90 + number)
        if number in known or words:  # more may be remembered than is promised, none may be confused
            assert re.findall(r"answer (\d+)", words) == [str(90 + number), str(number)]


def test_a_better_answer_takes_the_place_of_the_best():
    count = 30
    points, memory = on_a_circle(count), AnswerMemory(2)
    for number, point in enumerate(points, 1):
        value = {5: 3.0, 9: 3.0, 17: 2.0}.get(number, 4.0)
        assert not memory.conflict(ObjectiveCut(point, value, np.zeros(2), error=5.0), number)
        for one, first, last in ((5, 5, 8), (9, 9, 16), (17, 17, count)):  # of equal ones the later
            if number in (first, last):
                excluder = excluder_of(points[one - 1], np.delete(points, one - 1, axis=0))
                twin = copy.deepcopy(memory)
                assert f"the point of answer {one} is infeasible" in twin.conflict(excluder, 99)


def test_the_last_feasibility_cuts_are_remembered():
    count = 20
    memory = AnswerMemory(count)
    units = np.eye(count)
    for number in range(1, count + 1):
        memory.conflict(FeasibilityCut(units[number - 1], 0.5, units[number - 1]), number)
    for number in range(count - REMEMBERED + 1, count + 1):
        words = memory.conflict(ObjectiveCut(units[number - 1], 1.0, np.zeros(count), error=9.0), 50 + number)
        assert f"feasibility cut of answer {number} the point of answer {50 + number} is" in words


def test_without_convexity_no_answer_is_accused():
    """Minorants of a function that is not convex need not lie below it."""
    domain = Box(-np.ones(4), np.ones(4))
    first, second, _ = pair(np.random.default_rng(0), 0.5)
    for convex in (True, False):
        tracker = BoundTracker(domain, convex)
        for cut in (first, second):
            tracker.update(cut, None, 1.0)
        assert bool(tracker.conflict) == tracker.contradiction() == convex
        assert tracker.upper == min(first.value, second.value)
    hills = FunctionOracle(lambda z: (float(np.cos(3 * z).sum()), -3 * np.sin(3 * z)), domain, convex=False)
    result = minimize(hills, SPG(), np.full(4, 0.3), gtol=1e-6)
    assert result.status is Status.GRADIENT
    assert result.upper_bound == pytest.approx(4 * np.cos(3.0))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e5])
def test_bounds_cross_by_rounding_and_no_more(scale):
    """Two bounds that cross by less than 1e-8 of the larger one are rounding, by more a contradiction, in any unit."""
    domain = Box([-1.0], [1.0])
    for excess, contradicts in ((0.5e-8, False), (2e-8, True), (1e-4, True)):
        tracker = BoundTracker(domain)
        tracker.update(ObjectiveCut(np.zeros(1), scale, np.zeros(1), lower_bound=scale + excess * scale), None, 0.0)
        assert tracker.contradiction() == contradicts
