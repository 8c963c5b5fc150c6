"""Runs that end by a rule of their paper: by another gap than a study proves, or where nothing is proven."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy

import numpy as np

from oracle_opt.answers.answer import Answer
from oracle_opt.arguments import instance, real, whole
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, Kind, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import Exhausted
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.generators import ReducedGradient

REACHED = "the rule that ends the run holds"
LIMIT = "the limit on iterations was reached"


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


def single_cut_gap(cut: ObjectiveCut) -> float:
    """Gap between a query point and the cut found there alone, over the simplex: (17) - (18) of Wulff & Ong (2014).

    (18) is taken with the factor 1/2 of their (7), and the gap relative to (17).
    """
    return (cut.upper - cut.constant - float(cut.subgradient.min())) / abs(cut.upper)


class UntilSingleCut(EndedByRule):
    """Ends where the last cut alone proves the relative gap, on the simplex; see `single_cut_gap`.

    Parameters
    ----------
    generator : QueryPointGenerator
        Whose queries they are.
    gap : float
        Relative.
    """

    def __init__(self, generator: QueryPointGenerator, gap: float) -> None:
        super().__init__(generator)
        self.gap = real("gap", gap, above=0.0)

    def ends(self, cut: ObjectiveCut) -> bool:
        """Whether the gap is small."""
        return single_cut_gap(cut) <= self.gap


class IterationsUntilSingleCut(EndedByRule):
    """The same of SimpleMKL's method, which looks at the gap at the end of an iteration, and counts these.

    Its `inner_steps` are the iterations it has completed.

    Parameters
    ----------
    generator : ReducedGradient
        Whose queries they are.
    gap : float
        Relative.
    most : int
        Limit on the iterations.
    """

    generator: ReducedGradient
    _running: ReducedGradient

    def __init__(self, generator: ReducedGradient, gap: float, most: int) -> None:
        super().__init__(instance("generator", generator, ReducedGradient, "a ReducedGradient"))
        self.gap = real("gap", gap, above=0.0)
        self.most = whole("most", most)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Begin a run, without an iteration."""
        super().reset(domain, point)
        self._begun = 0

    def ask(self) -> Vector | Query:
        """Ask what the other does, unless the rule holds or the limit is reached."""
        if not self._reached and self.inner_steps() >= self.most:
            raise Exhausted(LIMIT)
        return super().ask()

    def ends(self, cut: ObjectiveCut) -> bool:
        """Whether an iteration has ended at a point of small gap."""
        center = self._running.center
        if self._running.iterations == self._begun or center is None:
            return False
        self._begun = self._running.iterations
        return single_cut_gap(center) <= self.gap

    def inner_steps(self) -> int:
        """Iterations completed."""
        return max(0, self._running.iterations - 1)
