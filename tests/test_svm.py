"""The C-SVC solver against independent solvers, and its certificate."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm import SVMStatus, solve_csvc


def labels(rng, n):
    y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1, -1)
    y[:2] = 1, -1
    return rng.permutation(y)


def rbf(X, width=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def ordinary(rng):
    n = int(rng.integers(5, 45))
    return rbf(rng.normal(size=(n, 3))), labels(rng, n), 10.0 ** rng.uniform(-2, 2)


def same_twins(rng):
    K, y, C = ordinary(rng)
    twice = np.r_[np.arange(len(y)), np.arange(len(y))]
    return K[np.ix_(twice, twice)], y[twice], C


def opposite_twins(rng):
    K, y, C = same_twins(rng)
    return K, np.r_[y[: len(y) // 2], -y[: len(y) // 2]], C


def low_rank(rng):
    n, rank = int(rng.integers(10, 45)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, rank))
    return X @ X.T, labels(rng, n), 10.0 ** rng.uniform(-2, 2)


def tiny_box(rng):
    K, y, _ = ordinary(rng)
    return K, y, 1e-6


def huge_box(rng):
    n = int(rng.integers(5, 25))
    X = rng.normal(size=(n, 3))
    return rbf(X), np.where(X[:, 0] > np.median(X[:, 0]), 1, -1), 1e8


def no_free_vector(rng):
    n = int(rng.integers(2, 20))
    y = np.r_[np.ones(n, int), -np.ones(n, int)]
    return [np.zeros((2 * n, 2 * n)), np.ones((2 * n, 2 * n)), 1e-3 * rbf(rng.normal(size=(2 * n, 2)))][n % 3], y, 1.0


def two_points(rng):
    X = rng.normal(size=(2, 2))
    return X @ X.T, np.array([1, -1]), 10.0 ** rng.uniform(-4, 4)


def weighted(rng):
    K, y, C = ordinary(rng)
    return K, y, C * np.where(y > 0, 5.0, 0.3) * rng.uniform(0.5, 2.0, len(y))


def single_precision(rng):
    K, y, C = ordinary(rng)
    return K.astype(np.float32), y, C


FAMILIES = (
    ordinary, same_twins, opposite_twins, low_rank, tiny_box, huge_box, no_free_vector, two_points, weighted,
    single_precision,
)  # fmt: skip
PROBLEMS = [pytest.param(family, seed, id=f"{family.__name__}-{seed}") for family in FAMILIES for seed in range(20)]


def dual_objective(K, y, alpha):
    return alpha.sum() - 0.5 * (y * alpha) @ K.astype(float) @ (y * alpha)


def cvxpy_optimum(K, y, C):
    """Clarabel on variables scaled to a box of side 1; a box far larger than any solution is left out."""
    scale = min(np.max(C), 1.0)
    values, vectors = np.linalg.eigh(scale * K.astype(float))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    a = cp.Variable(len(y), nonneg=True)
    objective = cp.sum(a) - 0.5 * cp.sum_squares(factor.T @ cp.multiply(y, a))
    box = [a <= np.broadcast_to(C, y.shape) / scale] if np.max(C) < 1e6 else []
    problem = cp.Problem(cp.Maximize(objective), [*box, y @ a == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status == cp.OPTIMAL
    return scale * problem.value


def svc(K, y, C):
    model = SVC(C=1.0, kernel="precomputed", tol=1e-9, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K.astype(float), y, sample_weight=C * np.ones(len(y)))
    return model


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_objective_is_that_of_independent_solvers(family, seed):
    K, y, C = family(np.random.default_rng(seed))
    solution = solve_csvc(K, y, C)
    if family is huge_box:  # a gradient right to the last digit still leaves a gap of C * n * eps
        assert solution.gap <= 1e8 * len(y) * 1e-15
    else:
        assert solution.status is SVMStatus.CONVERGED
        assert solution.relative_gap <= 1e-9
    optimum = cvxpy_optimum(K, y, C)
    assert solution.dual_objective == pytest.approx(optimum, rel=1e-7)
    model = svc(K, y, C)
    if model.fit_status_ == 0 and model.n_iter_[0] < 100_000:
        alpha = np.zeros(len(y))
        alpha[model.support_] = np.abs(model.dual_coef_[0])
        assert solution.dual_objective == pytest.approx(dual_objective(K, y, alpha), rel=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("accuracy", [1e-1, 1e-4, 1e-9])
def test_gap_is_a_certificate(family, accuracy):
    for seed in range(5):
        K, y, C = family(np.random.default_rng(100 + seed))
        loose, tight = solve_csvc(K, y, C, accuracy=accuracy), solve_csvc(K, y, C, accuracy=0.0)
        rounding = 1e-12 * tight.primal_objective
        assert loose.relative_gap <= (max(accuracy, 2e-7) if family is huge_box else accuracy)
        assert loose.dual_objective <= tight.primal_objective + rounding
        assert loose.primal_objective >= tight.dual_objective - rounding
        # the parts are what they say, but for the rounding that is on the safe side
        b = loose.signed_dual
        near = 1e-7 if family is huge_box else 1e-9
        assert loose.dual_objective == pytest.approx(dual_objective(K, y, loose.alpha), rel=near)
        np.testing.assert_allclose(loose.gradient, y - K.astype(float) @ b, rtol=1e-9, atol=1e-9)
        hinge = np.maximum(0.0, y * (loose.gradient - loose.bias))
        primal = 0.5 * b @ K.astype(float) @ b + np.sum(C * hinge)
        assert loose.primal_objective == pytest.approx(primal, rel=100 * near if family is huge_box else near)
        assert (loose.alpha <= C).all()
        assert abs(b.sum()) <= 1e-14 * np.abs(b).sum()


@pytest.mark.parametrize("family", FAMILIES)
def test_no_bias_gives_a_lower_primal(family):
    for seed in range(5):
        K, y, C = family(np.random.default_rng(200 + seed))
        solution = solve_csvc(K, y, C, max_steps=3, accuracy=1e-3)
        b, g = solution.signed_dual, solution.gradient
        losses = (C * np.maximum(0.0, y * (g - g[:, None]))).sum(axis=1)  # the minimum is at an entry of g
        primal = 0.5 * b @ (y - g) + losses.min()
        assert solution.primal_objective == pytest.approx(primal, rel=1e-9)


def noisy(n=120, C=50.0, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return rbf(X, 2.0), np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1), C


def test_warm_start_reaches_the_same_optimum_in_fewer_steps():
    K, y, C = noisy()
    other = rbf(np.random.default_rng(0).normal(size=(len(y), 4)), 2.0)
    first = solve_csvc(K, y, C)
    moved = 0.999 * K + 0.001 * other
    cold, warm = solve_csvc(moved, y, C, accuracy=1e-6), solve_csvc(moved, y, C, start=first.signed_dual, accuracy=1e-6)
    assert warm.dual_objective == pytest.approx(cold.dual_objective, rel=2e-6)
    assert warm.n_steps < 0.8 * cold.n_steps
    assert solve_csvc(K, y, C, start=first.signed_dual).n_steps == 0


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_infeasible_start_is_repaired(scale):
    K, y, C = noisy()
    start = scale * np.random.default_rng(0).normal(size=len(y)) * C
    solution = solve_csvc(K, y, C, start=start, max_steps=0, accuracy=0.0)
    assert solution.status is SVMStatus.STEP_LIMIT
    assert ((solution.signed_dual * y >= 0) & (solution.alpha <= C)).all()
    assert abs(solution.signed_dual.sum()) <= 1e-12 * C
    assert solve_csvc(K, y, C, start=start).dual_objective == pytest.approx(
        solve_csvc(K, y, C).dual_objective, rel=2e-9
    )


def test_repair_leaves_bound_variables_on_their_bounds():
    K, y, C = noisy(C=0.5)
    solution = solve_csvc(K, y, C)
    start = solution.signed_dual.copy()
    free = np.flatnonzero((solution.alpha > 0) & (solution.alpha < C))
    start[free[0]] *= 1 + 1e-6
    repaired = solve_csvc(K, y, C, start=start, max_steps=0).alpha
    np.testing.assert_array_equal(repaired == C, solution.alpha == C)
    np.testing.assert_array_equal(repaired == 0, solution.alpha == 0)


def test_decision_values_agree_with_svc():
    rng = np.random.default_rng(5)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    solution, model = solve_csvc(X @ X.T + rbf(X), y, 2.0), SVC(C=2.0, kernel="precomputed", tol=1e-9)
    model.fit(X @ X.T + rbf(X), y)
    cross = new @ X.T + np.exp(-((new[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    np.testing.assert_allclose(solution.decision_function(cross), model.decision_function(cross), atol=1e-6)


def test_bias_is_the_middle_of_the_optimal_ones_without_a_free_vector():
    K = np.diag([1.0, 4.0])
    assert solve_csvc(K, [1, -1], 0.01).bias == pytest.approx(0.5 * (0.99 - 0.96))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_kernel_does_not_matter(scale):
    K, y, C = noisy()
    plain, scaled = solve_csvc(K, y, C), solve_csvc(scale * K, y, C / scale)
    assert scaled.status is SVMStatus.CONVERGED
    assert scaled.dual_objective * scale == pytest.approx(plain.dual_objective, rel=2e-9)


def test_same_answer_twice():
    K, y, C = noisy()
    once, again = solve_csvc(K, y, C), solve_csvc(K, y, C)
    np.testing.assert_array_equal(once.signed_dual, again.signed_dual)
    assert (once.bias, once.gap, once.n_steps) == (again.bias, again.gap, again.n_steps)


def test_step_limit_is_reported():
    K, y, C = noisy()
    solution = solve_csvc(K, y, C, max_steps=7)
    assert solution.status is SVMStatus.STEP_LIMIT
    assert solution.n_steps == 7
    assert solution.dual_objective <= solve_csvc(K, y, C).primal_objective <= solution.primal_objective


@pytest.mark.parametrize("C", [1.0, 1e8])
def test_all_that_rounding_allows_is_reported_as_such(C):
    K, y, _ = noisy(n=60)
    solution = solve_csvc(K, y, C, accuracy=0.0)
    assert solution.status in (SVMStatus.ROUNDING_FLOOR, SVMStatus.CONVERGED)
    assert solution.relative_gap <= max(1e-13, 1e-16 * len(y) * C)


def test_slow_progress_of_steps_calls_for_more_than_steps_at_any_accuracy():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(145, 60))
    K, y = Z @ Z.T, np.where(rng.random(145) < 0.5, 1, -1)
    for accuracy in (0.3, 1e-2, 1e-4, 1e-8):  # by two-variable steps alone 10 million end at a gap of 0.86
        solution = solve_csvc(K, y, 1e3, accuracy=accuracy)
        assert solution.status is SVMStatus.CONVERGED
        assert solution.n_steps <= 10 * len(y)


def test_indefinite_kernel_ends():
    K = np.random.default_rng(0).normal(size=(40, 40))
    y = np.where(np.arange(40) % 2, 1, -1)
    assert solve_csvc(K + K.T, y, 1.0, max_steps=100_000).n_steps <= 100_000


def test_compilation_flags_leave_denormals_alone():
    assert np.float64(1e-310) * np.float64(0.5) > 0


GOOD = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": [0, 1, 1]}, "`y` must hold the labels -1 and .1, got 0, 1; convert"),
        ({"y": ["a", "b", "a"]}, "`y` must hold the labels .* got 'a', 'b'"),
        ({"y": [1, 2, 3]}, "`y` .* got 1, 2, 3"),
        ({"y": [1, 1, 1]}, "`y` must hold both classes"),
        ({"y": []}, "`y` must have shape"),
        ({"y": [[1, -1]]}, "`y` must have shape"),
        ({"K": np.eye(2)}, "`y` must have 2 labels, one per point, got 3"),
        ({"K": np.ones((3, 2))}, r"`K` must have shape \(n, n\), got \(3, 2\)"),
        ({"K": GOOD * np.nan}, r"`K` must be finite, got nan at \(0, 0\)"),
        ({"K": GOOD + np.diag([0, np.inf], 1)}, "`K` must be finite"),
        ({"K": GOOD + np.diag([0.0, 0.1], 1)}, r"`K` must be symmetric, got 0.0 at \(2, 1\) and 0.1 at \(1, 2\)"),
        ({"C": 0.0}, "`C` must be positive and finite, got 0.0"),
        ({"C": -1.0}, "`C` must be positive"),
        ({"C": np.inf}, "`C` must be positive and finite, got inf"),
        ({"C": np.nan}, "`C` must be positive and finite, got nan"),
        ({"C": [1.0, 2.0]}, r"`C` must be a number or have shape \(3,\)"),
        ({"C": [1.0, 0.0, 1.0]}, "`C` must be positive and finite, got 0.0"),
        ({"accuracy": -1.0}, "`accuracy` must be at least 0"),
        ({"accuracy": np.nan}, "`accuracy` must be at least 0"),
        ({"tolerance": np.inf}, "`tolerance` must be at least 0"),
        ({"max_steps": -1}, "`max_steps` must be a whole number of at least 0"),
        ({"start": [0.0, 1.0]}, "`start` must be 3 finite"),
        ({"start": [0.0, np.nan, 0.0]}, "`start` must be 3 finite"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        solve_csvc(**({"K": GOOD, "y": [1, -1, 1]} | arguments))


def test_non_contiguous_and_integer_arrays_are_taken():
    K, y, C = noisy(n=20)
    columns = np.c_[y, y]
    assert solve_csvc(np.asfortranarray(K)[::1], columns[:, 0], C).gap == solve_csvc(K, y.astype(float), C).gap
    assert solve_csvc([[2, 0], [0, 2]], [1, -1], 5).dual_objective == pytest.approx(0.5)


def test_cross_of_the_wrong_shape():
    with pytest.raises(InvalidArgument, match="`cross` must have shape"):
        solve_csvc(GOOD, [1, -1, 1]).decision_function(np.ones((2, 2)))
