"""Figures of the experiments on products of kernels, and of how C is chosen, by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce_data import QUICK, figures, svm_value
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from oracle_opt import minimize
from oracle_opt.datasets import split_points
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle
from oracle_opt.study.reproduce import Options, paper_qnpkl
from oracle_opt.study.reproduce.common import standardized


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


def test_shares_and_accuracies_of_products(quick, monkeypatch):
    """R is the share of the weights on the features of the set, the first ones; each method's figures are its own."""
    weights = {"MKL": np.r_[4.0, 3.0, 2.0, 1.0, np.full(25, 0.1)], "QN-PKL": np.ones(29), "L-BFGS": np.arange(29.0)}
    seen = []

    def learned(name, train, y, C):
        seen.append((name, train.shape, C))
        return lambda new: np.where(new[:, 0] > {"MKL": 0.3, "QN-PKL": 0.0, "L-BFGS": -0.3}[name], 1.0, -1.0)

    def product(train, y, C, generator, regularizer):
        name = {"QuasiNewton": "QN-PKL", "LBFGS": "L-BFGS"}[type(generator).__name__]
        assert regularizer.value(np.ones(29)) == 0.0
        assert not regularizer.gradient(np.ones(29)).any()
        return learned(name, train, y, C), weights[name], 1.0

    monkeypatch.setattr(
        paper_qnpkl, "_sum", lambda train, test, y, C: (learned("MKL", train, y, C)(test), weights["MKL"], 1)
    )
    monkeypatch.setattr(paper_qnpkl, "_product", product)
    monkeypatch.setattr(paper_qnpkl, "_chosen", lambda train, y, seed: 7.0)
    found = figures(paper_qnpkl.table2(quick))
    train, test = split_points(QUICK.y, 0)
    first = standardized(QUICK.X[train], QUICK.X[test])[1][:, 0]
    for name, above in (("MKL", 0.3), ("QN-PKL", 0.0), ("L-BFGS", -0.3)):
        share = 100 * sum(weights[name][:4]) / sum(weights[name])
        assert found.pop(("wdbc", f"R %, {name}")) == pytest.approx(share)
        known = 100 * np.mean((first > above) == (QUICK.y[test] > 0))
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(known)
    assert not found
    assert seen == [(name, (len(train), 29), 7.0) for name in ("MKL", "QN-PKL", "L-BFGS")]


def test_the_methods_of_the_first_table_and_their_figures(quick, monkeypatch):
    """GMKL is SPG under l1; the others have no regularizer. Each has the C of its split, 500 SVMs at most."""
    seen = []

    def product(train, y, C, generator, regularizer):
        seen.append((type(generator).__name__, regularizer.value(np.array([3.0, 4.0])), C))
        shift = {"QuasiNewton": 0.4, "LBFGS": 0.0, "SPG": -0.4}[type(generator).__name__]
        return lambda new: np.where(new[:, 0] > shift, 1.0, -1.0), np.ones(4), 10.0 + len(seen)

    monkeypatch.setattr(paper_qnpkl, "_product", product)
    monkeypatch.setattr(paper_qnpkl, "_sum", lambda train, test, y, C: (np.ones(len(test)), np.ones(4), 3.0))
    monkeypatch.setattr(paper_qnpkl, "_chosen", lambda train, y, seed: 10.0)
    found = figures(paper_qnpkl.table1(quick))
    train, test = split_points(QUICK.y, 0)
    old, new = standardized(QUICK.X[train], QUICK.X[test])
    truth = QUICK.y[test] > 0
    assert seen == [("QuasiNewton", 0.0, 10.0), ("LBFGS", 0.0, 10.0), ("SPG", 7.0, 10.0)]
    for k, (name, shift) in enumerate((("QN-PKL", 0.4), ("L-BFGS", 0.0), ("GMKL", -0.4)), 1):
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(100 * np.mean((new[:, 0] > shift) == truth))
        assert found.pop(("wdbc", f"seconds, {name}")) == 10.0 + k
    assert found.pop(("wdbc", "accuracy %, MKL")) == pytest.approx(100 * np.mean(truth))
    assert found.pop(("wdbc", "seconds, MKL")) == 3.0
    svm = SVC(C=10.0, gamma=1 / 4, tol=1e-9).fit(old, QUICK.y[train])
    assert found.pop(("wdbc", "accuracy %, SVM")) == pytest.approx(100 * np.mean(svm.predict(new) == QUICK.y[test]))
    assert not found


def test_runs_of_products_and_sums_end_at_their_limits(monkeypatch):
    limits = []

    def spied(oracle, generator, point=None, **options):
        limits.append(options)
        return minimize(oracle, generator, point, max_calls=3)

    monkeypatch.setattr(paper_qnpkl, "minimize", spied)
    X, y = noisy(0)
    paper_qnpkl._product(X, y, 1.0, paper_qnpkl.LBFGS(), paper_qnpkl.Unregularized())
    paper_qnpkl._sum(X, X, y, 1.0)
    assert limits[0].pop("callback").share == 1e-4
    assert limits == [{"max_calls": 500}, {"rtol": 5e-3, "max_calls": 500}]


def test_products_and_sums_predict_what_scikit_learn_does():
    X, y = noisy(3, 60)
    train, truth, test = X[:40], y[:40], X[40:]
    predict, weights, seconds = paper_qnpkl._product(
        train, truth, 10.0, paper_qnpkl.QuasiNewton(), paper_qnpkl.Unregularized()
    )
    old, new = standardized(train, test)

    def gaussian(A, B, widths):
        return np.exp(-((A[:, None] - B[None]) ** 2) @ widths)

    svm = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(gaussian(old, old, weights), truth)
    np.testing.assert_array_equal(predict(test), svm.predict(gaussian(new, old, weights)))
    assert seconds > 0
    predicted, weights, _ = paper_qnpkl._sum(old, new, truth, 10.0)
    assert weights.sum() == pytest.approx(1.0)
    kernels = [np.exp(-0.5 * (old[:, None, f] - old[None, :, f]) ** 2) for f in range(3)]
    crosses = [np.exp(-0.5 * (new[:, None, f] - old[None, :, f]) ** 2) for f in range(3)]
    svm = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(np.tensordot(weights, kernels, 1), truth)
    np.testing.assert_array_equal(predicted, svm.predict(np.tensordot(weights, crosses, 1)))
    # the weights of the sum are those of the l1 optimum
    best = minimize(MKLOracle(paper_qnpkl.GramBank(kernels), truth, C=10.0), LevelSet(), rtol=1e-8).upper_bound
    assert svm_value(np.tensordot(weights, kernels, 1), truth, 10.0) <= best * (1 + 5e-3)


def test_the_noise_of_a_split_is_the_same_for_all_its_points_and_follows_the_features(tmp_path):
    for split, (train, y, test, truth) in enumerate(paper_qnpkl._splits(QUICK, Options(tmp_path, splits=2), 25)):
        rows, others = split_points(QUICK.y, split)
        old, new = standardized(QUICK.X[rows], QUICK.X[others])
        np.testing.assert_array_equal(train[:, :4], old)
        np.testing.assert_array_equal(test[:, :4], new)
        np.testing.assert_array_equal(y, QUICK.y[rows])
        np.testing.assert_array_equal(truth, QUICK.y[others])
        assert abs(np.vstack((train, test))[:, 4:].mean()) < 0.1
        assert np.vstack((train, test))[:, 4:].std() == pytest.approx(1.0, abs=0.1)
