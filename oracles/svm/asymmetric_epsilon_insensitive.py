"""The epsilon-insensitive loss with another price on either side."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class AsymmetricEpsilonInsensitive(TargetLoss):
    """``2 C (q * max(0, y - f - above) + (1 - q) * max(0, f - y - below))``: a quantile with a tube without loss [1]_.

    With ``q = 0.5`` and ``above == below`` this is `EpsilonInsensitive`, with ``above == below == 0`` it is twice
    `Pinball`. The dual is ``max (y - s) @ b - k * sum(abs(b)) - 1/2 b @ K @ b`` over ``-2 C (1 - q) <= b <= 2 C q``,
    ``sum(b) == 0``, s half the difference of `above` and `below` and k half their sum.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    below, above : float
        How far a target may lie below and above the decision value without loss, not negative, in its units.
    quantile : float
        q, between 0 and 1: the share of the price that is paid for targets above the tube.

    References
    ----------
    .. [1] Anand, Rastogi, Chandra (2020), "A new asymmetric epsilon-insensitive pinball loss function based support
       vector quantile regression model", Applied Soft Computing 94.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import AsymmetricEpsilonInsensitive, solve_svm
    >>> loss = AsymmetricEpsilonInsensitive(C=10.0, below=0.25, above=0.75)
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], loss)
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.5, -0.5], 0.25, -0.25)
    """

    def __init__(
        self, C: float | ArrayLike = 100.0, below: float = 0.1, above: float = 0.1, quantile: float = 0.5
    ) -> None:
        self.C = checked_C(C)
        self.below = real("below", below, least=0.0)
        self.above = real("above", above, least=0.0)
        self.quantile = real("quantile", quantile, above=0.0, below=1.0)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, box between -2 C (1 - q) and 2 C q, kink k; see `Loss.dual`.

        That the tube is not centered moves the bias alone, by s.
        """
        linear, middle, half = centered_targets(y, n_points)
        C = weights_of_points(self.C, linear)
        kink = np.full(n_points, 0.5 * self.above + 0.5 * self.below) if self.above + self.below > 0 else None
        sides = -2.0 * (1.0 - self.quantile) * C, 2.0 * self.quantile * C
        offset = middle - (0.5 * self.above - 0.5 * self.below)
        return Separable(linear, *sides, kink, offset=offset, unit=unit_of(half), checked=True)
