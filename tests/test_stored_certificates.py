"""The certificate files of the suite of problems: each holds, and small ones are proven from the data."""

from functools import partial
from math import isfinite
from pathlib import Path

import pytest
from checkout import ROOT, needs_sources
from typer.testing import CliRunner

from oracle_opt import problems
from oracle_opt.arrays import digest
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.cli import main
from oracle_opt.problems.certification import LARGEST, TABLE, certificate_name, read_proofs

FOLDER = ROOT / "tests" / "problem_certificates"
STORED = sorted(FOLDER.rglob("*.gz"))
PROOFS = read_proofs(TABLE)


def test_the_files_are_small_and_those_of_the_table() -> None:
    assert len(STORED) >= 100
    assert max(path.stat().st_size for path in STORED) <= LARGEST
    assert sum(path.stat().st_size for path in STORED) <= 1_000_000
    known = {str(certificate_name(problem)) for problem in problems.suite()}
    missing = problems.missing()
    for path in STORED:
        name = str(path.relative_to(FOLDER))
        assert name in known or path.parent.name in missing or f"{path.parent.name}/{path.name[:-9]}" in missing


def test_every_file_holds() -> None:
    """Exactly, given its cuts; and it is the row of the table, whose bounds hold the stated minimum."""
    rows = {(proof.lower_bound, proof.upper_bound): name for name, proof in PROOFS.items()}
    for path in STORED:
        certificate = Certificate.load(path)
        assert certificate.verify().holds
        assert (certificate.lower, certificate.upper) in rows, path


SMALL = [
    problem
    for problem in problems.suite()
    if problem.n <= 60 and (FOLDER / certificate_name(problem)).exists() and problem.name != "stochastic/lands-1e6"
]


@pytest.mark.campaign(5)
@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name.replace(" ", "_"))
def test_small_files_are_proven_from_the_data(problem: problems.Problem) -> None:
    path, proof = FOLDER / certificate_name(problem), PROOFS[problem.name]
    assert proof.data == digest(problem.identity())
    certificate, oracle = Certificate.load(path), problem().oracle
    if certificate.problem != oracle.problem_identity():
        pytest.skip("another version of numpy draws other data")
    verdict = certificate.verify(oracle)
    assert proof.certificate == ("proven" if verdict.proven else "given the cuts")
    known = problem if isfinite(problem.optimum) else problem()
    if isfinite(known.optimum):
        tolerant = problem.family in ("lp", "qp", "sdp", "stochastic", "robust-lp")
        wrong = known.optimum_error + (1e-7 if tolerant else 1e-11) * max(1.0, abs(proof.upper_bound))
        assert verdict.lower - wrong <= known.optimum <= verdict.upper + wrong


@needs_sources
def test_a_problem_of_other_data_has_no_file() -> None:
    (problem,) = problems.find("nonsmooth/CB2")
    assert problems.stored_certificate(problem) == FOLDER / certificate_name(problem)
    other = problems.Problem(problem.name, problem.family, 2, partial(problem.make), "other")
    assert problems.stored_certificate(other) is None


def test_without_the_sources_one_sentence_says_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("oracle_opt.problems.certification.FOLDER", tmp_path / "tests" / "problem_certificates")
    (problem,) = problems.find("nonsmooth/CB2")
    assert problems.stored_certificate(problem) is None
    listed = CliRunner().invoke(main, ["problems", "nonsmooth"])
    assert ", file" not in listed.stdout
    assert "in a clone of the sources, in tests/problem_certificates" in listed.stderr
