"""Regression, one-class and squared hinge solvers against independent ones, and their certificates."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm import EpsilonInsensitive, Huber, OneClass, SquaredHinge, SVMStatus, solve_svm
from oracle_opt.oracles.svm.pieces import Pieces

PRECISE = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def rbf(X, width=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


KERNELS = {
    "rbf": rbf,
    "rank 3": lambda X: X @ X.T,
    "twins": lambda X: rbf(np.r_[X, X]),
    "constant": lambda X: np.ones((len(X), len(X))),
    "zero": lambda X: np.zeros((len(X), len(X))),
    "float32": lambda X: rbf(X).astype(np.float32),
    "large": lambda X: 1e6 * rbf(X),
}


def kernel(name, seed, least=2):
    rng = np.random.default_rng(seed)
    return KERNELS[name](rng.normal(size=(int(rng.integers(least, 35)), 3))), rng


def regression(name, seed):
    K, rng = kernel(name, seed)
    n = len(K)
    t = 10.0 ** rng.uniform(-3, 3) * (rng.normal(size=n) + rng.uniform(-5, 5))
    C = 10.0 ** rng.uniform(-2, 2) * np.ptp(t) / max(K.max(), 1.0) * (rng.uniform(0.2, 3.0, n) if seed % 2 else 1.0)
    return K, t, C, (0.0, 0.01, 0.1, 0.5, 1.0)[seed % 5] * t.std()


def classification(name, seed):
    K, rng = kernel(name, seed)
    y = np.where(rng.random(len(K)) < 0.5, 1, -1)
    y[:2] = 1, -1
    return K, y, 10.0 ** rng.uniform(-2, 3) / max(K.max(), 1.0) * (rng.uniform(0.2, 3.0, len(y)) if seed % 2 else 1.0)


def root(K):
    values, vectors = np.linalg.eigh(K.astype(float))
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


def svr_objectives(K, t, C, epsilon, b, bias):
    """Dual and primal objective, by the definitions."""
    f = K.astype(float) @ b
    loss = np.sum(C * np.maximum(0.0, np.abs(t - f - bias) - epsilon))
    return t @ b - epsilon * np.abs(b).sum() - 0.5 * b @ f, 0.5 * b @ f + loss


def one_class_objectives(K, nu, a, rho):
    f = K.astype(float) @ a
    return -0.5 * a @ f, 0.5 * a @ f - nu * len(a) * rho + np.maximum(0.0, rho - f).sum()


def squared_hinge_objectives(K, y, C, b, bias):
    f = K.astype(float) @ b
    loss = np.sum(C * np.maximum(0.0, 1 - y * (f + bias)) ** 2)
    return np.abs(b).sum() - 0.5 * b @ f - np.sum(b**2 / (4 * C)), 0.5 * b @ f + loss


def assert_certified(solution, objectives, rounding):
    """The objectives are what they say, the gap is their difference, the sum and the status are right."""
    dual, primal = objectives
    assert solution.dual_objective == pytest.approx(dual, rel=1e-9, abs=rounding)
    assert solution.primal_objective == pytest.approx(primal, rel=1e-9, abs=rounding)
    assert solution.gap >= 0.0
    assert primal - dual <= solution.gap + 1e-10 * abs(primal) + rounding
    assert solution.status is not SVMStatus.STEP_LIMIT
    assert solution.gap <= 1e-9 * abs(primal) + rounding


def rounding_of(K, b, scale, C):
    return 1e-13 * (scale + np.abs(K).max() * np.abs(b).sum()) * (np.sum(C * np.ones(len(b))) + np.abs(b).sum())


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(10))
def test_regression(name, seed):
    K, t, C, epsilon = regression(name, seed)
    solution = solve_svm(K, t, EpsilonInsensitive(C, epsilon))
    b = solution.signed_dual
    rounding = rounding_of(K, b, np.ptp(t), C)
    assert_certified(solution, svr_objectives(K, t, C, epsilon, b, solution.bias), rounding)
    assert (np.abs(b) <= C).all()
    assert abs(b.sum()) <= 1e-13 * np.abs(b).sum()
    np.testing.assert_allclose(
        solution.gradient, t - K.astype(float) @ b, atol=1e-12 * (np.abs(t).max() + K.max() * np.abs(b).sum())
    )
    # in units in which targets and box are about 1
    scale, spread = np.max(C), np.ptp(t)
    v, size = cp.Variable(len(t)), cp.Variable(len(t))
    objective = ((t - t.mean()) / spread) @ v - epsilon / spread * cp.sum(size)
    objective -= 0.5 * cp.sum_squares(np.sqrt(scale / spread) * root(K) @ v)
    problem = cp.Problem(cp.Maximize(objective), [size >= v, size >= -v, size <= C / scale, cp.sum(v) == 0])
    problem.solve(**PRECISE)
    assert solution.dual_objective == pytest.approx(problem.value * scale * spread, rel=1e-6, abs=1e-8 * scale * spread)
    model = SVR(C=1.0, epsilon=epsilon, kernel="precomputed", tol=1e-7 * t.std(), max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K.astype(float), t, sample_weight=C * np.ones(len(t)))
    theirs = np.zeros(len(t))
    theirs[model.support_] = model.dual_coef_[0]
    assert svr_objectives(K, t, C, epsilon, theirs, 0.0)[0] <= solution.primal_objective * (1 + 1e-9) + 1e4 * rounding


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_class(name, nu, seed):
    K, _ = kernel(name, seed)
    solution = solve_svm(K, loss=OneClass(nu))
    a = solution.signed_dual
    rounding = rounding_of(K, a, 0.0, 1.0)
    assert_certified(solution, one_class_objectives(K, nu, a, -solution.bias), rounding)
    assert ((a >= 0) & (a <= 1)).all()
    assert a.sum() == pytest.approx(nu * len(a), rel=1e-13)
    v, scale = cp.Variable(len(a)), max(float(K.max()), 1.0)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(root(K / scale) @ v)), [v >= 0, v <= 1, cp.sum(v) == nu * len(a)]
    )
    problem.solve(**PRECISE)
    assert -solution.dual_objective == pytest.approx(scale * problem.value, rel=1e-6, abs=1e-8 * scale)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(10))
def test_squared_hinge(name, seed):
    K, y, C = classification(name, seed)
    solution = solve_svm(K, y, SquaredHinge(C))
    b = solution.signed_dual
    rounding = rounding_of(K, b, 1.0, C)
    assert_certified(solution, squared_hinge_objectives(K, y, C, b, solution.bias), rounding)
    assert (y * b >= 0).all()
    scale = max(K.max(), 1.0)
    u, bias = cp.Variable(len(y)), cp.Variable()
    margins = cp.multiply(y, root(K / scale).T @ u + bias)
    loss = cp.sum(cp.multiply(C * scale * np.ones(len(y)), cp.square(cp.pos(1 - margins))))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + loss))
    problem.solve(**PRECISE)
    assert solution.primal_objective == pytest.approx(problem.value / scale, rel=1e-6, abs=1e-9)


def problem(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rbf(X), np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n) + 30.0, rng.normal(size=(25, 3))


def cross(new, X):
    return np.exp(-((new[:, None] - X[None]) ** 2).sum(axis=2) / 2)


def test_predictions_are_those_of_scikit_learn():
    X, K, t, new = problem()
    C = cross(new, X)
    svr = SVR(C=3.0, epsilon=0.2, kernel="precomputed", tol=1e-10).fit(K, t)
    np.testing.assert_allclose(
        solve_svm(K, t, EpsilonInsensitive(3.0, 0.2)).decision_function(C), svr.predict(C), atol=1e-7
    )
    one = OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-10).fit(K)
    np.testing.assert_allclose(
        solve_svm(K, loss=OneClass(0.3)).decision_function(C), one.decision_function(C), atol=1e-7
    )
    y = np.where(t > 30, 1, -1)
    hard = SVC(C=1e10, kernel="precomputed", tol=1e-10).fit(K + np.eye(len(y)) / 4.0, y)
    squared = solve_svm(K, y, SquaredHinge(2.0))
    theirs = np.zeros(len(y))
    theirs[hard.support_] = hard.dual_coef_[0]
    np.testing.assert_allclose(squared.decision_function(C), C @ theirs + hard.intercept_, atol=1e-7)


@pytest.mark.parametrize("accuracy", [1e-1, 1e-4, 1e-8])
def test_a_loose_solve_is_certified(accuracy):
    _, K, t, _ = problem()
    y = np.where(t > 30, 1, -1)
    for solve in (
        lambda a: solve_svm(K, t, EpsilonInsensitive(3.0, 0.2), accuracy=a),
        lambda a: solve_svm(K, loss=OneClass(0.3), accuracy=a),
        lambda a: solve_svm(K, y, SquaredHinge(3.0), accuracy=a),
    ):
        loose, tight = solve(accuracy), solve(0.0)
        assert loose.relative_gap <= accuracy
        rounding = 1e-12 * abs(tight.primal_objective)
        assert loose.dual_objective <= tight.primal_objective + rounding
        assert loose.primal_objective >= tight.dual_objective - rounding
        assert tight.relative_gap <= 1e-13


@pytest.mark.parametrize("kind", ["svr", "one class", "squared hinge"])
def test_no_bias_gives_a_lower_primal(kind):
    _, K, t, _ = problem()
    y = np.where(t > 30, 1, -1)
    if kind == "svr":
        solution = solve_svm(K, t, EpsilonInsensitive(3.0, 0.2), max_steps=5, accuracy=1e-3)
        objectives = lambda bias: svr_objectives(K, t, 3.0, 0.2, solution.signed_dual, bias)[1]  # noqa: E731
    elif kind == "one class":
        solution = solve_svm(K, loss=OneClass(0.3), max_steps=5, accuracy=1e-3)
        objectives = lambda bias: one_class_objectives(K, 0.3, solution.signed_dual, -bias)[1]  # noqa: E731
    else:
        solution = solve_svm(K, y, SquaredHinge(3.0), max_steps=5, accuracy=1e-3)
        objectives = lambda bias: squared_hinge_objectives(K, y, 3.0, solution.signed_dual, bias)[1]  # noqa: E731
    assert solution.status is SVMStatus.STEP_LIMIT
    biases = solution.bias + np.r_[0.0, np.linspace(-1, 1, 401), np.geomspace(1e-6, 1e-3, 20)]
    assert solution.primal_objective <= min(map(objectives, biases)) + 1e-9 * abs(solution.primal_objective)


def test_warm_starts():
    _, K, t, _ = problem()
    near = 0.999 * K + 0.001 * np.eye(len(t))
    for solve in (
        lambda K, start=None: solve_svm(K, t, EpsilonInsensitive(30.0, 0.05), start=start),
        lambda K, start=None: solve_svm(K, loss=OneClass(0.3), start=start),
        lambda K, start=None: solve_svm(K, np.where(t > 30, 1, -1), SquaredHinge(30.0), start=start),
    ):
        first, cold = solve(K), solve(near)
        warm = solve(near, start=first.signed_dual)
        assert warm.dual_objective == pytest.approx(cold.dual_objective, rel=2e-9)
        assert warm.n_steps < cold.n_steps
        assert solve(K, start=first.signed_dual).n_steps == 0


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_infeasible_starts_are_repaired(scale):
    _, K, t, _ = problem()
    start = scale * np.random.default_rng(1).normal(size=len(t))
    repaired = solve_svm(K, t, EpsilonInsensitive(3.0, 0.2), start=start, max_steps=0).signed_dual
    assert (np.abs(repaired) <= 3.0).all()
    assert abs(repaired.sum()) <= 1e-12
    repaired = solve_svm(K, loss=OneClass(0.3), start=start, max_steps=0).signed_dual
    assert ((repaired >= 0) & (repaired <= 1)).all()
    assert repaired.sum() == pytest.approx(24.0)
    for solve in (
        lambda s: solve_svm(K, t, EpsilonInsensitive(3.0, 0.2), start=s),
        lambda s: solve_svm(K, loss=OneClass(0.3), start=s),
    ):
        assert solve(start).dual_objective == pytest.approx(solve(None).dual_objective, rel=2e-9)


def test_a_tube_wider_than_the_targets_holds_them_all():
    _, K, t, _ = problem()
    solution = solve_svm(K, t, EpsilonInsensitive(3.0, np.ptp(t)))
    np.testing.assert_array_equal(solution.signed_dual, 0.0)
    assert (solution.gap, solution.primal_objective, solution.n_steps) == (0.0, 0.0, 0)
    assert solution.bias == pytest.approx(0.5 * (t.min() + t.max()))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("t", [[5.0], [5.0, 5.0, 5.0]])
def test_equal_targets_are_predicted(t, epsilon):
    solution = solve_svm(np.eye(len(t)), t, EpsilonInsensitive(1.0, epsilon))
    np.testing.assert_array_equal(solution.signed_dual, 0.0)
    assert (solution.bias, solution.gap) == (5.0, 0.0)


def test_all_points_are_support_vectors_if_nu_is_one():
    _, K, _, _ = problem()
    solution = solve_svm(K, loss=OneClass(1.0))
    np.testing.assert_array_equal(solution.alpha, 1.0)
    assert -solution.bias >= (K.sum(axis=1)).max() - 1e-12
    assert solution.relative_gap <= 1e-14


def test_one_point_of_one_class():
    solution = solve_svm([[4.0]], loss=OneClass(0.25))
    assert solution.alpha.tolist() == [0.25]
    assert -0.125 - 1e-14 <= solution.dual_objective <= -0.125
    assert 0.0 <= solution.gap <= 1e-14


@pytest.mark.parametrize("nu", [0.1, 0.37, 0.8])
def test_nu_is_a_share_of_points(nu):
    _, K, _, _ = problem()
    solution = solve_svm(K, loss=OneClass(nu))
    values = solution.decision_function(K)
    assert np.mean(values < -1e-9) <= nu <= np.mean(solution.alpha > 0)


@pytest.mark.parametrize("factor", [2.0**-40, 1e-6, 1e6])
def test_scales_do_not_matter(factor):
    _, K, t, _ = problem()
    plain, scaled = (
        solve_svm(K, t, EpsilonInsensitive(3.0, 0.2)),
        solve_svm(K, factor * t, EpsilonInsensitive(factor * 3.0, factor * 0.2)),
    )
    assert scaled.status is SVMStatus.CONVERGED
    assert scaled.dual_objective == pytest.approx(factor**2 * plain.dual_objective, rel=2e-9)
    plain, scaled = solve_svm(K, loss=OneClass(0.3)), solve_svm(factor * K, loss=OneClass(0.3))
    assert scaled.dual_objective == pytest.approx(factor * plain.dual_objective, rel=2e-9)
    assert scaled.bias == pytest.approx(factor * plain.bias, rel=1e-6)


def test_the_given_kernel_is_left_alone():
    _, K, t, _ = problem()
    kept = K.copy()
    solve_svm(K, np.where(t > 30, 1, -1), SquaredHinge(1.0))
    np.testing.assert_array_equal(K, kept)


GOOD = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": [1.0, np.nan, 2.0]}, "`y` must be finite, got nan at 1"),
        ({"y": []}, "`y` must have shape"),
        ({"y": [1.0, 2.0]}, "`y` must have 3 targets, one per point, got 2"),
        ({"y": None}, "`y` must hold the targets, got None"),
        ({"C": 0.0}, "`C` must be positive"),
        ({"C": [1.0, 2.0]}, r"`C` must be a number or have shape \(3,\)"),
        ({"epsilon": -0.1}, "`epsilon` must be at least 0, got -0.1"),
        ({"epsilon": np.nan}, "`epsilon` must be at least 0"),
        ({"accuracy": -1.0}, "`accuracy` must be"),
        ({"tolerance": -1.0}, "`tolerance` must be"),
        ({"max_steps": -1}, "`max_steps` must be"),
        ({"start": [0.0]}, "`start` must be 3 finite"),
        ({"K": GOOD * np.nan}, "`K` must be finite"),
    ],
)
def test_bad_arguments_of_regression(arguments, words):
    loss = {name: arguments.pop(name) for name in ("C", "epsilon") if name in arguments}
    with pytest.raises(InvalidArgument, match=words):
        solve_svm(**({"K": GOOD, "y": [1.0, 2.0, 3.0], "loss": EpsilonInsensitive(**loss)} | arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nu": 0.0}, r"`nu` must be positive and at most 1, got 0.0"),
        ({"nu": 1.1}, "`nu` must be"),
        ({"nu": np.nan}, "`nu` must be"),
        ({"K": np.ones((2, 3))}, "`K` must have shape"),
        ({"K": 3.0}, "`K` must have shape"),
        ({"y": [1, -1, 1]}, "`y` must be None for the loss OneClass"),
        ({"start": [np.inf, 0.0, 0.0]}, "`start` must be 3 finite"),
        ({"accuracy": np.nan}, "`accuracy` must be"),
    ],
)
def test_bad_arguments_of_one_class(arguments, words):
    loss = {name: arguments.pop(name) for name in ("nu",) if name in arguments}
    with pytest.raises(InvalidArgument, match=words):
        solve_svm(**({"K": GOOD, "loss": OneClass(**loss)} | arguments))


@pytest.mark.parametrize("n", [1, 2])
def test_regression_of_one_or_two_points(n):
    """b adds up to 0: one point leaves none, two the middle between them, at most epsilon from each."""
    t = np.array([3.0, 5.0])[:n]
    solution = solve_svm(np.eye(n), t, EpsilonInsensitive(100.0, 0.25))
    known = [0.0] if n == 1 else [-0.75, 0.75]
    np.testing.assert_allclose(solution.signed_dual, known, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_bias_of_the_least_gap_is_found_between_flat_ends(seed):
    """Of short ramps between long flat ends Newton's method went to and fro: the gap was that of any bias."""
    rng = np.random.default_rng(seed)
    n, C = 60, 100.0
    dual = Huber(C, 10.0 ** rng.uniform(-3, -1)).dual(rng.choice([-3.0, 0.0, 3.0], n) + 0.1 * rng.normal(size=n), n)
    pieces, decision = Pieces(dual), 0.01 * rng.normal(size=n)
    b = pieces.best_response(decision)
    np.testing.assert_allclose(b.sum(), 0.0, atol=1e-10 * np.abs(b).sum())
    assert pieces.gap(b, decision)[0] <= 1e-10 * C * n
