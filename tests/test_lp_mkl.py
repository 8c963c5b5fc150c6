"""MKL solved directly: SMO-MKL and Newton's method against certified optima, Clarabel and each other."""

import gc
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from lp_problems import SOLVERS, named, random_problem
from sklearn.svm import SVR

from oracle_opt import Status, minimize
from oracle_opt.generators import SPG, LevelSet
from oracle_opt.oracles import EntropyRegularizer, GMKLOracle, GramBank, LpRegularizer, uci_bank
from oracle_opt.oracles.mkl import SMOMKL, SmoothDual, duals, solve_lp_mkl, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge
from oracle_opt.oracles.svm.pieces import Pieces

EXPONENTS = (1.1, 4 / 3, 1.5, 2.0, 3.0, 6.0)  # their q are short fractions: exact in second-order cones
# For lam = 1, certified by other solvers to 5e-7: default_rng(0).permutation, first 70 %, 13(d+1) kernels, C = 100.
OPTIMA = {
    "sonar": {2.0: 89.36474, 1.33: 234.5970, 1.1: 406.1869},
    "ionosphere": {2.0: 180.22476, 1.33: 420.5421, 1.1: 670.2142},
    "pima": {2.0: 12025.70, 1.33: 14060.80, 1.1: 15165.53},
    "wdbc": {2.0: 217.2562, 1.33: 512.8067, 1.1: 833.8975},
}


