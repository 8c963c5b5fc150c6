"""The pinball loss of quantile regression."""

from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import centered_targets, checked_C, weights_of_points
from oracle_opt.oracles.svm.loss import TargetLoss
from oracle_opt.oracles.svm.separable_dual import Separable, unit_of


class Pinball(TargetLoss):
    """``C * max(q * (y - f), (q - 1) * (y - f))``: quantile regression, f being what a share q of the targets is below.

    The dual is ``max y @ b - 1/2 b @ K @ b`` over ``(q - 1) * C <= b <= q * C``, ``sum(b) == 0`` [1]_.

    Parameters
    ----------
    quantile : float
        q, between 0 and 1; 0.5 gives the median.
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive. Mind the scale: with kernels of unit trace 100 is moderate.

    References
    ----------
    .. [1] Takeuchi, Le, Sears, Smola (2006), "Nonparametric quantile estimation", JMLR 7.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles.svm import Pinball, solve_svm
    >>> solve_svm(np.zeros((4, 4)), [1.0, 2.0, 3.0, 4.0], Pinball(0.7)).bias  # of a kernel that explains nothing
    3.0
    """

    def __init__(self, quantile: float = 0.5, C: float | ArrayLike = 100.0) -> None:
        self.quantile = real("quantile", quantile, above=0.0, below=1.0)
        self.C = checked_C(C)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y less the middle of its range, box between (q - 1) C and q C; see `Loss.dual`."""
        linear, middle, half = centered_targets(y, n_points)
        C = weights_of_points(self.C, linear)
        sides = (self.quantile - 1.0) * C, self.quantile * C
        return Separable(linear, *sides, offset=middle, unit=unit_of(half), checked=True)
