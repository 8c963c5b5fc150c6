"""Regression with learned weights of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from oracle_opt.arguments import instance, real, spelled
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.callback_support import FitTasks, with_callbacks
from oracle_opt.learn.checked_input import checked_points, checked_weights
from oracle_opt.learn.fitting import MachineProblem
from oracle_opt.learn.merged_points import merged
from oracle_opt.learn.mkl_estimator import MKLEstimator, checked_C
from oracle_opt.oracles.svm import EpsilonInsensitive, Loss, Pinball, WeightedLoss
from oracle_opt.words import shown


@spelled
@dataclass(repr=False, eq=False)
class MKLRegressor(RegressorMixin, MKLEstimator):
    """Support vector regression on a weighted sum of kernels, whose weights are learned with a proven gap.

    ::

        min over weights, w, b of
            r(weights) + 1/2 |w|**2 + C * sum_i s_i * max(0, abs(y_i - w @ phi(x_i) - b) - epsilon)

    s are the sample weights. A row of weight 2 is exactly the same as two rows, and of weight 0 as none: equal rows of
    equal target are merged before anything is computed.

    Parameters
    ----------
    kernels, norm, generator, rtol, max_calls, warm_start, memory_budget, random_state, progress, certify
        As for `MKLClassifier`.
    C : float
        Weight of the loss, positive, in units of the targets: standardize them, or choose it by GridSearchCV.
    epsilon : float
        Half the width of the tube without loss, in units of the targets, of the default loss.
    loss : Loss or "quantile", optional
        Another loss, which C and the sample weights multiply: ``Pinball(0.9, C=1.0)`` of `oracle_opt.oracles.svm` for
        a quantile, `Huber`, `LeastSquares`, or one of your own; a search varies ``loss__quantile``. "quantile" is
        ``Pinball(0.5, C=1.0)``, the median. Default: `EpsilonInsensitive`, as above.

    Attributes
    ----------
    weights_ : ndarray of shape (p,)
        Weights of the kernels.
    kernel_names_, kernel_groups_, gap_, n_iter_, n_calls_, history_, models_, n_features_in_, feature_names_in_
        As for `MKLClassifier`.

    Raises
    ------
    InvalidArgument
        From `fit`, a ValueError: what cannot be used is named, with the row and the column, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.learn import MKLRegressor
    >>> X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(80, 3))
    >>> y = np.sin(2.0 * X[:, 1])
    >>> model = MKLRegressor(C=10.0, epsilon=0.05).fit(X, y)
    >>> model.score(X, y) > 0.95, set(model.kernel_groups_[model.weights_ > 0.05])
    (True, {'x1'})
    """

    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1
    loss: Any = None

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> MKLRegressor:
        """Learn the weights of the kernels and the machine of X, targets y; `sample_weight` as for `MKLClassifier`."""
        training = self._training()
        C, epsilon = checked_C(self.C), real("epsilon", self.epsilon, least=0.0)
        if y is None:
            raise InvalidArgument(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        points = checked_points(self, X, fit=True)
        targets = checked_targets(y, points.shape[0])
        some = merged(points, targets, checked_weights(sample_weight, points.shape[0]))
        if self.loss is None:
            losses: tuple[Loss, Loss] = EpsilonInsensitive(C * some.weights, epsilon), EpsilonInsensitive(C, epsilon)
        else:
            loss = Pinball(C=1.0) if isinstance(self.loss, str) and self.loss == "quantile" else self.loss
            plain = instance("loss", loss, Loss, "a Loss such as Huber(C=10.0), 'quantile' or None")
            losses = WeightedLoss(plain, C * some.weights), WeightedLoss(plain, C)
        problem = MachineProblem(np.arange(some.rows.size), targets[some.rows], *losses)
        tasks = FitTasks.of_fit(self, X, y, sample_weight, 1)
        self._fit_machines(training, self._bank(X, some), [problem], tasks)
        tasks.end(dict)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Targets of new points X, with the columns of the fit."""
        return self._values(X)[:, 0]


def checked_targets(y: Any, n_points: int) -> Vector:
    """Return targets as floats, shape (n,), or refuse them: words, complex numbers, missing ones by their row."""
    given = column_or_1d(y, warn=True)
    if np.iscomplexobj(given):
        raise InvalidArgument("Complex data not supported: `y` must hold real numbers")
    try:
        targets = np.array(given, dtype=float)
    except (TypeError, ValueError) as problem:
        raise InvalidArgument(f"`y` must hold numbers, got {shown(given)}: {problem}") from problem
    if targets.size != n_points:
        raise InvalidArgument(f"`y` must have {n_points} targets, one per row of X, got {targets.size}")
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        raise InvalidArgument(
            f"Input `y` contains NaN or infinity: row {bad[0]} (rows are counted from 0) is {targets[bad[0]]}; "
            "leave such rows out"
        )
    return targets
