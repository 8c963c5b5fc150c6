"""Tables 3, 6, 11 and Figures 1, 2 of Jain et al. (2012): what is run, what is counted, and what is said of it."""

import numpy as np
import pandas as pd
import pytest
from papers_data import QUICK, figures, made_up_studies, svm_value
from scipy import sparse
from sklearn.svm import SVC

from oracle_opt import Query, minimize
from oracle_opt.datasets import Dataset, load
from oracle_opt.generators import SPG, ProjectedGradient
from oracle_opt.oracles import NewtonMKL
from oracle_opt.study.records import BLANK
from oracle_opt.study.results import Results
from papers import spg_descent, spg_growth, spg_large, spg_large_problems
from papers.peak_memory import forget_peak, peak
from papers.repetitions import Options, Row
from papers.report import ours, reproduce, tables_of
from papers.sets import Sets, standardized
from papers.spg_descent import Descent
from papers.spg_large_findings import below_best, first_length, first_share, reached_and_ratio, words_of
from papers.spg_large_problems import OF_DUAL, OF_SIMPLEX, points_of, problem, problems_of


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


def made(of, options, **words):
    return of.recipe(options, **words)(0)


@pytest.mark.parametrize("budget", [1 << 28, 400_000])  # with and without a combined kernel
@pytest.mark.parametrize("p", [1.0, 1.33])
def test_the_objective_is_that_of_the_paper(quick, monkeypatch, budget, p):
    """(2): the dual of the machine on the weighted kernels, and half the squared norm."""
    monkeypatch.setattr(spg_large_problems, "MEMORY_BUDGET", budget)
    instance = made(problem("wdbc", load("wdbc"), p, n_points=300, n_kernels=5), quick)
    bank, y = instance.oracle.bank, instance.oracle.y
    d = instance.start
    cut = instance.oracle.query(Query(d, 1e-9))
    known = svm_value(bank.combine(d), y) + 0.5 * np.sum(d**p) ** (2 / p)
    assert cut.value == pytest.approx(known, rel=1e-6)
    assert ("n_sets" in cut.extras) == (budget == 400_000)
    np.testing.assert_allclose(np.diag(bank.combine(np.eye(5)[0])), 1 / 300)


def test_kernels_and_starts(quick):
    of_points, of_kernels = problem("wdbc", QUICK, 1.33, n_points=60), problem("Sonar", QUICK, 1.33, n_kernels=200)
    instance = made(of_points, quick)
    assert instance.oracle.bank.n_points == 60
    assert [features.size for features in instance.oracle.bank.features] == [4]
    assert 0 < instance.start.min() < 0.3 < 0.7 < instance.start.max() < 1
    many = made(of_kernels, quick)
    assert [widths.size for widths in many.oracle.bank.widths] == [50] * 4
    assert many.start.max() < 50 / 200
    assert many.start.sum() == pytest.approx(25, rel=0.2)
    dual = made(of_points, quick, form=OF_DUAL)
    assert dual.oracle.identity() == instance.oracle.identity()


def test_points_are_drawn_and_sparse_ones_of_many_columns_stay_as_they_are():
    X = sparse.random(30, 1200, density=0.05, random_state=0, format="csr")
    text = Dataset("text", X, np.tile([-1.0, 1.0], 15), tuple(map(str, range(1200))), "", "")
    rows = np.array([3, 1, 4])
    assert (points_of(text, rows) != X[rows]).nnz == 0
    instance = spg_large_problems.sum_of_kernels(text, 20, 3, False, 1.33, "from random weights", 10.0, 0, 0)
    assert instance.oracle.bank.n_points == 20
    assert np.isfinite(minimize(instance.oracle, SPG(), instance.start, rtol=1e-2).upper_bound)
    Z = points_of(QUICK, np.arange(50))
    np.testing.assert_allclose((Z.mean(axis=0), Z.std(axis=0)), (np.zeros(4), np.ones(4)), atol=1e-9)


