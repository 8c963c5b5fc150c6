"""The cutting-plane model minimized through its dual, one variable a cut: for domains of many variables.

Its steps are those of a semismooth Newton method: small quadratic programs over multipliers.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt import Box, Domain
from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains.projection import hessian_inside
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.feasible_points import nearest_feasible, prove_empty
from oracle_opt.generators.masters.linear_program import ModelLP, ModelMinimum

FEASIBLE = 1e-9  # tolerance of feasibility cuts, relative to their largest entry


class ScaledRows:
    """Objective cuts counted from the best value, then feasibility cuts, scaled to the slope of the first of those."""

    def __init__(self, pool: CutPool) -> None:
        self._objective, self._feasibility = objective, feasibility = pool.objective, pool.feasibility
        self.count = len(objective)  # number of objective cuts
        unit = float(objective.steepness[0]) or 1.0
        self.scale = unit / feasibility.steepness  # factors of the feasibility cuts
        self.allowed = FEASIBLE * unit  # that tolerance, of their scaled values
        # Variables with an entry in some row; all, where a row is dense.
        self.touched = objective.touched | feasibility.touched
        top = pool.upper if np.isfinite(pool.upper) else float(objective.value[0])
        # As in `Rows`; those of feasibility cuts leave room for their tolerance.
        self.constants = np.r_[objective.constant - top, feasibility.constant * self.scale + self.allowed]
        self.size = np.r_[objective.size, feasibility.size * self.scale]
        self.error = np.r_[objective.error, feasibility.error * self.scale] + EPS * self.size

    def begin(self, numbers: tuple[NDArray[np.intp], NDArray[np.intp]], multipliers: tuple[Vector, Vector]) -> Vector:
        """Multipliers to start from: those known of these serial numbers, else the newest objective cut."""
        u = self._objective.known(numbers[0], multipliers[0])
        if not u.sum() > 0:
            u[-1] = 1.0
        begun: Vector = np.r_[u / u.sum(), self._feasibility.known(numbers[1], multipliers[1]) / self.scale]
        return begun

    def values(self, point: Vector) -> Vector:
        """Values of all rows at a point."""
        of_rows = np.r_[self._objective.products(point), self._feasibility.products(point) * self.scale]
        result: Vector = self.constants + of_rows
        return result

    def combine(self, multipliers: Vector) -> Vector:
        """Slope of the rows' combination by multipliers."""
        slope = self._objective.combine(multipliers[: self.count])
        if len(self.scale):
            slope = slope + self._feasibility.combine(multipliers[self.count :] * self.scale)
        return slope

    def block(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
        """Some columns of some rows."""
        split = int(np.searchsorted(rows, self.count))
        block = np.empty((len(rows), len(columns)))
        block[:split] = self._objective.block(rows[:split], columns)
        if split < len(rows):
            halves = rows[split:] - self.count
            block[split:] = self._feasibility.block(halves, columns) * self.scale[halves, None]
        return block


ENOUGH = 1e-3  # share of the way from the bound to the best value that the minimum may be above the bound ...
USABLE = 0.1  # ... or this, where rounding allows no more
ROUNDS, STEPS = 60, 20  # limits on centers, and on Newton steps for each
PATIENCE = 5  # rounds that gain nothing before it is given up
INNER = 0.1  # a center is left when its own gap is this share of that of the model
EASY = 8  # a center that took at most so many steps lets the weight fall by a tenth
WIDER = 2.0  # a new cut begins with so many times the weight that the last one ended with
ENTER = 0.5  # multipliers that gain at least this share of the best gain enter together
MAX_CHANGES = 300


class ModelDual:
    """``min m(z)`` over domain and feasibility cuts, by the dual of proximal points, else by HiGHS.

    See docs/theory_methods.md, "The model through its dual".
    """

    def __init__(self, domain: Domain) -> None:
        constraints = domain.linear_constraints()
        assert constraints is not None
        self._domain, self._constraints = domain, constraints
        lower, upper = domain.bounding_box()
        width = upper - lower
        self._metric = 1.0 / np.where(width > 0, width, 1.0) ** 2
        self._movable = constraints.lower < constraints.upper
        self._center = domain.interior_point()
        self._weight = 0.0
        # serial numbers and multipliers of the last minimum's objective cuts, and of its feasibility cuts
        self._numbers = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        self._multipliers = (np.zeros(0), np.zeros(0))
        self._program: ModelLP | None = None

    def bound(self, lower: Vector, upper: Vector, pool: CutPool) -> None:
        """Take other bounds of the variables."""
        self._domain = Box(lower, upper)
        self._constraints = self._domain.linear_constraints()
        self._movable = lower < upper
        self._center = self._domain.project(self._center)
        if self._program is not None:
            self._program.bound(lower, upper, pool)

    def keep(self, mask: NDArray[np.bool_], summands: NDArray[np.bool_]) -> None:
        """Drop the cuts that the pool dropped: multipliers are kept by serial number, only HiGHS needs to know."""
        if self._program is not None:
            self._program.keep(mask, summands)

    def solve(self, pool: CutPool) -> ModelMinimum | None:
        """Minimize the model, -inf without objective cuts; `None` if the feasibility cuts provably leave nothing."""
        if not len(pool.objective):
            nearest = nearest_feasible(self._domain, pool.feasibility, self._center)
            if not nearest.converged and prove_empty(self._domain, pool.feasibility, nearest.multipliers):
                return None
            found = (nearest.point, np.zeros(0), np.zeros(len(pool.feasibility))) if nearest.converged else None
        else:
            try:
                found = self._minimize(pool)
            except NothingLeft:
                return None
        if found is None:
            self._program = self._program or ModelLP(self._domain)
            return self._program.solve(pool)
        point, objective, feasibility = found
        return ModelMinimum(point, pool.value(point), objective, feasibility, np.zeros(len(pool.summands)))

    def _minimize(self, pool: CutPool) -> tuple[Vector, Vector, Vector] | None:
        """Point, multipliers of both kinds of cuts; `None` where it failed."""
        rows = ScaledRows(pool)
        u = rows.begin(self._numbers, self._multipliers)
        center, weight = self._center, self._weight
        if not weight:
            weight = float((np.abs(pool.objective.combine(u[: rows.count])) / np.sqrt(self._metric)).mean()) or 1.0
        best = _Best(center, u)
        idle = 0
        for _ in range(ROUNDS):
            before = best.gap
            point, u, steps, centered = self._proximal_point(rows, best, center, weight, u)
            if best.gap <= best.enough:
                break
            if not centered and prove_empty(self._domain, pool.feasibility, u[rows.count :] * rows.scale):
                raise NothingLeft
            idle = 0 if best.gap < 0.9 * before else idle + 1
            if idle > PATIENCE:
                break
            if centered:
                center, weight = point, weight * (0.1 if steps <= EASY else 0.3)
            else:
                weight *= 3.0
            u[: rows.count] /= u[: rows.count].sum()
        if not best.gap <= max(best.enough, USABLE * -best.bound, best.multipliers @ rows.error):
            return None
        objective, feasibility = best.multipliers[: rows.count], best.multipliers[rows.count :] * rows.scale
        self._center, self._weight = best.point, WIDER * weight
        self._numbers = pool.objective.number.copy(), pool.feasibility.number.copy()
        self._multipliers = objective, feasibility
        return best.point, objective, feasibility

    def _proximal_point(
        self, rows: ScaledRows, best: _Best, center: Vector, weight: float, u: Vector
    ) -> tuple[Vector, Vector, int, bool]:
        """Newton steps on the dual of the model with its quadratic: point, multipliers, their number, and success."""
        domain, metric, count = self._domain, weight * self._metric, rows.count
        slope = rows.combine(u)
        z = domain.project(center - slope / metric, metric)
        for step in range(STEPS):
            seconds_left()
            values = rows.values(z)
            height, violation = float(values[:count].max()), float(values[count:].max(initial=0.0))
            if violation <= rows.allowed:
                best.offer_point(height, z)
            best.offer_bound(float(u @ rows.constants) + domain.minimize_linear(slope)[0], u)
            best.enough = max(ENOUGH * -best.bound, 16.0 * EPS * float(u @ rows.size))
            if best.gap <= best.enough:
                return z, u, step, True
            inner = height - float(u @ values)
            if violation <= rows.allowed and inner <= INNER * min(best.gap, -best.bound):
                return z, u, step, True
            values[:count] -= height  # which changes nothing, and keeps what is added up small
            d = self._direction(rows, metric, z, values, u, inner, 0.01 * best.enough)
            ahead, first = rows.combine(d), float(d @ values)
            if not 0 < first < np.inf:
                return z, u, step, False
            length, z = self._length(center, metric, slope, ahead, first, z)
            u, slope = np.maximum(u + length * d, 0.0), slope + length * ahead
        return z, u, STEPS, False

    def _direction(
        self, rows: ScaledRows, metric: Vector, z: Vector, values: Vector, u: Vector, inner: float, tolerance: float
    ) -> Vector:
        """Newton's: of the rows with multipliers, and those whose values may soon count."""
        count = rows.count
        inside = np.flatnonzero(
            (z > self._constraints.lower) & (z < self._constraints.upper) & self._movable & rows.touched
        )
        band = np.where(np.arange(len(u)) < count, 4.0 * inner, inner)
        chosen = np.flatnonzero((u > 0) | (values >= -band))
        block = rows.block(chosen, inside)
        some = int(np.count_nonzero(chosen < count))
        # less their mean, which changes nothing where the steps add up to zero: what cuts share drowns what tells them
        block[:some] -= u[chosen[:some]] @ block[:some]
        hessian = hessian_inside(self._constraints, metric, block, inside)
        d = np.zeros(len(u))
        small = np.where(chosen < count, tolerance, 0.1 * rows.allowed)
        d[chosen] = ascent_step(hessian, values[chosen], u[chosen], some, small)
        return d

    def _length(
        self, center: Vector, metric: Vector, slope: Vector, ahead: Vector, first: float, z: Vector
    ) -> tuple[float, Vector]:
        """Where ``d @ constants + ahead @ z(t)``, the derivative, has fallen to a fifth, at most 1, and z(t)."""
        at_start = first - float(ahead @ z)
        low, high, of_low, of_high, t = 0.0, np.inf, first, -np.inf, 1.0
        for _ in range(30):
            trial = self._domain.project(center - (slope + t * ahead) / metric, metric)
            now = at_start + float(ahead @ trial)
            if abs(now) <= 0.2 * first or (now > 0 and t == 1.0):
                break
            if now > 0:
                low, of_low = t, now
            else:
                high, of_high = t, now
            wide = high - low
            t = float(np.clip(low + wide * of_low / (of_low - of_high), low + 0.1 * wide, high - 0.1 * wide))
        return t, trial


class NothingLeft(Exception):
    """The feasibility cuts provably leave no point."""


class _Best:
    """Best point and best bound so far, counted from the best value of the function."""

    def __init__(self, point: Vector, multipliers: Vector) -> None:
        self.point, self.value = point, np.inf
        self.multipliers, self.bound = multipliers, -np.inf
        self.enough = 0.0

    @property
    def gap(self) -> float:
        """How far apart they are."""
        return self.value - self.bound

    def offer_point(self, value: float, point: Vector) -> None:
        """Take a point that satisfies the feasibility cuts, if it is better."""
        if value < self.value:
            self.value, self.point = value, point

    def offer_bound(self, bound: float, multipliers: Vector) -> None:
        """Take multipliers if they prove more."""
        if bound > self.bound:
            self.bound, self.multipliers = bound, multipliers


def ascent_step(hessian: Matrix, gradient: Vector, start: Vector, count: int, tolerance: Vector) -> Vector:
    """``max gradient @ d - 1/2 d @ hessian @ d`` with ``start + d >= 0``, the first entries of d adding up to 0.

    By active sets, on the step and its residual: eigenvalues may lie eleven orders apart, and a step of 1e-8 must still
    go uphill. ``H + rho e e'`` is factorized in place of H, the same where e @ d is 0.
    """
    step, residual = np.zeros(len(start)), gradient.copy()
    support, refused = start > 0, np.zeros(len(start), dtype=bool)  # refused: entered alone and left at once
    ones = (np.arange(len(start)) < count).astype(float)
    entered = np.zeros(0, dtype=np.intp)
    ridge = 0.0
    for _ in range(MAX_CHANGES):
        seconds_left()
        chosen = np.flatnonzero(support)
        part, e = hessian[chosen[:, None], chosen], ones[chosen]
        if not e.any():  # by rounding the remaining multipliers add up to nothing
            return np.zeros(len(start))
        rho = float(part.diagonal().mean()) or 1.0
        part += rho * e[:, None] * e
        part[np.diag_indices(len(chosen))] += ridge
        _, both, info = scipy.linalg.lapack.dposv(part, np.column_stack([residual[chosen], e]))
        if info != 0 or not np.isfinite(both).all():
            ridge = max(100.0 * ridge, 1e-14 * float(part.diagonal().max()))
            continue
        plain, normal = both.T
        moved = plain - (e @ plain) / (e @ normal) * normal
        moved -= (e @ moved) / (e @ normal) * normal  # once more, as rows that are flat have large numbers
        known = start[chosen] + step[chosen]
        falling = (known + moved <= 0) & (moved < 0)
        if falling.any():
            # go as far as the first multiplier that reaches zero, and take it out
            room = known[falling] / -moved[falling]
            length = float(room.min())
            gone = chosen[falling][room <= length]
            step[chosen] += length * moved
            step[gone] = -start[gone]
            residual -= length * (hessian[:, chosen] @ moved)
            refused[gone] |= len(entered) == 1 and gone[0] == entered[0]
            support[gone] = False
            continue
        step[chosen] += moved
        residual -= hessian[:, chosen] @ moved
        gain = residual - float(residual[chosen] @ e / e.sum()) * ones
        gain[support | refused | (gain <= tolerance)] = -np.inf
        best = float(gain.max())
        if best == -np.inf:
            break
        entered = np.flatnonzero(gain >= ENTER * best)
        support[entered] = True
    return step
