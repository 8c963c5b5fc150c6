"""Conic problems without a minimum: a direction in which they fall without end is proven, and never of one that has."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, InvalidCertificate, Status, minimize
from oracle_opt.generators import Kelley
from oracle_opt.oracles import PositiveSemidefinite
from oracle_opt.oracles.conic import ConicOracle, ConicProblem, Exponential, Nonnegative, SecondOrder, Zero
from oracle_opt.oracles.conic.ray import proven_ray

KINDS = ("linear", "equations", "quadratic", "second-order", "matrices", "exponential", "together")


def unbounded(kind: str, seed: int, unit: float = 1.0) -> cp.Problem:
    """A random problem that is feasible and falls along a known direction."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n = int(rng.integers(3, 9))
    x, d = cp.Variable(n, name="x"), rng.choice([-1.0, 1.0], n) * 2.0 ** rng.integers(-1, 2, n)
    c = rng.normal(size=n)
    c -= (c @ d + 1.0 + rng.random()) / (d @ d) * d
    inside = unit * rng.normal(size=n)
    if kind == "linear":
        a = -np.abs(rng.normal(size=(2 * n, n))) * np.sign(d)
        return cp.Problem(cp.Minimize(c @ x), [a @ x <= a @ inside + unit])
    if kind == "equations":
        e = rng.normal(size=(n - 2, n))
        c += np.sign(rng.normal()) * np.linalg.svd(e)[2][-1]
        return cp.Problem(cp.Maximize(c @ x), [e @ x == e @ inside])
    if kind == "quadratic":
        e = rng.normal(size=(n - 1, n))
        away = np.linalg.svd(e)[2][-1]
        return cp.Problem(cp.Minimize(cp.sum_squares(e @ x / unit - 1) - away @ x), [away @ x >= away @ inside])
    if kind == "second-order":
        return cp.Problem(cp.Minimize(c @ x), [cp.norm(x - d * (d @ x) / (d @ d)) <= d @ x + unit, d @ x >= -unit])
    if kind == "matrices":
        X = cp.Variable((n, n), symmetric=True, name="X")
        v = rng.normal(size=n)
        return cp.Problem(cp.Minimize(-v @ X @ v / unit), [X >> 0, X[0, 1] == unit, cp.trace(X) >= unit])
    if kind == "exponential":
        return cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(cp.exp(x / unit)) <= n])
    X = cp.Variable((2, 2), PSD=True)
    far = [cp.norm(x[:2]) <= X[0, 0] + unit, cp.exp(x[2] / unit) <= 3, X[1, 1] <= unit]
    return cp.Problem(cp.Minimize(x[2] - X[0, 0]), [*far, x >= -1e3 * unit * (np.arange(n) != 2)])


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_problems_without_a_minimum_end_as_such(kind, seed, unit) -> None:
    problem = unbounded(kind, seed, unit)
    oracle = ConicOracle.from_cvxpy(problem)
    result = minimize(oracle)
    assert result.status is Status.UNBOUNDED, result.message
    assert not result.success
    assert (result.lower_bound, result.gap, result.relative_gap) == (-np.inf, np.inf, np.inf)
    assert result.bound == (np.inf if kind == "equations" else -np.inf)
    assert np.isfinite(result.upper_bound)
    assert oracle._separate(result.point) is None
    assert "The minimum is -inf" in result.message
    assert "by " in result.message
    with pytest.raises(InvalidCertificate, match="The minimum is -inf"):
        result.certificate()
    problem.solve(solver=cp.HIGHS if kind in ("linear", "equations") else cp.CLARABEL)
    assert "unbounded" in problem.status


