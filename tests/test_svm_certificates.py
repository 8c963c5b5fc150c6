"""What an SVM answer states, recomputed in long double from the point it returns."""

import numpy as np
import pytest

from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge, SVMStatus, solve_csvc, solve_svm

LONG = np.longdouble
ACCURACIES = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 0.0)


def rbf(X, width=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def low_rank(rng, X):
    return X @ X.T


def rounded_points(rng, X):
    return (np.round(X) @ np.round(X).T + 1.0) ** 2


def badly_scaled(rng, X):
    scale = 10.0 ** rng.uniform(-3, 3, len(X))
    return rbf(X) * np.multiply.outer(scale, scale)


def polynomial(rng, X):
    return (1.0 + 100.0 * (X @ X.T)) ** 3


def constant(rng, X):
    return np.full((len(X), len(X)), 1e3)


def nearly_singular(rng, X):
    return rbf(X, 1e3)


FAMILIES = (low_rank, rounded_points, badly_scaled, polynomial, constant, nearly_singular)


def problem(family, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(8, 60)), int(rng.integers(1, 5))))
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng, family(rng, X), y


def exact(K, linear, b, bias, loss, penalty):
    """Dual and primal objective and gradient, `loss` of the decision values and `penalty` of b by their definitions."""
    b = b.astype(LONG)
    f = K.astype(LONG) @ b
    return linear @ b - penalty(b) - b @ f / 2, b @ f / 2 + loss(f + LONG(bias)), linear - f


def assert_true(solution, objectives, K, linear):
    dual, primal, gradient = objectives
    b = solution.signed_dual
    size = np.abs(linear).max() + np.abs(K).max() * np.abs(b).sum()
    own = 1e-16 * len(b) * float(np.abs(b).sum() + abs(primal) + abs(dual))  # of long double
    assert solution.dual_objective <= dual + own
    assert solution.primal_objective >= primal - own
    assert solution.gap >= primal - dual - own
    assert np.abs(solution.gradient - gradient).max() <= 1e-14 * len(b) * size
    assert solution.dual_objective >= dual - 1e-13 * len(b) * size * max(np.abs(b).sum(), 1e-300)
    assert solution.status is not SVMStatus.STEP_LIMIT


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(6))
def test_classification(family, seed):
    """Low rank and large C are where Newton's method fails, and where what it left was mended by one variable."""
    rng, K, y = problem(family, seed)
    C = 10.0 ** rng.uniform(0, 4) * np.where(y > 0, 3.0, 0.5)
    near = solve_csvc(K, y, 0.7 * C).signed_dual
    for accuracy in ACCURACIES:
        for start in (None, near, rng.normal(size=len(y)) * C):
            solution = solve_csvc(K, y, C, start=start, accuracy=accuracy)
            hinge = lambda f: (C * np.maximum(0, 1 - y * f)).sum()  # noqa: E731
            assert_true(solution, exact(K, y, solution.signed_dual, solution.bias, hinge, lambda b: 0), K, y)
            assert abs(solution.signed_dual.astype(LONG).sum()) <= solution.imbalance
            assert solution.status is not SVMStatus.CONVERGED or solution.relative_gap <= accuracy


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_other_kinds(family, seed):
    rng, K, y = problem(family, 100 + seed)
    n, C = len(y), 10.0 ** rng.uniform(-1, 3)
    t, epsilon, nu = 1e3 + rng.normal(size=n), 0.1, 0.3
    for accuracy in ACCURACIES[::2]:
        svr = solve_svm(K, t, EpsilonInsensitive(C, epsilon), accuracy=accuracy)
        tube = lambda f: (C * np.maximum(0, np.abs(t - f) - LONG(epsilon))).sum()  # noqa: E731
        penalty = lambda b: LONG(epsilon) * np.abs(b).sum()  # noqa: E731
        assert_true(svr, exact(K, t, svr.signed_dual, svr.bias, tube, penalty), K, t)
        one = solve_svm(K, loss=OneClass(nu), accuracy=accuracy)
        beyond = lambda f: np.maximum(0, -f).sum()  # noqa: E731
        dual, primal, gradient = exact(K, np.zeros(n), one.signed_dual, one.bias, beyond, lambda b: 0)
        assert_true(one, (dual, primal + LONG(nu * n) * LONG(one.bias), gradient), K, np.zeros(n))
        squared = solve_svm(K, y, SquaredHinge(C), accuracy=accuracy)
        hinge = lambda f: (C * np.maximum(0, 1 - y * f) ** 2).sum()  # noqa: E731
        ridge = lambda b: (b * b).sum() / (4 * LONG(C))  # noqa: E731
        b = squared.signed_dual
        dual, primal, gradient = exact(K, y, b, squared.bias, hinge, ridge)
        assert_true(squared, (dual, primal, gradient - b / (2 * LONG(C))), K + np.eye(n) / (2 * C), y)


@pytest.mark.parametrize("family", FAMILIES[:3])
@pytest.mark.parametrize("seed", range(4))
def test_a_looser_accuracy_takes_no_more_steps(family, seed):
    _, K, y = problem(family, 200 + seed)
    near = solve_csvc(K, y, 50.0, accuracy=1e-3).signed_dual
    for start in (None, near):
        steps = [solve_csvc(K, y, 1e2, start=start, accuracy=accuracy).n_steps for accuracy in ACCURACIES]
        for i in range(len(steps) - 1):
            assert steps[i] <= min(steps[i + 1 :]) + 4 * len(y)


def test_a_kernel_symmetric_up_to_rounding_counts_as_its_symmetric_part():
    rng, K, y = problem(polynomial, 7)
    rough = K * (1 + 1e-10 * rng.normal(size=K.shape))
    assert np.abs(rough - rough.T).max() > 0
    one, other = solve_csvc(rough, y, 1.0), solve_csvc(0.5 * (rough + rough.T), y, 1.0)
    np.testing.assert_array_equal(one.gradient, other.gradient)
    assert one.gap == other.gap
