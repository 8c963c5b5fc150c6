"""Epsilon-support vector regression on a precomputed kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.svm.box_dual import BoxDual, SVMSolution, check_options, checked_problem, checked_start, unit_of
from oracle_opt.oracles.svm.csvc import checked_box


def solve_svr(
    K: ArrayLike,
    t: ArrayLike,
    C: float | ArrayLike = 1.0,
    epsilon: float = 0.1,
    *,
    start: ArrayLike | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
    check: bool = True,
) -> SVMSolution:
    """Solve ``max t @ b - epsilon * sum(abs(b)) - 1/2 b @ K @ b`` over ``-C <= b <= C``, ``sum(b) == 0``.

    That is the dual of ``min 1/2 |w|**2 + sum(C * max(0, |t - f| - epsilon))`` for f of normal vector w and any bias
    [1]_, with b the difference of the usual two dual variables of a point. It is solved as `solve_csvc` does, a
    variable being on one side of the kink at 0 at a time, so K is neither doubled nor read twice.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Kernel, as for `solve_csvc`.
    t : array_like of shape (n,)
        Targets.
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive.
    epsilon : float
        Half the width of the tube without loss, in units of the targets; 0 gives the absolute loss.
    start : array_like of shape (n,), optional
        Dual variables b to start from, made feasible first. Default: zeros.
    tolerance : float, optional
        Violation wanted, in units of the targets. Default: the square root of `accuracy` times about half their range.
    accuracy, max_steps, check
        As for `solve_csvc`.

    Returns
    -------
    SVMSolution
        The outcome, good or not: see its `status` and `gap`. Its `decision_function` is the prediction.

    Raises
    ------
    InvalidArgument
        An argument of the wrong shape or range.

    References
    ----------
    .. [1] Smola, Schoelkopf (2004), "A tutorial on support vector regression", Statistics and Computing
       14, equation 10.

    Examples
    --------
    >>> solution = solve_svr([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], C=10.0, epsilon=0.5)
    >>> solution.signed_dual.tolist(), round(solution.dual_objective, 12), solution.bias
    ([0.5, -0.5], 0.25, 0.0)
    """
    targets = checked_targets(t)
    kernel = checked_problem(K, targets.size, "t", check)
    check_options(accuracy, tolerance, max_steps)
    dual = svr_dual(targets, checked_box(C, targets), checked_epsilon(epsilon))
    started = checked_start(start, targets.size)
    return dual.solve(kernel, start=started, accuracy=accuracy, tolerance=tolerance, max_steps=max_steps)


def svr_dual(t: Vector, C: Vector, epsilon: float) -> BoxDual:
    """Return the dual of `solve_svr` for arguments that were checked."""
    low, high = float(t.min()), float(t.max())
    middle = 0.5 * low + 0.5 * high
    return BoxDual(t - middle, -C, C, epsilon=epsilon, unit=unit_of(0.5 * high - 0.5 * low), offset=middle)


def checked_targets(t: ArrayLike) -> Vector:
    """Return targets as float64, or raise `InvalidArgument` unless they are n finite numbers."""
    targets = np.asarray(t, dtype=float)
    if targets.ndim != 1 or targets.size == 0:
        raise InvalidArgument(f"`t` must have shape (n,), got {targets.shape}")
    if not np.isfinite(targets).all():
        first = int(np.flatnonzero(~np.isfinite(targets))[0])
        raise InvalidArgument(f"`t` must be finite, got {targets[first]} at {first}; remove such points")
    return np.ascontiguousarray(targets)


def checked_epsilon(epsilon: float) -> float:
    """Return epsilon, or raise `InvalidArgument` unless it is a number >= 0."""
    if not 0.0 <= epsilon < np.inf:
        raise InvalidArgument(f"`epsilon` must be a number >= 0, in units of the targets, got {epsilon!r}")
    return float(epsilon)
