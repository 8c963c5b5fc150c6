"""The projected subgradient method."""

import numpy as np

from oracle_opt import (
    Domain,
    Exhausted,
    FeasibilityCut,
    Guarantee,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Regularity,
    Step,
)
from oracle_opt.arguments import flag, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.bounds import CutAverage
from oracle_opt.generators.masters.polyhedra import ball_of
from oracle_opt.generators.masters.proximity_control import first_step

FIRST = 0.4  # share of the first value that the first of the planned steps would take off a linear function
DEFLECTED = 0.3  # share of the last subgradient in the direction of a planned step


class Subgradient(QueryPointGenerator):
    """Step against the subgradient, project on the domain.

    The k-th objective step has length ``scale * size / sqrt(k)``, size being that of the domain where it has one. By
    Polyak's rule the length is ``scale * (f - proven lower bound) / norm(subgradient)``. Where the number K of steps is
    planned, it is ``scale * 0.4 * abs(f_1) / norm(g_1)**2 * (1 - k / K)**2`` times the norm of the direction
    ``0.7 g_k + 0.3 g_(k-1)``, f_1 and g_1 being the first value and subgradient. The averaged certificate weighs each
    cut with its step over the norm of its subgradient, for which the average's bound converges to the minimum.

    Parameters
    ----------
    polyak : bool
        Use Polyak's rule against the method's own proven bound; diminishing steps until there is one.
    scale : float
        Factor on the step length, default 1.
    planned : int, optional
        So many steps, which shrink to nothing, for Lagrangian relaxations whose multipliers start at 0: a cheap start
        for a method that proves, see the example.

    Notes
    -----
    At a feasibility cut the step is Polyak's toward its half-space, ``violation / norm(normal)**2 * normal``.

    References
    ----------
    Shor (1985), "Minimization methods for non-differentiable functions"; Polyak (1969), "Minimization of unsmooth
    functionals"; Nesterov (2009), "Primal-dual subgradient methods for convex problems", for the certificate;
    Volgenant & Jonker (1982), "A branch and bound algorithm for the symmetric traveling salesman problem based on the
    1-tree relaxation", for planned steps, with 0.6 and 0.4.

    Examples
    --------
    A bundle method that goes on from the best point of 300 cheap steps, and knows the last 50 of their cuts:

    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import ProximalBundle, Subgradient
    >>> from oracle_opt.oracles import HeldKarpOracle
    >>> towns = np.random.default_rng(1).random((60, 2))
    >>> oracle = HeldKarpOracle(np.linalg.norm(towns[:, None] - towns, axis=2))
    >>> start = minimize(oracle, Subgradient(planned=300), max_calls=300, keep_cuts=True)
    >>> result = minimize(oracle, ProximalBundle(), start.point, cuts=start.history.cuts[-50:])
    >>> result.success
    True
    """

    takes = frozenset({FeasibilityCut})

    def __init__(self, polyak: bool = False, scale: float = 1.0, planned: int | None = None) -> None:
        self.polyak = flag("polyak", polyak)
        self.scale = real("scale", scale, above=0.0)
        self.planned = None if planned is None else whole("planned", planned)
        if self.polyak and self.planned is not None:
            raise InvalidArgument("`planned` steps have lengths of their own: leave out `polyak` or `planned`")

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`."""
        self._domain = domain
        self._point: Vector | None = point
        self._size: float | None = None  # the first step's length; where steps are planned, over the norm of g_1
        self._before: Vector | None = None  # the last subgradient
        self._steps = 0
        self._weight = 0.0
        self._average = CutAverage(domain.dimension)
        self._lower = -np.inf

    def ask(self) -> Vector:
        """Return the current point."""
        if self._point is None:
            if self._before is not None:
                raise Exhausted(f"the {self.planned} planned steps are done")
            raise Exhausted("the subgradient is zero, and the point a minimizer, or it has no finite length")
        return self._point

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Step and project."""
        self._weight = 0.0
        if isinstance(cut, FeasibilityCut):
            step = cut.violation / float(cut.normal @ cut.normal) * cut.normal
            self._point = self._domain.project(cut.point - step)
            return Step.FEASIBILITY
        norm = float(np.linalg.norm(cut.subgradient))
        if not 0 < norm < np.inf:
            self._point = None
            return Step.SERIOUS
        self._steps += 1
        if self.planned is not None:
            self._point = self._planned_step(cut, norm, self.planned)
            return Step.SERIOUS
        length = self._length(cut, norm)
        self._weight = length / norm
        if self.polyak:
            self._prove(cut)
        self._point = self._domain.project(cut.point - self._weight * cut.subgradient)
        return Step.SERIOUS

    def weight(self) -> float:
        """Step over the norm of the last subgradient."""
        return self._weight

    def guarantee(self, domain: Domain, start: Vector, calls: int, known: Regularity) -> Guarantee | None:
        """Of steps that diminish from the center of a ball (Shor 1985, theorem 2.1)."""
        ball = ball_of(domain)
        if self.polyak or self.planned is not None or ball is None or (start != ball[0]).any():
            return None
        steps = self.scale * ball[1] / np.sqrt(np.arange(1.0, calls + 1.0))
        value = known.steepness * (known.distance**2 + float(steps @ steps)) / (2.0 * float(steps.sum()))
        return Guarantee(value, "L (R^2 + sum h_k^2) / (2 sum h_k), h_k = step / sqrt(k)")

    def _length(self, cut: ObjectiveCut, norm: float) -> float:
        if self.polyak and 0 < (gap := cut.upper - self._lower) < np.inf:
            return self.scale * gap / norm
        if self._size is None:
            self._size = first_step(self._domain, cut)
        return float(self.scale * self._size / np.sqrt(self._steps))

    def _planned_step(self, cut: ObjectiveCut, norm: float, planned: int) -> Vector | None:
        """The next point of Volgenant and Jonker's rule; None after the last one."""
        if self._size is None:
            self._size = FIRST * abs(cut.upper) / norm**2 if cut.upper else first_step(self._domain, cut) / norm
        g, before = cut.subgradient, cut.subgradient if self._before is None else self._before
        self._before = g
        self._weight = self.scale * self._size * max(1.0 - self._steps / planned, 0.0) ** 2
        if not self._weight > 0:
            return None
        return self._domain.project(cut.point - self._weight * ((1.0 - DEFLECTED) * g + DEFLECTED * before))

    def _prove(self, cut: ObjectiveCut) -> None:
        """Raise the bound by the last cut and by the average of all."""
        constant, average = cut.constant, self._average
        average.add(constant, cut.subgradient, self._weight)
        for minorant in (Minorant(constant, cut.subgradient), Minorant(average.constant, average.slope)):
            self._lower = max(self._lower, minorant.minimum(self._domain))
