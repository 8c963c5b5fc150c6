"""The coverage table: everything of the five papers is in it, and what it names is there."""

import importlib
import re
import runpy
from pathlib import Path

import numpy as np
from papers_data import svm_value
from typer.testing import CliRunner

from oracle_opt import Query
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import GMKLOracle, LpRegularizer, ProductBank
from papers import spg_sets
from papers.__main__ import main
from papers.coverage import PAPERS, STATUSES, coverage
from papers.experiments import EXPERIMENTS
from papers.figures import all_figures
from papers.repetitions import Options
from papers.sets import Sets

ROOT = Path(__file__).resolve().parents[1]
LINES = coverage()
TABLES = {"accpm": 4, "spg": 11, "smo": 1, "mixnorm": 0, "qnpkl": 2}
ALGORITHMS = {"accpm": 2, "spg": 1, "smo": 0, "mixnorm": 1, "qnpkl": 1}
FIGURES = {
    "accpm": ("1", "2", "3"),
    "spg": ("1", "2"),
    "smo": ("1a", "1b", "1c", "1d"),
    "mixnorm": ("1a", "1b", "1c", "1d", "1e", "1f", "2, left", "2, right"),
    "qnpkl": ("1",),
}
WITHOUT_NUMBER = {
    ("accpm", "kcg"),
    ("accpm", "level-set"),
    ("accpm", "simpleMKL"),
    ("accpm", "average"),
    ("accpm", "duality gap (17)"),
    ("spg", "PGD"),
    ("spg", "the parts of SPG"),
    ("spg", "SILP"),
    ("smo", "lp norms"),
    ("smo", "p = 2"),
    ("smo", "KL divergence"),
    ("smo", "regression"),
    ("smo", "novelty detection"),
    ("mixnorm", "share of kernels without weight"),
    ("qnpkl", "not convex"),
}


def numbered():
    """What the papers number."""
    for paper in PAPERS:
        yield from ((paper, f"Table {k}") for k in range(1, TABLES[paper] + 1))
        yield from ((paper, f"Figure {name}") for name in FIGURES[paper])
        yield from ((paper, f"Algorithm {k}") for k in range(1, ALGORITHMS[paper] + 1))


def test_all_tables_figures_and_algorithms_of_the_papers_are_there():
    items = [(line.paper, line.item) for line in LINES]
    of_numbers = [item for item in items if re.match("Table|Figure|Algorithm", item[1])]
    assert sorted(of_numbers) == sorted(numbered())
    for paper, words in WITHOUT_NUMBER:
        assert any(line.paper == paper and words in line.what for line in LINES), words


def test_every_experiment_occurs_and_every_command_is_one():
    assert {name for line in LINES for name in line.commands} == set(EXPERIMENTS)


def test_an_experiment_stands_with_its_own_paper():
    for line in LINES:
        for name in line.commands:
            assert name.startswith(f"{line.paper}-")
            table = re.fullmatch(r"(Table|Figure) (\d+).*", line.item)
            if table and re.search(r"(table|figure)\d", name):
                assert f"{table[1].lower()}{table[2]}" in name


def test_every_table_of_the_file_of_figures_runs():
    """A table whose figures we have, without a command, would be an omission."""
    of_figures = {(line["paper"], line["table"]) for line in all_figures()}
    for line in LINES:
        if (line.paper, line.item.lower().replace(" ", "")) in of_figures:
            assert line.commands, line.item


def test_every_class_can_be_imported():
    modules = [
        importlib.import_module(name)
        for name in ("oracle_opt", "oracle_opt.generators", "oracle_opt.oracles", "oracle_opt.oracles.svm")
    ]
    for name in {name for line in LINES for name in line.classes}:
        assert any(name in module.__all__ for module in modules), name


def test_what_is_not_built_has_its_reason():
    for line in LINES:
        assert line.status in STATUSES
        assert line.what
        assert line.commands or line.classes or line.reason
        assert bool(line.reason) == (line.status != "built"), line
        assert line.reason == line.reason.strip().rstrip(".")


def test_the_listing_has_them_all():
    result = CliRunner().invoke(main, ["--list"])
    assert result.exit_code == 0, result.output
    for name in EXPERIMENTS:
        assert name in result.stdout
    assert "data not at hand" in result.stdout
    assert result.stdout.count("Algorithm") == sum(ALGORITHMS.values())


def test_without_a_name_it_says_what_to_do():
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 2
    assert "--list" in result.stderr


def test_the_page_has_the_table():
    tool = runpy.run_path(str(ROOT / "tools" / "papers_pages.py"))
    page = (ROOT / "papers" / "README.md").read_text(encoding="utf-8")
    assert page == tool["with_coverage"](page, tool["pages_of_experiments"]()), "run tools/papers_pages.py"
    for name in EXPERIMENTS:
        assert f"[{name}](pages/" in page
    for line in LINES:
        assert f"| {line.item} | {line.what} |" in page


def test_the_objective_of_a_product_is_not_convex():
    """Section 4 of Picard et al. (2012) proves it at fixed dual variables; here of the optimal value, by an example."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), rng.choice([-1.0, 1.0], size=40)
    D = (x[:, None] - x) ** 2
    oracle = GMKLOracle(ProductBank([D]), y, LpRegularizer(1.0), C=10.0)
    weights = np.linspace(0.1, 4.0, 14)
    cuts = [oracle.query(Query(np.array([g]), 1e-8)) for g in weights]
    values = np.array([cut.value - 0.5 * g**2 for cut, g in zip(cuts, weights, strict=True)])
    np.testing.assert_allclose(values, [svm_value(np.exp(-g * D), y, C=10.0) for g in weights], rtol=1e-5)
    above_chord = values[1:-1] - (values[:-2] + values[2:]) / 2
    assert above_chord.max() > 1e-3 * values.max()
    assert not oracle.convex
    assert all(cut.lower_bound == -np.inf for cut in cuts)


def test_statistics_of_the_sets_are_those_of_the_files(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    found = [
        (label, Dataset(label, rng.normal(size=shape), np.ones(shape[0]), (), "", ""))
        for label, shape in {"Sonar": (208, 60), "Wpbc": (194, 34), "Liver": (100, 6), "Letter": (20000, 16)}.items()
    ]
    found[1][1].X[:, 7] = 2.0
    monkeypatch.setattr(spg_sets, "sets_of", lambda names, options: Sets(found, ["a note"], ("Leukemia",)))
    outcome = spg_sets.table1(Options(tmp_path))
    ours = {(row.set, row.quantity): row.ours for row in outcome.rows}
    assert [ours["Wpbc", what] for what in ("points", "features", "kernels, sum", "kernels, product")] == [
        *(194, 34, 442, 33),
    ]
    assert ours["Sonar", "kernels, sum"] == 793
    assert {what for name, what in ours if name == "Letter"} == {"points", "features"}
    assert outcome.findings == (
        "Of 4 sets at hand 2 have the numbers that the paper prints.",
        "Other numbers have Wpbc, Liver.",
    )
    assert outcome.absent == ("Leukemia",)
