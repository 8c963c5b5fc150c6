"""The base of linear estimators: a regularized risk minimized with a proven gap, and scores of new points."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oracle_opt import Oracle, Status, minimize
from oracle_opt.arguments import flag, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.checked_input import Points, checked_points
from oracle_opt.learn.fitting import proven_gap
from oracle_opt.learn.formulation import checked_generator

WIDER = 1.0 + 1e-6  # times the size of a box that holds a minimizer: for its rounding


@dataclass(repr=False, eq=False)
class LinearEstimator(BaseEstimator):
    """Base of the linear estimators: subclasses check y, make the oracle, and say what scores mean."""

    _: KW_ONLY
    alpha: float = 1e-3
    rtol: float = 1e-4
    max_calls: int = 1000
    generator: Any = None
    progress: bool = False

    def __sklearn_tags__(self) -> Any:
        """Sparse points are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(self, X: Any, y: Any) -> tuple[float, Points]:
        """The weight of the penalty and the points, checked."""
        alpha = real("alpha", self.alpha, above=0.0)
        if y is None:
            raise InvalidArgument(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        return alpha, checked_points(self, X, fit=True)

    def _minimized(self, oracle: Oracle, start: Vector) -> Vector:
        """The best point of a run; the attributes of a fit are set, and a gap that is not closed is warned of."""
        rtol = real("rtol", self.rtol, least=0.0)
        result = minimize(
            oracle,
            None if self.generator is None else deepcopy(checked_generator(self.generator)),
            start,
            rtol=rtol,
            max_calls=whole("max_calls", self.max_calls),
            progress=flag("progress", self.progress),
        )
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.point is None:
            raise InvalidArgument(f"no coefficients were found: {result.message}")
        self.oracle_, self.result_, self.gap_ = oracle, result, proven_gap(result)
        self.n_calls_ = self.n_iter_ = result.n_calls
        if not result.success:
            told = f"the proven relative gap is {self.gap_:.3g}, and rtol={rtol:g} was asked for. {result.message}"
            warnings.warn(
                f"The coefficients are not optimal to the accuracy asked for: {told} Raise max_calls or rtol, scale "
                "the columns, or take a larger alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result.point

    def certificate(self) -> Certificate:
        """What the fit proved, for others to check, alone or against `oracle_`: see `Result.certificate`."""
        check_is_fitted(self, "result_")
        return self.result_.certificate()

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores of new points, ndarray of shape (m,)."""
        check_is_fitted(self, "result_")
        scores: NDArray[np.float64] = checked_points(self, X, fit=False) @ np.ravel(self.coef_) + self.intercept_
        return scores
