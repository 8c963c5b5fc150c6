"""The weighted analytic center of a polytope, by an infeasible primal-dual Newton method."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters._center import Center
from oracle_opt.generators.masters.row_products import square_products, weighted_gram


@dataclass(frozen=True, eq=False)
class Polytope:
    """A polytope with barrier weights, ``{x : matrix @ x <= rhs, lower <= x <= upper, equalities @ x == const}``.

    ::

        barrier(x) = - sum(weights * log(rhs - matrix @ x)) + 1/2 sum(proximal * (x - anchor)**2)
                     - sum(lower_weights * log(x - lower)) - sum(upper_weights * log(upper - x))

    Parameters
    ----------
    matrix, rhs, weights : ndarray of shape (m, n), (m,) and (m,)
        The rows and their weights, positive. The matrix may be a `scipy.sparse.csr_array`.
    lower, lower_weights, upper, upper_weights : ndarray of shape (n,)
        Bounds and their weights; a bound that is infinite has no term.
    equalities : ndarray of shape (k, n)
        Normals of the equations; their right-hand sides are those of the starting point.
    proximal, anchor : ndarray of shape (n,)
        Weights, at least 0, and center of the quadratic. Where a variable has neither a bound nor a weight of the
        quadratic, the rows must bound it.
    """

    matrix: Any
    rhs: Vector
    weights: Vector
    lower: Vector
    lower_weights: Vector
    upper: Vector
    upper_weights: Vector
    equalities: Matrix
    proximal: Vector
    anchor: Vector

    def interior(self, x: Vector) -> bool:
        """Whether x satisfies every inequality strictly."""
        return bool((self.matrix @ x < self.rhs).all() and ((self.lower < x) & (x < self.upper)).all())

    def barrier(self, x: Vector) -> float:
        """Value of the barrier at x; infinite outside."""
        if not self.interior(x):
            return np.inf
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        return float(
            0.5 * (self.proximal * (x - self.anchor)) @ (x - self.anchor)
            - self.weights @ np.log(self.rhs - self.matrix @ x)
            - self.lower_weights[below] @ np.log(x[below] - self.lower[below])
            - self.upper_weights[above] @ np.log(self.upper[above] - x[above])
        )


@np.errstate(all="ignore")  # slacks may vanish: the step is then no number and is refused
def analytic_center(
    polytope: Polytope, start: Vector, tolerance: float = 0.1, max_steps: int = 40
) -> tuple[Vector, bool]:
    """Minimize the barrier, warm from a point that may violate rows.

    A step costs O(min(m, n)^2 max(m, n)) for m rows in n variables, and the memory of a few vectors. Primal-dual Newton
    steps on ``slack * multiplier = weight``: a row that the start violates gets a positive slack of its own, and the
    residual vanishes with the first full step (Lustig, Marsten & Shanno 1994). A cut through the last center costs few
    steps so, without a search for an interior point.

    Parameters
    ----------
    polytope : Polytope
        The set and its weights.
    start : ndarray of shape (n,)
        A point that satisfies the equalities and lies strictly within the bounds.
    tolerance : float
        Limit on the weighted root mean square of ``slack * multiplier / weight - 1``.
    max_steps : int
        Limit on Newton steps.

    Returns
    -------
    center : ndarray of shape (n,)
        The last point, strictly within the bounds, and if converged within the rows.
    converged : bool
        Whether the tolerance was reached.
    """
    matrix, x = polytope.matrix, start
    below, above = np.isfinite(polytope.lower).nonzero()[0], np.isfinite(polytope.upper).nonzero()[0]
    slack = polytope.rhs - matrix @ x
    to_lower, to_upper = x[below] - polytope.lower[below], polytope.upper[above] - x[above]
    # a violated row gets a share of the slack of the others, or as much as the bounds allow: what the slack changes by
    # over Dikin's ellipsoid
    squares = np.zeros(len(x))
    squares[below] += to_lower**2
    squares[above] += to_upper**2
    allowed = np.sqrt(square_products(matrix, squares))
    inside = slack[slack > 1e-12 * allowed]
    inside.sort()
    median = 0.5 * (inside[(len(inside) - 1) // 2] + inside[len(inside) // 2]) if len(inside) else 0.0
    slack = np.maximum(slack, 0.3 * median if len(inside) else allowed)
    slack[slack <= 0] = 1.0
    # the bounds after the rows; their slacks are updated, not computed as differences, which may round to 0
    slack = np.concatenate([slack, to_lower, to_upper])
    weights = np.concatenate([polytope.weights, polytope.lower_weights[below], polytope.upper_weights[above]])
    places = np.concatenate([below, above])
    signs = np.where(np.arange(len(places)) < len(below), 1.0, -1.0)
    enough = tolerance**2 * float(weights.sum())
    if isinstance(matrix, np.ndarray) and matrix.size and not len(polytope.equalities):
        center = Center(polytope, x, slack, weights, places, signs)
        converged = center.solve(enough, max_steps)
        return center.point, converged and polytope.interior(center.point)
    m, u, residual = len(polytope.rhs), weights / slack, np.zeros(len(slack))
    for _ in range(max_steps):
        seconds_left()
        residual[:m] = polytope.rhs - matrix @ x - slack[:m]
        force, heavy = (weights - u * residual) / slack, u / slack
        gradient = matrix.T @ force[:m] + polytope.proximal * (x - polytope.anchor)
        gradient -= np.bincount(places, signs * force[m:], len(x))
        diagonal = polytope.proximal + np.bincount(places, heavy[m:], len(x))
        step = _newton_step(matrix, heavy[:m], diagonal, gradient, polytope.equalities)
        if not np.isfinite(step).all():
            return x, False
        # linearized: slack * du + u * d_slack = weights - slack * u
        d_slack = np.concatenate([residual[:m] - matrix @ step, signs * step[places]])
        du = (weights - u * d_slack) / slack - u
        primal, dual = _length(slack, d_slack), _length(u, du)
        x, slack, u = x + primal * step, slack + primal * d_slack, u + dual * du
        if min(primal, dual) == 1.0 and float(((slack * u - weights) ** 2 / weights).sum()) <= enough:
            return x, polytope.interior(x)
    return x, False


def _length(at: Vector, direction: Vector) -> float:
    """Step length: 1, or nine tenths of the way to where an entry of ``at + length * direction`` vanishes."""
    falling = direction < 0
    return min(1.0, 0.9 * float(np.min(at[falling] / -direction[falling], initial=np.inf)))


def _newton_step(matrix: Any, weights: Vector, diagonal: Vector, gradient: Vector, equalities: Matrix) -> Vector:
    """Return -H^-1 gradient on the equalities, ``H = diag(diagonal) + matrix' diag(weights) matrix``, or NaN."""
    right = np.column_stack([gradient, equalities.T])
    m, n = matrix.shape
    try:
        if m < n:
            roots = np.sqrt(weights)[:, None]
            inverse = right / diagonal[:, None]
            small = roots * weighted_gram(matrix, 1.0 / diagonal) * roots.T
            small[np.diag_indices(m)] += 1.0
            factor = scipy.linalg.cho_factor(small, overwrite_a=True, check_finite=False)
            correction = scipy.linalg.cho_solve(factor, roots * (matrix @ inverse), check_finite=False)
            solved = inverse - (matrix.T @ (roots * correction)) / diagonal[:, None]
        else:
            hessian = weighted_gram(matrix.T, weights)
            hessian[np.diag_indices(n)] += diagonal
            factor = scipy.linalg.cho_factor(hessian, overwrite_a=True, check_finite=False)
            solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
    except scipy.linalg.LinAlgError:
        return np.full(n, np.nan)
    newton, normals = solved[:, 0], solved[:, 1:]
    if len(equalities):
        # dx = -(H^-1 g - H^-1 E' nu) with E dx = 0
        newton = newton - normals @ _solved(equalities @ normals, equalities @ newton)
    step: Vector = -newton
    return step


def _solved(gram: Matrix, right: Vector) -> Vector:
    """``gram^-1 right``; NaN where rounding leaves the matrix singular, as beside a variable its equality fixes."""
    try:
        solved = np.asarray(np.linalg.solve(gram, right), dtype=float)
    except np.linalg.LinAlgError:
        return np.full(len(right), np.nan)
    return solved
