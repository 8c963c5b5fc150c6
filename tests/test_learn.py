"""Estimators of multiple kernel learning: what they find is what other solvers find, and little is kept of it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from oracle_opt import minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.learn import MKLClassifier, MKLOneClass, MKLRegressor
from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels, svm
from oracle_opt.oracles.mkl import ElasticNet, EntropyRegularizer, LpRegularizer, MKLOracle, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, SquaredHinge

IRIS = load_iris(return_X_y=True)
X, LABELS = make_classification(90, 5, n_informative=3, random_state=3)
TARGETS = X[:, 1] + np.sin(3 * X[:, 2])
NEW = np.random.default_rng(5).normal(size=(40, 5))
ONE = KernelList([GaussianKernels([1.5])])
SMALL = KernelList([GaussianKernels(n_widths=3), PolynomialKernels(), GaussianKernels(n_widths=2, each=True)])
GAMMA = 0.5 / 1.5**2


@pytest.mark.parametrize("norm", [1.0, "mixed"])
def test_with_one_kernel_the_decision_values_are_those_of_svc(norm) -> None:
    ours = MKLClassifier(ONE, C=3.0, norm=norm, rtol=1e-9).fit(X, LABELS)
    theirs = SVC(C=3.0, gamma=GAMMA, tol=1e-10).fit(X, LABELS)
    assert np.allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-5)
    assert np.array_equal(ours.predict(NEW), theirs.predict(NEW))
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=len(X))
    ours, theirs = ours.fit(X, LABELS, weights), theirs.fit(X, LABELS, weights)
    assert np.allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-5)


def test_with_one_kernel_regression_and_one_class_are_those_of_scikit_learn() -> None:
    ours = MKLRegressor(ONE, C=3.0, epsilon=0.05, rtol=1e-9).fit(X, TARGETS)
    theirs = SVR(C=3.0, gamma=GAMMA, epsilon=0.05, tol=1e-10).fit(X, TARGETS)
    assert np.allclose(ours.predict(NEW), theirs.predict(NEW), atol=1e-5)
    inside, libsvm = MKLOneClass(ONE, nu=0.3, rtol=1e-9).fit(X), OneClassSVM(nu=0.3, gamma=GAMMA, tol=1e-10).fit(X)
    assert np.allclose(inside.decision_function(NEW), libsvm.decision_function(NEW), atol=1e-5)
    assert np.allclose(inside.score_samples(NEW), libsvm.score_samples(NEW), atol=1e-5)
    assert np.array_equal(inside.predict(NEW), libsvm.predict(NEW))
    assert np.array_equal(inside.fit_predict(X), inside.predict(X))
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    inside, libsvm = inside.fit(X, sample_weight=weights), libsvm.fit(X, sample_weight=weights)
    assert np.allclose(inside.decision_function(NEW), libsvm.decision_function(NEW), atol=1e-5)


def test_several_classes_with_one_kernel_are_machines_of_svc() -> None:
    points, kinds = IRIS
    each = MKLClassifier(ONE, C=2.0, rtol=1e-9).fit(points, kinds)
    pairs = MKLClassifier(ONE, C=2.0, rtol=1e-9, multiclass="ovo").fit(points, kinds)
    for c in range(3):
        theirs = SVC(C=2.0, gamma=GAMMA, tol=1e-10).fit(points, kinds == c)
        assert np.allclose(each.decision_function(points)[:, c], theirs.decision_function(points), atol=1e-4)
    libsvm = SVC(C=2.0, gamma=GAMMA, tol=1e-10).fit(points, kinds)
    assert np.array_equal(pairs.predict(points), libsvm.predict(points))
    assert np.allclose(pairs.decision_function(points), libsvm.decision_function(points), atol=1e-4)


@pytest.mark.parametrize(
    ("norm", "r"),
    [
        (1.5, LpRegularizer(1.5)),
        (2, LpRegularizer(2)),
        (ElasticNet(0.5, 2.0), ElasticNet(0.5, 2.0)),
        (EntropyRegularizer(3.0), EntropyRegularizer(3.0)),
    ],
    ids=str,
)
def test_weights_are_those_of_solve_mkl(norm, r) -> None:
    y = np.where(LABELS == 1, 1.0, -1.0)
    for name, loss in (("hinge", Hinge(2.0)), ("squared_hinge", SquaredHinge(2.0))):
        model = MKLClassifier(SMALL, norm=norm, C=2.0, loss=name, rtol=1e-8).fit(X, LABELS)
        truth = solve_mkl(SMALL.fit(X), y, r, loss=loss, rtol=1e-9)
        history = model.history_[0]
        assert history.lower_bound[-1] <= truth.upper_bound
        assert truth.lower_bound <= history.upper_bound[-1]
        assert np.allclose(model.weights_, truth.point, atol=1e-3 * truth.point.max())
        assert model.gap_ <= 1e-8


def test_the_objective_is_that_of_the_oracle_whatever_the_generator() -> None:
    y = np.where(LABELS == 1, 1.0, -1.0)
    truth = minimize(MKLOracle(SMALL.fit(X), y, Hinge(1.0)), rtol=1e-8)
    for generator in (None, LevelSet(), Kelley()):
        model = MKLClassifier(SMALL, generator=generator, rtol=1e-6).fit(X, LABELS)
        upper, lower = model.history_[0].upper_bound[-1], model.history_[0].lower_bound[-1]
        assert lower <= truth.upper_bound <= truth.lower_bound * (1 + 1e-7)
        assert truth.lower_bound <= upper <= lower + 1e-6 * upper
    targets = MKLRegressor(SMALL, C=2.0, rtol=1e-7).fit(X, TARGETS)
    truth = minimize(MKLOracle(SMALL.fit(X), TARGETS, EpsilonInsensitive(2.0, 0.1)), rtol=1e-8)
    assert targets.history_[0].upper_bound[-1] == pytest.approx(truth.upper_bound, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(SMALL),
        MKLClassifier(SMALL, shared_weights=True, class_weight="balanced"),
        MKLClassifier(SMALL, norm=2, multiclass="ovo"),
        MKLRegressor(SMALL),
        MKLOneClass(SMALL),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_row_of_weight_two_is_two_rows_to_the_last_bit(model, make) -> None:
    rng = np.random.default_rng(8)
    points, kinds = IRIS
    points, kinds = points[::3], kinds[::3]
    counts = rng.integers(0, 4, size=len(points))
    rows = rng.permutation(np.repeat(np.arange(len(points)), counts))
    weighted = clone(model).fit(make(points), kinds, sample_weight=counts)
    repeated = clone(model).fit(make(points[rows]), kinds[rows])
    assert np.array_equal(weighted.weights_, repeated.weights_)
    assert weighted.kernel_names_.tolist() == repeated.kernel_names_.tolist()
    values = "predict" if isinstance(model, MKLRegressor) else "decision_function"
    assert np.array_equal(getattr(weighted, values)(make(points)), getattr(repeated, values)(make(points)))


def test_equal_rows_of_other_labels_stay_two_points() -> None:
    points = np.repeat(X[:20], 2, axis=0)
    labels = np.tile(["no", "yes"], 20)
    labels[:24] = np.repeat(["no", "yes"], 12)
    ours = MKLClassifier(ONE, rtol=1e-9).fit(points, labels)
    theirs = SVC(gamma=GAMMA, tol=1e-10).fit(points, labels)
    assert np.allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-5)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("options", [{}, {"multiclass": "ovo"}, {"norm": 2}, {"norm": "mixed"}], ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_several_classes_are_told_apart(options, shared) -> None:
    if shared and options.get("norm") == "mixed":
        pytest.skip("refused, see test_learn_input.py")
    points, kinds = load_wine(return_X_y=True)
    names = np.array(["red", "white", "rose"])[kinds]
    model = MKLClassifier(shared_weights=shared, **options).fit(points[::2], names[::2])
    assert model.score(points[1::2], names[1::2]) > 0.9
    assert model.classes_.tolist() == ["red", "rose", "white"]
    assert model.gap_ <= 1e-4
    p = len(model.kernel_names_)
    assert model.weights_.shape == ((p,) if shared else (3, p))
    assert model.decision_function(points[:4]).shape == (4, 3)
    assert len(model.history_) == (1 if shared else 3)
    assert model.n_calls_ == sum(len(one) for one in model.history_)
    assert model.n_iter_ == max(len(one) for one in model.history_)
    assert set(model.kernel_groups_) == {"all columns", *(f"x{j}" for j in range(13))}


def test_little_is_kept_and_pickled() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 20))
    model = MKLClassifier(C=10.0).fit(points, points[:, 0] + 0.3 * points[:, 1] > 0)
    packed = pickle.dumps(model)
    assert len(packed) < 300 * 20 * 8 * 2 + 50_000  # two copies of the points; the kernels take 98 million bytes
    again = pickle.loads(packed)
    assert np.array_equal(again.decision_function(points), model.decision_function(points))
    assert repr(model.models_[0].loss) == "Hinge(C=10, class_weight=None)"
    one_by_one = np.concatenate([model.decision_function(row[None]) for row in points[:50]])
    assert np.allclose(one_by_one, model.decision_function(points)[:50], rtol=1e-7, atol=1e-9)


def test_a_data_frame_with_groups_in_a_pipeline_and_a_search() -> None:
    frame = pd.DataFrame(IRIS[0], columns=["sl", "sw", "pl", "pw"])
    kernels = KernelList(
        [("sepal", [GaussianKernels(n_widths=2)], ["sl", "sw"]), ("petal", [GaussianKernels(n_widths=2)], ["pl", "pw"])]
    )
    model = MKLClassifier(kernels, shared_weights=True).fit(frame, IRIS[1])
    assert model.kernel_groups_.tolist() == ["sepal", "sepal", "petal", "petal"]
    assert model.weights_[2:].sum() > 0.5
    assert model.feature_names_in_.tolist() == list(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["pw", "pl", "sl", "sw"]])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), MKLClassifier(kernels))
    search = GridSearchCV(pipeline, {"mklclassifier__C": [0.1, 10.0], "mklclassifier__norm": [1.0, 2.0]}, cv=3)
    assert search.fit(frame, IRIS[1]).best_score_ > 0.9
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(MKLRegressor(kernels), frame, IRIS[0][:, 2] - IRIS[0][:, 0], cv=folds).min() > 0.9


def test_a_run_that_ends_early_warns_with_its_gap() -> None:
    with pytest.warns(ConvergenceWarning, match=r"the proven relative gap is 0\.\d+, and rtol=1e-06 was asked for"):
        model = MKLClassifier(SMALL, max_calls=3, rtol=1e-6).fit(X, LABELS)
    assert model.gap_ > 1e-6
    upper, lower = model.history_[0].upper_bound[-1], model.history_[0].lower_bound[-1]
    assert model.gap_ == pytest.approx((upper - lower) / upper)
    assert model.n_calls_ == 3


@pytest.mark.parametrize("options", [{}, {"shared_weights": True}, {"norm": 2}, {"norm": "mixed"}], ids=str)
def test_a_warm_start_takes_fewer_calls_and_finds_the_same(options) -> None:
    points, kinds = IRIS
    warm = MKLClassifier(SMALL, C=1.0, warm_start=True, **options).fit(points, kinds)
    warm.set_params(C=1.2).fit(points, kinds)
    cold = MKLClassifier(SMALL, C=1.2, **options).fit(points, kinds)
    assert warm.n_calls_ <= cold.n_calls_
    for one, other in zip(warm.history_, cold.history_, strict=True):
        assert one.upper_bound[-1] == pytest.approx(other.upper_bound[-1], rel=3e-4)
    warm.fit(points[:80], kinds[:80])  # of other classes and points: what does not fit is not used
    assert warm.gap_ <= 1e-4


def test_the_generator_that_was_given_is_not_changed() -> None:
    generator = LevelSet()
    model = MKLClassifier(SMALL, generator=generator).fit(X, LABELS)
    assert vars(generator) == vars(LevelSet())
    assert model.generator is generator
    first = model.weights_
    assert np.array_equal(model.fit(X, LABELS).weights_, first)


def test_an_interrupted_fit_is_interrupted(monkeypatch) -> None:
    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MKLOracle, "query", interrupted)
    with pytest.raises(KeyboardInterrupt):
        MKLClassifier(SMALL).fit(X, LABELS)


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovo"}, {"loss": "squared_hinge"}], ids=str)
def test_products_of_kernels_learn_which_columns_matter(options) -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(150, 6))
    kinds = np.digitize(points[:, 1], [-0.5, 0.5])
    model = MKLClassifier(norm="product", C=10.0, **options).fit(points, kinds)
    assert model.gap_ == np.inf
    assert model.weights_.shape == (3, 6)
    assert (model.weights_.argmax(axis=1) == 1).all()
    new = rng.normal(size=(100, 6))
    assert model.score(new, np.digitize(new[:, 1], [-0.5, 0.5])) > 0.9
    assert model.kernel_names_[1] == "squared distance of x1"


def test_a_product_with_one_distance_is_a_gaussian_kernel() -> None:
    model = MKLRegressor([GaussianKernels()], norm="product", C=3.0, epsilon=0.05).fit(X, TARGETS)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    theirs = SVR(C=3.0, epsilon=0.05, gamma=model.weights_[0] / squares.mean(), tol=1e-10).fit(X, TARGETS)
    assert np.allclose(model.predict(NEW), theirs.predict(NEW), atol=1e-5)
    weights = np.random.default_rng(0).integers(1, 3, size=len(X))
    weighted = clone(model).fit(X, TARGETS, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(TARGETS, weights))
    assert np.array_equal(weighted.weights_, repeated.weights_)


def test_a_loss_of_its_own_counts_C_and_weights():
    from oracle_opt.oracles.svm import Pinball, SmoothedHinge

    plain = MKLRegressor(loss=Pinball(0.9, C=10.0)).fit(X, TARGETS)
    other = MKLRegressor(loss=Pinball(0.9, C=2.0), C=5.0).fit(X, TARGETS, sample_weight=np.ones(len(TARGETS)))
    np.testing.assert_allclose(plain.predict(X), other.predict(X), atol=1e-2 * np.ptp(TARGETS))
    assert np.mean(plain.predict(X) >= TARGETS - 1e-3) >= 0.85
    labels = np.median(TARGETS) < TARGETS
    assert MKLClassifier(loss=SmoothedHinge(C=10.0)).fit(X, labels).score(X, labels) > 0.7


@pytest.mark.parametrize("name", ["EpsilonInsensitive", "Pinball", "Huber", "LeastSquares", "SquaredHinge", "Logistic"])
@pytest.mark.parametrize(("C", "own"), [(10.0, 1.0), (0.3, 7.0), (1.0, 2.0)])
def test_the_loss_of_a_model_is_the_one_that_was_fitted(name, C, own) -> None:
    """C times a loss of one's own is that loss with C times its own weight."""
    make = getattr(svm, name)
    classes = name.endswith(("Hinge", "Logistic"))
    kind, y = (MKLClassifier, np.sign(LABELS - 0.5)) if classes else (MKLRegressor, TARGETS)
    (model,) = kind(SMALL, C=C, loss=make(C=own), max_calls=3, rtol=0.9).fit(X, y).models_
    duals = (loss.dual(y, len(y)).numbers() for loss in (model.loss, make(C=C * own)))
    for found, expected in zip(*duals, strict=True):
        np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=1e-12)  # None is NaN
