"""Classification with learned weights of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from difflib import get_close_matches
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from oracle_opt.arguments import flag, spelled
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.callback_support import FitTasks, with_callbacks
from oracle_opt.learn.checked_input import checked_points, checked_weights
from oracle_opt.learn.class_labels import checked_y, class_factors, encoded
from oracle_opt.learn.class_probabilities import calibrated, probabilities
from oracle_opt.learn.fitting import MachineProblem
from oracle_opt.learn.merged_points import MergedPoints, merged
from oracle_opt.learn.mkl_estimator import MKLEstimator, checked_C, rows_of, seed_of
from oracle_opt.oracles.svm import Hinge, Loss, SquaredHinge, WeightedLoss
from oracle_opt.words import shown

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ClassSplit:
    """The classes that one machine has to tell apart, and its points."""

    positive: int
    negative: int | None
    points: Numbers
    y: Vector


def class_splits(numbers: Numbers, n_classes: int, multiclass: str) -> list[ClassSplit]:
    """Split classes into pairs: of two classes the second against the first."""
    if n_classes == 2 or multiclass == "ovo":
        pairs = [(second, first) for first, second in combinations(range(n_classes), 2)]
        found = [np.flatnonzero((numbers == one) | (numbers == other)) for one, other in pairs]
        return [
            ClassSplit(one, other, points, np.where(numbers[points] == one, 1.0, -1.0))
            for (one, other), points in zip(pairs, found, strict=True)
        ]
    every = np.arange(numbers.size)
    return [ClassSplit(c, None, every, np.where(numbers == c, 1.0, -1.0)) for c in range(n_classes)]


def votes(values: Matrix, splits: list[tuple[int, int | None]], n_classes: int) -> Matrix:
    """Votes of the pairs of classes, plus ``s / (3 (abs(s) + 1))``, s the sum of the decision values for the class."""
    counted, sums = np.zeros((2, values.shape[0], n_classes))
    for k, (one, other) in enumerate(splits):
        assert other is not None
        counted[:, one] += values[:, k] >= 0
        counted[:, other] += values[:, k] < 0
        sums[:, one] += values[:, k]
        sums[:, other] -= values[:, k]
    total: Matrix = counted + sums / (3.0 * (np.abs(sums) + 1.0))
    return total


@spelled
@dataclass(repr=False, eq=False)
class MKLClassifier(ClassifierMixin, MKLEstimator):
    """Support vector classification on a weighted sum of kernels, whose weights are learned with a proven gap.

    ::

        min over weights of  r(weights) + sum over machines of
            min over w, b of  1/2 |w|**2 + C * sum_i s_i * loss(y_i * (w @ phi(x_i) + b)),   K = sum_k weights_k K_k

    s are the sample weights times those of the classes. One machine tells two classes apart; several classes take a
    machine each, or one for each pair.

    A row of weight 2 is exactly the same as two rows, and of weight 0 as none: equal rows of equal label are merged
    before anything is computed. By default the mean of the diagonal of each kernel is brought to 1, so that C means
    what it means in `sklearn.svm.SVC`.

    Parameters
    ----------
    kernels : KernelList or list of kernels, optional
        Recipes, fitted on the points of `fit`. Default: ten Gaussian kernels and three polynomials on all columns and
        on each column alone, after standardization; of sparse points on all columns alone. See `KernelList`.
    norm : float, "mixed", "product" or Regularizer
        What keeps the weights of the kernels small. 1.0, the default: they add up to 1, and few are left. p above 1:
        ``1/2 * norm(weights, p)**2`` is added to the objective, and all are left. "mixed": every group of the kernels
        is kept and few kernels within a group, see `MixedNormOracle`. `ElasticNet(...)`, `EntropyRegularizer(...)` or a
        `Regularizer` of your own. "product": ``exp(-sum_k weights_k D_k)``, a product of Gaussian kernels instead of a
        sum, one D_k for each group of columns, with ``sum(weights)`` added to the objective; that problem is not
        convex, nothing is proven, and `gap_` is infinite.
    generator : QueryPointGenerator or str, optional
        What proposes weights of the kernels, such as ``LevelSet()`` of `oracle_opt.generators` or ``"level-set"``; each
        run gets a copy. Default: `NewtonMKL` where the norm has a smooth dual (p above 1, `ElasticNet`,
        `EntropyRegularizer`), else the one that `minimize` chooses.
    rtol : float
        Relative duality gap at which the weights count as found.
    max_calls : int
        Limit on oracle calls of a run, each of which trains the machine once (all machines, where they share weights).
        A run that ends there warns, see `sklearn.exceptions.ConvergenceWarning`.
    warm_start : bool
        Whether the next `fit` starts from the weights and the dual variables of the last one, where these fit: for a
        path in C, say. The outcome is the same to within rtol.
    memory_budget : int
        Bytes that the kernels may take, and the combined kernel; where they are more the default kernels are computed
        on the fly.
    random_state : int, RandomState or None
        Seed of what the kernels draw at random, on more points than they look at, which are pairs for the widths, and
        of the folds that calibrate probabilities. None is 0, so that two fits are the same.
    progress : bool
        Whether a display of each run is shown on the terminal.
    certify : bool
        Whether `certificate` is to be had; not with the norm "product", of which nothing is proven.
    C : float
        Weight of the loss, positive. To choose it: `MKLClassifierCV`, or GridSearchCV.
    loss : {"hinge", "squared_hinge"} or Loss
        Of `oracle_opt.oracles.svm`, or one of your own of the labels -1 and +1, which C and all weights multiply.
    multiclass : {"ovr", "ovo"}
        Each class against the rest, or each against each.
    shared_weights : bool
        Whether all machines have the same weights of kernels: one convex problem, whose kernels are those of the task
        and not of a class. Not with the norms "mixed" and "product". See `SharedWeightsOracle`.
    class_weight : mapping, "balanced" or None
        Factors on C by label; "balanced": inverse to the sums of the weights of the classes.
    probability : bool
        Whether `predict_proba` is to be had, by calibration within `fit`: on the decision values of a cross-validation
        with five folds, which take five more fits.

    Attributes
    ----------
    classes_ : ndarray
        Labels, sorted.
    weights_ : ndarray of shape (p,) or (number of machines, p)
        Weights of the kernels; one row a machine where there are several that do not share
        them.
    kernel_names_, kernel_groups_ : ndarray of str, shape (p,)
        What each kernel is, and the group it belongs to.
    gap_ : float
        Relative duality gap that was proven, the largest of all runs; infinite where nothing is proven.
    n_iter_, n_calls_ : int
        Oracle calls of the longest run, and of all runs.
    history_ : tuple of History
        One for each run: bounds and seconds call by call.
    models_ : list of KernelModel
        The machines: support vectors, kernels of positive weight, and the loss of a point of weight 1, with C.
    calibration_ : PlattSigmoid or ClassSoftmax
        With `probability`: what makes probabilities of decision values; the latter for more than two classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names of columns that are strings.

    Raises
    ------
    InvalidArgument
        From `fit`, a ValueError: what cannot be used is named, with the row and the column, and what to do.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from oracle_opt.learn import MKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifier(shared_weights=True, C=10.0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.gap_ <= 1e-4
    (True, True)
    >>> for k in model.weights_.argsort()[:-3:-1]:
    ...     print(f"{model.weights_[k]:.2f} {model.kernel_names_[k]}")
    0.51 gaussian(width=0.8059) of all columns
    0.19 gaussian(width=0.3111) of x2

    Missing values are refused with their row and column. A pipeline fills them:

    >>> import numpy as np
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> X[3, 2] = np.nan
    >>> filled = make_pipeline(SimpleImputer(), MKLClassifier(shared_weights=True)).fit(X, y)
    >>> filled.score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    C: float = 1.0
    loss: Any = "hinge"
    multiclass: str = "ovr"
    shared_weights: bool = False
    class_weight: Any = None
    probability: bool = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> MKLClassifier:
        """Learn the weights of the kernels and the machines of the classes.

        X has shape (n, d) and a point a row: an array, a DataFrame or a sparse array. The labels y are of any type that
        can be sorted, at least two different ones. `sample_weight` are factors on C, not negative: a row of weight 2 is
        the same as two rows, and one of weight 0 as none.
        """
        self._fit_at(checked_C(self.C), X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision values of new points X, with the columns of the fit.

        Two classes have the values of their machine, positive for ``classes_[1]``, shape (m,). More classes have a
        column each: the machine's values against the rest, or with ``multiclass="ovo"`` the votes of all pairs, between
        which the decision values decide: see `oracle_opt.learn.mkl_classifier.votes`.
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return values if self._pairs[0][1] is None else votes(values, self._pairs, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of new points X: the class of the largest decision value, ndarray of shape (m,)."""
        values = self.decision_function(X)
        numbers = (values >= 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[numbers]
        return labels

    def _has_probability(self) -> bool:
        """Whether there are probabilities, for `available_if`."""
        if not self.probability:
            raise AttributeError(
                f"`predict_proba` needs probability=True, set before `fit`, got probability={self.probability!r}: "
                "probabilities are calibrated by a cross-validation, which takes five more fits"
            )
        return True

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes of new points X, calibrated by cross-validation in `fit`.

        A column a class, in the order of `classes_`; rows have the sum 1. Two classes have a sigmoid of the
        decision value [1]_, which never decreases; close to 0 the sign of the decision value, which `predict` goes by,
        and the more probable class may differ. More classes have a softmax of decision values with one slope [2]_: the
        most probable class is the predicted one.

        References
        ----------
        .. [1] Platt (1999), "Probabilistic outputs for support vector machines and comparisons to regularized
           likelihood methods".
        .. [2] Guo, Pleiss, Sun, Weinberger (2017), "On calibration of modern neural networks", section 4.2.
        """
        decisions = self.decision_function(X)
        check_is_fitted(self, "calibration_")
        return probabilities(self.calibration_, decisions)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`, ndarray of shape (m, number of classes)."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def _fit_at(self, C: float, X: Any, y: Any, sample_weight: Any, within: FitTasks | None = None) -> None:
        """Fit with a C that was checked, as a task of its own or within another one."""
        training = self._training(shared=flag("shared_weights", self.shared_weights))
        probability = flag("probability", self.probability)
        data = self._prepared(X, y, sample_weight)
        problems = self._problems(data, C)
        n_runs = 1 if training.shared else len(problems)
        tasks = FitTasks.of_fit(self, X, y, sample_weight, n_runs) if within is None else within.part("refit", n_runs)
        self._fit_machines(training, self._bank(X, data.merged), problems, tasks)
        if probability:
            rows, labels = rows_of(X, data.merged), self.classes_[data.numbers]
            make = partial(self._plain, C)
            self.calibration_ = calibrated(
                make, rows, data.numbers, labels, data.merged.weights, seed_of(self.random_state)
            )
        tasks.end(dict)

    def _plain(self, C: float) -> MKLClassifier:
        """A classifier with these parameters and this C, without probabilities; it shares the recipe of the kernels."""
        given = {name: getattr(self, name) for name in SHARED}
        return MKLClassifier(**given, C=C)

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> ClassData:
        """Check points, labels and weights, and merge equal rows; sets `classes_`."""
        if y is None:
            raise InvalidArgument(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        points = checked_points(self, X, fit=True)
        labels = checked_y(y, points.shape[0])
        weights = checked_weights(sample_weight, points.shape[0])
        self.classes_, numbers = encoded(labels, weights)
        some = merged(points, numbers, weights)
        return ClassData(some, numbers[some.rows])

    def _problems(self, data: ClassData, C: float) -> list[MachineProblem]:
        """The machines of all classes at this C; sets which classes each of them tells apart."""
        multiclass = checked_multiclass(self.multiclass)
        weights = data.merged.weights
        factors = class_factors(self.class_weight, self.classes_, data.numbers, weights)
        losses = C * weights * factors[data.numbers]
        splits = class_splits(data.numbers, len(self.classes_), multiclass)
        self._pairs = [(one.positive, one.negative) for one in splits]
        return [MachineProblem(one.points, one.y, *chosen_losses(self.loss, C, losses[one.points])) for one in splits]


# Parameters of machines that are fitted on the way; of these, C is their own.
OWN = ("C", "probability", "warm_start", "progress", "certify")
SHARED = tuple(one.name for one in fields(MKLClassifier) if one.name not in OWN)


@dataclass(frozen=True, eq=False)
class ClassData:
    """The training data of a classifier."""

    merged: MergedPoints
    numbers: NDArray[np.intp]


def chosen_losses(loss: Any, C: float, weights: Vector) -> tuple[Loss, Loss]:
    """The loss of all points, whose weights hold C, and that of a point of weight 1."""
    if isinstance(loss, Loss):
        return WeightedLoss(loss, weights), WeightedLoss(loss, C)
    if isinstance(loss, str) and loss == "hinge":
        return Hinge(weights), Hinge(C)
    if isinstance(loss, str) and loss == "squared_hinge":
        return SquaredHinge(weights), SquaredHinge(C)
    hint = "; call it: " + loss.__name__ + "()" if isinstance(loss, type) and issubclass(loss, Loss) else ""
    if isinstance(loss, str) and (near := get_close_matches(loss, ("hinge", "squared_hinge"), 1)):
        hint = f"; did you mean {near[0]!r}?"
    raise InvalidArgument(
        f"`loss` must be 'hinge', 'squared_hinge' or a Loss such as SmoothedHinge(), got {shown(loss)}{hint}"
    )


def checked_multiclass(multiclass: Any) -> str:
    """Return "ovr" or "ovo", or refuse anything else."""
    if isinstance(multiclass, str) and multiclass in ("ovr", "ovo"):
        return multiclass
    raise InvalidArgument(
        f"`multiclass` must be 'ovr', each class against the rest, or 'ovo', each against each, got {shown(multiclass)}"
    )
