"""Kernel learning on twelve points, with the optima of a conic solver: problems of the conformance tests."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer, MixedNormOracle, MKLOracle

GROUPS = ((0, 3), (1, 2, 4))


def tiny_bank() -> tuple[GramBank, np.ndarray]:
    """Five RBF kernels on twelve points, and a value for each point."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(12, 2))
    values = points[:, 0] + 0.5 * rng.normal(size=12)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return GramBank([np.exp(-distances * g) for g in (0.1, 0.3, 1.0, 3.0, 10.0)]), values


def _tiny() -> tuple[GramBank, np.ndarray]:
    bank, values = tiny_bank()
    return bank, np.where(values > 0, 1.0, -1.0)


def roots_of(kernels: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Matrices L with ``L @ L.T`` equal to each kernel."""
    for kernel in kernels:
        values, vectors = np.linalg.eigh(kernel)
        yield vectors * np.sqrt(np.maximum(values, 0.0))


def tiny_mkl() -> MKLOracle:
    return MKLOracle(*_tiny(), C=1.0)


def tiny_mixed_norm() -> MixedNormOracle:
    return MixedNormOracle(*_tiny(), C=1.0, groups=GROUPS)


def tiny_gmkl() -> GMKLOracle:
    return GMKLOracle(*_tiny(), LpRegularizer(2), C=1.0, radius=10.0)


def dual_optimum(oracle, kernels: list[np.ndarray], penalty: Callable) -> float:
    """max sum(a) - penalty(t) with t_k >= |L_k' (y*a)|, the square root of S_k(a), by Clarabel."""
    import cvxpy as cp

    a, t = cp.Variable(len(oracle.y)), cp.Variable(len(kernels), nonneg=True)
    constraints = [a >= 0, a <= oracle.loss.C, oracle.y @ a == 0]
    constraints += [cp.norm(L.T @ cp.multiply(oracle.y, a)) <= t[k] for k, L in enumerate(roots_of(kernels))]
    problem = cp.Problem(cp.Maximize(cp.sum(a) - penalty(t)), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return float(problem.value)


def _optimum(oracle, penalty: Callable) -> float:
    return dual_optimum(oracle, [oracle.bank.combine(row) for row in np.eye(5)], penalty)


def tiny_mkl_optimum() -> float:
    """(7): the largest S_k / 2."""
    import cvxpy as cp

    return _optimum(tiny_mkl(), lambda t: 0.5 * cp.square(cp.norm(t, "inf")))


def tiny_mixed_norm_optimum() -> float:
    """Half the square of the sum over the groups of the largest norm."""
    import cvxpy as cp

    return _optimum(tiny_mixed_norm(), lambda t: 0.5 * cp.square(sum(cp.norm(t[list(g)], "inf") for g in GROUPS)))


def tiny_gmkl_optimum() -> float:
    """|S|_2^2 / 8."""
    import cvxpy as cp

    return _optimum(tiny_gmkl(), lambda t: cp.sum(cp.power(t, 4)) / 8)
