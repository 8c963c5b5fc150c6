"""Bad input of estimators is refused in words that say what was got, where, and what to do."""

import re

import numpy as np
import pandas as pd
import pytest
from refusal_cases import THINGS, USUAL
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from oracle_opt import InvalidArgument
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.learn import MKLClassifier, MKLOneClass, MKLRegressor
from oracle_opt.oracles import ElasticNet, LpRegularizer, NewtonMKL
from oracle_opt.oracles.kernels import GaussianKernels, GramBank, KernelList, PolynomialKernels, PrecomputedKernels
from oracle_opt.oracles.kernels.recipes.list_plan import ConstantKernels
from oracle_opt.oracles.svm import Hinge, OneClass

X, KINDS = load_iris(return_X_y=True)
X, KINDS = X[::3], KINDS[::3]
Y = KINDS == 1
FRAME = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
ONE = KernelList([GaussianKernels([1.0])])

# What the parameters take of the things of refusal_cases.py; all else is refused by the name of the parameter.
TAKES = {
    **{name: USUAL[name] for name in ("C", "class_weight", "epsilon", "progress", "rtol")},
    **dict.fromkeys(("nu", "loss", "multiclass", "max_calls", "memory_budget"), ""),
    **dict.fromkeys(("certify", "shared_weights", "warm_start"), "bool"),
    **dict.fromkeys(("kernels", "random_state"), "none"),
    "norm": "number",
    "generator": "none generator",
}
SKIPPED = {"probability", "cv", "Cs", "scoring", "method"}


@pytest.mark.parametrize("kind", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_parameters_of_the_wrong_kind_are_refused_in_fit(kind) -> None:
    wrong = []
    for name in kind().get_params(deep=False).keys() - SKIPPED:
        default = {"none"} if name == "loss" and kind().loss is None else set()
        for thing in sorted(THINGS.keys() - set(TAKES[name].split()) - default):
            model = kind(**({"kernels": ONE} | {name: THINGS[thing]}))  # nothing is looked at before `fit`
            try:
                model.fit(X, Y)
            except InvalidArgument as refusal:
                words = str(refusal)
                if not re.search(f"`{name}(`|\\[)|^`{name}", words) or "\n" in words or " at 0x" in words:
                    wrong.append(f"{name}, {thing}: {words}")
            except Exception as problem:
                wrong.append(f"{name}, {thing}: {problem!r}")
            else:
                wrong.append(f"{name}, {thing} is taken")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": [0.1, 1.0]}, "To choose among several: MKLClassifierCV(Cs=...), or GridSearchCV"),
        ({"C": np.ones(50)}, "weights of single rows go to fit(X, y, sample_weight=...)"),
        ({"C": 0.0}, "`C` must be positive, got 0.0"),
        ({"C": -1}, "`C` must be positive, got -1"),
        ({"C": np.inf}, "`C` must be positive and finite"),
        ({"norm": 0.5}, "`norm` must be at least 1, got 0.5"),
        ({"norm": "mixt"}, "did you mean 'mixed'?"),
        ({"norm": "l2"}, "`norm` must be a number of at least 1, 'mixed', 'product' or a Regularizer, got 'l2'"),
        ({"norm": ElasticNet}, "call it: ElasticNet()"),
        ({"norm": "mixed", "shared_weights": True}, "`shared_weights` must be False with norm='mixed'"),
        ({"norm": "product", "shared_weights": True}, "`shared_weights` must be False with norm='product'"),
        ({"loss": "hing"}, "did you mean 'hinge'?"),
        ({"loss": Hinge}, "call it: Hinge()"),
        ({"multiclass": "one-vs-rest"}, "`multiclass` must be 'ovr', each class against the rest, or 'ovo'"),
        ({"generator": "newton-bundel"}, "did you mean newton-bundle"),
        ({"generator": LevelSet}, "call it: LevelSet(...)"),
        ({"generator": NewtonMKL()}, "NewtonMKL cannot serve"),
        ({"class_weight": {"setos": 2.0}}, "did you mean 'setosa'?"),
        ({"class_weight": {"setosa": 0.0}}, "`class_weight['setosa']` must be positive, got 0.0"),
        ({"class_weight": {"setosa": -1}}, "`class_weight['setosa']` must be positive, got -1"),
        ({"class_weight": "balance"}, "`class_weight` must be a mapping of labels to factors, 'balanced' or None"),
        ({"kernels": "linear"}, "put a single one into a list: kernels=['linear']"),
        ({"kernels": ["linaer"]}, "did you mean 'linear'"),
        ({"kernels": np.ones((2, 50, 50))}, "kernels=KernelList([PrecomputedKernels(stack)])"),
        ({"kernels": GramBank([np.eye(50)])}, "kernels=KernelList([PrecomputedKernels(stack)])"),
        ({"kernels": []}, "`kernels` must"),
        ({"norm": "product", "kernels": [PolynomialKernels()]}, "must be GaussianKernels"),
        ({"memory_budget": 10, "kernels": ["linear"]}, "`memory_budget`"),
        ({"rtol": -1e-3}, "`rtol` must be at least 0"),
        ({"random_state": 1.5}, "`random_state` must be a whole number"),
    ],
    ids=str,
)
def test_what_a_user_may_write_is_answered_with_what_to_write(options, words) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        MKLClassifier(**options).fit(X, np.array(["setosa", "versicolor", "virginica"])[KINDS])


