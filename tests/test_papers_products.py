"""Figures of the experiments on products of kernels, and of how C is chosen, by scikit-learn."""

import numpy as np
import pytest
from papers_data import QUICK, figures, made_up_studies, svm_value
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from oracle_opt import Query, minimize
from oracle_opt.datasets import Dataset, split_points
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MKLOracle
from papers import qnpkl, qnpkl_figure1, qnpkl_problems
from papers.experiments import EXPERIMENTS
from papers.figures import Printed
from papers.qnpkl_findings import agreements, agrees, who_agrees
from papers.qnpkl_problems import METHODS, Points, Protocol, chosen, points_of, problem_of
from papers.repetitions import Options, Row, Tally
from papers.sets import standardized
from papers.stopping_rules import REACHED


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


# Picard, Thome, Cord and Rakotomamonjy


def noisy(seed, n=45):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)


def gaussian(A, B, gammas):
    return np.exp(-((A[:, None] - B[None]) ** 2) @ np.broadcast_to(gammas, A.shape[1]))


def test_c_is_chosen_by_cross_validation_of_the_method():
    """Three folds, an SVM of one Gaussian; the smallest of equals."""
    found = set()
    for seed in range(6):
        X, y = noisy(seed)
        right = []
        for C in (0.1, 1.0, 10.0, 100.0, 1000.0):
            hits = 0
            for fit, held in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
                svm = SVC(C=C, gamma=1 / 3, tol=1e-9).fit(X[fit], y[fit])
                hits += (svm.predict(X[held]) == y[held]).sum()
            right.append(hits)
        known = (0.1, 1.0, 10.0, 100.0, 1000.0)[right.index(max(right))]
        assert chosen(METHODS["SVM"], Points(X, y, X, y), seed) == known
        found.add(known)
    assert len(found) > 1


def made_up(k, instance, generator, seed):
    numbers = {"accuracy": 0.5 + 0.01 * k, "processor_seconds": 2.0**k, "true_share": 0.1 * k}
    return numbers | {"status": "EXHAUSTED" if k % 2 else "MAX_CALLS"}


def test_the_methods_of_the_first_table_and_their_figures(quick, monkeypatch):
    """GMKL is SPG under l1, the others have no regularizer; SVM is the product at its start."""
    studies = made_up_studies(monkeypatch, qnpkl_problems, made_up)
    outcome = qnpkl.table1(quick)
    found = figures(outcome)
    assert [(study.paper, study.rtol, study.max_calls) for study in studies] == [
        ("qnpkl-simplemkl", 5e-3, 5000),
        *4 * [("qnpkl", 5e-3, 500)],
    ]
    for k, name in enumerate(("MKL", "QN-PKL", "L-BFGS", "SVM", "GMKL")):
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(50 + k)
        if name != "SVM":
            assert found.pop(("wdbc", f"seconds, {name}")) == 2.0**k
    assert not found
    assert outcome.findings == (
        "Accuracy of QN-PKL less that of MKL, in points: wdbc +1.0.",
        "Seconds of MKL over those of QN-PKL: wdbc 0.5.",
    )
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
    for study, value in zip(studies[1:], (0.0, 0.0, 0.0, 7.0), strict=True):
        (recipe,) = study.instances.values()
        assert recipe.arguments[1] == Protocol()
        oracle = recipe(0).oracle
        assert oracle.regularizer.value(d) == value
        assert value or not oracle.regularizer.gradient(d).any()


def test_gmkl_has_the_square_of_l2_on_pima(tmp_path, monkeypatch):
    from papers.sets import Sets

    studies = made_up_studies(monkeypatch, qnpkl_problems, made_up)
    monkeypatch.setattr(qnpkl, "sets_of", lambda *_: Sets([("Sonar", QUICK), ("Pima", QUICK)], []))
    outcome = qnpkl.table1(Options(tmp_path, splits=1))
    rows = {row.set: [r.quantity for r in outcome.rows if r.set == row.set] for row in outcome.rows}
    assert rows["Sonar"] == rows["Pima"]
    values = {name: recipe(0).oracle.regularizer.value(np.array([3.0, 4.0, 0.0, 0.0])) for study in studies[4:]
              for name, recipe in study.instances.items()}  # fmt: skip
    assert values == {"Sonar, 0 random features, GMKL": 7.0, "Pima, 0 random features, GMKL under l2": 12.5}


