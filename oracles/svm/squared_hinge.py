"""The squared hinge loss of classification."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.oracles.svm.checked_data import checked_labels, weights_of_points
from oracle_opt.oracles.svm.loss import LabelLoss
from oracle_opt.oracles.svm.separable_dual import Separable


class SquaredHinge(LabelLoss):
    """``C * max(0, 1 - y * f)**2``, as in LIBLINEAR [1]_.

    The dual is ``max sum(a) - sum(a**2 / (4 * C)) - 1/2 (y*a) @ K @ (y*a)`` over ``a >= 0``, ``y @ a == 0``; its signed
    dual variables are ``y * a``. It is that of a hinge without upper bound on the kernel ``K + I / (2 * C)``.

    Parameters
    ----------
    C, class_weight
        As for `Hinge`; C is no bound here.

    References
    ----------
    .. [1] Fan, Chang, Hsieh, Wang, Lin (2008), "LIBLINEAR: a library for large linear classification", JMLR 9.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import SquaredHinge
    >>> SquaredHinge(C=2.0).dual([1, -1], 2).ridge.tolist()
    [0.25, 0.25]
    """

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y, one side infinite, ridge ``1 / (2 * C)``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        C = weights_of_points(self.C, labels, self.class_weight)
        # At the hyperplane 0 the primal objective is sum(C), so C * hinge**2 is at most that, and a = 2 * C * hinge.
        far = 4.0 * np.sqrt(C * C.sum())
        lower, upper = np.where(labels > 0, 0.0, -np.inf), np.where(labels > 0, np.inf, 0.0)
        return Separable(labels, lower, upper, ridge=0.5 / C, reach=far, checked=True)
