"""Kernel learning of other kinds on twelve points, with the optima of a conic solver."""

import numpy as np
from tiny_kernels import roots_of, tiny_bank

from oracle_opt.oracles import GramBank, MKLOracle
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge


def tiny_mkl_squared_hinge() -> MKLOracle:
    """Classification by the signs of the values."""
    bank, values = tiny_bank()
    return MKLOracle(bank, np.where(values > 0, 1.0, -1.0), SquaredHinge(C=1.0))


def tiny_mkl_regression() -> MKLOracle:
    """Regression of the values."""
    bank, values = tiny_bank()
    return MKLOracle(bank, values, EpsilonInsensitive(C=2.0, epsilon=0.1))


def tiny_mkl_one_class() -> MKLOracle:
    """No labels; the kernel of least width makes all points alike, so unit diagonals are scaled by 1 to 2."""
    bank, _ = tiny_bank()
    kernels = [factor * bank.combine(row) for factor, row in zip(np.linspace(0.5, 2.0, 5), np.eye(5), strict=True)]
    return MKLOracle(GramBank(kernels), loss=OneClass(nu=0.4))


def mkl_kinds_optimum(oracle: MKLOracle) -> float:
    """l1-MKL as one conic program: maximize the linear part minus r^2 / 2 with |L_k' b| <= r, by Clarabel."""
    import cvxpy as cp

    n, loss = oracle.bank.n_points, oracle.loss
    b, r = cp.Variable(n), cp.Variable()
    if isinstance(loss, EpsilonInsensitive):
        linear = oracle.y @ b - loss.epsilon * cp.norm1(b)
        constraints = [cp.abs(b) <= loss.C, cp.sum(b) == 0]
    elif isinstance(loss, OneClass):
        linear, constraints = cp.Constant(0.0), [b >= 0, b <= 1, cp.sum(b) == loss.nu * n]
    else:
        linear = oracle.y @ b - cp.sum(cp.multiply(1 / (4 * loss.C), cp.square(b)))
        constraints = [cp.multiply(oracle.y, b) >= 0, cp.sum(b) == 0]
    kernels = (oracle.bank.combine(row) for row in np.eye(oracle.bank.n_kernels))
    constraints += [cp.norm(L.T @ b) <= r for L in roots_of(kernels)]
    problem = cp.Problem(cp.Maximize(linear - 0.5 * cp.square(r)), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return float(problem.value)
