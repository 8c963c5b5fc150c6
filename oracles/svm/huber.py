"""The Huber loss of regression."""

from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class Huber(TargetLoss):
    """``C * e**2 / 2`` up to an error of `delta`, ``C * delta * (abs(e) - delta / 2)`` beyond, ``e = y - f`` [1]_.

    Squared errors where they are small, and few points far off do not decide. The dual is ``max y @ b - sum(b**2 / (2 *
    C)) - 1/2 b @ K @ b`` over ``-C * delta <= b <= C * delta``, ``sum(b) == 0``.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.
    delta : float
        Error from which the loss grows linearly, positive, in units of the targets.

    References
    ----------
    .. [1] Huber (1964), "Robust estimation of a location parameter", Annals of Mathematical Statistics 35.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import Huber, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], Huber(C=1.0, delta=2.0))
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.5, -0.5], 0.5, 0.0)
    """

    def __init__(self, C: float | ArrayLike = 100.0, delta: float = 1.0) -> None:
        self.C = checked_C(C)
        self.delta = real("delta", delta, above=0.0)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, box up to C delta either way, ridge 1 / C; see `Loss.dual`."""
        linear, middle, half = centered_targets(y, n_points)
        C = weights_of_points(self.C, linear)
        side = C * self.delta
        return Separable(linear, -side, side, ridge=1.0 / C, offset=middle, unit=unit_of(half), checked=True)
