"""The shipped Lagrangian relaxations against HiGHS and published bounds."""

import gzip
import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.spatial.distance import squareform

from oracle_opt import InvalidArgument, InvalidData, Query, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, MulticommodityFlowOracle
from oracle_opt.oracles.lagrangian.generalized_assignment import best_choices
from oracle_opt.testing import check_oracle

# Generalized assignment


def assignment_data(seed, m=3, n=6):
    rng = np.random.default_rng(seed)
    costs, uses = rng.integers(5, 30, (m, n)), rng.integers(1, 9, (m, n))
    return costs, uses, np.ceil(0.9 * uses.sum(axis=1) / m + 3).astype(int)


def column_bound(costs, uses, capacities, maximize):
    """The linear program over all feasible sets of jobs of all agents; None if it is infeasible."""
    m, n = costs.shape
    sign = -1 if maximize else 1
    columns, prices = [], []
    for i in range(m):
        for jobs in itertools.product((0, 1), repeat=n):
            if uses[i] @ jobs <= capacities[i]:
                columns.append(np.r_[jobs, np.eye(m)[i]])
                prices.append(sign * costs[i] @ jobs)
    done = linprog(prices, A_eq=np.array(columns).T, b_eq=np.ones(n + m))
    return sign * done.fun if done.status == 0 else None


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("multicut", [False, True])
def test_assignment_bound_is_that_of_all_columns(maximize, multicut):
    solved = 0
    for seed in range(4):
        data = assignment_data(seed)
        bound = column_bound(*data, maximize)
        if bound is None:
            continue
        solved += 1
        oracle = GeneralizedAssignmentOracle(*data, maximize=maximize, multicut=multicut)
        result = minimize(oracle, LevelSet(), rtol=1e-8, keep_cuts=True)
        assert oracle.dual_bound(result) == pytest.approx(bound, rel=1e-7)
        primal = oracle.recover(result.history.cuts)
        assert primal.violation <= 1e-6
        assert primal.cost == pytest.approx(bound, rel=1e-5)
        assert np.shape(primal.solutions) == ((3, 6) if multicut else (1, 3, 6))
    assert solved >= 3


def test_knapsacks_are_exact():
    rng = np.random.default_rng(0)
    for _ in range(5):
        costs, uses, capacities = assignment_data(int(rng.integers(100)), 3, 10)
        uses[0, 0] = 0
        oracle = GeneralizedAssignmentOracle(costs, uses, capacities, multicut=True)
        u = rng.normal(-15, 8, 10)
        for i, part in enumerate(oracle.query(Query(u)).summands):
            done = milp(
                costs[i] + u, constraints=LinearConstraint(uses[i], ub=capacities[i]), integrality=1, bounds=(0, 1)
            )
            chosen = part.extras["solution"]
            assert chosen @ uses[i] <= capacities[i]
            assert (costs[i] + u) @ chosen == pytest.approx(done.fun)
            assert part.extras["cost"] == costs[i] @ chosen


@pytest.mark.parametrize("maximize", [False, True])
def test_jobs_that_fill_an_agent_exactly_are_not_lost(maximize):
    """Small capacities, where the best choice often leaves nothing over, one job that fills an agent alone among it."""
    rng, filled, alone = np.random.default_rng(7), 0, 0
    choices = np.array(list(itertools.product((0, 1), repeat=5)))
    for _ in range(40):
        uses, capacities = rng.integers(0, 6, (2, 5)), rng.integers(3, 6, 2)
        costs = rng.normal(size=(2, 5)).round(1)
        uses[:, 0] = np.minimum(uses[:, 0], capacities)
        if (uses > capacities[:, None]).all(axis=0).any():
            continue
        oracle = GeneralizedAssignmentOracle(costs, uses, capacities, maximize=maximize)
        for u in rng.normal(size=(5, 5)):
            cut, known = oracle.query(Query(u)), u.sum() if maximize else -u.sum()
            for i in range(2):
                worth = choices @ (costs[i] - u if maximize else costs[i] + u)
                worth[choices @ uses[i] > capacities[i]] = -np.inf if maximize else np.inf
                best = worth.argmax() if maximize else worth.argmin()
                known += worth[best]
                filled += choices[best] @ uses[i] == capacities[i]
                alone += choices[best] @ uses[i] == capacities[i] == (choices[best] * uses[i]).max()
            # f is theta for a maximization, minus theta for a minimization
            assert cut.value == pytest.approx(known if maximize else -known, abs=1e-12)
            assert 0.0 <= cut.error <= 1e-12  # rounding alone
    assert filled > 50
    assert alone > 5


