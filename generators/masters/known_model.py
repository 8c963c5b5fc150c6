"""The cutting-plane model of a function plus a term that is known: its minimum, and points in its level sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oracle_opt import Domain, FeasibilityCut, ObjectiveCut
from oracle_opt.arrays import Vector
from oracle_opt.domains import Box
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.highs import LPFailure
from oracle_opt.generators.masters.known_pool import KnownPool
from oracle_opt.generators.masters.linear_program import ModelLP, ModelMinimum
from oracle_opt.generators.masters.proximal_master import ProximalPoint
from oracle_opt.generators.masters.proximal_rows import ProximalRows, RowMultipliers, rows_of
from oracle_opt.generators.masters.proximity_control import first_step, scale_of
from oracle_opt.known import KnownTerm

RUNG, RUNGS = 0.1, 6  # factor from one weight to the next where the term does not bend everywhere, and most of them
LOOSE, TIGHT = 0.1, 1e-3  # shares of the gap: by so much a minimum is too far above what is proven, or needlessly near
FINE = 1e-4  # share of the gap up to which a minimum is found
COARSE = 1e-3  # and a point of a level set
TRIALS = 12  # limit on the weights for one level set
NEAR = 0.15  # share of the level up to which it is met
LEVEL = 0.02  # or of this one
STEP = 8.0  # factor from one weight to the next until the level lies between two
RANGE = 1e9  # factor of the first weight within which all stay


class KnownModel(CuttingPlaneModel):
    """``m(z) = max_i constant_i + slope_i @ z + h(z)``, h a term that is known, minimized after each cut.

    The cuts are of f, and f + h is minimized: h is never linearized. The master is a quadratic program, see
    `proximal_point`. Where h does not bend in every direction it is held near the best point, with a weight that falls
    until the minimum found is next to what its multipliers prove.

    Parameters
    ----------
    domain : Domain
        With linear constraints, perhaps infinite.
    term : KnownTerm
        h.
    max_cuts : int
        As for `CuttingPlaneModel`.

    Attributes
    ----------
    rows : ProximalRows
        The master of the cuts so far.
    first : float
        The first weight of a quadratic that holds a point near another one.
    """

    pool: KnownPool
    rows: ProximalRows

    def __init__(self, domain: Domain, term: KnownTerm, max_cuts: int = 1000) -> None:
        self.domain, self._max_cuts = domain, max_cuts
        self.pool = KnownPool(domain, term)
        self.pool.add_domain(domain)
        self.first = self._weight = 0.0
        self.flat = scale_of(domain)
        self._multipliers = RowMultipliers(np.zeros(0), np.zeros(0), np.zeros(len(self.pool.form.sides)))
        self._program = KnownProgram.of(self.pool, domain)

    def add(self, cut: ObjectiveCut | FeasibilityCut) -> bool:
        """Take up a `cut` that `tell` was told, and minimize; whether it is the best seen so far."""
        pool, before = self.pool, self.pool.best
        pool.add(cut)
        best = pool.best
        self.minimum = self._of_no_cut(cut.point) if best is None else self._least(best)
        self.empty = self.minimum is None
        if self.minimum is not None and best is not None:
            known = self._multipliers
            if pool.shrink(self._max_cuts, known.objective, known.feasibility) is not None:
                objective = np.zeros(len(pool.objective))
                objective[-1] = 1.0
                self._multipliers = RowMultipliers(objective, known.feasibility, known.equations)
                self.rows, self._program = self._master(best), KnownProgram.of(pool, self.domain)
        return best is not before

    def height(self, found: ProximalPoint) -> float:
        """Value of the model at a point that a master found."""
        return self.pool.upper + found.value

    def _prove(self, multipliers: RowMultipliers) -> None:
        """Take up the minorant of multipliers, if it proves more."""
        minorant = self.pool.minorant(multipliers.objective, multipliers.feasibility)
        if minorant is not None and (bound := minorant.minimum(self.domain)) >= self.lower:
            self.minorant, self.lower = minorant, bound

    def _master(self, best: ObjectiveCut) -> ProximalRows:
        form = self.pool.form
        return rows_of(self.pool, best, form.domain, form.equations, form.sides)

    def _least(self, best: ObjectiveCut) -> ModelMinimum:
        """Minimize."""
        self.rows, bends = self._master(best), self.pool.form.bends
        if not self.first:
            norm = float(np.linalg.norm(best.subgradient)) or 1.0
            self.first = self._weight = norm / first_step(self.domain, best, 0.1, self.flat)
        if self._program is not None and (least := self._program.solve()) is not None:
            self._multipliers = RowMultipliers(least.objective, least.feasibility, self._multipliers.equations)
            self.pool.form.last = least.point
            self._prove(self._multipliers)
            self.failed = False
            return least
        start = self.rows.start(self._multipliers)
        for _ in range(1 if bends else RUNGS):
            gap = self.gap
            enough = FINE * gap if np.isfinite(gap) else 0.0
            found = self.rows.minimize(0.0 if bends else self._weight, self.flat, start, enough=enough)
            multipliers = self.rows.multipliers(found)
            self._prove(multipliers)
            slack = self.height(found) - self.lower
            if not found.converged or slack <= LOOSE * self.gap:
                break
            self._weight *= RUNG
            start = found.multipliers
        self.failed = not found.converged
        if self.failed or slack < TIGHT * self.gap:
            self._weight = min(self._weight / RUNG, self.first)
        self._multipliers = multipliers
        point, none = self.inside(found.point), np.zeros(0)
        return ModelMinimum(point, self.height(found), multipliers.objective, multipliers.feasibility, none)

    def inside(self, point: Vector) -> Vector:
        """The point of the domain nearest to one that satisfies its rows to the master's tolerance."""
        return point if self.pool.form.domain is self.domain else self.domain.project(point)


