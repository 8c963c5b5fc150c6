"""What the bounds of runs on largest eigenvalues are made of: claims with witnesses, proven to a billionth."""

import pickle
from dataclasses import replace
from fractions import Fraction
from math import fsum

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.errors import InvalidCertificate, Refuted
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, SpectralBundle, Subgradient
from oracle_opt.generators.masters.primal_matrix import PrimalMatrix, PrimalParts
from oracle_opt.generators.masters.spectral_models import ChosenRows, Span
from oracle_opt.oracles import MaxEigenvalueOracle
from oracle_opt.proof.claim import ValueClaim


def proven(oracle, run, exactly=False):
    """The interval that witnesses and data prove, after the combination of the claims is compared with the bound."""
    terms = run.proof.terms
    total = fsum(weight for weight, _ in terms)
    slope = sum((weight / total) * claim.slope for weight, claim in terms)
    constant = fsum((weight / total) * claim.constant for weight, claim in terms)
    least = constant + oracle.domain.minimize_linear(slope)[0]
    assert least >= run.lower_bound - 1e-12 * (abs(constant) + abs(run.lower_bound))
    lost = Fraction(0)
    for weight, claim in terms:
        excess = oracle.prove_cut(claim, exactly)
        assert excess is not None
        lost += Fraction(weight / total) * Fraction(excess)
    return run.lower_bound - float(lost), oracle.prove_value(ValueClaim(run.point, run.upper_bound), exactly)


def assert_proven(oracle, run, known=None, rtol=1e-9):
    lower, upper = proven(oracle, run)
    size = abs(run.upper_bound)
    assert run.lower_bound - lower <= rtol * size
    assert upper - run.upper_bound <= rtol * size
    assert lower <= upper
    if known is not None:
        assert lower - 1e-9 * size <= known <= upper + 1e-9 * size
    return lower, upper


def graph(n, seed=0, degree=5):
    """Max-cut of a random graph."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, n * degree // 2))
    W = sparse.coo_array((np.where(i != j, 1.0, 0.0), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    C = 0.25 * (sparse.diags_array(W.sum(axis=1)) - W)
    return MaxEigenvalueOracle(C, diagonals(n), np.ones(n), trace=n, domain=FreeSpace(n, 1e3))


def diagonals(n):
    return [sparse.csr_array(([1.0], ([i], [i])), shape=(n, n)) for i in range(n)]


def theta(nodes, seed=0):
    """Lovasz' theta of a random graph."""
    rng = np.random.default_rng(seed)
    edges = rng.permutation(np.argwhere(np.triu(np.ones((nodes, nodes)), 1)))[: 2 * nodes]
    A = [sparse.csr_array(([1.0, 1.0], ([a, b], [b, a])), shape=(nodes, nodes)) for a, b in edges]
    domain = FreeSpace(len(A), 1e3)
    return MaxEigenvalueOracle(np.ones((nodes, nodes)), A, np.zeros(len(A)), domain=domain)


def blocks(seed=0):
    """Two blocks, and rows of order one, as linear inequalities make them."""
    rng = np.random.default_rng(seed)
    matrices = []
    for _ in range(7):
        one = np.diag(rng.normal(size=16))
        for part in (slice(0, 6), slice(6, 10)):
            G = rng.normal(size=(part.stop - part.start,) * 2)
            one[part, part] = G + G.T
        matrices.append(one)
    C, *A = matrices
    b = [float(np.trace(one)) / 16 for one in A]  # X = I / 16 is feasible: f is bounded below
    return MaxEigenvalueOracle(C, A, b, trace=1.0, domain=FreeSpace(6, 50.0))


FEW = {"low_rank": False, "min_order": 2, "max_order": 6}
RUNS = {
    "max-cut, its factor": (lambda: graph(60), SpectralBundle()),
    "max-cut, the matrix whole": (lambda: graph(40), SpectralBundle(low_rank=False, min_order=40)),
    "max-cut, on a subspace": (lambda: graph(40), SpectralBundle(**FEW)),
    "theta, the matrix whole": (lambda: theta(20), SpectralBundle()),
    "theta, on a subspace": (lambda: theta(20), SpectralBundle(**FEW)),
    "blocks, the matrix whole": (blocks, SpectralBundle()),
    "blocks, on a subspace": (blocks, SpectralBundle(**FEW)),
    "max-cut of 400 nodes": (lambda: graph(400), SpectralBundle()),
}


