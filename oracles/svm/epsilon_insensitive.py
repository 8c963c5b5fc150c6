"""The epsilon-insensitive loss of regression."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class EpsilonInsensitive(TargetLoss):
    """``C * max(0, abs(y - f) - epsilon)``: support vector regression [1]_.

    The dual is ``max y @ b - epsilon * sum(abs(b)) - 1/2 b @ K @ b`` over ``-C <= b <= C``, ``sum(b) == 0``, with b the
    difference of the usual two dual variables of a point. A variable is on one side of the kink at 0 at a time, so the
    kernel is neither doubled nor read twice.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    epsilon : float
        Half the width of the tube without loss, in units of the targets; 0 gives the absolute loss.

    References
    ----------
    .. [1] Smola, Schoelkopf (2004), "A tutorial on support vector regression", Statistics and Computing
       14, equation 10.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import EpsilonInsensitive, solve_svm
    >>> loss = EpsilonInsensitive(C=10.0, epsilon=0.5)
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], loss)
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.5, -0.5], 0.25, 0.0)
    """

    def __init__(self, C: float | ArrayLike = 100.0, epsilon: float = 0.1) -> None:
        self.C = checked_C(C)
        self.epsilon = real("epsilon", epsilon, least=0.0)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, box between -C and C, sum 0, kink epsilon; see `Loss.dual`."""
        linear, middle, half = centered_targets(y, n_points)
        C = weights_of_points(self.C, linear)
        kink = np.full(n_points, self.epsilon) if self.epsilon > 0 else None
        return Separable(linear, -C, C, kink, offset=middle, unit=unit_of(half), checked=True)
