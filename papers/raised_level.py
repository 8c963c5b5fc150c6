"""The level method of Xu et al. (2008), whose level is raised near the end."""

from __future__ import annotations

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.generator import Step
from oracle_opt.generators import LevelSet


class RaisedLevel(LevelSet):
    """The Euclidean level method with a level that is raised for good once the model's gap is small.

    Parameters
    ----------
    level : float
        Until then.
    raised : float
        From then on.
    below : float
        The gap between the best value and the model's minimum, relative to the best value, from which it is raised.

    Notes
    -----
    Haiqin Yang's GMKL_Level_L12.m, a descendant of the program of Xu et al. by their group, raises the level to a
    final value at a gap of 1e-2; 0.99 is its first level. It does not hold the pair that was used for the paper.
    """

    def __init__(self, level: float = 0.9, raised: float = 0.99, below: float = 1e-2) -> None:
        super().__init__(level, entropic=False, adaptive=False)
        self.raised = real("raised", raised, above=0.0, below=1.0)
        self.below = real("below", below, above=0.0)

    def reset(self, domain: Domain, point: Vector) -> None:
        """Start at `point`, with the lower level."""
        super().reset(domain, point)
        self._best = np.inf

    def tell(self, cut: ObjectiveCut | FeasibilityCut) -> Step:
        """Raise the level where the model without this cut was near the best value, then project."""
        if isinstance(cut, ObjectiveCut):
            self._best = min(self._best, cut.upper)
        minimum = self._model.minimum
        if minimum is not None and self._best - minimum.value <= self.below * abs(self._best):
            self._level = self.raised
        return super().tell(cut)
