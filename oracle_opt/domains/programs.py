"""Programs over a polyhedron: linear ones by HiGHS, which also find implied equations, and projections by OSQP."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import HighsProgram, Options, units_of
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.errors import InvalidArgument

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
) -> HighsProgram:
    """``min cost @ z`` with ``A @ z <= b``, ``equations @ z == rhs`` and bounds, in units of its rows and variables."""
    from scipy import sparse  # only here: the import takes time

    program, matrix = HighsProgram({**_OPTIONS, **(options or {})}), sparse.csr_array(np.vstack([A, equations]))
    rows, columns = units_of(matrix, np.r_[b, rhs], lower, upper)
    program.add_columns(lower, upper, units=columns)
    program.add_rows(matrix, np.r_[np.full(len(b), -np.inf), rhs], np.r_[b, rhs], rows)
    program.change_costs(cost)
    return program


class ProgramFailure(RuntimeError):
    """HiGHS found no optimum."""


def solved(program: HighsProgram, loosely: bool = False) -> tuple[Vector, Vector]:
    """Solution of a program, and the multipliers of its rows.

    Parameters
    ----------
    program : HighsProgram
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

    program.limit_steps()
    attempts: list[Options] = [{"solver": "choose"}, {"solver": "ipm"}]
    if loosely:
        attempts.append({"solver": "choose", **_LOOSE})
    for options in attempts:
        program.set_options(options)
        status = program.run()
        if status == highspy.HighsModelStatus.kOptimal:
            return program.solution()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise InvalidArgument("`A`, `b` and the equations must leave some point, and no point satisfies them")
        program.forget()
    raise ProgramFailure(program.ending(status))


def bounded(
    program: HighsProgram, lower: Vector, upper: Vector, tighten: bool
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Bounds where infinite ones, or all, give way to the extent of the set of a program.

    Third come the variables to which this leaves no more room than HiGHS' tolerance.

    Raises
    ------
    InvalidArgument
        The set has no end in some direction.
    """
    n = len(lower)
    sides = [lower.copy(), upper.copy()]
    found, size = np.zeros(n, dtype=bool), np.ones(n)
    for j in np.flatnonzero(np.isinf(lower) | np.isinf(upper) | tighten):
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            if np.isfinite(side[j]) and not tighten:
                continue
            program.change_costs(sign * (np.arange(n) == j))
            try:
                value = solved(program)[0][j]
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
    program = linear_program(cost, least, most, rows, np.r_[b, upper, -lower], equations, known.equality_rhs)
    center: Vector = np.clip(solved(program)[0][:n], lower, upper)
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
    solution, _ = solved(
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
    tight = solution[n : n + count] < 0.5
    fixed = tight[m : m + n] | tight[m + n :]
    middle = np.clip(units * solution[:n] / solution[-1], lower, upper)
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
