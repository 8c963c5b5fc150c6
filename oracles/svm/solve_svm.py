"""A support vector machine of any loss on a precomputed kernel."""

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import flag, floats, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.bank_checks import checked_kernel
from oracle_opt.oracles.svm.hinge import Hinge
from oracle_opt.oracles.svm.loss import Loss, checked_dual
from oracle_opt.oracles.svm.svm_solution import SVMSolution


def solve_svm(
    K: ArrayLike,
    y: ArrayLike | None = None,
    loss: Loss | None = None,
    *,
    start: ArrayLike | None = None,
    accuracy: float = 1e-9,
    tolerance: float | None = None,
    max_steps: int = 10_000_000,
    check: bool = True,
) -> SVMSolution:
    """Solve the dual of a support vector machine, ``max L(b) - 1/2 b @ K @ b``; L, a box and a sum are the loss's.

    Sequential minimal optimization [1]_ with the second-order working set [2]_, run in the signed dual variables b,
    goes on until it is clear roughly which are free. Newton's method on those follows, which ends near rounding. If it
    fails, for example because the kernel is singular on them, it is undone, and a primal active-set method [3]_ takes
    over, which moves along directions of no curvature to a bound; then the steps go on. The best primal point of a dual
    one needs no search: its bias is an order statistic.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Kernel: finite, symmetric, positive semidefinite (not checked: on an indefinite kernel the solve ends, and its
        gap certifies nothing). A float32 array is used as it is; everything else is computed in float64.
    y : array_like of shape (n,), optional
        Labels -1 and +1 of a classification, targets of a regression; none for `OneClass`.
    loss : Loss, optional
        `Hinge`, `SquaredHinge`, `EpsilonInsensitive`, `OneClass` or one of your own. Default: ``Hinge(C=1.0)``. With
        the squared hinge the solve works on a copy of the kernel.
    start : array_like of shape (n,), optional
        Signed dual variables to start from, made feasible first. Default: zeros, and of `OneClass` ones until the sum
        is reached.
    accuracy : float
        Relative gap wanted; 0 asks for all that rounding allows. If rounding alone keeps the gap above it, the status
        is `SVMStatus.ROUNDING_FLOOR`. For 1e-4 and more, steps alone are tried first.
    tolerance : float, optional
        Violation wanted: in units of the margin, of the targets, or of the decision values. Default: the square root of
        `accuracy`, times about half the range of the targets, or the decision values (rho included) of equal dual
        variables: as the error of the objective goes with the square of the error of the gradient, it seldom decides.
        With the squared hinge `accuracy`: there it does.
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
    >>> from oracle_opt.oracles.svm import Hinge, solve_svm
    >>> solution = solve_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], Hinge(C=10.0))
    >>> solution.alpha.tolist(), round(solution.dual_objective, 12)
    ([1.0, 1.0], 1.0)
    """
    kernel = checked_kernel(K, "`K`") if check is True or flag("check", check) else np.asarray(K)
    dual = checked_dual(Hinge(C=1.0) if loss is None else loss, y, kernel.shape[0])
    if dual.ridge is not None:
        kernel = dual.add_ridge(np.array(kernel, dtype=float))
    check_options(accuracy, tolerance, max_steps)
    started = checked_start(start, kernel.shape[0])
    return dual.solve(kernel, start=started, accuracy=accuracy, tolerance=tolerance, max_steps=max_steps)


def check_options(accuracy: float, tolerance: float | None, max_steps: int) -> None:
    """Raise `InvalidArgument` unless the options of a solve can be used."""
    # On a small problem the checks take a good part of the time, so the usual case is looked for first.
    usual = type(accuracy) is float and tolerance is None and type(max_steps) is int
    if usual and 0.0 <= accuracy < np.inf and max_steps >= 0:
        return
    for name, value in (("accuracy", accuracy), ("tolerance", tolerance)):
        if value is not None or name == "accuracy":
            real(name, value, least=0.0)
    whole("max_steps", max_steps, 0)


def checked_start(start: ArrayLike | None, n: int) -> Vector | None:
    """Return a start as float64, or raise `InvalidArgument` unless it is n finite numbers."""
    if start is None:
        return None
    signed = start if isinstance(start, np.ndarray) and start.dtype == np.float64 else floats("start", start)
    if signed.shape != (n,) or np.count_nonzero(np.isfinite(signed)) < signed.size:
        raise InvalidArgument(f"`start` must be {n} finite signed dual variables, got shape {signed.shape}")
    return signed