class KnownProgram:
    """The linear program of a model plus an l1 norm alone, over the parts of the variables that are not negative."""

    def __init__(self, pool: KnownPool, parts: Box) -> None:
        self._pool, self._parts = pool, parts
        self._begin()

    @classmethod
    def of(cls, pool: KnownPool, domain: Domain) -> KnownProgram | None:
        """That of a pool on a bounded domain; `None` where there is none."""
        promised = domain.promised_polyhedron()
        if not pool.form.is_norm or promised is None or not np.isfinite(promised.bounding_box()).all():
            return None
        known = domain.linear_constraints()
        if known is None or len(known.equality_rhs):
            return None
        lower, upper = promised.bounding_box()
        return cls(pool, Box(np.maximum([lower, -upper], 0.0).ravel(), np.maximum([upper, -lower], 0.0).ravel()))

    def _begin(self) -> None:
        self._lifted, self._lp = CutPool(self._parts), ModelLP(self._parts)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_lp": None}  # HiGHS cannot be pickled: a copy begins it anew

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._begin()

    def solve(self) -> ModelMinimum | None:
        """Minimize over all cuts of the pool; `None` where that fails."""
        pool, form = self._pool, self._pool.form
        if len(self._lifted.objective) > len(pool.objective):
            self._begin()
        for mine, rows, slope in (
            (self._lifted.objective, pool.objective, form.linear),
            (self._lifted.feasibility, pool.feasibility, 0.0),
        ):
            for i in range(len(mine), len(rows)):
                row = form.rows(rows.row(i)[None])[0] + slope
                mine.add(row, float(rows.constant[i]), float(rows.value[i]), float(rows.size[i]), float(rows.error[i]))
            if len(mine) != len(rows):
                return None
        try:
            least = self._lp.solve(self._lifted)
        except LPFailure:
            self._begin()
            return None
        if least is None:
            return None
        point = form.point(least.point)
        return replace(least, point=point, value=pool.value(point))


class KnownProjection:
    """Points near a center in level sets of a `KnownModel`: the weight of the quadratic that leads there is sought.

    Parameters
    ----------
    model : KnownModel
        The model, after a first cut.
    """

    def __init__(self, model: KnownModel) -> None:
        self._model, self._weight = model, 0.0
        self._multipliers = RowMultipliers(np.zeros(0), np.zeros(0), np.zeros(len(model.pool.form.sides)))

    def project(self, center: Vector, level: float, unit: float | None = None) -> Vector:
        """The point nearest to `center`, nearly, where the model is at most ``lower + level * gap``, nearly.

        The minimizer of the model plus ``weight / 2 * |z - center|^2`` is such a point for some weight: its logarithm
        is bisected, from that of the last time. Where that fails, or the gap is rounding, the point is the model's
        minimizer. Tolerances are shares of the gap, and no `unit` changes them.
        """
        model = self._model
        assert model.minimum is not None
        least, gap = model.minimum.point, model.gap
        if not gap > model.resolution:
            return least
        target, low, high = model.lower + level * gap, 0.0, np.inf
        smallest, largest = model.first / RANGE, model.first * RANGE
        weight = self._weight or model.first
        start, nearest, best = model.rows.start(self._multipliers), least, np.inf
        for _ in range(TRIALS):
            found = model.rows.minimize(weight, model.flat, start, center, COARSE * gap)
            missed = (model.height(found) - target) / gap
            if not found.converged:
                break
            start = found.multipliers
            if abs(missed) < best:
                best, nearest, self._weight = abs(missed), found.point, weight
                self._multipliers = model.rows.multipliers(found)
            if best <= NEAR * max(level, LEVEL):
                break
            low, high = (low, weight) if missed > 0 else (weight, high)
            if low > 0 and high < np.inf:
                weight = float(np.sqrt(low * high))
            else:
                weight = weight / STEP if missed > 0 else weight * STEP
            if not smallest < weight < largest:
                break
        return model.inside(nearest) if best < 1.0 and (nearest != center).any() else least
