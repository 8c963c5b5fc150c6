"""One class, and what lies outside of it, with learned weights of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from oracle_opt.arguments import real
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
        Recipes, fitted on the points of `fit`. Default: ten Gaussian kernels on all columns and on each column alone,
        after standardization; of sparse points on all columns alone. See `KernelList`.
    norm : float, "mixed" or Regularizer
        What keeps the weights of the kernels small. 1.0, the default: they add up to 1, and few are left. p above 1:
        ``1/2 * norm(weights, p)**2`` is added to the objective, and all are left. "mixed": every group of the kernels
        is kept and few kernels within a group, see `MixedNormOracle`. `ElasticNet(...)`, `EntropyRegularizer(...)` or a
        `Regularizer` of your own.
    generator : QueryPointGenerator, optional
        What proposes weights of the kernels, such as ``LevelSet()`` of `oracle_opt.generators`; each run gets a copy.
        Default: `NewtonMKL` where the norm has a smooth dual (p above 1, `ElasticNet`, `EntropyRegularizer`), else the
        one that `minimize` chooses.
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
        Seed of what the kernels draw at random, on more points than they look at: pairs for the widths. None is 0, so
        that two fits are the same.
    progress : bool
        Whether a display of each run is shown on the terminal.
    nu : float
        In (0, 1]: at most this share of the weights lies outside, at least this share is on support vectors.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        rho: ``decision_function = score_samples - offset_``.
    weights_ : ndarray of shape (p,)
        Weights of the kernels.
    kernel_names_, kernel_groups_ : ndarray of str, shape (p,)
        What each kernel is, and the group it belongs to.
    gap_ : float
        Relative duality gap that was proven, the largest of all runs; infinite where nothing is proven.
    n_iter_, n_calls_ : int
        Oracle calls of the longest run, and of all runs.
    history_ : tuple of History
        One for each run: bounds and seconds call by call.
    models_ : list of KernelModel
        The machines: support vectors and kernels of positive weight alone.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names of columns that are strings.

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
        """Learn the weights of the kernels and the machine.

        Parameters
        ----------
        X : array_like, DataFrame or sparse array of shape (n, d)
            Points, one a row.
        y : ignored
            There are no labels.
        sample_weight : array_like of shape (n,), optional
            Not negative. A row of weight 2 is the same as two rows, and one of weight 0 as none.

        Returns
        -------
        self
        """
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
        """Decision values of new points, not negative for those like the points of the fit.

        Parameters
        ----------
        X : array_like, DataFrame or sparse array of shape (m, d)
            New points, with the columns of the fit.

        Returns
        -------
        ndarray of shape (m,)
        """
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
