"""A second-order bundle method: cuts plus the curvature of the function at the best point."""

from __future__ import annotations

import numpy as np

from oracle_opt import (
    Domain,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Simplex,
    Step,
)
from oracle_opt.cuts import Vector
from oracle_opt.generators._interior_point import minimize_epigraph
from oracle_opt.generators._level import level_point
from oracle_opt.generators._model import CuttingPlaneModel


class NewtonBundle(QueryPointGenerator):
    """Level steps far from the minimum, Newton steps on a model of cuts and curvature near it.

    The Newton model is ``max_i (constant_i + slope_i @ z) + damping / 2 |R (z - best)|^2 + trust / 2 |z - best|_M^2``,
    with ``R.T @ R`` the Hessian that the oracle stated at the best point and M the entropic metric there. It takes
    over when the relative gap is below `switch` and the best cut has curvature; without curvature the method is
    `LevelSet`. The proven bound is that of the cuts alone.

    Parameters
    ----------
    switch : float
        Relative gap below which Newton steps are taken, default 5e-2.
    level : float
        That of the level steps, default 0.8.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.

    Notes
    -----
    A null step multiplies the damping by 3, a serious step sets it back to 1. The curvature of an SVM has the rank of
    its free support vectors and says nothing of the directions in which these change, so a null Newton step also sets
    the trust term to the gap at the point that failed, or triples it; a serious step multiplies it by 0.3. The model is
    minimised by an interior point method over the variables that matter: the support of the best point and of the
    linear program's minimiser, to which those with a negative reduced cost are added until there is none, which makes
    the solution exact. Should that fail numerically, a level step is taken.

    References
    ----------
    Lemarechal & Sagastizabal (1997), "Variable metric bundle methods", for bundles with curvature; Chapelle &
    Rakotomamonjy (2008), "Second order optimization of kernel parameters", for the Hessian of an SVM.
    """

    needs_convexity = True

    def __init__(self, switch: float = 5e-2, level: float = 0.8, max_cuts: int = 1000) -> None:
        self.switch = switch
        self.level = level
        self.max_cuts = max_cuts

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but a simplex."""
        return None if isinstance(domain, Simplex) else "it needs a Simplex"

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        for name, value in (("level", self.level), ("switch", self.switch)):
            if not 0 < value < 1:
                raise InvalidArgument(f"`{name}` must lie strictly between 0 and 1, got {value!r}")
        assert isinstance(domain, Simplex)
        self._radius = domain.radius
        self._model = CuttingPlaneModel(domain, self.max_cuts)
        self._point = point
        self._damping = 1.0
        self._trust = 0.0
        self._is_newton = False

    def ask(self) -> Query:
        """Return the level or Newton point, with the wish for curvature."""
        return Query(self._point, curvature=True)

    def tell(self, cut: ObjectiveCut) -> Step:
        """Add the cut; step to the level set or to the minimiser of the second-order model."""
        better = self._model.add(cut)
        best, gap = self._model.pool.best, self._model.gap
        if better:
            self._damping, self._trust = 1.0, 0.3 * self._trust
        else:
            self._damping *= 3.0
            if self._is_newton and best is not None:
                away = cut.point - best.point
                square = float((self._metric(best) * away) @ away)
                self._trust = max(3.0 * self._trust, gap / max(square, 1e-300))
        newton = None
        if best is not None and best.curvature is not None and 0 < gap <= self.switch * abs(best.upper):
            newton = self._newton_point(best, gap)
        self._is_newton = newton is not None
        self._point = level_point(self._model, cut.point, self.level, None) if newton is None else newton
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant

    def _metric(self, best: ObjectiveCut) -> Vector:
        metric = self._model.domain.entropic_metric(best.point)
        assert metric is not None
        return metric

    def _newton_point(self, best: ObjectiveCut, gap: float) -> Vector | None:
        """Minimise the model in units of the gap; `None` if the interior point method fails."""
        assert self._model.minimum is not None
        pool = self._model.pool
        root = np.sqrt(self._damping / gap) * best.curvature
        slopes, constants = pool.objective.matrix / gap, (pool.objective.constant - pool.upper) / gap
        target = root @ best.point
        trust = self._trust / gap * self._metric(best)
        lowest = self._model.minimum.point
        active = (best.point > 1e-3 * best.point.max()) | (lowest > 1e-6 * lowest.max())
        while True:
            chosen = np.flatnonzero(active)
            part = root[:, chosen]
            # the tiny ridge makes the minimiser unique where neither cuts nor curvature do
            hessian = part.T @ part
            hessian[np.diag_indices(len(chosen))] += trust[chosen] + 1e-10 * max(float(hessian.diagonal().max()), 1.0)
            linear = -target @ part - trust[chosen] * best.point[chosen]
            solved = minimize_epigraph(hessian, linear, slopes[:, chosen], constants, self._radius)
            if not solved.converged:
                return None
            # at zero: the slope of cuts, curvature and trust term, plus the multiplier of the sum
            reduced = solved.multipliers @ slopes + (part @ solved.x - target) @ root
            reduced += solved.sum_multiplier - trust * best.point
            wanted = np.flatnonzero(~active & (reduced < -1e-6 * (1.0 + abs(solved.sum_multiplier))))
            if not len(wanted):
                break
            active[wanted[np.argsort(reduced[wanted])[: max(50, len(chosen) // 2)]]] = True
        point = np.zeros(len(active))
        point[chosen] = solved.x
        point[point < 1e-9 * point.max()] = 0.0
        return point * (self._radius / point.sum())
