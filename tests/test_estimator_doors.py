"""What users of scikit-learn try with estimators: tables, pictures, pipelines, frames of polars, searches of a loss."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oracle_opt import Certificate, InvalidArgument, InvalidCertificate
from oracle_opt.learn import MKLClassifier, MKLClassifierCV, MKLOneClass, MKLRegressor
from oracle_opt.learn.merged_points import merged
from oracle_opt.oracles import GaussianKernels, KernelList, MKLOracle, Regularizer
from oracle_opt.oracles.svm import Hinge, Huber, Loss, OneClass, Pinball, Separable
from oracle_opt.study import plot_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS, TARGETS = np.digitize(X[:, 0], [-0.4, 0.4]), X[:, 0] + 0.3 * RNG.normal(size=60)
PAIR = (X[:, 0] > 0).astype(int)
KERNELS = KernelList([("left", GaussianKernels(n_widths=2), ["a", "b"]), ("right", GaussianKernels(n_widths=2), "c")])


def drawn(ax):
    """Labels and lengths of the bars."""
    widths = [bar.get_width() for bar in ax.patches if bar.get_height() == 0.72]
    return dict(zip([label.get_text() for label in ax.get_yticklabels()], widths, strict=True))


def test_a_table_of_the_weights():
    one, three = MKLClassifier().fit(X, PAIR), MKLClassifier().fit(X, LABELS)
    table, several = one.weights_frame(), three.weights_frame()
    assert table.columns.tolist() == ["name", "group", "weight"]
    assert (table["weight"].to_numpy() == one.weights_).all()
    assert table["name"].tolist() == one.kernel_names_.tolist()
    assert (three.weights_ == several[["weight_0", "weight_1", "weight_2"]].to_numpy().T).all()
    assert drawn(plot_weights(several)) == drawn(plot_weights(three))
    with pytest.raises(NotFittedError):
        MKLClassifier().weights_frame()


@pytest.mark.parametrize(
    "model",
    [MKLClassifier(), MKLClassifier(shared_weights=True), MKLClassifier(norm=2.0), MKLClassifier(norm="mixed")],
    ids=repr,
)
def test_runs_are_certified_where_that_is_wished(model, tmp_path):
    fitted = clone(model).set_params(certify=True).fit(X, LABELS)
    n_runs = 1 if model.shared_weights else 3
    for run in range(n_runs):
        fitted.certificate(run).save(tmp_path / "fit.jsonl")
        read = Certificate.load(tmp_path / "fit.jsonl")
        assert read.verify().holds
        history = fitted.history_[run]
        assert (read.upper, read.lower) == (history.upper_bound[-1], pytest.approx(history.lower_bound[-1]))
        assert read.upper - read.lower <= 1.01e-4 * abs(read.upper)
    with pytest.raises(InvalidArgument, match=f"below the number of runs, {n_runs}"):
        fitted.certificate(n_runs)
    assert fitted.weights_.tolist() == clone(model).fit(X, LABELS).weights_.tolist()


def test_certificates_prove_from_the_data_of_the_fit():
    kernels = KernelList.default(on_the_fly=False)
    model = MKLOneClass(kernels, certify=True, nu=0.3).fit(X)
    rows = merged(X, None, np.ones(60)).rows
    verdict = model.certificate().verify(MKLOracle(kernels.fit(X[rows]), loss=OneClass(0.3)))
    assert verdict.value_proven
    assert (verdict.n_proven, verdict.n_given) == (verdict.n_cuts, 0)


@pytest.mark.parametrize("model", [MKLClassifierCV(Cs=[1.0, 10.0], cv=2, certify=True), MKLRegressor(certify=True)])
def test_searches_and_regressions_are_certified(model):
    assert model.fit(X, PAIR).certificate().verify().holds


class Cubes(Regularizer):
    """Said not to be convex: a run has no lower bound."""

    convex = False

    def value(self, d):
        return float((d**3).sum())

    def gradient(self, d):
        return 3.0 * d**2


def test_a_fit_without_a_bound_is_not_lost():
    model = MKLClassifier(norm=Cubes(), certify=True).fit(X, PAIR)
    assert model.predict(X).shape == (60,)
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        with pytest.raises(InvalidCertificate, match="not convex"):
            one.certificate()


def test_what_cannot_be_certified_is_refused():
    with pytest.raises(NotFittedError):
        MKLClassifier(certify=True).certificate()
    with pytest.raises(InvalidArgument, match="certify=True, set before `fit`"):
        MKLClassifier().fit(X, PAIR).certificate()
    with pytest.raises(InvalidArgument, match="not convex"):
        MKLClassifier(norm="product", certify=True).fit(X, PAIR)


def test_pipelines_and_searches_are_drawn_as_their_estimator():
    pipe = make_pipeline(StandardScaler(), MKLClassifier()).fit(X, PAIR)
    search = GridSearchCV(pipe, {"mklclassifier__C": [1.0]}, cv=2).fit(X, PAIR)
    known = drawn(plot_weights(pipe[-1]))
    assert drawn(plot_weights(pipe)) == drawn(plot_weights(search)) == known
    with pytest.raises(InvalidArgument, match="or a fitted estimator"):
        plot_weights(make_pipeline(StandardScaler(), MKLClassifier()))


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(KERNELS, probability=True), PAIR),
        (MKLClassifierCV(KERNELS, Cs=[0.1, 10.0], cv=2), PAIR),
        (MKLRegressor(KERNELS), TARGETS),
        (MKLOneClass(KERNELS), None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_frames_of_polars_are_as_those_of_pandas(model, y):
    polars = pytest.importorskip("polars")
    frames = pd.DataFrame(X, columns=list("abc")), polars.DataFrame(X, schema=list("abc"))
    known, found = (clone(model).fit(frame, y) for frame in frames)
    assert (found.weights_ == known.weights_).all()
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (found.predict(frames[1][:5]) == known.predict(frames[0][:5])).all()
    assert KERNELS.fit(frames[1]).groups == KERNELS.fit(frames[0]).groups
    with pytest.raises(InvalidArgument, match="column 's'"):
        clone(model).fit(frames[1].with_columns(s=polars.lit("text")), y)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.85])
def test_quantiles_have_that_share_of_the_targets_below(quantile):
    model = MKLRegressor(loss=Pinball(C=1.0), rtol=1e-6).set_params(loss__quantile=quantile).fit(X, TARGETS)
    above = model.predict(X) - TARGETS
    assert np.sum(above > 1e-2) <= quantile * 60 <= np.sum(above > -1e-2)
    assert model.models_[0].loss.loss.quantile == quantile
    if quantile == 0.5:
        assert (model.predict(X) == MKLRegressor(loss="quantile", rtol=1e-6).fit(X, TARGETS).predict(X)).all()


def test_a_search_varies_the_parameters_of_a_loss():
    given = Pinball(0.9, C=1.0)
    search = GridSearchCV(MKLRegressor(loss=given), {"loss__quantile": [0.05, 0.5]}, cv=2).fit(X, TARGETS)
    assert search.best_params_ == {"loss__quantile": 0.5}
    assert search.best_estimator_.loss.quantile == 0.5
    assert given.quantile == 0.9
    with pytest.raises(TypeError, match=r"Pinball\(\) has no argument `quantil`: did you mean `quantile`"):
        given.set_params(quantil=0.3)
    with pytest.raises(InvalidArgument, match="`quantile` must lie strictly between 0 and 1, got 3"):
        given.set_params(quantile=3)


class Renamed(Loss):
    """A loss that keeps its parameter under another name."""

    def __init__(self, share):
        self._share = share

    def dual(self, y, n_points):
        ones = np.ones(n_points)
        return Separable(np.array(y), (self._share - 1.0) * ones, self._share * ones)

    def predict(self, values):
        return values


@pytest.mark.parametrize("loss", [Huber(C=[1.0, 2.0]), Hinge(class_weight={1: 2.0}), Renamed(0.3)], ids=repr)
def test_losses_of_any_parameters_are_cloned(loss):
    model = clone(MKLRegressor(loss=loss))
    assert model.loss is not loss
    assert repr(vars(model.loss)) == repr(vars(loss))
    assert type(loss).__name__ in repr(model)
