"""Products of kernels on the large sets: which points and kernels, C, what is counted and what is said of it."""

import numpy as np
import pandas as pd
import pytest
from papers_data import QUICK, figures, svm_value
from scipy import sparse
from sklearn.svm import SVC

from oracle_opt import Query
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import LpRegularizer
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.study.records import BLANK
from oracle_opt.study.results import Results
from papers import spg_products
from papers.floored_norm import FlooredNorm
from papers.repetitions import Options
from papers.stopping_rules import REACHED


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_features_that_differ_from_0_most_often_and_some_rows(made) -> None:
    X = np.array([[1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 3.0, 1.0], [0.0, 5.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
    dataset = Dataset("four", made(X), np.array([1.0, -1.0, 1.0, -1.0]), ("a", "b", "c", "d"), "", "")
    points, y = spg_products.points_of(dataset, 2, 0, 0)
    np.testing.assert_array_equal(points, X[:, [0, 3]])  # of equals the first
    np.testing.assert_array_equal(y, dataset.y)
    rows = np.sort(np.random.default_rng(3).permutation(4)[:3])
    points, y = spg_products.points_of(dataset, 0, 3, 3)
    np.testing.assert_array_equal(points, X[rows])
    np.testing.assert_array_equal(y, dataset.y[rows])
    assert spg_products.points_of(dataset, 9, 9, 0)[0].shape == (4, 4)


def test_c_is_that_of_the_best_accuracy_on_points_held_out() -> None:
    chosen = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(90, 3))
        y = np.where(X[:, 0] * X[:, 1] + 0.8 * rng.normal(size=90) > 0, 1.0, -1.0)
        rows = np.random.default_rng(seed).permutation(90)
        train, held = rows[:60], rows[60:]
        Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        right = [
            (SVC(C=C, gamma=1 / 3, tol=1e-9).fit(Z[train], y[train]).predict(Z[held]) == y[held]).sum()
            for C in (1.0, 10.0, 100.0)
        ]
        C = spg_products.chosen_C(X, y, seed)
        assert (1.0, 10.0, 100.0)[int(np.argmax(right))] == C
        chosen.add(C)
    assert len(chosen) > 1


@pytest.mark.parametrize(("p", "power"), [(1.33, 2.0), (1.0, 1.0)])
def test_instances_are_svms_on_the_product(p, power) -> None:
    instance = spg_products.product_of_points(QUICK, 3, 0, p, power, 5, 0)
    oracle, C = instance.oracle, spg_products.chosen_C(QUICK.X[:, :3], QUICK.y, 5)
    assert instance.measures["C"](None) == oracle.loss.C == C
    np.testing.assert_array_equal(instance.start, 2 / 3 * np.random.default_rng((5, 0)).random(3))
    expected = LpRegularizer(1.0, power=1.0) if p == 1.0 else FlooredNorm(1.33)
    assert repr(oracle.regularizer) == repr(expected)
    X = QUICK.X[:, :3]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2) @ instance.start)
    cut = oracle.query(Query(instance.start))
    known = svm_value(K, QUICK.y, C) + oracle.regularizer.value(instance.start)
    assert cut.upper == pytest.approx(known, rel=1e-6)
    moved = np.maximum(cut.point - cut.subgradient, 0.0) - cut.point
    assert instance.traces["stationarity"](cut) == np.abs(moved).max()


def test_many_points_take_no_matrix(monkeypatch) -> None:
    monkeypatch.setattr(spg_products, "MEMORY", 8 * 400**2 - 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    dataset = Dataset("many", X, np.sign(X[:, 0] * X[:, 1]), ("a", "b", "c"), "", "")
    oracle = spg_products.product_of_points(dataset, 0, 0, 1.0, 1.0, 0, 0).oracle
    assert isinstance(oracle._machine, ProductMachine)


RUNS = {
    "PGD": {"processor_seconds": 70.0, "upper_bound": 30.0, "message": "too long", "n_calls": 9, "status": "MAX_CALLS"},
    "SPG-GMKL": {"processor_seconds": 36.0, "upper_bound": 20.0, "message": REACHED, "n_calls": 40},
    "SPG()": {"processor_seconds": 72.0, "upper_bound": 19.0, "message": REACHED, "n_calls": 20},
}


def test_figures_and_sentences(tmp_path, monkeypatch) -> None:
    asked = []

    def run_study(options, paper, instances, generators, seeds, **limits):
        asked.append((paper, list(instances), {g.generator for g in generators.values()}, list(seeds), limits))
        keys = [{"instance": name, "generator": method, "seed": 0} for name in instances for method in generators]
        runs = [
            BLANK | key | {"digest": str(key), "status": "EXHAUSTED", "C": 10.0} | RUNS[key["generator"]]
            for key in keys
        ]
        known = ((25.0, 0.5), (15.0, None), (18.0, 1e-9))
        history = [
            key | {"upper_bound": value, "stationarity": norm or 0.03 + 0.01 * len(key["generator"])}
            for key in keys
            for value, norm in known
        ]
        return Results(pd.DataFrame(runs), pd.DataFrame(history), (1e-3,)), []

    monkeypatch.setattr(spg_products, "run_study", run_study)
    outcome = spg_products.table10(Options(tmp_path, quick=True))
    found = figures(outcome)
    ended = {"PGD": np.nan, "SPG-GMKL": 36.0, "SPG()": 72.0}
    for method, seconds in ended.items():
        assert found.pop(("wdbc", f"hours, {method}")) == pytest.approx(seconds / 3600, nan_ok=True)
        assert found.pop(("wdbc", f"SVMs, {method}")) == RUNS[method]["n_calls"]
        assert found.pop(("wdbc", f"objective, {method}")) == RUNS[method]["upper_bound"]
        assert found.pop(("wdbc", f"projected gradient, {method}")) == pytest.approx(0.03 + 0.01 * len(method))
    assert not found
    seconds = spg_products.MAX_SECONDS
    methods = {name: spg_products.METHODS[name] for name in ("PGD", "SPG-GMKL", "SPG()")}
    known = [
        ("spg-many-points", {methods["PGD"], methods["SPG()"]}, seconds["others"]),
        ("spg-many-points-long", {methods["SPG-GMKL"]}, seconds["SPG-GMKL"]),
    ]
    assert [(paper, which, limits["max_seconds"]) for paper, _, which, _, limits in asked] == known
    for _, instances, _, seeds, limits in asked:
        assert (instances, seeds) == (["wdbc, product, p=1"], [0])
        assert limits["max_calls"] == spg_products.MAX_CALLS
    assert outcome.findings == (
        "PGD got to the end on 0 of 1 sets; on the others its best point has a projected gradient of 0.06.",
        "SPG-GMKL got to the end on 1 of 1 sets.",
        "SPG() got to the end on 1 of 1 sets.",
        "The objective of PGD over that of SPG-GMKL, where each ended, is 1.5.",
        "The objective of SPG() over that of SPG-GMKL, where each ended, is 0.95.",
        "On 1 set where both got to the end SPG() took 2 times the hours.",
        "The SVMs of the 1 run that a limit ended took 70 seconds of the processor, but for the last.",
    )
    assert "C that was chosen: wdbc 10" in outcome.notes
    for words in (f"{spg_products.MAX_CALLS} SVMs", "300 seconds for SPG-GMKL and 60 for the others"):
        assert words in outcome.caption
