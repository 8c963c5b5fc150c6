"""Projection of a point on a domain cut by half-spaces, through the dual: one variable per cut, not a coordinate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import Domain, LinearConstraints
from oracle_opt.domains._multipliers import BoundsDual, nonnegative_quadratic

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
    matrix: Any,
    rhs: Vector,
    start: Vector,
    tolerance: float = 1e-6,
    max_steps: int = 100,
    unit: Vector | None = None,
    n_equations: int = 0,
) -> Projection:
    """``min 1/2 sum(metric * (z - center)**2)`` over the domain with ``matrix @ z <= rhs``, by a dual Newton method.

    See docs/theory_methods.md, "The level set". Qi & Sun (1993), "A nonsmooth version of Newton's method"; Lemarechal,
    Nemirovskii & Nesterov (1995), "New variants of bundle methods".
    """
    constraints = domain.linear_constraints()
    assert constraints is not None
    unit = np.ones(len(rhs)) if unit is None else unit
    equation = np.arange(len(rhs)) >= len(rhs) - n_equations
    u = np.where(equation, start, np.maximum(start, 0.0))
    used = (matrix @ center > rhs) | (u > 0) | equation
    while True:
        chosen = used.nonzero()[0]
        rows, sides = _divided(matrix[chosen], unit[chosen]), rhs[chosen] / unit[chosen]
        if constraints.has_bounds_alone and isinstance(rows, np.ndarray):
            steps_of = BoundsDual(constraints, center, metric, rows, sides, u[chosen], n_equations)
            z, u[chosen], steps = steps_of.project(tolerance, max_steps)
        else:
            rows, sides = _less_equalities(constraints, center, rows, sides)
            problem = _Dual(domain, constraints, center, metric, rows, sides, equation[chosen])
            z, u[chosen], steps = _newton(problem, u[chosen], tolerance, max_steps)
        max_steps -= steps
        violation = (matrix @ z - rhs) / unit
        violation[equation] = np.abs(violation[equation])
        left_out = ~used & (violation > tolerance)
        if max_steps <= 0 or not left_out.any():
            return Projection(z, u, bool(violation.max(initial=0.0) <= 1e3 * tolerance))
        used |= left_out


@dataclass(frozen=True, eq=False)
class _Dual:
    """The dual function of a projection: what it is made of."""

    domain: Domain
    constraints: LinearConstraints
    center: Vector
    metric: Vector
    matrix: Any
    rhs: Vector
    equation: NDArray[np.bool_]


def _newton(dual: _Dual, u: Vector, tolerance: float, max_steps: int) -> tuple[Vector, Vector, int]:
    """Maximize the dual function; the point, the multipliers and the number of steps, at least 1."""
    domain, center, metric, matrix, rhs = dual.domain, dual.center, dual.metric, dual.matrix, dual.rhs
    ridge = RIDGE * np.maximum(matrix**2 @ (1.0 / metric), 1e-300)
    z, value = dual_function(domain, center, metric, matrix, rhs, u)
    near = 0
    for step in range(max_steps):
        gradient = matrix @ z - rhs
        slack = float(np.abs(u * gradient).max(initial=0.0))
        violation = float(np.where(dual.equation, np.abs(gradient), gradient).max(initial=0.0))
        near += violation <= 1e3 * tolerance
        # At the limit of precision the ridge slows the multipliers down; the point, long near, hardly moves then.
        if (violation <= tolerance and slack <= tolerance * abs(value)) or near > 10:
            return z, u, step + 1
        # The local model of the dual, with just as much ridge as keeps it definite, maximized over u >= 0 exactly.
        hessian = face_hessian(dual.constraints, metric, matrix, z)
        hessian[np.diag_indices(len(u))] += ridge
        model = nonnegative_quadratic(
            hessian, gradient + hessian @ u, u, 0.1 * tolerance, n_free=int(dual.equation.sum())
        )
        moved = line_search(domain, center, metric, matrix, rhs, u, model - u, gradient, value)
        if moved is None:
            return z, u, step + 1
        u, z, value = moved
    return z, u, max_steps


def _divided(matrix: Any, divisors: Vector) -> Any:
    """The rows, dense or sparse, divided by numbers."""
    if isinstance(matrix, np.ndarray):
        return matrix / divisors[:, None]
    divided = matrix.copy()
    divided.data /= np.repeat(divisors, np.diff(matrix.indptr))
    return divided


def _less_equalities(constraints: LinearConstraints, center: Vector, matrix: Any, rhs: Vector) -> tuple[Any, Vector]:
    """Rows less multiples of the equalities, small at `center`, where a large common part would drown the rest."""
    equalities = constraints.equality_matrix
    if not len(equalities):
        return matrix, rhs
    weighted = equalities * np.abs(center)
    shares = (matrix @ weighted.T) @ _pseudo_inverse(weighted @ equalities.T)
    return matrix - shares @ equalities, rhs - shares @ constraints.equality_rhs


def _pseudo_inverse(gram: Matrix) -> Matrix:
    """Invert the equalities' Gram matrix, which is diagonal where they share no coordinate, as on simplices."""
    diagonal = gram.diagonal()
    if np.count_nonzero(gram) == np.count_nonzero(diagonal):
        reciprocal: Matrix = np.diag(np.divide(1.0, diagonal, out=np.zeros(len(gram)), where=diagonal > 0))
        return reciprocal
    inverse: Matrix = np.asarray(np.linalg.pinv(gram), dtype=np.float64)
    return inverse


