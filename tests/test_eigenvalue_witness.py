"""Witnesses of largest eigenvalues: what is proven holds in fractions, whatever the witness; forged claims are not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, sparse
from test_eigenvalue_bounds import definite, exact

from oracle_opt import Box, FreeSpace, Query, Simplex
from oracle_opt.bounds import cut_rounding
from oracle_opt.errors import Refuted
from oracle_opt.oracles import MaxEigenvalueOracle, eigenvalue_proofs
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim


class Truth:
    """The function in fractions."""

    def __init__(self, C, A, b, trace):
        self.C, self.A, self.b = exact(C), [exact(one) for one in A], exact(b)
        self.trace = Fraction(trace)

    def below(self, number, z):
        """Whether f(z) is less than a number, z of fractions."""
        M = sum((one * entry for one, entry in zip(self.A, z, strict=True)), -self.C)
        M = (M + M.T) / 2
        M[np.diag_indices(len(M))] += (Fraction(number) - self.b @ z) / self.trace
        return definite(M)


def claim_of(cut):
    constant = cut.constant - cut_rounding(cut.point, cut.value, cut.subgradient)[0]
    return CutClaim(ClaimKind.MINORANT, constant, cut.subgradient, witness=cut.extras)


def ends(domain, slope):
    """Points of the ball in which an affine function is extreme, rounded into it."""
    away = 0.999999 * domain.radius * slope / max(np.linalg.norm(slope), 1e-300)
    return [exact(domain.center), exact(domain.center + away), exact(domain.center - away)]


def symmetric(rng, order, kind):
    one = rng.normal(size=(order, order))
    one = one + one.T
    if kind == "sparse":
        mask = np.triu(rng.random((order, order)) < 0.3)
        one = np.where(mask | mask.T, one, 0.0)
    if kind == "cluster":  # half of the eigenvalues are one
        basis = np.linalg.qr(one)[0]
        values = np.where(np.arange(order) < order / 2, 1.0, rng.uniform(-1, 0.5, order))
        one = (basis * values) @ basis.T
        one = 0.5 * (one + one.T)
    return np.zeros((order, order)) if kind == "zero" else one


def drawn(seed, order, kind, size=1.0, radius=10.0, m=3, **options):
    """A random oracle, its matrices and a point."""
    rng = np.random.default_rng(seed)
    C = size * symmetric(rng, order, kind)
    A = [size * symmetric(rng, order, "sparse" if kind == "cluster" else kind) for _ in range(m)]
    b, center = size * rng.normal(size=m), rng.normal(size=m)
    trace = float(order)
    domain = FreeSpace(m, radius, center)
    oracle = MaxEigenvalueOracle(C, A, b, trace=trace, domain=domain, within=1.0, **options)
    return oracle, Truth(C, A, b, trace), center + 0.1 * rng.normal(size=m), rng


CASES = [(1, "dense"), (2, "dense"), (5, "sparse"), (6, "cluster"), (4, "zero"), (8, "dense")]


@pytest.mark.parametrize("size", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize(("order", "kind"), CASES)
def test_what_is_proven_of_an_honest_answer_is_true_and_close_to_it(order, kind, size):
    oracle, truth, y, _ = drawn(order, order, kind, size)
    cut = oracle.query(Query(y))
    unit = 1e-12 * size * order**2 * oracle.domain.radius
    for one in (cut, *cut.further):
        claim = claim_of(one)
        in_floats, in_fractions = oracle.prove_cut(claim), oracle.prove_cut(claim, exact=True)
        assert isinstance(in_fractions, Fraction)
        for excess in (in_floats, in_fractions):
            assert 0 <= excess <= unit
            for z in ends(oracle.domain, one.subgradient):
                assert not truth.below(Fraction(claim.constant) - Fraction(excess) + exact(claim.slope) @ z, z)
    value = ValueClaim(y, cut.upper)
    for upper in (oracle.prove_value(value), oracle.prove_value(value, exact=True)):
        assert not truth.below(Fraction(cut.value), exact(y))
        assert truth.below(Fraction(upper) + Fraction(1e-300), exact(y))
        assert abs(float(Fraction(upper)) - cut.value) <= unit


@pytest.mark.parametrize("size", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize(("order", "kind"), CASES)
def test_a_claim_that_is_raised_loses_what_it_was_raised_by(order, kind, size):
    oracle, truth, y, _ = drawn(order, order, kind, size)
    cut = oracle.query(Query(y))
    more = 1e-9 * max(abs(cut.value), size)
    claim = claim_of(cut)
    higher = replace(claim, constant=claim.constant + more)
    for exactly in (False, True):
        known, excess = oracle.prove_cut(claim, exactly), oracle.prove_cut(higher, exactly)
        assert excess > 0.5 * more
        for z in ends(oracle.domain, cut.subgradient):
            assert not truth.below(Fraction(higher.constant) - Fraction(excess) + exact(claim.slope) @ z, z)
        steeper = replace(claim, slope=claim.slope + np.eye(3)[1] * more)
        excess = oracle.prove_cut(steeper, exactly)
        assert excess > known
        assert excess > 0.5 * more * oracle.domain.radius
        for z in ends(oracle.domain, np.eye(3)[1]):
            assert not truth.below(Fraction(claim.constant) - Fraction(excess) + exact(steeper.slope) @ z, z)


def test_whatever_the_witness_what_it_proves_is_true():
    """Numbers changed, other vectors, factors and diagonals, of any size: a weaker bound, never a false one."""
    for seed in range(30):
        oracle, truth, y, rng = drawn(seed, 5, ("dense", "sparse", "cluster")[seed % 3], 10.0 ** (seed % 5))
        cut = oracle.query(Query(y))
        honest = claim_of(cut)
        size = 10.0 ** rng.uniform(-160, 160)
        one = cut.extras["eigenvector"].copy()
        one[rng.integers(5)] += rng.normal()
        witnesses = [
            {"eigenvector": one},
            {"eigenvector": size * cut.extras["eigenvector"]},
            {"factor": size * rng.normal(size=(5, seed % 4 + 1))},
            {"factor": rng.normal(size=(5, 0)), "diagonal": rng.random(5)},
            {"factor": rng.normal(size=(5, 2)), "diagonal": 1e-3 * rng.random(5), "eigenvector": one},
            {"diagonal": size * np.eye(5)[1]},
        ]
        for witness in witnesses:
            claim = replace(honest, witness=witness)
            for exactly in (False, True):
                excess = oracle.prove_cut(claim, exactly)
                assert excess >= 0
                for z in ends(oracle.domain, claim.slope):
                    assert not truth.below(Fraction(claim.constant) - Fraction(excess) + exact(claim.slope) @ z, z)


def test_factors_and_diagonals_prove_the_minorant_that_they_make():
    """The minorant of a W computed apart, in long double, claimed to the last digits."""
    oracle, _, _, rng = drawn(3, 7, "dense")
    C, A = oracle.C.toarray(), [np.zeros((7, 7)) for _ in range(3)]
    for i, (p, q) in enumerate(zip(oracle.matrix.rows, oracle.matrix.columns, strict=True)):
        for n, one in enumerate(A):
            one[p, q] = oracle.matrix.entries.toarray()[i, n]
    R, d, v = rng.normal(size=(7, 3)), rng.random(7), rng.normal(size=7)
    W = R.astype(np.longdouble) @ R.T + np.diag(d) + np.outer(v, v)
    W *= oracle.trace / np.trace(W)
    slope = np.array([b - np.sum(one * W) for b, one in zip(oracle.b, A, strict=True)], dtype=float)
    constant = float(np.sum(C * W))
    claim = CutClaim(
        ClaimKind.MINORANT, constant, slope, witness={"factor": R, "diagonal": d, "eigenvector": v, "more": 1}
    )
    assert 0 <= oracle.prove_cut(claim) < 1e-11
    assert 0 <= oracle.prove_cut(claim, exact=True) < 1e-12
    assert oracle.prove_cut(replace(claim, constant=constant + 1e-9)) > 9e-10
    assert oracle.prove_cut(replace(claim, constant=constant - 1.0)) == 0.0


def test_cuts_of_another_program_are_not_proven():
    oracle, *_ = drawn(0, 6, "dense")
    other, _, y, _ = drawn(1, 6, "dense")
    cut = other.query(Query(y))
    assert other.prove_cut(claim_of(cut)) < 1e-9
    assert oracle.prove_cut(claim_of(cut)) > 1e-3
    changed = MaxEigenvalueOracle(
        other.C * (1 - 1e-8), [one.toarray() for one in _matrices(other)], other.b, trace=6.0, domain=other.domain
    )
    assert changed.prove_cut(claim_of(cut)) > 1e-9


def _matrices(oracle):
    matrix = oracle.matrix
    shape = (oracle.order, oracle.order)
    return [
        sparse.coo_array((matrix.entries[:, [i]].toarray().ravel(), (matrix.rows, matrix.columns)), shape=shape)
        for i in range(len(oracle.b))
    ]


@pytest.mark.parametrize("domain", [Simplex(3), Box([-1.0, 0.0, 1.0], [2.0, 3.0, 1.0]), FreeSpace(3, 1e4)], ids=repr)
def test_other_domains_and_matrices_from_lanczos(domain):
    rng = np.random.default_rng(5)
    C, *A = (symmetric(rng, 40, "sparse") for _ in range(4))
    oracle = MaxEigenvalueOracle(
        C, A, rng.normal(size=3), trace=2.0, domain=domain, lanczos_from=1, n_vectors=4, within=1.0
    )
    cut = oracle.query(Query(domain.interior_point()))
    assert cut.further
    for one in (cut, *cut.further):
        assert oracle.prove_cut(claim_of(one)) <= 1e-14 * 40**2 * domain.extent(np.ones(3))
        assert oracle.prove_cut(replace(claim_of(one), constant=one.constant + 1.0)) > 0.9
    M = C - np.tensordot(domain.interior_point(), A, 1)
    truth = 2.0 * np.linalg.eigvalsh(M)[-1] + oracle.b @ domain.interior_point()
    assert oracle.prove_value(ValueClaim(domain.interior_point(), cut.upper)) == pytest.approx(truth, rel=1e-11)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("order", [20, 60])
@pytest.mark.parametrize("kind", ["dense", "sparse", "cluster"])
def test_larger_orders_against_lapack(order, kind):
    oracle, _, y, rng = drawn(order, order, kind)
    cut = oracle.query(Query(y))
    unit = 1e-15 * order**3 * 100.0
    matrices = [one.toarray() for one in _matrices(oracle)]
    for one in (cut, *cut.further):
        claim = claim_of(one)
        excess = oracle.prove_cut(claim)
        assert 0 <= excess <= unit
        for z in (y, y + rng.normal(size=3)):
            truth = order * np.linalg.eigvalsh(oracle.C.toarray() - np.tensordot(z, matrices, 1))[-1] + oracle.b @ z
            assert claim.constant - excess + claim.slope @ z <= truth + unit
    truth = order * np.linalg.eigvalsh(oracle.C.toarray() - np.tensordot(y, matrices, 1))[-1] + oracle.b @ y
    for exactly in (False, True):
        upper = float(oracle.prove_value(ValueClaim(y, cut.upper), exactly))
        assert truth - unit <= upper <= truth + unit


def test_a_flat_cut_is_proven_on_a_domain_without_end_and_others_are_left_open():
    A = [np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    oracle = MaxEigenvalueOracle(np.diag([3.0, 3.0]), A, [0.0, 0.0], domain=FreeSpace(2, np.inf))
    flat = CutClaim(ClaimKind.MINORANT, 3.0, np.zeros(2), witness={"factor": np.eye(2)})
    assert oracle.prove_cut(flat) == 0
    assert oracle.prove_cut(replace(flat, constant=3.0 + 1e-9)) == pytest.approx(1e-9, rel=1e-6)
    v = np.array([0.6, 0.8])
    tilted = CutClaim(ClaimKind.MINORANT, 3.0, np.array([0.28, -0.96]), witness={"eigenvector": v})
    assert oracle.prove_cut(tilted) is None
    assert oracle.prove_cut(replace(tilted, slope=np.array([0.281, -0.96]))) == np.inf


BAD = {
    "of another order": {"eigenvector": np.ones(3)},
    "a matrix in place of a vector": {"eigenvector": np.ones((4, 1))},
    "a vector in place of a matrix": {"factor": np.ones(4)},
    "not a number": {"eigenvector": np.array([1.0, np.nan, 0.0, 0.0])},
    "infinite": {"factor": np.full((4, 1), np.inf)},
    "words": {"eigenvector": "abcd"},
    "ragged": {"factor": [[1.0], [1.0, 2.0], [], [3.0]]},
    "objects": {"eigenvector": np.array([None] * 4)},
    "whole numbers that no float holds": {"eigenvector": [10**400, 1, 1, 1]},
    "complex numbers": {"eigenvector": np.ones(4) * 1j},
    "a mapping": {"factor": {"0": [1.0]}},
    "zero": {"eigenvector": np.zeros(4)},
    "nothing at all": {"factor": np.zeros((4, 0))},
    "negative": {"eigenvector": np.ones(4), "diagonal": np.array([0.0, 0.0, -1e-300, 0.0])},
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("exactly", [False, True])
def test_what_is_no_witness_is_refuted(name, exactly):
    oracle, _, y, _ = drawn(0, 4, "dense")
    claim = replace(claim_of(oracle.query(Query(y))), witness=BAD[name])
    with pytest.raises(Refuted):
        oracle.prove_cut(claim, exactly)


def test_claims_that_are_none_are_refuted_and_without_a_witness_nothing_is_said():
    oracle, _, y, _ = drawn(0, 4, "dense")
    claim = claim_of(oracle.query(Query(y)))
    assert oracle.prove_cut(replace(claim, witness={})) is None
    bound = replace(claim, kind=ClaimKind.BOUND, slope=np.zeros(3), constant=-1e6)
    assert oracle.prove_cut(bound) == 0.0
    wrong = [
        {"kind": ClaimKind.HALF_SPACE},
        {"kind": ClaimKind.SUMMAND, "n_summands": 1},
        {"constant": np.nan},
        {"constant": np.inf},
        {"constant": None},
        {"constant": 10**400},
        {"constant": np.ones(1)},
        {"slope": "abc"},
        {"slope": np.ones(2)},
        {"slope": np.array([0.0, np.nan, 0.0])},
    ]
    for change in wrong:
        with pytest.raises(Refuted):
            oracle.prove_cut(replace(claim, **change))
    assert oracle.prove_cut(replace(claim, constant=1e308)) > 1e307
    for point in (
        np.ones(2),
        np.array([0.0, np.inf, 0.0]),
        np.array([np.nan, 0.0, 0.0]),
        np.float64(1.0),
        "abc",
        [10**400, 0, 0],
    ):
        with pytest.raises(Refuted):
            oracle.prove_value(ValueClaim(point, 0.0))


def test_numbers_beyond_floats_are_left_open_or_infinite():
    """Products that overflow prove nothing, and nothing false."""
    oracle = MaxEigenvalueOracle(1e300 * np.eye(3), [np.eye(3)], [1.0], trace=1e10, domain=FreeSpace(1, 1.0))
    claim = CutClaim(ClaimKind.MINORANT, 1.0, np.zeros(1), witness={"eigenvector": np.ones(3)})
    assert oracle.prove_cut(claim) is None
    assert oracle.prove_cut(claim, exact=True) == 0
    assert oracle.prove_value(ValueClaim(np.zeros(1), 1.0)) is None
    assert oracle.prove_value(ValueClaim(np.full(1, -1e300), 1.0)) is None


def test_a_lapack_that_misses_the_largest_eigenvalue_proves_nothing_false(monkeypatch):
    """The factorization fails until the shift is large enough, or nothing is said."""
    eigvalsh = linalg.eigvalsh
    for seed in range(10):
        oracle, truth, y, _ = drawn(seed, 7, "dense")
        honest = oracle.prove_value(ValueClaim(y, 0.0))
        for less in (1e-12, 1e-10, 1e-3):
            monkeypatch.setattr(
                linalg, "eigvalsh", lambda *args, less=less, **options: eigvalsh(*args, **options) - less
            )
            for exactly in (False, True):
                upper = oracle.prove_value(ValueClaim(y, 0.0), exactly)
                assert upper is None if less == 1e-3 else upper < honest + 1e-6
                assert upper is None or truth.below(Fraction(upper), exact(y))
        monkeypatch.setattr(linalg, "eigvalsh", eigvalsh)


def test_matrices_of_too_large_an_order_are_left_open(monkeypatch):
    oracle, _, y, _ = drawn(0, 4, "dense")
    monkeypatch.setattr(eigenvalue_proofs, "LARGEST", 3)
    assert oracle.prove_value(ValueClaim(y, 0.0)) is None


def test_of_matrices_that_are_symmetric_but_for_rounding_the_symmetric_part_counts():
    rng = np.random.default_rng(7)
    C = symmetric(rng, 5, "dense")
    C[0, 1] *= 1 + 4e-13
    A, b = [symmetric(rng, 5, "dense") for _ in range(3)], rng.normal(size=3)
    oracle = MaxEigenvalueOracle(C, A, b, trace=5.0, domain=FreeSpace(3, 10.0))
    truth, y = Truth(C, A, b, 5.0), rng.normal(size=3)
    cut = oracle.query(Query(y))
    for exactly in (False, True):
        upper = oracle.prove_value(ValueClaim(y, 0.0), exactly)
        assert truth.below(Fraction(upper), exact(y))
        assert abs(float(upper) - cut.value) < 1e-10
        excess = oracle.prove_cut(claim_of(cut), exactly)
        assert excess < 1e-10
        for z in ends(oracle.domain, cut.subgradient):
            assert not truth.below(Fraction(claim_of(cut).constant) - Fraction(excess) + exact(cut.subgradient) @ z, z)
