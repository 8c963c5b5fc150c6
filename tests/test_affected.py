"""The tests that changed files can reach, as tools/affected.py finds them by imports."""

import runpy

import pytest
from checkout import ROOT, needs_sources

pytestmark = needs_sources


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "affected.py"))


@pytest.mark.parametrize(
    ("test", "near", "far"),
    [
        ("test_benders.py", "oracles/benders/benders_oracle.py", "oracles/max_eigenvalue.py"),
        ("test_conformance_generators.py", "generators/lbfgs.py", "papers/accpm.py"),
        ("test_study_grid.py", "oracle_opt/study/lanes.py", "oracles/benders/benders_oracle.py"),
        ("test_workers_of_oracles.py", "tests/worker_parts.py", "tests/table.py"),
    ],
)
def test_a_test_reaches_what_it_imports_and_what_that_imports(tool, test, near, far) -> None:
    files = tool["reached"](ROOT / "tests" / test)
    assert ROOT / near in files
    assert (ROOT / far).exists()
    assert ROOT / far not in files


@pytest.mark.parametrize(("file", "few"), [("tests/tiny_kinds.py", True), ("oracles/rows.pyx", False)])
def test_compiled_code_reaches_every_test(tool, file, few, capsys) -> None:
    tool["main"].__globals__["changed"] = lambda: {ROOT / file}
    tool["main"]()
    printed = capsys.readouterr().out.splitlines()
    assert "tests/test_affected.py" in printed  # it reads files of the clone
    assert (len(printed) < len(list((ROOT / "tests").glob("test_*.py"))) / 2) is few


def test_a_generator_reaches_the_tests_that_name_it_and_its_cases_of_tables(tool, capsys) -> None:
    tool["main"].__globals__["changed"] = lambda: {ROOT / "generators" / "quasi_newton.py"}
    tool["main"]()
    printed = capsys.readouterr().out.splitlines()
    files, cases = [one for one in printed if "::" not in one], [one for one in printed if "::" in one]
    assert {"tests/test_fixed_variables.py", "tests/test_affected.py"} <= set(files)
    assert len(files) < len(list((ROOT / "tests").glob("test_*.py"))) / 3
    assert any("test_conformance_generators.py" in one for one in cases)
    assert all("quasi" in one or "Quasi" in one for one in cases)


def test_comments_alone_reach_no_test(tool, monkeypatch) -> None:
    text = (ROOT / "generators" / "lbfgs.py").read_text()
    same = tool["same_program"]
    monkeypatch.setitem(same.__globals__, "git", lambda *words: f"# a comment\n{text}")
    assert same("main", "generators/lbfgs.py")
    monkeypatch.setitem(same.__globals__, "git", lambda *words: text.replace("memory", "memories"))
    assert not same("main", "generators/lbfgs.py")
