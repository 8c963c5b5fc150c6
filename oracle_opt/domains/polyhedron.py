"""A domain of linear inequalities and equations, served by HiGHS."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import flag, floats, sparse_matrix
from oracle_opt.arrays import EPS, Matrix, Vector, digest
from oracle_opt.domains._domain_arguments import checked_center, checked_rows
from oracle_opt.domains.box import Box
from oracle_opt.domains.described_sets import Described, described_rows
from oracle_opt.domains.domain import Domain
from oracle_opt.domains.linear_constraints import (
    LinearConstraints,
    SparseConstraints,
    ellipsoid_around,
    inequality_sides,
    stored_rows,
)
from oracle_opt.domains.programs import (
    Minimum,
    ProgramFailure,
    bounded,
    deepest_point,
    least_squares,
    linear_program,
    project_by_osqp,
    solved,
    stacked,
    units_of_variables,
    with_equations_found,
)
from oracle_opt.domains.promised_bounds import PromisedBounds, checked_promised
from oracle_opt.errors import InvalidArgument
from oracle_opt.feasibility import allowed, within_bounds

if TYPE_CHECKING:
    from oracle_opt._highs_model import HighsProgram
    from oracle_opt.domains.projection import Projection

_one_at_a_time = RLock()  # several runs may share a domain, and a model of HiGHS serves one thread

MISSED = 1e-8  # share of a variable's unit by which bounds that stand in a certificate are wider
WORTH = 1e-9  # share of a minimum that a proof may lose before its multipliers are cleaned
INSIDE = 1e-10  # share of the terms of a row by which a point that is its own projection may miss it
LARGE = 2.0**10  # of its unit: rounding of a variable is that of no more, however far its bounds are
FOUND = (  # attributes that are made when they are first asked for
    *("A", "b", "equality_matrix", "equality_rhs", "lower", "upper", "_rows", "_sides", "_sizes", "_norms", "_widths"),
    *("_linear", "_least", "_most", "_farthest", "_large", "_depths", "_inside"),
)
MENDS = 10  # so many steps toward the rows that a point misses


def _is_sparse(values: Any) -> bool:
    """Whether a matrix is a sparse one of scipy, without loading that."""
    return hasattr(values, "tocsr")


def _stored(name: str, values: Any) -> Any:
    """A new array of floats, or a sparse matrix of what is not 0."""
    if not _is_sparse(values):
        return floats(name, values)
    made = sparse_matrix(name, values)
    made.eliminate_zeros()
    return made


class Polyhedron(Domain):
    """``{z : A @ z <= b, equality_matrix @ z == equality_rhs, lower <= z <= upper}``, bounded.

    Linear minimization and the interior point are programs for HiGHS, the projection is a Newton method on its dual,
    with OSQP to fall back on; answers satisfy the constraints up to 1e-9 or so. Inequalities and bounds that no point
    leaves slack are found and kept as equations, so that the set has an interior within them.

    Parameters
    ----------
    A : array_like or sparse matrix of shape (m, n), optional
        Inequalities. What is sparse stays so until dense rows are needed, as for a projection.
    b : array_like of shape (m,), optional
        Right-hand sides.
    equality_matrix : array_like or sparse matrix of shape (k, n), optional
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
    promised : array_like of bool, shape (2, n) or to be broadcast
        Which of the given lower and upper bounds are no constraints of the problem but the statement that some
        minimizer lies within, as those of a `Box`. Default: none.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, entries that are not finite, a row of zeros that does not hold, no point at all, or no
        bound in some direction.

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

    lower: Vector
    upper: Vector
    _linear: HighsProgram
    _farthest: Vector
    _inside: Vector | None

    def __init__(
        self,
        A: Any = None,
        b: ArrayLike | None = None,
        *,
        equality_matrix: Any = None,
        equality_rhs: ArrayLike | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        tighten: bool = False,
        center: ArrayLike | None = None,
        promised: ArrayLike = False,
    ) -> None:
        given = {
            name: None if values is None else _stored(name, values)
            for name, values in (
                ("A", A),
                ("b", b),
                ("equality_matrix", equality_matrix),
                ("equality_rhs", equality_rhs),
            )
        }
        A, b, equality_matrix, equality_rhs = given.values()
        lower, upper, tighten = floats("lower", lower), floats("upper", upper), flag("tighten", tighten)
        n = next((np.shape(M)[-1] for M in (A, equality_matrix, lower, upper) if M is not None and np.ndim(M)), None)
        if n is None:
            raise InvalidArgument("`A`, `equality_matrix`, `lower` or `upper` must tell the number of variables")
        self.dimension = int(n)
        A, b = checked_rows("A", A, "b", b, self.dimension, equations=False)
        E, f = checked_rows(
            "equality_matrix", equality_matrix, "equality_rhs", equality_rhs, self.dimension, equations=True
        )
        for name, side in (("lower", lower), ("upper", upper)):
            if side.shape not in ((), (n,)):
                raise InvalidArgument(f"`{name}` must be a number or have shape ({n},), got {side.shape}")
        lower, upper = (np.array(np.broadcast_to(side, (n,))) for side in (lower, upper))
        if not (lower <= upper).all():
            raise InvalidArgument("`lower` must be at most `upper`")
        self._stated = PromisedBounds(lower, upper, checked_promised(promised, self.dimension))
        self._center, self._tighten = None if center is None else checked_center(center, self.dimension), tighten
        self._digest = digest(A, b, E, f, lower, upper, tighten, self._center, np.argwhere(self._stated.promised))
        if is_sparse := _is_sparse(A) or _is_sparse(E):
            A, E = sparse_matrix("A", A), sparse_matrix("equality_matrix", E)
        self._given = (SparseConstraints if is_sparse else LinearConstraints)(E, f, lower, upper, A, b)
        self._units = units_of_variables(self._given)
        self._box, self._given_sizes = (lower, upper), abs(stacked(A, E) if is_sparse else np.vstack([A, E]))
        waits = not tighten and np.isfinite([lower, upper]).all() and (lower < upper).all()
        if not waits:
            self._box = self.lower, self.upper
        self._extent = np.minimum(np.abs(self._box).max(axis=0), LARGE * self._units)
        if waits and not (is_sparse and self._finds_point()):
            with suppress(ProgramFailure):  # whether there is a point: all else waits until it is asked for
                solved(linear_program(np.zeros(self.dimension), lower, upper, A, b, E, f))

    def _finds_point(self) -> bool:
        """Whether steps of least squares toward the equations end in the set, which saves a linear program."""
        from scipy.sparse.linalg import lsmr  # only here: the import takes time

        E, f = stored_rows(self._given)[1], self._given.equality_rhs
        point, scaled = np.clip(np.zeros(self.dimension), *self._box), E * self._units
        for _ in range(MENDS):
            if self._violation(point, INSIDE) <= 1.0:
                return True
            missed = f - E @ point
            step = lsmr(scaled, missed, atol=1e-13, btol=1e-13, maxiter=100)[0] if len(f) else 0.0
            point = np.clip(point + self._units * step, *self._box)
            if np.abs(f - E @ point).sum() >= 0.1 * np.abs(missed).sum():
                break
        return False

    def __getattr__(self, name: str) -> Any:
        """Attributes found by linear programs, on first use: a run that one answer ends needs none."""
        if name not in FOUND or "_box" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with _one_at_a_time:
            if name not in vars(self):
                vars(self).update(vars(copy(self)._find()))
        return vars(self)[name]

    def _find(self) -> Polyhedron:
        """Find the bounds, and the inequalities that are equations."""
        known = self._given
        self._set(known, np.zeros(len(known.equality_rhs)))
        self.lower, self.upper, flat = bounded(self._linear, known.lower, known.upper, self._tighten, self._units)
        self._bound_by_sums()
        found = with_equations_found(known, flat, self.lower, self.upper, self._units, self._proven_by)
        self._set(found.known, found.widths)
        self._large = np.minimum(self._farthest, LARGE * self._units)
        self._depths, self._inside = found.depths, None
        return self

    def _set(self, known: LinearConstraints, widths: Vector) -> None:
        """Take a description of the set, with the widths that it has across its equations."""
        (self.A, self.b), self.lower, self.upper = known.inequalities, known.lower, known.upper
        self.equality_matrix, self.equality_rhs, self._widths = known.equality_matrix, known.equality_rhs, widths
        self._rows, self._sides = np.vstack([self.A, self.equality_matrix]), np.r_[self.b, self.equality_rhs]
        self._sizes = np.abs(self._rows)
        self._norms = np.linalg.norm(self._rows * self._units, axis=1)
        self._linear = linear_program(
            np.zeros(self.dimension), self.lower, self.upper, self.A, self.b, self.equality_matrix, self.equality_rhs
        )

    @property
    def _interior(self) -> Vector:
        """The interior point, found when it is first asked for."""
        with _one_at_a_time:
            if self._inside is None:
                found = deepest_point(self.linear_constraints(), self._units, self._depths)
                self._inside = found  # for want of one that is mended
                self._inside = self._mended(found)
                if self._center is not None:
                    self._inside = self._interior_near(self._center)
            return self._inside

    def __repr__(self) -> str:
        rows = f"{len(inequality_sides(self._given))} inequalities, {len(self._given.equality_rhs)} equations"
        return f"Polyhedron({rows}, dimension={self.dimension})"

    def reset(self) -> None:
        """Forget the last vertex, from which HiGHS starts: among several minimizers it may decide which is found."""
        with _one_at_a_time:
            if "_linear" in vars(self):
                self._linear.forget()

    def identity(self) -> str:
        """Return what was given: rows, bounds, whether to tighten them, the center, and which bounds are promised."""
        return f"{type(self).__qualname__}(dimension={self.dimension}) #{self._digest}"

    def minimize_linear(self, slope: Vector) -> tuple[float, Vector]:
        """Minimum and a vertex; the minimum is the one its multipliers prove, over the bounds, rounded down.

        Should HiGHS fail, no multiplier is known: the minimum is then that over the bounds alone, a lower bound still,
        and the point is the interior one.
        """
        unit = float((np.abs(slope) * self._units).max(initial=0.0)) or 1.0
        proven, vertex, _, _ = self._minimized(slope / unit)
        return unit * proven, self._mended(vertex)

    def _minimized(self, slope: Vector, worth: float = WORTH) -> Minimum:
        """A proven bound on the least of a slope of size 1, in units; multipliers are cleaned for a share, `worth`."""
        try:
            with _one_at_a_time:
                self._linear.change_costs(slope)
                vertex, duals = solved(self._linear)
        except (ProgramFailure, InvalidArgument):
            duals, vertex = np.zeros(len(self._rows)), self._interior
        return self._proven_by(slope, vertex, duals, worth)

    def _proven_by(self, slope: Vector, vertex: Vector, duals: Vector, worth: float = 0.0) -> Minimum:
        """As `_minimized`, from what a solver found."""
        m = len(self.b)
        u, v = np.maximum(-duals[:m], 0.0), -duals[m:]
        proven = self._proven(slope, u, v)
        if float(slope @ vertex) - proven > worth * (abs(proven) + 1.0):
            cleaned = self._without_remainders(slope, u, v, vertex)
            better = self._proven(slope, *cleaned)
            if better > proven:
                return Minimum(better, vertex, *cleaned)
        return Minimum(proven, vertex, u, v)

    def described(self, slope: Vector) -> Mapping[str, Described]:
        """Return rows and bounds, with the multipliers by which `minimize_linear` proves its minimum.

        Bounds that the sum of all variables makes tighter are stated as such, with room for the rounding of points.
        """
        if not slope.any():
            return self._described(self._given, *self._box, np.zeros(self._given_sizes.shape[0]))
        # a power of two: nothing is rounded
        unit = 2.0 ** np.frexp((np.abs(slope) * self._units).max(initial=0.0))[1]
        # the same to rounding, whatever was asked before
        _, _, u, v = self._minimized(slope / unit, worth=0.0)
        least = self._least - MISSED * (self._units + abs(self._least))
        most = self._most + MISSED * (self._units + abs(self._most))
        lower, upper = np.maximum(self.lower, least), np.minimum(self.upper, most)
        return self._described(self.linear_constraints(), lower, upper, unit * np.r_[u, v], self._widths)

    def _described(
        self, known: LinearConstraints, lower: Vector, upper: Vector, duals: Vector, widths: Vector | None = None
    ) -> Mapping[str, Described]:
        """Rows and bounds, with multipliers of all rows; where bounds are promised, the set without these, too."""
        u, v = np.split(duals, [len(known.inequalities[1])])
        rows = described_rows(known, lower, upper, u, v, widths)
        if not self._stated.promised.any():
            return {"set": rows}
        own = described_rows(known, *self._stated.constraints(), 0.0 * u, 0.0 * v, widths)
        return {"set": own, "promised": rows}

    def doubt(self, point: Vector) -> str:
        """At a promised bound, within a hundredth of its size or of the width."""
        return self._stated.doubt(point)

    def promise(self) -> str:
        """Return which bounds are only promised."""
        return self._stated.words()

    def _proven(self, slope: Vector, u: Vector, v: Vector) -> float:
        """The bound on the minimum that multipliers of the inequalities and equations prove, rounded down."""
        rows, equations = np.flatnonzero(u), np.flatnonzero(v)
        A, b, u = self.A[rows], self.b[rows], u[rows]
        E, f, v = self.equality_matrix[equations], self.equality_rhs[equations], v[equations]
        # as of `oracle_opt.proof.linear`, for any u >= 0 and v; once a query, so without its numbers, and where bounds
        # are far, each digit of the reduced slope counts: in extended precision, where there is one
        exact = np.longdouble
        reduced = slope.astype(exact) + u.astype(exact) @ A + v.astype(exact) @ E
        least = np.minimum(reduced * self._least, reduced * self._most).sum()
        least -= u.astype(exact) @ b + v.astype(exact) @ f
        # E z is f or, of an equation that was found, less by its width at most
        least -= np.maximum(-v, 0.0).astype(exact) @ self._widths[equations]
        # the terms of a reduced slope, then those of the minimum (u and v count as they are)
        size = (np.abs(slope) + u @ np.abs(A) + np.abs(v) @ np.abs(E)) @ self._farthest
        size += u @ np.abs(b) + np.abs(v) @ np.abs(f)
        error = float(np.finfo(exact).eps) * (len(u) + len(v) + 0.5 * self.dimension + 4) * float(size)
        return float(least) - error - EPS * (abs(float(least)) + error)

    def _without_remainders(self, slope: Vector, u: Vector, v: Vector, vertex: Vector) -> tuple[Vector, Vector]:
        """The multipliers nearest to these with reduced slopes 0, not HiGHS' tolerance, where the vertex is free."""
        room = 1e-9 * (self._units + np.abs(vertex))
        between = (vertex > self.lower + room) & (vertex < self.upper - room)
        rooms = self.b - self.A @ vertex
        used = np.flatnonzero((u > 0) & (rooms <= 1e-7 * (np.abs(self.b) + np.abs(self.A) @ np.abs(vertex))))
        chosen = np.r_[used, np.arange(len(u), len(self._rows))]
        matrix, units, norms = self._rows[chosen][:, between], self._units[between], self._norms[chosen]
        scaled = (matrix / norms[:, None] * units).T
        found = np.r_[u[used], v]
        for _ in range(2):  # the second time for what rounding left
            reduced = slope[between].astype(np.longdouble) + found.astype(np.longdouble) @ matrix
            found = found - least_squares(scaled, units * reduced.astype(float)) / norms
        u = np.zeros_like(u)
        u[used] = np.maximum(found[: len(used)], 0.0)
        return u, found[len(used) :]

    def extent(self, slope: Vector) -> float:
        """By bounds of each variable, which a bound on the sum of all may have made tighter."""
        return float(np.abs(slope).dot(self._farthest)) if slope.any() else 0.0

    def minimum_rounding(self, slope: Vector) -> float:
        """Return 0: `minimize_linear` rounds down by itself."""
        return 0.0

    def project(self, point: Vector, metric: Vector | None = None) -> Vector:
        """Nearest point, through the dual, one variable per row; a point inside is its own."""
        inside: Vector = np.clip(point, *self._box)
        if self._violation(point, INSIDE) <= 1.0 and self._violation(inside, INSIDE) <= 1.0:
            return inside
        weights = np.ones(self.dimension) if metric is None else metric / metric.max()
        found = self._projection(point, weights)
        if found.converged:
            return self._mended(found.point)
        near = project_by_osqp(self.linear_constraints(), point, weights, self._units, self._norms)
        mended = [self._mended(one) for one in (found.point, near) if one is not None]
        return min(mended, key=lambda z: float(weights @ (z - point) ** 2))

    def _projection(self, point: Vector, weights: Vector, room: float = 0.0) -> Projection:
        """Nearest point with some distance to each inequality and bound, by the Newton method."""
        from oracle_opt.domains.projection import project_on_cuts  # only here: it loads scipy

        sides = self._sides.copy()
        sides[: len(self.b)] -= room * self._norms[: len(self.b)]
        return project_on_cuts(
            Box(self.lower + room * self._units, self.upper - room * self._units),
            point,
            weights,
            self._rows,
            sides,
            np.zeros(len(sides)),
            unit=1e-4 * self._norms,
            n_equations=len(self.equality_rhs),
        )

    def contains(self, point: Vector, tolerance: float = 1e-9) -> bool:
        """Whether each constraint is missed by no more than a share of its own terms at the point."""
        return self._violation(point, tolerance) <= 1.0

    def interior_point(self) -> Vector:
        """Center of the largest ball within the equations, or a point near the center that was given."""
        return self._interior.copy()

    def linear_constraints(self) -> LinearConstraints:
        """Return the whole description."""
        return LinearConstraints(self.equality_matrix, self.equality_rhs, self.lower, self.upper, self.A, self.b)

    def stated_constraints(self) -> LinearConstraints:
        """Return what was given."""
        return self._given

    def bounding_box(self) -> tuple[Vector, Vector]:
        """Return the bounds."""
        lower, upper = self._box
        return lower.copy(), upper.copy()

    def enclosing_ellipsoid(self) -> tuple[Vector, Matrix]:
        """The smallest around the bounds; with equations as for every domain, about the extent of the set."""
        if not len(self.equality_rhs):
            return ellipsoid_around(self.lower, self.upper)
        return super().enclosing_ellipsoid()

    def _mended(self, point: Vector) -> Vector:
        """A point that misses rows by little, moved to them in units of each variable, or else pulled in."""
        point, units, m = np.clip(point, self.lower, self.upper), self._units, len(self.b)
        for _ in range(MENDS):
            missed = self._rows @ point - self._sides
            off = np.r_[missed[:m] > 0, np.ones(len(missed) - m, dtype=bool)]
            room = allowed(self._sizes, point, self._sides, 0.5 * INSIDE, self._large)
            if (np.abs(missed) <= room)[off].all():
                return point
            rows = self._rows[off] * units / self._norms[off, None]
            moved = point - units * least_squares(rows, missed[off] / self._norms[off])
            point = np.clip(moved, self.lower, self.upper)
            units = np.where(point == moved, units, 0.0)
        return point if self.contains(point) else self._pulled_in(point)

    def _pulled_in(self, point: Vector) -> Vector:
        """Where the segment from the interior point to a point leaves the set, for want of the nearest point."""
        away = (point - self._interior) / self._units
        if len(self.equality_rhs):
            rows = self.equality_matrix * self._units / self._norms[len(self.b) :, None]
            away -= least_squares(rows, rows @ away)
        away *= self._units
        inside = self._interior
        room = np.maximum(np.r_[self.b - self.A @ inside, self.upper - inside, inside - self.lower], 0.0)
        speed = np.r_[self.A @ away, away, -away]
        longest = float(np.min(room[speed > 0] / speed[speed > 0], initial=1.0))
        return np.clip(inside + longest * away, self.lower, self.upper)

    def _violation(self, z: Vector, tolerance: float) -> float:
        """Largest miss of a constraint, in units of what is allowed of it."""
        known = self._given
        if not within_bounds(z, *self._box, tolerance):
            return np.inf
        (A, E), b = stored_rows(known), inequality_sides(known)
        missed = np.r_[A @ z - b, np.abs(E @ z - known.equality_rhs)]
        room = allowed(self._given_sizes, z, np.r_[b, known.equality_rhs], tolerance, self._extent)
        return float((missed / np.maximum(room, 1e-300)).max(initial=0.0))

    def _bound_by_sums(self) -> None:
        """Bounds for proofs alone: no variable exceeds its bound by more than all together can."""
        self._inside = 0.5 * (self.lower + self.upper)
        self._least, self._most = self.lower, self.upper
        self._farthest = np.maximum(np.abs(self.lower), np.abs(self.upper))
        ones = np.ones(self.dimension)
        error = EPS * (self.dimension + 2) * float(self._farthest.sum())
        above = -self._minimized(-ones).proven - float(self.lower.sum()) + error  # the largest sum(z - lower)
        below = float(self.upper.sum()) - self._minimized(ones).proven + error
        self._least, self._most = np.maximum(self.lower, self.upper - below), np.minimum(self.upper, self.lower + above)
        self._farthest = np.maximum(np.abs(self._least), np.abs(self._most))

    def _interior_near(self, center: Vector) -> Vector:
        """Nearest point to the center among those that leave a tenth of the deepest point's room, at most 1."""
        rooms = (
            (self.b - self.A @ self._interior) / self._norms[: len(self.b)],
            (self._interior - self.lower) / self._units,
            (self.upper - self._interior) / self._units,
        )
        room = min(1.0, 0.1 * min(float(part.min(initial=np.inf)) for part in rooms))
        found = self._projection(center, np.ones(self.dimension), room)
        return self._mended(found.point) if found.converged else self._interior
