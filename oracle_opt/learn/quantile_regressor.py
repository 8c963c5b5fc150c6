"""Linear regression of a quantile."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import RegressorMixin

from oracle_opt import Box, L1Term, QuadraticTerm
from oracle_opt.arguments import flag, one_of, real, spelled
from oracle_opt.learn.checked_input import checked_weights
from oracle_opt.learn.linear_estimator import WIDER, LinearEstimator
from oracle_opt.learn.merged_points import merged
from oracle_opt.learn.mkl_regressor import checked_targets
from oracle_opt.oracles import Composite, RiskOracle


@spelled
@dataclass(repr=False, eq=False)
class QuantileRegressor(RegressorMixin, LinearEstimator):
    """Linear regression of a quantile [1]_, with a proven gap.

    ::

        min over w, b of  sum_i s_i * loss(y_i - x_i @ w - b) / sum(s)  +  alpha/2 * |w|**2   or  alpha * sum(abs(w))
        loss(r) = quantile * r if r > 0, else (quantile - 1) * r

    s are the sample weights. A row of weight 2 is exactly the same as two rows, and of weight 0 as none. With "l1" it
    is the objective of scikit-learn's estimator of this name. Columns are taken as they are: scale them first.

    Parameters
    ----------
    alpha : float
        Weight of the penalty, positive. The intercept has none.
    rtol : float
        Relative gap at which a fit ends, at least 0.
    max_calls : int
        Limit of the oracle calls; a `ConvergenceWarning` tells how far they came.
    generator : QueryPointGenerator or str, optional
        Method. Default: `LevelSet`, whose master takes the penalty as it is [2]_.
    progress : bool
        Whether a line tells the gap.
    quantile : float
        Strictly between 0 and 1; 0.5 is the median.
    penalty : str
        "l2", or "l1", which leaves few coefficients.
    fit_intercept : bool
        Whether there is a b.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    gap_ : float
        Proven relative gap of the objective.
    n_calls_, n_iter_ : int
        Oracle calls.
    result_ : Result
        Of the run; its bounds are those of the objective.
    oracle_ : Composite
        The objective, of w and then b. It holds the data.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Raises
    ------
    InvalidArgument
        From `fit`, a ValueError: what cannot be used is named, and what to do.

    References
    ----------
    .. [1] Koenker, Bassett (1978), "Regression quantiles", Econometrica 46:33-50.
    .. [2] Teo, Vishwanathan, Smola, Le (2010), "Bundle methods for regularized risk minimization", JMLR 11:311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.learn import QuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> y = X[:, 0] + rng.exponential(size=200)
    >>> model = QuantileRegressor(quantile=0.9, penalty="l1").fit(X, y)
    >>> round(float(np.mean(y <= model.predict(X))), 1), model.certificate().verify(model.oracle_).proven
    (0.9, True)
    """

    _: KW_ONLY
    quantile: float = 0.5
    penalty: str = "l2"
    fit_intercept: bool = True

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> QuantileRegressor:
        """Learn from X, ndarray or sparse array of shape (n, d), and targets y; `sample_weight` not negative."""
        level = real("quantile", self.quantile, above=0.0, below=1.0)
        l1, free = one_of("penalty", self.penalty, ("l1", "l2")) == "l1", flag("fit_intercept", self.fit_intercept)
        alpha, points = self._checked(X, y)
        targets = checked_targets(y, points.shape[0])
        some = merged(points, targets, checked_weights(sample_weight, points.shape[0]))
        data, target, d = some.points, targets[some.rows], points.shape[1]
        penalized, start = np.r_[np.ones(d), np.zeros(int(free))], np.zeros(d + free)
        if free:
            start[d] = np.quantile(target, level, weights=some.weights, method="inverted_cdf")
            ones = np.ones((len(target), 1))
            data = sparse.hstack([data, ones], format="csr") if sparse.issparse(data) else np.hstack([data, ones])
        # A box that holds a minimizer: its penalty is at most the objective at the start, where w = 0, and its b is a
        # quantile of what w leaves of the targets.
        residuals = target - start[d:].sum()
        most = WIDER * float(np.average(np.maximum(level * residuals, (level - 1.0) * residuals), weights=some.weights))
        most = most / alpha if l1 else float(np.sqrt(2.0 * most / alpha))
        reach = WIDER * most * float(abs(data).max() if l1 else np.sqrt((data * data).sum(axis=1).max()))
        lower = np.where(penalized, -most, np.nextafter(target.min() - reach, -np.inf))
        upper = np.where(penalized, most, np.nextafter(target.max() + reach, np.inf))
        risk = RiskOracle("quantile", data, target, level=level, sample_weight=some.weights, domain=Box(lower, upper))
        term = L1Term(alpha * penalized) if l1 else QuadraticTerm(alpha, diagonal=penalized)
        point = self._minimized(Composite(risk, term), start)
        self.coef_, self.intercept_ = point[:d].copy(), float(point[d]) if free else 0.0
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Quantiles at new points X, with the columns of the fit, ndarray of shape (m,)."""
        return self._scores(X)
