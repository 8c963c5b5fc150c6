"""The stated error of a largest eigenvalue is a proof: against higher precision, and where Lanczos is wrong."""

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import Box, FreeSpace, Query
from oracle_opt.oracles import MaxEigenvalueOracle

Long = np.longdouble


def random_oracle(seed, order, spread=0.0, **options):
    """Dense random matrices; with a spread, eigenvalues of many sizes."""
    rng = np.random.default_rng(seed)
    matrices = [G + G.T for G in rng.normal(size=(4, order, order))]
    size = 10.0 ** rng.uniform(-spread, spread)
    C, *A = (size * one for one in matrices)
    trace, domain = float(10.0 ** rng.uniform(-2, 4)), FreeSpace(3, 10.0)
    oracle = MaxEigenvalueOracle(C, A, rng.normal(size=3), trace=trace, domain=domain, **options)
    return oracle, C, A, rng


def lower_of_largest(M, v):
    """The Rayleigh quotient in long double, after a step of inverse iteration: it is never above the eigenvalue."""
    M, v = M.astype(Long), v.astype(Long)
    value = v @ M @ v / (v @ v)
    v = np.linalg.solve((M - (value + 1e-6 * abs(value)) * np.eye(len(M))).astype(float), v.astype(float)).astype(Long)
    return max(value, v @ M @ v / (v @ v))


@pytest.mark.parametrize("options", [{}, {"lanczos_from": 1, "n_vectors": 2}], ids=["LAPACK", "Lanczos"])
@pytest.mark.parametrize("order", [3, 12, 40])
def test_the_value_and_its_error_hold_the_eigenvalue_between_them(order, options):
    for seed in range(12):
        oracle, C, A, rng = random_oracle(seed, order, spread=3.0, **options)
        y = rng.normal(size=3)
        cut = oracle.query(Query(y))
        M = C.astype(Long) - sum(Long(one) * matrix.astype(Long) for one, matrix in zip(y, A, strict=True))
        least = Long(oracle.trace) * lower_of_largest(M, cut.extras["eigenvector"]) + oracle.b.astype(Long) @ y
        # of all points of the domain: the minorant holds there in exact arithmetic, and is lowered for it
        size = oracle.trace * (np.linalg.norm(C) + 10 * sum(map(np.linalg.norm, A))) + 10 * np.abs(oracle.b).sum()
        assert cut.value <= least
        assert Long(cut.value) + Long(cut.error) >= least
        assert cut.error <= (1e-8 if options else 1e-14 * order) * size


def test_only_the_first_cut_of_an_answer_has_the_error():
    oracle, *_ = random_oracle(0, 12, within=1.0)
    cut = oracle.query(Query(np.zeros(3)))
    assert len(cut.further) == 9
    assert cut.error > 0
    assert {one.error for one in cut.further} == {0.0}


def missing_the_top(count):
    """A solver whose eigenpairs are right, but for the largest ones, which it has not seen."""

    def eigsh(M, k, **options):
        values, vectors = np.linalg.eigh(M.toarray())
        return values[-k - count : -count], vectors[:, -k - count : -count]

    return eigsh


@pytest.mark.parametrize("missed", [1, 5])
def test_what_lanczos_misses_cholesky_finds(monkeypatch, missed):
    oracle, C, A, rng = random_oracle(1, 30, lanczos_from=1, n_vectors=3)
    y = rng.normal(size=3)
    M = C - np.tensordot(y, A, 1)
    monkeypatch.setattr(sparse.linalg, "eigsh", missing_the_top(missed))
    cut = oracle.query(Query(y))
    known = oracle.trace * np.linalg.eigvalsh(M)[-1] + oracle.b @ y
    assert cut.value == pytest.approx(known, rel=1e-9)
    assert cut.upper >= known - 1e-13 * abs(known)
    assert cut.upper == pytest.approx(known, rel=1e-9)


def test_a_miss_below_the_margin_is_within_the_error(monkeypatch):
    """Two eigenvalues that differ by less than the margin: either may be given."""
    values = np.r_[np.arange(9.0), 20.0, 20.0 + 1e-9]
    oracle = MaxEigenvalueOracle(np.diag(values), [np.eye(11)], [0.0], lanczos_from=1, n_vectors=1)
    monkeypatch.setattr(sparse.linalg, "eigsh", missing_the_top(1))
    cut = oracle.query(Query(np.zeros(1)))
    assert cut.upper >= 20.0 + 1e-9


def test_where_lanczos_does_not_converge_lapack_answers(monkeypatch):
    oracle, C, A, rng = random_oracle(2, 25, lanczos_from=1, n_vectors=4)

    def fails(M, k, **options):
        raise sparse.linalg.ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((25, 0)))

    monkeypatch.setattr(sparse.linalg, "eigsh", fails)
    y = rng.normal(size=3)
    cut = oracle.query(Query(y))
    known = oracle.trace * np.linalg.eigvalsh(C - np.tensordot(y, A, 1))[-1] + oracle.b @ y
    assert cut.value == pytest.approx(known, rel=1e-9)
    assert cut.upper == pytest.approx(known, rel=1e-9)


def test_lanczos_starts_from_the_last_eigenvector_also_after_a_journal(monkeypatch):
    starts, eigsh = [], sparse.linalg.eigsh

    def spied(M, k, v0=None, **options):
        starts.append(None if v0 is None else v0.copy())
        return eigsh(M, k=k, v0=v0, **options)

    monkeypatch.setattr(sparse.linalg, "eigsh", spied)
    oracle, *_, rng = random_oracle(3, 25, lanczos_from=1, n_vectors=2)
    first, second = (oracle.query(Query(y)) for y in rng.normal(size=(2, 3)))
    np.testing.assert_array_equal(starts[1], first.extras["eigenvector"])
    oracle.reset()
    oracle.query(Query(first.point))
    assert starts[0] is starts[2] is None
    oracle.reset()
    oracle.resume(second)
    oracle.query(Query(first.point))
    np.testing.assert_array_equal(starts[3], second.extras["eigenvector"])


def test_eigenvectors_within_the_share_of_the_width_give_cuts():
    values = np.array([0.0, 5.0, 9.1, 9.5, 10.0])
    for within, count in ((0.0, 1), (0.04, 1), (0.06, 2), (0.1, 3), (0.6, 4), (1.0, 5)):
        domain = Box([-1.0], [1.0])
        oracle = MaxEigenvalueOracle(np.diag(values), [np.eye(5)], [0.5], within=within, domain=domain, trace=2.0)
        cut = oracle.query(Query(np.array([0.25])))
        found = [cut.value, *(one.value for one in cut.further)]
        np.testing.assert_allclose(found, 2 * (values[::-1][:count] - 0.25) + 0.125)
        for one in (cut, *cut.further):
            np.testing.assert_allclose(one.subgradient, 0.5 - 2.0)
