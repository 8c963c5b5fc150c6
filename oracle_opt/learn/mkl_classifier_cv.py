"""Classification with learned weights of kernels and a C that cross-validation chooses, along a path of warm starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from oracle_opt.arguments import flag, real, spelled
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.callback_support import FitTasks, with_callbacks
from oracle_opt.learn.checked_input import checked_points, checked_weights
from oracle_opt.learn.class_labels import checked_y
from oracle_opt.learn.class_probabilities import Calibration, calibrated
from oracle_opt.learn.fitting import Start
from oracle_opt.learn.mkl_classifier import SHARED, MKLClassifier
from oracle_opt.learn.mkl_estimator import rows_of, seed_of
from oracle_opt.oracles.kernels.recipes.points_table import framed
from oracle_opt.words import shown


@dataclass(frozen=True, eq=False)
class FoldPart:
    """Rows that train, or that test."""

    X: Any
    y: NDArray[Any]
    weights: Vector | None


class SearchedClassifier(MKLClassifier):
    """A classifier on the way: its kernels stay, and probabilities are calibrated when a scorer asks for them."""

    _calibration_of_C: Calibration | None

    def fit_path(self, part: FoldPart, Cs: Sequence[float], starts: bool = True) -> Any:
        """Fit with each C in turn; yields the index of C and the oracle calls, from the smallest C to the largest."""
        training = self._training(shared=self.shared_weights)
        data = self._prepared(part.X, part.y, part.weights)
        bank = self._bank(part.X, data.merged)
        found: tuple[Start, ...] = ()
        rows, labels, weights = rows_of(part.X, data.merged), self.classes_[data.numbers], data.merged.weights
        for i in np.argsort(Cs, kind="stable").tolist():
            C = float(Cs[i])
            trained = training.run(bank, self._problems(data, C), found if starts else ())
            self._keep(bank, trained)
            found = trained.starts
            self._calibration_of_C = None
            make = partial(self._plain, C)
            self._calibrate = partial(calibrated, make, rows, data.numbers, labels, weights, seed_of(self.random_state))
            yield i, trained.n_calls

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """As of `MKLClassifier`."""
        if self._calibration_of_C is None:
            self._calibration_of_C = self.calibration_ = self._calibrate()
        found: NDArray[np.float64] = super().predict_proba(X)
        return found


def path_scores(
    machine: SearchedClassifier,
    Cs: Sequence[float],
    train: FoldPart,
    test: FoldPart,
    score: Callable[[Any, FoldPart], Any],
    tasks: FitTasks,
) -> tuple[Vector, int]:
    """Score each C on the test rows of a fold."""
    scores, n_calls = np.empty(len(Cs)), 0
    parameters = set(machine.get_params(deep=False))
    for i, calls in machine.fit_path(train, Cs):
        one = tasks.part("C")
        n_calls += calls
        scores[i] = checked_score(score(machine, test))
        one.end(partial(dict, {name: value for name, value in vars(machine).items() if name not in parameters}))
    return scores, n_calls


def checked_score(value: Any) -> float:
    """Return a score as a finite number, or refuse it."""
    found = np.asarray(value)
    if found.ndim or found.dtype.kind not in "biuf" or not np.isfinite(found):
        raise InvalidArgument(f"`scoring` must give a finite number for each fold and C, got {value!r}")
    return real("scoring", float(found))


@spelled
@dataclass(repr=False, eq=False)
class MKLClassifierCV(MKLClassifier):
    """`MKLClassifier` with a C chosen by cross-validation: of each fold the kernels are made once.

    In each fold the problems of all C are solved from the smallest to the largest, and each starts where the last one
    ended, as with `warm_start`. Choice and scores are those of ``GridSearchCV(MKLClassifier(), {"C": Cs})``, in about
    half the time (measured on four sets with 4 numbers C). That is above all as kernels are made once. The starts save
    few oracle calls with norm 1 and 4 numbers C, and a third with 13; with norm 2 two fifths, and half of them. The
    figures are on the page "Kernel learning compared".

    Parameters
    ----------
    kernels : KernelList, list or None
        As for `MKLClassifier`. Widths, scales and other statistics are learned in each fold from its training part.
    norm, generator, rtol, max_calls, warm_start, memory_budget, random_state, progress, certify
        As for `MKLClassifier`.
    loss, multiclass, shared_weights, class_weight, probability
        As for `MKLClassifier`. Probabilities are calibrated for the last fit alone, but where `scoring` needs them, as
        "neg_log_loss" does, in each fold and for each C.
    Cs : sequence of float
        The candidates; of equal mean scores the first in this order is chosen.
    cv : int, splitter, iterable or None
        As for `GridSearchCV`: number of stratified folds, a splitter, or pairs of arrays of training and test rows.
        Default: five stratified folds.
    scoring : str, callable or None
        A name of scikit-learn's metrics or a callable ``scoring(estimator, X, y)``, larger being better. Default:
        accuracy. It is given the `sample_weight` of the test rows if `fit` got weights and its signature has them.
    refit : bool
        Whether to fit on all rows with the chosen C. Otherwise there are `C_`, `best_score_` and `scores_` alone.

    Attributes
    ----------
    C_ : float
        The chosen one.
    scores_ : ndarray of shape (number of folds, number of Cs)
        Scores of the test parts.
    best_score_ : float
        Mean score of `C_`.
    n_calls_, n_iter_, weights_, kernel_names_, kernel_groups_, gap_, history_, models_, classes_, n_features_in_
        As for `MKLClassifier`, of the last fit.
    n_search_calls_ : int
        Oracle calls of all folds.

    Raises
    ------
    InvalidArgument
        A C is not positive, or there is none; the training part of a fold has one class alone.

    See Also
    --------
    MKLClassifier : One C. `GridSearchCV` searches norms and kernels, too.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.learn import MKLClassifierCV
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = MKLClassifierCV(Cs=(0.1, 1.0, 10.0), cv=3).fit(X, y)
    >>> model.scores_.shape, model.C_ in (0.1, 1.0, 10.0)
    ((3, 3), True)
    """

    _: KW_ONLY
    C: float = field(init=False, repr=False)  # is chosen: see `C_`
    Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    cv: Any = None
    scoring: Any = None
    refit: bool = True

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> MKLClassifierCV:
        """Choose C, and learn the weights of the kernels and the machines of the classes with it.

        X, y and `sample_weight` are as for `MKLClassifier`; the weights of test rows count in their score, and a row of
        weight 2 is the same as two rows of one fold. `groups` are for the splitter, as GroupKFold needs them.
        """
        Cs, refit, probability = checked_Cs(self.Cs), flag("refit", self.refit), flag("probability", self.probability)
        data = self._prepared(X, y, sample_weight)
        self._problems(data, Cs[0])
        points = checked_points(self, X, fit=False)
        X = framed(X)
        rows, n = points if getattr(X, "iloc", None) is None else X, points.shape[0]
        labels, weights = checked_y(y, n), checked_weights(sample_weight, n)
        given = None if sample_weight is None else weights
        routed = self._routed(given, groups)
        splits = list(check_cv(self.cv, labels, classifier=True).split(rows, labels, **routed.splitter.split))
        check_splits(splits, labels, weights)
        tasks = FitTasks.of_fit(self, X, y, sample_weight, len(splits) + refit)
        scorer, of_score = self._scorer(), routed.scorer.score

        def part(which: NDArray[np.intp]) -> FoldPart:
            return FoldPart(_safe_indexing(rows, which), labels[which], None if given is None else given[which])

        self.scores_, self.n_search_calls_ = np.empty((len(splits), len(Cs))), 0
        parameters = {name: getattr(self, name) for name in SHARED}
        for f, (train, test) in enumerate(splits):
            machine = SearchedClassifier(**parameters, probability=probability)
            score = partial(_score, scorer, {name: _safe_indexing(value, test) for name, value in of_score.items()})
            fold = tasks.part("fold", len(Cs))
            self.scores_[f], n_calls = path_scores(machine, Cs, part(train), part(test), score, fold)
            self.n_search_calls_ += n_calls
            fold.end()
        means = self.scores_.mean(axis=0)
        best = int(means.argmax())
        self.C_, self.best_score_ = Cs[best], float(means[best])
        if refit:
            self._fit_at(self.C_, X, y, sample_weight, tasks)
        tasks.end(dict if refit else None)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata go: weights to `fit` and to the scorer, groups to the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        )

    def _scorer(self) -> Any:
        """The scorer, by default accuracy, which asks for weights where metadata are routed."""
        if self.scoring is not None:
            return check_scoring(self, self.scoring)
        accuracy = get_scorer("accuracy")
        return accuracy.set_score_request(sample_weight=True) if get_config()["enable_metadata_routing"] else accuracy

    def _routed(self, sample_weight: Vector | None, groups: Any) -> Any:
        """Metadata for the splitter and the scorer, as scikit-learn routes them, or as the documentation says."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=sample_weight, groups=groups)
        weighted = sample_weight is not None and "sample_weight" in signature(self._scorer()).parameters
        return Bunch(
            splitter=Bunch(split={} if groups is None else {"groups": groups}),
            scorer=Bunch(score={"sample_weight": sample_weight} if weighted else {}),
        )


def _score(scorer: Any, metadata: dict[str, Any], machine: Any, test: FoldPart) -> Any:
    return scorer(machine, test.X, test.y, **metadata)


def checked_Cs(Cs: Any) -> list[float]:
    """Return the candidates, or refuse them unless they are at least one positive number."""
    if isinstance(Cs, str | bytes) or np.ndim(Cs) != 1 or len(Cs) == 0:
        raise InvalidArgument(f"`Cs` must be a list of positive numbers, at least one, got {shown(Cs)}")
    return [real(f"Cs[{i}]", C, above=0.0) for i, C in enumerate(Cs)]


def check_splits(splits: list[tuple[Any, Any]], labels: NDArray[Any], weights: Vector) -> None:
    """Refuse a fold that has one class to train on, or nothing to test on."""
    for f, (train, test) in enumerate(splits):
        classes = np.unique(labels[train][weights[train] > 0])
        if classes.size < 2 or len(test) == 0 or not weights[test].any():
            got = "no test rows of positive weight" if classes.size > 1 else f"{classes.size} class to train on"
            raise InvalidArgument(
                f"`cv` must leave two classes to train on and rows to test in each fold, got {got} in fold {f}; take "
                "fewer folds, or StratifiedKFold(shuffle=True)"
            )
