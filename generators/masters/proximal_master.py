"""The proximal master: the cutting-plane model plus a quadratic, minimized through its dual."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Domain
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import LinearConstraints
from oracle_opt.domains._multipliers import BoundsDual, simplex_quadratic
from oracle_opt.domains.projection import RIDGE, dual_function, face_hessian, line_search

GOOD = 1e3  # so many times the tolerances are still good enough
USABLE = 0.1  # share of the decrease that a minimizer may lack: what it gains is measured by the oracle, not here
IDLE = 2  # steps that do not halve a gap which is good enough: the rest is rounding


@dataclass(frozen=True, eq=False)
class ProximalPoint:
    """The result of `proximal_point`.

    Attributes
    ----------
    point : ndarray of shape (n,)
        The minimizer.
    value : float
        The largest of the pieces there; its negative is the decrease that the model predicts.
    multipliers : ndarray of shape (m,)
        Multipliers of the rows. The multipliers of the pieces add up to one, so that with those of feasibility cuts
        they make a minorant.
    converged : bool
        Whether the tolerance was reached, up to a factor of 1000.
    """

    point: Vector
    value: float
    multipliers: Vector
    converged: bool


def proximal_point(
    domain: Domain,
    center: Vector,
    weight: float,
    matrix: Matrix,
    rhs: Vector,
    n_objective: int,
    start: Vector,
    tolerance: float = 1e-6,
    floor: float = 0.0,
    allowed: float = 0.0,
    max_steps: int = 25,
    n_equations: int = 0,
    scale: Vector | None = None,
) -> ProximalPoint:
    """Minimize a cutting-plane model plus a quadratic that keeps the minimizer near a center.

    ::

        minimize max_i r_i(z) + weight / 2 * sum(scale * (z - center)**2)
        subject to   r_j(z) <= 0,   z in the domain

    with ``r(z) = matrix @ z - rhs``. The first `n_objective` rows i are pieces of the model, counted from the value of
    the center: at the center they are at most 0. The other rows j are constraints.

    Its dual has one variable a row. The dual function is that of `project_on_cuts`, maximized in the same way, by
    semismooth Newton steps, but the multipliers of the pieces add up to one. A step costs a projection on the domain
    and O(m n) for each trial length, and a factorization of the order of the active rows. Rows that are below the
    largest piece, or hold, at every solution so far have multiplier 0 and are left out.

    Parameters
    ----------
    domain : Domain
        With linear constraints, perhaps infinite.
    center : ndarray of shape (n,)
        Center of the quadratic, where the model is at most 0.
    weight : float
        Its weight, positive.
    matrix, rhs : ndarray of shape (m, n) and (m,)
        The rows.
    n_objective : int
        Number of pieces, at least 1.
    start : ndarray of shape (m,)
        Multipliers to start from; those of the pieces add up to one.
    tolerance, floor : float
        Limits on the duality gap: relative to the model's decrease below 0, and absolute.
    allowed : float
        Allowed violation of a constraint.
    max_steps : int
        Limit on Newton steps for each set of rows that is not left out.
    n_equations : int
        The last so many rows are equations ``r_j(z) = 0``, whose multipliers may have any sign.
    scale : ndarray of shape (n,), optional
        Positive diagonal of the norm; default is ones.

    Returns
    -------
    ProximalPoint
        Point, value, multipliers, and whether they are good. Whatever they are, `CutPool.minorant` makes a valid bound
        of the multipliers.

    References
    ----------
    Kiwiel (1990), "Proximity control in bundle methods", for the master; Qi & Sun (1993), "A nonsmooth version of
    Newton's method".
    """
    constraints = domain.linear_constraints()
    assert constraints is not None
    equation = np.arange(len(rhs)) >= len(rhs) - n_equations
    metric = np.full(domain.dimension, weight) if scale is None else weight * scale
    u = start.copy()
    used = (u > 0) | equation
    while True:
        chosen = used.nonzero()[0]
        rows = _Rows(matrix[chosen], rhs[chosen], int(used[:n_objective].sum()), equation[chosen])
        if constraints.has_bounds_alone:
            steps = BoundsDual(constraints, center, metric, rows.matrix, rows.rhs, u[chosen], n_equations)
            z, u[chosen] = steps.minimize(rows.n_objective, tolerance, floor, allowed, max_steps)
        else:
            z, u[chosen] = _newton(
                domain, constraints, center, metric, rows, u[chosen], tolerance, floor, allowed, max_steps
            )
        gradient = matrix @ z - rhs
        height = float(gradient[:n_objective][used[:n_objective]].max())
        enough = tolerance * abs(height) + floor
        left_out = ~used & (gradient > np.where(np.arange(len(rhs)) < n_objective, height + 0.1 * enough, allowed))
        if not left_out.any():
            break
        used |= left_out
    value = float(gradient[:n_objective].max())
    good = _gap(gradient, u, n_objective) <= max(USABLE * -value, GOOD * (tolerance * abs(value) + floor))
    return ProximalPoint(z, value, u, bool(good and _violation(gradient, n_objective, equation) <= GOOD * allowed))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that a problem is solved with: matrix, right-hand sides, number of pieces, which ones are equations."""

    matrix: Matrix
    rhs: Vector
    n_objective: int
    equation: NDArray[np.bool_]


def _newton(
    domain: Domain,
    constraints: LinearConstraints,
    center: Vector,
    metric: Vector,
    rows: _Rows,
    u: Vector,
    tolerance: float,
    floor: float,
    allowed: float,
    max_steps: int,
) -> tuple[Vector, Vector]:
    """Maximize the dual function over the multipliers of some rows; the point and the multipliers."""
    matrix, rhs, n_objective = rows.matrix, rows.rhs, rows.n_objective
    # tolerances are relative to each row: rows that are not active may be steeper by orders of magnitude
    ridge = RIDGE * np.maximum(matrix**2 @ (1.0 / metric), 1e-300)
    z, dual = dual_function(domain, center, metric, matrix, rhs, u)
    least, idle = np.inf, 0  # smallest gap so far, steps that did not halve it
    for _ in range(max_steps):
        gradient = matrix @ z - rhs
        enough = tolerance * abs(float(gradient[:n_objective].max())) + floor
        gap, violation = _gap(gradient, u, n_objective), _violation(gradient, n_objective, rows.equation)
        idle = 0 if gap < 0.5 * least else idle + 1
        least = min(least, gap)
        at_rounding = idle > IDLE and gap <= GOOD * enough and violation <= GOOD * allowed
        if at_rounding or (gap <= enough and violation <= allowed):
            return z, u
        hessian = face_hessian(constraints, metric, matrix, z)
        hessian[np.diag_indices(len(u))] += ridge
        linear, n_free = gradient + hessian @ u, int(rows.equation.sum())
        model = simplex_quadratic(hessian, linear, u, n_objective, 0.1 * enough, 0.1 * allowed, n_free)
        moved = line_search(domain, center, metric, matrix, rhs, u, model - u, gradient, dual)
        if moved is None:
            return z, u
        u, z, dual = moved
    return z, u


def _gap(gradient: Vector, u: Vector, n_objective: int) -> float:
    """Primal minus dual objective: ``max_i r_i - u @ r``."""
    return float(gradient[:n_objective].max() - u @ gradient)


def _violation(gradient: Vector, n_objective: int, equation: NDArray[np.bool_]) -> float:
    return float(np.where(equation, np.abs(gradient), gradient)[n_objective:].max(initial=0.0))
