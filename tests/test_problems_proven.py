"""The table of proofs that ships with the library: it is of the problems as they are, and of their stated minima."""

from dataclasses import replace
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from oracle_opt import generators, minimize, problems
from oracle_opt.arrays import digest
from oracle_opt.cli import main
from oracle_opt.problems import Problem
from oracle_opt.problems.certification import TABLE, proof_of, read_proofs, write_proofs

OTHERS = ("mkl", "mkl-kinds")  # whose data are those of the user
SUITE = [problem for family in problems.families() if family not in OTHERS for problem in problems.suite(family)]
# of those that are drawn each instance knows its minimum
KNOWN = [problem for problem in SUITE if isfinite(problem.optimum) or problem.name.endswith(")")]
PROOFS = read_proofs(TABLE)


def test_a_gap_is_proven_of_every_problem() -> None:
    """Of all that are listed here, for their data as they are; and of nothing else unless its files are not here."""
    unproven = [problem.name for problem in SUITE if proof_of(problem) is None]
    assert unproven == [], "run: python tools/prove_problems.py"
    collections = ("lp", "qp", "sdp", "stochastic", "tsp", "gap", "uflp", "mcf")
    for name in set(PROOFS) - {problem.name for problem in SUITE}:
        if name.partition("/")[0] in OTHERS:
            continue
        assert name.partition("/")[0] in collections or name == "nonsmooth/TR48"
        assert name.partition("/")[0] in problems.missing() or name in problems.missing()
    gaps = np.array([proof.gap for proof in PROOFS.values()])
    assert np.mean(gaps <= 1e-6) > 0.8


@pytest.mark.parametrize("problem", KNOWN, ids=lambda problem: problem.name.replace(" ", "_"))
def test_the_stated_optimum_is_within_what_is_proven(problem: Problem) -> None:
    proof = proof_of(problem)
    assert proof is not None
    tolerant = problem.family in ("lp", "qp", "sdp", "stochastic", "robust-lp")  # of points that violate a little
    known = problem if isfinite(problem.optimum) else problem()
    assert isfinite(known.optimum)
    wrong = known.optimum_error + (1e-7 if tolerant else 1e-11) * max(1.0, abs(proof.upper_bound))
    assert proof.lower_bound - wrong <= known.optimum <= proof.upper_bound + wrong


@pytest.mark.parametrize(
    "name",
    [
        "nonsmooth/CB2",
        "max-affine(n=10, pieces=30, seed=0)",
        "max-quadratic(n=10, seed=0)",
        "matrix-game(n=10, m=10, seed=0)",
        "max-cut(n=10, seed=0)",
        "one-tree(n=15, seed=0)",
        "two-stage(n=3, rows=4, scenarios=10, seed=0)",
        "random-facilities(n=20, facilities=10, seed=0)",
    ],
)
def test_some_are_proven_again(name: str) -> None:
    (problem,) = problems.find(name)
    proof, instance = PROOFS[problem.name], problem()
    assert proof.data == digest(problem.identity())
    generator = getattr(generators, proof.generator)
    method = generator(min_order=40) if proof.generator == "SpectralBundle" else generator()
    result = minimize(instance.oracle, method, instance.start, rtol=1e-6, max_calls=2 * proof.n_calls + 10)
    assert result.success
    scale = 1e-9 * max(1.0, abs(proof.upper_bound))
    assert max(result.lower_bound, proof.lower_bound) <= min(result.upper_bound, proof.upper_bound) + scale


def test_proofs_are_of_their_data_alone(tmp_path: Path) -> None:
    (problem,) = problems.find("nonsmooth/CB2")
    proof = proof_of(problem)
    assert proof is not None
    assert proof_of(replace(problem, data="other")) is None
    path = tmp_path / "table.csv"
    assert read_proofs(path) == {}
    write_proofs(path, PROOFS)
    assert path.read_bytes() == TABLE.read_bytes()


def test_the_list_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["problems", *words], env={"COLUMNS": "300"})

    rows = run("nonsmooth").stdout.splitlines()
    assert rows[0].split() == ["name", "n", "optimum", "proven", "gap", "calls", "by", "certificate", "source"]
    (tree,) = [row.split() for row in run("one-tree").stdout.splitlines() if row.startswith("one-tree(n=15,")]
    assert tree[2:4] == ["15", "-22530"]
    (cb2,) = [row.split() for row in rows if row.startswith("nonsmooth/CB2 ")]
    assert cb2[1:3] == ["2", "1.952224495"]
    assert float(cb2[3]) <= 1e-6
    assert " abs. " in next(row for row in rows if row.startswith("nonsmooth/MAXQ "))
    monkeypatch.delenv("ORACLE_OPT_PROBLEMS", raising=False)
    (row,) = run("lp").stdout.splitlines()[1:]
    assert "not at hand: lp needs files: set the environment variable ORACLE_OPT_PROBLEMS" in " ".join(row.split())
    refused = run("nonsmoth")
    assert refused.exit_code == 2
    assert "did you mean nonsmooth?" in refused.stderr
