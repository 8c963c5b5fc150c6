"""The query point of the level method: the last one projected on a level set of the model."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains.projection import project_on_cuts
from oracle_opt.generators.masters.cut_pool import TANGENTS
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.polyhedral import simple_part

MISSED = 0.01  # a level missed by this share of the gap is as good


def level_point(model: CuttingPlaneModel, last: Vector, level: float, entropic: bool | None) -> Vector:
    """Project on ``{z : model(z) <= lower + level * (upper - lower)}``.

    Where cuts come with summands, the projection knows whole cuts alone. Whatever piece of the summands' model its
    point violates, by more than a share of the gap, is added to these, and it is done again.

    Rows of objective cuts are in units of the gap, so that the projection's tolerance is relative to it. Its
    multipliers are left with the model, for the next projection to start from. A gap that is rounding has no level
    sets: the point is then the model's minimizer. Should the projection fail numerically, the point is where the
    segment from the last query point to the model's minimizer enters the level set.

    Parameters
    ----------
    model : CuttingPlaneModel
        With an objective cut and a minimum.
    last : ndarray of shape (n,)
        The last query point.
    level : float
        Between 0 and 1.
    entropic : bool or None
        Metric of the projection: entropic, Euclidean, or what the domain has.
    """
    for _ in range(TANGENTS):
        point = _projection(model, last, level, entropic)
        if not model.gap > model.resolution or not model.pool.add_tangent(
            point, model.lower + (level + MISSED) * model.gap
        ):
            return point
    return point


def _projection(model: CuttingPlaneModel, last: Vector, level: float, entropic: bool | None) -> Vector:
    """Project on the level set of the whole cuts."""
    assert model.minimum is not None
    pool, gap, minimizer = model.pool, model.gap, model.minimum.point
    if not gap > model.resolution:
        return minimizer
    objective, feasibility = pool.objective, pool.feasibility
    unit = np.r_[np.full(len(objective), gap), 1e-3 * np.abs(feasibility.matrix).max(axis=1, initial=0.0)]
    matrix = np.vstack([objective.matrix, feasibility.matrix]) if len(feasibility) else objective.matrix
    rhs = np.r_[model.lower + level * gap - objective.constant, -feasibility.constant]
    rhs[len(objective) :] -= 3e-6 * unit[len(objective) :]  # three times the tolerance: stay inside feasibility cuts
    domain, equations, sides = simple_part(model.domain)  # the domain's inequalities are in the pool
    if len(equations):
        matrix, rhs = np.vstack([matrix, equations]), np.r_[rhs, sides]
        unit = np.r_[unit, 1e-3 * np.abs(equations).max(axis=1, initial=0.0)]
    metric = None if entropic is False else model.domain.entropic_metric(last)
    if metric is None:
        metric = np.ones(model.domain.dimension)
    known = model.level_multipliers
    start = np.zeros(len(rhs))
    start[: len(known)] = gap * known
    done = project_on_cuts(domain, last, metric, matrix, rhs, start, unit=unit, n_equations=len(equations))
    model.level_multipliers = done.multipliers[: len(objective)] / gap if done.converged else np.zeros(0)
    if done.converged and (done.point != last).any():
        if domain is model.domain:
            return done.point
        # whose rows hold up to the projection's tolerance: they shall, but then perhaps no longer the level
        point = model.domain.project(done.point)
        if objective.largest(point) <= model.lower + (level + MISSED) * gap:
            return point
    elif done.converged:  # an inexact cut left the last query point in the level set: learn at the model's minimizer
        return minimizer
    kept = len(rhs) - len(equations)
    matrix, rhs, unit = matrix[:kept], rhs[:kept], unit[:kept]
    violation, slack = (matrix @ last - rhs) / unit, (rhs - matrix @ minimizer) / unit
    length = violation + np.maximum(slack, 0.0)
    share = np.divide(violation, length, out=np.zeros_like(rhs), where=violation > 0)
    point = model.domain.project(last + float(np.clip(share, 0.0, 1.0).max()) * (minimizer - last))
    return point if (point != last).any() else minimizer
