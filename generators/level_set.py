"""The level method: project the last query point on a level set of the cutting-plane model."""

from __future__ import annotations

from oracle_opt import (
    Domain,
    FeasibilityCut,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import flag, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.level_center import LevelCenter
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal

AGREES = 0.03  # error of the model that lets the level fall, as a share of the decrease it predicted
FALL = 0.25  # the factor by which the level falls then
LOWEST = 0.01


class LevelSet(QueryPointGenerator):
    """The level (bundle) method, Euclidean or entropic.

    With U the best value and L the model's minimum, the next query point is the point nearest to the last one where
    the model is at most ``L + l * (U - L)``. Near is meant in the Euclidean norm, or, on simplices, in the metric
    ``1 / z`` of the entropy at the last query point, which leaves small weights small.

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

    Raises
    ------
    InvalidArgument
        Arguments out of range, `interior` with an entropic metric, which belongs to the projection.

    Notes
    -----
    The level is lowered only after a call that shrank the gap by a fixed share, and comes back with the first call that
    does not. So the method still needs ``O((MD / gap)^2)`` calls, M a Lipschitz constant and D the diameter of the
    domain.

    L comes from a linear program that is solved again from its last basis, the projection from its dual, which has one
    variable per cut. If the projection fails numerically, the query point is where the segment from the last query
    point to the linear program's minimizer enters the level set: never best, always allowed.

    References
    ----------
    .. [1] Pecci & Jenkins (2024), "Regularized Benders decomposition for high performance capacity expansion models",
       arXiv 2403.02559.

    Lemarechal, Nemirovskii & Nesterov (1995), "New variants of bundle methods"; Xu, Jin, King & Lyu (2008) and
    Wulff & Ong (2014), (16), for MKL.

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
    ) -> None:
        self.level = real("level", level, above=0.0, below=1.0)
        self.entropic = None if entropic is None else flag("entropic", entropic)
        self.max_cuts = whole("max_cuts", max_cuts)
        self.adaptive = flag("adaptive", adaptive)
        self.tune_accuracy = flag("tune_accuracy", tune_accuracy)
        self.interior = flag("interior", interior)
        if self.interior and self.entropic:
            raise InvalidArgument("`interior` asks at centers, which have no metric; leave `entropic` out")

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints, or without entropy where it is asked for."""
        if self.entropic and domain.entropic_metric(domain.interior_point()) is None:
            return "its entropic metric needs a domain that has one"
        return polyhedral_refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, without cuts."""
        self._model = CuttingPlaneModel(domain, self.max_cuts)
        self._levels = LevelProjection(self._model, self.entropic)
        self._centers = LevelCenter(self._model) if self.interior else None
        self._point = point
        self._level = self.level

    def ask(self) -> Vector | Query:
        """Return the projection on the level set, or its center."""
        return self._model.query(self._point, self.tune_accuracy)

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Add the cut, minimize the model, project on the new level set."""
        if self.adaptive and isinstance(cut, ObjectiveCut):
            right = self._model.error(cut) <= AGREES
            self._level = min(self.level, max(FALL * self._level, LOWEST)) if right else self.level
        better = self._model.add(cut)
        if self._model.minimum is not None:
            self._point = self._model.minimum.point
            if self._model.pool.best is not None:
                if self._centers is None:
                    self._point = self._levels.project(cut.point, self._level)
                else:
                    self._point = self._centers.choose(self._level)
                self._model.expect(self._point)
        if isinstance(cut, FeasibilityCut):
            return Step.FEASIBILITY
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return the combination of cuts by the linear program's multipliers."""
        return self._model.minorant
