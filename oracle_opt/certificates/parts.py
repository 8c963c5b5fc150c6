"""What a minorant is made of: claims of oracles, each with a weight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import fsum, inf, nextafter

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


def combined(terms: Sequence[Weighted]) -> tuple[float, Vector]:
    """Constant and slope of the minorant that claims with weights make up, in floats.

    Minorants and bounds have the weight W in all, each of the summands of f the largest B of their sums; half-spaces
    are added, and all is divided by W + B.

    Raises
    ------
    ValueError
        A weight is negative or not finite, a summand has no claim, or no claim is one of f.
    """
    weights = [weight for weight, _ in terms]
    if not all(0 <= weight < inf for weight in weights):
        raise ValueError(f"the weights {weights} are not all finite and at least 0")
    sums: dict[int, float] = {}
    for weight, claim in terms:
        if claim.kind is ClaimKind.SUMMAND:
            sums[claim.summand] = sums.get(claim.summand, 0.0) + weight
    share = max(sums.values(), default=0.0)
    total = share + fsum(weight for weight, one in terms if one.kind in (ClaimKind.MINORANT, ClaimKind.BOUND))
    if not total > 0 or (sums and (min(sums.values()) <= 0 or len(sums) < max(one.n_summands for _, one in terms))):
        raise ValueError(f"claims of the summands have the weights {sums}, and all of f together {total}")
    shares = [w / total * (share / sums[one.summand] if one.kind is ClaimKind.SUMMAND else 1.0) for w, one in terms]
    constant = fsum(w * one.constant for w, (_, one) in zip(shares, terms, strict=True))
    slope = np.sum([w * one.slope for w, (_, one) in zip(shares, terms, strict=True)], axis=0)
    return constant, slope


def below(number: float, error: float) -> float:
    """``number - error``, rounded down."""
    return nextafter(number - error, -inf) if error else number