def test_other_estimators_refuse_what_they_cannot_do() -> None:
    with pytest.raises(InvalidArgument, match="`norm` must not be 'product' for one class"):
        MKLOneClass(norm="product").fit(X)
    with pytest.raises(InvalidArgument, match="`regularizer` must grow faster than linearly"):
        MKLOneClass(norm=LpRegularizer(2, power=1)).fit(X)
    with pytest.raises(InvalidArgument, match="`nu` must be positive and at most 1, got 0"):
        MKLOneClass(nu=0).fit(X)
    with pytest.raises(InvalidArgument, match="`epsilon` must be at least 0"):
        MKLRegressor(epsilon=-0.1).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.ones(50), "at least two classes to tell apart, got one class, 1"),
        (np.linspace(0, 1, 50), "continuous"),
        (np.array([1, "a"] * 25, dtype=object), "Unknown label type: `y` must hold labels of one type"),
        (np.array(["a", None] * 25, dtype=object), "Input `y` contains None: row 1 has no label"),
        (np.array(["a", np.nan] * 25, dtype=object), "Input `y` contains NaN: row 1 has no label"),
        (np.array([0.0, 1, np.nan] + [1] * 47), "Input `y` contains NaN: row 2 has no label"),
        (np.array([0, 1]), "`y` must have 50 labels, one per row of X, got 2"),
        (np.zeros((50, 2)), "y should be a 1d array"),
        (None, "requires y to be passed, but the target y is None"),
    ],
    ids=str,
)
def test_labels_that_cannot_be_used(labels, words) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        MKLClassifier(ONE).fit(X, labels)


