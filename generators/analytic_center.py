"""The analytic center cutting plane method (ACCPM)."""

import numpy as np

from oracle_opt import (
    Domain,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import flag, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cut_pool import TANGENTS
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.highs import LPFailure
from oracle_opt.generators.masters.linear_program import ChebyshevLP, ModelMinimum
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal
from oracle_opt.generators.masters.row_products import stacked, steepness

AGREES = 0.03  # error of the model that lets the proximal term give way, as a share of the decrease it predicted
FARTHER, NEARER = 4.0, 0.5  # factors of the term's unit of length: where the model was right, where no value fell
MANY = 1000  # variables beyond which the term's unit of length is shorter
FAR = 1e3  # longest unit, in sizes of the domain: at this length the term holds nothing back


class AnalyticCenter(QueryPointGenerator):
    """Ask at the analytic center of the localization set.

    In the epigraph form that set is ``{(z, theta) : constant_i + slope_i @ z <= theta <= upper bound}`` over the
    domain and the feasibility cuts; in the objective-cut form it is ``{z : slope_i @ (z - point_i) <= 0}``. Its
    analytic center maximizes the weighted sum of the logarithms of all slacks.

    Parameters
    ----------
    epigraph : bool
        `True` for the epigraph form, `False` for the objective-cut form.
    upper_weight : float, optional
        Barrier weight of ``theta <= upper bound``; default is the number of cuts, so that it holds its own.
    domain_weight : float
        Barrier weight of each bound of the domain. On a simplex with hundreds of variables weight 1 drowns the cuts.
    proximal : float
        Weight of the proximal term ``1/2 (|z - best point| / size)^2`` added to the barrier; 0 for the pure analytic
        center. The size is the distance of a vertex of the domain from its interior point. On `FreeSpace` and
        `NonnegativeOrthant`, whose radius is only a statement, it is divided by the number of variables n; on others
        with more than a thousand, by n / 1000. After each call at whose query point z the model m was right,
        ``f(z) - m(z) <= 0.03 * (U - m(z))`` with U the best value before, the size grows to four times as much. So
        where the way is long, the term does not hold the center back. A value that does not fall halves it, down to
        where it began.
    vanishing : float
        On simplices, weights below this share of the largest one are set to 0 in the query point and the others scaled
        up; oracles that skip zeros save time. Where feasibility cuts came none is.
    max_cuts, tune_accuracy
        As for `Kelley`.

    Notes
    -----
    The center is found by a few primal-dual Newton steps from the last one, which need not satisfy the new cut, and
    only to a tenth, as a center need not be exact. If they fail they are taken once more from a strictly feasible
    point. This is the best one on the segment from the last center to the minimizer of the cutting-plane model, or, if
    feasibility cuts leave none there, the center of the largest ball. If these steps fail, too, that point itself is
    asked: it is in the localization set, so the run always goes on. The proven bound is that of the model's minimum, a
    linear program; the multipliers of the center, weight over slack, prove less.

    References
    ----------
    Goffin & Vial (2002), "Convex nondifferentiable optimization: a survey focused on the analytic center cutting
    plane method"; Wulff & Ong (2014), Algorithm 2 and (11); Babonneau et al. (2007), "Proximal-ACCPM".

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import AnalyticCenter
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, AnalyticCenter(), rtol=1e-4).success
    True
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({FeasibilityCut})

    def __init__(
        self,
        epigraph: bool = True,
        upper_weight: float | None = None,
        domain_weight: float = 0.01,
        proximal: float = 500.0,
        vanishing: float = 1e-5,
        max_cuts: int = 1000,
        tune_accuracy: bool = False,
    ) -> None:
        self.epigraph = flag("epigraph", epigraph)
        self.upper_weight = None if upper_weight is None else real("upper_weight", upper_weight, above=0.0)
        self.domain_weight = real("domain_weight", domain_weight, above=0.0)
        self.proximal = real("proximal", proximal, least=0.0)
        self.vanishing = real("vanishing", vanishing, least=0.0, below=1.0)
        self.max_cuts = whole("max_cuts", max_cuts)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints."""
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._model = CuttingPlaneModel(domain, self.max_cuts)
        self._domain = self._model.domain
        constraints = self._domain.linear_constraints()
        assert constraints is not None
        self._free = free = np.flatnonzero(constraints.lower < constraints.upper)  # the others have one value
        self._fixed = np.where(constraints.lower < constraints.upper, 0.0, constraints.lower)
        # lower bounds, their weights, upper bounds and theirs; theta, below the upper bound, is the last variable
        bounds = np.column_stack([(constraints.lower[free], constraints.upper[free]), (-np.inf, 0.0)])
        held = self.domain_weight * np.isfinite(bounds)
        self._sides = np.stack([bounds[0], held[0], bounds[1], held[1]])
        equalities = constraints.equality_matrix[:, free]
        self._equalities = np.column_stack([equalities, np.zeros(len(equalities))])[equalities.any(axis=1)]
        self._blocks = self._domain.simplices()
        self._point = point
        self._center = middle = self._domain.interior_point()
        vertex = self._domain.minimize_linear(np.ones(domain.dimension))[1]
        size = whole = float(np.linalg.norm(vertex - middle)) or 1.0
        if self._domain is not domain:  # its radius is only a promise, and says little about where a minimizer is
            size /= domain.dimension
        elif domain.dimension > MANY:  # cuts bound few directions of so many: the others are the term's to hold
            size *= MANY / domain.dimension
        self._least_size = self._size = size
        self._most_size = FAR * whole
        self._height = 0.0  # upper bound minus theta at the last center, 0 before the first
        self._unit = 1.0

    def ask(self) -> Vector | Query:
        """Return the analytic center."""
        return self._model.query(self._point, self.tune_accuracy)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut and recenter; every objective cut moves the center."""
        if isinstance(cut, ObjectiveCut):
            self._adapt(self._model.error(cut))
        self._model.add(cut)
        n_cuts = len(self._model.pool.objective)
        valued = self._model.pool.best is not None or not n_cuts
        if not valued and self._model.minimum is not None:  # cuts of which no value is known leave no set to localize
            self._point = self._model.minimum.point
        for _ in range(TANGENTS if valued else 0):
            if self._model.minimum is None:
                break
            self._recenter(self._model.minimum)
            # the cuts of the summands, too, must leave the center inside: below theta, or below the upper bound
            height = self._height if self.epigraph and n_cuts else 0.0
            if not self._model.pool.add_tangent(self._point, self._model.pool.upper - height):
                break
        if n_cuts:
            self._model.expect(self._point)
        return Step.FEASIBILITY if isinstance(cut, FeasibilityCut) else Step.SERIOUS

    def learn(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Add the cut to the others."""
        self._model.pool.add(cut)

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant

    def _adapt(self, error: float) -> None:
        """A longer unit of the proximal term where the model was right, a shorter one where the value did not fall."""
        if error <= AGREES:
            self._size = min(FARTHER * self._size, self._most_size)
        elif 1.0 <= error < np.inf:
            self._size = max(NEARER * self._size, self._least_size)

    def _recenter(self, minimum: ModelMinimum) -> None:
        if not len(self._free):
            self._point = minimum.point
            return
        polytope = self._polytope()
        height = [-self._height / self._unit] if len(polytope.lower) > len(self._free) else []
        center, converged = analytic_center(polytope, np.concatenate([self._center[self._free], height]))
        if not converged:
            start = self._best_on_segment(polytope, minimum.point)
            if start is None:
                start = self._best_on_segment(polytope, self._deepest_point(minimum))
            if start is None:
                # the set has no interior left at this precision: its best known point is the model's minimizer
                self._point = minimum.point
                return
            center, converged = analytic_center(polytope, start)
            if not converged:
                center = start
        self._center = self._domain.interior_point()
        self._center[self._free] = center[: len(self._free)]
        if height:
            self._height = -center[-1] * self._unit
        self._point = self._query()

    def _deepest_point(self, minimum: ModelMinimum) -> Vector:
        """Center of the largest ball between the cuts; should its program fail, the model's minimizer."""
        try:
            ball = ChebyshevLP(self._domain).solve(self._model.pool)
        except LPFailure:
            ball = None
        return minimum.point if ball is None else ball.point

    def _query(self) -> Vector:
        """The center, without weights that vanish beside the largest of their simplex."""
        z = self._domain.project(self._center)
        if self._blocks is None or len(self._model.pool.feasibility):
            return z
        return self._blocks.without_small(z, self.vanishing)

    def _polytope(self) -> Polytope:
        """Rows of free variables, in units of the largest slope; theta, below the upper bound, is the last variable."""
        pool, n, free = self._model.pool, len(self._free), self._free
        slopes, normals = pool.objective.compact, pool.feasibility.compact
        steep, scale, shifts = pool.objective.steepness, pool.feasibility.steepness, pool.feasibility.constant
        constants, counts = pool.objective.constant, pool.feasibility.count
        best = self._domain.interior_point() if pool.best is None else pool.best.point
        if n < len(best):
            constants, shifts = constants + slopes @ self._fixed, shifts + normals @ self._fixed
            slopes, normals, best = slopes[:, free], normals[:, free], best[free]
            steep, scale = steepness(slopes), steepness(normals)
            inside = scale > 0  # a row that holds fixed variables only bounds nothing
            normals, shifts, counts, scale = normals[inside], shifts[inside], counts[inside], scale[inside]
        unit = float(steep.max(initial=0.0)) or 1.0
        scale = np.concatenate([steep, scale])
        scale[: len(steep)] = unit
        weights = np.concatenate([pool.objective.count, counts])
        if self.epigraph and len(steep):
            width, values, last = n + 1, pool.upper - constants, np.zeros(len(scale))
            last[: len(steep)] = -1.0
            self._unit = unit
            self._height = self._height or unit
            self._sides[3, n] = weights[: len(steep)].sum() if self.upper_weight is None else self.upper_weight
        else:  # constant_i + slope_i @ z <= value_i is (12), slope_i @ (z - point_i) <= 0
            width, values, last = n, pool.objective.value - constants, None
        rhs = np.concatenate([values, -shifts]) / scale
        anchor, proximal = np.zeros((2, width))
        anchor[:n], proximal[:n] = best, self.proximal / self._size**2
        matrix = stacked([slopes, normals], scale, last)
        lower, below, upper, above = self._sides[:, :width]
        return Polytope(matrix, rhs, weights, lower, below, upper, above, self._equalities[:, :width], proximal, anchor)

    def _best_on_segment(self, polytope: Polytope, inner: Vector) -> Vector | None:
        """The point of least barrier among some between the last center and `inner`; `None` if none is inside."""
        n, free, n_cuts = len(self._free), self._free, len(self._model.pool.objective)
        middle = self._domain.interior_point()
        best, least = None, np.inf
        for share in (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0):
            for lift in (1e-2, 1e-4, 1e-7):
                x = ((1 - lift) * ((1 - share) * self._center + share * inner) + lift * middle)[free]
                if len(polytope.lower) > n:  # theta half way between the model's value and the upper bound
                    x = np.concatenate([x, [0.0]])
                    x[n] = 0.5 * (polytope.matrix @ x - polytope.rhs)[:n_cuts].max()
                value = polytope.barrier(x)
                if value < least:
                    best, least = x, value
        return best
