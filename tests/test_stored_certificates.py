"""The certificate files that ship with the suite of problems: each holds, and small ones are proven from the data."""

from __future__ import annotations

from functools import partial
from math import isfinite

import pytest

from oracle_opt import problems
from oracle_opt.arrays import digest
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.problems.certified import FOLDER, LARGEST, certificate_name
from oracle_opt.problems.proven import TABLE, read_proofs

SHIPPED = sorted(FOLDER.rglob("*.gz"))
PROOFS = read_proofs(TABLE)


def test_the_files_that_ship_are_small_and_those_of_the_table() -> None:
    assert len(SHIPPED) >= 100
    assert max(path.stat().st_size for path in SHIPPED) <= LARGEST
    assert sum(path.stat().st_size for path in SHIPPED) <= 1_000_000
    known = {str(certificate_name(problem)) for problem in problems.suite()}
    missing = problems.missing()
    for path in SHIPPED:
        name = str(path.relative_to(FOLDER))
        assert name in known or path.parent.name in missing or f"{path.parent.name}/{path.name[:-9]}" in missing


def test_every_file_that_ships_holds() -> None:
    """Exactly, given its cuts; and it is the row of the table, whose bounds hold the stated minimum."""
    rows = {(proof.lower_bound, proof.upper_bound): name for name, proof in PROOFS.items()}
    for path in SHIPPED:
        certificate = Certificate.load(path)
        assert certificate.verify().holds
        assert (certificate.lower, certificate.upper) in rows, path


SMALL = [
    problem
    for problem in problems.suite()
    if problem.n <= 60 and (FOLDER / certificate_name(problem)).exists() and problem.name != "stochastic/lands-1e6"
]


@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name.replace(" ", "_"))
def test_small_files_are_proven_from_the_data(problem: problems.Problem) -> None:
    path, proof = problems.stored_certificate(problem), PROOFS[problem.name]
    assert path is not None
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


def test_a_problem_of_other_data_has_no_file() -> None:
    (problem,) = problems.find("nonsmooth/CB2")
    assert problems.stored_certificate(problem) is not None
    other = problems.Problem(problem.name, problem.family, 2, partial(problem.make), "other")
    assert problems.stored_certificate(other) is None
