"""The parts of a minorant: claims of oracles, each with a weight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, inf
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector, numbered
from oracle_opt.proof.claim import ClaimKind, CutClaim

Weighted = tuple[float, CutClaim]
MOST = 1 << 23  # numbers of claims that one aggregate may hold on to: 64 MiB


class Parts(ABC):
    """Claims with weights that make up ``sum_i w_i a_i``, over the sum of the weights; gathered when asked for."""

    @abstractmethod
    def weighted(self) -> Sequence[Weighted]:
        """Return positive weights with their claims."""

    def members(self) -> Iterable[tuple[float, Combination]]:
        """Return combinations of claims with positive weights, as they are kept."""
        return [(1.0, Combination(self.weighted()))]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers the claims hold, about: known before they are gathered."""

    @property
    def n_copied(self) -> int:
        """How many numbers have to be copied to gather the claims."""
        return self.size

    @property
    def most_size(self) -> int:
        """The same as `size` or more, known at once."""
        return self.size


class Combination(Parts):
    """Claims that are held as they are; equal ones once, with the sum of their weights."""

    def __init__(self, terms: Iterable[Weighted]) -> None:
        self._claims: list[CutClaim] = []
        weights, numbers = [], []
        for weight, claim in terms:
            if weight > 0:
                self._claims.append(claim)
                weights.append(weight)
                numbers.append(numbers_of(claim))
        self._weights, self._numbers = np.array(weights), np.array(numbers, dtype=np.intp)
        self._n_different = min(1, len(weights))  # when equal ones were last put together
        self._gather()

    @classmethod
    def of(cls, members: Iterable[tuple[float, Combination]]) -> Combination:
        """Combine combinations with nonnegative weights; equal claims are put together when they are many."""
        made, used = cls(()), [(weight, one) for weight, one in members if weight > 0]
        if used:
            made._claims = [claim for _, one in used for claim in one._claims]
            made._weights = np.concatenate([weight * one._weights for weight, one in used])
            made._numbers = np.concatenate([one._numbers for _, one in used])
            # products of tiny weights may be 0
            made._n_different = max(one._n_different for _, one in used) if made._weights.all() else 0
            if len(made._claims) > 2 * made._n_different:
                made._gather()
        return made

    def _gather(self) -> None:
        """Put equal claims together."""
        if self._n_different == len(self._claims):
            return
        first, numbers = numbered(map(id, self._claims))
        weights = np.bincount(numbers, self._weights)
        first = first[weights > 0]
        self._claims = [self._claims[i] for i in first.tolist()]
        self._weights, self._numbers = weights[weights > 0], self._numbers[first]
        self._n_different = len(self._claims)

    def __repr__(self) -> str:
        self._gather()
        return f"Combination({len(self._claims)} claims)"

    def weighted(self) -> Sequence[Weighted]:
        """Return the terms."""
        self._gather()
        return list(zip(self._weights.tolist(), self._claims, strict=True))

    def members(self) -> Iterable[tuple[float, Combination]]:
        """Return itself."""
        return [(1.0, self)]

    @property
    def size(self) -> int:
        """How many numbers the claims hold."""
        self._gather()
        return int(self._numbers.sum())

    @property
    def n_copied(self) -> int:
        """None: they are held as they are."""
        return 0

    @property
    def most_size(self) -> int:
        """With equal claims several times."""
        return int(self._numbers.sum())


def numbers_of(claim: CutClaim) -> int:
    """How many numbers a claim holds, in its slope and its witness; not those that are made when they are asked for."""
    return claim.slope.size + numbers_in(claim.witness)


def numbers_in(extras: Mapping[str, Any]) -> int:
    """How many numbers extras hold as they are."""
    return sum(int(np.size(value)) for value in extras.values()) if isinstance(extras, dict) else 0


def merged(parts: Iterable[Parts], constant: float, slope: Vector, tolerance: float = 0.0) -> Combination:
    """Combine parts; those too large to be held become one claim without a witness."""
    parts = tuple(parts)
    if sum(part.n_copied for part in parts) <= MOST:
        made = Combination.of(member for part in parts for member in part.members())
        if made.most_size <= MOST or made.size <= MOST:
            return made
    note = "an average of cuts that were too large to be kept"
    return Combination([(1.0, CutClaim(ClaimKind.MINORANT, constant, slope, tolerance=tolerance, note=note))])


def combined(terms: Sequence[Weighted]) -> tuple[float, Vector]:
    """Constant and slope of the minorant that claims with weights make up, in floats.

    All is over W + B: W weighs minorants and bounds, B is the largest sum of the weights of a summand's claims.
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


def steepness_of(parts: Iterable[Parts]) -> float:
    """Sum of the norms of the half-spaces among claims, times their shares of the minorant."""
    terms = [term for part in parts for term in part.weighted()]
    sums: dict[int, float] = {}
    for weight, claim in terms:
        if claim.kind is not ClaimKind.HALF_SPACE:
            sums[claim.summand] = sums.get(claim.summand, 0.0) + weight
    norms = [w * float(np.linalg.norm(one.slope)) for w, one in terms if one.kind is ClaimKind.HALF_SPACE]
    return fsum(norms) / max(sums.values()) if norms else 0.0


def alone(claim: CutClaim) -> tuple[Parts, ...]:
    """One claim and no other."""
    return (Combination([(1.0, claim)]),)


class Averaged:
    """The cuts of a running average, kept as long as they are not too many."""

    def __init__(self) -> None:
        self._terms: list[Weighted] = []
        self._size = self.count = 0

    def add(self, weight: float, claim: CutClaim, average: Callable[[], tuple[float, Vector]]) -> None:
        """Take up a cut; `average` tells constant, rounded down, and slope of all so far, if they are too many."""
        self._terms.append((weight, claim))
        self._size, self.count = self._size + numbers_of(claim), self.count + 1
        if self._size > MOST:
            constant, slope = average()
            note = "an average of cuts that were too many to be kept"
            whole = CutClaim(ClaimKind.MINORANT, constant, slope, note=note)
            self._terms = [(fsum(weight for weight, _ in self._terms), whole)]
            self._size = numbers_of(whole)

    def parts(self) -> tuple[Parts, ...]:
        """The average so far."""
        return (_First(self._terms, len(self._terms)),)


class _First(Parts):
    """The first terms of a list that grows."""

    def __init__(self, terms: list[Weighted], count: int) -> None:
        self._terms, self._count = terms, count

    def weighted(self) -> Sequence[Weighted]:
        return self._terms[: self._count]

    @property
    def size(self) -> int:
        return sum(numbers_of(claim) for _, claim in self.weighted())

    @property
    def n_copied(self) -> int:
        return 0
