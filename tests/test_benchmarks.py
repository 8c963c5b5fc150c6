"""The runner of the benchmarks knows every script, and every script has its place on the page."""

import re
import runpy
from math import inf
from pathlib import Path

import pytest

from oracle_opt.datasets import load
from oracle_opt.errors import DataUnavailable

ROOT = Path(__file__).resolve().parents[1]
PAGE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in (
        "performance.md",
        "performance_calls.md",
        "performance_kernels.md",
        "performance_certificates.md",
        "problems.md",
        "scaling.md",
        "learning_compared.md",
        "peers.md",
        "energy_models.md",
        "strategies.md",
    )
)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return runpy.run_path(str(ROOT / "benchmarks" / "run.py"))


def test_the_runner_knows_every_script(runner) -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if not path.stem.startswith("_")}
    assert set(runner["SCRIPTS"]) == scripts - {"run"}


def test_every_section_has_its_marks_and_no_mark_is_left_over(runner) -> None:
    names = ["machine", *runner["SCRIPTS"]]
    for name in names:
        runner["splice"](PAGE, name, "figures")  # raises where they are not once each and in order
    assert sorted(re.findall(r"<!-- (?:begin|end) (\w+) -->", PAGE)) == sorted(2 * names)


def test_splice_replaces_its_own_section_alone(runner) -> None:
    page = "a\n<!-- begin one -->\n\nold\n\n<!-- end one -->\nb\n<!-- begin two -->\nkept\n<!-- end two -->\n"
    once = runner["splice"](page, "one", "new\n")
    assert once == page.replace("old", "new")
    assert runner["splice"](once, "one", "new") == once
    for broken in (page.replace("<!-- end one -->", ""), page + page, page.replace("begin one", "begin three")):
        with pytest.raises(ValueError, match="once each"):
            runner["splice"](broken, "one", "new")


def test_kinds_of_support_vector_machines_agree_with_their_peers(monkeypatch, capsys) -> None:
    """The quick run: each answer is certified, and the peer's objective is not better."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr("sys.argv", ["svm_kinds.py", "--quick"])
    runpy.run_path(str(ROOT / "benchmarks" / "svm_kinds.py"))["main"]()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:] if line]
    assert {row[0] for row in rows} == {"class weights", "epsilon-SVR", "one-class", "squared hinge"}
    for row in rows:
        gap, behind = map(float, row[-2:])
        assert 0.0 <= gap <= 1e-9
        assert -1e-10 <= behind <= 1e-6


@pytest.mark.campaign(inf)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read as Linux tells it")
def test_kernels_on_the_fly_are_solved_to_the_gap(monkeypatch, capsys) -> None:
    """The quick run: each row is certified and takes memory; a set that is missing is named."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr("sys.argv", ["on_the_fly.py", "--quick"])
    runpy.run_path(str(ROOT / "benchmarks" / "on_the_fly.py"))["main"]()
    printed = capsys.readouterr().out.splitlines()
    left_out = {line.split()[2].rstrip(",") for line in printed if line.startswith("Left out")}
    headings, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in printed if line[:1] == "|")
    assert len(rows) == 2 - len(left_out)
    for cells in rows:
        found = dict(zip(headings, cells, strict=True))
        assert found["problem"].split(",")[0] not in left_out
        assert 0.0 <= float(found["gap"]) <= 1e-3
        assert float(found["peak, GiB"]) > 0.0
        assert float(found["ratio"]) > 0.0


def test_a_data_set_that_is_missing_is_left_out_with_the_reason(monkeypatch, capsys, tmp_path) -> None:
    for variable in ("ORACLE_OPT_DATA", "ORACLE_OPT_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    script = runpy.run_path(str(ROOT / "benchmarks" / "on_the_fly.py"))
    assert not script["at_hand"]("w8a")
    assert capsys.readouterr().out == "Left out: Web, as the data set 'w8a' is not here\n\n"


@pytest.mark.campaign(inf)
def test_methods_of_learning_are_compared_by_a_proven_optimum(monkeypatch, capsys) -> None:
    """The quick run: no weights are below the proven lower bound, and only ours are at it; who is missing is named."""
    try:
        load("bupa", download=False)
    except DataUnavailable:
        pytest.skip("bupa is not at hand")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr("sys.argv", ["learning.py", "--quick"])
    runpy.run_path(str(ROOT / "benchmarks" / "learning.py"))["main"]()
    tables = [block.splitlines() for block in capsys.readouterr().out.split("\n\n") if block.startswith("|")]
    cells = [[[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] for lines in tables]
    accuracy, _, above, kernels, _, path = (dict(zip(rows[0], rows[2], strict=True)) for rows in cells)
    methods = [name for name in above if name not in ("set", "C", "gap", "least")]
    for name in methods:
        if above[name] == "not installed":
            assert name == "EasyMKL" == next(column for column in accuracy if accuracy[column] == "not installed")
            continue
        assert 40.0 <= float(accuracy[name].split()[0]) <= 100.0
        assert float(above[name].split()[0]) >= -float(above["gap"])
    assert float(above["MKL, norm 1"].split()[0]) <= 0.1 < float(above["SVC, average"].split()[0])
    assert float(above["least"].split()[0]) <= float(above["SVC, one kernel"].split()[0])
    assert kernels["SVC, one kernel"] == "1"
    assert int(path["13 C, from the last"]) < int(path["13 C, anew"])
