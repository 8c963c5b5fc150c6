"""Programs over a polyhedron: linear ones by HiGHS, which also find implied equations, and projections by OSQP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import Options, ending, new_model, run_in_time, set_options, simplex_steps
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.errors import InvalidArgument

if TYPE_CHECKING:
    import highspy

TOLERANCE = 1e-9  # by so much HiGHS may miss a row or a bound
_OPTIONS: Options = {
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": 1e-10,  # a proof loses it times the width of the bounds
    "ipm_iteration_limit": 200,
}
# where equations are nearly dependent HiGHS may not reach less
_LOOSE: Options = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}


def linear_program(
    cost: Vector,
    lower: Vector,
    upper: Vector,
    A: Matrix,
    b: Vector,
    equations: Matrix,
    rhs: Vector,
    options: Options | None = None,
) -> highspy.Highs:
    """``min cost @ z`` with ``A @ z <= b``, ``equations @ z == rhs`` and bounds."""
    model = new_model({**_OPTIONS, **(options or {})})
    n = len(cost)
    model.addVars(n, lower, upper)
    columns = np.arange(n, dtype=np.int32)
    model.changeColsCost(n, columns, cost)
    for row, side in zip(A, b, strict=True):
        model.addRow(-np.inf, side, n, columns, row)
    for row, side in zip(equations, rhs, strict=True):
        model.addRow(side, side, n, columns, row)
    return model


class ProgramFailure(RuntimeError):
    """HiGHS found no optimum."""


def solved(model: highspy.Highs, loosely: bool = False) -> Any:
    """Solution of a program.

    Parameters
    ----------
    model : highspy.Highs
        The program.
    loosely : bool
        Whether a solution to 1e-7 will do where HiGHS finds none to its tolerances.

    Raises
    ------
    InvalidArgument
        It is infeasible.
    ProgramFailure
        HiGHS found no optimum, by the simplex method or by its interior point method.
    OutOfTime
        The deadline passed.
    """
    import highspy

    set_options(model, {"simplex_iteration_limit": simplex_steps(model)})
    attempts: list[Options] = [{"solver": "choose"}, {"solver": "ipm"}]
    if loosely:
        attempts.append({"solver": "choose", **_LOOSE})
    for options in attempts:
        set_options(model, options)
        status = run_in_time(model)
        if status == highspy.HighsModelStatus.kOptimal:
            return model.getSolution()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise InvalidArgument("`A`, `b` and the equations must leave some point, and no point satisfies them")
        model.clearSolver()
    raise ProgramFailure(ending(model, status))


def bounded(
    model: highspy.Highs, lower: Vector, upper: Vector, tighten: bool
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Bounds where infinite ones, or all, give way to the extent of the set of a model.

    Third come the variables to which this leaves no more room than HiGHS' tolerance.

    Raises
    ------
    InvalidArgument
        The set has no end in some direction.
    """
    n = len(lower)
    sides, columns = [lower.copy(), upper.copy()], np.arange(n, dtype=np.int32)
    found, size = np.zeros(n, dtype=bool), np.ones(n)
    for j in np.flatnonzero(np.isinf(lower) | np.isinf(upper) | tighten):
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            if np.isfinite(side[j]) and not tighten:
                continue
            model.changeColsCost(n, columns, sign * (columns == j))
            try:
                value = solved(model).col_value[j]
            except ProgramFailure as problem:
                which = "below" if sign > 0 else "above"
                raise InvalidArgument(
                    f"`lower` and `upper` must bound what the rows do not: variable {j} has no bound {which}"
                ) from problem
            found[j], size[j] = True, max(size[j], abs(value))
            extent = value - sign * TOLERANCE * max(1.0, abs(value))  # HiGHS' tolerance must cut nothing off
            side[j] = sign * max(sign * side[j], sign * extent)
    return sides[0], sides[1], found & (sides[1] - sides[0] <= 4.0 * TOLERANCE * size)


def deepest_point(known: LinearConstraints) -> Vector:
    """``max r`` with ``A_i z + r |A_i| <= b_i`` and r between z and each bound, on the equations."""
    (A, b), lower, upper = known.inequalities, known.lower, known.upper
    n = len(lower)
    rows = np.vstack(
        [
            np.column_stack([A, np.linalg.norm(A, axis=1)]),
            np.column_stack([np.eye(n), np.ones(n)]),
            np.column_stack([-np.eye(n), np.ones(n)]),
        ]
    )
    equations = np.column_stack([known.equality_matrix, np.zeros(len(known.equality_rhs))])
    cost, least, most = np.r_[np.zeros(n), -1.0], np.r_[lower, 0.0], np.r_[upper, float((upper - lower).max())]
    solution = solved(linear_program(cost, least, most, rows, np.r_[b, upper, -lower], equations, known.equality_rhs))
    center: Vector = np.clip(np.array(solution.col_value[:n]), lower, upper)
    return center


