"""The Newton phase of the C-SVC solver: its end at rounding level, its failures, and what does not depend on it."""

import numpy as np
import pytest

from oracle_opt.oracles.svm import SVMStatus, solve_csvc


def problem(n=150, d=5, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1, -1)


def rbf(X, width=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def unit_trace(K):
    return K / np.trace(K)


def optimality_error(solution, K, y, C):
    """Largest error of the optimality conditions, computed here: in the margin, and in sum(b) over max(b)."""
    b = solution.signed_dual
    u = y * (y - K.astype(float) @ b - solution.bias)
    free = (solution.alpha > 0) & (solution.alpha < C)
    errors = np.where(free, np.abs(u), np.where(solution.alpha == 0, u, -u))
    return max(errors.max(), 0.0), abs(b.sum()) / np.abs(b).max()


def exact_gap(solution, K, y, C):
    """Primal minus dual objective of the point and the bias returned, in long double."""
    b, long = solution.signed_dual.astype(np.longdouble), np.longdouble
    f = K.astype(long) @ b
    return float(b @ f + C * np.maximum(0, 1 - y * (f + long(solution.bias))).sum() - np.abs(b).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [10.0, 100.0, 1e4])
@pytest.mark.parametrize("accuracy", [1e-6, 1e-9, 1e-12])
def test_ends_at_rounding_level(seed, C, accuracy):
    X, y = problem(seed=seed)
    K = unit_trace(rbf(X))
    solution = solve_csvc(K, y, C, accuracy=accuracy)
    assert solution.status is SVMStatus.CONVERGED
    # what is stated holds the rounding of the gradient, reduced where the accuracy asks for it; in truth it is less
    assert solution.relative_gap <= min(accuracy, 1e-10)
    assert exact_gap(solution, K, y, C) <= 1e-12 * solution.primal_objective
    error, imbalance = optimality_error(solution, K, y, C)
    assert error <= 1e-10
    assert imbalance <= 1e-13
    if ((solution.alpha > 0) & (solution.alpha < C)).any():
        assert solution.n_newton > 0


def test_saves_most_steps():
    X, y = problem()
    K = unit_trace(rbf(X))
    loose, tight = solve_csvc(K, y, 1e2, accuracy=1e-2), solve_csvc(K, y, 1e2, accuracy=1e-12)
    assert loose.n_newton == 0
    assert tight.n_steps < 2 * loose.n_steps
    assert tight.relative_gap <= 1e-12 < loose.relative_gap <= 1e-2


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("values", [5, 40, None])
def test_kernels_of_one_feature(degree, values):
    """Few different values: many equal points, in both classes; such kernels are the vertices an MKL run asks for."""
    X, y = problem(n=200, noise=1.0)
    x = X[:, 0] if values is None else np.round(X[:, 0] * values / 5)
    y = np.where(x + np.random.default_rng(1).normal(size=200) > 0, 1, -1)
    K = unit_trace((1.0 + np.multiply.outer(x, x)) ** degree)
    solution = solve_csvc(K, y, 1e4, max_steps=1_000_000)
    assert solution.status is SVMStatus.CONVERGED
    assert solution.relative_gap <= 1e-9
    assert optimality_error(solution, K, y, 1e4)[0] <= 1e-4


@pytest.mark.parametrize("family", ["rank", "twins", "ones", "blocks"])
@pytest.mark.parametrize("accuracy", [1e-9, 1e-12])
@pytest.mark.parametrize("seed", range(3))
def test_singular_kernels_converge_or_say_that_they_did_not(family, accuracy, seed):
    X, y = problem(n=60, seed=seed)
    K = {
        "rank": lambda: X @ X.T,
        "twins": lambda: np.kron(np.ones((2, 2)), rbf(X[:30])),
        "ones": lambda: np.ones((60, 60)),
        "blocks": lambda: np.kron(np.eye(6), np.ones((10, 10))),
    }[family]()
    solution = solve_csvc(K, y, 10.0, accuracy=accuracy)
    if solution.status is SVMStatus.CONVERGED:
        assert solution.relative_gap <= accuracy
    else:
        assert solution.status is SVMStatus.ROUNDING_FLOOR
        assert solution.relative_gap <= 1e-9
    reference = solve_csvc(K, y, 10.0, accuracy=1e-4)
    assert reference.dual_objective * (1 - 1e-12) <= solution.primal_objective
    assert solution.dual_objective <= reference.primal_objective * (1 + 1e-12)


@pytest.mark.parametrize("K", [np.zeros((8, 8)), np.ones((8, 8)), 1e-3 * np.eye(8), np.eye(8)])
def test_nothing_free_needs_no_factorization(K):
    y = np.array([1, -1] * 4)
    solution = solve_csvc(K, y, 0.5)
    assert (solution.n_newton, solution.status) == (0, SVMStatus.CONVERGED)
    np.testing.assert_array_equal(solution.alpha, 0.5)


def test_solution_is_recognized_without_a_step_or_a_factorization():
    X, y = problem()
    K = rbf(X)
    first = solve_csvc(K, y, 10.0)
    again = solve_csvc(K, y, 10.0, start=first.signed_dual)
    assert (again.n_steps, again.n_newton) == (0, 0)
    np.testing.assert_allclose(again.signed_dual, first.signed_dual, rtol=1e-13)


@pytest.mark.parametrize("C", [10.0, 1e4])
def test_warm_starts_end_where_cold_ones_do(C):
    X, y = problem()
    kernels = [unit_trace(rbf(X, width)) for width in np.geomspace(0.8, 1.2, 12)]
    last, steps, cold_steps = None, 0, 0
    for K in kernels:
        cold = solve_csvc(K, y, C)
        last = solve_csvc(K, y, C, start=None if last is None else last.signed_dual)
        np.testing.assert_allclose(last.signed_dual, cold.signed_dual, rtol=1e-7, atol=1e-9 * C)
        assert last.relative_gap <= 1e-9
        assert exact_gap(last, K, y, C) <= 1e-12 * last.primal_objective
        steps += last.n_steps
        cold_steps += cold.n_steps
    assert steps < 0.8 * cold_steps


def test_indefinite_kernel_ends_feasible():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(60, 60))
    y = np.where(np.arange(60) % 2, 1, -1)
    solution = solve_csvc(K + K.T, y, 1.0, max_steps=100_000)
    assert ((solution.alpha <= 1.0) & (solution.signed_dual * y >= 0)).all()
    assert abs(solution.signed_dual.sum()) <= 1e-13


def test_no_newton_beyond_the_step_limit():
    X, y = problem()
    assert solve_csvc(rbf(X), y, 10.0, max_steps=5).n_newton == 0


def many_free(width, n=1600):
    """A machine nearly all of whose variables are free; the narrower the kernel, the better conditioned."""
    X, y = problem(n=n, d=8)
    return rbf(X, width), y


def test_many_free_variables_need_no_factorization_where_steps_get_there():
    K, y = many_free(0.7)
    solution = solve_csvc(K, y, 100.0, accuracy=1e-6)
    assert solution.status is SVMStatus.CONVERGED
    assert ((solution.alpha > 0) & (solution.alpha < 100)).sum() > 1000
    assert solution.n_newton == 0
    assert solution.n_steps > 0
    assert exact_gap(solution, K, y, 100.0) <= 1e-6 * solution.primal_objective


@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("width", [0.7, 1.0, 2.5])
def test_what_rounding_denies_to_many_steps_newton_still_reaches(width, C):
    K, y = many_free(width)
    solution = solve_csvc(K, y, C, accuracy=1e-9)
    assert solution.status is SVMStatus.CONVERGED
    assert exact_gap(solution, K, y, C) <= 1e-9 * solution.primal_objective
