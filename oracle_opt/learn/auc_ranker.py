"""Linear ranking of two classes by the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score

from oracle_opt import Box, QuadraticTerm
from oracle_opt.arguments import spelled
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.checked_input import checked_weights
from oracle_opt.learn.class_labels import checked_y, encoded
from oracle_opt.learn.linear_estimator import WIDER, LinearEstimator
from oracle_opt.learn.merged_points import merged
from oracle_opt.oracles import Composite, RiskOracle
from oracle_opt.words import shown


@spelled
@dataclass(repr=False, eq=False)
class AUCRanker(ClassifierMixin, LinearEstimator):
    """Linear scores that rank the rows of one class above those of the other [1]_, with a proven gap.

    ::

        min over w of  mean over pairs of a positive row p and a negative row n of
            max(0, 1 - x_p @ w + x_n @ w)  +  alpha/2 * |w|**2

    All pairs are counted, by sorting. The weight of a pair is the product of the sample weights of its rows: a row of
    weight 2 is exactly the same as two rows, and of weight 0 as none. Columns are taken as they are: scale them first.

    Parameters
    ----------
    alpha : float
        Weight of the penalty, positive.
    rtol, max_calls, generator, progress
        As for `QuantileRegressor`, with the master of [2]_.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels in sorted order; the second is the positive one.
    coef_ : ndarray of shape (1, n_features)
        w.
    intercept_ : ndarray of shape (1,)
        Minus the threshold of `predict`: of those halfway between neighboring scores of the fit, or outside of all, the
        least under which the largest weight of its rows is classified correctly. Ranks do not depend on it.
    gap_, n_calls_, n_iter_, result_, oracle_, n_features_in_, feature_names_in_
        As for `QuantileRegressor`; `oracle_` is a function of w alone.

    Raises
    ------
    InvalidArgument
        From `fit`, a ValueError: what cannot be used is named, and what to do.

    References
    ----------
    .. [1] Joachims (2005), "A support vector method for multivariate performance measures", ICML 22:377-384.
    .. [2] Teo, Vishwanathan, Smola, Le (2010), "Bundle methods for regularized risk minimization", JMLR 11:311-365.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from oracle_opt.learn import AUCRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCRanker(alpha=0.01).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2), model.gap_ <= 1e-4
    (1.0, True)
    """

    def __sklearn_tags__(self) -> Any:
        """Two classes alone."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> AUCRanker:
        """Learn from X, ndarray or sparse array of shape (n, d), and labels y; `sample_weight` not negative."""
        alpha, points = self._checked(X, y)
        labels, weights = checked_y(y, points.shape[0]), checked_weights(sample_weight, points.shape[0])
        self.classes_, numbers = encoded(labels, weights)
        if self.classes_.size > 2:
            raise InvalidArgument(
                f"Only binary classification is supported. `y` must hold two classes, got {shown(self.classes_)}"
            )
        some = merged(points, numbers, weights)
        positive, start = numbers[some.rows] == 1, np.zeros(points.shape[1])
        most = np.full(start.size, WIDER * np.sqrt(2.0 / alpha))  # as alpha/2 * |w|**2 is at most 1, the mean at w = 0
        risk = RiskOracle("auc", some.points, positive, sample_weight=some.weights, domain=Box(-most, most))
        self.coef_ = self._minimized(Composite(risk, QuadraticTerm(alpha)), start)[None, :].copy()
        self.intercept_ = np.array([-threshold_of(some.points @ self.coef_[0], positive, some.weights)])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of new points X less the threshold, ndarray of shape (m,)."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The positive class where scores of X lie above the threshold, see `intercept_`; ndarray of shape (m,)."""
        above = (self.decision_function(X) > 0).astype(int)
        predicted: NDArray[Any] = self.classes_[above]
        return predicted

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Area under the ROC curve of points X of the labels y, by `roc_auc_score`."""
        values = self.decision_function(X)
        return float(roc_auc_score(np.asarray(y) == self.classes_[1], values, sample_weight=sample_weight))


def threshold_of(scores: Vector, positive: NDArray[np.bool_], weights: Vector) -> float:
    """The threshold above which scores are told positive, of the least weight of errors."""
    levels, places = np.unique(scores, return_inverse=True)
    gains = np.bincount(places, np.where(positive, weights, -weights))
    errors = np.r_[0.0, np.cumsum(gains)]  # less those of the lowest threshold
    cuts = np.r_[levels[0] - 1.0, 0.5 * levels[:-1] + 0.5 * levels[1:], levels[-1] + 1.0]
    return float(cuts[np.argmin(errors)])