def test_settled_items_of_a_knapsack_lose_no_worth():
    """Sizes and worths at random, equal ratios, worths that are sizes: against dynamic programming over all items."""
    rng, ties = np.random.default_rng(2), 0
    for trial in range(600):
        m, n = rng.integers(1, 4), rng.integers(1, 30)
        size = rng.integers(0, rng.integers(2, 50), (m, n))
        worth = [
            rng.normal(size=(m, n)),
            rng.integers(-3, 10, (m, n)).astype(float),
            size.astype(float),
            size + rng.integers(-2, 3, (m, n)).astype(float),
            0.1 * size + 1e-9 * rng.normal(size=(m, n)),
        ][trial % 5]
        capacity = rng.integers(0, size.sum(axis=1).max() + 2, m)
        chosen = best_choices(worth, size, capacity)
        assert ((chosen * size).sum(axis=1) <= capacity).all()
        for i in range(m):
            best = np.zeros(capacity[i] + 1)
            for w, s in zip(worth[i], size[i], strict=True):
                if w > 0 and s <= capacity[i]:
                    best[s:] = np.maximum(best[s:], best[: len(best) - s] + w)
            ties += size[i] @ chosen[i] == capacity[i] > 0
            assert worth[i] @ chosen[i] == pytest.approx(best[-1], rel=1e-13, abs=1e-13)
    assert ties > 100


def test_assignment_files(tmp_path):
    costs, uses, capacities = assignment_data(0, 2, 3)
    path = tmp_path / "gap.txt"
    numbers = np.r_[2, 3, costs.ravel(), uses.ravel(), capacities]
    path.write_text(" ".join(map(str, numbers)))
    oracle = GeneralizedAssignmentOracle.from_file(path, maximize=True)
    for read, given in ((oracle.costs, costs), (oracle.uses, uses), (oracle.capacities, capacities)):
        np.testing.assert_array_equal(read, given)
    path.write_text(" ".join(map(str, numbers[:-1])))
    with pytest.raises(InvalidData, match="got 15 numbers"):
        GeneralizedAssignmentOracle.from_file(path)
    path.write_text("2 3 four")
    with pytest.raises(InvalidData, match="got 3 numbers"):
        GeneralizedAssignmentOracle.from_file(path)


# Facility location


def location_data(seed, m=6, n=9):
    rng = np.random.default_rng(seed)
    return rng.integers(10, 40, m).astype(float), rng.uniform(1, 20, (m, n))


def strong_relaxation(opening, costs):
    """``x_ij <= y_i``, every customer served."""
    m, n = costs.shape
    serve = sparse.hstack([sparse.csr_array((n, m)), sparse.hstack([sparse.eye_array(n)] * m)])
    links = sparse.hstack([-sparse.kron(sparse.eye_array(m), np.ones((n, 1))), sparse.eye_array(m * n)])
    prices = np.r_[opening, costs.ravel()]
    return linprog(prices, A_eq=serve, b_eq=np.ones(n), A_ub=links, b_ub=np.zeros(m * n)).fun


@pytest.mark.parametrize("generator", [AnalyticCenter(), LevelSet(), Kelley()], ids=repr)
@pytest.mark.parametrize("multicut", [False, True])
def test_location_bound_is_the_strong_relaxation(generator, multicut):
    for seed in range(3):
        opening, costs = location_data(seed)
        bound = strong_relaxation(opening, costs)
        oracle = FacilityLocationOracle(opening, costs, multicut=multicut)
        result = minimize(oracle, generator, rtol=1e-7, max_calls=3000, keep_cuts=True)
        assert result.success
        assert oracle.dual_bound(result) == pytest.approx(bound, rel=1e-6)
        primal = oracle.recover(result.history.cuts)
        assert primal.violation <= 1e-6
        assert primal.cost == pytest.approx(bound, rel=1e-4)


def test_location_of_free_facilities():
    oracle = FacilityLocationOracle([0, 0], [[1, 2], [3, 1]])
    assert oracle.dual_bound(minimize(oracle, Kelley())) == pytest.approx(2)


