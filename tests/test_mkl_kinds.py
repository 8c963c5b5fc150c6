"""MKL oracles for regression, one-class and the squared hinge: minorants, optima, predictions."""

import numpy as np
import pytest
from journal_runs import recalled
from sklearn.svm import SVR, OneClassSVM
from test_mkl_oracle import weights
from tiny_kinds import mkl_kinds_optimum, tiny_mkl_one_class, tiny_mkl_regression, tiny_mkl_squared_hinge

from oracle_opt import Curvature, InvalidArgument, Query, minimize
from oracle_opt.generators import Kelley, LevelSet, NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle, uci_bank
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge, solve_svm
from oracle_opt.testing import check_oracle

KINDS = ("regression", "absolute loss", "one class", "squared hinge", "weighted squared hinge")


def data(n=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    t = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=n) + 7.0
    return X, t, uci_bank(X, **options)


def oracle_of(kind, t, bank, **options):
    y = np.where(t > 7, 1, -1)
    if kind == "regression":
        return MKLOracle(bank, t, EpsilonInsensitive(30.0, 0.1), **options)
    if kind == "absolute loss":
        return MKLOracle(bank, t, EpsilonInsensitive(np.linspace(1.0, 30.0, len(t)), 0.0), **options)
    if kind == "one class":
        return MKLOracle(bank, loss=OneClass(0.3), **options)
    weight = {1: 3.0} if kind == "weighted squared hinge" else None
    return MKLOracle(bank, y, SquaredHinge(10.0, weight), **options)


