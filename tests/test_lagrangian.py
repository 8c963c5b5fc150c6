"""Lagrangian relaxation: the dual, its recovery, and four relaxations against HiGHS and enumeration."""

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

from oracle_opt import FreeSpace, InvalidArgument, InvalidCut, InvalidData, NonnegativeOrthant, Query, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, Subgradient
from oracle_opt.oracles import (
    FacilityLocationOracle,
    GeneralisedAssignmentOracle,
    HeldKarpOracle,
    LagrangianOracle,
    MulticommodityFlowOracle,
    RelaxedSolution,
    read_tsplib,
)

GENERATORS = [AnalyticCenter(), LevelSet(), Kelley(), ProximalBundle()]


class Hull:
    """``min costs[k] (or max)`` over finitely many x_k, ``activities[k] ==, <= rhs``: small enough to enumerate."""

    def __init__(self, maximize, inequality, seed=0, n=3, count=12):
        rng = np.random.default_rng(seed)
        self.costs, self.activities = rng.normal(size=count), rng.normal(size=(count, n))
        self.rhs = rng.dirichlet(np.ones(count)) @ self.activities
        self.inequality, self.maximize = np.broadcast_to(inequality, n), maximize
        self.sign = -1.0 if maximize else 1.0

    def __call__(self, u):
        k = int((self.sign * self.costs + self.activities @ u).argmin())
        return RelaxedSolution(self.costs[k], self.activities[k], solution=np.eye(len(self.costs))[k])

    def oracle(self, **options):
        given = {"inequality": self.inequality, "maximize": self.maximize, "radius": 50.0}
        return LagrangianOracle(self, self.rhs, name="hull", **(given | options))

    def optimum(self):
        """Of the convex hull, by HiGHS: what the best multipliers reach."""
        rows = self.activities.T
        done = linprog(
            self.sign * self.costs,
            A_eq=np.vstack([np.ones(len(self.costs)), rows[~self.inequality]]),
            b_eq=np.r_[1.0, self.rhs[~self.inequality]],
            A_ub=rows[self.inequality],
            b_ub=self.rhs[self.inequality],
        )
        return self.sign * done.fun


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("inequality", [False, True, [True, False, True]])
def test_signs_bounds_and_recovery(maximize, inequality, check_oracle):
    hull = Hull(maximize, inequality)
    oracle, optimum = hull.oracle(), hull.optimum()
    rng = np.random.default_rng(1)
    points = rng.uniform(-2, 2, (6, 3))
    points[:, hull.inequality] = np.abs(points[:, hull.inequality])
    check_oracle(oracle, list(points))
    for generator in GENERATORS:
        result = minimize(oracle, generator, rtol=1e-7, keep_cuts=True)
        assert result.success
        assert oracle.dual_bound(result) == pytest.approx(optimum, abs=1e-5)
        assert hull.sign * (optimum - oracle.dual_bound(result)) >= -1e-9
        assert hull.sign * (oracle.dual_limit(result) - optimum) >= -1e-9
        primal = oracle.recover(result.history.cuts)
        # the other side of the bound: feasible, of the same cost, and the average of the solutions
        assert primal.violation <= 1e-7
        assert primal.cost == pytest.approx(optimum, abs=1e-5)
        assert (primal.weights >= 0).all()
        np.testing.assert_allclose(primal.weights.sum(axis=0), 1)
        np.testing.assert_allclose(primal.solutions[0] @ hull.activities, primal.activity, atol=1e-12)
        assert primal.solutions[0] @ hull.costs == pytest.approx(primal.cost)


def test_domains_follow_the_constraints():
    hull = Hull(False, False)
    assert isinstance(hull.oracle().domain, FreeSpace)
    assert isinstance(hull.oracle(inequality=True).domain, NonnegativeOrthant)
    mixed = hull.oracle(inequality=[True, False, False]).domain
    assert mixed.lower.tolist() == [0, -50, -50]
    assert mixed.upper.tolist() == [50, 50, 50]


def test_weights_of_the_subgradient_method_average_to_a_primal_solution():
    hull = Hull(False, False, seed=3)
    oracle, generator, weights = hull.oracle(), Subgradient(), []
    result = minimize(
        oracle, generator, max_calls=4000, keep_cuts=True, callback=lambda _: weights.append(generator.weight())
    )
    early, late = (oracle.recover(result.history.cuts[:k], weights[:k]) for k in (40, 4000))
    assert late.violation < 0.2 * early.violation
    assert late.violation < 0.1
    best = oracle.recover(result.history.cuts)
    assert best.violation <= 1e-7
    assert best.cost == pytest.approx(hull.optimum(), abs=1e-2)