def dual_by_clarabel(kernels, y, loss, regularizer):
    """Optimum of the dual, S_k(v) = |F_k' v|^2 with K_k = F_k F_k'."""
    p, n = kernels.shape[:2]
    loss = Pieces(loss.dual(y, n))
    x, S = cp.Variable(loss.linear.size), cp.Variable(p, nonneg=True)
    v = x if loss.linear.size == n else x[:n] + x[n:]
    constraints = [x >= loss.lower, x <= loss.upper, cp.sum(x) == 0]
    for k in range(p):
        values, vectors = np.linalg.eigh(kernels[k])
        constraints.append(cp.sum_squares((vectors * np.sqrt(np.maximum(values, 0))).T @ v) <= S[k])
    lam = regularizer.weight
    if isinstance(regularizer, EntropyRegularizer):
        rho = lam * (regularizer.reference @ (cp.exp(S / (2 * lam)) - 1))
    else:
        rho = cp.square(cp.pnorm(S, Fraction(regularizer.p / (regularizer.p - 1)).limit_denominator(20))) / (8 * lam)
    problem = cp.Problem(cp.Maximize(loss.linear @ x - rho), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("name", OPTIMA)
def test_certified_optima(name, solver, training_part):
    X, y = training_part(name)
    bank = uci_bank(X)
    for p, optimum in OPTIMA[name].items():
        result = solve_lp_mkl(bank, y, p=p, solver=solver)
        assert result.status is Status.CONVERGED, f"p = {p}: {result.message}"
        assert result.relative_gap <= 1e-6
        assert result.upper_bound == pytest.approx(optimum, rel=1.5e-6)
        assert (result.history.lower_bound <= optimum * (1 + 6e-7)).all()
        assert (result.history.upper_bound >= optimum * (1 - 6e-7)).all()


@pytest.mark.campaign(2)
@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("seed", range(3))
def test_lp_norms_against_clarabel(seed, p, solver):
    bank, kernels, y, _ = random_problem(seed)
    C, lam = (0.3, 5.0, 200.0)[seed], (1.0, 0.02, 30.0)[seed]
    optimum = dual_by_clarabel(kernels, y, Hinge(C), LpRegularizer(p, lam))
    result = solve_lp_mkl(bank, y, C, p, lam, 1e-8, solver=solver)
    assert result.status is Status.CONVERGED
    assert (result.upper_bound, result.lower_bound) == pytest.approx((optimum, optimum), rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("lam", [0.05, 1.0, 50.0])
def test_kullback_leibler_against_clarabel(lam, solver):
    bank, kernels, y, _ = random_problem(7)
    loss, regularizer = Hinge(10.0), EntropyRegularizer(lam, [0.1, 1.0, 0.5, 0.2])
    result = solve_mkl(bank, y, regularizer, loss=loss, rtol=1e-8, solver=solver)
    assert result.status is Status.CONVERGED
    assert result.lower_bound == pytest.approx(dual_by_clarabel(kernels, y, loss, regularizer), rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    "regularizer", [LpRegularizer(2.0), LpRegularizer(1.25, 0.1), EntropyRegularizer(1.0, np.full(4, 0.3))]
)
def test_regression_against_clarabel(regularizer, epsilon):
    bank, kernels, _, targets = random_problem(11)
    loss = EpsilonInsensitive(3.0, epsilon)
    result = solve_mkl(bank, targets, regularizer, loss=loss, rtol=1e-7)
    assert result.status is Status.CONVERGED
    assert result.lower_bound == pytest.approx(dual_by_clarabel(kernels, targets, loss, regularizer), rel=1e-5)
    np.testing.assert_array_equal(result.cut.extras["alpha"], np.abs(result.cut.extras["signed_dual"]))


def test_regression_is_an_svr_at_its_weights():
    bank, kernels, _, targets = random_problem(12)
    result = solve_mkl(bank, targets, LpRegularizer(1.5), loss=EpsilonInsensitive(3.0, 0.2), rtol=1e-9)
    K = np.tensordot(result.point, kernels, axes=1)
    peer = SVR(kernel="precomputed", C=3.0, epsilon=0.2, tol=1e-8).fit(K, targets)
    ours = K @ result.cut.extras["signed_dual"] + result.cut.extras["bias"]
    np.testing.assert_allclose(ours, peer.predict(K), atol=1e-3)


def test_targets_that_the_tube_holds_need_no_kernel():
    bank, _, _, targets = random_problem(5)
    result = solve_mkl(bank, targets, LpRegularizer(2.0), loss=EpsilonInsensitive(1.0, 100.0))
    assert result.status is Status.CONVERGED
    assert result.upper_bound == 0.0
    assert not result.point.any()


@pytest.mark.parametrize("generator", [SPG(), LevelSet()], ids=named)
@pytest.mark.parametrize("regularizer", [LpRegularizer(2), LpRegularizer(1.33), EntropyRegularizer(1.0)])
def test_generators_find_the_same_optimum(regularizer, generator):
    bank, _, y, _ = random_problem(8)
    direct = solve_mkl(bank, y, regularizer, C=10.0, rtol=1e-9)
    radius = 2.0 * direct.point.max()
    asked = minimize(GMKLOracle(bank, y, regularizer, C=10.0, radius=radius), generator, rtol=1e-6)
    assert asked.status is Status.CONVERGED
    assert max(direct.lower_bound, asked.lower_bound) <= min(direct.upper_bound, asked.upper_bound) * (1 + 1e-12)
    np.testing.assert_allclose(asked.point, direct.point, atol=2e-3 * direct.point.max())


@pytest.mark.parametrize("seed", range(20))
def test_both_methods_prove_the_same(seed):
    rng = np.random.default_rng(100 + seed)
    bank, _, y, _ = random_problem(seed, int(rng.integers(1, 9)))
    C, p, lam = 10 ** rng.uniform(-2, 4), 1 + 10 ** rng.uniform(-1.5, 1.5), 10 ** rng.uniform(-2, 2)
    one, other = (solve_lp_mkl(bank, y, C, p, lam, solver=solver) for solver in SOLVERS)
    assert one.status is other.status is Status.CONVERGED
    assert max(one.lower_bound, other.lower_bound) <= min(one.upper_bound, other.upper_bound) * (1 + 1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_the_result_holds_what_it_says(solver):
    bank, kernels, y, _ = random_problem(3)
    result = solve_lp_mkl(bank, y, 10.0, 1.5, 0.5, solver=solver)
    extras, d = result.cut.extras, result.point
    alpha, S = extras["alpha"], extras["quadratic_forms"]
    np.testing.assert_array_equal(extras["signed_dual"], y * alpha)
    assert ((alpha >= 0) & (alpha <= 10.0)).all()
    assert y @ alpha == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(S, [(y * alpha) @ K @ (y * alpha) for K in kernels])
    # primal objective of these weights and dual variables, and the dual one, written out
    f = np.tensordot(d, kernels, axes=1) @ (y * alpha) + extras["bias"]
    norm = 0.25 * (d**1.5).sum() ** (2 / 1.5)
    primal = 0.5 * d @ S + 10.0 * np.maximum(0, 1 - y * f).sum() + norm
    assert primal >= result.upper_bound * (1 - 1e-9)
    assert primal == pytest.approx(result.upper_bound, rel=1e-8)
    dual = alpha.sum() - (S**3).sum() ** (2 / 3) / 4
    assert dual <= result.lower_bound * (1 + 1e-12)
    assert dual == pytest.approx(result.lower_bound, rel=2e-6)
    assert result.n_calls == len(result.history)
    assert result.oracle_seconds > 0
    assert result.generator_seconds > 0


def test_the_columns_are_given_back_when_a_run_ends():
    def held():
        return sum(type(thing).__name__ in ("WorkingSets", "ColumnCache") for thing in gc.get_objects())

    bank, _, y, _ = random_problem(3)
    gc.collect()
    gc.disable()
    try:
        before = held()  # other tests may have left a run unfinished
        solve_lp_mkl(bank, y, solver=SMOMKL())
        assert held() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("loss", ["hinge", "epsilon"])
def test_columns_thrown_out_change_nothing(loss):
    class CountingBank(GramBank):
        fetched = 0

        def entries(self, rows, columns):
            self.fetched += len(rows)
            return super().entries(rows, columns)

    _, kernels, y, targets = random_problem(4)
    bank = CountingBank(kernels)
    n, p = bank.n_points, bank.n_kernels
    results, fetched = [], []
    for cache_bytes in (0, 5 * 8 * n * p, 1 << 30):
        bank.fetched = 0
        given = (y, Hinge(50.0)) if loss == "hinge" else (targets, EpsilonInsensitive(50.0, 0.05))
        solver = SMOMKL(cache_bytes, working_points=n)
        # the check reads all entries once more
        results.append(solve_mkl(bank, given[0], LpRegularizer(1.5), loss=given[1], solver=solver, check=False))
        fetched.append(bank.fetched)
    for other in results[:2]:
        np.testing.assert_array_equal(other.point, results[2].point)
        np.testing.assert_array_equal(other.history.lower_bound, results[2].history.lower_bound)
        assert other.cut.extras["n_steps"] == results[2].cut.extras["n_steps"]
    assert fetched[0] > fetched[1] > fetched[2]
    assert fetched[2] <= n
    assert fetched[0] <= 2 * results[0].cut.extras["n_steps"]


@pytest.mark.parametrize("working_points", [2, 3, 6])
@pytest.mark.parametrize("regularizer", [LpRegularizer(2.0), LpRegularizer(1.2), EntropyRegularizer(1.0, np.ones(4))])
@pytest.mark.parametrize("loss", ["hinge", "epsilon"])
def test_working_sets_find_the_same_optimum(loss, regularizer, working_points):
    bank, _, y, targets = random_problem(4)
    given, loss = (y, Hinge(50.0)) if loss == "hinge" else (targets, EpsilonInsensitive(50.0, 0.05))
    few = SMOMKL(polish_points=0, working_points=working_points)
    whole = solve_mkl(bank, given, regularizer, loss=loss, solver=SMOMKL())
    parts = solve_mkl(bank, given, regularizer, loss=loss, solver=few)
    assert whole.status is parts.status is Status.CONVERGED
    assert max(whole.lower_bound, parts.lower_bound) <= min(whole.upper_bound, parts.upper_bound) * (1 + 1e-12)
    assert parts.cut.extras["n_steps"] > 0
    np.testing.assert_allclose(
        parts.cut.extras["quadratic_forms"], bank.quadratic_forms(parts.cut.extras["signed_dual"])
    )


def test_without_room_for_all_columns_the_rows_of_a_few_points_are_read():
    class CountingBank(GramBank):
        largest = 0

        def entries(self, rows, columns):
            self.largest = max(self.largest, len(columns))
            return super().entries(rows, columns)

    rng = np.random.default_rng(0)
    n, p = 200, 3
    X, y = rng.normal(size=(n, p)), np.where(np.arange(n) % 2, 1.0, -1.0)
    kernels = [np.exp(-((X[:, None, f] - X[:, f]) ** 2)) for f in range(p)]
    for cache_bytes, largest in ((8 * p * n**2, n), (8 * p * n**2 - 1, 49), (16 * 8 * p * 30**2, 30), (0, 16)):
        bank = CountingBank(kernels)
        result = solve_lp_mkl(bank, y, solver=SMOMKL(cache_bytes=cache_bytes), check=False)
        assert result.status is Status.CONVERGED
        assert bank.largest == largest


REGULARIZERS = [LpRegularizer(p, 0.7) for p in EXPONENTS] + [EntropyRegularizer(0.7, [0.5, 2.0, 1.0])]


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_duals_of_regularizers(regularizer, monkeypatch):
    rng = np.random.default_rng(0)
    S = rng.uniform(0.5, 2.0, 3)
    dual = regularizer.smooth_dual(3)
    d = dual.weights(S)
    # Fenchel: d @ S / 2 <= r(d) + rho(S), equality at d = w(S), where the gradient of r is S / 2
    assert regularizer.value(d) + dual.conjugate(S) == pytest.approx(0.5 * d @ S)
    np.testing.assert_allclose(regularizer.gradient(d), 0.5 * S)
    for other in rng.uniform(0, 3, (20, 3)):
        assert regularizer.value(other) + dual.conjugate(S) >= 0.5 * other @ S - 1e-12
    steps = 1e-6 * np.eye(3)
    slopes = [(dual.conjugate(S + h) - dual.conjugate(S - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slopes, 0.5 * d, rtol=1e-6, atol=1e-9)
    derivative = np.column_stack([dual.derivative(S) @ unit for unit in np.eye(3)])
    differences = np.column_stack([(dual.weights(S + h) - dual.weights(S - h)) / 2e-6 for h in steps])
    np.testing.assert_allclose(derivative, differences, rtol=1e-5, atol=1e-7)
    R = rng.normal(size=(2, 3))
    for entries in (4, 1 << 17):  # two columns at a time, and all
        monkeypatch.setattr(duals, "BLOCK", entries)
        np.testing.assert_allclose(dual.derivative(S).between(R), R @ derivative @ R.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_best_multiples_of_quadratic_forms(regularizer):
    rng = np.random.default_rng(0)
    dual = regularizer.smooth_dual(3)
    for linear in (0.0, 1e-3, 1.0, 1e3):
        S = rng.uniform(0.0, 2.0, 3)
        t = dual.best_multiple(linear, S)
        assert t == pytest.approx(SmoothDual.best_multiple(dual, linear, S), rel=1e-12)
        best = np.sqrt(t) * linear - dual.conjugate(t * S)
        for factor in (0.5, 0.99, 1.01, 2.0):
            assert np.sqrt(factor * t) * linear - dual.conjugate(factor * t * S) <= best + 1e-12
    assert 0.0 < dual.best_multiple(1.0, np.zeros(3)) < np.inf
