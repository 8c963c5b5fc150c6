"""The l1-MKL oracle: cuts that are minorants, errors that are certificates, answers that can be repeated."""

import numpy as np
import pytest
from journal_runs import recalled

from oracle_opt import InvalidArgument, Query
from oracle_opt.oracles import GramBank, MKLOracle, uci_bank
from oracle_opt.oracles.svm import Hinge, solve_csvc
from oracle_opt.testing import check_oracle

# Certified optima at C = 100, default_rng(0).permutation, first 70 %: no more than the second, no less than the first.
OPTIMA = {
    "sonar": (5122.857, 5122.862),
    "ionosphere": (5610.1236, 5610.1290),
    "wdbc": (6052.495, 6052.501),
    "pima": (27581.017, 27581.044),
}


def problem(n=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    return X, y, uci_bank(X, **options)


def weights(p, count, seed=0):
    rng = np.random.default_rng(seed)
    points = [np.full(p, 1 / p)]
    for k in range(count):
        point = rng.dirichlet(np.full(p, 0.2 if k % 2 else 1.0))
        point[point < 1e-4] = 0.0
        points.append(point / point.sum())
    return points


@pytest.mark.campaign(3)
@pytest.mark.parametrize("C", [1e-3, 10.0, 1e4])
@pytest.mark.parametrize("class_weight", [None, {1: 3.0, -1: 0.5}])
def test_conforms(C, class_weight):
    _, y, bank = problem()
    check_oracle(MKLOracle(bank, y, Hinge(C, class_weight)), weights(bank.n_kernels, 8), accuracies=(1e-2, 1e-10))


def test_conforms_with_float32_kernels_and_one_layout():
    _, y, bank = problem(dtype=np.float32, memory_limit=60 * 61 // 2 * 52 * 4)
    check_oracle(MKLOracle(bank, y), weights(bank.n_kernels, 6), accuracies=(1e-2, 1e-10))


def test_conforms_at_vertices():
    _, y, bank = problem()
    vertices = list(np.eye(bank.n_kernels)[[0, 9, 10, 12, 20, 49]])
    check_oracle(MKLOracle(bank, y, 10.0), vertices, accuracies=(1e-2, 1e-10))


@pytest.mark.parametrize("name", OPTIMA)
def test_certified_optimum_lies_between_the_bounds(training_part, name):
    X, y = training_part(name)
    bank = uci_bank(X)
    oracle = MKLOracle(bank, y)
    at_least, at_most = OPTIMA[name]
    for point in weights(bank.n_kernels, 6):
        cut = oracle.query(Query(point))
        assert cut.upper >= at_least
        assert cut.lower_bound <= at_most
        assert cut.error <= 1e-8 * cut.upper


def test_cut_is_what_it_says():
    _, y, bank = problem()
    point = weights(bank.n_kernels, 1)[1]
    cut = MKLOracle(bank, y, 5.0).query(Query(point))
    K = bank.combine(point)
    solution = solve_csvc(K, y, 5.0, accuracy=1e-8)
    b = y * cut.extras["alpha"]
    S = np.array([b @ bank.combine(vertex) @ b for vertex in np.eye(bank.n_kernels)])
    np.testing.assert_allclose(cut.extras["quadratic_forms"], S, rtol=1e-10)
    # on the safe side by the rounding of the forms
    assert (cut.subgradient <= -0.5 * cut.extras["quadratic_forms"]).all()
    np.testing.assert_allclose(cut.subgradient, -0.5 * cut.extras["quadratic_forms"], rtol=1e-10)
    assert cut.value == pytest.approx(solution.dual_objective, rel=1e-12)
    assert cut.upper == pytest.approx(solution.primal_objective, rel=1e-12)
    assert cut.lower_bound == pytest.approx(np.abs(b).sum() - 0.5 * S.max(), rel=1e-12)
    assert cut.extras["bias"] == solution.bias
    assert cut.extras["n_steps"] == solution.n_steps


def test_accuracy_is_the_wish_or_the_oracles_own():
    _, y, bank = problem()
    oracle = MKLOracle(bank, y, accuracy=1e-2)
    point = np.full(bank.n_kernels, 1 / bank.n_kernels)
    own = oracle.query(Query(point))
    assert 1e-10 * own.upper < own.error <= 1e-2 * own.upper
    assert oracle.query(Query(point, accuracy=1e-10)).error <= 1e-10 * own.upper
    assert oracle.query(Query(point)).extras["n_steps"] == 0


def test_steps_at_the_limit_show_in_the_error():
    _, y, bank = problem()
    point = np.full(bank.n_kernels, 1 / bank.n_kernels)
    cut = MKLOracle(bank, y, max_steps=3).query(Query(point))
    assert cut.error > 1e-3 * cut.upper
    assert cut.value <= MKLOracle(bank, y).query(Query(point)).value <= cut.upper


def same(one, other):
    assert (one.value, one.error, one.lower_bound) == (other.value, other.error, other.lower_bound)
    np.testing.assert_array_equal(one.subgradient, other.subgradient)
    np.testing.assert_array_equal(one.extras["alpha"], other.extras["alpha"])


def test_warm_start_saves_steps_and_reset_forgets_it():
    _, y, bank = problem()
    oracle = MKLOracle(bank, y)
    start, end = weights(bank.n_kernels, 1)
    near = 0.99 * start + 0.01 * end
    cold = oracle.query(Query(near))
    oracle.query(Query(start))
    assert oracle.query(Query(near)).extras["n_steps"] < cold.extras["n_steps"]
    oracle.reset()
    same(oracle.query(Query(near)), cold)


def test_recall_continues_as_if_never_interrupted():
    _, y, bank = problem()
    for again, cut in recalled(lambda: MKLOracle(bank, y), weights(bank.n_kernels, 5)):
        same(again, cut)


def test_answers_are_not_overwritten_by_later_queries():
    _, y, bank = problem()
    oracle = MKLOracle(bank, y)
    points = weights(bank.n_kernels, 2)
    cut = oracle.query(Query(points[0]))
    kept = cut.subgradient.copy(), cut.extras["alpha"].copy()
    oracle.query(Query(points[1]))
    np.testing.assert_array_equal(cut.subgradient, kept[0])
    np.testing.assert_array_equal(cut.extras["alpha"], kept[1])


def test_identity_tells_problems_apart():
    _, y, bank = problem()
    words = MKLOracle(bank, y).identity()
    assert MKLOracle(problem()[2], list(y)).identity() == words
    flipped = np.r_[-y[:1], y[1:]]
    others = [
        MKLOracle(bank, flipped),
        MKLOracle(bank, y, 99.0),
        MKLOracle(bank, y, Hinge(class_weight={1: 2.0})),
        MKLOracle(bank, y, accuracy=1e-6),
        MKLOracle(problem(seed=1)[2], y),
    ]
    assert len({words, *(oracle.identity() for oracle in others)}) == 6


def test_predictions_are_those_of_the_svm_on_the_combined_kernel():
    X, y, bank = problem()
    oracle = MKLOracle(bank, y)
    point = weights(bank.n_kernels, 1)[1]
    cut = oracle.query(Query(point))
    solution = solve_csvc(bank.combine(point), y, 100.0, accuracy=1e-8)
    np.testing.assert_allclose(oracle.decision_function(cut, X), solution.decision_function(bank.combine(point)))
    new = np.random.default_rng(9).normal(size=(200, 3))
    predicted = oracle.predict(cut, new)
    np.testing.assert_array_equal(predicted, np.where(oracle.decision_function(cut, new) >= 0, 1, -1))


def test_predictions_generalize():
    X, _, bank = problem()
    oracle = MKLOracle(bank, np.sign(X[:, 0]))
    linear_on_all_features = oracle.query(Query(np.eye(bank.n_kernels)[10]))
    new = np.random.default_rng(9).normal(size=(200, 3))
    assert np.mean(oracle.predict(linear_on_all_features, new) == np.sign(new[:, 0])) > 0.9


def test_given_cross_kernels_of_non_zero_weight_are_enough():
    oracle = MKLOracle(GramBank([np.eye(2), np.ones((2, 2)) + np.eye(2)]), [1, -1], 1.0)
    cut = oracle.query(Query(np.array([1.0, 0.0])))
    np.testing.assert_array_equal(oracle.predict(cut, [np.eye(2), None]), [1, -1])


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ([0.5, 0.5, 0.5], r"in Simplex\(3, radius=1\), got the sum 1.5"),
        ([1.5, -0.5, 0.0], "the least entry -0.5"),
        ([1.0, 0.0], r"must be 3 finite weights, got shape \(2,\)"),
        ([np.nan, 0.0, 1.0], "must be 3 finite weights"),
    ],
)
def test_points_outside_are_refused(point, words):
    oracle = MKLOracle(GramBank([np.eye(2)] * 3), [1, -1])
    with pytest.raises(InvalidArgument, match=words):
        oracle.query(Query(np.array(point)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": [1, -1, 1]}, "`y` must have 2 labels, one per point, got 3"),
        ({"y": [0, 1]}, "`y` must hold the labels"),
        ({"y": [1, 1]}, "`y` must hold both classes"),
        ({"C": -1.0}, "`C` must be positive"),
        ({"class_weight": {2: 1.0}}, r"`class_weight` must weight the labels -1 and \+1, got \['2'\]"),
        ({"class_weight": {1: 0.0}}, "`class_weight.*` must be positive"),
        ({"accuracy": -1e-3}, "`accuracy` must be at least 0"),
    ],
)
def test_bad_arguments(arguments, words):
    weighted = {"class_weight": arguments.pop("class_weight")} if "class_weight" in arguments else None
    with pytest.raises(InvalidArgument, match=words):
        MKLOracle(GramBank([np.eye(2)]), **({"y": [1, -1], "loss": weighted and Hinge(**weighted)} | arguments))
