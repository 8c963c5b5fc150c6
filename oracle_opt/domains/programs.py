"""Linear programs over a polyhedron, by HiGHS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