def test_shares_and_accuracies_with_noise(quick, monkeypatch):
    studies = made_up_studies(monkeypatch, qnpkl_problems, made_up)
    outcome = qnpkl.table2(quick)
    found = figures(outcome)
    for k, name in enumerate(("MKL", "QN-PKL", "L-BFGS")):
        assert found.pop(("wdbc", f"accuracy %, {name}")) == pytest.approx(50 + k)
        assert found.pop(("wdbc", f"R %, {name}")) == pytest.approx(10 * k)
    assert not found
    assert outcome.findings[-1] == "R of QN-PKL is above that of MKL on 1 of the 1 sets."
    monkeypatch.setattr(qnpkl_problems, "chosen", lambda method, points, seed: 7.0)
    weights = np.r_[4.0, 3.0, 2.0, 1.0, np.full(25, 0.1)]
    for study in studies:
        instance = next(iter(study.instances.values()))(0)
        assert instance.oracle.loss.C == 7.0
        cut = instance.oracle.query(Query(weights / weights.sum()))
        assert instance.measures["true_share"](cut) == pytest.approx(10 / 12.5)


def test_protocols_differ_in_what_their_rows_say(quick, monkeypatch):
    studies = made_up_studies(monkeypatch, qnpkl_problems, made_up)
    outcome = qnpkl.protocols(quick)
    rows = list(dict.fromkeys(row.set for row in outcome.rows))
    assert len(rows) == 12
    assert rows[0] == "wdbc"
    assert rows[-1] == "wdbc, standardized, C = 1000"
    assert len(studies) == 9
    for study in studies:
        assert len(study.instances) == 12
        for name, recipe in study.instances.items():
            method, protocol, seed = recipe.arguments
            assert list(study.generators) == [method]
            assert ("standardized" in name) == protocol.standardize
            assert (f"C = {protocol.C:g}" in name) if protocol.C else "C =" not in name
            assert (name.endswith(f"{protocol.noise} random features, {method}"), seed) == (True, 0)
    assert [(study.paper, study.rtol) for study in studies[:3]] == [
        ("qnpkl-tight", 1e-4),
        ("qnpkl-tight", 1e-4),
        ("qnpkl", 5e-3),
    ]
    assert {row.quantity.partition(", ")[2] for row in outcome.rows} == {
        *("MKL", "MKL with gamma = 1", "QN-PKL", "QN-PKL to 1e-2", "SVM")
    }
    assert {row.quantity for row in outcome.rows if row.quantity.startswith("seconds")} == {
        "seconds, QN-PKL",
        "seconds, QN-PKL to 1e-2",
    }
    printed = EXPERIMENTS["qnpkl-protocols"].printed()
    assert str(printed["Sonar", "accuracy %, MKL"]) == "77.9 ± 5.5"  # of Table 1
    assert str(printed["Sonar", "R %, MKL"]) == "84.9"
    early, late = METHODS["QN-PKL to 1e-2"].generator, METHODS["QN-PKL"].generator
    assert (early.share, late.share) == (1e-2, 1e-4)


def test_sets_without_printed_figures_get_no_sentences(quick, monkeypatch):
    made_up_studies(monkeypatch, qnpkl_problems, made_up)
    assert not qnpkl.protocols(quick).findings


@pytest.mark.parametrize(("standardize", "gamma"), [(False, 1 / 3), (True, 1.0)])
def test_products_and_sums_predict_what_scikit_learn_does(standardize, gamma):
    X, y = noisy(3, 60)
    dataset = Dataset("noisy", X, y, ("a", "b", "c"), "", "")
    protocol = Protocol(C=10.0, standardize=standardize)
    points = points_of(dataset, protocol, 0, 0)
    instance = problem_of(dataset, "QN-PKL", protocol, 0, 0)
    np.testing.assert_allclose(instance.start, 1 / 3)
    run = minimize(instance.oracle, METHODS["QN-PKL"].generator, instance.start, max_calls=500)
    assert REACHED in run.message
    svm = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(gaussian(points.train, points.train, run.point), points.y)
    known = np.mean(svm.predict(gaussian(points.test, points.train, run.point)) == points.truth)
    assert instance.measures["accuracy"](run.cut) == known
    name = "MKL with gamma = 1" if gamma == 1.0 else "MKL"
    instance = problem_of(dataset, name, protocol, 0, 0)
    run = minimize(instance.oracle, METHODS[name].generator, rtol=5e-3)
    kernels = [gaussian(points.train[:, f : f + 1], points.train[:, f : f + 1], gamma) for f in range(3)]
    crosses = [gaussian(points.test[:, f : f + 1], points.train[:, f : f + 1], gamma) for f in range(3)]
    svm = SVC(C=10.0, kernel="precomputed", tol=1e-9).fit(np.tensordot(run.point, kernels, 1), points.y)
    known = np.mean(svm.predict(np.tensordot(run.point, crosses, 1)) == points.truth)
    assert instance.measures["accuracy"](run.cut) == known
    # the weights of the sum are those of the l1 optimum
    best = minimize(MKLOracle(GramBank(kernels), points.y, C=10.0), LevelSet(), rtol=1e-8).upper_bound
    assert svm_value(np.tensordot(run.point, kernels, 1), points.y, 10.0) <= best * (1 + 5e-3)


