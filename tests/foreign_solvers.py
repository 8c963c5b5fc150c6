"""Solvers that call the function themselves, in a module that worker processes can import."""

import numpy as np

from oracle_opt import FeasibilityCut


def steps(function, start, domain):
    """Projected subgradient steps without end."""
    z = start
    for k in range(1, 10**9):
        _, slope = function(z)
        z = domain.project(z - slope / np.sqrt(k) / max(1e-9, float(np.linalg.norm(slope))))


def steps_by_cuts(function, start, domain):
    """The same, and toward the half-space of a feasibility cut."""
    z = start
    for k in range(1, 10**9):
        cut = function(z)
        if isinstance(cut, FeasibilityCut):
            step = cut.violation / (cut.normal @ cut.normal) * cut.normal
        else:
            step = cut.subgradient / np.sqrt(k) / max(1e-9, float(np.linalg.norm(cut.subgradient)))
        z = domain.project(z - step)


def failing(function, start, domain):
    """Raises after its first call."""
    function(start)
    raise ArithmeticError("no digits left")