@pytest.fixture
def subspaces(monkeypatch):
    """The model is never the matrix whole, however little it would cost."""
    monkeypatch.setattr("oracle_opt.generators.masters.spectral_subspace.DEARER", 0.0)


@pytest.mark.parametrize("name", RUNS)
def test_the_minorant_of_a_spectral_bundle_is_proven_to_a_billionth(name, request):
    if "subspace" in name:
        request.getfixturevalue("subspaces")
    make, generator = RUNS[name]
    oracle = make()
    run = minimize(oracle, generator, rtol=1e-7, max_calls=80)
    assert run.relative_gap < 1e-4
    lower, upper = assert_proven(oracle, run)
    terms = run.proof.terms
    (_, claim) = terms[0]
    assert len(terms) == 1
    assert set(claim.witness) == {"factor", "diagonal"} if "blocks" in name else {"factor"}
    assert claim.witness["factor"].shape[1] <= oracle.order
    if oracle.order <= 60:
        in_fractions = proven(oracle, run, exactly=True)
        assert run.lower_bound - in_fractions[0] <= 1e-9 * abs(upper)
        assert lower <= float(in_fractions[1]) + 1e-12 * abs(upper)
    for forged in (
        replace(claim, constant=claim.constant + 1e-9 * abs(upper)),
        replace(claim, witness={"factor": claim.witness["factor"] + 1e-3 * np.eye(*claim.witness["factor"].shape)}),
    ):
        # claims are lowered by the rounding that the method counts, of which little is used
        assert oracle.prove_cut(forged) > oracle.prove_cut(claim)
    if oracle.order <= 40:
        assert oracle.prove_cut(replace(claim, constant=claim.constant + 1e-7 * abs(upper))) > 0.9e-7 * abs(upper)


@pytest.mark.parametrize("make", [theta, blocks], ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    "generator", [ProximalBundle(), LevelSet(), Kelley(), AnalyticCenter(), Subgradient()], ids=repr
)
def test_bounds_of_other_methods_are_proven_by_their_eigenvectors(make, generator):
    oracle = make(14) if make is theta else make()
    run = minimize(oracle, generator, rtol=1e-6, max_calls=60)
    if np.isfinite(run.lower_bound):
        assert_proven(oracle, run)
        assert all("eigenvector" in claim.witness for _, claim in run.proof.terms)


def test_a_matrix_is_the_sum_of_its_pieces_and_takes_no_more_memory_than_two():
    rng = np.random.default_rng(0)
    order, single = 12, np.array([3, 7])
    W, known = None, np.zeros((order, order))
    for k in range(40):
        P = np.linalg.qr(rng.normal(size=(order, 4)))[0]
        V = rng.normal(size=(4, 4))
        V, entries, share = V @ V.T, rng.random(2), float(rng.random())
        basis = Span(P) if k % 3 else ChosenRows(np.array([0, 1, 2, 4]), order)
        W = PrimalMatrix.of(basis, V, order, (single, entries), W, share)
        known = (P @ V @ P.T if k % 3 else basis.large(V)) + share * known
        known[single, single] += entries
        R = W.factor()
        assert R.shape[1] <= order
        np.testing.assert_allclose(R @ R.T + np.diag(W.diagonal), known, rtol=0, atol=1e-13 * np.trace(known))
        assert sum(len(V) for _, _, V in W.pieces) <= 2 * order + 4
        assert W.size == order * (min(order, sum(len(V) for _, _, V in W.pieces)) + 1)
    assert len(W.pieces) < 6
    alone = PrimalMatrix.of(basis, V, order, (single, entries), W, 0.0)
    assert len(alone.pieces) == 1
    np.testing.assert_array_equal(alone.diagonal[single], entries)
    without = PrimalMatrix.of(basis, V, order, (single[:0], entries[:0]), None, 1.0)
    assert without.diagonal is None
    (weight, claim), *none = PrimalParts(1.0, 1e-3, np.ones(2), without).weighted()
    assert (weight, none) == (1.0, [])
    assert claim.constant <= 1.0 - 1e-3
    assert list(claim.witness) == ["factor"]
    assert len(claim.witness) == 1