def test_targets_that_cannot_be_used() -> None:
    for targets, words in (
        (["high"] * 50, "`y` must hold numbers"),
        (np.r_[1.0, np.inf, np.zeros(48)], "Input `y` contains NaN or infinity: row 1"),
        (np.zeros(3), "`y` must have 50 targets"),
        (None, "requires y to be passed"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            MKLRegressor(ONE).fit(X, targets)


@pytest.mark.parametrize("kind", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_weights_that_cannot_be_used(kind) -> None:
    for weights, words in (
        (np.zeros(50), "all weights are zero"),
        (np.r_[1.0, -2.0, np.ones(48)], "`sample_weight` must not be negative, got -2 in row 1"),
        (np.r_[np.nan, np.ones(49)], "`sample_weight` must be finite, got nan in row 0"),
        (np.ones(3), "`sample_weight` must have shape (50,), one weight per row of X, got (3,)"),
        (["heavy"] * 50, "`sample_weight` must be numbers"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(words)):
            kind(ONE).fit(X, Y, sample_weight=weights)


def test_a_class_whose_rows_have_no_weight_is_none() -> None:
    with pytest.raises(InvalidArgument, match=r"got one class, False; the rows of the other 1 have the weight zero"):
        MKLClassifier(ONE).fit(X, Y, sample_weight=np.where(Y, 0.0, 1.0))
    model = MKLClassifier(ONE).fit(X, KINDS, sample_weight=np.where(KINDS == 1, 0.0, 1.0))
    assert model.classes_.tolist() == [0, 2]
    one = np.r_[1.0, np.zeros(49)]
    with pytest.raises(ValueError, match="1 sample"):
        MKLOneClass().fit(X, sample_weight=one)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, lambda points: pd.DataFrame(points, columns=list("abcd"))]
)
def test_missing_values_are_named_with_row_and_column(make, value) -> None:
    points = X.copy()
    points[7, 2] = value
    column = "'c'" if isinstance(make(X), pd.DataFrame) else "2"
    words = f"row 7, column {column}"
    remedy = "make_pipeline(SimpleImputer(), MKLClassifier())" if np.isnan(value) else "inf"
    fitted = MKLClassifier(ONE).fit(make(X), Y)
    for call in (lambda: MKLClassifier(ONE).fit(make(points), Y), lambda: fitted.predict(make(points))):
        with pytest.raises(InvalidArgument, match=re.escape(words)) as refusal:
            call()
        assert remedy in str(refusal.value)
    if np.isnan(value):
        assert make_pipeline(SimpleImputer(), MKLClassifier(ONE)).fit(points, Y).score(X, Y) > 0.9


def test_columns_of_strings_are_named() -> None:
    frame = FRAME.assign(color=np.where(Y, "red", "blue"))
    with pytest.raises(InvalidArgument, match=r"got 'blue' in row 0, column 'color'\. Encode such a column first"):
        MKLClassifier().fit(frame, Y)
    with pytest.raises(InvalidArgument, match=r"got 'blue' in row 0, column 'color'"):
        MKLClassifier().fit(frame.astype({"color": "category"}), Y)
    with pytest.raises(InvalidArgument, match=r"got 'blue' in row 0, column 4"):
        MKLClassifier().fit(frame.to_numpy(dtype=object), Y)
    with pytest.raises(InvalidArgument, match=r"got 'a' in row 1, column 1"):
        MKLClassifier().fit([[1.0, 2.0], [3.0, "a"]], [0, 1])


def test_a_stack_of_kernels_is_refused_and_row_indices_are_taken() -> None:
    stack = np.array([X @ X.T, np.exp(-((X[:, None] - X) ** 2).sum(axis=2))])
    with pytest.raises(InvalidArgument, match=re.escape("kernels=KernelList([PrecomputedKernels(stack)])")):
        MKLClassifier().fit(stack, Y)
    with pytest.raises(InvalidArgument, match="row indices"):
        MKLClassifier().fit(list(stack), Y)
    rows = np.arange(50)[:, None]
    model = MKLClassifier(KernelList([PrecomputedKernels(stack)])).fit(rows[::2], Y[::2])
    same = MKLClassifier(KernelList(["linear", lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2))]))
    values = same.fit(X[::2], Y[::2]).decision_function(X)
    assert np.allclose(model.decision_function(rows), values, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_constant_columns_are_left_out_by_name_and_constant_points_refused(kind) -> None:
    with pytest.warns(ConstantKernels, match="'still'"):
        model = kind().fit(FRAME.assign(still=3.0), Y)
    assert "still" not in set(model.kernel_groups_)
    values = model.predict if kind is MKLRegressor else model.decision_function
    again = kind().fit(FRAME, Y)
    expected = again.predict if kind is MKLRegressor else again.decision_function
    assert np.allclose(values(FRAME.assign(still=3.0)), expected(FRAME), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="must have a column that is not constant"):
        kind().fit(np.ones((10, 3)), Y[:10] if Y[:10].any() else np.arange(10) > 4)


def test_tags_say_whether_sparse_points_are_taken() -> None:
    dense = ["linear", RationalQuadratic()]
    for kernels, sparse_too in ((None, True), (["linear"], True), (dense, False), (["x"], True)):
        assert MKLClassifier(kernels).__sklearn_tags__().input_tags.sparse is sparse_too
    with pytest.raises(ValueError, match="takes no sparse `X`"):
        MKLClassifier(dense).fit(sparse.csr_array(X), Y)


def test_one_sample_is_refused() -> None:
    for model in (MKLClassifier(), MKLRegressor(), MKLOneClass()):
        with pytest.raises(ValueError, match=r"1 sample\(s\)"):
            model.fit(X[:1], Y[:1])


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y, "yes", "no"),
        np.where(Y, "yes", "no").astype(object),
        Y,
        np.where(Y, 7, -3),
        np.where(Y, 2.0, 1.0),
        np.where(Y, 1, 0).astype(object),
        pd.Series(np.where(Y, "yes", "no"), dtype="category"),
        pd.Series(np.where(Y, 1, 0), dtype="Int64"),
        pd.Series(np.where(Y, "yes", "no"), dtype="string"),
        np.where(Y, "yes", "no").tolist(),
    ],
    ids=lambda labels: f"{type(labels).__name__} of {getattr(labels, 'dtype', 'str')}",
)
def test_labels_of_any_type_come_back(labels) -> None:
    model = MKLClassifier(ONE).fit(X, labels)
    given = set(np.asarray(labels).tolist())
    assert set(model.classes_.tolist()) == given
    assert set(model.predict(X).tolist()) == given
    assert model.score(X, np.asarray(labels).astype(model.classes_.dtype)) > 0.9
    weighted = MKLClassifier(ONE, class_weight={max(given): 50.0}).fit(X, labels)
    assert (weighted.predict(X) == max(given)).sum() >= (model.predict(X) == max(given)).sum()


