"""A small dense convex quadratic program by Mehrotra's interior point method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector


@dataclass(frozen=True, eq=False)
class EpigraphSolution:
    """What `minimize_epigraph` found.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The minimizer.
    multipliers : ndarray of shape (m,)
        Multipliers of the rows; they add up to one.
    sum_multiplier : float
        Multiplier of the equation ``sum(x) == total``.
    converged : bool
        Whether the tolerance was reached, up to a factor of 1000.
    """

    x: Vector
    multipliers: Vector
    sum_multiplier: float
    converged: bool


@np.errstate(all="ignore")  # slacks may vanish: the direction is then no number, and the last point stays
def minimize_epigraph(
    hessian: Matrix,
    linear: Vector,
    slopes: Matrix,
    constants: Vector,
    total: float,
    tolerance: float = 1e-9,
    max_steps: int = 50,
) -> EpigraphSolution:
    """Minimize the largest of some affine functions plus a quadratic over a simplex, by an interior point method.

    ::

        minimize 1/2 x @ hessian @ x + linear @ x + t   subject to   constants + slopes @ x <= t,   x >= 0,
        sum(x) == total

    A step costs O(n^3 + m n^2); ten to twenty are needed.

    Parameters
    ----------
    hessian : ndarray of shape (n, n)
        Positive semidefinite.
    linear : ndarray of shape (n,)
        Linear term.
    slopes, constants : ndarray of shape (m, n) and (m,)
        The rows under the epigraph, m >= 1.
    total : float
        The sum of x, positive.
    tolerance : float
        Limit on the mean complementarity, and on the residuals relative to the size of their terms.
    max_steps : int
        Limit on steps.

    Returns
    -------
    EpigraphSolution
        Minimizer and multipliers, and whether they are good.

    Notes
    -----
    Multipliers a of the rows (adding up to 1), b of x >= 0, nu of the sum. Newton's system is reduced to x and t: with
    ``W = diag(a / slack)`` it has the matrix ``[hessian + diag(b / x) + slopes' W slopes, -slopes' W 1; ., 1' W 1]``,
    from which t is eliminated, so that one Cholesky factor of order n is left.

    References
    ----------
    Mehrotra (1992), "On the implementation of a primal-dual interior point method"; Nocedal & Wright (2006), 16.6.
    """
    m, n = slopes.shape
    x = np.full(n, total / n)
    values = constants + slopes @ x
    t = float(values.max()) + 1.0
    slack = t - values
    a, b, nu = np.full(m, 1.0 / m), np.full(n, 1.0), 0.0
    size = 1.0 + max(float(np.abs(linear).max()), float(np.abs(a @ slopes).max()))
    for _ in range(max_steps):
        seconds_left()
        dual = hessian @ x + linear + a @ slopes - b + nu
        balance = 1.0 - float(a.sum())
        primal = constants + slopes @ x - t + slack
        fixed = float(x.sum()) - total
        mean = float(slack @ a + x @ b) / (m + n)
        residual = max(float(np.abs(dual).max()) / size, abs(balance), float(np.abs(primal).max()) / size, abs(fixed))
        if residual <= tolerance and mean <= tolerance:
            return EpigraphSolution(x, a, nu, True)
        weight = a / slack
        heavy, crossed = float(weight.sum()), weight @ slopes
        matrix = hessian + (slopes.T * weight) @ slopes - np.outer(crossed, crossed) / heavy
        matrix[np.diag_indices(n)] += b / x
        try:
            factor = scipy.linalg.cho_factor(matrix, check_finite=False, overwrite_a=True)
        except scipy.linalg.LinAlgError:
            break
        ones = scipy.linalg.cho_solve(factor, np.ones(n), check_finite=False)

        def direction(
            row_product: Vector, bound_product: Vector
        ) -> tuple[Vector, float, Vector, Vector, Vector, float]:
            """Newton's direction with slack * da + a * ds = -row_product and x * db + b * dx = -bound_product."""
            pushed = weight * primal - row_product / slack  # noqa: B023
            right = -dual - pushed @ slopes - bound_product / x  # noqa: B023
            right_t = -balance + float(pushed.sum())  # noqa: B023
            reduced = right + crossed * (right_t / heavy)  # noqa: B023
            free = scipy.linalg.cho_solve(factor, reduced, check_finite=False)  # noqa: B023
            dnu = (float(free.sum()) + fixed) / float(ones.sum())  # noqa: B023
            dx = free - dnu * ones  # noqa: B023
            dt = (right_t + float(crossed @ dx)) / heavy  # noqa: B023
            ds = -primal - slopes @ dx + dt  # noqa: B023
            da = (-row_product - a * ds) / slack  # noqa: B023
            db = (-bound_product - b * dx) / x  # noqa: B023
            return dx, dt, ds, da, db, dnu

        dx, _, ds, da, db, _ = direction(slack * a, x * b)
        length = min(_longest(slack, ds), _longest(a, da), _longest(x, dx), _longest(b, db))
        after = float((slack + length * ds) @ (a + length * da) + (x + length * dx) @ (b + length * db)) / (m + n)
        target = mean * (after / mean) ** 3
        dx, dt, ds, da, db, dnu = direction(slack * a + ds * da - target, x * b + dx * db - target)
        length = 0.995 * min(_longest(slack, ds), _longest(a, da), _longest(x, dx), _longest(b, db))
        if not (np.isfinite(dx).all() and np.isfinite(da).all() and length > 1e-12):
            break
        x, t, slack = x + length * dx, t + length * dt, slack + length * ds
        a, b, nu = a + length * da, b + length * db, nu + length * dnu
    return EpigraphSolution(x, a, nu, bool(mean <= 1e3 * tolerance and residual <= 1e3 * tolerance))


def _longest(value: Vector, direction: Vector) -> float:
    """Largest step, at most 1 / 0.995, that keeps the value nonnegative."""
    falling = direction < 0
    return float(np.min(-value[falling] / direction[falling], initial=1.0 / 0.995))
