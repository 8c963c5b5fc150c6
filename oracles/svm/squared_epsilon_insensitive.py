"""The squared epsilon-insensitive loss of regression."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class SquaredEpsilonInsensitive(TargetLoss):
    """``C * max(0, abs(y - f) - epsilon)**2``, as in LIBLINEAR [1]_.

    The dual is ``max y @ b - epsilon * sum(abs(b)) - sum(b**2 / (4 * C)) - 1/2 b @ K @ b`` over ``sum(b) == 0``.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    epsilon : float
        Half the width of the tube without loss, in units of the targets.

    References
    ----------
    .. [1] Ho, Lin (2012), "Large-scale linear support vector regression", JMLR 13.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import SquaredEpsilonInsensitive, solve_svm
    >>> loss = SquaredEpsilonInsensitive(C=0.5, epsilon=0.5)
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], loss)
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.25, -0.25], 0.125, 0.0)
    """

    def __init__(self, C: float | ArrayLike = 100.0, epsilon: float = 0.1) -> None:
        self.C = checked_C(C)
        self.epsilon = real("epsilon", epsilon, least=0.0)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, no sides, kink epsilon, ridge 1 / (2 C); see `Loss.dual`."""
        linear, middle, half = centered_targets(y, n_points)
        ridge, side = 0.5 / weights_of_points(self.C, linear), np.full(n_points, np.inf)
        kink = np.full(n_points, self.epsilon) if self.epsilon > 0 else None
        return Separable(linear, -side, side, kink, ridge, offset=middle, unit=unit_of(half), checked=True)
