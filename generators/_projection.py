"""Projection of a point on a domain cut by half-spaces, through the dual: one variable a cut, not a coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt import Domain, LinearConstraints
from oracle_opt.cuts import Vector

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Projection:
    """The projected point, the multipliers of the half-spaces, and whether the tolerance was reached."""

    point: Vector
    multipliers: Vector
    converged: bool


def project_on_cuts(
    domain: Domain,
    center: Vector,
    metric: Vector,
    matrix: Matrix,
    rhs: Vector,
    start: Vector,
    tolerance: float = 1e-9,
    max_steps: int = 200,
) -> Projection:
    """``min 1/2 sum(metric * (z - center)**2)`` over the domain with ``matrix @ z <= rhs``.

    The dual function ``d(u) = min over z of 1/2 |z - center|^2 + u @ (matrix @ z - rhs)``, u >= 0, is concave with
    gradient ``matrix @ z(u) - rhs``, where z(u) is the projection of ``center - matrix.T @ u / metric`` on the domain
    alone. It is maximised by Newton's method projected on u >= 0; the generalised Hessian is that of the face z(u)
    lies on.

    Parameters
    ----------
    domain : Domain
        With linear constraints.
    center, metric : ndarray of shape (n,)
        The point to project, and the positive diagonal of the norm.
    matrix, rhs : ndarray of shape (m, n) and (m,)
        The half-spaces; scaled so that violations near 1 are large.
    start : ndarray of shape (m,)
        Multipliers to start from.
    tolerance : float
        On the violation of each half-space and on complementarity.
    max_steps : int
        Limit on Newton steps.

    References
    ----------
    Bertsekas (1982), "Projected Newton methods for optimization problems with simple constraints"; the dual of the
    level projection, Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods".
    """
    constraints = domain.linear_constraints()
    assert constraints is not None
    u = np.maximum(start, 0.0)
    z, value = _dual(domain, center, metric, matrix, rhs, u)
    for _ in range(max_steps):
        gradient = matrix @ z - rhs
        if gradient.max(initial=0.0) <= tolerance and np.abs(u * gradient).max(initial=0.0) <= tolerance:
            return Projection(z, u, True)
        free = (u > 0) | (gradient > 0)
        direction = np.zeros_like(u)
        hessian = _face_hessian(constraints, metric, matrix[free], z)
        direction[free] = _ascent(hessian, gradient[free])
        moved = _arc_search(domain, center, metric, matrix, rhs, u, direction, gradient, value)
        if moved is None:
            direction = np.where(free, gradient, 0.0) / max(1e-300, float(np.trace(hessian)))
            moved = _arc_search(domain, center, metric, matrix, rhs, u, direction, gradient, value)
        if moved is None:
            break
        u, z, value = moved
    gradient = matrix @ z - rhs
    return Projection(z, u, bool(gradient.max(initial=0.0) <= 1e3 * tolerance))


def _dual(
    domain: Domain, center: Vector, metric: Vector, matrix: Matrix, rhs: Vector, u: Vector
) -> tuple[Vector, float]:
    z = domain.project(center - (u @ matrix) / metric, metric)
    away = z - center
    return z, float(0.5 * (metric * away) @ away + u @ (matrix @ z - rhs))


def _face_hessian(constraints: LinearConstraints, metric: Vector, matrix: Matrix, z: Vector) -> Matrix:
    """``G V G'`` with V the derivative of the projection on the face of z, the negative Hessian of the dual.

    On the free coordinates F with inverse metric D and equalities E, ``V = D - D E' (E D E')^-1 E D``.
    """
    inside = (z > constraints.lower) & (z < constraints.upper)
    scaled = matrix[:, inside] / metric[inside]
    hessian: Matrix = scaled @ matrix[:, inside].T
    equalities = constraints.equality_matrix[:, inside]
    if len(equalities):
        crossed = scaled @ equalities.T
        hessian -= crossed @ np.linalg.pinv((equalities / metric[inside]) @ equalities.T) @ crossed.T
    return hessian


def _ascent(hessian: Matrix, gradient: Vector) -> Vector:
    """Newton's direction, with just as much ridge as makes the factorisation succeed."""
    ridge = 1e-13 * max(float(np.trace(hessian)), 1e-300)
    for _ in range(12):
        try:
            factor = scipy.linalg.cho_factor(hessian + ridge * np.eye(len(hessian)), check_finite=False)
        except scipy.linalg.LinAlgError:
            ridge *= 100.0
            continue
        direction: Vector = scipy.linalg.cho_solve(factor, gradient, check_finite=False)
        return direction
    return gradient


def _arc_search(
    domain: Domain,
    center: Vector,
    metric: Vector,
    matrix: Matrix,
    rhs: Vector,
    u: Vector,
    direction: Vector,
    gradient: Vector,
    value: float,
) -> tuple[Vector, Vector, float] | None:
    """Armijo's rule along ``max(0, u + t * direction)``; `None` if no step gains."""
    step = 1.0
    for _ in range(40):
        trial = np.maximum(u + step * direction, 0.0)
        z, trial_value = _dual(domain, center, metric, matrix, rhs, trial)
        gain = float(gradient @ (trial - u))
        if trial_value >= value + 1e-4 * max(gain, 0.0) - 1e-15 * abs(value) and (trial != u).any():
            return trial, z, trial_value
        step *= 0.5
    return None
