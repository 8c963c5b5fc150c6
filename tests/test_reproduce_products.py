"""Figures of the experiments on products of kernels, and of how C is chosen, by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce_data import QUICK, figures, made_up_studies, svm_value
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from oracle_opt import Query, minimize
from oracle_opt.datasets import Dataset, split_points
from oracle_opt.generators import LevelSet, ReducedGradient
from oracle_opt.oracles import MKLOracle
from oracle_opt.study.reproduce import Options, paper_qnpkl
from oracle_opt.study.reproduce.common import standardized
from oracle_opt.study.reproduce.stopping_rules import REACHED


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


# Picard, Thome, Cord and Rakotomamonjy


def noisy(seed, n=45):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)


def test_c_is_chosen_by_cross_validation():
    """Three folds, an SVM of one Gaussian on standardized features; the smallest of equals."""
    chosen = set()
    for seed in range(8):
        X, y = noisy(seed)
        right = []
        for C in (1.0, 10.0, 100.0):
            hits = 0
            for fit, held in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
                new, old = standardized(X[fit], X[held])[::-1]
                svm = SVC(C=C, gamma=1 / 3, tol=1e-9).fit(old, y[fit])
                hits += (svm.predict(new) == y[held]).sum()
            right.append(hits)
        known = (1.0, 10.0, 100.0)[right.index(max(right))]
        assert paper_qnpkl._chosen(X, y, seed) == known
        chosen.add(known)
    assert len(chosen) > 1


def made_up(k, instance, generator, seed):
    numbers = {"accuracy": 0.5 + 0.01 * k, "processor_seconds": 2.0**k, "true_share": 0.1 * k}
    return numbers | {"status": "EXHAUSTED" if k % 2 else "MAX_CALLS"}


def test_the_methods_of_the_first_table_and_their_figures(quick, monkeypatch):
    """GMKL is SPG under l1, the others have no regularizer; SVM is the product at its start."""
    studies = made_up_studies(monkeypatch, paper_qnpkl, made_up)
    found = figures(paper_qnpkl.table1(quick))
    assert [(study.paper, study.rtol, study.max_calls) for study in studies] == 3 * [("qnpkl", 5e-3, 500)]
    assert [list(study.instances) for study in studies] == [
        ["wdbc, sum"],
        ["wdbc, product"],
        ["wdbc, product under l1"],
    ]
    for k, name in enumerate(("MKL", "QN-PKL", "L-BFGS", "SVM", "GMKL")):
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(50 + k)
        if name != "SVM":
            assert found.pop(("wdbc", f"seconds, {name}")) == 2.0**k
    assert not found
    kinds = [
        (name, type(generator).__name__, type(getattr(generator, "generator", None)).__name__)
        for study in studies
        for name, generator in study.generators.items()
    ]
    assert kinds == [
        ("MKL", "ReducedGradient", "NoneType"),
        ("QN-PKL", "UntilPlateau", "QuasiNewton"),
        ("L-BFGS", "UntilPlateau", "LBFGS"),
        ("SVM", "FixedPoint", "NoneType"),
        ("GMKL", "UntilPlateau", "SPG"),
    ]
    assert {g.share for study in studies for g in study.generators.values() if hasattr(g, "share")} == {1e-4}
    d = np.array([3.0, 4.0, 0.0, 0.0])
    for study, value in zip(studies[1:], (0.0, 7.0), strict=True):
        oracle = next(iter(study.instances.values()))(0).oracle
        assert oracle.regularizer.value(d) == value
        assert value or not oracle.regularizer.gradient(d).any()


def test_shares_and_accuracies_with_noise(quick, monkeypatch):
    studies = made_up_studies(monkeypatch, paper_qnpkl, made_up)
    found = figures(paper_qnpkl.table2(quick))
    for k, name in enumerate(("MKL", "QN-PKL", "L-BFGS")):
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(50 + k)
        assert found.pop(("wdbc", f"R %, {name}")) == pytest.approx(10 * k)
    assert not found
    assert [type(g).__name__ for study in studies for g in study.generators.values()] == [
        *("ReducedGradient", "UntilPlateau", "UntilPlateau"),
    ]
    monkeypatch.setattr(paper_qnpkl, "_chosen", lambda train, y, seed: 7.0)
    weights = np.r_[4.0, 3.0, 2.0, 1.0, np.full(25, 0.1)]
    for study in studies:
        instance = next(iter(study.instances.values()))(0)
        assert instance.oracle.loss.C == 7.0
        cut = instance.oracle.query(Query(weights / weights.sum()))
        assert instance.measures["true_share"](cut) == pytest.approx(10 / 12.5)


def test_products_and_sums_predict_what_scikit_learn_does():
    X, y = noisy(3, 60)
    dataset = Dataset("noisy", X, y, ("a", "b", "c"), "", "")
    train, truth, test, labels = paper_qnpkl._points(dataset, 0, 0, 0)
    C = paper_qnpkl._chosen(train, truth, 0)

    def gaussian(A, B, widths):
        return np.exp(-((A[:, None] - B[None]) ** 2) @ widths)

    instance = paper_qnpkl._product(dataset, 0, paper_qnpkl.Unregularized(), 0, 0)
    np.testing.assert_allclose(instance.start, 1 / 3)
    run = minimize(instance.oracle, paper_qnpkl.PRODUCTS["QN-PKL"], instance.start, max_calls=500)
    assert REACHED in run.message
    svm = SVC(C=C, kernel="precomputed", tol=1e-9).fit(gaussian(train, train, run.point), truth)
    known = np.mean(svm.predict(gaussian(test, train, run.point)) == labels)
    assert instance.measures["accuracy"](run.cut) == known
    instance = paper_qnpkl._sum(dataset, 0, 0, 0)
    run = minimize(instance.oracle, ReducedGradient(), rtol=5e-3)
    kernels = [np.exp(-0.5 * (train[:, None, f] - train[None, :, f]) ** 2) for f in range(3)]
    crosses = [np.exp(-0.5 * (test[:, None, f] - train[None, :, f]) ** 2) for f in range(3)]
    svm = SVC(C=C, kernel="precomputed", tol=1e-9).fit(np.tensordot(run.point, kernels, 1), truth)
    known = np.mean(svm.predict(np.tensordot(run.point, crosses, 1)) == labels)
    assert instance.measures["accuracy"](run.cut) == known
    # the weights of the sum are those of the l1 optimum
    best = minimize(MKLOracle(paper_qnpkl.GramBank(kernels), truth, C=C), LevelSet(), rtol=1e-8).upper_bound
    assert svm_value(np.tensordot(run.point, kernels, 1), truth, C) <= best * (1 + 5e-3)


def test_the_noise_of_a_split_is_the_same_for_all_its_points_and_follows_the_features():
    for split in range(2):
        train, y, test, truth = paper_qnpkl._points(QUICK, 25, 3, split)
        rows, others = split_points(QUICK.y, 3 + split)
        old, new = standardized(QUICK.X[rows], QUICK.X[others])
        np.testing.assert_array_equal(train[:, :4], old)
        np.testing.assert_array_equal(test[:, :4], new)
        np.testing.assert_array_equal(y, QUICK.y[rows])
        np.testing.assert_array_equal(truth, QUICK.y[others])
        extra = np.random.default_rng((3, split)).normal(size=(120, 25))
        np.testing.assert_array_equal(train[:, 4:], extra[rows])
        np.testing.assert_array_equal(test[:, 4:], extra[others])
