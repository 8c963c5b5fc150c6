"""After a run a cvxpy problem has its values and multipliers, with the signs and shapes of cvxpy's own solvers."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import AnalyticCenter
from oracle_opt.oracles import ConicOracle


def linear(rng):
    x = cp.Variable(5)
    A = rng.normal(size=(8, 5))
    b = A @ rng.normal(size=5) + rng.uniform(0.1, 1.0, 8)
    return cp.Problem(cp.Minimize(-(rng.uniform(0, 1, 8) @ A) @ x), [A @ x <= b, x >= -5, x <= 5])


def turned(rng):
    x = cp.Variable((2, 3))
    A, c = rng.normal(size=(4, 6)), rng.normal(size=(2, 3))
    rows = A @ cp.vec(x, order="F")
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(c, x)) + 3), [rows <= 1, cp.sum(x) == 0.3, cp.abs(x) <= 2])


def quadratic(rng):
    x = cp.Variable(5)
    A, b = rng.normal(size=(8, 5)), rng.normal(size=8)
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [cp.sum(x) == 1, x >= 0])


def second_order(rng):
    x = cp.Variable(4)
    return cp.Problem(cp.Minimize(rng.normal(size=4) @ x), [cp.norm(x) <= 1, x[0] >= 0.1])


def matrices(rng):
    X = cp.Variable((3, 3), symmetric=True)
    C = rng.normal(size=(3, 3))
    return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [X >> 0, cp.trace(X) == 1])


def exponential(rng):
    x = cp.Variable(4)
    return cp.Problem(cp.Minimize(cp.log_sum_exp(rng.normal(size=(7, 4)) @ x)), [cp.sum(x) == 1, x <= 2])


def geometric(rng):
    x = cp.Variable(3, pos=True)
    a, b = rng.uniform(1, 3, 2)
    return cp.Problem(cp.Minimize(a * x[0] * x[1] ** -0.5 + b / x[2]), [x[1] <= 3, x[2] * x[0] <= 4, x[0] >= 0.2])


MODELS = (linear, turned, quadratic, second_order, matrices, exponential, geometric)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_cuts", [False, True], ids=["solver first", "by cuts"])
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_values_and_multipliers_are_those_of_a_solver(make, by_cuts: bool, seed: int) -> None:
    problem, gp = make(np.random.default_rng(seed)), make is geometric
    problem.solve(solver="CLARABEL", gp=gp)
    value, points = problem.value, [variable.value for variable in problem.variables()]
    duals = [constraint.dual_value for constraint in problem.constraints]
    for variable in problem.variables():
        variable.save_value(None)
    oracle = ConicOracle.from_cvxpy(problem, gp=gp)
    result = minimize(oracle, AnalyticCenter(), rtol=1e-7, max_calls=500) if by_cuts else minimize(oracle)
    assert result.success
    assert problem.value == pytest.approx(value, rel=1e-5)
    for variable, point in zip(problem.variables(), points, strict=True):
        assert variable.value == pytest.approx(point, abs=2e-2)
    for constraint, dual in zip(problem.constraints, duals, strict=True):
        for found in (constraint.dual_value, result.value_of(constraint)):
            parts = zip(found, dual, strict=True) if isinstance(dual, list) else [(found, dual)]
            for one, known in parts:
                assert np.shape(one) == np.shape(known)
                assert one == pytest.approx(known, abs=2e-3 * max(1.0, float(np.abs(known).max())))


def test_rows_that_hold_everywhere_have_no_multiplier() -> None:
    x = cp.Variable(2)
    sides = cp.Problem(cp.Minimize(cp.sum(x)), [x >= [-1.0, -2.0], x <= [np.inf, 5.0]])
    assert minimize(ConicOracle.from_cvxpy(sides)).success
    assert sides.constraints[0].dual_value == pytest.approx([1.0, 1.0])
    assert sides.constraints[1].dual_value == pytest.approx([0.0, 0.0], abs=1e-8)


def test_what_has_no_multiplier_is_refused_in_words() -> None:
    x, other = cp.Variable(2), cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= -1])
    result = minimize(ConicOracle.from_cvxpy(problem))
    with pytest.raises(InvalidArgument, match="must be a constraint of the problem that was modeled"):
        result.value_of(other >= 0)
    bare = minimize(ConicOracle.from_problem(ConicOracle.from_cvxpy(problem).problem))
    assert bare.success
    with pytest.raises(InvalidArgument, match=r"needs an oracle made by ConicOracle\.from_cvxpy"):
        bare.value_of(problem.constraints[0])


def test_what_is_not_proven_is_called_inaccurate() -> None:
    problem = second_order(np.random.default_rng(0))
    for calls, status in ((12, "optimal_inaccurate"), (500, "optimal")):
        result = minimize(ConicOracle.from_cvxpy(problem), AnalyticCenter(), rtol=1e-7, max_calls=calls)
        assert result.point is not None
        assert result.success == (status == "optimal")
        assert problem.status == status


def test_an_oracle_that_fails_at_the_end_loses_no_result(monkeypatch) -> None:
    def broken(self, result):
        raise ZeroDivisionError

    monkeypatch.setattr(ConicOracle, "ended", broken)
    with pytest.raises(ZeroDivisionError) as caught:
        minimize(ConicOracle.from_cvxpy(second_order(np.random.default_rng(0))))
    assert caught.value.result.success


def test_geometric_programs_are_named_and_others_refused_as_such() -> None:
    x = cp.Variable(pos=True)
    with pytest.raises(InvalidArgument, match=r"pass gp=True"):
        ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(x * x**0.5), [x >= 2]))
    y = cp.Variable()
    with pytest.raises(InvalidArgument, match=r"must be geometric by cvxpy's rules \(DGP\)"):
        ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(y), [y >= -1]), gp=True)


def test_other_values_of_the_problem_stay_where_a_multiplier_is_asked_for() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= -1])
    result = minimize(ConicOracle.from_cvxpy(problem))
    problem.constraints[0].save_dual_value(np.array([7.0, 8.0]))
    assert result.value_of(problem.constraints[0]) == pytest.approx([1.0, 1.0])
    assert problem.constraints[0].dual_value.tolist() == [7.0, 8.0]
