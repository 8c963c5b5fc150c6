"""The query point of the level method in the middle of its level set: the set's analytic center."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cut_pool import TANGENTS
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.level_projection import MISSED

_LEVEL = 2.0**-20  # least share of the way from the model's minimizer to the interior that is tried


class LevelCenter:
    """Analytic centers of level sets of a cutting-plane model.

    ::

        maximize sum_i log(lower + level * gap - m_i(z)) + sum_j log(slack_j(z)) + sum_k log(distance to bound k)

    over the cuts m_i, the feasibility cuts and inequalities of the domain, j, and its bounds. It is found by primal-dual
    Newton steps from the last one, which need not satisfy the new cuts; a step costs O(min(m, n)^2 max(m, n)) for m cuts
    in n variables.

    Parameters
    ----------
    model : CuttingPlaneModel
        The model, of which cuts and bounds are read. Tangents of the summands are added to the cuts, as
        `LevelProjection` does.

    References
    ----------
    Pecci & Jenkins (2024), "Regularized Benders decomposition for high performance capacity expansion models",
    arXiv 2403.02559.
    """

    def __init__(self, model: CuttingPlaneModel) -> None:
        self._model = model
        constraints = model.domain.linear_constraints()
        assert constraints is not None  # `refusal` refuses all other domains
        self._constraints = constraints
        self._free = np.flatnonzero(constraints.lower < constraints.upper)
        self._inside = self._center = model.domain.interior_point()

    def choose(self, level: float) -> Vector:
        """Return a point in the middle of where the model is at most ``lower + level * gap``.

        A gap that is rounding has no level sets: the point is then the model's minimizer. Where Newton's method fails it
        is a point of the segment from there to an interior point of the domain.

        Parameters
        ----------
        level : float
            Between 0, the minimum of the model, and 1, the best value.

        Returns
        -------
        ndarray of shape (n,)
            A point of the domain, in the level set up to a hundredth of the gap.
        """
        model = self._model
        for _ in range(TANGENTS):
            point = self._of_whole_cuts(level)
            if not model.gap > model.resolution or not model.pool.add_tangent(
                point, model.lower + (level + MISSED) * model.gap
            ):
                return point
        return point

    def _of_whole_cuts(self, level: float) -> Vector:
        model = self._model
        assert model.minimum is not None
        minimizer = model.minimum.point
        if not model.gap > model.resolution or not len(self._free):
            return minimizer
        height = model.lower + level * model.gap
        polytope = self._polytope(height)
        for start in (self._center, self._on_segment(polytope, minimizer)):
            if start is None:
                return minimizer
            found, converged = analytic_center(polytope, start[self._free])
            if converged:
                center = self._inside.copy()
                center[self._free] = found
                point = model.domain.project(center)
                if model.pool.objective.largest(point) <= height + MISSED * model.gap:
                    self._center = center
                    return point
        return model.domain.project(start)

    def _on_segment(self, polytope: Polytope, minimizer: Vector) -> Vector | None:
        """Half way of how far from the minimizer to the interior point the segment stays inside; None if nowhere."""
        share = 1.0
        while share > _LEVEL:
            point = minimizer + share * (self._inside - minimizer)
            if polytope.interior(point[self._free]):
                half: Vector = minimizer + 0.5 * share * (self._inside - minimizer)
                return half
            share *= 0.5
        return None

    def _polytope(self, height: float) -> Polytope:
        """The level set of the variables that are not fixed, its rows in units of their largest entries."""
        pool, box, free = self._model.pool, self._constraints, self._free
        matrix = np.vstack([pool.objective.matrix, pool.feasibility.matrix])
        rhs = np.r_[height - pool.objective.constant, -pool.feasibility.constant]
        if len(free) < len(box.lower):
            fixed = np.where(box.lower < box.upper, 0.0, box.lower)
            matrix, rhs = matrix[:, free], rhs - matrix @ fixed
        scale = np.abs(matrix).max(axis=1, initial=0.0)
        matrix, rhs = matrix[scale > 0] / scale[scale > 0, None], rhs[scale > 0] / scale[scale > 0]
        equalities = box.equality_matrix[:, free]
        lower, upper, none = box.lower[free], box.upper[free], np.zeros(len(free))
        return Polytope(
            matrix,
            rhs,
            np.ones(len(rhs)),
            lower,
            np.isfinite(lower).astype(float),
            upper,
            np.isfinite(upper).astype(float),
            equalities[equalities.any(axis=1)],
            none,
            none,
        )
