"""A loss of which each point counts as many times as its weight says."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import instance
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm.checked_data import checked_C
from oracle_opt.oracles.svm.loss import Loss, checked_dual
from oracle_opt.oracles.svm.loss_dual import LossDual


class WeightedLoss(Loss):
    """Any loss, times a weight for each point, or one for all: a point of weight 2 is two points.

    Parameters
    ----------
    loss : Loss
        Whose dual variables add up to 0: any but `OneClass`, which has weights of its own.
    weights : float or array_like of shape (n,)
        Positive.

    Raises
    ------
    InvalidArgument
        The weights are not positive, or of another number than the points.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import Huber, WeightedLoss
    >>> WeightedLoss(Huber(C=1.0, delta=0.5), [1.0, 2.0]).dual([0.0, 1.0], 2).upper.tolist()
    [0.5, 1.0]
    """

    def __init__(self, loss: Loss, weights: ArrayLike) -> None:
        self.loss = instance("loss", loss, Loss, "a Loss such as Huber(C=10.0)")
        self.weights = checked_C(weights, "weights")

    def dual(self, y: ArrayLike | None, n_points: int) -> LossDual:
        """The dual of the loss, sides and ridges by weight; see `Loss.dual`."""
        if np.shape(self.weights) not in ((), (n_points,)):
            raise InvalidArgument(f"`weights` must be {n_points} numbers, one per point, got {np.size(self.weights)}")
        return checked_dual(self.loss, y, n_points).weighted(np.full(n_points, self.weights))

    def predict(self, values: Vector) -> Vector:
        """As the loss."""
        return self.loss.predict(values)
