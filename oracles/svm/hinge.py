"""The hinge loss of classification."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.oracles.svm.checked_data import checked_C, checked_class_weight, checked_labels, weights_of_points
from oracle_opt.oracles.svm.loss import Loss, signs
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.smo_build import signed_box


class Hinge(Loss):
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

    Raises
    ------
    InvalidArgument
        C or the weights cannot be used. From `dual`: `y` is not of labels -1 and +1, both present.

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

    def __init__(self, C: float | ArrayLike = 100.0, class_weight: Mapping[int, float] | None = None) -> None:
        self.C = checked_C(C)
        self.class_weight = checked_class_weight(class_weight)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y, box between 0 and ``y * C``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        lower, upper = signed_box(labels, weights_of_points(self.C, labels, self.class_weight))
        return Separable(labels, lower, upper, checked=True)

    def predict(self, values: Vector) -> Vector:
        """Labels -1 or +1: the signs, 0 counting as +1."""
        return signs(values)
