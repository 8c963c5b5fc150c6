"""Projection of a point on a domain cut by half-spaces, through the dual: one variable a cut, not a coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain, LinearConstraints
from oracle_opt.cuts import Vector
from oracle_opt.generators._nonnegative import nonnegative_quadratic

Matrix = NDArray[np.float64]

RIDGE = 1e-15  # relative to the largest row: near-parallel cuts make the Hessian singular up to rounding


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
    tolerance: float = 1e-6,
    max_steps: int = 100,
) -> Projection:
    """``min 1/2 sum(metric * (z - center)**2)`` over the domain with ``matrix @ z <= rhs``.

    The dual function ``d(u) = min over z of 1/2 |z - center|^2 + u @ (matrix @ z - rhs)``, u >= 0, is concave with
    gradient ``matrix @ z(u) - rhs``, where z(u) is the projection of ``center - matrix.T @ u / metric`` on the domain
    alone. It is maximised by Newton's method: the generalised Hessian is that of the face z(u) lies on, each local
    model is maximised over u >= 0 by an active-set method, and a line search follows.

    Parameters
    ----------
    domain : Domain
        With linear constraints.
    center, metric : ndarray of shape (n,)
        The point to project, and the positive diagonal of the norm.
    matrix, rhs : ndarray of shape (m, n) and (m,)
        The half-spaces, scaled so that a violation of 1 is large.
    start : ndarray of shape (m,)
        Multipliers to start from.
    tolerance : float
        On the violation of each half-space, and on complementarity relative to the squared distance.
    max_steps : int
        Limit on Newton steps.

    References
    ----------
    Qi & Sun (1993), "A nonsmooth version of Newton's method"; Lemarechal, Nemirovskii & Nesterov (1995), "New variants
    of bundle methods", for the projection.
    """
    constraints = domain.linear_constraints()
    assert constraints is not None
    ridge = RIDGE * max(float((matrix**2 @ (1.0 / metric)).max(initial=0.0)), 1e-300)
    u = np.maximum(start, 0.0)
    z, value = dual_function(domain, center, metric, matrix, rhs, u)
    feasible = 0
    for _ in range(max_steps):
        gradient = matrix @ z - rhs
        slack = float(np.abs(u * gradient).max(initial=0.0))
        inside = bool(gradient.max(initial=0.0) <= tolerance)
        feasible += inside
        # At the limit of precision the ridge slows the multipliers down; the point, long allowed, hardly moves then.
        if inside and (slack <= tolerance * abs(value) or feasible >= 8):
            return Projection(z, u, True)
        # The local model of the dual, with just as much ridge as keeps it definite, maximised over u >= 0 exactly.
        hessian = face_hessian(constraints, metric, matrix, z)
        hessian[np.diag_indices(len(u))] += ridge
        model = nonnegative_quadratic(hessian, gradient + hessian @ u, u, 0.1 * tolerance)
        moved = line_search(domain, center, metric, matrix, rhs, u, model - u, gradient, value)
        if moved is None:
            break
        u, z, value = moved
    return Projection(z, u, bool((matrix @ z - rhs).max(initial=0.0) <= 1e3 * tolerance))


def dual_function(
    domain: Domain, center: Vector, metric: Vector, matrix: Matrix, rhs: Vector, u: Vector
) -> tuple[Vector, float]:
    z = domain.project(center - (u @ matrix) / metric, metric)
    away = z - center
    return z, float(0.5 * (metric * away) @ away + u @ (matrix @ z - rhs))


def face_hessian(constraints: LinearConstraints, metric: Vector, matrix: Matrix, z: Vector) -> Matrix:
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


def line_search(
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
    """Armijo's rule along the segment to the model's maximiser; `None` if no step gains."""
    slope, step = float(gradient @ direction), 1.0
    if not slope > 0:
        return None
    for _ in range(60):
        trial = u + step * direction
        z, trial_value = dual_function(domain, center, metric, matrix, rhs, trial)
        if trial_value >= value + 1e-4 * step * slope:
            return trial, z, trial_value
        step *= 0.5
    return None
