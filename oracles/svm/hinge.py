"""The hinge loss of classification."""

from numpy.typing import ArrayLike

from oracle_opt.oracles.svm.checked_data import checked_labels, weights_of_points
from oracle_opt.oracles.svm.loss import LabelLoss
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.smo_build import signed_box


class Hinge(LabelLoss):
    """``C * max(0, 1 - y * f)``: support vector classification [1]_.

    The dual is ``max sum(a) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``, ``y @ a == 0``; its signed dual variables
    are ``y * a``.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive: the upper bound of its dual variable. Mind the scale: with kernels
        of unit trace 100 is moderate.
    class_weight : mapping, optional
        Factors on C for the labels -1 and 1; default 1.

    References
    ----------
    .. [1] Cortes, Vapnik (1995), "Support-vector networks", Machine Learning 20.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import Hinge
    >>> dual = Hinge(C=2.0).dual([1, -1], 2)
    >>> dual.lower.tolist(), dual.upper.tolist()
    ([0.0, -2.0], [2.0, 0.0])
    """

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y, box between 0 and ``y * C``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        lower, upper = signed_box(labels, weights_of_points(self.C, labels, self.class_weight))
        return Separable(labels, lower, upper, checked=True)
