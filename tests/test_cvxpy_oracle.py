"""Value functions of cvxpy problems against direct solves."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, ObjectiveCut, Query, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import CvxpyOracle


def direct(problem, parameters, point):
    """Value of the user's own problem, parameters set by hand; infinite if infeasible."""
    pieces = np.split(np.asarray(point, dtype=float), np.cumsum([p.size for p in parameters])[:-1])
    for parameter, piece in zip(parameters, pieces, strict=True):
        parameter.value = piece.reshape(parameter.shape)
    problem.solve(solver=cp.CLARABEL)
    return np.inf if problem.status == "infeasible" else problem.value


def projection():
    """Distance of a matrix of parameters to a simplex, by rows, plus a linear term."""
    x, p = cp.Variable((2, 3), name="x"), cp.Parameter((2, 3), name="p")
    rng = np.random.default_rng(1)
    c = rng.normal(size=(2, 3))
    return cp.Problem(cp.Minimize(cp.sum_squares(x - p) + cp.sum(cp.multiply(c, x))), [x >= 0, cp.sum(x, axis=1) == 1])


def transport():
    """Linear program: supplies are the parameters, demand must be met, else infeasible."""
    rng = np.random.default_rng(2)
    flow, supply, price = cp.Variable((3, 2), name="flow"), cp.Parameter(3, name="supply"), cp.Parameter(3, name="rent")
    price.value = rng.uniform(1, 2, 3)
    cost = cp.sum(cp.multiply(rng.uniform(1, 3, (3, 2)), flow)) + cp.sum_squares(supply - 1) + price.value @ supply
    return cp.Problem(
        cp.Minimize(cost), [flow >= 0, cp.sum(flow, axis=1) <= supply, cp.sum(flow, axis=0) == [1.0, 1.5]]
    )


def entropy():
    """A maximisation with a scalar and a vector parameter, exponential cones, and a domain of its objective."""
    x, budget, shift = cp.Variable(3, name="x"), cp.Parameter(name="budget"), cp.Parameter(3, name="shift")
    value = cp.sum(cp.log(x + shift)) - 0.2 * cp.square(budget)
    return cp.Problem(cp.Maximize(value), [x >= 0, cp.sum(x) <= budget])


CASES = [(projection, 1.0), (transport, 0.3), (entropy, 0.3)]


@pytest.mark.parametrize(("make", "spread"), CASES)
def test_values_slopes_and_half_spaces(make, spread):
    problem = make()
    oracle = CvxpyOracle(problem)
    parameters, sign = problem.parameters(), -1 if make is entropy else 1
    rng = np.random.default_rng(0)
    points = 1.0 + spread * rng.normal(size=(12, oracle.domain.dimension))
    values = [sign * direct(problem, parameters, point) for point in points]
    for point, value in zip(points, values, strict=True):
        cut = oracle.query(Query(point))
        if np.isinf(value):
            assert isinstance(cut, FeasibilityCut)
            assert cut.violation > 0
            continue
        assert isinstance(cut, ObjectiveCut)
        assert cut.value <= value + 1e-8 * abs(value)
        assert value <= cut.upper + 1e-7 * abs(value)
        assert cut.error <= 3e-7 * max(1, abs(value))
        for other, at in zip(points, values, strict=True):
            assert at >= cut.value + cut.subgradient @ (other - point) - 1e-6
    assert any(np.isfinite(values))


def test_half_spaces_hold_every_feasible_point():
    problem = transport()
    oracle = CvxpyOracle(problem)
    supply, rng = problem.parameters()[0], np.random.default_rng(3)
    feasible = rng.uniform(0, 2, (200, 3))
    feasible = feasible[feasible.sum(axis=1) >= 2.5]
    for point in rng.uniform(-2, 1, (8, 3)):
        if point.sum() >= 2.5 and point.min() >= 0:
            continue
        assert direct(problem, [supply], point) == np.inf
        cut = oracle.query(Query(point))
        assert isinstance(cut, FeasibilityCut)
        assert np.linalg.norm(cut.normal) == pytest.approx(1)
        assert (cut.violation + (feasible - point) @ cut.normal <= 0).all()
    # one supply is missing: the nearest feasible one is reached through the half-space
    cut = oracle.query(Query(np.array([-1.0, 2.0, 2.0])))
    np.testing.assert_allclose(cut.normal, [-1, 0, 0], atol=1e-6)
    assert cut.violation == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("generator", [AnalyticCenter(), Kelley(), LevelSet(), ProximalBundle()], ids=repr)
@pytest.mark.parametrize(("make", "box"), [(projection, (-2, 3)), (transport, (0, 3)), (entropy, (0.1, 4))])
def test_minimum_over_the_parameters(make, box, generator):
    problem = make()
    n = sum(p.size for p in problem.parameters())
    oracle = CvxpyOracle(problem, domain=Box(np.full(n, box[0]), np.full(n, box[1])))
    result = minimize(oracle, generator, rtol=1e-5, max_calls=500)
    assert result.success, result.message
    copies = {id(p): cp.Variable(p.shape) for p in problem.parameters()}
    objective = problem.objective.args[0].tree_copy(copies) * (-1 if make is entropy else 1)
    constraints = [constraint.tree_copy(copies) for constraint in problem.constraints]
    constraints += [side for copy in copies.values() for side in (copy >= box[0], copy <= box[1])]
    truth = cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)
    assert result.lower_bound - 1e-6 <= truth <= result.upper_bound + 1e-6
    assert set(result.cut.extras) == {"flow" if make is transport else "x"}
