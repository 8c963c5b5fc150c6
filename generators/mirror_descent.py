"""Entropic mirror descent on products of simplices."""

from __future__ import annotations

import numpy as np

from oracle_opt import Domain, Exhausted, InvalidArgument, ObjectiveCut, ProductOfSimplices, QueryPointGenerator, Step
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut


class MirrorDescent(QueryPointGenerator):
    """Multiply the weights by ``exp(-step * subgradient)``, then scale each block back to its sum.

    At the t-th call the step is ``scale * sqrt(log m) / (radius * norm(g, inf) * sqrt(t))``, m the size of the largest
    block: (8) with (9). The averaged certificate weighs each cut with its step, for which the average's bound converges
    to the minimum.

    Parameters
    ----------
    scale : float
        Factor on the step; 1 is the paper's.

    Notes
    -----
    The paper's entropy takes x / n for n blocks in place of x, and its (8) has a factor n: they cancel, and each block
    is updated by its own multiplicative rule with one step for all. Weights are kept above 1e-16 of their block's mean,
    the paper's delta, so that none is lost for ever. If all blocks have one variable there is nothing to ask after the
    first call.

    References
    ----------
    Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal & Ramakrishnan (2009), "On the algorithmics and applications of a
    mixed-norm based kernel learning formulation", (7)-(9) and Algorithm 1; Beck & Teboulle (2003), "Mirror descent and
    nonlinear projected subgradient methods", for the rate; Nesterov (2009), "Primal-dual subgradient methods for convex
    problems", for the certificate.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def refusal(self, domain: Domain) -> str | None:
        """Refuse everything but simplices and their products."""
        return None if isinstance(domain, ProductOfSimplices) else "it needs a Simplex or a ProductOfSimplices"

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`."""
        if not self.scale > 0:
            raise InvalidArgument(f"`scale` must be positive, got {self.scale!r}")
        assert isinstance(domain, ProductOfSimplices)
        self._point: Vector | None = point
        self._starts = np.cumsum((0, *domain.sizes[:-1]))
        self._sizes = np.asarray(domain.sizes)
        self._radius = domain.radius
        self._floor = 1e-16 * domain.interior_point()
        self._steps = 0
        self._weight = 0.0

    def ask(self) -> Vector:
        """Return the current point."""
        if self._point is None:
            raise Exhausted("no step changes the point")
        return self._point

    def tell(self, cut: Cut) -> Step:
        """Take one multiplicative step."""
        if not isinstance(cut, ObjectiveCut):
            raise InvalidArgument("`cut` must be an objective cut: MirrorDescent takes no feasibility cuts")
        self._steps += 1
        largest = float(np.abs(cut.subgradient).max())
        log_size = float(np.log(self._sizes.max()))
        if largest == 0 or log_size == 0:
            self._point, self._weight = None, 1.0
            return Step.SERIOUS
        self._weight = self.scale * np.sqrt(log_size / self._steps) / (self._radius * largest)
        logs = np.log(np.maximum(cut.point, self._floor)) - self._weight * self._radius * cut.subgradient
        logs -= np.repeat(np.maximum.reduceat(logs, self._starts), self._sizes)
        raised = np.exp(logs)
        self._point = self._radius * raised / np.repeat(np.add.reduceat(raised, self._starts), self._sizes)
        return Step.SERIOUS

    def weight(self) -> float:
        """Return the step of the last cut."""
        return self._weight
