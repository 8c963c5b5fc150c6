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
from oracle_opt.generators import Kelley

PROBLEMS = ("kernel_weights", "matrix_game", "projection")
REQUIRES = [
    'also-missing[more]>=1; extra == "study"',
    "numpy>=2.0",
    "no-such-package>=3.1",
    'also-missing>=1; extra == "plot"',
    'numpy>=99.0; extra == "parallel"',
    'oracle-opt[study]; extra == "all"',
    'ruff>=0.9; extra == "dev"',
]


def test_a_healthy_installation():
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0, done.output
    for words in ("numpy", metadata.version("numpy"), "Nothing is broken.", "projection", "<= 3 <="):
        assert words in done.stdout
    assert "BROKEN" not in done.stdout


def test_the_diagnosis_as_data():
    diagnosis = examine()
    assert diagnosis.healthy
    assert diagnosis.broken == ()
    assert repr(diagnosis) == "Diagnosis(healthy)"
    assert [finding.name for finding in diagnosis.self_test] == [name.replace("_", " ") for name in PROBLEMS]


def test_the_minimum_of_the_self_test_is_that_of_another_solver():
    """The dual of l1-MKL: the largest of 1'a - t with a'Y K_k Y a / 2 <= t for all k, y'a = 0, 0 <= a <= C."""
    oracle, _, _ = self_test.kernel_weights()
    a, t = cp.Variable(40), cp.Variable()
    constraints = [a >= 0, a <= 10, oracle.y @ a == 0]
    for weights in np.eye(oracle.bank.n_kernels):
        values, vectors = np.linalg.eigh(oracle.bank.combine(weights))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        constraints.append(cp.sum_squares((root.T * oracle.y) @ a) <= 2 * t)
    found_value = cp.Problem(cp.Maximize(cp.sum(a) - t), constraints).solve(solver=cp.CLARABEL)
    assert found_value == pytest.approx(self_test.MKL_MINIMUM, rel=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_wrong_minimum_is_found(name):
    """The self-test can fail: a known minimum off by a thousandth is not between the bounds."""
    oracle, generator, minimum = getattr(self_test, name)()
    words, broken = self_test.tried(oracle, generator, 1.001 * minimum)
    assert broken
    assert "not between the bounds" in words


def test_a_run_that_does_not_converge_is_broken():
    """An oracle whose answers contradict each other."""
    rng = np.random.default_rng(0)
    oracle = FunctionOracle(lambda z: (float(rng.normal()), rng.normal(size=3)), Simplex(3))
    assert self_test.tried(oracle, Kelley(), 0.0)[1]


def test_an_exception_is_a_finding_and_ends_nothing(monkeypatch):
    def broken():
        raise RuntimeError("the\nlibrary is gone")

    monkeypatch.setattr(self_test, "matrix_game", broken)
    findings = {finding.name: finding for finding in examine().self_test}
    assert findings["matrix game"] == Finding("matrix game", "RuntimeError: the library is gone", True)
    assert not findings["projection"].broken
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "BROKEN: RuntimeError" in done.stdout
    assert "Broken: matrix game." in done.stdout


def test_missing_packages(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRES)
    _, _, *findings = diagnosis.packages()
    assert findings == [
        Finding("numpy", metadata.version("numpy")),
        Finding("no-such-package", "missing, and required: pip install 'no-such-package>=3.1'", True),
        Finding("also-missing", "not installed: pip install 'oracle-opt[study]'"),
    ]


def test_a_package_that_cannot_be_imported(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: ["highspy>=1.10"])
    monkeypatch.setitem(sys.modules, "highspy", None)
    *_, finding = diagnosis.packages()
    assert finding.broken
    assert finding.words.startswith("ModuleNotFoundError: ")


def test_a_diagnosis_prints_its_parts():
    diagnosis = Diagnosis((Finding("a", "well"), Finding("b", "gone", True)), ())
    assert str(diagnosis).splitlines() == [
        *("Packages", "  a                      well", "  b                      BROKEN: gone", "", "Self-test", ""),
        "Broken: b.",
    ]
    assert repr(diagnosis) == "Diagnosis(b broken)"