def test_location_files(tmp_path):
    opening, costs = location_data(0, 2, 3)
    path = tmp_path / "cap.txt"
    facilities = " ".join(f"capacity {f}" for f in opening)
    path.write_text(f"2 3 {facilities} " + " ".join(f"7 {a} {b}" for a, b in costs.T))
    packed = tmp_path / "ghosh.gz"
    rows = "\n".join(
        f"{i} {f} {' '.join(map(str, row))}" for i, (f, row) in enumerate(zip(opening, costs, strict=True))
    )
    packed.write_bytes(gzip.compress(f"FILE: small\n2 3 0\n{rows}\n".encode()))
    for file in (path, packed):
        oracle = FacilityLocationOracle.from_file(file)
        np.testing.assert_array_equal(oracle.opening, opening)
        np.testing.assert_array_equal(oracle.costs, costs)
    path.write_text("2 3 1 1")
    with pytest.raises(InvalidData, match="2 facilities and 3 customers, 15 words, got 4"):
        FacilityLocationOracle.from_file(path)
    path.write_text("two three")
    with pytest.raises(InvalidData, match=r"line 1: the number of facilities must be a whole number .* got 'two'"):
        FacilityLocationOracle.from_file(path)


# Multicommodity flow


def flow_data(seed, n=6, k=5):
    """A strongly connected graph with parallel arcs; tight capacities, and dear arcs around that have room."""
    rng = np.random.default_rng(seed)
    ring = np.array([[i, (i + 1) % n] for i in range(n)])
    pairs = np.array([pair for pair in itertools.permutations(range(n), 2) if rng.random() < 0.6])
    arcs = np.vstack([ring, pairs, pairs[:3]])
    costs = np.r_[np.full(n, 30.0), rng.integers(0, 15, len(arcs) - n)]
    capacities = np.r_[np.full(n, np.inf), rng.integers(1, 8, len(arcs) - n)]
    commodities = np.array([rng.permutation(n)[:2] for _ in range(k)])
    return arcs, costs, capacities, commodities, rng.integers(1, 9, k).astype(float)


def cheapest_flow(arcs, costs, capacities, commodities, demands):
    """Node-arc linear program, a flow a commodity."""
    a, k, n = len(arcs), len(commodities), arcs.max() + 1
    incidence = np.zeros((n, a))
    np.add.at(incidence, (arcs[:, 0], np.arange(a)), 1)
    np.add.at(incidence, (arcs[:, 1], np.arange(a)), -1)
    supply = np.zeros((k, n))
    supply[np.arange(k), commodities[:, 0]] += demands
    supply[np.arange(k), commodities[:, 1]] -= demands
    limited = np.isfinite(capacities)
    shared = np.hstack([np.eye(a)[limited]] * k)
    done = linprog(
        np.tile(costs, k),
        A_eq=sparse.kron(sparse.eye_array(k), incidence),
        b_eq=supply.ravel(),
        A_ub=shared,
        b_ub=capacities[limited],
    )
    return done.fun


@pytest.mark.parametrize("multicut", [False, True])
def test_flow_bound_is_the_optimum(multicut):
    for seed in range(5):
        data = flow_data(seed)
        optimum = cheapest_flow(*data)
        oracle = MulticommodityFlowOracle(*data, multicut=multicut)
        result = minimize(oracle, LevelSet(), rtol=1e-8, keep_cuts=True)
        assert oracle.dual_bound(result) == pytest.approx(optimum, rel=1e-7)
        primal = oracle.recover(result.history.cuts)
        assert primal.violation <= 1e-6
        assert primal.cost == pytest.approx(optimum, rel=1e-5)
        # the averaged flows bring every commodity to its destination
        arcs, _, _, commodities, demands = data
        balance = np.zeros(arcs.max() + 1)
        for flow in primal.solutions:
            np.add.at(balance, arcs[:, 1], flow)
            np.subtract.at(balance, arcs[:, 0], flow)
        np.add.at(balance, commodities[:, 0], demands)
        np.subtract.at(balance, commodities[:, 1], demands)
        np.testing.assert_allclose(balance, 0, atol=1e-9)