def test_weights_of_classes_are_weights_of_their_rows() -> None:
    factors = {0: 1.0, 1: 5.0, 2: 0.5}
    by_class = MKLClassifier(ONE, class_weight=factors).fit(X, KINDS)
    by_row = MKLClassifier(ONE).fit(X, KINDS, sample_weight=[factors[kind] for kind in KINDS])
    assert by_class.gap_ <= 1e-4
    fixed = KernelList([GaussianKernels([1.0])], normalize=None)
    by_class, by_row = by_class.set_params(kernels=fixed), by_row.set_params(kernels=fixed)
    weights = [factors[kind] for kind in KINDS]
    values = by_row.fit(X, KINDS, weights).decision_function(X)
    assert np.allclose(by_class.fit(X, KINDS).decision_function(X), values, atol=1e-7)
    some = np.r_[0:30, 40:50]
    balanced = MKLClassifier(fixed, class_weight="balanced").fit(X[some], KINDS[some])
    counts = np.bincount(KINDS[some])
    by_hand = MKLClassifier(fixed, class_weight=dict(enumerate(40 / (3 * counts)))).fit(X[some], KINDS[some])
    assert np.allclose(balanced.decision_function(X), by_hand.decision_function(X), atol=1e-9)


def test_a_generator_that_cannot_serve_says_so() -> None:
    with pytest.raises(ValueError, match="Kelley"):
        MKLClassifier(ONE, norm=2.0, generator=Kelley()).fit(X, Y)
    assert OneClass(0.5, weights=[1.0, 2.0]).dual(None, 2).total == 1.5


def test_all_columns_of_text_and_a_column_of_dates_are_named() -> None:
    frame = FRAME.assign(city="x", job="y")
    with pytest.raises(InvalidArgument, match=r"text are 'city', 'job'.*OneHotEncoder\(\), \['city', 'job'\]"):
        MKLClassifier().fit(frame, Y)
    for zone in (None, "UTC"):
        frame = FRAME.assign(when=pd.date_range("2020-01-01", periods=len(FRAME), tz=zone))
        with pytest.raises(InvalidArgument, match=r"got the date '2020-01-01.*column 'when'"):
            MKLClassifier().fit(frame, Y)
