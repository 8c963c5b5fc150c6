"""What `oracle-opt doctor` finds: nothing where all is well, and each thing that is broken."""

import sys
from importlib import metadata

import cvxpy as cp
import numpy as np
import pytest
from typer.testing import CliRunner

from oracle_opt import FunctionOracle, Simplex
from oracle_opt.cli import main
from oracle_opt.doctor import Diagnosis, Finding, diagnosis, examine, self_test
from oracle_opt.doctor.findings import found
from oracle_opt.generators import Kelley

PROBLEMS = ("kernel_weights", "matrix_game", "pentagon", "projection")
REQUIRES = [
    "numpy>=2.0",
    "scipy (>=1.14)",
    "no-such-package>=3.1",
    'also-missing[more]>=1; extra == "study"',
    'also-missing>=1; extra == "plot"',
    'pytest>=99.0; extra == "parallel"',
    'oracle-opt[study]; extra == "all"',
    'ruff>=0.9; extra == "dev"',
]


@pytest.fixture
def well(monkeypatch, tmp_path):
    """No environment variables that might name folders that are gone."""
    for name in ("ORACLE_OPT_DATA", "ORACLE_OPT_PROBLEMS", "ORACLE_OPT_BASELINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path / "cache"))


def by_name(findings) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_a_healthy_installation(well):
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0, done.output
    for words in ("numpy", metadata.version("numpy"), "ORACLE_OPT_DATA", "Nothing is broken.", "pentagon", "<= 3 <="):
        assert words in done.stdout
    assert "BROKEN" not in done.stdout


def test_the_diagnosis_as_data(well):
    diagnosis = examine()
    assert diagnosis.healthy
    assert diagnosis.broken == ()
    assert repr(diagnosis) == "Diagnosis(healthy)"
    assert [finding.name for finding in diagnosis.sections["Self-test"]] == [n.replace("_", " ") for n in PROBLEMS]


def test_the_minimum_of_the_self_test_is_that_of_another_solver():
    """The dual of l1-MKL: the largest of 1'a - t with a'Y K_k Y a / 2 <= t for all k, y'a = 0, 0 <= a <= C."""
    oracle = self_test.kernel_weights().oracle
    a, t = cp.Variable(40), cp.Variable()
    constraints = [a >= 0, a <= 10, oracle.y @ a == 0]
    for weights in np.eye(oracle.bank.n_kernels):
        values, vectors = np.linalg.eigh(oracle.bank.combine(weights))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        constraints.append(cp.sum_squares((root.T * oracle.y) @ a) <= 2 * t)
    found_value = cp.Problem(cp.Maximize(cp.sum(a) - t), constraints).solve(solver=cp.CLARABEL)
    assert found_value == pytest.approx(self_test.MKL_MINIMUM, rel=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_wrong_minimum_is_found(name, monkeypatch):
    """The self-test can fail: a known minimum off by a thousandth is not between the bounds."""
    problem = getattr(self_test, name)()
    wrong = self_test.SelfTestProblem(problem.oracle, problem.generator, 1.001 * problem.minimum)
    (finding,) = self_test._solved(name, wrong)
    assert finding.broken
    assert "not between the bounds" in finding.words


def test_a_run_that_does_not_converge_is_broken(monkeypatch):
    """An oracle whose answers contradict each other."""
    rng = np.random.default_rng(0)
    oracle = FunctionOracle(lambda z: (float(rng.normal()), rng.normal(size=3)), Simplex(3))
    (finding,) = self_test._solved("random", self_test.SelfTestProblem(oracle, Kelley(), 0.0))
    assert finding.broken


def test_an_exception_is_a_finding_and_ends_nothing(well, monkeypatch):
    def broken():
        raise RuntimeError("the\nlibrary is gone")

    monkeypatch.setattr(self_test, "matrix_game", broken)
    findings = by_name(found(self_test.self_test, "self test"))
    assert findings["broken"] == Finding("broken", "RuntimeError: the library is gone", True)
    assert not findings["pentagon"].broken
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "BROKEN: RuntimeError" in done.stdout
    assert "Broken: broken." in done.stdout


def test_missing_and_old_packages(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRES)
    findings = by_name(diagnosis.packages())
    assert list(findings) == ["numpy", "scipy", "no-such-package", "also-missing", "pytest"]
    assert findings["numpy"] == Finding("numpy", metadata.version("numpy"))
    missing = "missing, and required: pip install 'no-such-package>=3.1'"
    assert findings["no-such-package"] == Finding("no-such-package", missing, True)
    assert findings["also-missing"] == Finding("also-missing", "not installed: pip install 'oracle-opt[study]'")
    assert findings["pytest"].broken
    assert ">=99.0 is required: pip install 'oracle-opt[parallel]'" in findings["pytest"].words


def test_a_package_that_cannot_be_imported(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: ["highspy>=1.10"])
    monkeypatch.setitem(sys.modules, "highspy", None)
    (finding,) = diagnosis.packages()
    assert finding.broken
    assert "which cannot be imported: ModuleNotFoundError: " in finding.words


@pytest.mark.parametrize(
    ("version", "versions", "recent"),
    [
        ("2.0", ">=2.0", True),
        ("1.26.4", ">=2.0", False),
        ("2.10.0rc1", ">=2.9,<3", True),
        ("1.9", ">=1.10", False),
        ("3", "", True),
    ],
)
def test_versions_are_compared_by_their_numbers(version, versions, recent):
    assert diagnosis._is_recent(version, versions) is recent


def test_a_data_folder_that_is_not_there(monkeypatch, tmp_path):
    (tmp_path / "sets").mkdir()
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path / "gone"))
    monkeypatch.setenv("ORACLE_OPT_PROBLEMS", str(tmp_path / "sets"))
    findings = by_name(diagnosis.data_folders())
    assert findings["ORACLE_OPT_DATA"].broken
    assert "there is no such folder" in findings["ORACLE_OPT_DATA"].words
    assert not findings["ORACLE_OPT_PROBLEMS"].broken
    assert "wdbc" in findings["data sets here"].words


def test_what_is_pasted_does_not_name_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path / "uci"))
    (tmp_path / "uci").mkdir()
    assert by_name(diagnosis.data_folders())["ORACLE_OPT_DATA"].words == "~/uci"


def test_a_diagnosis_prints_its_sections():
    diagnosis = Diagnosis({"One": (Finding("a", "well"), Finding("b", "gone", True)), "Two": ()})
    assert str(diagnosis).splitlines() == [
        *("One", "  a                      well", "  b                      BROKEN: gone", "", "Two", "", "Broken: b."),
    ]
    assert repr(diagnosis) == "Diagnosis(b broken)"
