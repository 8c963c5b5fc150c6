"""No promise unless the user makes one: models in large units, through cvxpy, and no radius that is in the way."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import InvalidArgument, OracleOptError, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley
from oracle_opt.oracles import ConicOracle, Exponential, LagrangianOracle, Nonnegative, RelaxedSolution, Zero
from oracle_opt.study import Study

UNITS = [1e-6, 1e-3, 1.0, 1e3, 1e5, 1e7, 1e9]


def budget(rng, unit):
    """A portfolio: all rows together bound every variable."""
    n = int(rng.integers(3, 9))
    w, F = cp.Variable(n, nonneg=True), rng.normal(size=(3, n))
    return cp.Problem(cp.Maximize(rng.uniform(0.1, 0.3, n) @ w), [cp.sum(w) == unit, cp.norm(F @ w) <= 2 * unit])


def shipping(rng, unit):
    """A transport problem."""
    k = int(rng.integers(2, 4))
    demand = unit * rng.uniform(1, 5, k)
    supply = np.r_[0.4, 0.6] * demand.sum()
    ship = cp.Variable((2, k), nonneg=True)
    rows = [cp.sum(ship, axis=1) == supply, cp.sum(ship, axis=0) == demand]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(rng.uniform(5, 20, (2, k)), ship))), rows)


def places(rng, unit):
    """The point nearest to some places: no row at all."""
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(sum(cp.norm(x - unit * place) for place in rng.uniform(1, 9, (4, 2)))))


def shares(rng, unit):
    """Equal shares, of least norm."""
    x = cp.Variable(int(rng.integers(2, 6)))
    return cp.Problem(cp.Minimize(cp.norm(x)), [cp.sum(x) == unit])


@pytest.mark.campaign(12)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("make", [budget, shipping, places, shares], ids=lambda one: one.__name__)
def test_a_model_in_other_units_has_the_solvers_value(make, unit, seed) -> None:
    model = make(np.random.default_rng(seed), unit)
    right = unit * make(np.random.default_rng(seed), 1.0).solve(
        solver=cp.CLARABEL
    )  # the solver's tolerances are absolute
    oracle = ConicOracle.from_cvxpy(model)
    result = minimize(oracle, max_calls=200)
    assert result.success
    assert result.value == pytest.approx(right, rel=2e-6)
    assert result.certificate().verify(oracle)
    assert result.certificate().verify(ConicOracle.from_cvxpy(model))


def test_a_radius_is_a_promise_where_it_is_stated_alone() -> None:
    x = cp.Variable()
    model = cp.Problem(cp.Minimize(cp.abs(x)), [x >= 20_000])
    assert minimize(ConicOracle.from_cvxpy(model)).upper_bound == pytest.approx(2e4)
    for generator in (None, Kelley(), AnalyticCenter()):
        promised = minimize(ConicOracle.from_cvxpy(model, radius=1e4), generator)
        assert promised.status is Status.EMPTY
        assert "promised" in promised.message
        assert minimize(ConicOracle.from_cvxpy(model), generator, max_calls=100).success
    with pytest.raises(InvalidArgument, match="`radius` must be left out"):
        ConicOracle.from_cvxpy(model, radius=1.0, domain=ConicOracle.from_cvxpy(model).domain)


def test_a_solution_of_0_shrinks_nothing_and_each_run_is_wider() -> None:
    """A cone whose equation holds x at 0: what the solver leaves of 0 is no scale of x."""
    A = np.array([[0, 15.6210069], [0, 0], [0, -7.8105035], [0, 1.2731042], [0, -0.2993844]])
    b = np.array([-5.8204207153070335, 5.01879748737103, 1.573757697676477, 0.3895811959531081, 0.0])
    result = minimize(ConicOracle([0.0, 42.7], A, b, [Exponential(), Nonnegative(1), Zero(1)]))
    assert result.success
    assert result.upper_bound == pytest.approx(0.0, abs=1e-9)
    radii, x = [], cp.Variable(2)
    unbounded = ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(x[0]), [x[1] == 1]))
    told = minimize(unbounded, Kelley(), log=lambda line: radii.append(line) if "at most" in line else None)
    assert not told.success
    assert len(radii) <= 6
    assert "of the calls were on smaller sets" in told.message
    assert told.n_calls > len(told.history)
    assert told.history.call[-1] == told.n_calls
    assert minimize(unbounded, Kelley(), max_calls=told.n_calls - len(told.history)).n_calls <= told.n_calls


def test_an_infeasible_model_is_empty_by_the_multipliers_of_its_solver() -> None:
    x = cp.Variable(3)
    for below in (1.0, 1.7, 1.7320508):  # the distance of the plane is 1.7320508075...
        result = minimize(ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(x[0]), [cp.sum(x) == 3, cp.norm(x) <= below])))
        assert result.status is Status.EMPTY


@pytest.mark.parametrize("radius", [10.0, 1e4, 1e8])
def test_a_dual_that_rises_without_end_says_that_no_solution_may_keep_its_constraints(radius) -> None:
    def relaxed(u):  # min x, x in {0, 1}, x >= 2
        x = float(u[0] > 1)
        return RelaxedSolution(x, [-x])

    result = minimize(LagrangianOracle(relaxed, [-2.0], inequality=True, radius=radius))
    assert not result.success
    assert "no solution keeps the relaxed constraints" in result.message


def test_a_study_has_one_set_for_all_methods(tmp_path) -> None:
    """Which its solver scales: no method's run is followed by another one, and each call counts."""

    def far(seed):
        x = cp.Variable(3)
        return ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(x)), [cp.sum(x) == 3e5]))

    study = Study({"far": far}, {"kelley": Kelley(), "center": AnalyticCenter()}, tau=1e-4, keep_points=True)
    results = study.run(tmp_path, jobs=1, progress=False)
    assert results.runs["status"].tolist() == ["CONVERGED"] * 2
    assert results.runs["n_calls"].tolist() == results.history.groupby("generator", sort=False).size().tolist()
    assert (results.runs["upper_bound"] - 3e5).abs().max() <= 40.0


@pytest.mark.parametrize("top", [1e9, 1e12, 1e15, 1e20])
@pytest.mark.parametrize("kind", ["one bound", "distance", "quadratic", "exponential", "entropy"])
def test_a_bound_in_place_of_infinity_never_makes_a_false_success(kind, top) -> None:
    """The solver's point is far out then, and what its multipliers tolerate there is no rounding of a minimum of 0."""
    x = cp.Variable(2)
    near = np.array([3.0, 4.0])
    objective, least = {
        "one bound": (x[0] + x[1], [x >= [2, 1]]),
        "distance": (cp.norm(x - near) + x[0], [x >= 1]),
        "quadratic": (cp.sum_squares(x - near) + 1e-2 * x[0], [x >= 1]),
        "exponential": (cp.sum(cp.exp(-x)) + cp.sum(x), [x >= -5]),
        "entropy": (-cp.sum(cp.entr(x)) + cp.sum(x), [x >= 0.1]),
    }[kind]
    right = cp.Problem(cp.Minimize(objective), least).solve(solver="CLARABEL")
    bounded = cp.Problem(cp.Minimize(objective), [*least, x <= top])
    try:
        result = minimize(ConicOracle.from_cvxpy(bounded), max_calls=60)
    except OracleOptError:  # such data may be refused in words
        return
    if result.success:
        assert result.upper_bound == pytest.approx(right, rel=1e-5, abs=1e-5)
        assert result.gap <= 1e-5 * max(1.0, abs(right))