@pytest.mark.campaign(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conforms(kind, dtype):
    _, t, bank = data(dtype=dtype)
    check_oracle(oracle_of(kind, t, bank), weights(bank.n_kernels, 6), accuracies=(1e-2, 1e-10))


def costs(oracle):
    """C of each point."""
    return oracle.loss.C * np.where(oracle.y > 0, (oracle.loss.class_weight or {}).get(1, 1.0), 1.0)


def objective(oracle, kind, K, cut):
    """Objective of the dual on K at the dual variables of a cut, by the definition; and S by plain products."""
    if kind in ("regression", "absolute loss"):
        b = cut.extras["signed_dual"]
        linear = oracle.y @ b - oracle.loss.epsilon * np.abs(b).sum()
    elif kind == "one class":
        b = cut.extras["alpha"]
        linear = 0.0
    else:
        a = cut.extras["alpha"]
        b = oracle.y * a
        linear = a.sum() - np.sum(a**2 / (4 * costs(oracle)))
    S = np.array([b @ oracle.bank.combine(row) @ b for row in np.eye(oracle.bank.n_kernels)])
    return linear, linear - 0.5 * b @ K @ b, S


def solution_of(oracle, kind, K):
    return solve_svm(K, oracle.y, oracle.loss, accuracy=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_cut_is_what_it_says(kind):
    X, t, bank = data()
    oracle = oracle_of(kind, t, bank)
    point = weights(bank.n_kernels, 1)[1]
    cut = oracle.query(Query(point))
    K = bank.combine(point)
    linear, value, S = objective(oracle, kind, K, cut)
    solution = solution_of(oracle, kind, K)
    assert cut.value == pytest.approx(value, rel=1e-10)
    assert cut.value == pytest.approx(solution.dual_objective, rel=1e-7)
    assert cut.upper == pytest.approx(solution.primal_objective, rel=1e-7)
    # smaller multiples of b are feasible, too, where b adds up to 0, and L is concave; without upper ends larger ones
    most = np.inf if "squared hinge" in kind else 1.0
    ridge = cut.extras["alpha"] ** 2 @ (1 / (2 * costs(oracle))) if "squared hinge" in kind else 0.0
    curved = S.max() + ridge
    m = max(min(most, (linear + 0.5 * ridge) / curved), 0.0) if kind != "one class" else 1.0
    assert cut.lower_bound == pytest.approx(m * (linear + 0.5 * ridge) - 0.5 * m**2 * curved, rel=1e-10)
    np.testing.assert_allclose(cut.subgradient, -0.5 * S, rtol=1e-10, atol=1e-11 * S.max())
    np.testing.assert_allclose(
        oracle.decision_function(cut, X), solution.decision_function(K), rtol=1e-4, atol=1e-4 * np.abs(K).max()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_curvature_agrees_with_central_differences(kind):
    _, t, bank = data()
    oracle = oracle_of(kind, t, bank, accuracy=1e-13)
    p, compared = bank.n_kernels, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        point = 0.5 * rng.dirichlet(np.ones(p)) + 0.5 / p
        factor = oracle.query(Query(point, wishes=frozenset({Curvature}))).answer(Curvature).factor
        direction = rng.dirichlet(np.ones(p)) - point
        product = factor.T @ (factor @ direction)
        for step in (1e-3, 1e-4, 1e-5):
            ends = [oracle.query(Query(point + s * step * direction)) for s in (1, -1)]
            difference = (ends[0].subgradient - ends[1].subgradient) / (2 * step)
            if np.abs(difference - product).max() <= 1e-4 * np.abs(product).max():
                compared += 1
                break
    assert compared >= 4  # elsewhere the free set changes within the shortest step


@pytest.mark.parametrize("make", [tiny_mkl_regression, tiny_mkl_one_class, tiny_mkl_squared_hinge])
@pytest.mark.parametrize("generator", [Kelley, LevelSet, NewtonBundle])
def test_optimum_is_that_of_the_qcqp(make, generator):
    oracle = make()
    result = minimize(oracle, generator(), rtol=1e-6, max_calls=300)
    assert result.success
    optimum = mkl_kinds_optimum(oracle)
    assert result.lower_bound - 1e-7 * abs(optimum) <= optimum <= result.upper_bound + 1e-7 * abs(optimum)


@pytest.mark.parametrize("kind", KINDS)
def test_recall_continues_as_if_never_interrupted(kind):
    _, t, bank = data()
    points = weights(bank.n_kernels, 4)
    recalled(lambda: oracle_of(kind, t, bank), [*points, 0.99 * points[-1] + 0.01 * points[0]])


@pytest.mark.parametrize("kind", KINDS)
def test_updated_forms_are_the_full_ones(kind):
    _, t, bank = data(n=100)
    oracle, updates = oracle_of(kind, t, bank), []
    start, end = weights(bank.n_kernels, 1)
    for step in np.linspace(0.0, 0.02, 30):
        cut = oracle.query(Query((1 - step) * start + step * end))
        S = objective(oracle, kind, bank.combine(cut.point), cut)[2]
        np.testing.assert_allclose(cut.extras["quadratic_forms"], S, rtol=0, atol=1e-12 * S.max())
        updates.append(cut.extras["n_updates"])
    if kind == "regression":  # elsewhere most support vectors are free, and change
        assert max(updates) > 0


def test_predictions_are_those_of_scikit_learn():
    _, t, bank = data()
    new = np.random.default_rng(9).normal(size=(40, 3))
    point = weights(bank.n_kernels, 1)[1]
    K, cross = bank.combine(point), bank.cross(new, point)
    regression, one_class = oracle_of("regression", t, bank), oracle_of("one class", t, bank)
    svr = SVR(C=30.0, epsilon=0.1, kernel="precomputed", tol=1e-10).fit(K, t)
    predicted = regression.predict(regression.query(Query(point, accuracy=1e-12)), new)
    np.testing.assert_allclose(predicted, svr.predict(cross), atol=1e-6)
    one = OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-12).fit(K)
    cut = one_class.query(Query(point, accuracy=1e-12))
    np.testing.assert_allclose(one_class.decision_function(cut, new), one.decision_function(cross), atol=1e-8)
    np.testing.assert_array_equal(one_class.predict(cut, new), one.predict(cross))


def test_learned_weights_predict_better_than_equal_ones():
    X, _, bank = data(n=120)
    oracle = MKLOracle(bank, np.sin(2 * X[:, 0]), EpsilonInsensitive(1000.0, 0.01))
    result = minimize(oracle, LevelSet(), rtol=1e-4)
    assert result.success
    new = np.random.default_rng(9).normal(size=(200, 3))
    equal = oracle.query(Query(np.full(bank.n_kernels, 1 / bank.n_kernels)))
    errors = [np.abs(oracle.predict(cut, new) - np.sin(2 * new[:, 0])).mean() for cut in (result.cut, equal)]
    assert errors[0] < 0.7 * errors[1]


def test_a_tube_wider_than_the_targets_needs_no_search():
    _, t, bank = data()
    result = minimize(MKLOracle(bank, t, EpsilonInsensitive(epsilon=np.ptp(t))), LevelSet(), atol=1e-12)
    assert result.success
    assert (result.upper_bound, result.n_calls) == (0.0, 1)
    predicted = MKLOracle(bank, t, EpsilonInsensitive(epsilon=np.ptp(t))).predict(result.cut, np.ones((5, 3)))
    np.testing.assert_allclose(predicted, 0.5 * (t.min() + t.max()))


def test_identity_tells_problems_apart():
    _, t, bank = data()
    y = np.where(t > 7, 1, -1)
    oracles = [
        MKLOracle(bank, t, EpsilonInsensitive()),
        MKLOracle(bank, t, EpsilonInsensitive(epsilon=0.2)),
        MKLOracle(bank, t, EpsilonInsensitive(99.0)),
        MKLOracle(bank, -t, EpsilonInsensitive()),
        MKLOracle(bank, loss=OneClass()),
        MKLOracle(bank, loss=OneClass(0.4)),
        MKLOracle(bank, y),
        MKLOracle(bank, y, SquaredHinge()),
    ]
    assert len({oracle.identity() for oracle in oracles}) == len(oracles)
    assert MKLOracle(data()[2], list(t), EpsilonInsensitive()).identity() == oracles[0].identity()
    assert MKLOracle(bank, y.tolist(), C=100).identity() == MKLOracle(bank, y, np.full(len(y), 100.0)).identity()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda bank: MKLOracle(bank, [1.0, 2.0, 3.0], EpsilonInsensitive()), "`y` must have 2 targets, one per point"),
        (lambda bank: MKLOracle(bank, [1.0, np.inf], EpsilonInsensitive()), "`y` must be finite"),
        (lambda bank: MKLOracle(bank, [1.0, 2.0], EpsilonInsensitive(-1.0)), "`C` must be positive"),
        (lambda bank: MKLOracle(bank, [1.0, 2.0], EpsilonInsensitive(epsilon=-1.0)), "`epsilon` must be"),
        (lambda bank: MKLOracle(bank, [1.0, 2.0], EpsilonInsensitive(), accuracy=-1.0), "`accuracy` must be"),
        (lambda bank: MKLOracle(bank, [1, -1], SquaredHinge([1.0])), r"`C` must be a number or have shape \(2,\)"),
        (lambda bank: MKLOracle(bank, loss=OneClass(0.0)), "`nu` must be"),
        (lambda bank: MKLOracle(bank, [1, -1], OneClass()), "`y` must be None for the loss OneClass"),
        (lambda bank: MKLOracle(bank), "`y` must hold the labels -1 and .1, got None; .*OneClass"),
        (lambda bank: MKLOracle(bank, loss=EpsilonInsensitive()), "`y` must hold the targets, got None"),
        (lambda bank: MKLOracle(bank, loss=OneClass(), accuracy=np.nan), "`accuracy` must be"),
        (lambda bank: MKLOracle(bank, loss=OneClass()).query(Query(np.array([2.0]))), "`query.point` must be in"),
        (lambda bank: MKLOracle(bank, [1, -1], OneClass), "`loss` must be a Loss such as .* the class OneClass"),
        (lambda bank: MKLOracle(bank, [1, -1], "hinge"), "`loss` must be a Loss such as"),
        (lambda bank: MKLOracle(bank, [1, -1], 1.0, C=2.0), "`C` is short for `loss=Hinge.C.`: leave one out"),
        (lambda bank: MKLOracle(np.eye(2), [1, -1]), "`bank` must be a KernelBank such as"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(InvalidArgument, match=words):
        make(GramBank([np.eye(2)]))
