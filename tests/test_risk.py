"""CVaR of the second stage, against HiGHS on the extensive form and against the costs of the scenarios themselves."""

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import InvalidArgument, minimize
from oracle_opt.oracles import BendersOracle, CVaR, RandomBlock, TwoStageProblem


def drawn(rng, n_scenarios=8, costs=True):
    """Demands, prices of what is bought late, and spoilage are random."""
    p = rng.dirichlet(np.ones(n_scenarios))
    demand, price = rng.uniform(1, 4, (n_scenarios, 2)), rng.uniform(3, 6, (n_scenarios, 2))
    spoiled = rng.uniform(0.5, 1.0, (n_scenarios, 2))
    varied = {"cost_columns": [0, 1], "cost": price} if costs else {}
    block = RandomBlock(p, [0, 1], demand, technology_entries=[[0, 0], [1, 1]], technology=spoiled, **varied)
    c, q = rng.uniform(1, 2, 2), price[0]
    price = price if costs else np.tile(q, (n_scenarios, 1))
    problem = TwoStageProblem(c, q, np.eye(2), np.eye(2), [0, 0], np.inf, [block], x_upper=9)
    return problem, c, p, demand, price, spoiled


def whole(c, p, demand, price, spoiled, level, weight):
    """x, t, y_s and v_s together."""
    s = len(p)
    cost = np.r_[c, weight, ((1 - weight) * p[:, None] * price).ravel(), weight / (1 - level) * p]
    rows, sides = [], []
    for i in range(s):
        for j in range(2):
            row = np.zeros(3 + 3 * s)
            row[j], row[3 + 2 * i + j] = -spoiled[i, j], -1.0
            rows.append(row)
            sides.append(-demand[i, j])
        row = np.zeros(3 + 3 * s)
        row[2], row[3 + 2 * s + i] = -1.0, -1.0
        row[3 + 2 * i : 5 + 2 * i] = price[i]
        rows.append(row)
        sides.append(0.0)
    bounds = [(0, 9), (0, 9), (None, None), *[(0, None)] * (3 * s)]
    return linprog(cost, np.array(rows), sides, bounds=bounds).fun


@pytest.mark.parametrize("costs", [False, True], ids=["costs are known", "costs vary"])
@pytest.mark.parametrize(("level", "weight"), [(0.5, 1.0), (0.8, 0.5), (0.95, 0.1)])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_the_extensive_form(seed, level, weight, costs):
    problem, *data = drawn(np.random.default_rng(seed), costs=costs)
    oracle = BendersOracle(problem, risk=CVaR(level, weight))
    result = minimize(oracle, rtol=1e-8)
    assert result.success
    assert result.upper_bound == pytest.approx(whole(*data, level, weight), rel=1e-7)
    result.certificate().verify(oracle)


@pytest.mark.parametrize("generator", [None, "kelley", "analytic-center"])
def test_it_is_the_mean_of_the_worst_scenarios(generator):
    """With equal chances and a level that cuts between scenarios."""
    rng = np.random.default_rng(5)
    problem, c, _, demand, price, spoiled = drawn(rng, 10)
    equal = RandomBlock(
        np.full(10, 0.1), [0, 1], demand, [0, 1], price, technology_entries=[[0, 0], [1, 1]], technology=spoiled
    )
    problem.blocks = (equal,)
    result = minimize(BendersOracle(problem, risk=CVaR(0.7)), generator, rtol=1e-7)
    x = result.point[:2]
    costs = np.sort((price * np.maximum(demand - spoiled * x, 0.0)).sum(axis=1))
    assert result.upper_bound == pytest.approx(c @ x + costs[-3:].mean(), rel=1e-5)


def test_of_a_maximization_the_worst_profits_count():
    demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [demand], x_upper=10, maximize=True)
    result = minimize(BendersOracle(shop, risk=CVaR(0.5)))
    assert result.value == pytest.approx(4.0)
    assert result.point[0] == pytest.approx(2.0)


def test_numbers_and_blocks_that_do_not_fit_are_refused():
    for level in (0.0, 1.0, -1.0):
        with pytest.raises(InvalidArgument, match="`level`"):
            CVaR(level)
    for weight in (0.0, 1.1):
        with pytest.raises(InvalidArgument, match="`weight`"):
            CVaR(0.9, weight)
    problem, *_ = drawn(np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="`risk` must be a measure of risk such as CVaR"):
        BendersOracle(problem, risk=0.9)
    cut = TwoStageProblem([1], [1, 1], [[1], [1]], np.eye(2), 0, np.inf, sections=[0, 1])
    with pytest.raises(InvalidArgument, match="`risk` needs a second stage that is not cut into blocks"):
        BendersOracle(cut, risk=CVaR(0.9))
