"""Programs over a polyhedron: linear ones by HiGHS, which also find implied equations, and projections by OSQP."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import HighsProgram, Options, units_of
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains.linear_constraints import LinearConstraints, inequality_sides, stored_rows
from oracle_opt.errors import InvalidArgument
from oracle_opt.feasibility import allowed

TOLERANCE = 1e-9  # by so much HiGHS may miss a row or a bound
_OPTIONS: Options = {
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": 1e-10,  # a proof loses it times the width of the bounds
    "ipm_iteration_limit": 200,
}
# HiGHS takes no less than 1e-10; where equations are nearly dependent it may not reach less than 1e-7
_TOLERANCES = (1e-10, TOLERANCE, 1e-7)
THIN = 1e-3  # share of its unit below which a slack counts in a unit of its own


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
    program, matrix = HighsProgram({**_OPTIONS, **(options or {})}), stacked(A, equations)
    rows, columns = units_of(matrix, np.r_[b, rhs], lower, upper)
    program.add_columns(lower, upper, units=columns)
    program.add_rows(matrix, np.r_[np.full(len(b), -np.inf), rhs], np.r_[b, rhs], rows)
    program.change_costs(cost)
    return program


def stacked(*parts: Any) -> Any:
    """Rows below each other as a sparse matrix, of parts that are dense or sparse."""
    from scipy import sparse  # only here: the import takes time

    if all(isinstance(part, np.ndarray) for part in parts):
        return sparse.csr_array(np.vstack(parts))
    return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))


class ProgramFailure(RuntimeError):
    """HiGHS found no optimum."""


def solved(program: HighsProgram) -> tuple[Vector, Vector]:
    """Solution of a program, and the multipliers of its rows."""
    import highspy

    program.limit_steps()
    for solver in ("choose", "ipm"):
        program.set_options({"solver": solver})
        status = program.run()
        if status == highspy.HighsModelStatus.kOptimal:
            return program.solution()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise InvalidArgument("`A`, `b` and the equations must leave some point, and no point satisfies them")
        program.forget()
    raise ProgramFailure(program.ending(status))


def bounded(
    program: HighsProgram, lower: Vector, upper: Vector, tighten: bool, units: Vector
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Bounds, infinite ones or all replaced by a program's extent, and which variables are fixed within tolerance."""
    n = len(lower)
    sides = [lower.copy(), upper.copy()]
    found, size = np.zeros(n, dtype=bool), units.copy()
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
            extent = value - sign * TOLERANCE * max(units[j], abs(value))  # HiGHS' tolerance must cut nothing off
            side[j] = sign * max(sign * side[j], sign * extent)
    return sides[0], sides[1], found & (sides[1] - sides[0] <= 4.0 * TOLERANCE * size)


def units_of_variables(known: LinearConstraints) -> Vector:
    """Powers of two in which variables are counted, 1 for those of ordinary size.

    None is below the least of 1, its farther bound and what terms of rows bound it by: a 0 among these tells no size.
    """
    matrix, sides = stacked(*stored_rows(known)), np.r_[inequality_sides(known), known.equality_rhs]
    _, units = units_of(matrix, sides, known.lower, known.upper)
    far = np.maximum(np.abs(known.lower), np.abs(known.upper))
    ends = np.r_[far, np.abs(np.repeat(sides, np.diff(matrix.indptr)) / matrix.data)]
    least = np.ones(len(far))
    np.minimum.at(least, np.r_[np.arange(len(far)), matrix.indices], np.where(ends > 0, ends, 1.0))
    larger: Vector = np.maximum(units, np.exp2(np.floor(np.log2(least))))
    return larger


def deepest_point(known: LinearConstraints, units: Vector, depths: Vector) -> Vector:
    """``max r`` with ``S_i z + r depth_i <= t_i`` for inequalities, upper and lower bounds, on the equations."""
    from scipy import sparse  # only here: the import takes time

    n = len(units)
    rows, sides = _sides(known)
    rows = sparse.hstack([rows, sparse.csr_array(depths[:, None])])
    equations = np.column_stack([known.equality_matrix, np.zeros(len(known.equality_rhs))])
    cost, most = np.r_[np.zeros(n), -1.0], float(((known.upper - known.lower) / units).max())
    least, most = np.r_[known.lower, 0.0], np.r_[known.upper, most]
    program = linear_program(cost, least, most, rows, sides, equations, known.equality_rhs)
    center: Vector = np.clip(_solved_within(list(_TOLERANCES), program)[0][:n], known.lower, known.upper)
    return center


def least_squares(matrix: Matrix, sides: Vector) -> Vector:
    """The shortest vector that solves equations best, by a factorization with pivots: a fifth of the work of an SVD."""
    from scipy import linalg  # only here: the import takes time

    found: Vector = linalg.lstsq(matrix, sides, check_finite=False, lapack_driver="gelsy")[0]
    return found


def _sides(known: LinearConstraints) -> tuple[Any, Vector]:
    """Rows, sparse, and right-hand sides of the inequalities, of the upper bounds and of the lower ones."""
    from scipy import sparse  # only here: the import takes time

    (A, b), eye = known.inequalities, sparse.eye_array(len(known.lower), format="csr")
    return stacked(A, eye, -eye), np.r_[b, known.upper, -known.lower]


class Minimum(NamedTuple):
    """A proven bound on a linear minimum, a vertex, and the multipliers of inequalities and equations."""

    proven: float
    vertex: Vector
    u: Vector
    v: Vector


