"""The primal value of a support vector machine, from dual variables and the decision values that they give."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.oracles.svm.box_dual import BoxDual

HALVINGS = 60  # bisections of the bias


def primal_value(dual: BoxDual, b: Vector, values: Vector) -> tuple[float, Vector, Vector]:
    """What ``K @ b`` tells of the optimum on K from above, as computed: no bound in exact arithmetic.

    As ``-1/2 x @ K @ x <= 1/2 b @ K @ b - x @ K @ b``, for any bias

        max over x of L(x) - 1/2 x @ K @ x  <=  1/2 b @ K @ b + bias * total + sum_i max over x_i of
                                                (linear_i - (K b)_i - bias) x_i - epsilon |x_i| - 1/2 ridge_i x_i**2,

    x in the box and of the right sum on the left, in the box alone on the right; the best bias is taken.

    Parameters
    ----------
    dual : BoxDual
        L, the box and the sum.
    b : ndarray of shape (n,)
        In the box and of the right sum.
    values : ndarray of shape (n,)
        ``K @ b``.

    Returns
    -------
    value : float
    excess : ndarray of shape (n,)
        What each point adds to the difference of this value and the dual one at b; not negative up to rounding.
    ends : ndarray of shape (n,)
        The maximizers x_i.
    """
    slope = dual.linear - values
    bias = _best_bias(dual, slope)
    best, ends = _separate(dual, slope - bias)
    own = (slope - bias) * b - dual.epsilon * np.abs(b)
    if dual.ridge is not None:
        own -= 0.5 * dual.ridge * b * b
    return 0.5 * float(b @ values) + bias * dual.total + float(best.sum()), best - own, ends


def _separate(dual: BoxDual, slope: Vector) -> tuple[Vector, Vector]:
    """Largest value of ``slope_i x - epsilon |x| - ridge_i x**2 / 2`` in the box for each i, and where."""
    past = np.sign(slope) * np.maximum(np.abs(slope) - dual.epsilon, 0.0)
    end = np.where(past > 0, dual.upper, np.where(past < 0, dual.lower, 0.0))
    if dual.ridge is None:
        return past * end, end
    at = np.clip(past / dual.ridge, dual.lower, dual.upper)
    return past * at - 0.5 * dual.ridge * at * at, at


def _best_bias(dual: BoxDual, slope: Vector) -> float:
    """The bias for which the value is least: where the maximizers add up to `total`."""
    low, high = float(slope.min()) - dual.epsilon, float(slope.max()) + dual.epsilon
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if float(_separate(dual, slope - middle)[1].sum()) > dual.total:
            low = middle
        else:
            high = middle
    return high
