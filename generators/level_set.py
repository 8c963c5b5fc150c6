"""The level method: project the best point, or the last one, on a level set of the cutting-plane model."""

from math import sqrt

import numpy as np

from oracle_opt import (
    Domain,
    FeasibilityCut,
    Guarantee,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Regularity,
    Step,
)
from oracle_opt.arguments import flag, one_of, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.bounds import cut_rounding
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.known_model import KnownModel, KnownProjection
from oracle_opt.generators.masters.level_center import LevelCenter
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal

AGREES = 0.03  # error of the model that lets the level fall, as a share of the decrease it predicted
FALL = 0.25  # the factor by which the level falls then
LOWEST = 0.01
STUCK = 3  # null steps in a row after which the last point is projected
NOTHING = 1e-9  # share of the gap by which what is proven may be above the minimum: rounding
BESIDE = 2.0**-26  # share of the way to the model's minimizer, the root of the rounding


class LevelSet(QueryPointGenerator):
    """The level (bundle) method, Euclidean or entropic.

    With U the best value and L the model's minimum, the next query point is the point nearest to the best one where
    the model is at most ``L + l * (U - L)`` [2]_. Near is meant in the Euclidean norm, or, on simplices, in the metric
    ``1 / z`` of the entropy at the last query point, which leaves small weights small; it is then the last point that
    is projected [3]_, as it is after a feasibility cut.

    The share l is `level`, until the model m turns out to be right: when

        ``f(z) - m(z) <= 0.03 * (U - m(z))``

    at a query point z, m and U before the answer, l is a quarter of what it was; when not, it is `level` again. A model
    that is exact near the minimum, as that of a piecewise linear function is in the end, then closes the gap
    superlinearly. A fixed level cannot shrink the gap by more than its share in a call.

    Parameters
    ----------
    level : float
        Between 0 (Kelley's point) and 1 (hardly a step), default 0.8.
    entropic : bool, optional
        Whether to use the entropic metric; default is to use it where the domain has one.
    max_cuts : int
        Keep at most so many objective cuts; slack ones are dropped and their proof is kept as one aggregate cut.
    adaptive : bool
        `False` for the classic method: l is `level` at every call.
    tune_accuracy
        As for `Kelley`.
    interior : bool
        Ask at the analytic center of the level set in place of the projection [1]_.
    center : {"either", "best", "last"}
        Which point is projected: the last one, as in the classic method [3]_; the best one; or the best one until three
        null steps in a row, then the last one until the next serious step. Against "last", "best" takes fewer calls on
        functions of few pieces and up to three times as many on means of many losses; "either" is near the better one.
    target : float, optional
        The minimum of f, where it is known: it is the level then, and the last point is projected, which no query
        moves away from a minimizer (the Polyak minorant method [4]_). A yardstick of what not knowing it costs.

    Raises
    ------
    InvalidArgument
        Arguments out of range, `interior` or `target` with an entropic metric, and both together.

    Notes
    -----
    The level is lowered only after a call that shrank the gap by a fixed share, and comes back with the first call that
    does not. So with ``center="last"`` the method still needs ``O((MD / gap)^2)`` calls, M a Lipschitz constant and D
    the diameter of the domain. The best point needs fewer on most problems, and no such count is proven for it here.

    L comes from a linear program that is solved again from its last basis, the projection from its dual, which has one
    variable per cut. If the projection fails numerically, the query point is where the segment from the last query
    point to the linear program's minimizer enters the level set: never best, always allowed.

    References
    ----------
    .. [1] Pecci & Jenkins (2024), "Regularized Benders decomposition for high performance capacity expansion models",
       arXiv 2403.02559.
    .. [2] Kiwiel (1995), "Proximal level bundle methods for convex nondifferentiable optimization".
    .. [3] Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods"; Xu, Jin, King & Lyu (2008) and
       Wulff & Ong (2014), (16), for MKL.
    .. [4] Devanathan & Boyd (2023), "Polyak minorant method for convex optimization", arXiv 2310.07922.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import LevelSet
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, LevelSet(), rtol=1e-4).success
    True
    """

    needs_convexity = True
    reads_extras = False
    takes = frozenset({FeasibilityCut})

    def __init__(
        self,
        level: float = 0.8,
        entropic: bool | None = None,
        max_cuts: int = 1000,
        adaptive: bool = True,
        tune_accuracy: bool = False,
        interior: bool = False,
        center: str = "either",
        target: float | None = None,
    ) -> None:
        self.level = real("level", level, above=0.0, below=1.0)
        self.entropic = None if entropic is None else flag("entropic", entropic)
        self.max_cuts = whole("max_cuts", max_cuts)
        self.adaptive = flag("adaptive", adaptive)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)
        self.interior = flag("interior", interior)
        self.center = one_of("center", center, ("either", "best", "last"))
        self.target = None if target is None else real("target", target)
        if self.entropic and (self.interior or self.target is not None):
            raise InvalidArgument("`interior` and `target` have no entropic metric; leave `entropic` out")
        if self.interior and self.target is not None:
            raise InvalidArgument("`target` is the level of a projection, and `interior` makes none; leave one out")

    @property
    def takes_known(self) -> bool:
        """Not with centers, nor where the entropic metric is asked for."""
        return not (self.interior or self.entropic)

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints, or without entropy where it is asked for."""
        if self.entropic and domain.entropic_metric(domain.interior_point()) is None:
            return "its entropic metric needs a domain that has one"
        return polyhedral_refusal(domain)

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """Of the classic method and of that with the minimum as its level, in the Euclidean metric."""
        if self.interior or (self.entropic is not False and domain.entropic_metric(start) is not None):
            return None
        if self.target is not None:
            return Guarantee(
                known.steepness * known.distance / sqrt(calls), "L R / sqrt(N), if `target` is the minimum"
            )
        if self.adaptive or self.center != "last":
            return None
        lower, upper = domain.bounding_box()
        share = (1.0 - self.level) ** 2 * self.level * (2.0 - self.level)
        value = known.steepness * float(np.linalg.norm(upper - lower)) / sqrt(share * calls)
        return Guarantee(
            value, "L D / sqrt((1 - l)^2 l (2 - l) N), D the diameter of the box around the set, l the level"
        )

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._domain = domain
        entropic = False if self.target is not None else self.entropic
        self._model: CuttingPlaneModel
        self._levels: LevelProjection | KnownProjection
        if self.known is None:
            self._model = CuttingPlaneModel(domain, self.max_cuts)
            self._levels = LevelProjection(self._model, entropic)
        else:
            self._model = model = KnownModel(domain, self.known, self.max_cuts)
            self._levels, entropic = KnownProjection(model), False
        has_metric = entropic is not False and self._model.domain.entropic_metric(point) is not None
        self._projects_last = self.center == "last" or self.target is not None or has_metric
        self._centers = LevelCenter(self._model) if self.interior else None
        self._point = point
        self._level = self.level
        self._n_null = self._n_serious = 0  # null steps in a row, and serious ones in all
        self._minorant: Minorant | None = None

    def ask(self) -> Vector | Query:
        """Return the projection on the level set, or its center."""
        return self._model.query(self._point, self.tune_accuracy)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut, minimize the model, project on the new level set."""
        if self.adaptive and isinstance(cut, ObjectiveCut):
            right = self._model.error(cut) <= AGREES
            self._level = min(self.level, max(FALL * self._level, LOWEST)) if right else self.level
        better = self._model.add(cut)
        self._n_null, self._n_serious = (0, self._n_serious + 1) if better else (self._n_null + 1, self._n_serious)
        self._minorant = self._model.minorant
        if self._model.minimum is not None:
            self._point = self._model.minimum.point
            if self._model.pool.best is not None:
                self._choose(cut, self._model.pool.best)
                self._model.expect(self._point)
        if isinstance(cut, FeasibilityCut):
            return Step.FEASIBILITY
        return Step.SERIOUS if better else Step.NULL

    def _choose(self, cut: ObjectiveCut | FeasibilityCut, best: ObjectiveCut) -> None:
        """The next query point; and the minorant of the projection, where it proves more than the program's."""
        model, level = self._model, self._level
        if self._centers is not None:
            self._point = self._centers.choose(level)
            return
        if self.target is not None:
            self._point = self._toward_minimum(cut, best, self.target)
        else:
            stuck = self.center == "either" and self._n_null >= STUCK and self._n_serious > 1
            last = self._projects_last or stuck or isinstance(cut, FeasibilityCut)
            self._point = self._levels.project(cut.point if last else best.point, level)
        # the program's minorant is the best over a box around the domain
        if model.domain is not self._domain and isinstance(self._levels, LevelProjection):
            proven = self._levels.minorant()
            known = self._minorant
            if proven is not None and (known is None or proven.minimum(self._domain) > known.minimum(self._domain)):
                self._minorant = proven

    def _toward_minimum(self, cut: ObjectiveCut | FeasibilityCut, best: ObjectiveCut, target: float) -> Vector:
        """The last point projected where the model is at most `target`; once that is reached, a point beside the best.

        There only the proof is left, and the first step toward the model's minimizer shows a cut that is missing.
        """
        model = self._model
        assert model.minimum is not None
        minimizer, above = model.minimum.point, model.pool.upper - target
        if abs(above) <= best.error + 2.0 * cut_rounding(best.point, best.value, best.subgradient)[0]:
            return model.domain.project(best.point + BESIDE * (minimizer - best.point))
        level = (target - model.lower) / model.gap if model.gap > 0 else -1.0
        if level < -NOTHING:  # it is no minimum
            return minimizer
        unit = cut.upper - target if isinstance(cut, ObjectiveCut) and above > 0 else model.gap
        return self._levels.project(cut.point, min(max(level, 0.0), 1.0), unit)

    def learn(self, cut: ObjectiveCut | FeasibilityCut) -> None:
        """Add the cut to the others."""
        self._model.pool.add(cut)

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the multipliers of the linear program, or of the projection."""
        return self._minorant
