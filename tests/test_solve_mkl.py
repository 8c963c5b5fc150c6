"""MKL with every loss and every regularizer of a smooth dual, solved by both methods, against Clarabel."""

import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from lp_problems import SOLVERS, named, random_problem

from oracle_opt import Status
from oracle_opt.oracles import ElasticNet, EntropyRegularizer, LpRegularizer, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

REGULARIZERS = {
    "lp 4/3": lambda d: (LpRegularizer(4 / 3, 0.5), 0.25 * cp.square(cp.pnorm(d, Fraction(4, 3)))),
    "lp 2": lambda d: (LpRegularizer(2.0, 2.0), cp.sum_squares(d)),
    "entropy": lambda d: (EntropyRegularizer(0.7, 0.2), 0.7 * cp.sum(cp.kl_div(d, 0.2))),
    "elastic net": lambda d: (ElasticNet(0.3, 0.4), 0.3 * cp.sum(d) + 0.2 * cp.sum_squares(d)),
}


def losses(y, targets):
    """Name, loss, its `y`, and what it costs as a cvxpy expression of decision values f and the bias."""
    C = np.where(y > 0, 3.0, 1.0) * 4.0
    nu = 0.4 * y.size
    return {
        "hinge": (Hinge(4.0), y, lambda f, bias: 4.0 * cp.sum(cp.pos(1 - cp.multiply(y, f)))),
        "class weights": (Hinge(4.0, {1: 3.0}), y, lambda f, bias: C @ cp.pos(1 - cp.multiply(y, f))),
        "squared hinge": (SquaredHinge(4.0), y, lambda f, bias: 4.0 * cp.sum_squares(cp.pos(1 - cp.multiply(y, f)))),
        "weighted squared hinge": (
            SquaredHinge(4.0, {1: 3.0}),
            y,
            lambda f, bias: C @ cp.square(cp.pos(1 - cp.multiply(y, f))),
        ),
        "epsilon": (
            EpsilonInsensitive(3.0, 0.2),
            targets + 50.0,
            lambda f, bias: 3.0 * cp.sum(cp.pos(cp.abs(targets + 50.0 - f) - 0.2)),
        ),
        "absolute": (EpsilonInsensitive(3.0, 0.0), targets, lambda f, bias: 3.0 * cp.sum(cp.abs(targets - f))),
        "one class": (OneClass(0.4), None, lambda f, bias: nu * bias + cp.sum(cp.pos(-f))),
    }


def by_clarabel(kernels, cost, regularizer):
    """The primal: a hyperplane w_k for each kernel ``F_k F_k'``, ``min 1/2 |w_k|^2 / d_k + cost + r(d)``."""
    p, n = kernels.shape[:2]
    d, bias, f, norms = cp.Variable(p, nonneg=True), cp.Variable(), 0.0, 0.0
    for k in range(p):
        values, vectors = np.linalg.eigh(kernels[k])
        w = cp.Variable(n)
        f = f + (vectors * np.sqrt(np.maximum(values, 0.0))) @ w
        norms = norms + 0.5 * cp.quad_over_lin(w, d[k])
    problem = cp.Problem(cp.Minimize(norms + cost(f + bias, bias) + REGULARIZERS[regularizer](d)[1]))
    for tolerance in (1e-8, 1e-7):  # at the first the solver may stop short of the last digit, and warns
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL, use_quad_obj=False, tol_gap_abs=tolerance, tol_gap_rel=tolerance)
        if problem.status == cp.OPTIMAL:
            break
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("loss", losses(np.ones(2), np.ones(2)))
@pytest.mark.parametrize("seed", [0, 1])
def test_against_the_primal_by_clarabel(seed, loss, regularizer):
    bank, kernels, y, targets = random_problem(20 + seed)
    of_loss, given, cost = losses(y, targets)[loss]
    optimum = by_clarabel(kernels, cost, regularizer)
    for solver in SOLVERS:
        result = solve_mkl(bank, given, REGULARIZERS[regularizer](0.0 * cp.Variable(4))[0], loss=of_loss, solver=solver)
        assert result.status is Status.CONVERGED, f"{named(solver)}: {result.message}"
        slack = 1e-6 * max(abs(optimum), 0.1)
        assert result.lower_bound <= optimum + slack, named(solver)
        assert result.upper_bound >= optimum - slack, named(solver)
        assert (result.upper_bound, result.lower_bound) == pytest.approx((optimum, optimum), abs=10 * slack)