def _solved_within(tolerances: list[float], program: HighsProgram) -> tuple[Vector, Vector]:
    """As `solved`, to the first tolerance that HiGHS reaches; those before it are taken off the list."""
    while True:
        both = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
        program.set_options(dict.fromkeys(both, tolerances[0]))
        try:
            return solved(program)
        except (ProgramFailure, InvalidArgument):
            if len(tolerances) == 1:
                raise
            del tolerances[0]
            program.forget()


class EquationsFound(NamedTuple):
    """A set with the equations that were found, its width across each equation, and a depth of each inequality."""

    known: LinearConstraints
    widths: Vector
    depths: Vector


def with_equations_found(
    given: LinearConstraints,
    flat: NDArray[np.bool_],
    lower: Vector,
    upper: Vector,
    units: Vector,
    prove: Callable[[Vector, Vector, Vector], Minimum],
) -> EquationsFound:
    """Turn inequalities and bounds that no point leaves slack into equations, and drop equations that others imply.

    The sum of slacks is maximized among the rest until none exceeds 1e-9 of its row's terms. As multipliers prove it,
    the last sum bounds each slack: so wide may the set be across such an equation.
    """
    from scipy import linalg  # only here: the import takes time

    (A, b), m, n = given.inequalities, len(given.inequalities[1]), len(units)
    rows, sides = _sides(given)
    sizes = abs(rows)
    norms = np.r_[np.linalg.norm(A * units, axis=1), units, units]
    tight = np.isfinite(sides)
    sides = np.where(tight, sides, 0.0)
    shares = np.exp2(-np.rint(np.log2(norms)))  # powers of two: nothing is rounded
    extent, depths = np.maximum(np.abs(lower), np.abs(upper)), norms.copy()
    program = linear_program(np.zeros(n), lower, upper, A, b, given.equality_matrix, given.equality_rhs)
    tolerances = list(_TOLERANCES)
    with suppress(ProgramFailure, InvalidArgument):  # what a deep point leaves slack is no equation
        bounds = LinearConstraints(given.equality_matrix, given.equality_rhs, lower, upper, A, b)
        tight &= sides - rows @ deepest_point(bounds, units, norms) < THIN * norms
    while True:
        weights = (tight * shares).astype(np.longdouble)
        slope = weights @ rows
        program.change_costs(slope.astype(float))
        point, duals = _solved_within(tolerances, program)
        slack = sides - rows @ point
        noise = 2.0 * tolerances[0] * np.maximum(norms, np.abs(sides))
        room = np.maximum(allowed(sizes, point, sides, TOLERANCE, extent), noise)
        slack = np.where(tight & (slack > room), slack, 0.0)
        if not slack.any():
            break
        leaving = slack / norms >= 0.01 * (slack / norms).max()
        thin = leaving & (slack < THIN * norms)
        depths[thin] = slack[thin]
        tight &= ~leaving
    # a sum of k terms is rounded k - 1 times
    rounded = np.maximum((sizes[tight] > 0).sum(axis=0) - 1, 0) * (weights @ sizes)
    rounding = rounded @ extent + np.count_nonzero(tight) * (weights @ np.abs(sides))
    total = weights @ sides - prove(slope, point, duals).proven
    total += float(np.finfo(np.longdouble).eps) * rounding
    fixed = tight[m : m + n] | tight[m + n :]
    E, f = np.vstack([given.equality_matrix, rows[tight].toarray()]), np.r_[given.equality_rhs, sides[tight]]
    widths = np.r_[np.zeros(len(given.equality_rhs)), np.maximum(float(total), 0.0) / shares[tight]]
    if len(E):
        scaled = E * units / np.linalg.norm(E * units, axis=1)[:, None]
        triangle, order = linalg.qr(scaled.T, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        order = np.sort(order[: np.count_nonzero(size > 1e-10 * size.max())])
        E, f, widths = E[order], f[order], widths[order]
    # the equations hold a fixed variable: its bounds need not be equal
    lower = lower - units * (fixed | flat & np.isinf(given.lower))
    upper = upper + units * (fixed | flat & np.isinf(given.upper))
    width = np.where(upper - lower < THIN * units, upper - lower, np.inf)
    depths = np.minimum(np.where(tight, norms, depths), np.r_[np.full(m, np.inf), width, width])
    known = LinearConstraints(E, f, lower, upper, A[~tight[:m]], b[~tight[:m]])
    return EquationsFound(known, widths, np.r_[depths[:m][~tight[:m]], depths[m:]])


def project_by_osqp(
    known: LinearConstraints, point: Vector, weights: Vector, units: Vector, norms: Vector
) -> Vector | None:
    """Nearest point in the norm ``sum(weights * z**2)``, where dual Newton steps fail; `None` if OSQP does, too."""
    import osqp
    from scipy import sparse

    A, b = known.inequalities
    matrix = np.vstack([A, known.equality_matrix]) * units / norms[:, None]
    rows = sparse.csc_matrix(stacked(matrix, sparse.eye_array(len(point))))
    lower = np.r_[np.r_[np.full(len(b), -np.inf), known.equality_rhs] / norms, known.lower / units]
    upper = np.r_[np.r_[b, known.equality_rhs] / norms, known.upper / units]
    weights = weights * units**2
    weights /= weights.max()
    solver = osqp.OSQP()
    tight = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "polishing": True, "verbose": False}
    left = min(seconds_left(), 1e10)
    try:
        solver.setup(
            sparse.diags(weights, format="csc"),
            -weights * (point / units),
            rows,
            lower,
            upper,
            time_limit=left,
            **tight,
        )
        nearest = solver.solve(raise_error=False).x
    except osqp.OSQPException:
        return None
    if nearest is None or not np.isfinite(nearest).all():
        return None
    clipped: Vector = np.clip(nearest * units, known.lower, known.upper)
    return clipped
