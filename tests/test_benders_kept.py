"""What is kept from query to query spoils no answer, and what cannot be answered is told by its names."""

import numpy as np
import pytest
from test_benders_pool import distinct, truth

from oracle_opt import Query, Status, minimize
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import scenario_solvers
from oracle_opt.oracles.benders.recourse import Solved
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
