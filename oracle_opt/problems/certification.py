"""Runs that prove a problem of the suite, certificate files in a clone of the sources, and the list of all proven."""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from oracle_opt.answers.eigenpairs import Eigenpairs
from oracle_opt.arguments import instance, real
from oracle_opt.arrays import digest
from oracle_opt.bounds import relative_gap
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.certificates.proof_level import standing_of
from oracle_opt.driver import minimize
from oracle_opt.errors import CapabilityMismatch, InvalidCertificate, Refuted
from oracle_opt.files import folder_name
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.oracle import Oracle
from oracle_opt.problems.instance import Problem
from oracle_opt.problems.lookup import family, missing, suite
from oracle_opt.problems.problem_family import Generated
from oracle_opt.result import Result
from oracle_opt.words import one_line

TABLE = Path(__file__).with_name("proven.csv")


@dataclass(frozen=True, eq=False)
class Proof:
    """The bounds that one run has proven of a problem."""

    __repr__ = one_line

    name: str
    data: str
    upper_bound: float
    lower_bound: float
    n_calls: int
    generator: str
    certificate: str = ""

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.upper_bound, self.lower_bound)


def proof_of(problem: Problem) -> Proof | None:
    """Return what is proven of a problem, `None` if nothing of these data."""
    proof = _shipped().get(problem.name)
    return proof if proof is not None and proof.data == digest(problem.identity()) else None


@cache
def _shipped() -> dict[str, Proof]:
    return read_proofs(TABLE)


def read_proofs(path: Path) -> dict[str, Proof]:
    """Return the rows of a table, by the names of the problems; none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {
            row["name"]: Proof(
                row["name"],
                row["data"],
                float(row["upper_bound"]),
                float(row["lower_bound"]),
                int(row["n_calls"]),
                row["generator"],
                row["certificate"],
            )
            for row in rows
        }


def write_proofs(path: Path, proofs: Mapping[str, Proof]) -> None:
    """Write a table, in the order of the mapping; numbers to the last bit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Proof)])
        writer.writerows(astuple(proof) for proof in proofs.values())


FOLDER = Path(__file__).resolve().parents[2] / "tests" / "problem_certificates"  # of a clone; no part of an install
ENDING = ".jsonl.gz"
LARGEST = 20_000  # bytes of a file that is kept; those of larger problems are made when they are wanted
TARGET = 1e-6  # relative gap that a run goes on to


@dataclass(frozen=True, eq=False)
class Certified:
    """The bounds proven of a problem, and the certificate of them.

    Parameters
    ----------
    proof : Proof
        The row of the table.
    certificate : Certificate
        As verified.
    """

    __repr__ = one_line

    proof: Proof
    certificate: Certificate


def certify(problem: Problem, *, max_seconds: float = 30.0) -> Certified:
    """Solve a problem, write the certificate of the best run and verify it.

    A few generators run one after the other until one has reached a relative gap of 1e-6, or an absolute one where the
    minimum is 0; that one, or the run with the smallest gap, makes the certificate. It is verified against the
    witnesses of the cuts where the oracle has them.

    Parameters
    ----------
    problem : Problem
        As of `find`; its instance of seed 0 is solved.
    max_seconds : float
        Limit of each run.

    Returns
    -------
    Certified

    Raises
    ------
    InvalidCertificate, Refuted
        No run had two finite bounds, or they do not hold: nothing is to be published of it.

    Examples
    --------
    >>> from oracle_opt import problems
    >>> (problem,) = problems.find("nonsmooth/CB2")
    >>> made = problems.certify(problem)
    >>> bool(made.certificate.lower <= problem.optimum <= made.certificate.upper)
    True
    """
    instance("problem", problem, Problem, 'a Problem such as find("nonsmooth/CB2")[0]')
    oracle, result, generator = _best(problem, real("max_seconds", max_seconds, above=0.0))
    if not isfinite(result.lower_bound):
        raise InvalidCertificate(f"{problem.name}: no run proved a lower bound in {max_seconds:g} seconds")
    word = standing_of(result, oracle).value
    certificate = result.certificate()
    proof = Proof(
        problem.name,
        digest(problem.identity()),
        certificate.upper,
        certificate.lower,
        result.n_calls,
        type(generator).__name__,
        word,
    )
    return Certified(proof, certificate)


def stored_certificate(problem: Problem) -> Path | None:
    """Return the certificate file of a problem, where the library is a clone of its sources.

    Parameters
    ----------
    problem : Problem
        As of `find`.

    Returns
    -------
    Path or None
        For `Certificate.load` and the command ``oracle-opt verify``. None if the problem has no file: it would be
        larger than 20 kB, or these data are others, or the library was installed without its sources, which hold the
        files in ``tests/problem_certificates``. `certify` makes the certificate then.
    """
    instance("problem", problem, Problem, 'a Problem such as find("nonsmooth/CB2")[0]')
    path = FOLDER / certificate_name(problem)
    return path if proof_of(problem) is not None and path.exists() else None