def dual_function(
    domain: Domain, center: Vector, metric: Vector, matrix: Any, rhs: Vector, u: Vector
) -> tuple[Vector, float]:
    """Point at the multipliers u of the rows, and the value of the dual there."""
    z = domain.project(center - (u @ matrix) / metric, metric)
    away = z - center
    return z, float(0.5 * (metric * away) @ away + u @ (matrix @ z - rhs))


def face_hessian(constraints: LinearConstraints, metric: Vector, matrix: Any, z: Vector) -> Matrix:
    """``G V G'``, V the derivative of the projection on the face of z: ``V = D - D E' (E D E')^-1 E D``.

    On the free coordinates, with inverse metric D and equalities E; the negative Hessian of the dual.
    """
    inside = np.flatnonzero((z > constraints.lower) & (z < constraints.upper))
    return hessian_inside(constraints, metric, matrix[:, inside], inside)


def hessian_inside(constraints: LinearConstraints, metric: Vector, columns: Any, inside: NDArray[np.intp]) -> Matrix:
    """As `face_hessian`, of the free coordinates and their columns of the rows' matrix."""
    inverse = 1.0 / metric[inside]
    hessian: Matrix
    if isinstance(columns, np.ndarray):
        scaled = columns * inverse
        hessian = scaled @ columns.T
    else:
        scaled = columns.copy()
        scaled.data *= inverse[columns.indices]
        hessian = (scaled @ columns.T).toarray()
    if len(constraints.equality_rhs):
        equalities = constraints.equality_matrix[:, inside]
        crossed = scaled @ equalities.T
        hessian -= crossed @ _pseudo_inverse((equalities * inverse) @ equalities.T) @ crossed.T
    return hessian


def line_search(
    domain: Domain,
    center: Vector,
    metric: Vector,
    matrix: Any,
    rhs: Vector,
    u: Vector,
    direction: Vector,
    gradient: Vector,
    value: float,
) -> tuple[Vector, Vector, float] | None:
    """Armijo's rule along the segment to the model's maximizer; `None` if no step gains."""
    slope, step = float(gradient @ direction), 1.0
    if not 0 < slope < np.inf:  # infinite where no point satisfies the rows
        return None
    for _ in range(60):
        trial = u + step * direction
        z, trial_value = dual_function(domain, center, metric, matrix, rhs, trial)
        if trial_value >= value + 1e-4 * step * slope:
            return trial, z, trial_value
        step *= 0.5
    return None
