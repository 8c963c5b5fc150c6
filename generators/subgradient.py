"""The projected subgradient method."""

from __future__ import annotations

import numpy as np

from oracle_opt import (
    Domain,
    Exhausted,
    FeasibilityCut,
    Minorant,
    ObjectiveCut,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import flag, real
from oracle_opt.arrays import Vector
from oracle_opt.bounds import CutAverage
from oracle_opt.generators.masters.first_step import first_step


class Subgradient(QueryPointGenerator):
    """Step against the subgradient, project on the domain.

    The k-th objective step has length ``scale * size / sqrt(k)``, size being that of the domain where it has one; or,
    by Polyak's rule, ``scale * (f - proven lower bound) / norm(subgradient)``. The averaged certificate weighs each
    cut with its step over the norm of its subgradient, for which the average's bound converges to the minimum.

    Parameters
    ----------
    polyak : bool
        Use Polyak's rule against the method's own proven bound; diminishing steps until there is one.
    scale : float
        Factor on the step length, default 1.

    Notes
    -----
    At a feasibility cut the step is Polyak's toward its half-space, ``violation / norm(normal)**2 * normal``.

    References
    ----------
    Shor (1985), "Minimization methods for non-differentiable functions"; Polyak (1969), "Minimization of unsmooth
    functionals"; Nesterov (2009), "Primal-dual subgradient methods for convex problems", for the certificate.
    """

    takes = frozenset({FeasibilityCut})

    def __init__(self, polyak: bool = False, scale: float = 1.0) -> None:
        self.polyak = flag("polyak", polyak)
        self.scale = real("scale", scale, above=0.0)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`."""
        self._domain = domain
        self._point: Vector | None = point
        self._size: float | None = None
        self._steps = 0
        self._weight = 0.0
        self._average = CutAverage(domain.dimension)
        self._lower = -np.inf

    def ask(self) -> Vector:
        """Return the current point."""
        if self._point is None:
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
        length = self._length(cut, norm)
        self._weight = length / norm
        if self.polyak:
            self._prove(cut)
        self._point = self._domain.project(cut.point - self._weight * cut.subgradient)
        return Step.SERIOUS

    def weight(self) -> float:
        """Step over the norm of the last subgradient."""
        return self._weight

    def _length(self, cut: ObjectiveCut, norm: float) -> float:
        if self.polyak and 0 < (gap := cut.upper - self._lower) < np.inf:
            return self.scale * gap / norm
        if self._size is None:
            self._size = first_step(self._domain, cut)
        return float(self.scale * self._size / np.sqrt(self._steps))

    def _prove(self, cut: ObjectiveCut) -> None:
        """Raise the bound by the last cut and by the average of all."""
        constant, average = cut.constant, self._average
        average.add(constant, cut.subgradient, self._weight)
        for minorant in (Minorant(constant, cut.subgradient), Minorant(average.constant, average.slope)):
            self._lower = max(self._lower, minorant.minimum(self._domain))
