"""Descents that end by a rule of their paper: where nothing is proven, a study cannot end a run by its gap."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy

import numpy as np

from oracle_opt.answers.answer import Answer
from oracle_opt.arguments import instance, real
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, Kind, Minorant, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import Exhausted
from oracle_opt.generator import QueryPointGenerator, Step

REACHED = "the rule that ends the run holds"


class EndedByRule(QueryPointGenerator):
    """A generator that asks what another does, until a rule holds for an answer.

    Parameters
    ----------
    generator : QueryPointGenerator
        Whose queries they are.
    """

    def __init__(self, generator: QueryPointGenerator) -> None:
        self.generator = instance("generator", generator, QueryPointGenerator, "a generator such as SPG()")
        self.needs_convexity = generator.needs_convexity

    @abstractmethod
    def ends(self, cut: ObjectiveCut) -> bool:
        """Whether the run ends with this answer."""

    @property
    def takes(self) -> frozenset[Kind]:
        """What the other takes."""
        return self.generator.takes

    @property
    def needs(self) -> frozenset[type[Answer]]:
        """What the other needs."""
        return self.generator.needs

    def refusal(self, domain: Domain) -> str | None:
        """Refuse what the other refuses."""
        return self.generator.refusal(domain)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Begin a run of the other."""
        self._domain, self._reached = domain, False
        self._running = copy(self.generator)  # the one that was given stays as it was, and can be sent to a process
        self._running.reset(domain, point)

    def ask(self) -> Vector | Query:
        """Ask what the other does, unless the rule holds."""
        if self._reached:
            raise Exhausted(REACHED)
        return self._running.ask()

    def tell(self, cut: Cut) -> Step:
        """Tell the other, and look whether the rule holds."""
        step = self._running.tell(cut)
        self._reached = isinstance(cut, ObjectiveCut) and self.ends(cut)
        return step

    def minorant(self) -> Minorant | None:
        """That of the other."""
        return self._running.minorant()

    def weight(self) -> float:
        """That of the other."""
        return self._running.weight()


class UntilStationary(EndedByRule):
    """Ends where ``norm(project(z - g) - z) <= gtol`` at the point z of subgradient g, as `minimize` does by `gtol`.

    Parameters
    ----------
    generator : QueryPointGenerator
        Whose queries they are.
    gtol : float
        Norm of the projected gradient.
    norm : float
        2, or ``numpy.inf`` for the largest entry.
    """

    def __init__(self, generator: QueryPointGenerator, gtol: float, norm: float = 2.0) -> None:
        super().__init__(generator)
        self.gtol = real("gtol", gtol, above=0.0)
        self.norm = real("norm", norm, least=1.0, infinite=True)

    def ends(self, cut: ObjectiveCut) -> bool:
        """Whether the projected gradient is small."""
        moved = self._domain.project(cut.point - cut.subgradient) - cut.point
        return bool(np.linalg.norm(moved, self.norm) <= self.gtol)


class UntilPlateau(EndedByRule):
    """Ends at a step that gains less than a share of the value; trials that gain nothing do not count.

    Parameters
    ----------
    generator : QueryPointGenerator
        A descent.
    share : float
        Of the value.
    """

    def __init__(self, generator: QueryPointGenerator, share: float) -> None:
        super().__init__(generator)
        self.share = real("share", share, above=0.0)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Begin a run of the other, without a best value."""
        self._best = np.inf
        super().reset(domain, point)

    def ends(self, cut: ObjectiveCut) -> bool:
        """Whether a gain was too small."""
        if cut.value >= self._best:
            return False
        small = np.isfinite(self._best) and self._best - cut.value <= self.share * abs(self._best)
        self._best = cut.value
        return bool(small)