def test_the_noise_of_a_split_is_the_same_for_all_its_points_and_follows_the_features():
    for split in range(2):
        for standardize in (False, True):
            points = points_of(QUICK, Protocol(25, standardize=standardize), 3, split)
            rows, others = split_points(QUICK.y, 3 + split)
            X, T = QUICK.X[rows], QUICK.X[others]
            if standardize:
                old, new = standardized(X, T)
            else:
                low, high = X.min(axis=0), X.max(axis=0)
                old, new = (X - low) / (high - low), (T - low) / (high - low)
                assert (points.train[:, :4].min(), points.train[:, :4].max()) == (0.0, 1.0)
            np.testing.assert_array_equal(points.train[:, :4], old)
            np.testing.assert_array_equal(points.test[:, :4], new)
            np.testing.assert_array_equal(points.y, QUICK.y[rows])
            np.testing.assert_array_equal(points.truth, QUICK.y[others])
            extra = np.random.default_rng((3, split)).normal(size=(120, 25))
            np.testing.assert_array_equal(points.train[:, 4:], extra[rows])
            np.testing.assert_array_equal(points.test[:, 4:], extra[others])


def test_weights_of_the_figure(quick):
    outcome = qnpkl_figure1.figure1(quick)
    found = figures(outcome)
    effective = {}
    for method in ("MKL", "MKL with gamma = 1", "QN-PKL"):
        instance = problem_of(QUICK, method, Protocol(), 0, 0)
        rtol = 1e-4 if "gamma" in method else 5e-3
        run = minimize(instance.oracle, METHODS[method].generator, instance.start, rtol=rtol, max_calls=500)
        weights = run.point / run.point.sum()
        drawn = outcome.figure.data[outcome.figure.data["name"] == method]
        assert drawn["x"].tolist() == [1, 2, 3, 4]
        np.testing.assert_allclose(drawn["y"], weights)
        assert found["wdbc", f"five largest %, {method}"] == pytest.approx(100)
        assert found["wdbc", f"above 1 % of the sum, {method}"] == (weights > 0.01).sum()
        effective[method] = np.exp(-sum(w * np.log(w) for w in weights if w > 0))
        assert found["wdbc", f"effective features, {method}"] == pytest.approx(effective[method])
    for finding, name in zip(outcome.findings, ("MKL", "MKL with gamma = 1"), strict=True):
        fewer = int(effective["QN-PKL"] < effective[name])
        assert finding.endswith(f"less uniform than those of {name} on {fewer} of 1 splits.")


def test_five_of_many_weights_are_the_largest():
    instance = qnpkl_figure1.weights_of(QUICK, "QN-PKL", 0, 0)
    cut = instance.oracle.query(Query(np.array([3.0, 0.0, 1.0, 0.001])))
    assert instance.measures["weight 0"](cut) == pytest.approx(3 / 4.001)
    assert instance.measures["above"](cut) == 2
    assert qnpkl_figure1.effective_number(np.array([0.0, 2.0, 2.0, 2.0])) == pytest.approx(3)


def test_agreement_is_within_the_larger_deviation():
    printed = Printed("70.0", "2.0", "5")
    for ours, deviation, known in ((72.0, 0.1, True), (72.1, 0.1, False), (74.0, 4.0, True), (65.0, 4.9, False)):
        assert agrees(Row("Pima", "accuracy %, MKL", ours, deviation, 2, 2), printed) is known


def test_sentences_count_what_agrees():
    tally = Tally()
    for name, method, value in (
        ("Pima", "MKL", 71.4),
        ("Pima", "QN-PKL", 90.0),
        ("Pima", "SVM", 75.4),
        ("Pima, C = 1", "MKL", 60.0),
        ("Pima, C = 1", "MKL with gamma = 1", 71.0),
        ("Pima, C = 1", "QN-PKL", 76.0),
        ("Pima, C = 1", "SVM", 75.0),
    ):
        tally.add(name, f"accuracy %, {method}", value)
    for name, low in (("Pima", 10.0), ("Pima, C = 1", 20.0)):
        tally.add(name, "R %, MKL", low)
        tally.add(name, "R %, QN-PKL", 2 * low)
        tally.add(name, "R %, MKL with gamma = 1", 3 * low)
        tally.add(name, "seconds, QN-PKL", low)
        tally.add(name, "seconds, QN-PKL to 1e-2", 5.0)
    assert agreements(tally, "table1") == (
        "2 of 3 accuracies agree with the printed ones within the larger of both deviations; these do not: "
        "Pima, QN-PKL (90.0, printed 76.4).",
    )
    assert who_agrees(tally, ["Pima", "wdbc"]) == (
        "Pima: of 2 rows, the printed accuracy is met within the larger of both deviations for MKL's on 2, QN-PKL's on "
        "1, SVM's on 2, all on Pima, C = 1. R goes for MKL's from 10.0 to 60.0 (printed 61.1) and for QN-PKL's from "
        "20.0 to 40.0 (printed 89.9). QN-PKL takes 2.0 to 4.0 times the seconds of QN-PKL to 1e-2.",
    )
