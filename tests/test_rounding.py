"""Averaged and rounded solutions of the shipped relaxations, each checked from its arrays, against HiGHS."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import LevelSet, ProximalBundle
from oracle_opt.oracles import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, LightCuts, MulticommodityFlowOracle
from oracle_opt.problems.random_facilities import relaxed_cost


def solved(oracle, generator=None, rtol=1e-7, max_calls=1000):
    """Result of a run, and the average of what it kept."""
    light = LightCuts()
    result = minimize(oracle, generator or LevelSet(), rtol=rtol, max_calls=max_calls, callback=light)
    return result, oracle.recover(light.cuts)


def check_gap(rounded, oracle, result, optimum):
    """No solution is better than the optimum, and the stated gap covers the distance to it."""
    sense = -1.0 if oracle.maximize else 1.0
    assert rounded.feasible
    assert sense * (rounded.cost - optimum) >= -1e-9 * abs(optimum)
    assert sense * (optimum - rounded.bound) >= -1e-9 * abs(optimum)
    assert rounded.bound == oracle.dual_bound(result)
    assert rounded.gap == pytest.approx(abs(rounded.cost - rounded.bound) / abs(rounded.cost))


# Facility location


@pytest.mark.parametrize("multicut", [False, True])
def test_facilities(multicut):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        m, n = int(rng.integers(1, 9)), int(rng.integers(1, 15))
        opening, costs = rng.integers(0, 40, m).astype(float), rng.integers(0, 30, (m, n)).astype(float)
        oracle = FacilityLocationOracle(opening, costs, multicut=multicut)
        result, primal = solved(oracle)
        share, opened = primal.arrays["shares"], primal.arrays["open"]
        relaxed = relaxed_cost(opening, costs)[0]
        assert (share <= opened[:, None] + 1e-12).all()
        np.testing.assert_allclose(share.sum(axis=0), 1.0, atol=1e-6)
        assert opening @ opened + (costs * share).sum() == pytest.approx(primal.cost, rel=1e-12, abs=1e-12)
        assert primal.cost == pytest.approx(relaxed, rel=1e-5, abs=1e-5)
        best = min(
            opening[list(some)].sum() + costs[list(some)].min(axis=0).sum()
            for size in range(1, m + 1)
            for some in itertools.combinations(range(m), size)
        )
        for rounded in (oracle.round(result), oracle.round(result, primal)):
            is_open, server = rounded.arrays["open"], rounded.arrays["facility_of"]
            assert is_open[server].all()
            assert rounded.cost == opening[is_open].sum() + costs[server, np.arange(n)].sum()
            check_gap(rounded, oracle, result, best)


def test_facilities_cannot_be_improved_by_one():
    rng = np.random.default_rng(5)
    opening, costs = rng.uniform(5, 20, 30), rng.uniform(1, 10, (30, 60))
    oracle = FacilityLocationOracle(opening, costs)
    result = minimize(oracle, ProximalBundle(), max_calls=20)
    rounded = oracle.round(result)
    is_open = rounded.arrays["open"]
    for i, r in itertools.product(range(30), repeat=2):
        other = is_open.copy()
        other[i] ^= True
        other[r] ^= i != r and is_open[r] != is_open[i]
        if other.any():
            assert opening[other].sum() + costs[other].min(axis=0).sum() >= rounded.cost * (1 - 1e-12)
    assert rounded.gap < 0.05


# Generalized assignment


def random_assignment(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 6)), int(rng.integers(3, 16))
    costs, uses = rng.integers(5, 40, (m, n)).astype(float), rng.integers(1, 15, (m, n))
    return costs, uses, np.maximum(np.ceil(0.9 * uses.sum(axis=1) / m), uses.max(axis=1)).astype(int)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("maximize", [False, True])
def test_assignments(maximize):
    for seed in range(12):
        costs, uses, capacities = random_assignment(seed)
        if seed == 11:
            capacities = uses.max(axis=1)  # hardly a solution, or none
        oracle = GeneralizedAssignmentOracle(costs, uses, capacities, maximize=maximize, multicut=seed % 2 == 0)
        primal = solved(oracle, max_calls=60)[1]
        shares = primal.arrays["shares"]
        assert (shares * costs).sum() == pytest.approx(primal.cost)
        assert ((shares * uses).sum(axis=1) <= capacities + 1e-9).all()


# Tours


def test_tours():
    for seed, n in enumerate((3, 4, 5, 6, 7, 8, 8)):
        rng = np.random.default_rng(seed)
        d = rng.integers(-5 if seed == 6 else 1, 30, (n, n)).astype(float)
        d = np.triu(d, 1) + np.triu(d, 1).T
        oracle = HeldKarpOracle(d, special=n - 1)
        result, primal = solved(oracle)
        edges = primal.arrays["edges"]
        np.testing.assert_array_equal(edges, edges.T)
        np.testing.assert_allclose(edges.sum(axis=1), 2.0, atol=1e-6)
        assert (edges * d).sum() / 2 == pytest.approx(primal.cost)
        tours = np.array([(0, *rest) for rest in itertools.permutations(range(1, n))])
        best = d[tours, np.roll(tours, -1, axis=1)].sum(axis=1).min()
        assert oracle.dual_bound(result) <= best * (1 + 1e-12)


# Flows


def random_network(seed):
    """A ring with chords, whose capacities a flow of unit paths keeps, and some commodities."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    ring = np.array([[i, (i + 1) % n] for i in range(n)])
    arcs = np.vstack([ring, ring[:, ::-1], rng.integers(0, n, (n, 2))])
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    pairs = rng.integers(0, n, (6, 2))
    pairs = np.vstack([pairs[pairs[:, 0] != pairs[:, 1]], [[0, n - 1]]])
    demands = rng.integers(1, 10, len(pairs)).astype(float)
    capacities = np.where(rng.uniform(size=len(arcs)) < 0.2, np.inf, rng.integers(3, 25, len(arcs)))
    capacities[0] = 5.0
    return arcs, rng.integers(0, 20, len(arcs)).astype(float), capacities, pairs, demands


