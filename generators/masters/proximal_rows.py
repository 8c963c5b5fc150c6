"""The rows of a proximal master: cuts of a pool and equations of a domain, in one unit."""

from dataclasses import dataclass, replace

import numpy as np

from oracle_opt import Domain, ObjectiveCut
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains._multipliers import simplex_quadratic
from oracle_opt.domains.projection import RIDGE
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.proximal_master import GOOD, USABLE, ProximalPoint, proximal_point

TRIES = 3  # from the solution of the last: what is left of a gap is rounding


@dataclass(frozen=True, eq=False)
class RowMultipliers:
    """Multipliers of objective cuts, feasibility cuts and equations, as in pool and domain; those of new rows are 0."""

    objective: Vector
    feasibility: Vector
    equations: Vector


class ProximalRows:
    """The arguments of `proximal_point`: model minus value of the center, and constraints in the unit of the slopes.

    Where the pool knows a term, domain and equations are those of the term's `form`.
    """

    def __init__(self, domain: Domain, equations: Matrix, sides: Vector, pool: CutPool, center: ObjectiveCut) -> None:
        self._domain, self._center, self._form = domain, center, pool.form
        objective, feasibility = pool.objective, pool.feasibility
        self._count, self._inner = len(objective), len(objective) + len(feasibility)
        unit = float(np.abs(objective.matrix).max()) or 1.0
        # factors of feasibility cuts and equations
        self._scale = unit / np.abs(feasibility.matrix).max(axis=1, initial=0.0)
        self._steep = unit / np.abs(equations).max(axis=1, initial=0.0)
        cuts = [objective.matrix, feasibility.matrix * self._scale[:, None]]
        cuts = cuts if pool.form is None else [pool.form.rows(one) for one in cuts]
        self._matrix = np.concatenate([*cuts, equations * self._steep[:, None]])
        self._allowed = 1e-9 * unit
        inside = -feasibility.constant * self._scale - 3.0 * self._allowed  # stay inside the feasibility cuts
        self._rhs = np.concatenate([center.upper - objective.constant, inside, sides * self._steep])
        self.floor = 1e-15 * abs(center.upper)
        self._rounding = EPS * float(objective.size.min())  # of the cuts of which a known term was taken off

    def start(self, known: RowMultipliers) -> Vector:
        """Multipliers to start from; the multipliers of the objective cuts add up to one."""
        u = np.zeros(len(self._rhs))
        given = known.objective[: self._count]
        u[: len(given)] = given
        u[self._count - 1] += not u.any()
        u /= u.sum()
        u[self._count : self._count + len(known.feasibility)] = (
            known.feasibility / self._scale[: len(known.feasibility)]
        )
        u[self._inner :] = known.equations / self._steep
        self.floor = 1e-15 * max(abs(self._center.upper), self._terms(u))  # the rounding of the rows that are active
        return u

    def _terms(self, u: Vector) -> float:
        """The largest sum of the terms of an active row."""
        active = np.abs(self._matrix[u > 0][:, : len(self._center.point)])
        return float((active @ np.abs(self._center.point)).max())

    def without_constraints(self, start: Vector) -> Vector:
        """The same start, constraints at 0 and no margin to the cuts: for a master that failed with them."""
        self._rhs[self._count : self._inner] += 3.0 * self._allowed
        relaxed: Vector = np.r_[start[: self._count], np.zeros(len(start) - self._count)]
        return relaxed

    def minimize(
        self, weight: float, scale: Vector, start: Vector, center: Vector | None = None, enough: float = 0.0
    ) -> ProximalPoint:
        """Minimize the model plus the quadratic of this weight and scale of the variables, around the `center`.

        With a known term, up to `enough` or its rounding; the value is then that of the model and the term.
        """
        center = self._center.point if center is None else center
        metric, rhs, tolerance = weight * scale, self._rhs, 1e-6
        form, count, top, floor, max_steps = self._form, self._count, 0.0, max(self.floor, enough), 25
        if form is not None:
            center, metric = form.near(center, metric)
            tolerance, max_steps = 1e-10, 100
            terms = self._matrix[:count] @ center - rhs[:count]
            top = float(terms.max())
            rhs, floor = np.r_[rhs[:count] + top, rhs[count:]], max(floor, self._rounding)  # at most 0 at that center
        found = proximal_point(
            self._domain,
            center,
            1.0,
            self._matrix,
            rhs,
            count,
            start,
            tolerance,
            floor=floor,
            allowed=self._allowed,
            max_steps=max_steps,
            n_equations=len(self._steep),
            scale=metric,
        )
        if form is None:
            return found
        form.last = form.point(found.point)
        return replace(found, point=form.last, value=found.value + top + form.term.value(form.last))

    def multipliers(self, found: ProximalPoint) -> RowMultipliers:
        """The multipliers that the master found, of the rows as they stand in pool and domain."""
        u = found.multipliers
        outer = u[self._count : self._inner] * self._scale
        return RowMultipliers(u[: self._count], outer, u[self._inner :] * self._steep)


class SpaceRows(ProximalRows):
    """The same of a known term on the whole space, through the products of the cuts alone: the point needs no search.

    With z the center less ``A' u / metric`` the dual is the quadratic ``linear @ u - u' H u / 2`` over the simplex.
    """

    def __init__(self, pool: CutPool, center: ObjectiveCut) -> None:
        assert pool.form is not None
        rows = pool.objective
        self._center, self._form, self._rows = center, pool.form, rows
        self._count = self._inner = len(rows)
        self._scale = self._steep = np.zeros(0)
        self._allowed, self._rhs = 0.0, center.upper - rows.constant
        self.floor = 1e-15 * abs(center.upper)
        self._rounding = EPS * float(rows.size.min())

    def _terms(self, u: Vector) -> float:
        """The largest sum of the terms of an active row, at most."""
        return float((self._rows.steepness[u > 0]).max() * np.abs(self._center.point).sum())

    def minimize(
        self, weight: float, scale: Vector, start: Vector, center: Vector | None = None, enough: float = 0.0
    ) -> ProximalPoint:
        """As above; the scale is of ones."""
        form, rows = self._form, self._rows
        assert form is not None
        center, metric = form.near(self._center.point if center is None else center, weight * scale)
        linear, floor = rows.products(center) - self._rhs, max(self.floor, self._rounding, enough)
        parts = zip(form.products(rows), form.bending, strict=True)
        hessian: Matrix = sum(products / (weight + number) for products, number in parts)
        hessian.flat[:: len(rows) + 1] *= 1.0 + RIDGE
        u = start
        for _ in range(TRIES):
            u = np.maximum(simplex_quadratic(hessian, linear, u, self._count, 0.1 * floor, 0.0), 0.0)
            u /= u.sum()
            heights = linear - hessian @ u
            gap = float(heights.max() - u @ heights)
            if gap <= floor:
                break
        form.last = center - rows.combine(u) / metric
        value = float(heights.max()) + form.term.value(form.last)
        return ProximalPoint(form.last, value, u, gap <= max(GOOD * floor, USABLE * -value))


def rows_of(pool: CutPool, center: ObjectiveCut, domain: Domain, equations: Matrix, sides: Vector) -> ProximalRows:
    """The master of the cuts of a pool, in the fastest form."""
    if pool.form is not None and pool.form.bending and not len(pool.feasibility):
        return SpaceRows(pool, center)
    return ProximalRows(domain, equations, sides, pool, center)
