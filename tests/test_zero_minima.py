"""Minima of 0, and of what is next to 0: honest models are not accused, and no other minimum is taken for 0."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, TrustRegion
from oracle_opt.oracles import BendersOracle, ConicOracle, LagrangianOracle, RelaxedSolution, TwoStageProblem


def fit(rng, unit):
    """A system with a solution, in a norm, perhaps in a box that holds the solution."""
    n = int(rng.integers(2, 7))
    A, sought, x = rng.normal(size=(n + int(rng.integers(0, 5)), n)), rng.normal(size=n), cp.Variable(n)
    norm = cp.norm(A @ x - unit * (A @ sought), [1, 2, "inf"][rng.integers(3)])
    return cp.Problem(cp.Minimize(norm), [cp.abs(x) <= 10 * unit] if rng.random() < 0.5 else [])


def balls(rng, unit):
    """The distance of two balls that meet."""
    n = int(rng.integers(2, 6))
    way, x, y = rng.normal(size=n), cp.Variable(n), cp.Variable(n)
    center = unit * way / np.linalg.norm(way)
    return cp.Problem(cp.Minimize(cp.norm(x - y)), [cp.norm(x) <= unit, cp.norm(y - center) <= unit])


def hinges(rng, unit):
    """A sum of positive parts that are all 0 somewhere."""
    n = int(rng.integers(2, 6))
    A, x = rng.normal(size=(n, n)), cp.Variable(n)
    return cp.Problem(cp.Minimize(cp.sum(cp.pos(A @ x - unit))), [cp.norm(x) <= 3 * unit])


def trace(rng, unit):
    """A trace over semidefinite matrices that has no part of what is paid for."""
    n = int(rng.integers(2, 5))
    X, D = cp.Variable((n, n), PSD=True), np.diag(rng.integers(0, 3, n))
    D[0, 0] = 0
    return cp.Problem(cp.Minimize(cp.trace(D @ X)), [cp.trace(X) == unit])


@pytest.mark.campaign(20)
@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("make", [fit, balls, hinges, trace], ids=lambda one: one.__name__)
def test_models_of_minimum_0_are_not_accused(make, seed) -> None:
    rng = np.random.default_rng(seed)
    unit = 10.0 ** int(rng.integers(-3, 4))
    result = minimize(ConicOracle.from_cvxpy(make(rng, unit)), max_calls=80, max_seconds=4)
    assert result.status in (Status.CONVERGED, Status.STALLED, Status.MAX_CALLS, Status.MAX_SECONDS, Status.EDGE)
    assert result.lower_bound <= 1e-7 * unit
    assert result.upper_bound >= -1e-5 * unit
    if result.success:
        assert result.upper_bound <= 1e-5 * unit


@pytest.mark.campaign(10)
@pytest.mark.parametrize("seed", range(100))
def test_two_stages_that_had_better_do_nothing_are_proven(seed) -> None:
    """Capacities at more than a sale earns; the terms of the minimum are all 0, or cancel."""
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(1, 4)), 10.0 ** int(rng.integers(-3, 4))
    earned = rng.uniform(0.5, 2.0, n)
    problem = TwoStageProblem(
        c=unit * (earned + rng.uniform(0.1, 1.0, n)),
        q=-unit * earned,
        T=np.vstack([-np.eye(n), np.zeros((n, n))]),
        W=np.vstack([np.eye(n), np.eye(n)]),
        row_lower=-np.inf,
        row_upper=np.r_[np.zeros(n), rng.uniform(1, 9, n)],
        x_upper=10.0,
    )
    for generator in (None, Kelley(), LevelSet(), AnalyticCenter()):
        result = minimize(BendersOracle(problem), generator, max_calls=200)
        assert result.success, generator
        assert abs(result.upper_bound) <= 1e-9 * unit


@pytest.mark.campaign(10)
@pytest.mark.parametrize("seed", range(100))
def test_relaxations_of_minimum_0_are_not_accused(seed) -> None:
    """A knapsack in which nothing is worth its price: the dual is 0 at multipliers of 0."""
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(2, 9)), 10.0 ** int(rng.integers(-3, 4))
    cost, size = unit * rng.integers(0, 3, n).astype(float), rng.integers(1, 5, n).astype(float)

    def solve(u):
        x = (cost + u[0] * size < 0).astype(float)
        return RelaxedSolution(cost @ x, [size @ x], solution=x)

    result = minimize(LagrangianOracle(solve, [float(size.sum())], inequality=True, radius=10 * unit), max_calls=100)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= 0.0 <= result.upper_bound + 1e-12 * unit


@pytest.mark.campaign(4)
@pytest.mark.parametrize("method", [None, Kelley(), LevelSet(), TrustRegion()], ids=repr)
@pytest.mark.parametrize("seed", range(20))
def test_a_steep_valley_in_a_wide_box_is_no_minimum_of_0(seed, method) -> None:
    """Success means the tolerance: not that values far up, or a steep slope, make the rest rounding."""
    rng = np.random.default_rng(seed)
    wide, steep, least = 10.0 ** rng.uniform(2, 6), 10.0 ** rng.uniform(2, 4), 10.0 ** rng.uniform(0, 2)
    direction, tilt = rng.normal(size=3), 10.0 ** rng.uniform(-3, 0)

    def valley(z):
        i, g, v = int(np.abs(z).argmax()), np.zeros(3), steep * float(direction @ z)
        g[i] = tilt * np.sign(z[i])
        return v * v / 2 + tilt * abs(z[i]) + least, g + v * steep * direction

    domain = Box(np.full(3, -0.7 * wide), np.full(3, wide))
    result = minimize(FunctionOracle(valley, domain), method, max_calls=150)
    assert result.lower_bound <= least * (1 + 1e-9)
    assert not result.success or result.upper_bound <= least * (1 + 2e-6)
