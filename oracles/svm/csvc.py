"""Support vector classification on a precomputed kernel, hinge and squared hinge loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arrays import Vector
from oracle_opt.oracles.svm.box_dual import (
    BoxDual,
    SVMSolution,
    SVMStatus,
    check_options,
    checked_problem,
    checked_start,
    decision_values,
)
from oracle_opt.oracles.svm.checked_data import checked_C, checked_class_weight, checked_labels, weights_of_points
from oracle_opt.oracles.svm.smo_build import signed_box

__all__ = [
    "SVMSolution",
    "SVMStatus",
    "checked_box",
    "checked_labels",
    "csvc_dual",
    "decision_values",
    "solve_checked",
    "solve_csvc",
]


def solve_csvc(
    K: ArrayLike,
    y: ArrayLike,
    C: float | ArrayLike = 1.0,
    *,
    squared_hinge: bool = False,
    start: ArrayLike | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
    check: bool = True,
) -> SVMSolution:
    """Solve ``max sum(a) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``, ``y @ a == 0``.

    That is the dual of ``min 1/2 |w|**2 + sum(C * hinge)``. With the squared hinge, ``sum(C * hinge**2)`` as in
    LIBLINEAR, a is only bounded below and ``sum(a**2 / (4 * C))`` is subtracted: the kernel is ``K + I / (2 * C)``.

    Sequential minimal optimization [1]_ with the second-order working set [2]_, run in signed variables ``b = y*a``,
    until it is clear roughly which are free; then Newton's method on those, which ends near rounding. If that fails,
    say because the kernel is singular on them, it is undone and a primal active-set method [3]_ takes over, which moves
    along directions of no curvature to a bound; then the steps go on. The best primal point of a dual one needs no
    search: its bias is an order statistic.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Kernel: finite, symmetric, positive semidefinite (not checked: on an indefinite kernel the solve ends, and its
        gap certifies nothing). A float32 array is used as it is; everything else is computed in float64.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive: of the hinge the upper bound of its dual variable.
    squared_hinge : bool
        Whether the loss is the squared hinge. The solve then works on a copy of the kernel.
    start : array_like of shape (n,), optional
        Signed duals to start from, made feasible first. Default: zeros.
    accuracy : float
        Relative gap wanted; 0 asks for all that rounding allows. If rounding alone keeps the gap above it, the status
        is `SVMStatus.ROUNDING_FLOOR`. For 1e-4 and more, steps alone are tried first.
    tolerance : float, optional
        Violation wanted. Default: the square root of `accuracy`, as the error of the objective goes with the square of
        the error of the gradient; it seldom decides. With the squared hinge `accuracy`: there it does.
    max_steps : int
        Limit on the steps.
    check : bool
        Whether `K` is checked for finite and symmetric entries, O(n^2).

    Returns
    -------
    SVMSolution
        The outcome, good or not: see its `status` and `gap`.

    Raises
    ------
    InvalidArgument
        An argument of the wrong shape or range.

    References
    ----------
    .. [1] Platt (1998), "Sequential minimal optimization: a fast algorithm for training support vector machines".
    .. [2] Fan, Chen, Lin (2005), "Working set selection using second order information for training support vector
       machines", JMLR 6, rule WSS 2.
    .. [3] Scheinberg (2006), "An efficient implementation of an active set method for SVMs", JMLR 7.

    Examples
    --------
    >>> solution = solve_csvc([[1.0, 0.0], [0.0, 1.0]], [1, -1], C=10.0)
    >>> solution.alpha.tolist(), round(solution.dual_objective, 12)
    ([1.0, 1.0], 1.0)
    """
    labels = checked_labels(y)
    kernel = checked_problem(K, labels.size, "y", check)
    check_options(accuracy, tolerance, max_steps)
    dual = csvc_dual(labels, checked_box(C, labels), squared_hinge)
    if squared_hinge:
        kernel = dual.add_ridge(np.array(kernel, dtype=float))
    started = checked_start(start, labels.size)
    return dual.solve(kernel, start=started, accuracy=accuracy, tolerance=tolerance, max_steps=max_steps)


def solve_checked(
    K: NDArray[np.floating],
    y: Vector,
    C: Vector,
    *,
    start: Vector | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
    noise: float = 0.0,
) -> SVMSolution:
    """`solve_csvc` for arrays that were checked before: contiguous, y and C float64 of shape (n,); see `BoxDual`."""
    dual = csvc_dual(y, C)
    return dual.solve(K, start=start, accuracy=accuracy, tolerance=tolerance, max_steps=max_steps, noise=noise)


def csvc_dual(y: Vector, C: Vector, squared_hinge: bool = False) -> BoxDual:
    """Return the dual of `solve_csvc` for labels and weights that were checked, in signed variables ``y * a``."""
    if not squared_hinge:
        return BoxDual(y, *signed_box(y, C))
    # Of the hyperplane 0 the primal objective is sum(C), so C * hinge**2 is at most that, and a = 2 * C * hinge.
    dual = csvc_dual(y, 4.0 * np.sqrt(C * C.sum()))
    dual.ridge = 0.5 / C
    return dual


def checked_box(C: float | ArrayLike, y: Vector, class_weight: Mapping[int, float] | None = None) -> Vector:
    """Return the bound of each dual variable, ndarray of shape (n,): C times the weight of the label."""
    return weights_of_points(checked_C(C), y, checked_class_weight(class_weight))
