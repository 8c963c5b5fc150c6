"""Figures of the experiments, again: by hand from made-up runs, by scikit-learn from the learned weights."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce_data import QUICK, figures, made_up_studies
from sklearn.svm import SVC

from oracle_opt import minimize
from oracle_opt.datasets import split_points
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.study.reproduce import Options, paper_accpm, paper_mixnorm
from oracle_opt.study.reproduce.common import rbf_bank, standardized


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


# Wulff and Ong
PAPERS = {
    "accpm": "analytic-center",
    "level-set": "level-set",
    "simpleMKL": "reduced-gradient",
    "kcg": "kelley",
    "average": "fixed-point",
}


def made_up_accpm(k, instance, generator, seed):
    rng = np.random.default_rng(k)
    converged = (seed, generator) not in ((6, "kelley"), (5, "fixed-point"))
    return {
        "status": "CONVERGED" if converged else "MAX_CALLS",
        "n_calls": int(rng.integers(2, 90)),
        "generator_seconds": rng.uniform(0.1, 9),
        "processor_seconds": 1e9,
        "n_kernels": float(rng.integers(2, 90)),
        "accuracy": rng.uniform(0.1, 1),
    }


@pytest.mark.parametrize(
    ("table", "quantities", "methods"),
    [
        (
            paper_accpm.table1,
            {"calls": "n_calls", "seconds": "generator_seconds", "kernels": "n_kernels"},
            {name: name for name in PAPERS},
        ),
        (paper_accpm.table2, {"accuracy %": "accuracy"}, {"MKL": "accpm", "average": "average"}),
    ],
)
def test_figures_of_runs_are_means_over_those_that_converged(tmp_path, monkeypatch, table, quantities, methods):
    studies = made_up_studies(monkeypatch, paper_accpm, made_up_accpm)
    found = figures(table(Options(tmp_path, quick=True, splits=3, seed=5)))
    (study,) = studies
    assert (study.paper, study.rtol, study.max_calls) == ("accpm", 5e-3, 500)
    assert sorted(set(study.runs["seed"])) == [5, 6, 7]
    for quantity, column in quantities.items():
        for label, paper in methods.items():
            runs = study.runs[study.runs["generator"] == PAPERS[paper]]
            if paper != "average":
                runs = runs[runs["status"] == "CONVERGED"]
            unit = 100 if quantity.endswith("%") else 1
            assert found.pop(("wdbc", f"{quantity}, {label}")) == pytest.approx(unit * runs[column].mean())
    assert not found


def test_the_problems_of_accpm_are_those_of_the_splits(tmp_path, monkeypatch):
    studies = made_up_studies(monkeypatch, paper_accpm, made_up_accpm)
    paper_accpm.table1(Options(tmp_path, quick=True))
    (problem,) = studies[0].instances.values()
    train, _ = split_points(QUICK.y, 4)
    known = MKLOracle(uci_bank(QUICK.X[train]), QUICK.y[train], C=100.0)
    assert problem(4).oracle.identity() == known.identity()


def test_figure_of_gaps_against_calls(quick):
    outcome = paper_accpm.figure1(quick)
    table = figures(paper_accpm.table1(quick))
    assert figures(outcome).items() <= table.items()
    for name, paper in (("analytic-center", "accpm"), ("kelley", "kcg")):
        curve = outcome.figure.data[outcome.figure.data["name"] == name]
        assert curve["x"].max() == table["wdbc", f"calls, {paper}"]
        assert curve["y"].iloc[-1] <= 5e-3


@pytest.mark.parametrize("method", ["accpm", "kcg"])
def test_correlations_are_those_of_gap_and_accuracy(quick, method):
    """The SVM of each call by scikit-learn, on the kernel of the query point."""
    train, test = split_points(QUICK.y, 0)
    y, bank = QUICK.y[train], uci_bank(QUICK.X[train])
    generator = paper_accpm.GENERATORS[paper_accpm.METHODS[method]]()
    run = minimize(MKLOracle(bank, y, C=100.0), generator, rtol=5e-3, keep_cuts=True, max_calls=200)
    kernels = np.array([bank.combine(row) for row in np.eye(bank.n_kernels)])
    gaps, accuracies, best = [], [], -np.inf
    for cut in run.history.cuts:
        K = np.tensordot(cut.point, kernels, 1)
        svm = SVC(C=100.0, kernel="precomputed", tol=1e-9).fit(K, y)
        signed = np.zeros(len(y))
        signed[svm.support_] = svm.dual_coef_[0]
        value = np.abs(signed).sum() - 0.5 * signed @ K @ signed
        size, form = np.abs(signed).sum(), (kernels @ signed @ signed).max()
        share = min(1.0, size / form)  # the best multiple of the dual variables
        best = max(best, share * size - 0.5 * share**2 * form)
        gaps.append((value - best) / value)
        decisions = bank.cross(QUICK.X[test], cut.point) @ signed + svm.intercept_[0]
        accuracies.append(np.mean(np.sign(decisions) == QUICK.y[test]))
    known = np.corrcoef(gaps, accuracies)[0, 1]
    assert figures(paper_accpm.table3(quick))["wdbc", f"correlation, {method}"] == pytest.approx(known, abs=2e-3)
    if method == "accpm":
        outcome = paper_accpm.figure2(quick)
        assert figures(outcome)["wdbc", "correlation, accpm"] == pytest.approx(known, abs=2e-3)
        np.testing.assert_allclose(outcome.figure.data["x"], gaps, rtol=1e-3)
        np.testing.assert_allclose(outcome.figure.data["y"], 100 * np.array(accuracies))


# Nath and others


def test_the_speed_up_of_mirror_descent_is_over_simple_mkl(quick, monkeypatch):
    def make(k, instance, generator, seed):
        return {"processor_seconds": 2.0**k, "n_calls": 10 + k, "status": "MAX_CALLS" if k == 2 else "CONVERGED"}

    studies = made_up_studies(monkeypatch, paper_mixnorm, make)
    outcome = paper_mixnorm.figure2(quick)
    found = figures(outcome)
    (study,) = studies
    assert (study.paper, study.rtol, study.max_calls) == ("mixnorm", 1e-2, 5000)
    names = ["MirrorDescent", "ReducedGradient", "LevelSet"]
    assert [type(generator).__name__ for generator in study.generators.values()] == names
    for k in range(6):
        method, count = ("mirror descent", "SimpleMKL", "LevelSet")[k % 3], (10, 20)[k // 3]
        for quantity, value in (("seconds", 2.0**k), ("SVMs", 10 + k)):
            known = value if k != 2 else np.nan
            assert found.pop((f"wdbc, {count} kernels", f"{quantity}, {method}")) == pytest.approx(known, nan_ok=True)
    # 2 / 1 and 16 / 8
    assert found == {("largest", "speed-up of mirror descent over SimpleMKL"): 2.0}
    curve = outcome.figure.data[outcome.figure.data["name"] == "mirror descent"]
    assert curve[["x", "y"]].to_numpy().tolist() == [[10, 1], [20, 8]]
    (Z,) = standardized(QUICK.X)
    for count, recipe in zip((10, 20), study.instances.values(), strict=True):
        known = MKLOracle(rbf_bank(Z, count), QUICK.y, C=100.0)
        assert recipe(0).oracle.identity() == known.identity()
