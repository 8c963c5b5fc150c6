"""Support vector classification by the name and with the arguments that users of libsvm expect."""

from numpy.typing import ArrayLike

from oracle_opt.oracles.svm.hinge import Hinge
from oracle_opt.oracles.svm.solve_svm import solve_svm
from oracle_opt.oracles.svm.svm_solution import SVMSolution


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

    Short for ``solve_svm(K, y, Hinge(C))``: the dual of ``min 1/2 |w|**2 + sum(C * hinge)``.

    Parameters
    ----------
    K
        As for `solve_svm`.
    y : array_like of shape (n,)
        Labels, -1 and +1, both present.
    C : float or array_like of shape (n,)
        Weight of the loss of each point, positive: the upper bound of its dual variable.
    start, accuracy, tolerance, max_steps, check
        As for `solve_svm`.

    Returns
    -------
    SVMSolution
        The outcome, good or not: see its `status` and `gap`.

    Raises
    ------
    InvalidArgument
        An argument of the wrong shape or range.

    Examples
    --------
    >>> from oracle_opt.oracles.svm import solve_csvc
    >>> solution = solve_csvc([[1.0, 0.0], [0.0, 1.0]], [1, -1], C=10.0)
    >>> solution.alpha.tolist(), round(solution.dual_objective, 12)
    ([1.0, 1.0], 1.0)
    """
    return solve_svm(
        K, y, Hinge(C), start=start, accuracy=accuracy, tolerance=tolerance, max_steps=max_steps, check=check
    )
