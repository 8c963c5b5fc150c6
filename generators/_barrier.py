"""The weighted analytic center of a polytope, by Newton's method on the log-barrier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt.cuts import Vector

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Polytope:
    """``{x : matrix @ x <= rhs, lower <= x <= upper, equalities @ x == const}`` with barrier weights.

    The barrier is ``-sum(weights * log(rhs - matrix @ x)) - sum(lower_weights * log(x - lower))
    - sum(upper_weights * log(upper - x)) + 1/2 sum(proximal * (x - anchor)**2)``; bounds that are infinite have none.
    """

    matrix: Matrix
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
        return bool((self.matrix @ x < self.rhs).all() and (x > self.lower).all() and (x < self.upper).all())

    def barrier(self, x: Vector) -> float:
        """Value of the barrier; infinite outside."""
        if not self.interior(x):
            return np.inf
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        return float(
            0.5 * (self.proximal * (x - self.anchor)) @ (x - self.anchor)
            - self.weights @ np.log(self.rhs - self.matrix @ x)
            - self.lower_weights[below] @ np.log(x[below] - self.lower[below])
            - self.upper_weights[above] @ np.log(self.upper[above] - x[above])
        )


def analytic_center(
    polytope: Polytope, start: Vector, tolerance: float = 1e-6, max_steps: int = 100
) -> tuple[Vector, bool]:
    """Minimise the barrier from a strictly feasible point.

    Damped Newton steps; the barrier is self-concordant when no weight is below 1, and up to a factor otherwise, so
    they converge from any interior point (Nesterov & Nemirovskii 1994).

    Parameters
    ----------
    polytope : Polytope
        The set and its weights.
    start : ndarray of shape (n,)
        Strictly inside, on the equalities.
    tolerance : float
        On half the squared Newton decrement, relative to the sum of the weights.
    max_steps : int
        Limit on Newton steps.

    Returns
    -------
    center : ndarray of shape (n,)
        The last point, strictly inside.
    converged : bool
        Whether the tolerance was reached.
    """
    x, value = start, polytope.barrier(start)
    enough = tolerance * float(polytope.weights.sum() + polytope.lower_weights.sum() + polytope.upper_weights.sum())
    for _ in range(max_steps):
        step, decrement = _newton_step(polytope, x)
        if not np.isfinite(step).all():
            return x, False
        if 0.5 * decrement <= enough:
            return x, True
        length = min(1.0, 0.99 * _to_boundary(polytope, x, step))
        while True:
            trial = x + length * step
            trial_value = polytope.barrier(trial)
            if trial_value <= value - 1e-4 * length * decrement:
                break
            length *= 0.5
            if length < 1e-10:
                return x, 0.5 * decrement <= 1e3 * enough
        x, value = trial, trial_value
    return x, False


def _to_boundary(polytope: Polytope, x: Vector, step: Vector) -> float:
    """Largest length that keeps every slack nonnegative."""
    slacks = np.r_[polytope.rhs - polytope.matrix @ x, x - polytope.lower, polytope.upper - x]
    rates = np.r_[polytope.matrix @ step, -step, step]
    hit = rates > 0
    return float(np.min(slacks[hit] / rates[hit], initial=np.inf))


def _newton_step(polytope: Polytope, x: Vector) -> tuple[Vector, float]:
    """Newton's step on the equalities and the squared decrement.

    The Hessian is ``D + A' W A`` with D diagonal. With fewer rows than columns its inverse comes from the m x m matrix
    ``W^-1 + A D^-1 A'`` (Woodbury), else it is factorised itself: O(min(m, n)^2 max(m, n)).
    """
    slack = polytope.rhs - polytope.matrix @ x
    below, above = x - polytope.lower, polytope.upper - x
    gradient = (
        polytope.matrix.T @ (polytope.weights / slack)
        - polytope.lower_weights / below
        + polytope.upper_weights / above
        + polytope.proximal * (x - polytope.anchor)
    )
    diagonal = polytope.lower_weights / below**2 + polytope.upper_weights / above**2 + polytope.proximal
    right = np.column_stack([gradient, polytope.equalities.T])
    m, n = polytope.matrix.shape
    scaled = polytope.matrix * (np.sqrt(polytope.weights) / slack)[:, None]
    try:
        if m < n:
            inverse = right / diagonal[:, None]
            thin = scaled / np.sqrt(diagonal)
            factor = scipy.linalg.cho_factor(np.eye(m) + thin @ thin.T, check_finite=False)
            correction = scipy.linalg.cho_solve(factor, scaled @ inverse, check_finite=False)
            solved = inverse - (scaled.T @ correction) / diagonal[:, None]
        else:
            hessian = scaled.T @ scaled
            hessian[np.diag_indices(n)] += diagonal
            solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian, check_finite=False), right)
    except scipy.linalg.LinAlgError:
        return np.full(n, np.nan), np.nan
    newton, normals = solved[:, 0], solved[:, 1:]
    if len(polytope.equalities):
        # dx = -(H^-1 g - H^-1 E' nu) with E dx = 0
        multipliers = np.linalg.solve(polytope.equalities @ normals, polytope.equalities @ newton)
        newton = newton - normals @ multipliers
    return -newton, float(max(gradient @ newton, 0.0))
