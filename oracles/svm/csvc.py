"""The C-SVC dual on a precomputed kernel, every answer with its duality gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles._processor import AVX2
from oracle_opt.oracles.kernels.checks import checked_kernel

if AVX2:
    from oracle_opt.oracles.svm._smo_avx2 import solve_signed
else:
    from oracle_opt.oracles.svm._smo import solve_signed

Vector = NDArray[np.float64]


class SVMStatus(Enum):
    """How a solve ended; the value is a sentence."""

    CONVERGED = "relative gap and violation are as small as asked"
    STEP_LIMIT = "the step limit was reached first"
    ROUNDING_FLOOR = "rounding keeps the gap from falling further"


_STATUS = (SVMStatus.CONVERGED, SVMStatus.STEP_LIMIT, SVMStatus.ROUNDING_FLOOR)


@dataclass(frozen=True, eq=False)
class SVMSolution:
    """A feasible point of the C-SVC dual, with a certificate of how good it is.

    Parameters
    ----------
    signed_dual : ndarray of shape (n,)
        ``b = y * alpha``, in the box, of sum 0 up to rounding.
    dual_objective : float
        ``sum(alpha) - 1/2 b @ K @ b``: at most the optimum.
    primal_objective : float
        ``1/2 b @ K @ b + sum(C * hinge)`` for the best bias: at least the optimum if K is positive semidefinite.
    gap : float
        Primal minus dual objective, summed from nonnegative terms; more precise than their difference.
    bias : float
        The constant of the decision function that makes the primal objective least.
    violation : float
        Maximal violation of the optimality conditions: largest gradient of an entry that can rise minus least gradient
        of one that can fall, in units of the margin.
    n_steps : int
        Two-variable steps taken.
    n_newton : int
        Rounds of Newton's method, one Cholesky factorization each, and steps of the active-set method.
    status : SVMStatus
        Why the solve ended.
    gradient : ndarray of shape (n,)
        ``y - K @ b``.
    """

    signed_dual: Vector
    dual_objective: float
    primal_objective: float
    gap: float
    bias: float
    violation: float
    n_steps: int
    n_newton: int
    status: SVMStatus
    gradient: Vector

    @property
    def alpha(self) -> Vector:
        """Dual variables, ndarray of shape (n,), ``0 <= alpha <= C``."""
        return np.abs(self.signed_dual)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the primal objective."""
        return self.gap / max(self.primal_objective, 1e-300)

    def decision_function(self, cross: ArrayLike) -> Vector:
        """Decision values of new points.

        Parameters
        ----------
        cross : array_like of shape (m, n)
            Kernel between the m new points and the n points solved for.

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1.
        """
        return decision_values(cross, self.signed_dual, self.bias)


def decision_values(cross: ArrayLike, signed_dual: Vector, bias: float) -> Vector:
    """Return ``cross @ signed_dual + bias``, ndarray of shape (m,)."""
    matrix = np.asarray(cross)
    if matrix.ndim != 2 or matrix.shape[1] != signed_dual.size:
        raise InvalidArgument(f"`cross` must have shape (m, {signed_dual.size}), got {matrix.shape}")
    used = np.flatnonzero(signed_dual)
    values: Vector = matrix[:, used] @ signed_dual[used] + bias
    return values


def solve_csvc(
    K: ArrayLike,
    y: ArrayLike,
    C: float | ArrayLike = 1.0,
    *,
    start: ArrayLike | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
    check: bool = True,
) -> SVMSolution:
    """Solve ``max sum(a) - 1/2 (y*a) @ K @ (y*a)`` over ``0 <= a <= C``, ``y @ a == 0``.

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
        Upper bound of each dual variable, positive.
    start : array_like of shape (n,), optional
        Signed duals to start from, made feasible first. Default: zeros.
    accuracy : float
        Relative gap wanted; 0 asks for all that rounding allows. From 1e-4 on Newton's method is not used.
    tolerance : float, optional
        Violation wanted. Default: the square root of `accuracy`, as the error of the objective goes with the square of
        the error of the gradient; it seldom decides.
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
    >>> solution.alpha.tolist(), solution.dual_objective
    ([1.0, 1.0], 1.0)
    """
    labels = checked_labels(y)
    kernel = checked_kernel(K, "`K`") if check else np.asarray(K)
    if kernel.shape != (labels.size, labels.size):
        raise InvalidArgument(f"`K` must have shape {(labels.size, labels.size)} to go with `y`, got {kernel.shape}")
    for name, value in (("accuracy", accuracy), ("tolerance", tolerance)):
        if value is not None and not 0.0 <= value < np.inf:
            raise InvalidArgument(f"`{name}` must be a number >= 0, got {value!r}")
    if max_steps < 0:
        raise InvalidArgument(f"`max_steps` must be >= 0, got {max_steps!r}")
    return solve_checked(
        kernel,
        labels,
        checked_box(C, labels),
        start=None if start is None else _checked_start(start, labels.size),
        accuracy=accuracy,
        tolerance=tolerance,
        max_steps=max_steps,
    )


