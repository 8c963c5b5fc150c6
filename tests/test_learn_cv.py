"""MKLClassifierCV chooses what GridSearchCV chooses, from one bank a fold; searches, weights, groups and stacks."""

from math import inf

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle_opt import minimize
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn import MKLClassifier, MKLClassifierCV
from oracle_opt.oracles import GaussianKernels, GramBank, KernelList, MKLOracle, PolynomialKernels, PrecomputedKernels
from oracle_opt.oracles.svm import Hinge

CS = (10.0, 0.1, 1.0)
FLOWERS = load_iris(as_frame=True)
TABLE, NAMES = FLOWERS.data, FLOWERS.target_names[FLOWERS.target]
BY_GROUP = KernelList(
    [
        ("petals", [GaussianKernels(n_widths=2), PolynomialKernels((1,))], ["petal length (cm)", "petal width (cm)"]),
        ("sepals", GaussianKernels(n_widths=2), ["sepal length (cm)", "sepal width (cm)"]),
    ]
)
X, Y = make_classification(80, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=1)
SMALL = KernelList([GaussianKernels(n_widths=3), PolynomialKernels((1, 2))])


@pytest.mark.campaign(13)
@parametrize_with_checks([MKLClassifierCV(SMALL, Cs=(1.0, 10.0), cv=2, probability=True)])
def test_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.campaign(2)
@pytest.mark.parametrize(
    "options",
    [
        {"kernels": BY_GROUP},
        {"kernels": BY_GROUP, "multiclass": "ovo", "loss": "squared_hinge", "cv": 3},
        {"kernels": BY_GROUP, "shared_weights": True, "class_weight": {"setosa": 3.0}, "cv": StratifiedKFold(4)},
        {"kernels": BY_GROUP, "norm": 2.0, "scoring": "f1_macro", "cv": 3},
    ],
    ids=["one against the rest", "pairs", "shared", "norm 2"],
)
def test_choice_and_scores_are_those_of_a_grid_search(options) -> None:
    """On a DataFrame with labels in words; ties go to the first C in both."""
    along = MKLClassifierCV(Cs=CS, rtol=1e-6, **options).fit(TABLE, NAMES)
    how = {name: options[name] for name in ("cv", "scoring") if name in options}
    plain = {name: value for name, value in options.items() if name not in how}
    search = GridSearchCV(MKLClassifier(rtol=1e-6, **plain), {"C": list(CS)}, **how).fit(TABLE, NAMES)
    folds = [search.cv_results_[f"split{f}_test_score"] for f in range(len(along.scores_))]
    assert np.allclose(along.scores_, folds, atol=1e-12)
    assert search.best_params_["C"] == along.C_
    assert along.best_score_ == pytest.approx(search.best_score_)
    best = search.best_estimator_
    assert np.array_equal(along.decision_function(TABLE), best.decision_function(TABLE))  # one fit with the same C
    assert np.array_equal(along.weights_, best.weights_)
    assert list(along.kernel_names_) == list(best.kernel_names_)


def test_kernels_are_made_once_a_fold_and_starts_save_calls(monkeypatch) -> None:
    made, fit = [], KernelList.fit

    def counted(self, points, weights=None):
        made.append(len(points))
        return fit(self, points, weights)

    monkeypatch.setattr(KernelList, "fit", counted)
    Cs = tuple(np.geomspace(0.1, 100, 7))
    along = MKLClassifierCV(SMALL, Cs=Cs, cv=4).fit(X, Y)
    assert made == [60, 60, 60, 60, 80]
    cold = sum(
        MKLClassifier(SMALL, C=C).fit(X[train], Y[train]).n_calls_
        for train, _ in StratifiedKFold(4).split(X, Y)
        for C in Cs
    )
    assert 0 < along.n_search_calls_ < 0.9 * cold


