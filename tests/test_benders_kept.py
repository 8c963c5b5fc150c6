"""What is kept from query to query spoils no answer, and what cannot be answered is told by its names."""

import numpy as np
import pytest
from test_benders_pool import changed, distinct, truth

from oracle_opt import Query, Status, minimize
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import scenario_solvers
from oracle_opt.oracles.benders.recourse import DualVertex, Solved
from oracle_opt.oracles.benders.vertices import LOWER, UPPER


def server_location(seed, sites=10, customers=30, count=10):
    """Servers that customers are sent to, who come or not; what is beyond a site's capacity costs 1000 a unit."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 26, (customers, sites)).astype(float)
    load = np.hstack([np.diag(each) for each in demand])
    W = np.block([[load, -np.eye(sites)], [np.kron(np.eye(customers), np.ones(sites)), np.zeros((customers, sites))]])
    T = np.vstack([-188.0 * np.eye(sites), np.zeros((customers, sites))])
    come = rng.integers(0, 2, (count, customers)).astype(float)
    lower, upper = np.r_[np.full(sites, -np.inf), np.zeros(customers)], np.zeros(sites + customers)
    return TwoStageProblem(
        rng.integers(40, 81, sites).astype(float), np.r_[-demand.ravel(), np.full(sites, 1000.0)], T, W, lower, upper,
        [RandomBlock(np.full(count, 1.0 / count), rows=np.arange(sites, sites + customers), rhs=come)],
        x_upper=1.0, y_upper=np.r_[np.ones(customers * sites), np.full(sites, np.inf)],
    )  # fmt: skip


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_steps_end_at_bases_that_are_dual_feasible(seed, monkeypatch):
    """In degenerate programs, most reduced costs of which are 0; and no answer of the run is loose."""
    oracle = BendersOracle(server_location(seed))
    steps, checked = scenario_solvers.optimal_bases, 0

    def recorded(form, begun, which, cost, values, lower, upper):
        nonlocal checked
        done, basic, at = steps(form, begun, which, cost, values, lower, upper)
        whole = np.r_[cost[0], np.zeros(form.shape[0])]
        for one, where in zip(basic, at, strict=True):
            pi = np.linalg.solve(form.columns[one], whole[one])
            reduced, size = whole - form.columns @ pi, np.abs(whole) + np.abs(form.columns) @ np.abs(pi)
            wrong = np.where(where == LOWER, -reduced, np.where(where == UPPER, reduced, np.abs(reduced)))
            assert (wrong <= 1e-6 * (1.0 + size))[~form.fixed].all()
            checked += 1
        return done, basic, at

    monkeypatch.setattr(scenario_solvers, "optimal_bases", recorded)
    result = minimize(oracle, Kelley(), rtol=1e-6, max_calls=60, keep_cuts=True)
    assert result.status is Status.CONVERGED
    assert checked > 100
    for cut in result.history.cuts:
        assert cut.error <= 1e-6 * abs(cut.value)


@pytest.mark.parametrize("vary", [("rhs",), ("rhs", "technology"), ("rhs", "cost"), ("recourse",)], ids="+".join)
def test_kept_bases_that_are_not_dual_feasible_spoil_no_answer(vary):
    """Bases that are optimal for other costs are feasible for the same sides: each scenario is solved anew."""
    problem = distinct(1, vary)
    oracle, rng = BendersOracle(problem), np.random.default_rng(1)
    stage, server, x = oracle._stage, oracle._server, rng.uniform(problem.x_lower, problem.x_upper)
    members = np.arange(len(stage.probability))
    moved = stage.frame.moved(x, stage.outcomes)
    costs, values, program = stage.costs(members), stage.entries(members), stage.program()
    spoilt = 0
    for i in members:
        cost, mine = costs[i % len(costs)][None], None if values is None else values[[i]]
        other = cost[0] * rng.uniform(0.2, 5.0, cost.size)
        sides = stage.problem.row_lower + moved[i], stage.problem.row_upper + moved[i]
        assert isinstance(program.solve(other, None if mine is None else mine[0], *sides), Solved)
        basic, at = program.basis()
        found, good = stage.vertices(basic[None], at[None], cost, mine)
        if good[0]:
            spoilt += 1
            if problem.only_rows_vary:
                server.pool.add(found)
            else:
                found.row = server._duals.add(found.multipliers)
                server._own.put(np.array([i]), found)
                server._known[i] = True
    assert spoilt > 5
    kept, fresh = oracle.query(Query(x)), BendersOracle(problem).query(Query(x))
    assert fresh.value <= truth(problem, x) + 1e-8 * (1.0 + abs(fresh.value))
    assert kept.value == pytest.approx(fresh.value, rel=1e-6)
    assert kept.error <= 1e-6 * (1.0 + abs(fresh.value))


@pytest.mark.parametrize(("dear", "seed"), [(1e6, 2), (1e6, 3), (1e8, 1), (1e8, 2), (1e8, 3)])
def test_costs_beside_a_dear_one_are_told_apart(dear, seed):
    """A variable in no row, or in one where others are cheaper, is never used: the truth is that without it."""
    rng = np.random.default_rng(seed)
    m, k, count = 3, 6, 20
    T, W = rng.uniform(0, 2, (m, 2)), rng.uniform(0, 2, (m, k)) * (rng.random((m, k)) < 0.6) + np.eye(m, k)
    block = RandomBlock(np.full(count, 1.0 / count), rows=np.arange(m), rhs=rng.uniform(1, 9, (count, m)))
    cheap = TwoStageProblem([0.1, 0.1], rng.uniform(1, 3, k), T, W, np.zeros(m), np.inf, [block], x_upper=1.0)
    entries = np.r_[seed % 2 * rng.uniform(0.5, 2.0), np.zeros(m - 1)]
    oracle = BendersOracle(changed(cheap, q=np.r_[cheap.q, dear], W=np.c_[W, entries], y_lower=0.0, y_upper=np.inf))
    for x in rng.uniform(0, 1, (3, 2)):
        cut, value = oracle.query(Query(x)), truth(cheap, x)
        assert cut.value <= value * (1.0 + 1e-9) <= cut.value + cut.error + 2e-9 * value
        assert cut.error <= 1e-6 * value


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_far_from_feasible_prove_something(seed):
    """They are moved to where no variable draws the cost to its end: what they prove is true, and finite."""
    problem = distinct(seed, ("rhs",))
    stage, rng = BendersOracle(problem)._stage, np.random.default_rng(seed)
    cost = stage.costs(np.arange(1))
    far = stage.form.cleaned(rng.normal(size=(50, stage.form.shape[0])) * 10.0 ** rng.uniform(-3, 6, (50, 1)))
    pi, constant = stage.form.minorants(far, cost, None, stage.interiors(cost, None))
    assert np.isfinite(constant).all()
    x = rng.uniform(problem.x_lower, problem.x_upper)
    moved = stage.frame.moved(x, stage.outcomes)
    lower, upper = stage.problem.row_lower + moved, stage.problem.row_upper + moved
    said = max(DualVertex(*one).values(lower, upper) @ stage.probability for one in zip(pi, constant, strict=True))
    assert problem.c @ x + said <= truth(problem, x) + 1e-9
