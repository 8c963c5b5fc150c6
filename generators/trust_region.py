"""The trust-region bundle method: minimize the cutting-plane model in a ball or a box around the best point."""

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
from oracle_opt.arguments import flag, one_of, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal
from oracle_opt.generators.masters.proximity_control import LAG

ORDERS = {"ball": 2.0, "box": np.inf}  # of the norms
GOOD = 0.5  # error of the model, as a share of the decrease it predicted, up to which the radius doubles
WORSE = 1.1  # ... and from which it falls: 1 is a point as good as the best one


class TrustRegion(QueryPointGenerator):
    """The cutting-plane model is minimized where it is trusted: in a ball or a box around the best point.

    With c the best point, m the model and r the radius, the next query point solves

        ``minimize m(z)   subject to   norm(z - c) <= r``

    over the domain and the feasibility cuts. The norm is Euclidean, or, for a box, the largest share of its range that
    a variable moves by: the boxstep method [1]_. Every better point becomes c.

    The radius doubles after a step to the region's edge that gained at least half of what m predicted. With U the value
    at c, a step with

        ``rho = (f(z) - U) / (U - m(z)) > 0.1``

    divides the radius by rho, at least by 1.5 and at most by 4. The rule is that of [2]_, where rho has to be above 3,
    or above 1 three times. A region that leaves less to be gained than a hundredth of the proven gap is too
    small [3]_: the radius doubles.

    Parameters
    ----------
    norm : {"ball", "box"}
        The shape of the region. A box costs a second linear program a call, a ball two or three projections.
    radius : float
        The first radius, default 0.1: for a ball, as a share of the diameter of the smallest known ball around the
        domain, for a box as a share of each variable's range. With `inf` the radius never changes and the points are
        Kelley's; `Kelley` also draws back from a step that was far too long.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.
    tune_accuracy
        As for `Kelley`.

    Raises
    ------
    InvalidArgument
        Arguments out of range.

    Notes
    -----
    The bound is that of the model over the whole domain, as for `Kelley`: a linear program that is solved again from
    its last basis. Where its minimizer lies in the region, that is the next point. The ball's minimizer is found up to
    a tenth of the decrease that the ball allows. Without the bound the second program would stop at c: what the region
    leaves out is proven by nothing else.

    Should the program in a box fail numerically, the query point is where the segment from c to the model's minimizer
    leaves the box.

    References
    ----------
    .. [1] Marsten, Hogan & Blankenship (1975), "The boxstep method for large-scale optimization".
    .. [2] Linderoth & Wright (2003), "Decomposition algorithms for stochastic programming on a computational grid".
    .. [3] de Oliveira & Solodov (2016), "A doubly stabilized bundle method for nonsmooth convex optimization".

    Schramm & Zowe (1992), "A version of the bundle idea for minimizing a nonsmooth function", for the ball.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import TrustRegion
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, TrustRegion(), rtol=1e-4).success
    True
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({FeasibilityCut})

    def __init__(
        self, norm: str = "ball", radius: float = 0.1, max_cuts: int = 1000, tune_accuracy: bool = False
    ) -> None:
        self.norm = one_of("norm", norm, ORDERS)
        self.radius = real("radius", radius, above=0.0, infinite=True)
        self.max_cuts = whole("max_cuts", max_cuts)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints."""
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._model = CuttingPlaneModel(domain, self.max_cuts)
        self._levels = LevelProjection(self._model, entropic=False)
        lower, upper = self._model.domain.bounding_box()
        size = np.array([2.0 * self._model.domain.enclosing_ball()[1]]) if self.norm == "ball" else upper - lower
        self._size = np.where(size > 0, size, 1.0)  # what the radius is a share of
        self._radius = self.radius
        self._edge = False  # whether the region kept the step from the model's minimizer
        self._point = point

    def ask(self) -> Vector | Query:
        """Return the model's minimizer in the region."""
        return self._model.query(self._point, self.tune_accuracy)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Change the radius, add the cut, minimize the model over the domain and in the region."""
        model = self._model
        if isinstance(cut, ObjectiveCut):
            error = model.error(cut)
            if error <= GOOD and self._edge:
                self._radius *= 2.0
            elif WORSE < error < np.inf:
                self._radius /= float(np.clip(error - 1.0, 1.5, 4.0))
        better = model.add(cut)
        best = model.pool.best
        if model.minimum is not None:
            self._point = model.minimum.point
            if best is not None:
                if model.gap > model.resolution:
                    self._point = self._near(best.point, self._point)
                    if (self._point == cut.point).all():  # the linear program is at its tolerance
                        self._point = self._levels.project(best.point, 0.5)
                model.expect(self._point)
                if self._edge and model.decrease < LAG * model.gap:
                    self._radius *= 2.0
        if isinstance(cut, FeasibilityCut):
            return Step.FEASIBILITY
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant

    def _near(self, center: Vector, minimizer: Vector) -> Vector:
        """Minimize the model in the region; over the domain, where that is given, if the region is its center alone."""
        away = minimizer - center
        length = float(np.linalg.norm(away / self._size, ORDERS[self.norm]))
        self._edge = length > self._radius
        if not self._edge:
            return minimizer
        reach = self._radius * self._size
        if self.norm == "ball":
            point = self._levels.within(center, float(reach[0]))
        else:
            found = self._model.minimum_within(center - reach, center + reach)
            point = center + self._radius / length * away if found is None else found.point
        return point if (point != center).any() else minimizer
