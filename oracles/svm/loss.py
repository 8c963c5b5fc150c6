"""The loss of a support vector machine: how it charges an error, seen through the dual problem it leads to."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import NamedArguments, instance
from oracle_opt.arrays import Vector
from oracle_opt.oracles.svm.checked_data import checked_C, checked_class_weight
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.words import by_attributes


class Loss(NamedArguments, ABC):
    """What a support vector machine pays for its decision values; subclass it for one of your own.

    The machine solves ``min over w and bias of 1/2 |w|**2 + sum of the losses of all points``. An object holds the
    parameters of the loss and no data. Its two methods are all that `solve_svm` and the oracles of multiple kernel
    learning ask for, so a new loss serves in all of them. Those of classification take labels -1 and +1, both present,
    those of regression finite targets; `InvalidArgument` names what else was given, and parameters that cannot be used.

    Examples
    --------
    The loss of quantile regression costs `share` for each unit by which a value is too small and ``1 - share`` for each
    unit by which it is too large. Its dual is ``max y @ b - 1/2 b @ K @ b`` over a box:

    >>> import numpy as np
    >>> from oracle_opt.oracles.svm import Separable, Loss, solve_svm
    >>> class Quantile(Loss):
    ...     def __init__(self, share):
    ...         self.share = share
    ...     def dual(self, y, n_points):
    ...         return Separable(np.array(y), np.full(n_points, self.share - 1.0), np.full(n_points, self.share))
    ...     def predict(self, values):
    ...         return values
    >>> solution = solve_svm(np.zeros((4, 4)), [1.0, 2.0, 3.0, 4.0], Quantile(0.7))
    >>> solution.bias  # of a kernel that explains nothing: the quantile
    3.0
    """

    __repr__ = by_attributes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, `deep` or not, for searches of scikit-learn over ``loss__quantile``."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters if hasattr(self, name)}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters, checked as by the constructor; return the object."""
        type(self).__init__(self, **self.get_params() | parameters)
        return self

    def __sklearn_clone__(self) -> Self:
        """A copy; else `sklearn.clone` would want the very arrays that the constructor was given."""
        return deepcopy(self)

    @abstractmethod
    def dual(self, y: ArrayLike | None, n_points: int) -> LossDual:
        """Dual of the machine without its kernel, a `Separable` or another `LossDual`.

        It has the linear term, kinks, ridges, box and sum of the signed dual variables, those in ``K @ b + bias``, the
        decision values. y are the labels or targets of the `n_points` points, as the caller gave them: to be checked
        here. None: there are none. `InvalidArgument` is for those, and for parameters, that cannot be used.
        """

    @abstractmethod
    def predict(self, values: Vector) -> Vector:
        """Prediction for new points of given decision values: a label or a target each, ndarray of shape (m,)."""


class TargetLoss(Loss):
    """A loss of regression."""

    def predict(self, values: Vector) -> Vector:
        """Targets: the values themselves."""
        return values


class LabelLoss(Loss):
    """A loss of classification, times C and the weight of the class."""

    def __init__(self, C: float | ArrayLike = 100.0, class_weight: Mapping[int, float] | None = None) -> None:
        self.C = checked_C(C)
        self.class_weight = checked_class_weight(class_weight)

    def predict(self, values: Vector) -> Vector:
        """Labels -1 or +1: the signs, 0 counting as +1."""
        return signs(values)


def checked_dual(loss: Loss, y: ArrayLike | None, n_points: int) -> LossDual:
    """Return the dual of a loss, or raise `InvalidArgument` unless it is one that can be solved."""
    dual = instance("loss", loss, Loss, "a Loss such as Hinge(C=100.0)").dual(y, n_points)
    instance("loss.dual(...)", dual, LossDual, "a Separable")
    dual.check(n_points)
    return dual


def signs(values: Vector) -> Vector:
    """Return the labels -1 or +1 of decision values, 0 counting as +1."""
    return np.where(values >= 0, 1.0, -1.0)
