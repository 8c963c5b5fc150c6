"""Second derivatives of the l1-MKL oracle, and what its Newton phase must not change."""

import numpy as np
import pytest

from oracle_opt import Curvature, Query, minimize
from oracle_opt.generators import Kelley
from oracle_opt.oracles import GramBank, MKLOracle, uci_bank
from oracle_opt.oracles.svm.curvature_factor import curvature_factor


def problem(n=145, d=8, C=100.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    bank = uci_bank(X, **options)
    return bank, MKLOracle(bank, y, C, accuracy=1e-12)


def point(p, seed=0):
    b = np.random.default_rng(seed).dirichlet(np.full(p, 0.5))
    return 0.5 * b + 0.5 / p


def free_set(cut, C):
    return np.flatnonzero((cut.extras["alpha"] > 0) & (cut.extras["alpha"] < C))


@pytest.mark.parametrize("C", [10.0, 100.0, 1e4])
def test_factor_is_the_formula(C):
    bank, oracle = problem(C=C)
    b = point(bank.n_kernels)
    cut = oracle.query(Query(b, wishes=frozenset({Curvature})))
    free, v = free_set(cut, C), oracle.y * cut.extras["alpha"]
    assert cut.answer(Curvature).factor.shape == (free.size, bank.n_kernels)
    U = np.array([(bank.combine(vertex) @ v)[free] for vertex in np.eye(bank.n_kernels)]).T
    inverse = np.linalg.inv(bank.combine(b)[np.ix_(free, free)])
    ones = inverse.sum(axis=1)
    hessian = U.T @ (inverse - np.outer(ones, ones) / ones.sum()) @ U
    R = cut.answer(Curvature).factor
    np.testing.assert_allclose(R.T @ R, hessian, rtol=0, atol=1e-8 * np.abs(hessian).max())


@pytest.mark.parametrize("C", [10.0, 100.0, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_factor_agrees_with_central_differences(C, seed):
    """Along random directions of the simplex's affine hull, short enough for the free set to stay."""
    bank, oracle = problem(C=C, seed=seed)
    b = point(bank.n_kernels, seed)
    cut = oracle.query(Query(b, wishes=frozenset({Curvature})))
    R, compared = cut.answer(Curvature).factor, 0
    for k in range(8):
        direction = point(bank.n_kernels, 100 + k) - b
        for step in (1e-3, 1e-4):
            ahead = oracle.query(Query(b + step * direction))
            behind = oracle.query(Query(b - step * direction))
            same = [np.array_equal(free_set(end, C), free_set(cut, C)) for end in (ahead, behind)]
            if all(same):
                difference = (ahead.subgradient - behind.subgradient) / (2 * step)
                product = R.T @ (R @ direction)
                assert np.abs(difference - product).max() <= 1e-5 * np.abs(product).max()
                compared += 1
                break
    assert compared >= 4


def test_one_layout_gives_the_same_factor():
    bank, oracle = problem()
    _, lean = problem(memory_limit=bank.nbytes)
    query = Query(point(bank.n_kernels), wishes=frozenset({Curvature}))
    one, other = oracle.query(query).answer(Curvature).factor, lean.query(query).answer(Curvature).factor
    np.testing.assert_allclose(one.T @ one, other.T @ other, rtol=0, atol=1e-9 * np.abs(one.T @ one).max())


def test_no_factor_unless_asked_for():
    bank, oracle = problem()
    assert oracle.query(Query(point(bank.n_kernels))).answers == ()


@pytest.mark.parametrize(("kernel", "C"), [(np.eye(2), 0.1), (np.ones((2, 2)), 5.0)])
def test_no_factor_without_free_support_vectors(kernel, C):
    oracle = MKLOracle(GramBank([kernel]), [1, -1], C)
    assert oracle.query(Query(np.ones(1), wishes=frozenset({Curvature}))).answers == ()


@pytest.mark.parametrize("K", [np.ones((2, 2)), np.diag([1.0, -1.0]), np.zeros((2, 2))])
def test_no_factor_of_a_singular_kernel(K):
    assert curvature_factor(K, np.ones((2, 3))) is None


@pytest.mark.parametrize("C", [10.0, 1e4])
def test_interrupted_run_goes_on_bit_for_bit(tmp_path, C):
    """The warm start is in the cut: neither the Newton phase nor a factor of the last query is remembered."""
    histories = []
    for calls in ((12,), (5, 12)):
        journal = tmp_path / f"{len(calls)}.journal"
        for limit in calls:
            result = minimize(
                problem(n=60, C=C)[1], Kelley(), max_calls=limit, rtol=0.0, journal=journal, keep_cuts=True
            )
        histories.append(result.history.cuts)
    assert len(histories[0]) == 12
    for one, other in zip(*histories, strict=True):
        np.testing.assert_array_equal(one.extras["alpha"], other.extras["alpha"])
        np.testing.assert_array_equal(one.subgradient, other.subgradient)
        assert (one.value, one.error) == (other.value, other.error)