def test_the_simplex_has_the_solution_of_l1(quick):
    """With C times the sum of the weights in place of C."""
    of = problem("wdbc", QUICK, 1.0, n_kernels=6)
    orthant = made(of, quick)
    weights = minimize(orthant.oracle, SPG(), orthant.start, rtol=1e-7).point
    simplex = made(of, quick, form=OF_SIMPLEX, at=100.0 * weights.sum())
    value = simplex.oracle.query(Query(weights / weights.sum())).value
    assert minimize(simplex.oracle, rtol=1e-7).upper_bound == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(("limit", "value"), [("MAX_SECONDS", 1e-9), ("MAX_CALLS", 2)])
def test_what_does_not_end_within_the_limit_is_a_dash_with_its_gap(quick, monkeypatch, limit, value):
    monkeypatch.setattr(spg_large, limit, value)
    report = reproduce("spg-table3", quick)
    rows = {row.quantity: row for row in report.outcome.rows}
    assert ours(rows["seconds, PGD"]) == ours(rows["hours, SPG-GMKL"]) == "- (0/1)"
    assert (rows["gap, PGD"].ours > 1e-3) == (limit == "MAX_CALLS")  # else there was no answer in time
    assert "PGD does not get to the gap on wdbc." in report.outcome.findings


def test_tables_stand_beside_the_papers(tmp_path, monkeypatch):
    """As if wdbc were Adult and Sonar, and the rest were not at hand."""
    seconds = {"PGD": 72.0, "SPG-GMKL": 36.0, "SPG()": 18.0, "ours": 9.0}
    studies = made_up_studies(
        monkeypatch,
        spg_large,
        lambda k, instance, generator, seed: {
            "processor_seconds": seconds[generator],
            "n_calls": 7,
            "relative_gap": 5e-4,
            "weight": 3.0,
            "peak": 0.5,
            "accuracy": 0.8,
        },
    )
    found = [(label, QUICK) for label in ("Adult-9", "Sonar1M")]
    monkeypatch.setattr(
        spg_large_problems,
        "sets_of",
        lambda names, options: Sets(found, ["a note"], ("Cod-RNA", "KDDCup04", "Covertype")),
    )
    outcome = spg_large.table3(Options(tmp_path))
    counted = figures(outcome)
    assert counted["Adult-9", "hours, PGD"] == pytest.approx(0.02)
    assert counted["Sonar1M", "seconds, specialized"] == pytest.approx(9.0)
    assert counted["Sonar1M", "SVMs, SPG()"] == 7
    assert counted["Sonar1M", "gap, specialized"] == pytest.approx(5e-4)
    assert counted["Sonar1M", "GiB"] == 0.5
    assert ("Adult-9", "hours, SPG()") not in counted  # the paper has it not
    assert outcome.absent == ("Cod-RNA", "KDDCup04", "Covertype")
    assert "a note" in outcome.notes
    sentence = next(words for words in outcome.findings if words.startswith("PGD takes, over the seconds of SPG-GMKL"))
    assert sentence.endswith("on Adult-9 2 times (printed: 7.2); on Sonar1M 2 times (printed: PGD did not converge).")
    of_sonar = [study for study in studies if "wdbc, 120 points, 1000000 kernels, p=1.33" in str(study.instances)]
    methods = {name: type(generator) for study in of_sonar for name, generator in study.generators.items()}
    assert (methods["ours"], methods["PGD"], methods["SPG-GMKL"]) == (NewtonMKL, ProjectedGradient, SPG)
    assert {study.rtol for study in studies} == {1e-3}


def test_a_set_that_is_not_at_hand_has_a_row(tmp_path, monkeypatch):
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path))
    monkeypatch.setitem(spg_large_problems.LARGE, "Adult-9", spg_large_problems.LargeSet("wdbc", 3))
    monkeypatch.setattr(spg_large, "OF_TABLE_6", ("Adult-9", "Real-Sim"))
    report = reproduce("spg-table6", Options(tmp_path))
    lines = {(name, quantity): (paper, mine) for name, quantity, paper, mine in report.lines}
    assert lines["Real-Sim", "hours, SPG-GMKL"] == ("45.94", "data not at hand")
    assert lines["Real-Sim", "hours, PGD"] == ("-", "data not at hand")
    assert lines["Adult-9", "hours, SPG-GMKL"][0] == "4.55"
    values = figures(report.outcome)
    assert max(values["Adult-9", f"gap, {method}"] for method in ("PGD", "SPG-GMKL", "specialized")) <= 1e-3


