"""The loss of the one-class support vector machine."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm.checked_data import checked_weights
from oracle_opt.oracles.svm.loss import Loss, signs
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.words import shown


class OneClass(Loss):
    """``max(0, rho - f)``, with a reward of ``nu * n * rho``: points without labels, and outliers among them [1]_.

    The dual is ``max -1/2 a @ K @ a`` over ``0 <= a <= 1``, ``sum(a) == nu * n``, that of
    ``min 1/2 |w|**2 - nu * n * rho + sum(max(0, rho - w @ phi(x)))``, in the scale of libsvm; a, w and rho of the
    reference are those here divided by ``nu * n``. The bias is -rho. All objectives are at most 0.

    A point of weight 2 is two points: with weights c the box is ``0 <= a <= c`` and the sum ``nu * sum(c)``.

    Parameters
    ----------
    nu : float
        In (0, 1]: at most this share of the points has a negative decision value, at least this share is a support
        vector.
    weights : array_like of shape (n,), optional
        Weights of the points, positive; default 1.

    Raises
    ------
    InvalidArgument
        nu is not in (0, 1], or the weights cannot be used. From `dual`: `y` is not None.

    References
    ----------
    .. [1] Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson (2001), "Estimating the support of a high-dimensional
       distribution", Neural Computation 13, section 3.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import OneClass, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 3.0]], loss=OneClass(nu=0.5))
    >>> solution.alpha.round(12).tolist(), round(solution.dual_objective, 12), round(solution.bias, 12)
    ([0.75, 0.25], -0.375, -0.75)
    """

    def __init__(self, nu: float = 0.5, weights: ArrayLike | None = None) -> None:
        self.nu = real("nu", nu, above=0.0, most=1.0)
        self.weights = None if weights is None else checked_weights(weights)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """No linear term, box between 0 and the weights, sum nu times their sum; see `Loss.dual`."""
        if y is not None:
            raise InvalidArgument(
                f"`y` must be None for the loss OneClass, which knows no labels, got {shown(y)}; "
                "leave it out, or take `loss=Hinge()`"
            )
        upper = np.ones(n_points) if self.weights is None else np.array(self.weights)
        if upper.shape != (n_points,):
            raise InvalidArgument(f"`weights` must be {n_points} numbers, one per point, got shape {upper.shape}")
        # The size of its gradients is that of the kernel: unit 0.
        none, total = np.zeros(n_points), self.nu * float(upper.sum())
        return Separable(none, none.copy(), upper, total=total, unit=0.0, checked=True)

    def predict(self, values: Vector) -> Vector:
        """1 for points like those of the bank, -1 for outliers: the signs, 0 counting as 1."""
        return signs(values)
