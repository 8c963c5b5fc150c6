"""The cutting-plane model of a function plus a term that is known: its minimum, and points in its level sets."""

import numpy as np

from oracle_opt import Domain, FeasibilityCut, Minorant, ObjectiveCut
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.known_pool import KnownPool
from oracle_opt.generators.masters.linear_program import ModelMinimum
from oracle_opt.generators.masters.proximal_master import ProximalPoint
from oracle_opt.generators.masters.proximal_rows import ProximalRows, RowMultipliers
from oracle_opt.generators.masters.proximity_control import first_step
from oracle_opt.known import KnownTerm

RUNG, RUNGS = 0.1, 6  # factor from one weight to the next where the term does not bend everywhere, and most of them
LOOSE, TIGHT = (
    0.1,
    1e-3,
)  # share of the gap by which a minimum over a proven bound is too far above, and needlessly near
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
        self.flat = np.ones(domain.dimension)
        self._multipliers = RowMultipliers(np.zeros(0), np.zeros(0), np.zeros(len(self.pool.form.sides)))

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
                self.rows = self._master(best)
        return best is not before

    def height(self, found: ProximalPoint) -> float:
        """Value of the model at a point that a master found."""
        return self.pool.upper + found.value

    def prove(self, multipliers: RowMultipliers) -> Minorant | None:
        """Take up the minorant of multipliers, and what it proves."""
        minorant = self.pool.minorant(multipliers.objective, multipliers.feasibility)
        if minorant is not None and (bound := minorant.minimum(self.domain)) >= self.lower:
            self.minorant, self.lower = minorant, bound
        return minorant

    def _master(self, best: ObjectiveCut) -> ProximalRows:
        form = self.pool.form
        return ProximalRows(form.domain, form.equations, form.sides, self.pool, best)

    def _least(self, best: ObjectiveCut) -> ModelMinimum:
        """Minimize."""
        self.rows, bends = self._master(best), self.pool.form.bends
        if not self.first:
            norm = float(np.linalg.norm(best.subgradient)) or 1.0
            self.first = self._weight = norm / first_step(self.domain, best, 0.1, self.flat)
        start = self.rows.start(self._multipliers)
        for _ in range(1 if bends else RUNGS):
            gap = self.gap
            enough = FINE * gap if np.isfinite(gap) else 0.0
            found = self.rows.minimize(0.0 if bends else self._weight, self.flat, start, enough=enough)
            multipliers, slack = self.rows.multipliers(found), 0.0
            self.prove(multipliers)
            slack = self.height(found) - self.lower
            if not found.converged or slack <= LOOSE * self.gap:
                break
            self._weight *= RUNG
            start = found.multipliers
        self.failed = not found.converged
        if self.failed or slack < TIGHT * self.gap:
            self._weight = min(self._weight / RUNG, self.first)
        self._multipliers = multipliers
        none = np.zeros(0)
        point = self.inside(found.point)
        return ModelMinimum(point, self.height(found), multipliers.objective, multipliers.feasibility, none)

    def inside(self, point: Vector) -> Vector:
        """The point of the domain nearest to one that satisfies its rows to the master's tolerance."""
        simple = self.pool.form.domain is self.domain or self.domain.contains(point)
        return point if simple else self.domain.project(point)


class KnownProjection:
    """Points near a center in level sets of a `KnownModel`: the weight of the quadratic that leads there is sought."""

    def __init__(self, model: KnownModel) -> None:
        self._model, self._weight = model, 0.0
        self._multipliers = RowMultipliers(np.zeros(0), np.zeros(0), np.zeros(len(model.pool.form.sides)))

    def project(self, center: Vector, level: float, unit: float | None = None) -> Vector:
        """The point nearest to `center`, nearly, where the model is at most ``lower + level * gap``, nearly.

        The minimizer of the model plus ``weight / 2 * |z - center|^2`` is such a point for some weight: its logarithm
        is bisected, from that of the last time. Where that fails, or the gap is rounding, the point is the model's
        minimizer.
        """
        model = self._model
        assert model.minimum is not None
        least, gap = model.minimum.point, model.gap
        if not gap > model.resolution:
            return least
        target, low, high = model.lower + level * gap, 0.0, np.inf
        smallest, largest = model.first / RANGE, model.first * RANGE
        weight = self._weight or model.first
        start = model.rows.start(self._multipliers)
        for _ in range(TRIALS):
            found = model.rows.minimize(weight, model.flat, start, center, COARSE * gap)
            start = found.multipliers
            missed = (model.height(found) - target) / gap
            if abs(missed) <= NEAR * max(level, LEVEL) or not found.converged:
                break
            low, high = (low, weight) if missed > 0 else (weight, high)
            if low > 0 and high < np.inf:
                weight = float(np.sqrt(low * high))
            else:
                weight = weight / STEP if missed > 0 else weight * STEP
            if not smallest < weight < largest:
                break
        self._weight = min(max(weight, smallest), largest)
        self._multipliers = model.rows.multipliers(found)
        met = missed <= NEAR * max(level, LEVEL) and bool((found.point != center).any())
        return model.inside(found.point) if met else least
