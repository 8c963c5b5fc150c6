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
