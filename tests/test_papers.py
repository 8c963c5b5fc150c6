"""Experiments of the papers: quick runs of all, the file of printed figures, the files and tables written."""

import pickle
import re
from math import inf

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from oracle_opt import Box, FunctionOracle, InvalidArgument, NonnegativeOrthant, ObjectiveCut, Status, minimize
from oracle_opt.datasets import load
from oracle_opt.errors import DataUnavailable
from oracle_opt.generators import LBFGS, SPG, FixedPoint, Kelley, ProjectedGradient, SpectralBundle
from oracle_opt.study import Results
from oracle_opt.study.analyses.curves import growth
from oracle_opt.study.records import BLANK
from papers import mixnorm
from papers.__main__ import main
from papers.experiment_runs import Recipe, add_runs
from papers.experiments import EXPERIMENTS
from papers.figures import NOT_CONVERGED, Printed, all_figures, printed_figures
from papers.repetitions import Options, Row, Tally
from papers.report import against_paper, ours, reproduce, tables_of
from papers.sets import fold, rbf_bank, sets_of, standardized
from papers.stopping_rules import REACHED, UntilPlateau, UntilStationary

NAMES = (
    *("accpm-table1", "accpm-table2", "accpm-table3", "accpm-table4"),
    *("accpm-figure1", "accpm-figure2", "accpm-figure3", "accpm-kernels", "accpm-forms"),
    *("spg-table1", "spg-table2", "spg-table4", "spg-table5", "spg-table7", "spg-table9"),
    *("spg-table3", "spg-table6", "spg-table11", "spg-figure2", "spg-figure1"),
    *("spg-table8", "spg-table10", "spg-figure-scale"),
    *("smo-table1", "smo-figure1", "smo-kl", "smo-regression", "smo-novelty"),
    *("mixnorm-figure1", "mixnorm-figure2"),
    *("qnpkl-table1", "qnpkl-table2", "qnpkl-figure1", "qnpkl-protocols"),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduction")


def test_names():
    assert tuple(EXPERIMENTS) == NAMES


@pytest.mark.campaign(6)
@pytest.mark.parametrize("name", NAMES)
def test_quick(name, out):
    result = CliRunner().invoke(main, [name, "--quick", "--out", str(out)])
    assert result.exit_code == 0, result.output
    heading, *lines = [line for line in result.stdout.splitlines() if line.strip() and "─" not in line][1:]
    while heading.split() != ["set", "quantity", "paper", "ours"]:  # a title may fold
        heading, *lines = lines
    table = pd.read_csv(out / name / "table.csv")
    assert list(table.columns[:6]) == ["set", "quantity", "paper", "paper_spread", "ours", "ours_spread"]
    assert np.isfinite(table["ours"]).any()
    for line, (_, row) in zip(lines, table.iterrows(), strict=False):
        assert line.split()[0] == row["set"].split()[0]
        assert row["quantity"] in line
    markdown = (out / name / "table.md").read_text()
    assert len(re.findall(r"^\|---", markdown, re.M)) == table["quantity"].str.split(", ").str[0].nunique()
    assert "--quick" in markdown
    assert (out / name / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_has_a_row_a_set_and_a_column_a_method():
    lines = (
        ("sonar", "calls, accpm", "133.4 ± 14.3", "49.0"),
        ("sonar", "calls, new", "", "8.0"),
        ("wpbc", "calls, accpm", "", "25.3"),
        ("slope", "exponent", "", "1.98"),
    )
    assert tables_of(lines).splitlines() == [
        "| calls | accpm, paper / ours | new, ours |",
        "|---|---|---|",
        "| sonar | 133.4 ± 14.3 / 49.0 | 8.0 |",
        "| wpbc | / 25.3 |  |",
        "",
        "| exponent | ours |",
        "|---|---|",
        "| slope | 1.98 |",
        "",
    ]


def test_the_papers_figures_stand_beside_ours(out):
    report = reproduce("accpm-table1", Options(out, quick=True))
    words = {(name, quantity): paper for name, quantity, paper, _ in report.lines}
    assert words["wdbc", "calls, accpm"] == "72.4 ± 4.1"
    assert words["wdbc", "kernels, average"] == "403"


def test_file_of_figures():
    lines = all_figures()
    keys = [(line["paper"], line["table"], line["row"], line["column"]) for line in lines]
    assert len(set(keys)) == len(keys) > 500
    for line in lines:
        assert list(line) == ["paper", "table", "section", "row", "column", "value", "spread"]
        assert line["section"]
        if line["value"] == NOT_CONVERGED:
            assert not line["spread"]
        else:
            assert np.isfinite(float(line["value"]))
            assert not line["spread"] or float(line["spread"]) >= 0
    found = {(experiment.paper, experiment.table) for experiment in EXPERIMENTS.values()}
    found |= {of_table for experiment in EXPERIMENTS.values() for of_table in experiment.others}
    assert {key[:2] for key in keys} <= found


def test_figures_of_the_uci_comparison_are_complete():
    """The benchmark uci_calls counts on them."""
    calls = {key: figure for key, figure in printed_figures("accpm", "table1").items() if "average" not in key[1]}
    accuracies = printed_figures("accpm", "table2")
    assert len(calls) == 8 * 3 * 4
    assert len(accuracies) == 8 * 2
    assert all(float(figure.value) > 0 and float(figure.spread) > 0 for figure in (calls | accuracies).values())


@pytest.mark.parametrize(
    ("paper", "table", "key", "words"),
    [
        ("accpm", "table2", ("wpbc", "accuracy %, MKL"), "79.4 ± 6.4"),
        ("accpm", "table3", ("ionosphere", "correlation, accpm"), "-0.84 ± 0.0"),
        ("spg", "table2", ("Wpbc p=2.0", "seconds, SPG-GMKL"), "1.2 ± 0.1"),
        ("spg", "table5", ("Sonar p=1.33", "seconds, PGD"), "-"),
        ("spg", "table7", ("Sonar", "SVMs, PGD"), "209461"),
        ("spg", "table3", ("Sonar1M", "hours, SPG-GMKL"), "105.62"),
        ("spg", "table6", ("Cod-RNA", "hours, SPG-GMKL"), "25.17"),
        ("smo", "table1", ("Sonar p=3.00", "kernels, SMO-MKL"), "786.0 ± 4.1"),
        ("qnpkl", "table2", ("Ionosphere", "R %, QN-PKL"), "99.9"),
    ],
)
def test_some_figures(paper, table, key, words):
    assert str(printed_figures(paper, table)[key]) == words


def test_unknown_name_lists_them(tmp_path):
    result = CliRunner().invoke(main, ["spg-table33", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "there is no experiment 'spg-table33': did you mean spg-table" in result.stderr
    assert all(name in result.stderr for name in NAMES)


def test_bad_options(tmp_path):
    for words in ({"splits": 0}, {"seed": -1}, {"jobs": 0}):
        with pytest.raises(InvalidArgument, match=f"`{next(iter(words))}`"):
            Options(tmp_path, **words)


def test_sets_not_at_hand_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path))
    said = []
    options = Options(tmp_path, say=said.append)
    sets = sets_of({"Wpbc": "wpbc", "wdbc": "wdbc"}, options)  # wpbc is nowhere to be fetched from
    assert [label for label, _ in sets.found] == ["wdbc"]
    assert sets.notes == said == ["Wpbc was left out: the data set 'wpbc' is not here. Tried:"]
    assert sets.absent == ("Wpbc",)
    with pytest.raises(DataUnavailable, match="none of the sets wpbc"):
        sets_of({"Wpbc": "wpbc"}, options)


def test_tally_counts_what_did_not_converge():
    tally = Tally()
    for value in (1.0, 3.0, np.nan):
        tally.add("a", "calls", value)
    tally.add("b", "calls", np.inf)
    first, second = tally.rows()
    assert (first.ours, first.deviation, first.reached, first.runs) == (2.0, 1.0, 2, 3)
    assert ours(first) == "2.00 ± 1.00 (2/3)"
    assert ours(second) == "- (0/1)"
    assert ours(Row("c", "calls", np.nan, np.nan, 0, 0)) == "not run"


def test_folds_are_disjoint_and_stratified():
    y = load("wdbc").y
    parts = [fold(y, number, 0) for number in range(5)]
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(y.size))
    assert all(abs((y[test] > 0).mean() - (y > 0).mean()) < 0.01 for _, test in parts)
    assert not np.array_equal(parts[0][1], fold(y, 0, 1)[1])


def test_rbf_bank():
    (Z,) = standardized(np.random.default_rng(0).normal(size=(12, 3)))
    for count in (2, 4, 11):
        bank = rbf_bank(Z, count)
        assert bank.n_kernels == count
        units = np.eye(count)
        kernels = np.array([bank.combine(unit) for unit in units])
        np.testing.assert_allclose(np.trace(kernels, axis1=1, axis2=2), 1.0)
        assert len({kernel.tobytes() for kernel in kernels}) == count
        assert min(np.linalg.eigvalsh(kernel).min() for kernel in kernels) > -1e-12


def test_growth():
    assert growth([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert growth([1, 2, 4], [3.0, np.nan, 48.0]) == pytest.approx(2.0)
    assert np.isnan(growth([1, 2], [3.0, np.nan]))


@pytest.mark.campaign(inf)
def test_runs_are_kept_and_shared_by_the_tables_of_a_paper(tmp_path, monkeypatch):
    """Tables 2 and 7 have sums under p = 1.1 by PGD and SPG() in common; what is there is asked once, and not run."""
    options = Options(tmp_path, quick=True)
    first = reproduce("spg-table7", options)
    files = sorted((tmp_path / "spg-quick").rglob("*"))
    made, make = [], Recipe.__call__
    monkeypatch.setattr(Recipe, "__call__", lambda self, seed: made.append((repr(self), seed)) or make(self, seed))
    again = reproduce("spg-table7", options)
    assert len(made) == len(set(made))
    assert again.outcome.rows == first.outcome.rows
    assert sorted((tmp_path / "spg-quick").rglob("*")) == files
    monkeypatch.undo()
    reproduce("spg-table2", options)
    assert len(Results.read(tmp_path / "spg-quick")) == 5 + 3 * 3 - 2 + 3


@pytest.mark.campaign(inf)
def test_processes_change_no_figure_but_seconds(tmp_path):
    tables = []
    for jobs in (1, 2):
        outcome = reproduce("accpm-table1", Options(tmp_path / str(jobs), quick=True, splits=2, jobs=jobs)).outcome
        tables.append([row for row in outcome.rows if "seconds" not in row.quantity])
    assert tables[0] == tables[1]
    assert len(tables[0]) == 8 + 7 + 8  # calls, calls by our gap but of the average, kernels


def test_failed_runs_are_counted_and_noted(tmp_path, monkeypatch):
    def broken(self):
        raise OSError("no light")

    monkeypatch.setattr(mixnorm.LevelSet, "ask", broken)
    outcome = reproduce("mixnorm-figure2", Options(tmp_path, quick=True)).outcome
    rows = [row for row in outcome.rows if "LevelSet" in row.quantity]
    assert {(row.reached, row.runs) for row in rows} == {(0, 1)}
    assert sum(row.reached for row in outcome.rows) == len(outcome.rows) - len(rows) == 9
    assert (
        sum(note.startswith("failed: wdbc, 10 kernels, LevelSet, 0: OSError: no light") for note in outcome.notes) == 1
    )


def test_an_experiment_of_failures_alone_says_why(tmp_path, monkeypatch):
    def broken(self, query):
        raise OSError("no light")

    monkeypatch.setattr(mixnorm.MKLOracle, "query", broken)
    with pytest.raises(RuntimeError, match=r"(?s)all runs failed.*Traceback.*OSError: no light"):
        reproduce("mixnorm-figure2", Options(tmp_path, quick=True))


def test_runs_that_count_always_are_those_without_an_exception():
    runs = [
        BLANK | {"instance": "a", "generator": "g", "seed": seed, "status": status, "message": message, "n_calls": 7}
        for seed, (status, message) in enumerate(
            [
                ("CONVERGED", ""),
                ("MAX_CALLS", ""),
                ("EXHAUSTED", f"It is so: {REACHED}."),
                ("FAILED", ""),
                ("REFUSED", ""),
            ]
        )
    ]
    results = Results(pd.DataFrame(runs), pd.DataFrame({"instance": [], "generator": [], "seed": []}), (1e-2,))
    for always, known in ((False, [7, np.nan, 7, np.nan, np.nan]), (True, [7, 7, 7, np.nan, np.nan])):
        tally = Tally()
        add_runs(tally, "row", results, "a", {"calls": "n_calls"}, ["g"], called="method", always=always)
        np.testing.assert_array_equal(tally.values["row", "calls, method"], known)


def test_ours_against_the_papers():
    rows = (Row("a", "calls, one", 20.0, 0.0, 1, 1), Row("b", "calls, one", 30.0, 0.0, 1, 1))
    rows += (Row("a", "calls, two", np.nan, np.nan, 0, 1), Row("a", "seconds, one", 1.0, 0.0, 1, 1))
    printed = {
        ("a", "calls, one"): Printed("10", "", ""),
        ("b", "calls, one"): Printed(NOT_CONVERGED, "", ""),
        ("a", "calls, two"): Printed("3", "", ""),
        ("a", "seconds, one"): Printed("900", "", ""),
    }
    curves = against_paper("x", rows, printed)
    assert curves.data[["panel", "name", "x", "y"]].to_numpy().tolist() == [
        ["calls", "one", 10.0, 20.0],
        ["seconds", "one", 900.0, 1.0],
    ]
    assert curves.diagonal
    assert curves.log_x  # 900 and 1
    alone = against_paper("x", rows, {})
    assert alone.data[["name", "x", "y"]].to_numpy().tolist() == [
        ["calls, one", 1.0, 20.0],
        ["calls, one", 2.0, 30.0],
        ["seconds, one", 4.0, 1.0],
    ]
    assert not alone.diagonal
    assert not len(against_paper("x", rows[2:3], printed).data)


# Rules that end runs


def parabola(z):
    return 0.5 * (z - 1) @ (D * (z - 1)), D * (z - 1)


D = np.array([1.0, 10.0, 100.0])


@pytest.mark.parametrize("generator", [SPG(), ProjectedGradient(), LBFGS()])
def test_stationary_runs_end_where_gtol_ends_them(generator):
    oracle = FunctionOracle(parabola, NonnegativeOrthant(3), convex=False)
    known = minimize(oracle, generator, np.full(3, 5.0), gtol=1e-3)
    assert known.status is Status.GRADIENT
    run = minimize(oracle, UntilStationary(generator, 1e-3), np.full(3, 5.0))
    assert run.status is Status.EXHAUSTED
    assert REACHED in run.message
    assert run.n_calls == known.n_calls
    np.testing.assert_array_equal(run.point, known.point)
    again = minimize(oracle, UntilStationary(generator, 1e-3), np.full(3, 5.0))
    assert again.n_calls == run.n_calls


def test_a_plateau_ends_at_a_small_gain():
    plateau = UntilPlateau(SPG(), 1e-2)
    plateau.reset(NonnegativeOrthant(1), np.ones(1))
    cuts = [
        ObjectiveCut(point=np.zeros(1), value=value, subgradient=np.zeros(1)) for value in (10.0, 11.0, 5.0, 5.0, 4.99)
    ]
    assert [plateau.ends(cut) for cut in cuts] == [False, False, False, False, True]
    plateau.reset(NonnegativeOrthant(1), np.ones(1))
    assert not plateau.ends(cuts[-1])


def test_rules_can_be_sent_to_a_process_after_a_run():
    rule = UntilPlateau(SPG(), 1e-3)
    minimize(FunctionOracle(parabola, NonnegativeOrthant(3)), rule, np.full(3, 5.0), max_calls=3)
    assert repr(pickle.loads(pickle.dumps(UntilPlateau(**rule.parameters())))) == repr(rule)


def test_rules_are_those_of_the_other_generator_in_all_else():
    kelley, spg = UntilStationary(Kelley(), 1e-3), UntilPlateau(SPG(), 1e-2)
    assert (kelley.needs_convexity, spg.needs_convexity) == (True, False)
    assert kelley.takes == Kelley().takes
    assert UntilPlateau(FixedPoint(updates=True), 1e-2).needs == FixedPoint(updates=True).needs
    box = Box(np.zeros(2), np.ones(2))
    assert UntilPlateau(SpectralBundle(), 1e-2).refusal(box) == SpectralBundle().refusal(box)
    assert repr(spg) == f"UntilPlateau(generator={SPG()!r}, share=0.01)"
    oracle = FunctionOracle(lambda z: (abs(z - 0.3).sum(), np.sign(z - 0.3)), box)
    run = minimize(oracle, UntilStationary(Kelley(), 1e-9), rtol=1e-9, atol=1e-9)
    assert run.success  # by the bound of the model
    for words in ({"gtol": 0.0}, {"generator": Kelley}):
        with pytest.raises(InvalidArgument, match=f"`{next(iter(words))}`"):
            UntilStationary(**({"generator": Kelley(), "gtol": 1.0} | words))
    with pytest.raises(InvalidArgument, match="`share`"):
        UntilPlateau(SPG(), -1.0)