def with_equations_found(known: LinearConstraints, flat: NDArray[np.bool_]) -> LinearConstraints:
    """Turn inequalities and bounds that no point leaves slack into equations, and drop equations that others imply.

    ``max sum(t) : A z + t <= tau b, z - t' >= tau lower, z + t'' <= tau upper, E z = tau f, tau >= 1, 0 <= t <= 1``
    has t_i = 1 for all that can be slack, 0 for the rest (Freund, Roundy & Todd 1985, "Identifying the set of
    always-active constraints"). As tau ends at 1e7, what is less slack than 1e-7 counts as never slack: of variables
    whose bounds are much less than 1 apart, in units of that distance, unless they are `flat` but for rounding.

    Raises
    ------
    InvalidArgument
        No point satisfies the constraints.
    """
    (A, b), lower, upper = known.inequalities, known.lower, known.upper
    n, m = len(lower), len(b)
    count = m + 2 * n
    units = np.where(flat, 1.0, _units(lower, upper))
    sides = np.vstack([A, -np.eye(n), np.eye(n)]) * units
    rhs = np.r_[b, -lower, upper]
    norms = np.linalg.norm(sides, axis=1)
    rows = np.hstack([sides / norms[:, None], np.eye(count), -(rhs / norms)[:, None]])
    equations = np.hstack(
        [known.equality_matrix * units, np.zeros((len(known.equality_rhs), count)), -known.equality_rhs[:, None]]
    )
    free = np.full(n, np.inf)
    solution = solved(
        linear_program(
            np.r_[np.zeros(n), -np.ones(count), 0.0],
            np.r_[-free, np.zeros(count), 1.0],
            np.r_[free, np.ones(count), 1e7],
            rows,
            np.zeros(count),
            equations,
            np.zeros(len(equations)),
            {"small_matrix_value": 1e-9},  # digits in which nearly dependent equations differ, or narrow variables
        ),
        loosely=True,  # a slack of 1 or 0 is told apart all the same
    )
    tight = np.array(solution.col_value[n : n + count]) < 0.5
    fixed = tight[m : m + n] | tight[m + n :]
    middle = np.clip(units * np.array(solution.col_value[:n]) / solution.col_value[-1], lower, upper)
    level = np.where(tight[m : m + n], lower, np.where(tight[m + n :], upper, middle))
    E = np.vstack([known.equality_matrix, A[tight[:m]], np.eye(n)[fixed]])
    f = np.r_[known.equality_rhs, b[tight[:m]], level[fixed]]
    if len(E):
        from scipy import linalg  # only here: the import takes time

        triangle, order = linalg.qr(E.T, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        order = np.sort(order[: np.count_nonzero(size > 1e-10 * size.max())])
        E, f = E[order], f[order]
    # the equation holds a fixed variable: its bounds need not be equal
    return LinearConstraints(E, f, lower - fixed, upper + fixed, A[~tight[:m]], b[~tight[:m]])


def _units(lower: Vector, upper: Vector) -> Vector:
    """Powers of two: 1, or the distance of the bounds of a variable where it is below a thousandth."""
    width = upper - lower
    small = (width > 0) & (width < 1e-3)
    return np.where(small, np.exp2(np.rint(np.log2(np.where(small, width, 1.0)))), 1.0)


def project_by_osqp(known: LinearConstraints, point: Vector, weights: Vector) -> Vector | None:
    """Nearest point in the norm ``sum(weights * z**2)`` within the bounds; `None` if OSQP fails, too.

    It is asked where the dual Newton method fails.
    """
    import osqp
    from scipy import sparse

    A, b = known.inequalities
    rows = sparse.csc_matrix(np.vstack([A, known.equality_matrix, np.eye(len(point))]))
    lower = np.r_[np.full(len(b), -np.inf), known.equality_rhs, known.lower]
    upper = np.r_[b, known.equality_rhs, known.upper]
    solver = osqp.OSQP()
    tight = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "polishing": True, "verbose": False}
    left = min(seconds_left(), 1e10)
    try:
        solver.setup(
            sparse.diags(weights, format="csc"), -weights * point, rows, lower, upper, time_limit=left, **tight
        )
        nearest = solver.solve(raise_error=False).x
    except osqp.OSQPException:
        return None
    if nearest is None or not np.isfinite(nearest).all():
        return None
    clipped: Vector = np.clip(nearest, known.lower, known.upper)
    return clipped