def flow_program(arcs, costs, capacities, pairs, demands):
    """The linear program with a flow of each commodity on each arc."""
    n, a, k = 1 + arcs.max(), len(arcs), len(pairs)
    incidence = np.zeros((n, a))
    np.add.at(incidence, (arcs[:, 0], np.arange(a)), 1.0)
    np.add.at(incidence, (arcs[:, 1], np.arange(a)), -1.0)
    supply = np.zeros((k, n))
    supply[np.arange(k), pairs[:, 0]] += demands
    supply[np.arange(k), pairs[:, 1]] -= demands
    limited = np.isfinite(capacities)
    done = linprog(
        np.tile(costs, k),
        A_ub=np.tile(np.eye(a)[limited], k),
        b_ub=capacities[limited],
        A_eq=np.kron(np.eye(k), incidence),
        b_eq=supply.ravel(),
    )
    return incidence, supply, (done.fun if done.status == 0 else None)


@pytest.mark.parametrize("multicut", [False, True])
def test_flows(multicut):
    possible = 0
    for seed in range(10):
        data = random_network(seed)
        _, costs, capacities, _, demands = data
        incidence, supply, best = flow_program(*data)
        oracle = MulticommodityFlowOracle(*data, multicut=multicut)
        primal = solved(oracle, ProximalBundle(), max_calls=200)[1]
        flows = primal.arrays["flows"].toarray()
        np.testing.assert_allclose(flows @ incidence.T, supply, atol=1e-9 * demands.sum())
        assert (flows @ costs).sum() == pytest.approx(primal.cost, abs=1e-9)
        if best is None:
            continue
        possible += 1
        assert (flows.sum(axis=0) <= capacities + 1e-5).all()
        assert primal.cost == pytest.approx(best, rel=1e-5)
    assert possible >= 4


# All


def test_light_cuts_hold_no_solutions_and_average_to_the_same():
    rng = np.random.default_rng(0)
    oracle = FacilityLocationOracle(rng.uniform(5, 20, 8), rng.uniform(1, 10, (8, 12)), multicut=True)
    light = LightCuts()
    result = minimize(oracle, LevelSet(), callback=light, keep_cuts=True)
    assert len(light.cuts) == result.n_calls
    assert "solution" not in light.cuts[0].summands[0].extras
    assert "solution" in result.history.cuts[0].summands[0].extras
    thin, full = oracle.recover(light.cuts), oracle.recover(result.history.cuts)
    assert not thin.solutions
    assert thin.cost == full.cost
    np.testing.assert_array_equal(thin.weights, full.weights)
    np.testing.assert_array_equal(thin.arrays["shares"], full.arrays["shares"])
    np.testing.assert_allclose(full.solutions, full.arrays["shares"], atol=1e-15)


def test_a_result_of_another_problem_is_refused():
    oracle = FacilityLocationOracle([2, 2], [[1, 1, 5], [5, 2, 1]])
    other = minimize(FacilityLocationOracle([2, 2], [[1, 1], [5, 2]]), LevelSet())
    with pytest.raises(InvalidArgument, match="`result` must be of a run on this oracle, with 3 multipliers"):
        oracle.round(other)
