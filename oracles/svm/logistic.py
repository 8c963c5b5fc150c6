"""The logistic loss of classification."""

from numpy.typing import ArrayLike

from oracle_opt.oracles.svm.checked_data import checked_labels, weights_of_points
from oracle_opt.oracles.svm.entropy_dual import EntropyDual
from oracle_opt.oracles.svm.loss import LabelLoss


class Logistic(LabelLoss):
    """``C * log(1 + exp(-y * f))``: kernel logistic regression [1]_.

    Decision values are log odds: the probability of the label +1 is ``1 / (1 + exp(-f))``. With the entropy ``h(p) =
    -p log(p) - (1 - p) log(1 - p)`` the dual is ``max C * sum(h(a / C)) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``,
    ``y @ a == 0``; its signed dual variables are ``y * a``. Each point is a support vector.

    Parameters
    ----------
    C, class_weight
        As for `Hinge`.

    Notes
    -----
    It is solved by Newton's method on the kernel of all points: not without a combined kernel, see `memory_budget` of
    `MKLOracle`, and not by `SMOMKL` and `NewtonMKL`, which know piecewise quadratic duals.

    How small a gap is proven goes with the rounding of ``b @ K @ b``, which is that of long doubles where doubles are
    too coarse. On 400 points gaps of 2e-11 of the objective are reached at C = 1e4, and 1e-9 at C = 1e6; where long
    doubles are doubles, 5e-8 and 3e-6. Entries of a combined kernel are rounded, too, by about 2e-15 of their size: an
    oracle reaches 1e-8 there.

    References
    ----------
    .. [1] Keerthi, Duan, Shevade, Poo (2005), "A fast dual algorithm for kernel logistic regression", Machine Learning
       61.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import Logistic, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], Logistic(C=2.0))
    >>> solution.alpha.round(6).tolist(), round(solution.primal_objective, 6)
    ([0.674832, 0.674832], 2.101828)
    """

    def dual(self, y: ArrayLike | None, n_points: int) -> EntropyDual:
        """Entropies in the box between 0 and ``y * C``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        return EntropyDual(labels, weights_of_points(self.C, labels, self.class_weight))