def test_without_enough_solutions_the_least_violation_is_told():
    hull = Hull(False, False)
    oracle = hull.oracle()
    cut = oracle.query(Query(np.zeros(3)))
    primal = oracle.recover([cut])
    assert primal.weights.tolist() == [[1.0]]
    assert primal.violation == pytest.approx(np.abs(cut.extras["activity"] - hull.rhs).max())


def test_summands_become_parts():
    first, second = Hull(False, True, seed=5), Hull(False, True, seed=6)
    rhs = first.rhs + second.rhs
    split = LagrangianOracle(lambda u: (first(u), second(u)), rhs, inequality=True, radius=50)

    def together(u):
        a, b = first(u), second(u)
        return RelaxedSolution(a.cost + b.cost, np.asarray(a.activity) + b.activity)

    joint = LagrangianOracle(together, rhs, inequality=True, radius=50)
    for u in np.random.default_rng(0).uniform(0, 2, (5, 3)):
        cut, same = split.query(Query(u)), joint.query(Query(u))
        assert cut.value == pytest.approx(same.value)
        np.testing.assert_allclose(cut.subgradient, same.subgradient)
        assert sum(part.value for part in cut.parts) == pytest.approx(cut.value)
        np.testing.assert_allclose(sum(part.subgradient for part in cut.parts), cut.subgradient)
    result = minimize(split, Kelley(), rtol=1e-8, keep_cuts=True)
    primal = split.recover(result.history.cuts)
    assert primal.weights.shape == (result.n_calls, 2)
    assert primal.violation <= 1e-7
    assert primal.cost == pytest.approx(split.dual_bound(result), rel=1e-6, abs=1e-6)
    assert len(primal.solutions) == 2
    # weights of their own for each summand can only be cheaper than common ones
    assert joint.recover(minimize(joint, Kelley(), rtol=1e-8, keep_cuts=True).history.cuts).solutions == ()


@pytest.mark.parametrize("maximize", [False, True])
def test_inexact_solutions_state_their_bound(maximize):
    hull = Hull(maximize, False)
    rng = np.random.default_rng(0)

    def sloppy(u):
        values = hull.sign * hull.costs + hull.activities @ u
        k = int(rng.choice(np.flatnonzero(values <= values.min() + 0.05)))
        return RelaxedSolution(hull.costs[k], hull.activities[k], bound=hull.sign * (values.min() - 0.01))

    oracle, exact = LagrangianOracle(sloppy, hull.rhs, maximize=maximize, radius=50), hull.oracle()
    for u in rng.uniform(-2, 2, (20, 3)):
        cut, truth = oracle.query(Query(u)), exact.query(Query(u)).value
        assert cut.value <= truth + 1e-12
        assert truth <= cut.upper + 1e-12
        assert 0.01 - 1e-12 <= cut.error <= 0.06 + 1e-12
    result = minimize(oracle, ProximalBundle(), max_calls=60)
    assert hull.sign * (hull.optimum() - oracle.dual_bound(result)) >= -1e-9
    assert oracle.dual_bound(result) == pytest.approx(hull.optimum(), abs=0.1)


def test_wrong_answers_are_found():
    hull = Hull(False, False)

    def oracle(solve):
        return LagrangianOracle(solve, hull.rhs, radius=50)

    def run(solve):
        return minimize(oracle(solve), Kelley())

    for maximize, word in ((False, "smaller"), (True, "greater")):
        other = Hull(maximize, False)
        turned = LagrangianOracle(lambda u: other(-u), other.rhs, maximize=maximize)  # noqa: B023 - the usual mistake
        points = np.random.default_rng(0).normal(size=(10, 3))
        with pytest.raises(InvalidCut, match=f"`solve` must answer with an optimal solution.* {word} value"):
            [turned.query(Query(u)) for u in points]
    with pytest.raises(InvalidCut, match="`bound` of summand 0 must be at most"):
        run(lambda u: RelaxedSolution(1.0, np.zeros(3), bound=2.0))
    with pytest.raises(InvalidCut, match="must return a RelaxedSolution"):
        run(lambda u: [(1.0, np.zeros(3))])
    for wrong in ([], None, 3.0):
        with pytest.raises(InvalidCut, match="RelaxedSolution or a sequence of them, got"):
            run(lambda u: wrong)  # noqa: B023
    with pytest.raises(InvalidCut, match="`activity` of summand 0 must have the shape"):
        run(lambda u: RelaxedSolution(1.0, [1.0]))
    with pytest.raises(InvalidCut, match="must be finite"):
        run(lambda u: RelaxedSolution(np.nan, np.zeros(3)))


