"""The query point of the level method in the middle of its level set: the set's analytic center."""

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.level_projection import MISSED

_LEAST = 2.0**-20  # least share of the way from the model's minimizer to the interior that is tried


class LevelCenter:
    """Analytic centers of level sets of a cutting-plane model.

    ::

        maximize sum_i log(lower + level * gap - m_i(z)) + sum_j log(slack_j(z)) + sum_k log(distance to bound k)

    over the cuts m_i, the feasibility cuts and inequalities of the domain, j, and its bounds. Where cuts come with
    summands, the level set is that of z and a height for each summand. Each cut lies below the height of its summand,
    and the heights add up to the level at most.

    The center is found by primal-dual Newton steps from the last one, which need not satisfy the new cuts. A step costs
    O(min(m, n)^2 max(m, n)) for m cuts in n variables, heights included, on a dense matrix of the cuts.

    Parameters
    ----------
    model : CuttingPlaneModel
        The model, of which cuts and bounds are read.

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
        self._unit = 1.0  # of the heights

    def choose(self, level: float) -> Vector:
        """Return a point in the middle of where the model is at most ``lower + level * gap``.

        It is in the level set up to a hundredth of the gap. A gap that is rounding has no level sets: the point is then
        the model's minimizer. Where Newton's method fails it is a point of the segment from there to an interior point
        of the domain. The `level` is between 0, the minimum of the model, and 1, the best value.
        """
        model = self._model
        assert model.minimum is not None
        minimizer = model.minimum.point
        if not model.gap > model.resolution or not len(self._free):
            return minimizer
        height = model.lower + level * model.gap
        polytope = self._polytope(height)
        inner = self._on_segment(polytope, minimizer, height)
        for start in (self._center, inner):
            if start is None:
                return minimizer
            found, converged = analytic_center(polytope, self._lifted(start, height))
            if converged:
                center = self._inside.copy()
                center[self._free] = found[: len(self._free)]
                point = model.domain.project(center)
                if model.pool.value(point) <= height + MISSED * model.gap:
                    self._center = center
                    return point
        return minimizer if inner is None else model.domain.project(inner)

    def _on_segment(self, polytope: Polytope, minimizer: Vector, height: float) -> Vector | None:
        """Half way of how far from the minimizer to the interior point the segment stays inside; None if nowhere."""
        share = 1.0
        while share > _LEAST:
            if polytope.interior(self._lifted(minimizer + share * (self._inside - minimizer), height)):
                half: Vector = minimizer + 0.5 * share * (self._inside - minimizer)
                return half
            share *= 0.5
        return None

    def _lifted(self, point: Vector, height: float) -> Vector:
        """The variables that are not fixed, and heights that share alike what the level leaves above the cuts."""
        rows, count = self._model.pool.summands, self._model.pool.n_summands
        largest = np.full(count, -np.inf)
        np.maximum.at(largest, rows.summand, rows.constant + rows.products(point))
        heights = largest + (height - largest.sum()) / (count + 1)
        lifted: Vector = np.concatenate([point[self._free], heights / self._unit])
        return lifted

    def _polytope(self, height: float) -> Polytope:
        """The level set of variables that are not fixed, and of heights, its rows in units of their largest entries."""
        pool, box, free = self._model.pool, self._constraints, self._free
        count, summands = pool.n_summands, pool.summands
        # with heights the whole cuts say nothing new but for aggregates, and what these say is looked at afterwards
        cuts = summands if count else pool.objective
        level = np.zeros((1 if count else 0, len(box.lower)))
        matrix = np.vstack([cuts.matrix, level, pool.feasibility.matrix])
        rhs = np.r_[-cuts.constant, np.full(len(level), height), -pool.feasibility.constant]
        rhs[: 0 if count else len(cuts)] += height
        if len(free) < len(box.lower):
            fixed = np.where(box.lower < box.upper, 0.0, box.lower)
            matrix, rhs = matrix[:, free], rhs - matrix @ fixed
        self._unit = float(np.abs(cuts.matrix).max(initial=0.0)) or 1.0
        heights = np.zeros((len(rhs), count))
        if count:
            heights[np.arange(len(cuts)), summands.summand], heights[len(cuts)] = -self._unit, self._unit
        matrix = np.hstack([matrix, heights])
        scale = np.abs(matrix).max(axis=1, initial=0.0)
        matrix, rhs = matrix[scale > 0] / scale[scale > 0, None], rhs[scale > 0] / scale[scale > 0]
        equalities = box.equality_matrix[:, free]
        equalities = np.hstack([equalities, np.zeros((len(equalities), count))])
        lower, upper = np.r_[box.lower[free], np.full(count, -np.inf)], np.r_[box.upper[free], np.full(count, np.inf)]
        none = np.zeros(len(lower))
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