def test_the_witness_is_that_of_the_run_after_it_was_pickled():
    oracle = theta(14)
    run = minimize(oracle, SpectralBundle(), rtol=1e-6)
    again = pickle.loads(pickle.dumps(run.proof))
    (_, one), (_, other) = run.proof.terms[0], again.terms[0]
    np.testing.assert_array_equal(one.witness["factor"], other.witness["factor"])
    assert oracle.prove_cut(other) <= 1e-9


FILES = {
    "max-cut": (lambda: graph(40), SpectralBundle(min_order=10)),
    "theta": (lambda: theta(20), SpectralBundle()),
    "blocks": (blocks, SpectralBundle()),
    "theta, eigenvectors": (lambda: theta(10), LevelSet()),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_proven_by_an_oracle_that_was_made_anew_and_no_other_one(name, tmp_path):
    make, generator = FILES[name]
    oracle = make()
    run = minimize(oracle, generator, rtol=1e-7, max_calls=100)
    path = run.certificate().save(tmp_path / "run.certificate.gz")
    certificate = Certificate.load(path)
    for exact in (False, True):
        again = make()
        again.n_vectors, again.lanczos_from = 3, 1  # how eigenvectors are found is no part of the problem
        verdict = certificate.verify(again, exact)
        assert verdict.proven
        size = abs(run.upper_bound)
        assert run.lower_bound - 1e-9 * size <= verdict.lower <= run.lower_bound
        assert run.upper_bound <= verdict.upper <= run.upper_bound + 1e-9 * size
    other = make()
    other.C.data[0] *= 1 + 1e-3
    with pytest.raises(InvalidCertificate, match="another problem"):
        certificate.verify(other)
    # a file that says it were of the other problem: the data are not those of its cuts
    forged = replace(certificate, problem=other.problem_identity())
    try:
        verdict = forged.verify(other)
    except Refuted:
        return
    assert_within(other, verdict)


def assert_within(oracle, verdict):
    """The minimum, by a run of its own, lies in the interval."""
    run = minimize(oracle, SpectralBundle(), rtol=1e-7, max_calls=100)
    assert verdict.lower <= run.upper_bound
    assert verdict.upper >= run.lower_bound


def test_claims_that_are_raised_or_values_that_are_lowered_are_refuted():
    oracle = theta(20)
    run = minimize(oracle, SpectralBundle(), max_calls=2)
    (weight, claim), *_ = run.proof.terms
    size = abs(run.upper_bound)
    facts, value = {"problem": oracle.problem_identity()}, ValueClaim(run.point, run.upper_bound)
    higher = replace(claim, constant=claim.constant + 1e-7 * size)
    forged = Certificate.of(
        oracle.domain, [higher], [weight], value, run.lower_bound + 1e-7 * size, run.upper_bound, facts
    )
    assert forged.verify().holds  # given the cut
    with pytest.raises(Refuted, match="cut 0"):
        forged.verify(oracle)
    lower = ValueClaim(run.point, run.upper_bound - 1e-7 * size)
    forged = Certificate.of(oracle.domain, [claim], [weight], lower, run.lower_bound, lower.upper, facts)
    with pytest.raises(Refuted, match="incumbent"):
        forged.verify(oracle)
    other = replace(claim, witness={"factor": np.roll(claim.witness["factor"], 1, axis=0)})
    forged = Certificate.of(oracle.domain, [other], [weight], value, run.lower_bound, run.upper_bound, facts)
    with pytest.raises(Refuted, match="cut 0"):
        forged.verify(oracle)