def test_weights_count_rows_in_training_and_in_scores() -> None:
    """Rows of one fold repeated, or with a weight: the same scores, and the same model to the last bit."""
    rng = np.random.default_rng(0)
    counts, fold = rng.integers(0, 4, len(X)), rng.integers(0, 3, len(X))
    model = MKLClassifierCV(SMALL, Cs=CS, probability=True)
    weighted = clone(model).set_params(cv=_by_fold(fold)).fit(X, Y, sample_weight=counts)
    where = np.repeat(np.arange(len(X)), counts)
    repeated = clone(model).set_params(cv=_by_fold(fold[where])).fit(X[where], Y[where])
    assert np.allclose(weighted.scores_, repeated.scores_, atol=1e-14)
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def _by_fold(fold):
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]


def test_a_score_of_probabilities_calibrates_them_for_each_c() -> None:
    along = MKLClassifierCV(SMALL, Cs=(0.1, 10.0), cv=3, scoring="neg_log_loss", probability=True).fit(X, Y)
    search = GridSearchCV(MKLClassifier(SMALL, probability=True), {"C": [0.1, 10.0]}, cv=3, scoring="neg_log_loss")
    search.fit(X, Y)
    assert search.best_params_["C"] == along.C_
    assert along.best_score_ == pytest.approx(search.best_score_, abs=0.01)  # machines to 1e-4, of other starts
    assert along.scores_.min() > -1.0


def test_groups_go_to_the_splitter_and_a_search_without_a_last_fit_has_no_machines() -> None:
    groups = np.arange(len(X)) // 4
    model = MKLClassifierCV(SMALL, Cs=CS, cv=GroupKFold(3), refit=False).fit(X, Y, groups=groups)
    (expected,) = (
        MKLClassifier(SMALL, C=CS[0]).fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in list(GroupKFold(3).split(X, Y, groups))[:1]
    )
    assert model.scores_[0, 0] == pytest.approx(expected)
    assert model.C_ in CS
    assert not hasattr(model, "models_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X)


def test_what_cannot_be_searched_is_refused_with_the_fold() -> None:
    for Cs in ((), (1.0, 0.0), 3.0, "10", [[1.0]]):
        with pytest.raises(InvalidArgument, match="`Cs"):
            MKLClassifierCV(SMALL, Cs=Cs).fit(X, Y)
    order = np.argsort(Y, kind="stable")
    apart = [(order[:20], order[20:]), (order[20:], order[:20])]
    with pytest.raises(InvalidArgument, match=r"`cv`.*1 class to train on in fold 0"):
        MKLClassifierCV(SMALL, cv=apart).fit(X, Y)
    with pytest.raises(InvalidArgument, match="`scoring` must give a finite number"):
        MKLClassifierCV(SMALL, scoring=lambda estimator, points, labels: np.nan).fit(X, Y)
    with pytest.raises(InvalidArgument, match="MKLClassifierCV"):
        MKLClassifier(SMALL, C=[0.1, 1.0]).fit(X, Y)


@pytest.mark.campaign(inf)
def test_a_search_over_c_norm_and_kernels() -> None:
    """A table, three classes in words, recipes as candidates; with two processes as with one."""
    grid = {"C": [1.0, 10.0], "norm": [1.0, 2.0], "kernels": [BY_GROUP, ["linear", "rbf"]]}
    search = GridSearchCV(MKLClassifier(), grid, cv=3).fit(TABLE, NAMES)
    assert search.best_score_ > 0.95
    assert set(search.predict(TABLE)) == {"setosa", "versicolor", "virginica"}
    assert search.best_estimator_.gap_ <= 1e-4
    assert len(search.cv_results_["mean_test_score"]) == 8
    shared = GridSearchCV(MKLClassifier(BY_GROUP), {"norm": [1.0, 2.0]}, cv=3, n_jobs=2).fit(TABLE, NAMES)
    alone = clone(shared).set_params(n_jobs=1).fit(TABLE, NAMES)
    assert np.array_equal(shared.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert np.array_equal(shared.best_estimator_.weights_, alone.best_estimator_.weights_)


def test_metadata_are_routed_to_fits_scores_and_splits() -> None:
    """With the weights of the test rows as well, scores are those of the rows repeated."""
    weights = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    plain = MKLClassifier(SMALL)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(plain).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asked, {"C": [0.1, 1.0]}, cv=3).fit(X, Y, sample_weight=weights)
        pipeline = make_pipeline(FunctionTransformer(), asked)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        piped = cross_validate(pipeline, X, Y, cv=3, scoring=scorer, params={"sample_weight": weights})["test_score"]
        along = MKLClassifierCV(SMALL, Cs=(0.1, 1.0), cv=3, scoring=scorer).fit(X, Y, sample_weight=weights)
        default = MKLClassifierCV(SMALL, Cs=(0.1, 1.0), cv=3).fit(X, Y, sample_weight=weights)
        ignored = clone(plain).set_fit_request(sample_weight=False)
        without = GridSearchCV(ignored, {"C": [1.0]}, cv=3, scoring=scorer).fit(X, Y, sample_weight=weights)
        outer = clone(along).set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=True)
        outer.set_params(cv=GroupKFold(2))
        nested = cross_validate(outer, X, Y, cv=2, params={"sample_weight": weights, "groups": np.arange(len(X)) % 5})
    expected = np.array([_score(X, Y, weights, C) for C in (0.1, 1.0)]).T
    found = np.array([search.cv_results_[f"split{f}_test_score"] for f in range(3)])
    assert np.allclose(found, expected)
    assert np.allclose(along.scores_, expected)
    assert np.allclose(default.scores_, expected)
    unweighted = MKLClassifier(SMALL, C=1.0).fit(X, Y)
    assert np.array_equal(without.decision_function(X), unweighted.decision_function(X))
    assert not np.allclose(search.best_estimator_.decision_function(X), unweighted.decision_function(X))
    assert np.allclose(piped, [_score(X, Y, weights, 1.0)])
    assert nested["test_score"].shape == (2,)