def test_accuracy_is_that_of_held_out_points(quick):
    instance = spg_large_problems.held_out(QUICK, 60, 4, 1.33, 100.0, 0, 0)
    cut = minimize(instance.oracle, SPG(), instance.start, rtol=1e-3).cut
    (Z,) = standardized(QUICK.X[np.random.default_rng(0).permutation(120)])
    bank = instance.oracle.bank
    np.testing.assert_allclose(bank.cross(Z[:60], np.ones(4)), bank.combine(np.ones(4)), atol=1e-12)
    y = QUICK.y[np.random.default_rng(0).permutation(120)][60:]
    machine = SVC(C=100.0, kernel="precomputed", tol=1e-8).fit(bank.combine(cut.point), instance.oracle.y)
    assert instance.measures["accuracy"](cut) == pytest.approx(
        machine.score(bank.cross(Z[60:], cut.point), y), abs=0.02
    )


def test_quick_problems_are_small(quick):
    problems, notes, absent = problems_of(("Adult-9", "Web-8"), 1.33, quick)
    assert [(of.label, of.n_points, of.n_kernels) for of in problems] == [("wdbc", 120, 20)]
    assert notes
    assert absent == ()


def test_seconds_grow_and_exponents_are_means_over_p(quick, monkeypatch):
    def cubes_and_squares(k, instance, generator, seed):
        size = float(instance.split()[3 if "20 kernels" not in instance else 1])
        return {"processor_seconds": 1e-3 * size ** (3 if "p=2" in instance else 2), "n_calls": 4}

    made_up_studies(monkeypatch, spg_large, cubes_and_squares)
    outcome = spg_growth.figure2(quick)
    rows = {(row.set, row.quantity): row for row in outcome.rows}
    for unit in ("points", "kernels"):
        for method in ("PGD", "SPG-GMKL"):
            exponent = rows["wdbc", f"exponent of {unit}, {method}"]
            assert (exponent.ours, exponent.deviation) == (pytest.approx(2.5), pytest.approx(0.5))
            assert rows[f"wdbc, 80 {unit}, p=2", f"seconds, {method}"].ours == pytest.approx(1e-3 * 80**3)
    assert outcome.findings == (
        "On wdbc, PGD takes 1 to 1 times the seconds of SPG-GMKL, in 8 of 8 cases where both get to the gap.",
    )
    assert set(outcome.figure.data["panel"]) == {"wdbc: points", "wdbc: kernels"}


def history(values, clock, seconds):
    rows = {"instance": "a", "generator": "SPG-GMKL", "seed": 0, "value": values, "clock": clock}
    rows["step"] = "serious"
    rows["oracle_seconds"] = np.diff(clock, prepend=clock[0] - 1.0)
    run = BLANK | {"instance": "a", "generator": "SPG-GMKL", "seed": 0, "processor_seconds": seconds}
    return Results(pd.DataFrame([run]), pd.DataFrame(rows), (1e-3,))


def test_descents_are_told_in_seconds_from_the_begin():
    results = history([30.0, 12.0, 99.0, 14.0, 9.9, 10.04], [7.0, 8.0, 8.5, 9.0, 11.0, 12.0], 5.5)
    results.history.loc[2, "step"] = "null"
    run = Descent.of(results, "a", "SPG-GMKL")
    np.testing.assert_allclose(run.seconds, [0.5, 1.5, 2.5, 4.5, 5.5])
    assert run.to(1.0, 10.0) == pytest.approx(1.5)
    assert run.to(0.001, 10.0) == pytest.approx(4.5)
    assert np.isnan(run.to(1e-3, 9.0))
    sentence = spg_descent._sentence("Web-8", "SPG-GMKL", run, 10.0, 9.95)
    assert sentence == (
        "On Web-8 the objective of SPG-GMKL rises at 2 of 4 steps, and is below the proven lower bound of the minimum "
        "at 1, by up to 0.005 of it."
    )
    never = spg_descent._sentence("Web-8", "PGD", run, 10.0, 9.0)
    assert never.endswith("never below the proven lower bound of the minimum.")


