"""A domain of linear inequalities and equations, served by HiGHS."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.domains.box import Box
from oracle_opt.domains.domain import Domain, ellipsoid_around
from oracle_opt.domains.linear_constraints import LinearConstraints
from oracle_opt.domains.programs import ProgramFailure, linear_program, solved
from oracle_opt.errors import InvalidArgument

if TYPE_CHECKING:
    import highspy

    from oracle_opt.domains.projection import Projection

_one_at_a_time = RLock()  # several runs may share a domain, and a model of HiGHS serves one thread

MISSED = 1e-8  # distance to a constraint, in units of the point, that a projection may leave


class Polyhedron(Domain):
    """``{z : A @ z <= b, equality_matrix @ z == equality_rhs, lower <= z <= upper}``, bounded.

    Linear minimization and the interior point are programs for HiGHS, the projection is a Newton method on its dual,
    with OSQP to fall back on; answers satisfy the constraints up to 1e-9 or so. Inequalities and bounds that no point
    leaves slack are found and kept as equations, so that the set has an interior within them.

    Parameters
    ----------
    A : array_like of shape (m, n), optional
        Inequalities.
    b : array_like of shape (m,), optional
        Right-hand sides.
    equality_matrix : array_like of shape (k, n), optional
        Equations.
    equality_rhs : array_like of shape (k,), optional
        Right-hand sides.
    lower, upper : float or array_like of shape (n,), optional
        Bounds. Where they are infinite, or not given, the extent of the set in each direction takes their place, by two
        linear programs a variable.
    tighten : bool
        Whether finite bounds, too, give way to the extent of the set where that is less. What rests on the bounds, as
        the proof of `minimize_linear`, gets the better the tighter they are.
    center : array_like of shape (n,), optional
        Where the interior point should be near. Default: it is the deepest point, wherever that may be.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite, no point at all, or no bound in some direction.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Polyhedron
    >>> triangle = Polyhedron([[1, 1]], [1], lower=0)
    >>> round(float(triangle.minimize_linear(np.array([-1.0, -2.0]))[0]), 9)
    -2.0
    >>> triangle.project(np.array([1.0, 1.0])).round(9).tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        *,
        equality_matrix: ArrayLike | None = None,
        equality_rhs: ArrayLike | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        tighten: bool = False,
        center: ArrayLike | None = None,
    ) -> None:
        n = next((np.shape(M)[-1] for M in (A, equality_matrix, lower, upper) if M is not None and np.ndim(M)), None)
        if n is None:
            raise InvalidArgument("`A`, `equality_matrix`, `lower` or `upper` must tell the number of variables")
        self.dimension = int(n)
        self.A, self.b = _rows("A", A, "b", b, self.dimension)
        self.equality_matrix, self.equality_rhs = _rows(
            "equality_matrix", equality_matrix, "equality_rhs", equality_rhs, self.dimension
        )
        self.lower, self.upper = (np.array(np.broadcast_to(side, (n,)), dtype=float) for side in (lower, upper))
        if not (self.lower <= self.upper).all():
            raise InvalidArgument("`lower` must be at most `upper`")
        self._linear = self._program(np.zeros(n))
        self._bound_all(tighten)
        self._bound_by_sums()
        self._find_equations()
        self._linear = self._program(np.zeros(n))
        self._interior = self.project(self._deepest_point())
        if center is not None:
            self._interior = self._interior_near(np.array(center, dtype=float))

    def __repr__(self) -> str:
        rows = f"{len(self.b)} inequalities, {len(self.equality_rhs)} equations"
        return f"Polyhedron({rows}, dimension={self.dimension})"

    def reset(self) -> None:
        """Forget the last vertex, from which HiGHS starts: among several minimizers it may decide which is found."""
        with _one_at_a_time:
            self._linear.clearSolver()

    def identity(self) -> str:
        """Rows, bounds and the interior point."""
        rows = self.A, self.b, self.equality_matrix, self.equality_rhs
        return f"{self!r}, {type(self).__qualname__} #{digest(*rows, self.lower, self.upper, self._interior)}"

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum and a vertex; the minimum is the one its multipliers prove, over the bounds, rounded down.

        Should HiGHS fail, no multiplier is known: the minimum is then that over the bounds alone, a lower bound still,
        and the point is the interior one.
        """
        columns = np.arange(self.dimension, dtype=np.int32)
        unit = float(np.abs(slope).max(initial=0.0)) or 1.0
        m = len(self.b)
        try:
            with _one_at_a_time:
                self._linear.changeColsCost(self.dimension, columns, slope / unit)
                solution = solved(self._linear)
            duals, vertex = np.array(solution.row_dual), np.array(solution.col_value)
        except (ProgramFailure, InvalidArgument):
            duals, vertex = np.zeros(m + len(self.equality_rhs)), self._interior
        u, v = np.maximum(-duals[:m], 0.0), -duals[m:]
        rows, equations = np.flatnonzero(u), np.flatnonzero(v)
        A, b, u = self.A[rows], self.b[rows], u[rows]
        E, f, v = self.equality_matrix[equations], self.equality_rhs[equations], v[equations]
        # for any u >= 0 and v: slope z >= (slope + A'u + E'v) z - u b - v f on the set; where bounds are far, each
        # digit of the reduced slope counts: in extended precision, where there is one
        exact = np.longdouble
        reduced = slope.astype(exact) / unit + u.astype(exact) @ A + v.astype(exact) @ E
        least = (
            np.minimum(reduced * self._least, reduced * self._most).sum() - u.astype(exact) @ b - v.astype(exact) @ f
        )
        # the terms of a reduced slope, then those of the minimum (u and v count as they are)
        size = (np.abs(slope) / unit + u @ np.abs(A) + np.abs(v) @ np.abs(E)) @ self._reach
        size += u @ np.abs(b) + np.abs(v) @ np.abs(f)
        error = float(np.finfo(exact).eps) * (len(u) + len(v) + 0.5 * self.dimension + 4) * float(size)
        proven = float(least) - error - EPS * (abs(float(least)) + error)
        return unit * proven, np.clip(vertex, self.lower, self.upper)

    def extent(self, slope: Vector) -> float:
        """By bounds of each variable, which a bound on the sum of all may have made tighter."""
        return float(np.abs(slope).dot(self._reach))

    def minimum_rounding(self, slope: Vector) -> float:
        """Return 0: `minimize_linear` rounds down by itself."""
        return 0.0

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, through the dual, one variable a row; a point inside is its own."""
        if self._violation(point) <= 1e-10 * max(1.0, float(np.abs(point).max())):
            return np.clip(point, self.lower, self.upper)
        weights = np.ones(self.dimension) if metric is None else metric / metric.max()
        found = self._projection(point, weights)
        if found.converged:
            return found.point
        near = self._project_by_osqp(point, weights)
        if near is not None and self._violation(near) <= MISSED * max(1.0, float(np.abs(near).max())):
            return near
        return self._pulled_in(found.point if near is None else near)

    def _projection(self, point: Vector, weights: Vector, room: float = 0.0) -> Projection:
        """Nearest point with some distance to each inequality and bound, by the Newton method."""
        from oracle_opt.domains.projection import project_on_cuts  # only here: it loads scipy

        matrix = np.vstack([self.A, self.equality_matrix])
        norms = np.linalg.norm(matrix, axis=1)
        rhs = np.r_[self.b, self.equality_rhs]
        rhs[: len(self.b)] -= room * norms[: len(self.b)]
        return project_on_cuts(
            Box(self.lower + room, self.upper - room),
            point,
            weights,
            matrix,
            rhs,
            np.zeros(len(rhs)),
            unit=1e-4 * norms,
            n_equations=len(self.equality_rhs),
        )

    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """Whether no constraint is farther away than tolerance * max(1, norm of the point)."""
        return self._violation(point) <= tolerance * max(1.0, float(np.linalg.norm(point)))

    def interior_point(self) -> Vector:
        """Center of the largest ball within the equations, or a point near the center that was given."""
        return self._interior.copy()

    def linear_constraints(self) -> LinearConstraints:
        """Return the whole description."""
        return LinearConstraints(self.equality_matrix, self.equality_rhs, self.lower, self.upper, self.A, self.b)

    def bounding_box(self) -> tuple[Vector, Vector]:
        """Return the bounds."""
        return self.lower.copy(), self.upper.copy()

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """The smallest around the bounds; with equations as for every domain, about the extent of the set."""
        if not len(self.equality_rhs):
            return ellipsoid_around(self.lower, self.upper)
        return super().enclosing_ellipsoid()

    def _pulled_in(self, point: Vector) -> Vector:
        """Where the segment from the interior point to a point leaves the set, for want of the nearest point."""
        away = point - self._interior
        if len(self.equality_rhs):
            away -= np.linalg.pinv(self.equality_matrix) @ (self.equality_matrix @ away)
        rows = np.vstack([self.A, np.eye(self.dimension), -np.eye(self.dimension)])
        room = np.maximum(np.r_[self.b, self.upper, -self.lower] - rows @ self._interior, 0.0)
        speed = rows @ away
        longest = float(np.min(room[speed > 0] / speed[speed > 0], initial=1.0))
        inside: Vector = np.clip(self._interior + longest * away, self.lower, self.upper)
        return inside

    def _project_by_osqp(self, point: Vector, weights: Vector) -> Vector | None:
        """Project with OSQP, where the dual Newton method failed; `None` if it fails, too."""
        import osqp
        from scipy import sparse

        rows = sparse.csc_matrix(np.vstack([self.A, self.equality_matrix, np.eye(self.dimension)]))
        lower = np.r_[np.full(len(self.b), -np.inf), self.equality_rhs, self.lower]
        upper = np.r_[self.b, self.equality_rhs, self.upper]
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
        clipped: Vector = np.clip(nearest, self.lower, self.upper)
        return clipped

    def _violation(self, z: Vector) -> float:
        """Largest distance to a constraint."""
        rows = (self.A @ z - self.b) / np.linalg.norm(self.A, axis=1)
        equations = np.abs(self.equality_matrix @ z - self.equality_rhs) / np.linalg.norm(self.equality_matrix, axis=1)
        bounds = np.maximum(self.lower - z, z - self.upper)
        return max(float(side.max(initial=0.0)) for side in (rows, equations, bounds))

    def _program(self, cost: Vector) -> highspy.Highs:
        """Linear program over the set."""
        return linear_program(cost, self.lower, self.upper, self.A, self.b, self.equality_matrix, self.equality_rhs)

    def _bound_all(self, tighten: bool) -> None:
        """Replace infinite bounds, or all, by the extent of the set."""
        columns = np.arange(self.dimension, dtype=np.int32)
        for j in np.flatnonzero(np.isinf(self.lower) | np.isinf(self.upper) | tighten):
            for side, sign in ((self.lower, 1.0), (self.upper, -1.0)):
                if np.isfinite(side[j]) and not tighten:
                    continue
                self._linear.changeColsCost(self.dimension, columns, sign * (columns == j))
                try:
                    value = solved(self._linear).col_value[j]
                except ProgramFailure as problem:
                    which = "below" if sign > 0 else "above"
                    raise InvalidArgument(
                        f"`lower` and `upper` must bound what the rows do not: variable {j} has no bound {which}"
                    ) from problem
                extent = value - sign * 1e-9 * max(1.0, abs(value))  # HiGHS' tolerance must cut nothing off
                side[j] = sign * max(sign * side[j], sign * extent)

    def _bound_by_sums(self) -> None:
        """Bounds for proofs alone: no variable exceeds its bound by more than all together can."""
        self._least, self._most, self._interior = self.lower, self.upper, 0.5 * (self.lower + self.upper)
        self._reach = np.maximum(np.abs(self.lower), np.abs(self.upper))
        ones = np.ones(self.dimension)
        error = EPS * (self.dimension + 2) * float(self._reach.sum())
        above = -self.minimize_linear(-ones)[0] - float(self.lower.sum()) + error  # the largest sum(z - lower)
        below = float(self.upper.sum()) - self.minimize_linear(ones)[0] + error
        self._least, self._most = np.maximum(self.lower, self.upper - below), np.minimum(self.upper, self.lower + above)
        self._reach = np.maximum(np.abs(self._least), np.abs(self._most))

    def _find_equations(self) -> None:
        """Turn what is never slack into equations, and drop equations that others imply.

        ``max sum(t) : A z + t <= tau b, z - t' >= tau lower, z + t'' <= tau upper, E z = tau f, tau >= 1, 0 <= t <= 1``
        has t_i = 1 for all that can be slack, 0 for the rest (Freund, Roundy & Todd 1985, "Identifying the set of
        always-active constraints").
        """
        n, m = self.dimension, len(self.b)
        count = m + 2 * n
        sides = np.vstack([self.A, -np.eye(n), np.eye(n)])
        rhs = np.r_[self.b, -self.lower, self.upper]
        norms = np.linalg.norm(sides, axis=1)
        rows = np.hstack([sides / norms[:, None], np.eye(count), -(rhs / norms)[:, None]])
        equations = np.hstack(
            [self.equality_matrix, np.zeros((len(self.equality_rhs), count)), -self.equality_rhs[:, None]]
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
            )
        )
        tight = np.array(solution.col_value[n : n + count]) < 0.5
        fixed = tight[m : m + n] | tight[m + n :]
        middle = np.clip(np.array(solution.col_value[:n]) / solution.col_value[-1], self.lower, self.upper)
        level = np.where(tight[m : m + n], self.lower, np.where(tight[m + n :], self.upper, middle))
        E = np.vstack([self.equality_matrix, self.A[tight[:m]], np.eye(n)[fixed]])
        f = np.r_[self.equality_rhs, self.b[tight[:m]], level[fixed]]
        self.A, self.b = self.A[~tight[:m]], self.b[~tight[:m]]
        self.lower, self.upper = self.lower - fixed, self.upper + fixed  # the equation holds a fixed variable
        if len(E):
            from scipy import linalg  # only here: the import takes time

            triangle, order = linalg.qr(E.T, mode="r", pivoting=True)
            size = np.abs(np.diag(triangle))
            order = np.sort(order[: np.count_nonzero(size > 1e-10 * size.max())])
            E, f = E[order], f[order]
        self.equality_matrix, self.equality_rhs = E, f

    def _deepest_point(self) -> Vector:
        """``max r`` with ``A_i z + r |A_i| <= b_i`` and r between z and each bound."""
        n = self.dimension
        width = self.upper - self.lower
        rows = np.vstack(
            [
                np.column_stack([self.A, np.linalg.norm(self.A, axis=1)]),
                np.column_stack([np.eye(n), np.ones(n)]),
                np.column_stack([-np.eye(n), np.ones(n)]),
            ]
        )
        sides = np.r_[self.b, self.upper, -self.lower]
        equations = np.column_stack([self.equality_matrix, np.zeros(len(self.equality_rhs))])
        cost, lower, upper = np.r_[np.zeros(n), -1.0], np.r_[self.lower, 0.0], np.r_[self.upper, float(width.max())]
        solution = solved(linear_program(cost, lower, upper, rows, sides, equations, self.equality_rhs))
        center: Vector = np.clip(np.array(solution.col_value[:n]), self.lower, self.upper)
        return center

    def _interior_near(self, center: Vector) -> Vector:
        """Nearest point to the center among those that leave a tenth of the deepest point's room, at most 1."""
        norms = np.linalg.norm(self.A, axis=1)
        rooms = (self.b - self.A @ self._interior) / norms, self._interior - self.lower, self.upper - self._interior
        room = min(1.0, 0.1 * min(float(part.min(initial=np.inf)) for part in rooms))
        found = self._projection(center, np.ones(self.dimension), room)
        return found.point if found.converged else self._interior


def _rows(name: str, matrix: ArrayLike | None, side_name: str, side: ArrayLike | None, n: int) -> tuple[Matrix, Vector]:
    if (matrix is None) != (side is None):
        raise InvalidArgument(f"`{name}` and `{side_name}` must be given together")
    if matrix is None:
        return np.zeros((0, n)), np.zeros(0)
    A, b = np.array(matrix, dtype=float), np.array(side, dtype=float)
    if A.ndim != 2 or A.shape[1] != n or b.shape != A.shape[:1]:
        raise InvalidArgument(
            f"`{name}` and `{side_name}` must have shapes (m, {n}) and (m,), got {A.shape} and {b.shape}"
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise InvalidArgument(f"`{name}` and `{side_name}` must be finite")
    used = np.abs(A).max(axis=1, initial=0.0) > 0
    empty = np.flatnonzero(~used)
    if len(empty):
        raise InvalidArgument(f"`{name}` must have no row of zeros, got one at {empty[0]}")
    return A, b
