"""What a rounding heuristic found, beside the bound that a run proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class RoundedSolution:
    """A solution of the problem itself, and how far it is from optimal at most.

    Attributes
    ----------
    cost : float
        Its cost, or profit for a maximization; nan if none was found.
    bound : float
        The bound that the run proved: no solution is better.
    feasible : bool
        Whether it satisfies every constraint of the problem, relaxed ones included. Checked from its arrays.
    arrays : mapping of str to array
        The solution, in the arrays of the problem; empty if none was found.
    """

    __repr__ = one_line

    cost: float
    bound: float
    feasible: bool
    arrays: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Distance of the cost from the bound, relative to the cost; infinite if the solution is not feasible."""
        if not self.feasible:
            return float(np.inf)
        return abs(self.cost - self.bound) / max(1e-12, abs(self.cost))
