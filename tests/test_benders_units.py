"""Finite bounds of x count in all units; the radius stands in for infinite ones alone, and is told where it matters."""

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import InvalidArgument, Polyhedron, minimize
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem


def program(rng, unit, **changes):
    """Orders x in a unit, demands in two to four scenarios, what lacks is bought dearly; and the minimum by HiGHS."""
    n, count = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    c, demand, price = rng.uniform(1, 3, n), rng.uniform(2, 30, (count, n)), rng.uniform(4, 9, n)
    upper, shared, p = rng.uniform(1, 20, n), rng.uniform(5, 30), rng.dirichlet(np.ones(count))
    block = RandomBlock(p, rows=np.arange(n), rhs=demand * unit)
    first = {"A": np.ones((1, n)), "first_lower": -np.inf, "first_upper": shared * unit, "x_upper": upper * unit}
    problem = TwoStageProblem(
        c / unit, price / unit, np.eye(n), np.eye(n), np.zeros(n), np.inf, [block], **(first | changes)
    )
    cost = np.r_[c, *(share * price for share in p)]
    rows = np.hstack([np.tile(-np.eye(n), (count, 1)), -np.eye(n * count)])
    rows = np.vstack([rows, np.r_[np.ones(n), np.zeros(n * count)]])
    bounds = [*((0, u) for u in upper), *[(0, None)] * (n * count)]
    return problem, linprog(cost, rows, np.r_[-demand.ravel(), shared], bounds=bounds).fun


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e5, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_the_same_in_all_units(unit, seed):
    problem, minimum = program(np.random.default_rng(seed), unit)
    oracle = BendersOracle(problem)
    result = minimize(oracle, rtol=1e-7)
    assert result.success
    assert result.upper_bound == pytest.approx(minimum, rel=1e-6)
    verdict = result.certificate().verify(oracle)
    assert verdict.lower == pytest.approx(minimum, rel=1e-6)
    assert not verdict.promise
    assert not oracle.domain.promise()


@pytest.mark.parametrize("seed", range(4))
def test_a_finite_bound_is_never_moved(seed):
    rng = np.random.default_rng(seed)
    n = 6
    ends = np.sort(rng.normal(size=(2, n)) * 10.0 ** rng.uniform(-2, 9, n), axis=0)
    ends[1] += 1e-9 * np.abs(ends[1])
    ends[0][rng.random(n) < 0.3], ends[1][rng.random(n) < 0.3] = -np.inf, np.inf
    problem = TwoStageProblem(np.ones(n), [1.0], np.zeros((1, n)), [[1.0]], 0.0, 1.0, x_lower=ends[0], x_upper=ends[1])
    domain = BendersOracle(problem).domain
    finite = np.isfinite(ends)
    found = np.array([domain.lower, domain.upper])
    assert (found[finite] == ends[finite]).all()
    # what stands in is at least the radius away from 0, and from the other bound
    assert (np.abs(found[~finite]) >= 1e6).all()
    assert (found[1] - found[0] >= 1e6)[~finite.all(axis=0)].all()
    assert (np.abs(domain.interior_point()) < 1e11).all()


def test_a_minimizer_beyond_the_radius_is_told():
    def run(**more):
        problem = TwoStageProblem([2e-6], [50e-6], [[1.0]], [[1.0]], [9e6], np.inf, **more)
        return minimize(BendersOracle(problem), rtol=1e-6)

    outside = run()
    assert not outside.success
    assert "where the bound 1e+06 is only promised" in outside.warnings[0]
    assert run(x_lower=2e6).warnings  # 5e6 are promised: the radius beyond twice the lower bound
    for more in ({"x_lower": 6e6}, {"x_upper": 50e6}, {"A": [[3.0]], "first_upper": 120e6, "first_lower": -np.inf}):
        found = run(**more)
        assert found.success
        assert found.upper_bound == pytest.approx(18.0, rel=1e-5)


def test_rows_bound_what_the_bounds_do_not():
    """Where rows and other bounds imply a bound it is none of the radius, and nothing is promised of it."""
    rows = {"A": [[1.0, 1.0], [0.0, -1.0]], "first_lower": [5e7, -np.inf], "first_upper": [5e7, -2e7]}
    problem = TwoStageProblem([1.0, 2.0], [1.0], [[0.0, 0.0]], [[1.0]], 0.0, 1.0, **rows)
    oracle = BendersOracle(problem)
    assert not oracle.domain.promise()
    result = minimize(oracle, rtol=1e-6)
    assert result.success
    assert result.upper_bound == pytest.approx(7e7, rel=1e-6)
    assert result.point == pytest.approx([3e7, 2e7], rel=1e-5)


def test_a_first_stage_beyond_the_radius_names_it():
    problem = TwoStageProblem(
        [1.0], [1.0], [[1.0]], [[1.0]], 1.0, np.inf, A=[[1.0]], first_lower=3e6, first_upper=np.inf
    )
    assert minimize(BendersOracle(problem), rtol=1e-6).upper_bound == pytest.approx(3e6)  # the row is a lower bound
    far = {"A": [[1.0, -1.0]], "first_lower": 3e6, "first_upper": np.inf, "x_lower": -np.inf}
    problem = TwoStageProblem([1.0, 1.0], [1.0], [[1.0, 0.0]], [[1.0]], 1.0, np.inf, **far)
    with pytest.raises(InvalidArgument, match=r"a larger `radius` than 1e\+06, which stands in for infinite bounds"):
        BendersOracle(problem)
    assert BendersOracle(problem, radius=1e7).domain.contains(np.array([2e6, -1e6]))


@pytest.mark.parametrize("seed", range(5))
def test_entries_below_a_billionth_are_entries(seed):
    """HiGHS drops entries below 1e-9 by default: here they are the row."""
    rng = np.random.default_rng(seed)
    row = rng.uniform(1, 9, 3) * 10.0 ** rng.uniform(-11, -9.5, 3)
    least = -Polyhedron([row], [1.0], lower=0.0, upper=1e12).minimize_linear(np.array([-1.0, 0.0, 0.0]))[0]
    assert least == pytest.approx(1.0 / row[0], rel=1e-6)
