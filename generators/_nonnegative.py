"""Small quadratic programs in nonnegative variables, by an active-set method with warm start."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt.cuts import Vector


def nonnegative_quadratic(
    hessian: NDArray[np.float64], linear: Vector, start: Vector, tolerance: float, max_steps: int = 300
) -> Vector:
    """``min 1/2 v @ hessian @ v - linear @ v`` over v >= 0.

    Lawson and Hanson's active-set method in the Gram form, started from the support of `start`.

    Parameters
    ----------
    hessian : ndarray of shape (m, m)
        Positive definite.
    linear : ndarray of shape (m,)
        Linear term.
    start : ndarray of shape (m,)
        A nonnegative point, best near the solution.
    tolerance : float
        Variables at zero with a smaller gain are left there.
    max_steps : int
        Limit on changes of the support.

    Returns
    -------
    ndarray of shape (m,)
        The minimiser; after `max_steps`, or where rounding makes the Hessian indefinite, the last nonnegative point,
        which is no worse than `start`.

    References
    ----------
    Lawson & Hanson (1974), "Solving least squares problems", chapter 23; Bro & de Jong (1997), "A fast non-negativity
    constrained least squares algorithm", for the Gram form.
    """
    v = start.copy()
    support = v > 0
    for _ in range(max_steps):
        if support.any():
            solved = np.zeros_like(v)
            try:
                factor = scipy.linalg.cho_factor(hessian[np.ix_(support, support)], check_finite=False)
            except scipy.linalg.LinAlgError:
                return v
            solved[support] = scipy.linalg.cho_solve(factor, linear[support], check_finite=False)
            blocked = support & (solved <= 0)
            if blocked.any():
                # go as far as the first variable that reaches zero, and take it out
                room = v[blocked] / (v[blocked] - solved[blocked])
                v = np.where(support, v + room.min() * (solved - v), 0.0)
                support[np.flatnonzero(blocked)[room.argmin()]] = False
                support &= v > 0
                v[~support] = 0.0
                continue
            v = solved
        gain = np.where(support, -np.inf, linear - hessian @ v)
        best = int(gain.argmax())
        if gain[best] <= tolerance:
            return v
        support[best] = True
    return v
