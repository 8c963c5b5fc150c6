"""Functions without gradients: every cut holds with its error, in whatever function, and bounds bracket the minimum."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Ball, Box, FreeSpace, FunctionOracle, InvalidArgument, InvalidCut, Query, Simplex, minimize
from oracle_opt.differences import MOST_VARIABLES

BOUNDS = Box([-2.0, -1.0, 0.0], [3.0, 1.0, 1e-3])
DOMAINS = [BOUNDS, Simplex(3), Ball(3, 2.0), FreeSpace(3, radius=5.0), Box([-1, 0, -1], [1, 0, 1])]


def _drawn(seed):
    """A convex function of three variables that fractions evaluate exactly: quadratic, and pieces with kinks."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-5, 6, (4, 3)) / 4
    sides = rng.integers(-5, 6, 4) / 4
    factor = rng.integers(-3, 4, (3, 3)) / 2
    kind = seed % 3

    def f(z):
        pieces = [sum(a * x for a, x in zip(row, z, strict=True)) - side for row, side in zip(rows, sides, strict=True)]
        square = sum(sum(a * x for a, x in zip(row, z, strict=True)) ** 2 for row in factor)
        return [max(pieces), sum(map(abs, pieces)), square + max(pieces)][kind]

    def exactly(z):
        exact = [Fraction(float(x)) for x in z]
        values = (
            [[Fraction(a) for a in row] for row in rows],
            [Fraction(b) for b in sides],
            [[Fraction(a) for a in row] for row in factor],
        )
        pieces = [
            sum(a * x for a, x in zip(row, exact, strict=True)) - side
            for row, side in zip(values[0], values[1], strict=True)
        ]
        square = sum(sum(a * x for a, x in zip(row, exact, strict=True)) ** 2 for row in values[2])
        return [max(pieces), sum(map(abs, pieces)), square + max(pieces)][kind]

    return f, exactly


def _points(domain, rng, count):
    """Of the domain: random ones, and some on edges and at kinks of round numbers."""
    drawn = [domain.project(one) for one in rng.normal(0, 2, (count, 3))]
    return drawn + [domain.project(np.round(2 * one) / 2) for one in drawn[: count // 2]]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("seed", range(9))
def test_cuts_hold_in_fractions(domain, seed):
    f, exactly = _drawn(seed)
    oracle, rng = FunctionOracle.from_values(f, domain), np.random.default_rng(seed)
    others = _points(domain, rng, 20)
    for point in _points(domain, rng, 6):
        cut = oracle.query(Query(point))
        value, error = Fraction(cut.value), Fraction(cut.error)
        assert value <= exactly(point) <= value + error
        for other in others:
            moved = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(other, point, strict=True)]
            line = value + sum(Fraction(float(g)) * d for g, d in zip(cut.subgradient, moved, strict=True))
            assert line <= exactly(other)


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("seed", range(3))
def test_values_alone_minimize_smooth_and_kinked_functions(n, seed):
    target = np.random.default_rng(seed).uniform(-1, 1, n)
    for f in (lambda z: (z - target) @ (z - target) + 1, lambda z: abs(z - target).sum() + 1):
        result = minimize(FunctionOracle.from_values(f, Box([-2.0] * n, [2.0] * n)), rtol=1e-4)
        assert result.success, result
        assert result.lower_bound <= 1 <= result.upper_bound


@pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-4])
def test_values_that_are_wrong_by_the_stated_accuracy_give_bounds_that_hold(noise):
    rng = np.random.default_rng(0)

    def f(z):
        value = z @ z + abs(z).sum() + 1
        return value + noise * value * rng.uniform(-1, 1)

    oracle = FunctionOracle.from_values(f, Box([-1.0] * 4, [2.0] * 4), accuracy=noise * 1.1)
    result = minimize(oracle, rtol=1e-6, max_calls=60)
    assert result.lower_bound <= 1 <= result.upper_bound
    assert result.gap < 200 * np.sqrt(noise)


def test_an_executor_changes_nothing_but_who_computes():
    def f(z):
        return float(z @ z + abs(z).max())

    bounds, point = Box([-1.0] * 3, [2.0] * 3), np.array([0.1, 0.5, -0.3])
    alone = FunctionOracle.from_values(f, bounds).query(Query(point))
    with ThreadPoolExecutor(2) as executor:
        shared = FunctionOracle.from_values(f, bounds, executor=executor).query(Query(point))
    assert (shared.value, shared.error) == (alone.value, alone.error)
    assert (shared.subgradient == alone.subgradient).all()
    with pytest.raises(InvalidArgument, match="executor"):
        FunctionOracle.from_values(f, bounds, executor=2)


def test_more_variables_than_differences_are_worth_are_refused():
    FunctionOracle.from_values(lambda z: z @ z, Box([-1.0] * MOST_VARIABLES, [1.0] * MOST_VARIABLES))
    with pytest.raises(InvalidArgument, match="domain"):
        FunctionOracle.from_values(lambda z: z @ z, Box([-1.0] * (MOST_VARIABLES + 1), [1.0] * (MOST_VARIABLES + 1)))


def test_domains_without_an_end_and_inexact_promises_are_refused():
    with pytest.raises(InvalidArgument, match="domain"):
        FunctionOracle.from_values(lambda z: z @ z, Box([-np.inf], [1.0]))
    for accuracy in (0.0, 1.0, -1e-3, "high"):
        with pytest.raises(InvalidArgument, match="accuracy"):
            FunctionOracle.from_values(lambda z: z @ z, Box([-1.0], [1.0]), accuracy=accuracy)


@pytest.mark.parametrize("answer", [None, "x", np.ones(2), np.inf, np.nan, (1.0, np.ones(1))], ids=repr)
def test_what_is_no_number_is_refused(answer):
    oracle = FunctionOracle.from_values(lambda z: answer, Box([-1.0], [1.0]))
    with pytest.raises(InvalidCut, match="function"):
        oracle.query(Query(np.zeros(1)))


def test_a_function_that_is_not_convex_is_named():
    oracle = FunctionOracle.from_values(lambda z: -abs(z).sum(), Box([-1.0] * 2, [1.0] * 2))
    with pytest.raises(InvalidCut, match="convex"):
        oracle.query(Query(np.zeros(2)))
    bent = FunctionOracle.from_values(lambda z: -(z @ z), Box([-1.0] * 2, [2.0] * 2))  # less than the values show
    assert minimize(bent).status.name == "CONTRADICTION"
