"""The level method: project the last query point on a level set of the cutting-plane model."""

from __future__ import annotations

import numpy as np

from oracle_opt import (
    Domain,
    EmptyLocalizationSet,
    FeasibilityCut,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Step,
)
from oracle_opt.cuts import Vector
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._lp import ModelLP, ModelMinimum
from oracle_opt.generators._polyhedron import polyhedral_refusal, working_polyhedron
from oracle_opt.generators._projection import project_on_cuts


class LevelSet(QueryPointGenerator):
    """The level (bundle) method, Euclidean or entropic.

    With U the best value and L the model's minimum, the next query point is the point nearest to the last one where
    the model is at most ``L + level * (U - L)``. Near is meant in the Euclidean norm, or, on simplices, in the metric
    ``1 / z`` of the entropy at the last query point, which leaves small weights small.

    Parameters
    ----------
    level : float
        Between 0 (Kelley's point) and 1 (hardly a step), default 0.8.
    entropic : bool, optional
        Whether to use the entropic metric; default is to use it where the domain has one.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.

    Notes
    -----
    L comes from a linear program with warm rows, the projection from its dual, which has one variable a cut. Should
    the projection fail numerically, the query point is where the segment from the last query point to the linear
    program's minimiser enters the level set: never best, always allowed.

    References
    ----------
    Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods"; Xu, Jin, King & Lyu (2008) and
    Wulff & Ong (2014), (16), for MKL.
    """

    needs_convexity = True
    takes_feasibility_cuts = True

    def __init__(self, level: float = 0.8, entropic: bool | None = None, max_cuts: int = 1000) -> None:
        self.level = level
        self.entropic = entropic
        self.max_cuts = max_cuts

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints, or without entropy where it is asked for."""
        if self.entropic and domain.entropic_metric(domain.interior_point()) is None:
            return "its entropic metric needs a domain made of simplices"
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        if not 0 < self.level < 1:
            raise InvalidArgument(f"`level` must lie strictly between 0 and 1, got {self.level!r}")
        self._domain = working_polyhedron(domain)
        self._pool = CutPool(domain.dimension)
        self._lp = ModelLP(self._domain)
        self._point = point
        self._empty = False
        self._minorant: Minorant | None = None
        self._lower = -np.inf
        self._multipliers = np.zeros(0)

    def ask(self) -> Vector:
        """Return the projection on the level set."""
        if self._empty:
            raise EmptyLocalizationSet("the cuts leave no point")
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut, minimise the model, project on the new level set."""
        before = self._pool.best
        self._pool.add(cut)
        minimum = self._lp.solve(self._pool)
        self._empty = minimum is None
        if minimum is not None and self._pool.best is None:
            self._point = minimum.point
        elif minimum is not None:
            self._lower = max(self._lower, self._prove(minimum))
            self._point = self._project(minimum)
            self._forget(minimum)
        if isinstance(cut, FeasibilityCut):
            return Step.FEASIBILITY
        return Step.NULL if self._pool.best is before else Step.SERIOUS

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._minorant

    def _prove(self, minimum: ModelMinimum) -> float:
        self._minorant = self._pool.minorant(minimum.objective, minimum.feasibility)
        if self._minorant is None:
            return -np.inf
        return self._minorant.constant + self._domain.minimize_linear(self._minorant.slope)[0]

    def _project(self, minimum: ModelMinimum) -> Vector:
        """Rows of objective cuts are in units of the gap, so that the projection's tolerance is relative to it."""
        pool, gap = self._pool, self._pool.upper - self._lower
        if not gap > 0:
            return minimum.point
        slopes, normals = pool.objective.matrix, pool.feasibility.matrix
        scale = np.r_[np.full(len(slopes), gap), 1e-3 * np.abs(normals).max(axis=1, initial=0.0)]
        level = self._lower + self.level * gap
        matrix = np.vstack([slopes, normals]) / scale[:, None]
        rhs = np.r_[level - pool.objective.constant, -pool.feasibility.constant] / scale
        rhs[len(slopes) :] -= 3e-6  # three times the projection's tolerance: stay inside the feasibility cuts
        metric = None if self.entropic is False else self._domain.entropic_metric(self._point)
        if metric is None:
            metric = np.ones(self._domain.dimension)
        m = len(pool.objective)
        start = np.zeros(len(rhs))
        start[: min(m, len(self._multipliers))] = self._multipliers[:m] * gap
        done = project_on_cuts(self._domain, self._point, metric, matrix, rhs, start)
        self._multipliers = done.multipliers[:m] / gap
        if done.converged and (done.point != self._point).any():
            return done.point
        if done.converged:  # an inexact cut left the last query point in the level set: learn at the model's minimiser
            return minimum.point
        violation, slack = matrix @ self._point - rhs, rhs - matrix @ minimum.point
        share = np.divide(violation, violation + slack, out=np.zeros_like(rhs), where=violation > 0)
        entered = float(np.clip(share, 0.0, 1.0).max())
        return self._domain.project(self._point + entered * (minimum.point - self._point))

    def _forget(self, minimum: ModelMinimum) -> None:
        mask = self._pool.shrink(self.max_cuts, minimum.objective, minimum.feasibility)
        if mask is not None:
            self._lp.keep(mask)
            self._multipliers = self._multipliers[mask]