def bounded(kind: str, seed: int) -> cp.Problem:
    """The same, but for a constraint that ends the fall far away, or a curvature that does."""
    rng = np.random.default_rng(seed)
    problem, tiny = unbounded(kind, seed), float(10.0 ** rng.integers(-12, -3))
    f = problem.objective.args[0]
    if kind == "quadratic" or seed % 2:
        sign = 1 if isinstance(problem.objective, cp.Minimize) else -1
        bent = sum(cp.sum_squares(variable) for variable in problem.variables())
        return cp.Problem(type(problem.objective)(f + sign * tiny * bent), problem.constraints)
    end = f <= 1 / tiny if isinstance(problem.objective, cp.Maximize) else f >= -1 / tiny
    return cp.Problem(problem.objective, [*problem.constraints, end])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_problems_that_fall_far_are_not_said_to_fall_without_end(kind, seed) -> None:
    result = minimize(ConicOracle.from_cvxpy(bounded(kind, seed)), max_calls=5)
    assert result.status is not Status.UNBOUNDED


@pytest.mark.parametrize("share", [1e-13, 1e-11, 1e-9, 1e-7])
def test_rows_that_close_slowly_leave_no_direction(share) -> None:
    """In exact arithmetic x = y (1 + share), and both end where they are about 1 / share."""
    x, y = cp.Variable(2)
    tight = [x <= y, (1 + share) * y <= x + 1]
    for rows in (tight, [cp.SOC(y, cp.vstack([x])), tight[1]], [cp.bmat([[y, x], [x, y]]) >> 0, tight[1]]):
        assert minimize(ConicOracle.from_cvxpy(cp.Problem(cp.Maximize(x), rows)), max_calls=5).status is not (
            Status.UNBOUNDED
        )


def test_without_a_feasible_point_nothing_is_said_of_a_direction() -> None:
    x = cp.Variable(3)
    for rows in ([x[1] >= 1, x[1] <= 0], [cp.norm(x[1:]) <= -1], [x[1] + x[2] == 1, x[1:] <= 0.4]):
        result = minimize(ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(x[0]), rows)), max_calls=20)
        assert result.status in (Status.EMPTY, Status.MAX_CALLS)
        assert result.point is None


def test_a_generator_or_a_domain_of_ones_own_is_told_nothing() -> None:
    problem = unbounded("linear", 0)
    n = problem.variables()[0].size
    assert minimize(ConicOracle.from_cvxpy(problem), Kelley(), max_calls=3).status is not Status.UNBOUNDED
    assert minimize(ConicOracle.from_cvxpy(problem, domain=Box(-np.ones(n), np.ones(n)))).status is Status.CONVERGED


OFF = 1e-12
# A cone, and vectors beside its surface: those in it, those that miss it by little
BESIDE = [
    (Zero(2), [[0, 0]], [[0, OFF]]),
    (Nonnegative(3), [[1, 0, 2], [0, 0, OFF]], [[1, -OFF, 2]]),
    (SecondOrder(3), [[5, 3, 4], [1, 0, 0]], [[5 - OFF, 3, 4], [-1, 0, 0]]),
    (
        PositiveSemidefinite(2),
        [[1, np.sqrt(2) * (1 - 1e-9), 1], [0, 0, 1]],
        [[1, np.sqrt(2) * (1 + OFF), 1], [0, OFF, 1]],
    ),
    (Exponential(), [[1, 1, np.e * (1 + OFF)], [-1, 0, 0]], [[1, 1, np.e * (1 - OFF)], [OFF, 0, 1], [-1, -OFF, 1]]),
]


@pytest.mark.parametrize(("cone", "inside", "outside"), BESIDE, ids=str)
def test_a_direction_is_proven_up_to_the_surface_of_a_cone_and_not_beyond(cone, inside, outside) -> None:
    for vectors, proven in ((inside, True), (outside, False)):
        for v in vectors:
            for unit in (1e-6, 1.0, 1e6):
                A = -np.array(v, dtype=float)[:, None]
                recession = ConicProblem([-unit], A, np.zeros(len(A)), [cone])
                assert (proven_ray(recession, np.array([3.0])) is not None) == proven, (v, unit)
                assert proven_ray(recession, np.array([-3.0])) is None
