"""Bounds from theory, before a run: how far the best value of a method may be from the minimum."""

from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from oracle_opt.words import one_line


@dataclass(frozen=True)
class Regularity:
    """Constants of a problem that guarantees are made of; NaN where one is not known.

    Parameters
    ----------
    steepness : float
        L, a Lipschitz constant of f.
    distance : float
        R, a bound on the distance from the start to a minimizer.
    smoothness : float
        M, a Lipschitz constant of the gradient of f.
    """

    __repr__ = one_line

    steepness: float = nan
    distance: float = nan
    smoothness: float = nan


class Guarantee(NamedTuple):
    """A bound on the best value less the minimum, on every convex problem of the same constants.

    Attributes
    ----------
    value : float
        The bound.
    formula : str
        What it is computed by, in N calls, with the letters of `Regularity`.
    """

    value: float
    formula: str