def where_stored() -> str:
    """Say in one sentence where the certificate files are."""
    if FOLDER.is_dir():
        return f"The files of certificates are in {FOLDER}."
    place = "/".join(FOLDER.parts[-2:])
    return f"The files of certificates are in a clone of the sources, in {place}; `oracle-opt certify` makes any anew."


def write_certificates(
    problems: Iterable[Problem], folder: Path, max_seconds: float, say: Callable[[str], object]
) -> bool:
    """Certify problems, write a file of each into a folder, and say each in a line; whether none was refused."""
    fine = True
    for problem in problems:
        try:
            made = certify(problem, max_seconds=max_seconds)
        except (InvalidCertificate, Refuted) as refusal:
            fine = False
            say(f"{problem.name}: refused, {refusal}")
            continue
        path = folder / certificate_name(problem)
        path.parent.mkdir(parents=True, exist_ok=True)
        size, proof = made.certificate.save(path).stat().st_size, made.proof
        say(
            f"{problem.name}: {proof.certificate}, [{proof.lower_bound:.10g}, {proof.upper_bound:.10g}] in "
            f"{proof.n_calls} calls of {proof.generator}; {path}, {size / 1e3:.2g} kB"
        )
    return fine


def certificate_name(problem: Problem) -> Path:
    """Folder of the family and file in it."""
    return Path(problem.family) / (folder_name(problem.name.removeprefix(f"{problem.family}/")) + ENDING)


def _best(problem: Problem, max_seconds: float) -> tuple[Oracle, Result, QueryPointGenerator]:
    """The run that reached the gap, or came closest."""
    one = problem(0)
    known = abs(one.optimum) if isfinite(one.optimum) else None
    rtol, atol = (TARGET, 0.0) if known is None else (0.0, TARGET * (known or 1.0))
    best: tuple[Result, QueryPointGenerator] | None = None
    for generator in _methods(problem, one.oracle):
        try:
            result = minimize(
                one.oracle, generator, one.start, rtol=rtol, atol=atol, max_calls=20_000, max_seconds=max_seconds
            )
        except CapabilityMismatch:
            continue
        if best is None or result.success or result.gap < best[0].gap:
            best = result, generator
        if result.success:
            break
    assert best is not None
    return one.oracle, *best


def _methods(problem: Problem, oracle: Oracle) -> list[QueryPointGenerator]:
    """The best first: linear programs by Kelley's vertices, eigenvalues with their vectors."""
    from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, SpectralBundle
    from oracle_opt.oracles import GMKLOracle, NewtonMKL

    if Eigenpairs in oracle.gives:
        return [SpectralBundle(min_order=40), LevelSet()]
    if problem.family in ("lp", "qp"):
        return [Kelley(), ProximalBundle(), AnalyticCenter()]
    if problem.family == "stochastic":
        return [ProximalBundle(), Kelley(), AnalyticCenter()]
    if problem.family == "sdp":
        return [AnalyticCenter(), LevelSet()]
    if isinstance(oracle, GMKLOracle):
        return [NewtonMKL(), LevelSet()]
    dense = [AnalyticCenter()] if problem.n <= 2000 else []  # a matrix of its size is factorized at each call
    return [LevelSet(), ProximalBundle(), *dense, Kelley()]


NOT_PROVEN = "-"


class Listing(NamedTuple):
    """One line of the list, in words."""

    name: str
    n: str
    optimum: str
    gap: str
    calls: str
    generator: str
    certificate: str
    source: str


def listings(name: str | None = None) -> list[Listing]:
    """Return a line for each problem of a family, or of all: first those at hand, then the others with the reason."""
    absent = [Listing(known, "", "", "", "", "", "", f"not at hand: {why}") for known, why in missing(name).items()]
    return [_line(problem) for problem in suite(name)] + absent


def _line(problem: Problem) -> Listing:
    proof = proof_of(problem)
    known = problem.optimum
    if not isfinite(known) and isinstance(family(problem.family), Generated):
        known = problem().optimum  # each instance knows its own
    optimum = f"{known:.10g}" if isfinite(known) else NOT_PROVEN
    source = problem.source.partition("; ")[0]
    if proof is None:
        return Listing(problem.name, str(problem.n), optimum, *4 * (NOT_PROVEN,), source)
    # where the minimum is 0 a gap relative to the best value says nothing
    gap = f"{proof.upper_bound - proof.lower_bound:.0e} abs." if known == 0 else f"{proof.gap:.0e}"
    worth = proof.certificate or NOT_PROVEN
    if stored_certificate(problem) is not None:
        worth += ", file"
    return Listing(problem.name, str(problem.n), optimum, gap, str(proof.n_calls), proof.generator, worth, source)
