"""Held and Karp's bound against the subtour-elimination program and enumeration; TSPLIB files."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import squareform

from oracle_opt import InvalidData, Query, minimize
from oracle_opt.generators import LevelSet, ProximalBundle, Subgradient
from oracle_opt.oracles import HeldKarpOracle, read_tsplib


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


@pytest.mark.parametrize("seed", range(8))
def test_one_trees_cost_what_scipy_says(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    d = rng.integers(1, 9, size=(n, n)).astype(float) if seed % 2 else rng.uniform(1, 100, size=(n, n))
    d = np.triu(d, 1) + np.triu(d, 1).T
    special = int(rng.integers(n))
    oracle = HeldKarpOracle(d, special=special)
    for u in (np.zeros(n), rng.normal(size=n) * 30):
        costs = d + u[:, None] + u + 1000.0  # scipy takes a zero for no edge
        others = np.delete(np.arange(n), special)
        tree = minimum_spanning_tree(sparse.csr_array(np.triu(costs[np.ix_(others, others)], 1)))
        expected = tree.sum() + np.sort(costs[special, others])[:2].sum() - 1000.0 * n
        cut = oracle.query(Query(u))
        assert -cut.value == pytest.approx(expected - 2 * u.sum(), abs=1e-9 * (1 + np.abs(u).max()))
        assert cut.extras["activity"].sum() == 2 * n


def test_distances_may_lie_in_memory_as_they_like():
    d = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0) ** 2)) + 1.0
    d = np.maximum(d, d.T)
    query = Query(np.arange(6.0))
    values = [
        HeldKarpOracle(one).query(query).value for one in (d, np.asfortranarray(d), np.repeat(d, 2, axis=1)[:, ::2])
    ]
    assert values == [values[0]] * 3


def test_planned_steps_make_a_start_that_saves_calls_of_the_bundle_method():
    saved = []
    for seed in range(4):
        towns = np.random.default_rng(seed).random((60, 2))
        oracle = HeldKarpOracle(np.linalg.norm(towns[:, None] - towns, axis=2))
        cold = minimize(oracle, ProximalBundle(), rtol=1e-4)
        start = minimize(oracle, Subgradient(planned=300), max_calls=300, keep_cuts=True)
        assert start.upper_bound <= cold.lower_bound + 5e-3 * abs(cold.lower_bound)
        warm = minimize(oracle, ProximalBundle(), start.point, cuts=start.history.cuts[-50:], rtol=1e-4)
        assert warm.success
        assert warm.lower_bound <= cold.upper_bound
        saved.append(warm.n_calls / cold.n_calls)
    assert np.median(saved) <= 0.7


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
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: XRAY1\n", "got 'XRAY1'"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_COL\n", "got 'UPPER_COL'"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 2 3\n", "must hold 9 numbers, got 3"),
        ("DIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 2 x\n", "line 4: 'x' is not a finite number"),
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
