"""Probabilities: sigmoid and softmax are the most likely ones, ranks stay, and repeated rows are weights."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle_opt.learn import MKLClassifier
from oracle_opt.learn.class_probabilities import ClassSoftmax, folds
from oracle_opt.learn.platt_sigmoid import PlattSigmoid
from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels

SMALL = KernelList([GaussianKernels(n_widths=2), PolynomialKernels((1,))])


@pytest.mark.campaign(8)
@parametrize_with_checks([MKLClassifier(SMALL, multiclass="ovo", probability=True)])
def test_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("seed", range(8))
def test_the_sigmoid_is_a_logistic_regression_on_smoothed_targets(seed) -> None:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=60) * 10 ** rng.uniform(-4, 4)
    positive = f + rng.choice([0.0, 1.0, 3.0]) * np.abs(f).mean() * rng.normal(size=60) > 0
    weights = rng.uniform(0.1, 5.0, 60)
    n, m, scale = weights[positive].sum(), weights[~positive].sum(), np.abs(f).max()
    targets = np.where(positive, (n + 1) / (n + 2), 1 / (m + 2))
    found = PlattSigmoid.of(f, positive, weights)
    points, labels = np.tile(f / scale, 2)[:, None], np.repeat([1, 0], 60)
    model = LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(points, labels, sample_weight=np.concatenate([weights * targets, weights * (1 - targets)]))
    assert found.slope * scale == pytest.approx(model.coef_[0, 0], rel=1e-6)
    assert found.offset == pytest.approx(model.intercept_[0], rel=1e-6, abs=1e-6)


def test_a_sigmoid_never_decreases() -> None:
    f = np.linspace(-1, 1, 20)
    wrong = PlattSigmoid.of(f, f < 0, np.ones(20))
    assert wrong.slope == 0.0
    assert wrong(f) == pytest.approx(0.5)
    assert PlattSigmoid.of(np.zeros(4), np.array([True, True, True, False]), np.ones(4)).slope == 0.0
    assert ClassSoftmax.of(np.stack([f, -f, f], axis=1), (f > 0).astype(int), np.ones(20)).slope == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_softmax_is_the_most_likely_one(seed) -> None:
    rng = np.random.default_rng(seed)
    numbers, weights, scale = rng.integers(0, 4, 80), rng.uniform(0.1, 5.0, 80), 10 ** rng.uniform(-3, 3)
    f = scale * (np.eye(4)[numbers] + rng.choice([0.05, 1.0, 3.0]) * rng.normal(size=(80, 4)))
    of_class = np.bincount(numbers, weights, 4)[numbers, None]
    targets = (np.eye(4)[numbers] * of_class + 1) / (of_class + 4)

    def loss(log_slope):
        return -weights @ (targets * log_softmax(np.exp(log_slope) * f, axis=1)).sum(axis=1)

    best = minimize_scalar(loss, bounds=(np.log(1e-6 / scale), np.log(1e3 / scale)), options={"xatol": 1e-10})
    found = ClassSoftmax.of(f, numbers, weights)
    assert loss(np.log(found.slope)) <= best.fun + 1e-9 * abs(best.fun)
    assert found.slope == pytest.approx(np.exp(best.x), rel=1e-3)


def test_ranks_stay_and_probabilities_are_better_than_shares() -> None:
    X, y = make_classification(240, 5, n_informative=3, n_classes=3, flip_y=0.1, random_state=0)
    for labels in (y, np.where(y == 0, "no", "yes")):
        train, test, of_train, of_test = train_test_split(X, labels, random_state=0)
        model = MKLClassifier(SMALL, probability=True).fit(train, of_train)
        found, decisions = model.predict_proba(test), model.decision_function(test)
        assert found.shape == (len(test), len(model.classes_))
        assert found.sum(axis=1) == pytest.approx(1.0)
        if decisions.ndim == 1:
            assert np.array_equal(np.argsort(found[:, 1], kind="stable"), np.argsort(decisions, kind="stable"))
        else:
            assert np.array_equal(np.argsort(found, axis=1), np.argsort(decisions, axis=1))
            assert np.array_equal(model.classes_[found.argmax(axis=1)], model.predict(test))
        shares = [(of_train == one).mean() for one in model.classes_]
        assert log_loss(of_test, found) < 0.8 * log_loss(of_test, np.tile(shares, (len(test), 1)))
        assert np.allclose(model.predict_log_proba(test), np.log(found))


def test_decisions_that_are_calibrated_are_of_machines_that_did_not_see_the_points() -> None:
    """Of labels by chance a machine knows its own points by heart; of new ones it then says about the share."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    model = MKLClassifier(KernelList([GaussianKernels([1.0])]), C=1000.0, probability=True).fit(X, y)
    assert model.score(X, y) == 1.0
    found = model.predict_proba(rng.normal(size=(200, 3)))[:, 1]
    assert found.min() > 0.2
    assert found.max() < 0.8


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_repeated_rows_are_weights(multiclass) -> None:
    X, y = load_iris(return_X_y=True)
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    make = lambda: MKLClassifier(SMALL, multiclass=multiclass, probability=True)  # noqa: E731
    weighted = make().fit(X, y, sample_weight=counts).predict_proba(X)
    repeated = make().fit(X.repeat(counts, axis=0), y.repeat(counts)).predict_proba(X)
    assert np.array_equal(weighted, repeated)


def test_folds_leave_two_points_of_a_class_apart_and_train_on_a_lonely_one() -> None:
    numbers = np.array([0] * 12 + [1] * 2 + [2])
    tests = []
    for train, test in folds(numbers, 0):
        assert set(numbers[train]) == {0, 1, 2}
        assert not set(train) & set(test)
        tests += test.tolist()
    assert sorted(tests) == list(range(14))
    assert MKLClassifier(SMALL, probability=True).fit([[0.0], [1.0]], ["a", "b"]).predict_proba([[0.2]]).shape == (1, 2)
    assert [test.tolist() for _, test in folds(numbers, 7)] == [test.tolist() for _, test in folds(numbers, 7)]


def test_there_are_none_unless_they_are_asked_for() -> None:
    model = MKLClassifier(SMALL)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba([[0.0]])
    with pytest.raises(AttributeError, match="predict_log_proba"):
        model.predict_log_proba([[0.0]])


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_and_their_logarithms_order_classes_alike(seed) -> None:
    """Decision values of support vectors on the margin are 1 or -1, up to rounding: these are ties in both."""
    rng = np.random.default_rng(seed)
    decisions = rng.choice([-1.0, 1.0, 0.3], (500, 4)) * (1 + rng.integers(-2, 3, (500, 4)) * 2.0**-52)
    found = ClassSoftmax(float(rng.uniform(0.1, 20)))(decisions)
    assert (np.argsort(np.log(found)) == np.argsort(found)).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(500), abs=1e-11)