def test_journal_replays(tmp_path):
    hull = Hull(False, [True, False, True])
    path = tmp_path / "run.journal"
    first = minimize(hull.oracle(), LevelSet(), max_calls=5, keep_cuts=True, journal=path)
    whole = minimize(hull.oracle(), LevelSet(), keep_cuts=True, journal=path)
    plain = minimize(hull.oracle(), LevelSet(), keep_cuts=True)
    assert first.n_calls == 5
    assert whole.upper_bound == plain.upper_bound
    cost = hull.oracle().recover(whole.history.cuts).cost
    assert cost == pytest.approx(hull.oracle().recover(plain.history.cuts).cost)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((3, [1.0]), {}, "`solve` must be a function"),
        ((abs, [[1.0]]), {}, r"`rhs` must have shape \(n,\)"),
        ((abs, [np.inf]), {}, "`rhs` must be finite"),
        ((abs, [1.0]), {"inequality": [True, False]}, "`inequality` must be a bool or 1"),
        ((abs, [1.0]), {"inequality": 1}, "`inequality` must be a bool"),
        ((abs, [1.0]), {"domain": FreeSpace(2, 1)}, "`domain` must have dimension 1"),
        ((abs, [1.0]), {"inequality": True, "domain": FreeSpace(1, 1)}, "nonnegative"),
        ((abs, [1.0]), {"radius": 0}, "`radius` must be positive"),
        ((abs, [1.0, 1.0]), {"radius": np.inf, "inequality": [True, False]}, "`radius` must be positive and finite"),
    ],
)
def test_bad_arguments_are_named(arguments, options, words):
    with pytest.raises(InvalidArgument, match=words):
        LagrangianOracle(*arguments, **options)


def test_bad_recoveries_are_named():
    hull = Hull(False, False)
    oracle = hull.oracle()
    cuts = [oracle.query(Query(u)) for u in np.eye(3)]
    with pytest.raises(InvalidArgument, match="`cuts` must hold the cuts"):
        oracle.recover([])
    with pytest.raises(InvalidArgument, match="`weights` must be 3"):
        oracle.recover(cuts, [1, 2])
    with pytest.raises(InvalidArgument, match="`weights` must be 3"):
        oracle.recover(cuts, [1, -1, 1])
    split = LagrangianOracle(lambda u: (hull(u), hull(u)), hull.rhs)
    with pytest.raises(InvalidArgument, match="must have the same number"):
        oracle.recover([*cuts, split.query(Query(np.zeros(3)))])


# Held and Karp