def solve_checked(
    K: NDArray[np.floating],
    y: Vector,
    C: Vector,
    *,
    start: Vector | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
) -> SVMSolution:
    """`solve_csvc` for arrays that were checked before: contiguous, y and C float64 of shape (n,)."""
    b = np.zeros(y.size) if start is None else np.array(start, dtype=float)
    wanted = sqrt(accuracy) if tolerance is None else tolerance
    gradient, dual, gap, bias, violation, *counts, status = solve_signed(K, y, C, b, accuracy, wanted, max_steps)
    b.flags.writeable = gradient.flags.writeable = False
    return SVMSolution(b, dual, dual + gap, gap, bias, violation, *counts, _STATUS[status], gradient)


def checked_labels(y: ArrayLike) -> Vector:
    """Return labels as float64, or raise `InvalidArgument` unless they are -1 and +1, both present."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise InvalidArgument(f"`y` must have shape (n,), got {labels.shape}")
    # count_nonzero, for it costs a fraction of all and any: of a small problem, checks are a good part.
    n_positive, n_negative = np.count_nonzero(labels == 1), np.count_nonzero(labels == -1)
    if n_positive + n_negative < labels.size:
        values = np.unique(labels)
        shown = ", ".join(map(str, values[:4].tolist())) + (", ..." if values.size > 4 else "")
        raise InvalidArgument(
            f"`y` must hold the labels -1 and +1, got {shown}; convert two classes by "
            "np.where(y == positive_class, 1, -1)"
        )
    if n_positive == 0 or n_negative == 0:
        raise InvalidArgument(f"`y` must hold both classes -1 and +1, got only {labels[0]}")
    return np.ascontiguousarray(labels, dtype=float)


def checked_box(C: float | ArrayLike, y: Vector, class_weight: Mapping[int, float] | None = None) -> Vector:
    """Return the bound of each dual variable, ndarray of shape (n,): C times the weight of the label.

    Raises
    ------
    InvalidArgument
        A bound is not a positive finite number, or a class is weighted that is not -1 or +1.
    """
    bound = np.array(C, dtype=float)
    if bound.shape not in ((), y.shape):
        raise InvalidArgument(f"`C` must be a number or have shape {y.shape}, got shape {bound.shape}")
    if class_weight is not None:
        if unknown := set(class_weight) - {-1, 1}:
            raise InvalidArgument(f"`class_weight` must weight the labels -1 and +1, got {sorted(map(str, unknown))}")
        bound = bound * np.where(y > 0, class_weight.get(1, 1.0), class_weight.get(-1, 1.0))
    good = (bound > 0) & (bound < np.inf)
    if np.count_nonzero(good) < bound.size:
        bad = bound[~good].flat[0]
        name = "`C`" if class_weight is None else "`C` times `class_weight`"
        raise InvalidArgument(f"{name} must be positive and finite, got {bad}; for a hard margin take a large number")
    return np.full(y.shape, bound)


def _checked_start(start: ArrayLike, n: int) -> Vector:
    signed = np.asarray(start, dtype=float)
    if signed.shape != (n,) or np.count_nonzero(np.isfinite(signed)) < signed.size:
        raise InvalidArgument(f"`start` must be {n} finite signed dual variables, got shape {signed.shape}")
    return signed
