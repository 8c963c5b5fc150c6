"""The primal value of a support vector machine, from dual variables and the decision values that they give."""

from __future__ import annotations

from oracle_opt.arrays import Vector
from oracle_opt.oracles.svm.separable_dual import Separable

HALVINGS = 60  # bisections of the bias


def primal_value(dual: Separable, b: Vector, values: Vector) -> tuple[float, Vector, Vector]:
    """What ``K @ b`` tells of the optimum on K from above, as computed: no bound in exact arithmetic.

    As ``-1/2 x @ K @ x <= 1/2 b @ K @ b - x @ K @ b``, for any bias

        max over x of L(x) - 1/2 x @ K @ x  <=  1/2 b @ K @ b + bias * total + sum_i max over x_i of
                                                (linear_i - (K b)_i - bias) x_i - kink_i |x_i| - 1/2 ridge_i x_i**2,

    x in the box and of the right sum on the left, in the box alone on the right; the best bias is taken.

    Parameters
    ----------
    dual : Separable
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
    ends = dual.response(slope - bias)
    best, own = dual.charged(slope - bias, ends), dual.charged(slope - bias, b)
    return 0.5 * float(b @ values) + bias * dual.total + float(best.sum()), best - own, ends


def _best_bias(dual: Separable, slope: Vector) -> float:
    """The bias for which the value is least: where the maximizers add up to `total`."""
    wide = 0.0 if dual.kink is None else float(dual.kink.max())
    wide += 0.0 if dual.ridge is None else float(dual.ridge.max()) * abs(dual.total)
    low, high = float(slope.min()) - wide, float(slope.max()) + wide
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if float(dual.response(slope - middle).sum()) > dual.total:
            low = middle
        else:
            high = middle
    return high