def _score(points, labels, weights, C):
    return [
        MKLClassifier(SMALL, C=C)
        .fit(points[train], labels[train], weights[train])
        .score(points[test], labels[test], weights[test])
        for train, test in StratifiedKFold(3).split(points, labels)
    ]


def test_a_stack_of_kernels_is_searched_by_row_indices() -> None:
    """The model is that of a bank of the training rows; a stack in the place of X is refused with the way."""
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    stack = np.array([np.exp(-D / 2), np.exp(-D / 20), X @ X.T + 1.0])
    kernels = KernelList([PrecomputedKernels(stack, names=["narrow", "wide", "linear"])], normalize=None)
    rows = np.arange(len(X))[:, None]
    train, test = rows[::2], rows[1::2]
    some, others = train[:, 0], test[:, 0]
    model = MKLClassifier(kernels, C=2.0, rtol=1e-8).fit(train, Y[some])
    oracle = MKLOracle(GramBank(stack[:, some][:, :, some]), np.where(Y[some] == 1, 1.0, -1.0), Hinge(2.0))
    result = minimize(oracle, rtol=1e-9)
    cross = [K[np.ix_(others, some)] for K in stack]
    assert np.allclose(model.decision_function(test), oracle.decision_function(result.cut, cross), atol=1e-4)
    assert np.allclose(model.weights_, result.point, atol=1e-4)
    assert [name.split(" of ")[0] for name in model.kernel_names_] == ["narrow", "wide", "linear"]
    search = GridSearchCV(MKLClassifier(kernels), {"C": [0.1, 1.0]}, cv=3).fit(rows, Y)
    along = MKLClassifierCV(kernels, Cs=(0.1, 1.0), cv=3).fit(pd.DataFrame(rows, columns=["row"]), Y)
    assert search.best_params_["C"] == along.C_
    for estimator in (MKLClassifier(kernels), MKLClassifierCV(kernels)):
        with pytest.raises(InvalidArgument, match=r"two dimensions.*PrecomputedKernels.*row indices"):
            estimator.fit(stack, Y)