def test_flow_files(tmp_path):
    path = tmp_path / "flow.txt"
    path.write_text("3 3 1\n1 2 1 1\n1 3 2 9\n3 2 2 9\n1 2 2\n")
    oracle = MulticommodityFlowOracle.from_file(path)
    assert oracle.arcs.tolist() == [[0, 1], [0, 2], [2, 1]]
    assert oracle.commodities.tolist() == [[0, 1]]
    assert oracle.dual_bound(minimize(oracle, Kelley())) == pytest.approx(5)
    path.write_text("3 3 1\n1 2 1 1\n")
    with pytest.raises(InvalidData, match="got 7"):
        MulticommodityFlowOracle.from_file(path)
    path.write_text("2 1 1\n1 3 1 1\n1 2 2\n")
    with pytest.raises(InvalidData, match="nodes 1 to 2, got 1 to 3"):
        MulticommodityFlowOracle.from_file(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HeldKarpOracle(np.zeros((2, 2))), "n >= 3"),
        (lambda: HeldKarpOracle(np.full((3, 3), np.nan)), "`distances` must be finite"),
        (lambda: HeldKarpOracle([[0, 1, 2], [1, 0, 3], [9, 3, 0]]), "must be symmetric, got 2.0 and 9.0 between 0"),
        (lambda: HeldKarpOracle(1 - np.eye(4), special=4), "`special` must be a city, 0 to 3"),
        (lambda: GeneralizedAssignmentOracle([1], [1], [1]), r"`costs` must have shape \(m, n\)"),
        (lambda: GeneralizedAssignmentOracle([[np.inf]], [[1]], [1]), "`costs` must be finite"),
        (lambda: GeneralizedAssignmentOracle([[1]], [[1, 2]], [1]), r"`uses` must have shape \(1, 1\)"),
        (lambda: GeneralizedAssignmentOracle([[1]], [[1.5]], [2]), "`uses` must be integers.*got 1.5"),
        (lambda: GeneralizedAssignmentOracle([[1]], [[1]], [-2]), "`capacities` must be integers.*got -2"),
        (lambda: GeneralizedAssignmentOracle([[1, 1]], [[1, 3]], [2]), "job 1 fits none"),
        (lambda: GeneralizedAssignmentOracle([[1]], [[1]], [2], radius=0), "`radius` must be positive"),
        (lambda: FacilityLocationOracle([1], [1]), r"`costs` must have shape \(m, n\)"),
        (lambda: FacilityLocationOracle([1], [[1], [2]]), r"`opening` must have shape \(2,\)"),
        (lambda: FacilityLocationOracle([-1], [[1]]), "`opening` must be at least 0"),
        (lambda: FacilityLocationOracle([1], [[np.inf]]), "`costs` must be finite"),
        (lambda: MulticommodityFlowOracle([[0, 1, 2]], [1], [1], [[0, 1]], [1]), r"`arcs` must have shape \(k, 2\)"),
        (lambda: MulticommodityFlowOracle([[0, -1]], [1], [1], [[0, 1]], [1]), "`arcs` must hold nodes"),
        (lambda: MulticommodityFlowOracle([[0, 1]], [1, 2], [1], [[0, 1]], [1]), r"`costs` must have shape \(1,\)"),
        (lambda: MulticommodityFlowOracle([[0, 1]], [-1], [1], [[0, 1]], [1]), "`costs` must be at least 0"),
        (lambda: MulticommodityFlowOracle([[0, 1]], [1], [np.inf], [[0, 1]], [1]), "`capacities` must hold a finite"),
        (lambda: MulticommodityFlowOracle([[0, 1]], [1], [1], [[1, 0]], [1]), "lead from 1 to 0, .* commodity 0"),
    ],
)
def test_bad_data_are_named(make, words):
    with pytest.raises(InvalidArgument, match=words):
        make()


@pytest.mark.parametrize("multicut", [False, True])
def test_shipped_relaxations_conform(multicut):
    oracles = [
        HeldKarpOracle(squareform(np.random.default_rng(0).uniform(1, 10, 15))),
        GeneralizedAssignmentOracle(*assignment_data(0), multicut=multicut),
        GeneralizedAssignmentOracle(*assignment_data(0), maximize=True, multicut=multicut),
        FacilityLocationOracle(*location_data(0), multicut=multicut),
        MulticommodityFlowOracle(*flow_data(0), multicut=multicut),
    ]
    rng = np.random.default_rng(1)
    for oracle in oracles:
        n = oracle.domain.dimension
        spread = 3 * rng.normal(size=(5, n))
        points = [oracle.domain.project(oracle.domain.interior_point() + move) for move in spread]
        check_oracle(oracle, points, accuracies=(1e-2, 1e-10))
        summands = oracle.query(Query(points[0])).summands
        assert (len(summands) > 1) == (multicut and not isinstance(oracle, HeldKarpOracle))