def test_descents_end_at_the_best_value(quick):
    outcome = spg_descent.figure1(quick)
    values = figures(outcome)
    assert values["wdbc", "its relative gap"] <= 1e-4
    for method in ("PGD", "SPG-GMKL"):
        seconds = [values[f"wdbc, to {distance}", f"seconds, {method}"] for distance in ("0.1", "0.01", "0.001")]
        assert 0 < seconds[0] <= seconds[1] <= seconds[2]
    data = outcome.figure.data
    assert data.groupby("name")["y"].last().max() <= 2e-4
    assert (data.groupby("name")["x"].diff().dropna() > 0).all()


def test_share_of_the_first_machine():
    sentence = first_share(history([3.0, 2.0], [1.0, 4.0], 4.0), {"a": "Adult-9", "b": "Web-8"})
    assert sentence[0].startswith(
        "The first SVM of SPG-GMKL takes, of the seconds of all its SVMs, 25 % on Adult-9 (2 SVMs);"
    )
    assert first_share(history([3.0], [1.0], 4.0), {"b": "Web-8"}) == ()


def test_words_on_searches_from_length_1():
    words = first_length(history([3.0, 12.0, 2.0], [1.0, 2.0, 3.0], 3.0), "Web-8", "PGD from 1")
    assert words == ["On Web-8 PGD from 1 got 3 answers, the largest 4 times that of the start."]
    alone = first_length(history([3.0], [1.0], 3.0), "Web-8", "PGD from 1")
    assert alone[0].startswith("On Web-8 PGD from 1 got 1 answer: the SVM of its first trial did not end")


def test_words_on_who_gets_to_the_gap():
    def row(name, quantity, value):
        return Row(name, quantity, value, 0.0, int(np.isfinite(value)), 1)

    rows = [row("a", "seconds, PGD", np.nan), row("a", "seconds, SPG-GMKL", 2.0), row("b", "seconds, PGD", 3.0)]
    rows.append(row("b", "seconds, SPG-GMKL", 2.0))
    assert reached_and_ratio(rows, "table3") == (
        "PGD does not get to the gap on a.",
        "PGD takes, over the seconds of SPG-GMKL, on b 1.5 times.",
    )
    assert reached_and_ratio(rows[2:], "table3")[0] == "All methods get to the gap on all sets that are at hand."


def test_words_on_the_best_C():
    values = {("a", "C=1"): 70.0, ("a", "C=100"): 89.5, ("a", "C=10"): 90.04, ("b", "C=100"): 60.0, ("b", "C=1"): 50.0}
    rows = [Row(name, f"accuracy %, {at}", value, 0.0, 1, 1) for (name, at), value in values.items()]
    assert below_best(rows, 100.0) == ("C = 100 is at most 0.5 points of accuracy below the best C of the table.",)
    assert below_best(rows[3:], 100.0) == ("C = 100 has the best accuracy of the table on each set.",)
    assert below_best([], 100.0) == ()


def test_words_on_a_generator_leave_out_the_defaults():
    assert words_of(SPG(entropic=False, max_length=2.0)) == "`SPG(max_length=2.0, entropic=False)`"
    assert words_of(SPG()) == "`SPG()`"


def test_a_column_that_was_not_run_is_the_papers():
    lines = (
        ("a", "hours", "", "0.01"),
        ("a", "hours, other", "4.4", "not run"),
        ("b", "hours, other", "5.5", "not run"),
        ("b", "hours, ours too", "6.6", "not run"),
        ("a", "hours, ours too", "7.7", "0.02"),
    )
    assert tables_of(lines).splitlines()[:4] == [
        "| hours | ours | other, paper | ours too, paper / ours |",
        "|---|---|---|---|",
        "| a | 0.01 | 4.4 | 7.7 / 0.02 |",
        "| b |  | 5.5 | 6.6 / not run |",
    ]


def test_the_peak_of_memory_is_that_since_it_was_set_back():
    if not forget_peak():
        pytest.skip("this system does not let the peak be set back")
    before = peak()
    block = np.ones(1 << 25)  # 256 MiB
    grown = peak()
    assert grown - before > 0.2
    del block
    assert forget_peak()
    assert peak() < grown - 0.2
