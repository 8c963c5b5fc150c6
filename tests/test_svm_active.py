"""The active-set phase of the C-SVC solver: kernels singular on the free variables, and degenerate problems."""

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt.oracles.svm import OneClass, SVMStatus, solve_csvc, solve_svm

BOXES = (1.0, 1e2, 1e4, 1e6)


def points(n, d, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1, -1)


def rbf(X, width=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def duplicated_points(seed):
    X, y = points(60, 4, seed)
    return rbf(np.r_[X, X]), np.r_[y, y]


def opposite_duplicates(seed):
    X, y = points(60, 4, seed)
    return rbf(np.r_[X, X[:20]]), np.r_[y, -y[:20]]


def few_features(seed):
    X, y = points(200, 5, seed)
    return X @ X.T / 5, y


def many_features(seed):
    X, y = points(40, 300, seed)
    return X @ X.T / 300, y


def one_linear_feature(seed):
    x, y = points(200, 1, seed)
    return x @ x.T, y


def one_rounded_feature(seed):
    x, y = points(200, 1, seed)
    return (1 + np.round(4 * x) @ np.round(4 * x).T / 16) ** 2, y


def one_cubic_feature(seed):
    x, y = points(200, 1, seed)
    return (1 + x @ x.T) ** 3, y


def rank_sixty(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(300, 60))
    return Z @ Z.T / 60, np.where(rng.random(300) < 0.5, 1, -1)


def one_of_its_class(seed):
    X = points(50, 3, seed)[0]
    return X @ X.T, np.where(np.arange(50) == 7, 1, -1)


FAMILIES = (
    duplicated_points, opposite_duplicates, few_features, many_features, one_linear_feature, one_rounded_feature,
    one_cubic_feature, rank_sixty, one_of_its_class,
)  # fmt: skip


def optimum(K, y, C):
    """By Clarabel, in variables of a unit box."""
    values, vectors = np.linalg.eigh(C * K)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    a = cp.Variable(len(y))
    objective = cp.sum(a) - 0.5 * cp.sum_squares(factor.T @ cp.multiply(y, a))
    problem = cp.Problem(cp.Maximize(objective), [a >= 0, a <= 1, y @ a == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return C * problem.value


def recomputed_gap(solution, K, y, C):
    """Primal objective, with the best of all biases, minus dual objective: with no help of the solver but its duals."""
    b = solution.signed_dual
    Kb = K @ b
    biases = y - Kb
    losses = np.maximum(0.0, 1 - y * (Kb + biases[:, None])).sum(axis=1)
    return b @ Kb + C * losses.min() - np.abs(b).sum()


@pytest.mark.parametrize("C", BOXES)
@pytest.mark.parametrize("family", FAMILIES)
def test_ends_at_the_optimum(family, C):
    for seed in range(2):
        K, y = family(seed)
        solution = solve_csvc(K, y, C, accuracy=1e-12, max_steps=200_000)
        assert solution.status is not SVMStatus.STEP_LIMIT
        assert solution.relative_gap <= 1e-12 or solution.status is SVMStatus.ROUNDING_FLOOR
        # rounding of the gradient times the sum of C, which is what an answer in float64 can know
        floor = C * len(y) * np.finfo(float).eps * (1 + np.abs(K).max() * solution.alpha.sum())
        assert solution.gap <= 1e-12 * solution.primal_objective + floor
        assert recomputed_gap(solution, K, y, C) <= 1e-11 * solution.primal_objective + 4 * floor
        assert ((solution.alpha <= C) & (solution.signed_dual * y >= 0)).all()
        assert abs(solution.signed_dual.sum()) <= 1e-13 * solution.alpha.sum()


@pytest.mark.parametrize("C", BOXES[:3])
@pytest.mark.parametrize(
    "family", [duplicated_points, opposite_duplicates, few_features, many_features, one_of_its_class]
)
def test_agrees_with_an_interior_point_method(family, C):
    K, y = family(0)
    assert solve_csvc(K, y, C).dual_objective == pytest.approx(optimum(K, y, C), rel=1e-6)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_free_variables_are_independent(C):
    """Of a kernel of rank r, no more than r + 1 can be: the others were moved to a bound."""
    K, y = rank_sixty(0)
    solution = solve_csvc(K, y, C, accuracy=1e-12)
    free = (solution.alpha > 0) & (solution.alpha < C)
    assert free.sum() <= 61
    assert solution.n_steps < 10 * len(y)


@pytest.mark.parametrize("family", [few_features, rank_sixty, one_cubic_feature])
def test_float32_kernel_is_solved_as_it_is(family):
    """Its answer is exact for the rounded kernel; the objective moves by 1/2 b @ dK @ b at most, to first order."""
    K, y = family(0)
    rounded = K.astype(np.float32)
    single, double = solve_csvc(rounded, y, 10.0, accuracy=1e-10), solve_csvc(K, y, 10.0, accuracy=1e-10)
    assert single.relative_gap <= 1e-10
    np.testing.assert_allclose(single.gradient, y - rounded.astype(float) @ single.signed_dual, atol=1e-10)
    moved = max(abs(0.5 * s.signed_dual @ (rounded - K) @ s.signed_dual) for s in (single, double))
    assert abs(single.dual_objective - double.dual_objective) <= 2 * moved + 1e-9 * double.dual_objective


@pytest.mark.parametrize("C", BOXES)
def test_warm_start_at_many_dependent_free_variables(C):
    K, y = few_features(0)
    start = 0.5 * C * np.where(y > 0, 1 / (y > 0).sum(), -1 / (y < 0).sum())
    warm, cold = solve_csvc(K, y, C, start=start), solve_csvc(K, y, C)
    assert warm.dual_objective == pytest.approx(cold.dual_objective, rel=2e-9)


def test_no_free_support_vector():
    """Two heaps of one class each, C too small to separate them: every variable is at its bound."""
    X, _ = points(40, 2, 0)
    y = np.where(np.arange(40) % 2, 1, -1)
    K = X @ X.T
    solution = solve_csvc(K, y, 1e-4)
    np.testing.assert_array_equal(solution.alpha, 1e-4)
    g = y - K @ (1e-4 * y)
    # every bias from the largest gradient of the negative class to the least of the positive one is optimal
    assert solution.bias == pytest.approx(0.5 * (g[y < 0].max() + g[y > 0].min()))


def test_one_free_variable_at_its_bound_does_not_come_and_go():
    """nu n is whole, so that the steps before end at a vertex; the rounding of the sum took that variable off again."""
    rng = np.random.default_rng(365)
    n = int(rng.integers(10, 60))
    X = rng.normal(size=(n, int(rng.integers(2, 10))))
    K = rbf(X, 10 ** rng.uniform(0, 1)) + 1e-3 * (X @ X.T) ** 2
    solution = solve_svm(K, loss=OneClass(0.5), accuracy=1e-12)
    assert solution.status is SVMStatus.CONVERGED
    assert solution.relative_gap <= 1e-12
    assert solution.n_newton <= 5 * n
