"""Kernel logistic regression, whose dual has entropies: against Clarabel, in extreme cases, and where it is refused."""

from fractions import Fraction
from math import fsum

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import expit

from oracle_opt import CapabilityMismatch, InvalidArgument, minimize
from oracle_opt.arrays import EPS
from oracle_opt.learn import MKLClassifier
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, MKLOracle, NewtonMKL, SharedWeightsOracle, solve_mkl
from oracle_opt.oracles.svm import Hinge, Logistic, SVMStatus, solve_svm
from oracle_opt.oracles.svm.logistic import extended_product


def drawn(seed, n=18, dtype=float):
    """A kernel, labels, and weights of the points over five powers of ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    return K.astype(dtype), y, 10.0 ** rng.uniform(-2, 3, size=n)


def solved(K, y, C):
    values, vectors = np.linalg.eigh(K)
    w, bias = cp.Variable(len(y)), cp.Variable()
    f = (vectors * np.sqrt(np.maximum(values, 0.0))) @ w + bias
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C @ cp.logistic(-cp.multiply(y, f)))).solve(cp.CLARABEL)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_what_clarabel_finds(seed):
    K, y, C = drawn(seed)
    known = solved(K, y, C)
    exact = solve_svm(K, y, Logistic(C), accuracy=1e-12)
    assert exact.status is SVMStatus.CONVERGED
    assert exact.primal_objective == pytest.approx(known, rel=1e-8)
    assert exact.relative_gap <= 1e-12
    for steps in range(4):  # wherever it ends, its bounds are true
        rough = solve_svm(K, y, Logistic(C), max_steps=steps)
        assert rough.dual_objective <= known * (1 + 1e-8)
        assert known * (1 - 1e-8) <= rough.primal_objective
        assert rough.primal_objective - rough.dual_objective <= rough.gap + 1e-14 * known
        assert (np.abs(rough.signed_dual) <= C).all()
        assert abs(fsum(rough.signed_dual)) <= rough.imbalance
    again = solve_svm(K, y, Logistic(C), start=exact.signed_dual + 0.1, accuracy=1e-12)
    np.testing.assert_allclose(again.signed_dual, exact.signed_dual, rtol=1e-6, atol=1e-9)
    odds = exact.decision_function(K)
    np.testing.assert_allclose(exact.alpha, C * expit(-y * odds), rtol=1e-6)


@pytest.mark.parametrize("C", [1e-8, 1e4, 1e7])
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e3])
def test_extreme_weights_and_kernels_end(C, scale):
    K, y, _ = drawn(1, 40)
    solution = solve_svm(scale * K, y, Logistic(C))
    assert solution.relative_gap <= 1e-6
    assert solution.dual_objective <= solution.primal_objective


LONG = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are doubles here")


@LONG
@pytest.mark.parametrize("C", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_large_weights_of_many_points_reach_a_small_gap(seed, C):
    """What rounding may make of ``b @ K @ b`` is large beside the objective, in doubles: 4e-8 of it at C = 1e4."""
    K, y, _ = drawn(seed, 400)
    solution = solve_svm(K, y, Logistic(C), accuracy=1e-9)
    assert solution.status is SVMStatus.CONVERGED
    assert solution.relative_gap <= 1e-9
    b = solution.signed_dual.astype(np.longdouble)
    decision = K.astype(np.longdouble) @ b
    norms, p = b @ decision / 2, np.clip(b * y / C, 0, 1)
    inside = p[(p > 0) & (p < 1)]
    dual = -C * (inside * np.log(inside) + (1 - inside) * np.log1p(-inside)).sum() - norms
    primal = norms + C * np.logaddexp(np.longdouble(0), -y * (decision + solution.bias)).sum()
    assert solution.dual_objective <= dual * (1 + 1e-15)
    assert primal * (1 - 1e-15) <= solution.primal_objective


@LONG
def test_a_product_of_long_doubles_is_rounded_once():
    rng = np.random.default_rng(0)
    K, b = rng.normal(size=(300, 300)), 10.0 ** rng.uniform(-4, 4, 300) * rng.choice([-1.0, 1.0], 300)
    exact = [sum(Fraction(x) * Fraction(z) for x, z in zip(row, b, strict=True)) for row in K]
    size = np.abs(K) @ np.abs(b)
    wrong = [abs(float(Fraction(one) - other)) for one, other in zip(extended_product(K, b), exact, strict=True)]
    assert (np.array(wrong) <= EPS * np.abs(np.array(exact, dtype=float)) + 1e-18 * size).all()
    assert np.abs(K @ b - np.array(exact, dtype=float)).max() > 4 * max(wrong)


def test_a_float32_kernel_is_certified_for_itself():
    K, y, C = drawn(2, dtype=np.float32)
    assert solve_svm(K, y, Logistic(C)).primal_objective == pytest.approx(solved(K.astype(float), y, C), rel=1e-7)


def test_machines_of_different_losses_share_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    bank = GramBank([np.exp(-width * ((X[:, None] - X[None]) ** 2).sum(axis=2)) for width in (0.1, 1.0, 5.0)])
    labels = [np.where(X[:, k] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0) for k in (0, 1)]

    def oracle():
        losses = Logistic(10.0), Hinge(10.0)
        return SharedWeightsOracle([MKLOracle(bank, y, loss) for y, loss in zip(labels, losses, strict=True)])

    result = minimize(oracle(), rtol=1e-6)
    assert result.success
    assert result.certificate().verify(oracle(), exact=True).proven


def test_an_estimator_takes_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    fitted = MKLClassifier(loss=Logistic(), C=10.0).fit(X, y, sample_weight=np.linspace(0.5, 2.0, 80))
    assert fitted.score(X, y) > 0.8
    assert fitted.gap_ <= 1e-3


def test_what_knows_piecewise_quadratic_losses_alone_refuses_it():
    K, y, _ = drawn(0)
    bank = GramBank([K, np.eye(len(y))])
    with pytest.raises(InvalidArgument, match=r"`memory_budget` must be at least 2592 bytes with the loss Logistic"):
        MKLOracle(bank, y, Logistic(1.0), memory_budget=2000)
    with pytest.raises(InvalidArgument, match="`loss` must be piecewise quadratic, got Logistic"):
        solve_mkl(bank, y, loss=Logistic(1.0))
    with pytest.raises(CapabilityMismatch, match="piecewise quadratic"):
        minimize(GMKLOracle(bank, y, LpRegularizer(2), loss=Logistic(1.0)), NewtonMKL())