def subtour_bound(d):
    """Value of the subtour-elimination linear program, all subsets written out."""
    n = len(d)
    tails, heads = np.triu_indices(n, 1)
    degrees = np.array([(tails == v) | (heads == v) for v in range(n)], dtype=float)
    cuts = [
        np.isin(tails, subset) != np.isin(heads, subset)
        for size in range(2, n - 1)
        for subset in itertools.combinations(range(n), size)
    ]
    done = linprog(
        d[tails, heads],
        A_eq=degrees,
        b_eq=np.full(n, 2.0),
        A_ub=-np.array(cuts, dtype=float) if cuts else None,
        b_ub=np.full(len(cuts), -2.0) if cuts else None,
        bounds=(0, 1),
    )
    return done.fun


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_held_karp_bound_is_that_of_the_subtour_program(n):
    rng = np.random.default_rng(n)
    for d in (squareform(rng.uniform(1, 10, n * (n - 1) // 2)), squareform(rng.integers(1, 6, n * (n - 1) // 2))):
        bound = subtour_bound(d.astype(float))
        for special in (0, n - 1):
            oracle = HeldKarpOracle(d, special=special)
            result = minimize(oracle, LevelSet(), rtol=1e-7, keep_cuts=True)
            assert oracle.dual_bound(result) == pytest.approx(bound, rel=1e-6)
            assert oracle.dual_bound(result) <= bound + 1e-9
            primal = oracle.recover(result.history.cuts)
            assert primal.violation <= 1e-6
            assert primal.cost == pytest.approx(bound, rel=1e-5)
            degrees = squareform(primal.solutions[0]).sum(axis=1)
            np.testing.assert_allclose(degrees, 2, atol=1e-6)


def test_one_trees_are_the_least_of_all():
    rng = np.random.default_rng(0)
    n = 5
    d = squareform(rng.uniform(1, 10, n * (n - 1) // 2))
    oracle = HeldKarpOracle(d, special=2)
    others = [v for v in range(n) if v != 2]
    edges = list(itertools.combinations(others, 2))
    for u in rng.normal(size=(10, n)):
        c = d + u[:, None] + u
        trees = []
        for tree in itertools.combinations(edges, n - 2):
            graph = sparse.csr_array((np.ones(n - 2), tuple(np.array(tree).T)), shape=(n, n))
            if sparse.csgraph.connected_components(graph, directed=False)[0] == 2:  # the tree, and the special city
                trees.append(sum(c[i, j] for i, j in tree))
        best = min(trees) + np.sort(c[2, others])[:2].sum() - 2 * u.sum()
        assert -oracle.query(Query(u)).value == pytest.approx(best)


def test_tsplib_formats(tmp_path):
    d = squareform(np.arange(1, 7)).astype(int)
    lists = {
        "FULL_MATRIX": d.ravel(),
        "UPPER_ROW": d[np.triu_indices(4, 1)],
        "LOWER_ROW": d[np.tril_indices(4, -1)],
        "UPPER_DIAG_ROW": d[np.triu_indices(4)],
        "LOWER_DIAG_ROW": d[np.tril_indices(4)],
    }
    head = "NAME: four\nTYPE : TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: "
    for layout, numbers in lists.items():
        path = tmp_path / f"{layout}.tsp"
        words = " ".join(map(str, numbers))
        path.write_text(f"{head}EXPLICIT\nEDGE_WEIGHT_FORMAT : {layout}\nEDGE_WEIGHT_SECTION\n{words}\nEOF\n")
        np.testing.assert_array_equal(read_tsplib(path), d)
    corners = "1 0 0\n2 0.0 30\n3 4e1 0\n4 40 30\nEOF"
    for kind, diagonal, side in (("EUC_2D", 50, 30), ("CEIL_2D", 50, 30), ("ATT", 16, 10)):
        (tmp_path / "xy.tsp").write_text(f"{head}{kind}\nNODE_COORD_SECTION\n{corners}\n")
        read = read_tsplib(tmp_path / "xy.tsp")
        assert (read[0, 3], read[0, 1]) == (diagonal, side)
    (tmp_path / "geo.tsp").write_text(
        f"{head}GEO\nNODE_COORD_SECTION\n1 0.00 0.00\n2 0.00 90.00\n3 90.00 0\n4 0 1.30\n"
    )
    read = read_tsplib(tmp_path / "geo.tsp")
    assert read[0, 1] == read[0, 2] == int(6378.388 * np.pi / 2 + 1)
    assert read[0, 3] == int(6378.388 * np.pi / 120 + 1)  # 1.30 is a degree and 30 minutes
    assert HeldKarpOracle.from_tsplib(path).distances.tolist() == d.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DIMENSION: 3\n", "must state DIMENSION and EDGE_WEIGHT_TYPE"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: XRAY1\n", "got XRAY1"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_COL\n", "got 'UPPER_COL'"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 2 3\n", "must hold 9 numbers, got 3"),
        ("DIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 2 x\n", "must hold numbers"),
        (
            "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1 2 0",
            "symmetric",
        ),
    ],
)
def test_broken_tsplib_files(tmp_path, text, words):
    path = tmp_path / "broken.tsp"
    path.write_text(text)
    with pytest.raises(InvalidData, match=words):
        read_tsplib(path)
    with pytest.raises(InvalidData, match="does not exist"):
        read_tsplib(tmp_path / "nowhere.tsp")


# Generalised assignment


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
        oracle = GeneralisedAssignmentOracle(*data, maximize=maximize, multicut=multicut)
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
        oracle = GeneralisedAssignmentOracle(costs, uses, capacities, multicut=True)
        u = rng.normal(-15, 8, 10)
        for i, part in enumerate(oracle.query(Query(u)).parts):
            done = milp(
                costs[i] + u, constraints=LinearConstraint(uses[i], ub=capacities[i]), integrality=1, bounds=(0, 1)
            )
            chosen = part.extras["solution"]
            assert chosen @ uses[i] <= capacities[i]
            assert (costs[i] + u) @ chosen == pytest.approx(done.fun)
            assert part.extras["cost"] == costs[i] @ chosen


def test_assignment_files(tmp_path):
    costs, uses, capacities = assignment_data(0, 2, 3)
    path = tmp_path / "gap.txt"
    numbers = np.r_[2, 3, costs.ravel(), uses.ravel(), capacities]
    path.write_text(" ".join(map(str, numbers)))
    oracle = GeneralisedAssignmentOracle.from_file(path, maximize=True)
    for read, given in ((oracle.costs, costs), (oracle.uses, uses), (oracle.capacities, capacities)):
        np.testing.assert_array_equal(read, given)
    path.write_text(" ".join(map(str, numbers[:-1])))
    with pytest.raises(InvalidData, match="got 15 numbers"):
        GeneralisedAssignmentOracle.from_file(path)
    path.write_text("2 3 four")
    with pytest.raises(InvalidData, match="numbers alone"):
        GeneralisedAssignmentOracle.from_file(path)


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
    with pytest.raises(InvalidData, match="2 facilities and 3 customers, got 1"):
        FacilityLocationOracle.from_file(path)
    path.write_text("two three")
    with pytest.raises(InvalidData, match="must be a file of facility location"):
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
        (lambda: GeneralisedAssignmentOracle([1], [1], [1]), r"`costs` must have shape \(m, n\)"),
        (lambda: GeneralisedAssignmentOracle([[np.inf]], [[1]], [1]), "`costs` must be finite"),
        (lambda: GeneralisedAssignmentOracle([[1]], [[1, 2]], [1]), r"`uses` must have shape \(1, 1\)"),
        (lambda: GeneralisedAssignmentOracle([[1]], [[1.5]], [2]), "`uses` must be integers.*got 1.5"),
        (lambda: GeneralisedAssignmentOracle([[1]], [[1]], [-2]), "`capacities` must be integers.*got -2"),
        (lambda: GeneralisedAssignmentOracle([[1, 1]], [[1, 3]], [2]), "job 1 fits none"),
        (lambda: GeneralisedAssignmentOracle([[1]], [[1]], [2], radius=0), "`radius` must be positive"),
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
def test_shipped_relaxations_conform(check_oracle, multicut):
    oracles = [
        HeldKarpOracle(squareform(np.random.default_rng(0).uniform(1, 10, 15))),
        GeneralisedAssignmentOracle(*assignment_data(0), multicut=multicut),
        GeneralisedAssignmentOracle(*assignment_data(0), maximize=True, multicut=multicut),
        FacilityLocationOracle(*location_data(0), multicut=multicut),
        MulticommodityFlowOracle(*flow_data(0), multicut=multicut),
    ]
    rng = np.random.default_rng(1)
    for oracle in oracles:
        n = oracle.domain.dimension
        spread = 3 * rng.normal(size=(5, n))
        points = [oracle.domain.project(oracle.domain.interior_point() + move) for move in spread]
        check_oracle(oracle, points)
        parts = oracle.query(Query(points[0])).parts
        assert (len(parts) > 1) == (multicut and not isinstance(oracle, HeldKarpOracle))


def test_identities_differ():
    opening, costs = location_data(0)
    made = [
        FacilityLocationOracle(opening, costs),
        FacilityLocationOracle(opening, costs, multicut=True),
        FacilityLocationOracle(opening, costs + 1e-9),
        GeneralisedAssignmentOracle(*assignment_data(0)),
        GeneralisedAssignmentOracle(*assignment_data(0), maximize=True),
        GeneralisedAssignmentOracle(*assignment_data(1)),
        HeldKarpOracle(1 - np.eye(4)),
        HeldKarpOracle(2 - 2 * np.eye(4)),
        MulticommodityFlowOracle(*flow_data(0)),
        MulticommodityFlowOracle(*flow_data(1)),
        Hull(False, False).oracle(),
        Hull(False, True).oracle(),
    ]
    assert len({oracle.identity() for oracle in made}) == len(made)


# Public instances, where they are


def published(kind, names):
    folder = os.environ.get("ORACLE_OPT_PROBLEMS")
    if not folder:
        return [pytest.param(None, None, None, marks=pytest.mark.skip("ORACLE_OPT_PROBLEMS names no folder"))]
    items = json.loads((Path(folder) / kind / "optima.json").read_text())["instances"]
    return [pytest.param(kind, Path(folder) / kind / i["file"], i, id=i["name"]) for i in items if i["name"] in names]


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
        oracle = GeneralisedAssignmentOracle.from_file(path, maximize=item["sense"] == "max")
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
