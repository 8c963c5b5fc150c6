"""The query point of the level method: the last one projected on a level set of the model."""

import numpy as np

from oracle_opt import Minorant
from oracle_opt.arrays import Vector
from oracle_opt.domains.projection import project_on_cuts
from oracle_opt.generators.masters.cut_pool import TANGENTS
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.polyhedra import simple_part
from oracle_opt.generators.masters.row_products import stacked

MISSED = 0.01  # a level that is missed by this share of the gap counts as reached
INSIDE = 3e-6  # margin to feasibility cuts, in their unit: three times the tolerance of the projection
CLOSE = 0.1  # share of the decrease that a ball allows up to which its minimizer is found
TINY = 1e-150  # a distance whose square is no zero
TRIALS = 8  # limit on the level sets for one ball


class LevelProjection:
    """Projects points on level sets of a cutting-plane model.

    ::

        minimize 1/2 sum(metric * (z - center)**2)   subject to   m(z) <= lower + level * (upper - lower)

    over the domain and the feasibility cuts. The metric is Euclidean or, on simplices, that of the entropy at the
    center, ``1 / center``, which leaves small weights small.

    It is solved by semismooth Newton steps on the dual, which has one variable a cut, from the multipliers of the last
    projection. A step costs a projection on the domain for each trial length, O(m n) for m cuts in n variables, and a
    factorization of the order of the active cuts.

    Where cuts come with summands, the projection knows whole cuts alone. Whatever piece of the summands' model its
    point violates, by more than a share of the gap, is added to these, and it is done again.

    Parameters
    ----------
    model : CuttingPlaneModel
        The model, of which the projection reads cuts and bounds. It adds tangents of the summands to the cuts.
    entropic : bool, optional
        Metric: entropic, Euclidean, or, by default, entropic where the domain has such a metric.

    References
    ----------
    Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods"; Qi & Sun (1993), "A nonsmooth version
    of Newton's method".
    """

    def __init__(self, model: CuttingPlaneModel, entropic: bool | None = None) -> None:
        self._model = model
        self._entropic = entropic
        self._level = 0.5  # of the last minimizer in a ball
        # serial numbers and multipliers of the cuts of the last projection, in units of the values
        self._numbers = np.zeros(0, dtype=np.intp)
        self._multipliers = np.zeros(0)
        self._outer = np.zeros(0)  # multipliers of the feasibility cuts then

    def project(self, center: Vector, level: float, unit: float | None = None) -> Vector:
        """Nearest point to `center` where the model is at most ``lower + level * gap``.

        It is in the level set up to a hundredth of the gap. Rows of objective cuts are in units of the gap, or in the
        `unit`, so that the projection's tolerance is relative to it. A gap that is rounding has no level sets: the
        point is then the model's minimizer. So it is where the center lies in the level set, as an inexact cut may
        leave it. Should the projection fail numerically, the point is where the segment from the center to the model's
        minimizer enters the level set. The `level` is between 0, the minimum of the model, and 1, the best value.
        """
        model = self._model
        for _ in range(TANGENTS):
            point = self._of_whole_cuts(center, level, unit or model.gap)
            if not model.gap > model.resolution or not model.pool.add_tangent(
                point, model.lower + (level + MISSED) * model.gap
            ):
                return point
        return point

    def minorant(self) -> Minorant | None:
        """Combination of cuts by the multipliers of the last projection; `None` if it has none."""
        pool = self._model.pool
        outer = np.zeros(len(pool.feasibility))
        outer[: len(self._outer)] = self._outer
        return pool.minorant(pool.objective.known(self._numbers, self._multipliers), outer)

    def within(self, center: Vector, radius: float) -> Vector:
        """Point of the ball around `center` where the model is nearly as small as anywhere in the ball.

        Up to a tenth, the decrease below the best value is the largest that the `radius` allows. The ball's minimizer
        is the projection of the center on the level set that the ball just reaches, and the distance of a level set is
        a convex function of the level. So between a level set within reach and one beyond, a secant gives a level that
        the ball attains, on the segment between their points. Tangents, whose slopes are the multipliers, give levels
        that no point of the ball has. As the distance spans orders of magnitude, its logarithm tells where to look.
        Distances are those of `project`.
        """
        model = self._model
        assert model.minimum is not None
        if not self._distance(model.minimum.point, center) > radius:
            return model.minimum.point
        inside, near, high = center, 0.0, 1.0  # a point within reach, its distance and level
        beyond, far, low = center, np.inf, 0.0  # and one that is not; which minimizer the model has does not matter
        missed, attained, level = 0.0, 1.0, self._level  # levels that no point of the ball has, and that one has
        for _ in range(TRIALS):
            margin = 0.1 * (attained - missed)
            level = min(max(level, missed + margin), attained - margin)
            point = self.project(center, level)
            distance = max(self._distance(point, center), TINY)
            slope = model.gap * float(self._multipliers.sum()) / distance**2  # of the logarithm
            if slope > 0:
                missed = max(missed, level + (1.0 - radius / distance) / slope)
            if distance > radius:
                beyond, far, low = point, distance, level
            else:
                inside, near, high = point, distance, level
            attained = low + (far - radius) / (far - near) * (high - low) if far < np.inf else high
            if attained - missed <= CLOSE * (1.0 - missed):
                break
            if 0.0 < near < far < np.inf:
                level = low + float(np.log(far / radius) / np.log(far / near)) * (high - low)
            else:
                level = level + float(np.log(distance / radius)) / slope if slope > 0 else 0.5
        self._level = attained
        return inside + (radius - near) / (far - near) * (beyond - inside)

    def _of_whole_cuts(self, last: Vector, level: float, unit_of_cuts: float) -> Vector:
        """Project on the level set of the whole cuts."""
        model = self._model
        assert model.minimum is not None
        pool, gap, minimizer = model.pool, model.gap, model.minimum.point
        if not gap > model.resolution:
            return minimizer
        objective, feasibility = pool.objective, pool.feasibility
        unit = np.concatenate([np.full(len(objective), unit_of_cuts), 1e-3 * feasibility.steepness])
        matrix = stacked([objective.compact, feasibility.compact]) if len(feasibility) else objective.compact
        rhs = np.concatenate([model.lower + level * gap - objective.constant, -feasibility.constant])
        rhs[len(objective) :] -= INSIDE * unit[len(objective) :]
        domain, equations, sides = simple_part(model.domain)  # the domain's inequalities are in the pool
        if len(equations):
            matrix, rhs = stacked([matrix, equations]), np.r_[rhs, sides]
            unit = np.r_[unit, 1e-3 * np.abs(equations).max(axis=1, initial=0.0)]
        metric = self._metric(last)
        start = np.zeros(len(rhs))
        start[: len(objective)] = unit_of_cuts * objective.known(self._numbers, self._multipliers)
        done = project_on_cuts(domain, last, metric, matrix, rhs, start, unit=unit, n_equations=len(equations))
        self._numbers = objective.number.copy() if done.converged else objective.number[:0]
        self._multipliers = done.multipliers[: len(self._numbers)] / unit_of_cuts
        inner, outer = len(objective), len(objective) + len(feasibility)
        self._outer = done.multipliers[inner:outer] / unit[inner:outer] if done.converged else self._outer[:0]
        if done.converged and (done.point != last).any():
            if domain is model.domain:
                return done.point
            # the domain's rows hold only up to a tolerance; this makes them hold, perhaps at the cost of the level
            point = model.domain.project(done.point)
            if objective.largest(point) <= model.lower + (level + MISSED * unit_of_cuts / gap) * gap:
                return point
        elif done.converged:  # the center lies in the level set: learn at the model's minimizer
            return minimizer
        kept = len(rhs) - len(equations)
        matrix, rhs, unit = matrix[:kept], rhs[:kept], unit[:kept]
        violation, slack = (matrix @ last - rhs) / unit, (rhs - matrix @ minimizer) / unit
        length = violation + np.maximum(slack, 0.0)
        share = np.divide(violation, length, out=np.zeros_like(rhs), where=violation > 0)
        point = model.domain.project(last + float(np.clip(share, 0.0, 1.0).max()) * (minimizer - last))
        return point if (point != last).any() else minimizer

    def _metric(self, center: Vector) -> Vector:
        """Weights of the squared distances from a point."""
        metric = None if self._entropic is False else self._model.domain.entropic_metric(center)
        return np.ones(len(center)) if metric is None else metric

    def _distance(self, point: Vector, center: Vector) -> float:
        return float(np.sqrt(self._metric(center) @ (point - center) ** 2))
