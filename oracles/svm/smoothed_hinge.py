"""The hinge loss of classification with a rounded corner."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from oracle_opt.arguments import real
from oracle_opt.oracles.svm.checked_data import checked_C, checked_class_weight, checked_labels, weights_of_points
from oracle_opt.oracles.svm.loss import LabelLoss
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.smo_build import signed_box


class SmoothedHinge(LabelLoss):
    """`Hinge` with a corner rounded by a parabola: with ``u = 1 - y * f``, ``C * u**2 / (2 * width)`` up to `width`.

    It is 0 for u < 0 and ``C * (u - width / 2)`` beyond `width` [1]_. The dual is ``max sum(a) - width / 2 * sum(a**2 /
    C) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``, ``y @ a == 0``; its signed dual variables are ``y * a``.

    Parameters
    ----------
    C : float or array_like of shape (n,)
        As for `Hinge`.
    width : float
        From which u the loss grows linearly, positive, in units of the margin.
    class_weight : mapping, optional
        As for `Hinge`.

    References
    ----------
    .. [1] Shalev-Shwartz, Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss minimization",
       JMLR 14.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import SmoothedHinge, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], SmoothedHinge(C=1.0, width=1.0))
    >>> solution.alpha.tolist(), round(solution.dual_objective, 12)
    ([0.5, 0.5], 0.5)
    """

    def __init__(
        self, C: float | ArrayLike = 100.0, width: float = 0.5, class_weight: Mapping[int, float] | None = None
    ) -> None:
        self.C = checked_C(C)
        self.width = real("width", width, above=0.0)
        self.class_weight = checked_class_weight(class_weight)

    def dual(self, y: ArrayLike | None, n_points: int) -> Separable:
        """Linear term y, box between 0 and ``y * C``, ridge ``width / C``, sum 0; see `Loss.dual`."""
        labels = checked_labels(y, n_points)
        C = weights_of_points(self.C, labels, self.class_weight)
        lower, upper = signed_box(labels, C)
        return Separable(labels, lower, upper, ridge=self.width / C, checked=True)
