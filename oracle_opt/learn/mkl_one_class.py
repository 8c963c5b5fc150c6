"""One class, and what lies outside of it, with learned weights of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from oracle_opt.arguments import real, spelled
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.callback_support import FitTasks, with_callbacks
from oracle_opt.learn.checked_input import checked_points, checked_weights
from oracle_opt.learn.fitting import MachineProblem
from oracle_opt.learn.merged_points import merged
from oracle_opt.learn.mkl_estimator import MKLEstimator
from oracle_opt.oracles import GaussianKernels, KernelList
from oracle_opt.oracles.svm import OneClass

# Share of the offset within which a decision value is that of a support vector on the boundary, and 0 but for rounding.
ON_THE_EDGE = 1e-9


@spelled
@dataclass(repr=False, eq=False)
class MKLOneClass(OutlierMixin, MKLEstimator):
    """One-class support vector machine on a weighted sum of kernels, whose weights are learned with a proven gap.

    ::

        min over weights of  r(weights) + min over w, rho of
            1/2 |w|**2 - nu * sum(s) * rho + sum_i s_i * max(0, rho - w @ phi(x_i))

    s are the sample weights. A row of weight 2 is exactly the same as two rows, and of weight 0 as none: equal rows are
    merged before anything is computed. Weight goes to the kernels under which the points are
    most alike.

    Parameters
    ----------
    kernels : KernelList or list of kernels, optional
        As for `MKLClassifier`, without polynomials.
    norm, generator, rtol, max_calls, warm_start, memory_budget, random_state, progress, certify
        As for `MKLClassifier`. The norm "product" is not for one class.
    nu : float
        In (0, 1]: at most this share of the weights lies outside, at least this share is on support vectors.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        rho: ``decision_function = score_samples - offset_``.
    weights_ : ndarray of shape (p,)
        Weights of the kernels.
    kernel_names_, kernel_groups_, gap_, n_iter_, n_calls_, history_, models_, n_features_in_, feature_names_in_
        As for `MKLClassifier`, `models_` without a loss.

    Raises
    ------
    InvalidArgument
        From `fit`, a ValueError: what cannot be used is named, with the row and the column, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.learn import MKLOneClass
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = MKLOneClass(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    """

    _: KW_ONLY
    nu: float = 0.5

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> MKLOneClass:
        """Learn the weights of the kernels and the machine of X; `sample_weight` as for `MKLClassifier`, no y."""
        training = self._training()
        if training.norm == "product":
            raise InvalidArgument(
                "`norm` must not be 'product' for one class: without labels a product of kernels is best where all "
                "points are the same to it, all weights 0; take a number, 'mixed' or a Regularizer"
            )
        nu = real("nu", self.nu, above=0.0, most=1.0)
        points = checked_points(self, X, fit=True)
        some = merged(points, None, checked_weights(sample_weight, points.shape[0]))
        problem = MachineProblem(np.arange(some.rows.size), None, OneClass(nu, some.weights), OneClass(nu))
        tasks = FitTasks.of_fit(self, X, None, sample_weight, 1)
        self._fit_machines(training, self._bank(X, some), [problem], tasks)
        self.offset_ = np.array([-self.models_[0].bias])
        tasks.end(dict)
        return self

    def _default_kernels(self, *, each: bool, memory_budget: int, seed: int) -> KernelList:
        """Gaussian kernels: others grow without end, so that points far away are like all."""
        kernels = [GaussianKernels(), *([GaussianKernels(each=True)] if each else [])]
        return KernelList(kernels, standardize=True, on_the_fly="auto", memory_budget=memory_budget, seed=seed)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision values of new points X, with the columns of the fit, not negative for those like its points."""
        values = self._values(X)[:, 0]
        values[np.abs(values) <= ON_THE_EDGE * np.abs(self.offset_)] = 0.0
        return values

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Decision values of new points X before the offset is taken off, ndarray of shape (m,)."""
        values: NDArray[np.float64] = self.decision_function(X) + self.offset_
        return values

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell points X like those of the fit, 1, from outliers, -1: ndarray of shape (m,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
