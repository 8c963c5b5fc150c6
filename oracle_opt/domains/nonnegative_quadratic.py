"""Small quadratic programs in nonnegative variables, by an active-set method with warm start."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Vector

ENTER = 0.5  # variables that gain at least this share of the best gain enter together


def nonnegative_quadratic(
    hessian: NDArray[np.float64],
    linear: Vector,
    start: Vector,
    tolerance: float,
    max_steps: int = 300,
    free: NDArray[np.bool_] | None = None,
) -> Vector:
    """``min 1/2 v @ hessian @ v - linear @ v`` over v >= 0.

    This is Lawson and Hanson's active-set method in the Gram form, started from the support of `start`, but several
    variables enter at a time. At least one of these keeps a positive value, so each round still gains.

    Returns
    -------
    ndarray of shape (m,)
        The minimizer; after `max_steps` the last nonnegative point, which is no worse than `start`. Where rounding
        makes the Hessian indefinite, ``ridge / 2 * |v - start|^2`` is added, just enough to mend that.

    References
    ----------
    Lawson & Hanson (1974), "Solving least squares problems", chapter 23; Bro & de Jong (1997), "A fast non-negativity
    constrained least squares algorithm", for the Gram form.
    """
    v = start.copy()
    signed = np.ones(len(v), dtype=bool) if free is None else ~free
    support = (v > 0) | ~signed
    ridge = 0.0
    for _ in range(max_steps):
        seconds_left()
        chosen = np.flatnonzero(support)
        if len(chosen):
            _, found, info = scipy.linalg.lapack.dposv(hessian[chosen[:, None], chosen], linear[chosen])
            if info != 0:
                ridge = max(100.0 * ridge, 1e-14 * float(hessian.diagonal().max()))
                hessian, linear = hessian + ridge * np.eye(len(v)), linear + ridge * start
                continue
            blocked = np.flatnonzero((found <= 0) & signed[chosen])
            if len(blocked):
                # go as far as the first variable that reaches zero, and take it out
                known = v[chosen]
                room = known[blocked] / np.maximum(known[blocked] - found[blocked], 1e-300)
                leaving = blocked[room == room.min()]
                known = known + room.min() * (found - known)
                known = np.where(signed[chosen], np.maximum(known, 0.0), known)
                known[leaving] = 0.0
                v[chosen] = known
                support[chosen[leaving]] = False
                continue
            v[chosen] = found
        gain = linear - hessian[:, chosen] @ v[chosen]
        gain[chosen] = -np.inf
        best = float(gain.max())
        if best <= tolerance:
            return v
        support |= gain >= ENTER * best
    return v
