"""What a minorant is made of: claims of oracles, each with a weight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import inf, nextafter

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates.claim import ClaimKind, CutClaim

Weighted = tuple[float, CutClaim]
MOST = 1 << 23  # numbers of claims that one aggregate may hold on to: 64 MiB


class Parts(ABC):
    """Claims with weights that make up an affine function: ``sum_i w_i a_i``, over the sum of the weights.

    A method hands them out with each `Minorant`, one a call, and most are never looked at: they refer to what the
    method keeps, and gather the claims when they are asked for them.
    """

    @abstractmethod
    def weighted(self) -> Sequence[Weighted]:
        """Return positive weights with their claims."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers the claims hold, about: known before they are gathered."""


class Combination(Parts):
    """Claims that are held as they are; equal ones once, with the sum of their weights.

    Parameters
    ----------
    terms : iterable of tuple of float and CutClaim
        Nonnegative weights with claims.
    """

    def __init__(self, terms: Iterable[Weighted]) -> None:
        weights: dict[int, float] = {}
        claims: dict[int, CutClaim] = {}
        for weight, claim in terms:
            if weight > 0:
                claims[id(claim)] = claim
                weights[id(claim)] = weights.get(id(claim), 0.0) + weight
        self._terms = tuple((weights[key], claim) for key, claim in claims.items())

    def __repr__(self) -> str:
        return f"Combination({len(self._terms)} claims)"

    def weighted(self) -> Sequence[Weighted]:
        """Return the terms."""
        return self._terms

    @property
    def size(self) -> int:
        """How many numbers the claims hold."""
        return sum(numbers_of(claim) for _, claim in self._terms)


def numbers_of(claim: CutClaim) -> int:
    """How many numbers a claim holds, in its slope and its witness."""
    return claim.slope.size + sum(int(np.size(value)) for value in claim.witness.values())


def merged(parts: Iterable[Parts], constant: float, slope: Vector, tolerance: float = 0.0) -> Combination:
    """Combine parts; those too large to be held become one claim without a witness.

    Parameters
    ----------
    parts : iterable of Parts
        What the affine function is made of.
    constant, slope : float and ndarray of shape (n,)
        The affine function itself, with the constant rounded down.
    tolerance : float
        By how much it may exceed f at points that the oracle calls feasible within its tolerance.

    Returns
    -------
    Combination
    """
    parts = tuple(parts)
    if sum(part.size for part in parts) <= MOST:
        return Combination(term for part in parts for term in part.weighted())
    note = "an average of cuts that were too large to be kept"
    return Combination([(1.0, CutClaim(ClaimKind.MINORANT, constant, slope, tolerance=tolerance, note=note))])


def below(number: float, error: float) -> float:
    """``number - error``, rounded down."""
    return nextafter(number - error, -inf) if error else number
