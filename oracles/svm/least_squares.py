"""The squared loss of regression."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class LeastSquares(TargetLoss):
    """``C * (y - f)**2 / 2``: least-squares support vector machines, or kernel ridge regression with a bias [1]_.

    The dual is ``max y @ b - sum(b**2 / (2 * C)) - 1/2 b @ K @ b`` over ``sum(b) == 0``: every point is a support
    vector.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.

    References
    ----------
    .. [1] Suykens, Vandewalle (1999), "Least squares support vector machine classifiers", Neural Processing Letters 9.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import LeastSquares, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], LeastSquares(C=1.0))
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.5, -0.5], 0.5, 2.0)
    """

    def __init__(self, C: float | ArrayLike = 100.0) -> None:
        self.C = checked_C(C)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, no sides, ridge 1 / C; see `Loss.dual`."""
        linear, middle, half = centered_targets(y, n_points)
        ridge, side = 1.0 / weights_of_points(self.C, linear), np.full(n_points, np.inf)
        return Separable(linear, -side, side, ridge=ridge, offset=middle, unit=unit_of(half), checked=True)
