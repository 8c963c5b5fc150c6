"""Callbacks of scikit-learn see every oracle call with an estimator fitted so far, and may end a run."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from oracle_opt.learn import MKLClassifier, MKLClassifierCV, MKLOneClass, MKLRegressor
from oracle_opt.learn.callback_support import SUPPORTED
from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels

needs_callbacks = pytest.mark.skipif(not SUPPORTED, reason="scikit-learn has callbacks from version 1.9 on")
X, Y = load_iris(return_X_y=True)
TWO = Y > 0
SMALL = KernelList([GaussianKernels(n_widths=4), PolynomialKernels()])


class Noted:
    """Keeps what it is told; may stop after some oracle calls."""

    def __init__(self, stop_after=None):
        self.stop_after, self.ended, self.open = stop_after, [], []

    def setup(self, estimator, context):
        self.is_set_up = True

    def teardown(self, estimator, context):
        self.is_set_up = False

    def on_fit_task_begin(self, estimator, context):
        self.open.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, metadata=None):
        assert self.is_set_up
        assert self.open.pop() == context.task_name  # the last one that began
        self.ended.append((context.task_name, fitted_estimator, metadata))
        return self.stop_after is not None and context.task_name == "oracle call" and self.calls() >= self.stop_after

    def calls(self):
        return len([name for name, fitted, _ in self.ended if name == "oracle call" and fitted is not None])


@needs_callbacks
def test_the_gap_is_watched_call_by_call() -> None:
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring=lambda estimator, *_: {"gap": estimator.gap_, "n_calls": estimator.n_calls_})
    model = MKLClassifier(SMALL, C=10.0).set_callbacks(monitor).fit(X, TWO)
    log = [row for row in monitor.get_logs().data if row["task_name"] == "oracle call"]
    gaps = [row["gap"] for row in log]
    history = model.history_[0]
    upper, lower = history.upper_bound, history.lower_bound
    assert [row["n_calls"] for row in log] == list(range(1, model.n_calls_ + 1))
    assert np.allclose(gaps, (upper - lower) / np.abs(upper), rtol=1e-9, atol=1e-15)
    assert gaps[-1] == model.gap_ <= 1e-4 < gaps[0]


@needs_callbacks
@pytest.mark.parametrize("options", [{}, {"multiclass": "ovo", "norm": 2.0}, {"shared_weights": True}], ids=str)
def test_the_estimator_of_a_call_predicts_and_the_last_one_is_the_model(options) -> None:
    noted = Noted()
    model = MKLClassifier(SMALL, **options).set_callbacks(noted).fit(X, Y, sample_weight=np.ones(len(Y)))
    calls = [fitted for name, fitted, _ in noted.ended if name == "oracle call" and fitted is not None]
    runs = [fitted for name, fitted, _ in noted.ended if name == "run"]
    assert len(calls) == model.n_calls_
    assert len(runs) == len(model.history_)
    for fitted in (*calls, *runs):
        assert fitted.predict(X).shape == Y.shape
        assert fitted.weights_.shape == model.weights_.shape
        assert fitted.gap_ >= model.gap_
    last = runs[-1]
    assert np.allclose(last.decision_function(X), model.decision_function(X))
    assert np.array_equal(last.weights_, model.weights_)
    assert last.gap_ == model.gap_
    if len(runs) > 1:
        assert runs[0].gap_ == np.inf > runs[0].machine_gap_  # nothing is proven of machines that were not trained
    assert all(set(metadata) == {"sample_weight"} for _, _, metadata in noted.ended)
    assert not noted.open
    assert not noted.is_set_up


@needs_callbacks
def test_a_callback_ends_a_run_without_a_warning() -> None:
    noted = Noted(stop_after=2)
    model = MKLClassifier(SMALL, C=10.0).set_callbacks(noted).fit(X, TWO)
    assert model.n_calls_ == 2
    assert model.gap_ > 1e-4
    regressor = MKLRegressor(SMALL, C=10.0).set_callbacks(Noted(stop_after=3)).fit(X, X[:, 0])
    assert regressor.n_calls_ == 3
    outliers = Noted()
    one = MKLOneClass(SMALL).set_callbacks(outliers).fit(X)
    assert outliers.calls() == one.n_calls_


@needs_callbacks
def test_folds_and_candidates_are_tasks_of_a_search() -> None:
    noted = Noted()
    MKLClassifierCV(SMALL, Cs=(1.0, 10.0), cv=3).set_callbacks(noted).fit(X, TWO)
    names = [name for name, _, _ in noted.ended]
    assert names.count("fold") == 3
    assert names.count("C") == 6
    assert names.count("refit") == 1
    assert names[-1] == "fit"
    assert [fitted.score(X, TWO) > 0.9 for name, fitted, _ in noted.ended if name == "C"] == [True] * 6
    grid = Noted()
    GridSearchCV(MKLClassifier(SMALL).set_callbacks(grid), {"C": [1.0, 10.0]}, cv=2, refit=False).fit(X, TWO)
    assert [name for name, _, _ in grid.ended].count("run") == 4


@needs_callbacks
def test_callbacks_that_fail_are_torn_down() -> None:
    noted = Noted()
    with pytest.raises(ValueError, match="`C`"):
        MKLClassifier(SMALL, C=-1.0).set_callbacks(noted).fit(X, TWO)
    noted.calls = lambda: 1 / 0
    noted.stop_after = 1
    with pytest.raises(ZeroDivisionError):
        MKLClassifier(SMALL).set_callbacks(noted).fit(X, TWO)
    assert not noted.is_set_up


def test_without_callbacks_there_are_no_estimators_on_the_way() -> None:
    """Also where the version of scikit-learn has none."""
    model = MKLClassifier(SMALL).fit(X, TWO)
    assert hasattr(model, "set_callbacks") == SUPPORTED
    assert not hasattr(model, "machine_gap_")
