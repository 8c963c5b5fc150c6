"""What a machine solved on a rounded kernel proves of the exact one, and lp-MKL where that and memory matter."""

from math import inf

import numpy as np
import pytest

from oracle_opt.oracles import JoinedBank, RBFBank, solve_lp_mkl
from oracle_opt.oracles.mkl import newton_mkl
from oracle_opt.oracles.mkl.rounded_kernel import for_exact_kernel, is_classification
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

N = 60


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
    return np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2)), y, rng


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kind", [Hinge, SquaredHinge])
@pytest.mark.parametrize("worst", [False, True])
def test_the_optimum_of_the_exact_kernel_is_within(kind, C, worst):
    for seed in range(5):
        K, y, rng = problem(seed)
        dual = kind(C).dual(y, N)
        assert is_classification(dual)
        exact = dual.solve(dual.add_ridge(K.copy()), accuracy=1e-11)
        for error in (1e-8, 1e-6):
            if worst:  # the best b of the exact kernel loses, or gains, as much as it can
                side = np.sign(exact.signed_dual)
                rounded = K + error * (1 if seed % 2 else -1) * np.outer(side, side)
            else:
                noise = rng.uniform(-error, error, size=(N, N))
                rounded = K + np.tril(noise) + np.tril(noise, -1).T
            on_rounded = dual.solve(dual.add_ridge(rounded), accuracy=1e-11)
            found = for_exact_kernel(on_rounded, dual, error)
            assert found.dual_objective <= exact.primal_objective
            assert found.primal_objective >= exact.dual_objective
            assert found.gap >= found.primal_objective - found.dual_objective - 1e-9 * abs(found.primal_objective)
            size = float(np.abs(exact.signed_dual).sum())
            effect = error * size * (size + 2.0 * exact.primal_objective)
            if effect < 0.01 * exact.primal_objective:
                assert found.primal_objective - found.dual_objective <= 1.1 * effect + 1e-8 * exact.primal_objective


def test_which_losses_are_classifications():
    _, y, _ = problem(0)
    assert is_classification(Hinge(np.linspace(1, 2, N)).dual(y, N))
    assert not is_classification(OneClass(0.5).dual(None, N))
    assert not is_classification(EpsilonInsensitive(1.0, 0.1).dual(y, N))


def test_products_in_little_memory_give_the_same_weights(monkeypatch):
    """The direction is rounded to single precision; what it leads to is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    bank = RBFBank.from_quantiles(X, 50)
    for p in (1.1, 1.33, 2.0):
        known = solve_lp_mkl(bank, y, p=p, rtol=1e-9)
        monkeypatch.setattr(newton_mkl, "MOST_ENTRIES", 1)
        monkeypatch.setattr(newton_mkl, "AT_ONCE", 150)
        found = solve_lp_mkl(bank, y, p=p, rtol=1e-9)
        assert found.success
        assert found.n_calls <= known.n_calls + 2
        np.testing.assert_allclose(found.point, known.point, rtol=0, atol=1e-4 * known.point.max())
        monkeypatch.undo()


@pytest.mark.campaign(inf)
def test_the_gap_asked_is_reached_with_very_many_kernels():
    """From weights of 1 it was not: a run ended when the gap was small beside what it had come down from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    bank = RBFBank.from_quantiles(X, 200_000, [[0], [1], [2]])
    found = solve_lp_mkl(bank, y, C=10.0, p=1.33, rtol=1e-3)
    assert found.success
    assert found.relative_gap <= 1e-3


def test_rounding_of_kernels_does_not_end_newtons_method():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 20))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    bank = JoinedBank([RBFBank.from_quantiles(X, 2000, dtype=np.float32)])
    for rtol in (1e-3, 1e-4):
        found = solve_lp_mkl(bank, y, p=1.33, rtol=rtol)
        assert found.n_calls <= 8
    assert found.relative_gap <= 5e-4
