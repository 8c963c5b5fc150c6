"""Certificates whose cuts or value lost their witness: refused, unless a note says that they are taken as given."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_certificates_tampered import closed
from typer.testing import CliRunner

from oracle_opt import Box, Certificate, FunctionOracle, ObjectiveCut, Oracle, Refuted, minimize, problems
from oracle_opt.certificates.proof_level import Standing, standing_of
from oracle_opt.cli import main
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import ConicOracle, FacilityLocationOracle, GramBank, MaxEigenvalueOracle, SecondOrder
from oracle_opt.oracles.benders import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.mkl import GMKLOracle, LpRegularizer, MixedNormOracle, MKLOracle, SharedWeightsOracle
from oracle_opt.proof.claim import ClaimKind
from oracle_opt.proof.run_proof import BARE


def bank(rng: np.random.Generator) -> tuple[GramBank, np.ndarray]:
    X = rng.normal(size=(12, 3))
    return GramBank([X[:, [j]] @ X[:, [j]].T + 0.01 * np.eye(12) for j in range(3)]), np.where(X[:, 0] > 0, 1.0, -1.0)


def shared(rng: np.random.Generator) -> Oracle:
    kernels, y = bank(rng)
    return SharedWeightsOracle([MKLOracle(kernels, y), MKLOracle(kernels, np.roll(y, 1))])


def scenarios(rng: np.random.Generator) -> Oracle:
    demands = RandomBlock([0.25, 0.75], rows=[1], rhs=rng.uniform(1, 3, (2, 1)))
    data = {"c": [1.0], "q": [-3.0], "T": [[-1.0], [0.0]], "W": [[1.0], [1.0]], "x_upper": 5.0}
    return BendersOracle(TwoStageProblem(**data, row_lower=[-np.inf] * 2, row_upper=[0.0, 2.0], blocks=[demands]))


def ball(rng: np.random.Generator) -> Oracle:
    A = np.vstack([np.zeros(3), -np.eye(3)])
    domain = Box(-2 * np.ones(3), 2 * np.ones(3))
    return ConicOracle(rng.normal(size=3), A, [1.0, 0, 0, 0], [SecondOrder(4)], P=np.eye(3), domain=domain)


def eigenvalue(rng: np.random.Generator) -> Oracle:
    C, *A = (one + one.T for one in rng.normal(size=(3, 4, 4)))
    return MaxEigenvalueOracle(C, A, [0.1, 0.2], trace=1.0, domain=Box([-3, -3], [3, 3]))


FAMILIES: dict[str, Callable[[np.random.Generator], Oracle]] = {
    "MKL": lambda rng: MKLOracle(*bank(rng), C=10.0),
    "GMKL": lambda rng: GMKLOracle(*bank(rng), LpRegularizer(2), C=1.0, radius=100.0),
    "mixed norm": lambda rng: MixedNormOracle(*bank(rng), groups=[[0, 1], [2]], C=1.0),
    "shared": shared,
    "Benders": scenarios,
    "conic": ball,
    "eigenvalue": eigenvalue,
    "facilities": lambda rng: FacilityLocationOracle(rng.uniform(1, 3, 3), rng.uniform(0, 5, (3, 4))),
    "deviations": lambda rng: problems.find(f"least-absolute(n=3, m=9, seed={rng.integers(99)})")[0]().oracle,
}


@pytest.fixture(params=[(name, seed) for name in FAMILIES for seed in range(2)], ids=str)
def run(request: pytest.FixtureRequest) -> tuple[Certificate, Callable[[], Oracle]]:
    """A certificate of a short run, and what makes the oracle anew."""
    name, seed = request.param
    make = lambda: FAMILIES[name](np.random.default_rng([7, seed]))  # noqa: E731
    oracle = make()
    return minimize(oracle, LevelSet(), rtol=1e-3, max_calls=15).certificate(), make


def made(proof: Certificate, domain, cuts=None, value=None) -> Certificate:
    """The same certificate with other claims."""
    cuts, value, facts = cuts or proof.cuts, value or proof.value, {"problem": proof.problem}
    return Certificate.of(domain, cuts, proof.multipliers, value, proof.lower, proof.upper, facts)


def refusal_of(certificate: Certificate, oracle: Oracle) -> str:
    """Why it is refused; no words if all of it is proven."""
    try:
        verdict = certificate.verify(oracle)
    except Refuted as refusal:
        return str(refusal)
    assert verdict.proven
    return ""


def bared(witness: dict) -> list[dict]:
    """A witness without each of its entries, without any, emptied, and under other names."""
    others = [{name: one for name, one in witness.items() if name != gone} for gone in witness]
    return [{}, *others, {name: np.zeros(0) for name in witness}, {f"{name}_": one for name, one in witness.items()}]


def test_a_cut_that_keeps_its_witness_back_is_refused_or_proven_all_the_same(run) -> None:
    proof, make = run
    oracle = make()
    assert proof.verify(oracle).proven
    refused = 0
    for k, cut in enumerate(proof.cuts):
        for witness in bared(dict(cut.witness)) if cut.witness else []:
            cuts = [*proof.cuts[:k], replace(cut, witness=witness), *proof.cuts[k + 1 :]]
            words = refusal_of(made(proof, oracle.domain, cuts), oracle)  # none: a bias, a factor that is not needed
            assert not words or f"cut {k}" in words
            refused += bool(words)
    assert refused
    every = [replace(cut, witness={}) for cut in proof.cuts]
    with pytest.raises(Refuted, match="its witness is missing"):
        made(proof, oracle.domain, every).verify(oracle)


def test_a_note_says_given_and_nothing_of_it_is_proven(run) -> None:
    proof, make = run
    oracle = make()
    cuts = [replace(cut, witness={}, note=BARE) if cut.witness else cut for cut in proof.cuts]
    verdict = made(proof, oracle.domain, cuts).verify(oracle)
    assert (verdict.n_given, verdict.proven) == (sum(bool(cut.note) for cut in cuts), False)
    # a note excuses nothing that is there
    most = 1.0 + abs(proof.upper)
    higher = [
        replace(cut, constant=cut.constant + (0.0 if cut.kind is ClaimKind.HALF_SPACE else most), note=BARE)
        for cut in proof.cuts
    ]
    upper = proof.upper + 2 * most  # above what the claims say, so that the file is one
    facts = {"problem": proof.problem}
    value = replace(proof.value, upper=upper)
    lifted = Certificate.of(oracle.domain, higher, proof.multipliers, value, proof.lower + 0.5 * most, upper, facts)
    with pytest.raises(Refuted, match="the witnesses prove a lower bound"):
        lifted.verify(oracle)


def test_a_value_that_keeps_its_witness_back_is_refused_where_one_is_needed(run) -> None:
    proof, make = run
    oracle = make()
    bare = replace(proof.value, witness={})
    words = refusal_of(made(proof, oracle.domain, value=bare), oracle)
    assert not words or "the incumbent: its witness is missing" in words
    noted = made(proof, oracle.domain, value=replace(bare, note=BARE)).verify(oracle)
    assert noted.value_proven == (not words)  # from the data and the point alone


@pytest.mark.campaign(3)
def test_cuts_that_were_told_bare_are_given_in_the_file_too(run, tmp_path: Path) -> None:
    _, make = run
    asked = minimize(make(), LevelSet(), rtol=1e-3, max_calls=15, keep_cuts=True)
    bare = [replace(cut, extras={}, **_none_of(cut)) for cut in asked.history.cuts]
    told = minimize(make(), LevelSet(), cuts=bare, rtol=1e-1, max_calls=1)
    proof = Certificate.load(told.certificate().save(tmp_path / "told.jsonl.gz"))
    notes = {cut.note for cut in proof.cuts if not cut.witness}
    assert notes <= {BARE}
    verdict = proof.verify(make())
    assert verdict.n_given <= sum(bool(cut.note) for cut in proof.cuts)
    assert standing_of(told, make()) is (Standing.PROVEN if verdict.proven else Standing.GIVEN)


def _none_of(cut) -> dict:
    none = {"further": tuple(replace(one, extras={}) for one in cut.further)}
    return {**none, "summands": (), "answers": ()} if isinstance(cut, ObjectiveCut) else none


@pytest.mark.parametrize("seed", range(3))
def test_a_proof_of_a_users_own_may_look_its_witness_up(seed: int) -> None:
    A, b = np.random.default_rng(seed).normal(size=(9, 3)), np.arange(9.0)

    def largest(z):
        i = int((A @ z + b).argmax())
        return ObjectiveCut(z, float(A[i] @ z + b[i]), A[i].copy(), extras={"piece": i})

    def prove_cut(claim, exact):
        i = claim.witness["piece"]
        return max(0.0, claim.constant - b[i] + 3.0 * np.abs(claim.slope - A[i]).sum())

    make = lambda: FunctionOracle(  # noqa: E731
        largest, Box(-np.ones(3), np.ones(3)), witness=["piece"], prove_cut=prove_cut,
        prove_value=lambda claim, exact: float((A @ claim.point + b).max()) + 1e-12,
    )  # fmt: skip
    proof = minimize(make(), Kelley(), rtol=1e-6).certificate()
    assert proof.verify(make()).proven
    with pytest.raises(Refuted, match="its witness is missing, 'piece'"):
        made(proof, make().domain, [replace(cut, witness={}) for cut in proof.cuts]).verify(make())


def test_the_command_tells_what_is_proven_from_what_is_given(tmp_path: Path) -> None:
    problem = problems.find("max-affine(n=2, pieces=8)")[0]
    path = problems.certify(problem).certificate.save(tmp_path / "pieces.jsonl.gz")
    call = lambda *words: CliRunner().invoke(main, ["verify", *map(str, words)])  # noqa: E731
    assert call(path, "--problem", problem.name).exit_code == 0
    for note, end in ((None, 1), (BARE, 3), ("", 1)):
        lines = []
        for line in gzip.decompress(path.read_bytes()).splitlines()[:-1]:
            record = json.loads(line)
            if record["line"] == "cut":
                del record["witness"]
                record |= {} if note is None else {"note": note}
            lines.append(json.dumps(record).encode())
        forged = tmp_path / "forged.jsonl"
        forged.write_bytes(closed(lines))
        assert call(forged).exit_code == 0  # level 1: given the cuts
        told = call(forged, "--problem", problem.name)
        assert told.exit_code == end, told.output
        assert ("holds, given" in told.output) == (end == 3)


def test_a_note_that_is_no_text_is_damage(tmp_path: Path) -> None:
    proof = minimize(FAMILIES["MKL"](np.random.default_rng(0)), LevelSet(), rtol=1e-2).certificate()
    lines = [json.loads(line) for line in proof.save(tmp_path / "run.jsonl").read_bytes().splitlines()[:-1]]
    for number in (2, -1):
        changed = [record | {"note": 5} if record is lines[number] else record for record in lines]
        (tmp_path / "run.jsonl").write_bytes(closed([json.dumps(one).encode() for one in changed]))
        with pytest.raises(Exception, match="a note is a text"):
            Certificate.load(tmp_path / "run.jsonl")
