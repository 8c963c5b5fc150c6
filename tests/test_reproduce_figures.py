"""Figures of the experiments, again: by hand from made-up runs, by scikit-learn from the learned weights."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reproduce_data import QUICK, figures, svm_value
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from oracle_opt import minimize
from oracle_opt.datasets import split_points
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.study.records import BLANK, Run
from oracle_opt.study.reproduce import Options, paper_accpm, paper_mixnorm, paper_smo, paper_spg
from oracle_opt.study.reproduce.common import standardized
from oracle_opt.study.results import results_of


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


@pytest.fixture
def made_up_times(monkeypatch):
    """Function that replaces `timed_run` of a module: its calls, each with a number of SVMs and seconds of its own."""

    def replace(module, succeed=lambda k: True):
        calls = []

        def timed_run(oracle, generator, **limits):
            k = len(calls)
            result = SimpleNamespace(success=succeed(k), n_calls=10 + k)
            calls.append(SimpleNamespace(oracle=oracle, generator=generator, limits=limits, seconds=2.0**k))
            return result, 2.0**k

        monkeypatch.setattr(module, "timed_run", timed_run)
        return calls

    return replace


# Wulff and Ong


def made_up_run(instance, generator, seed, rng, status="CONVERGED"):
    numbers = {"n_calls": int(rng.integers(2, 90)), "n_kernels": int(rng.integers(2, 90)), "status": status}
    numbers |= {"generator_seconds": rng.uniform(0.1, 9), "accuracy": rng.uniform(0, 1)}
    return Run(BLANK | {"instance": instance, "generator": generator, "seed": seed} | numbers, pd.DataFrame())


@pytest.fixture
def made_up_runs(monkeypatch):
    rng = np.random.default_rng(0)
    runs = [
        made_up_run(name, generator, split, rng, "MAX_CALLS" if (split, generator) == (1, "kelley") else "CONVERGED")
        for name in ("sonar", "bupa")
        for generator in paper_accpm.METHODS.values()
        for split in range(3)
    ]
    runs += [made_up_run("pima", "fixed-point", 0, rng, "MAX_CALLS"), made_up_run("pima", "kelley", 0, rng, "STALLED")]
    monkeypatch.setattr(paper_accpm, "_runs", lambda names, options: (results_of(runs, (5e-3,)), []))
    return runs


def means(runs, generator, value, ended=("CONVERGED",)):
    """Mean over the runs of a method that converged, by data set."""
    found = {}
    for run in runs:
        if run.row["generator"] == generator:
            found.setdefault(run.row["instance"], []).extend([value(run)] if run.row["status"] in ended else [])
    return {name: sum(values) / len(values) if values else np.nan for name, values in found.items()}


@pytest.mark.parametrize(
    ("table", "quantities", "methods"),
    [
        (
            paper_accpm.table1,
            {"calls": "n_calls", "seconds": "generator_seconds", "kernels": "n_kernels"},
            ["accpm", "level-set", "simpleMKL", "kcg", "average"],
        ),
        (paper_accpm.figure1, {"calls": "n_calls"}, ["accpm", "level-set", "simpleMKL", "kcg", "average"]),
        (paper_accpm.table2, {"accuracy %": "accuracy"}, {"MKL": "accpm", "average": "average"}),
    ],
)
def test_figures_of_runs_are_means_over_those_that_converged(made_up_runs, quick, table, quantities, methods):
    papers = {
        "accpm": "analytic-center",
        "level-set": "level-set",
        "simpleMKL": "reduced-gradient",
        "kcg": "kelley",
        "average": "fixed-point",
    }
    known = {}
    for quantity, attribute in quantities.items():
        for label in methods:
            generator = papers[methods[label] if isinstance(methods, dict) else label]
            ended = ("CONVERGED", "MAX_CALLS") if generator == "fixed-point" else ("CONVERGED",)
            unit = 100.0 if quantity.endswith("%") else 1.0
            values = means(made_up_runs, generator, lambda run: unit * run.row[attribute], ended)  # noqa: B023
            known |= {(name, f"{quantity}, {label}"): value for name, value in values.items()}
    found = figures(table(quick))
    assert found.keys() == known.keys()
    for key, value in known.items():
        assert found[key] == pytest.approx(value, nan_ok=True), key


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
        best = max(best, np.abs(signed).sum() - 0.5 * (kernels @ signed @ signed).max())
        gaps.append((value - best) / value)
        decisions = bank.cross(QUICK.X[test], cut.point) @ signed + svm.intercept_[0]
        accuracies.append(np.mean(np.sign(decisions) == QUICK.y[test]))
    known = np.corrcoef(gaps, accuracies)[0, 1]
    assert figures(paper_accpm.table3(quick))["wdbc", f"correlation, {method}"] == pytest.approx(known, abs=2e-3)
    if method == "accpm":
        assert figures(paper_accpm.figure2(quick))["wdbc", "correlation, accpm"] == pytest.approx(known, abs=2e-3)


# Jain, Vishwanathan and Varma
SUM, PRODUCT = ("1.1", "1.33", "2.0"), ("1.1", "1.33", "2.0")


@pytest.mark.parametrize(
    ("table", "rows", "methods", "count", "kind"),
    [
        (paper_spg.table2, [f"wdbc p={p}" for p in SUM], paper_spg.TWO, False, "sum"),
        (paper_spg.table4, ["wdbc"], paper_spg.FOUR, False, "simplex"),
        (paper_spg.table5, [f"wdbc p={p}" for p in PRODUCT], paper_spg.TWO, False, "product"),
        (paper_spg.table7, ["wdbc", "wdbc, p=1.33"], paper_spg.PARTS, True, "sum"),
        (paper_spg.table9, ["wdbc"], paper_spg.TWO, False, "product of l1"),
    ],
)
def test_seconds_and_calls_of_spg_are_those_of_the_runs(quick, made_up_times, table, rows, methods, count, kind):
    calls = made_up_times(paper_spg, succeed=lambda k: k != 1)
    found, k = figures(table(quick)), 0
    powers = {"wdbc": 1.0 if kind == "product of l1" else 1.1, "wdbc, p=1.33": 1.33}
    train, _ = next(iter(StratifiedKFold(5, shuffle=True, random_state=0).split(QUICK.X, QUICK.y)))
    X, y = QUICK.X[train], QUICK.y[train]
    for row in rows:
        for name in methods:
            call = calls[k]
            assert call.generator is methods[name]
            assert call.limits.pop("max_calls") == 1000
            reached = k != 1
            assert found.pop((row, f"seconds, {name}")) == pytest.approx(2.0**k if reached else np.nan, nan_ok=True)
            if count:
                assert found.pop((row, f"SVMs, {name}")) == pytest.approx(10 + k if reached else np.nan, nan_ok=True)
            k += 1
        # the problem that was run, by scikit-learn at the mean of the kernels
        oracle, limits = call.oracle, call.limits
        d = np.full(oracle.domain.dimension, 1.0 / oracle.domain.dimension)
        p = float(row.split("p=")[1]) if "p=" in row else powers[row]
        norm = (d**p).sum() ** (1 / p)
        if "product" in kind:
            np.testing.assert_array_equal(limits.pop("point"), d)
            assert limits == {"gtol": 0.04}
            (Z,) = standardized(X)
            squares = np.tensordot(d, (Z.T[:, :, None] - Z.T[:, None]) ** 2, 1)
            known = svm_value(np.exp(-squares), y) + (norm if kind == "product of l1" else 0.5 * norm**2)
        else:
            assert limits == {"rtol": 1e-3}
            known = svm_value(uci_bank(X).combine(d), y) + (0.0 if kind == "simplex" else 0.5 * norm**2)
        cut = oracle.query(SimpleNamespace(point=d, accuracy=None, wishes=frozenset()))
        assert cut.value == pytest.approx(known, rel=1e-6)
    assert not found
    assert k == len(calls)


# Vishwanathan, Sun, Theera-Ampornpunt and Varma


def test_accuracies_of_smo_are_those_of_the_learned_weights(quick, monkeypatch):
    seen, solve, shift = [], paper_smo.solve_lp_mkl, 1.0

    def spied(bank, y, **options):
        result = solve(bank, y, **options)
        result.cut.extras["bias"] += shift  # so that it decides some of the points
        seen.append((bank, y, options, result))
        return result

    monkeypatch.setattr(paper_smo, "solve_lp_mkl", spied)
    monkeypatch.setattr(paper_smo, "EXPONENTS", ("1.10", "2.00"))
    ticks = iter(3.0 ** np.arange(99))
    monkeypatch.setattr(paper_smo, "thread_time", lambda: next(ticks))
    found = figures(paper_smo.table1(quick))
    train, test = next(iter(StratifiedKFold(5, shuffle=True, random_state=0).split(QUICK.X, QUICK.y)))
    assert [(o["p"], type(o["solver"]).__name__, o["rtol"]) for _, _, o, _ in seen] == [
        (p, name, 1e-3) for p in (1.1, 2.0) for name in ("SMOMKL", "NewtonMKL")
    ]
    for k, (bank, y, options, result) in enumerate(seen):
        row, name = f"wdbc p={options['p']:.2f}", "SMO-MKL" if k % 2 == 0 else "NewtonMKL"
        np.testing.assert_array_equal(y, QUICK.y[train])
        assert found.pop((row, f"seconds, {name}")) == pytest.approx(3.0 ** (2 * k + 1) - 3.0 ** (2 * k))
        if name == "NewtonMKL":
            continue
        assert found.pop((row, "kernels, SMO-MKL")) == sum(w > 1e-3 * max(result.point) for w in result.point)
        svm = SVC(C=100.0, kernel="precomputed", tol=1e-9).fit(bank.combine(result.point), y)
        decisions = svm.decision_function(bank.cross(QUICK.X[test], result.point))
        known = 100 * np.mean((decisions + shift >= 0) == (QUICK.y[test] > 0))
        assert 50 < known < 100
        assert found.pop((row, "accuracy %, SMO-MKL")) == pytest.approx(known)
    assert not found


def test_seconds_and_exponents_of_smos_figure(quick, monkeypatch):
    clock, sizes = [0.0], []

    def solve(bank, y, *, p, rtol, solver):
        power = 2.0 if type(solver).__name__ == "SMOMKL" else 1.5
        clock[0] += p * bank.n_kernels**power
        sizes.append((bank.n_kernels, len(y), rtol))
        return SimpleNamespace(success=True, relative_gap=1e-3)

    monkeypatch.setattr(paper_smo, "solve_lp_mkl", solve)
    monkeypatch.setattr(paper_smo, "thread_time", lambda: clock[0])
    found = figures(paper_smo.figure1(quick))
    for p in ("1.33", "2"):
        for name, power in (("SMO-MKL", 2.0), ("NewtonMKL", 1.5)):
            for size in (20, 40):
                key = f"wdbc, {size} kernels, p={p}", f"seconds, {name}"
                assert found.pop(key) == pytest.approx(float(p) * size**power)
            assert found.pop((f"wdbc, p={p}", f"exponent of kernels, {name}")) == pytest.approx(power)
    assert not found
    assert sizes == [(20, 120, 1e-3)] * 4 + [(40, 120, 1e-3)] * 4


# Nath and others


def test_the_speed_up_of_mirror_descent_is_over_simple_mkl(quick, made_up_times):
    calls = made_up_times(paper_mixnorm, succeed=lambda k: k != 2)
    found = figures(paper_mixnorm.figure2(quick))
    names = ["MirrorDescent", "ReducedGradient", "LevelSet"]
    assert [type(call.generator).__name__ for call in calls] == 2 * names
    for k, call in enumerate(calls):
        method, count = ("mirror descent", "SimpleMKL", "LevelSet")[k % 3], (10, 20)[k // 3]
        assert call.oracle.bank.n_kernels == count
        assert call.limits == {"rtol": 1e-2, "max_calls": 5000}
        for quantity, value in (("seconds", 2.0**k), ("SVMs", 10 + k)):
            known = value if k != 2 else np.nan
            assert found.pop((f"wdbc, {count} kernels", f"{quantity}, {method}")) == pytest.approx(known, nan_ok=True)
    # 2 / 1 and 16 / 8
    assert found == {("largest", "speed-up of mirror descent over SimpleMKL"): 2.0}