def test_identities_differ():
    opening, costs = location_data(0)
    made = [
        FacilityLocationOracle(opening, costs),
        FacilityLocationOracle(opening, costs, multicut=True),
        FacilityLocationOracle(opening, costs + 1e-9),
        GeneralizedAssignmentOracle(*assignment_data(0)),
        GeneralizedAssignmentOracle(*assignment_data(0), maximize=True),
        GeneralizedAssignmentOracle(*assignment_data(1)),
        HeldKarpOracle(1 - np.eye(4)),
        HeldKarpOracle(2 - 2 * np.eye(4)),
        MulticommodityFlowOracle(*flow_data(0)),
        MulticommodityFlowOracle(*flow_data(1)),
    ]
    assert len({oracle.identity() for oracle in made}) == len(made)


# Public instances, where they are


def published(kind, names):
    folder = os.environ.get("ORACLE_OPT_PROBLEMS")
    if not folder:
        return [pytest.param(None, None, None, marks=pytest.mark.skip("ORACLE_OPT_PROBLEMS names no folder"))]
    items = json.loads((Path(folder) / kind / "optima.json").read_text())["instances"]
    return [pytest.param(kind, Path(folder) / kind / i["file"], i, id=i["name"]) for i in items if i["name"] in names]


@pytest.mark.campaign(4)
@pytest.mark.parametrize(
    ("kind", "path", "item"),
    published("tsp", ["gr17", "gr24", "bayg29", "att48", "berlin52", "swiss42", "brazil58"])
    + published("gap", ["c515-1", "c520-3", "a05100"])
    + published("uflp", ["cap71", "cap102", "cap131"])
    + published("mcf", ["grid1", "grid3", "planar30"]),
)
def test_published_bounds(kind, path, item):
    if kind == "tsp":
        oracle, known = HeldKarpOracle.from_tsplib(path), item["held_karp_bound"]
        at_zero = item["one_tree_at_zero_multipliers"]
    elif kind == "gap":
        oracle = GeneralizedAssignmentOracle.from_file(path, maximize=item["sense"] == "max")
        known, at_zero = item["lagrangian_bound"], item["dual_value_at_zero_multipliers"]
    elif kind == "uflp":
        oracle, known, at_zero = FacilityLocationOracle.from_file(path), item["lp_bound"], 0.0
    else:
        oracle, known = MulticommodityFlowOracle.from_file(path), item["resolved"]
        at_zero = item["dual_value_at_zero_prices"]
    value = oracle.query(Query(np.zeros(oracle.rhs.size))).value
    assert (value if oracle.maximize else -value) == pytest.approx(at_zero)
    result = minimize(oracle, LevelSet(), rtol=1e-6, max_calls=2000)
    assert result.success
    enough = 1e-6 * abs(known)
    assert abs(oracle.dual_bound(result) - known) <= enough
    assert result.lower_bound - 1e-8 * abs(known) <= (known if oracle.maximize else -known)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e4])
@pytest.mark.parametrize("free", [False, True])
def test_the_box_of_location_holds_best_multipliers_with_room_on_either_side(scale, free):
    """Minus a multiplier between the least cost and the least with its opening cost, and a tenth of that more."""
    rng = np.random.default_rng(0)
    opening, costs = scale * (0 if free else 1) * rng.uniform(1, 4, 5), scale * rng.uniform(1, 9, (5, 7))
    box = FacilityLocationOracle(opening, costs).domain
    least, most = costs.min(axis=0), (costs + opening[:, None]).min(axis=0)
    floor = 0.1 * max(1e-3 * costs.max(), 1e-3)  # where nothing is between them
    room = np.maximum(0.1 * (most - least), floor)
    np.testing.assert_allclose(-box.upper, least - room, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(-box.lower, most + room, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("seed", range(3))
def test_proofs_of_a_bundle_know_the_last_tangent_of_the_summands(monkeypatch, seed):
    """The summands' model may still grow after the last master of a call, and the proof is then of one more cut."""
    monkeypatch.setattr("oracle_opt.generators.proximal_bundle.TANGENTS", 1)
    rng = np.random.default_rng(seed)
    oracle = FacilityLocationOracle(rng.integers(10, 21, 20), rng.integers(100, 201, (20, 20)), multicut=True)
    result = minimize(oracle, ProximalBundle(), rtol=1e-7, max_calls=300)
    assert result.success
