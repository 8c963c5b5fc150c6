"""What a certificate claims of a problem, in floats that mean exactly what they say, each with its witness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.cuts import FeasibilityCut, ObjectiveCut

Bound = float | Fraction  # what a proof returns: a float rounded to the safe side, or a fraction, not rounded
OF_VALUES = 1e-8  # of the sizes involved, by so much a value may exceed its claim: bounds on the rounding of a
# factorization grow with the square of a matrix' order
UNDERFLOW = 1e-290  # sizes below are none: products of numbers near the smallest ones lose all their digits


class ClaimKind(Enum):
    """What the affine function ``a(z) = constant + slope @ z`` of a `CutClaim` is said to be."""

    MINORANT = "minorant"  # f(z) >= a(z) at every feasible z
    HALF_SPACE = "half-space"  # a(z) <= 0 at every feasible z
    SUMMAND = "summand"  # f_j(z) >= a(z) at every feasible z: f is the sum of all f_j
    BOUND = "bound"  # f(z) >= constant at every feasible z, which the oracle proves by itself; the slope is 0


@dataclass(frozen=True, eq=False)
class CutClaim:
    """One cut of a certificate: ``a(z) = constant + slope @ z``, as its `kind` says.

    The constant is rounded so that the claim is no stronger than what the oracle answered.

    Parameters
    ----------
    kind : ClaimKind
        What is claimed of a.
    constant : float
        Its value at 0.
    slope : ndarray of shape (n,)
        Its slope.
    summand : int
        Number j of the summand of f, counted from 0, for `ClaimKind.SUMMAND`.
    n_summands : int
        How many summands f has; 0 for the other kinds.
    tolerance : float
        By how much points that the oracle calls feasible may violate a half-space.
    witness : mapping
        The `extras` of the cut that its oracle names in `Oracle.witness`: names to arrays or numbers.
    note : str
        Where the cut is not one answer of an oracle, or came without a witness: what it was made of, or who answered
        it. Such a cut is taken as given.
    """

    __repr__ = one_line

    kind: ClaimKind
    constant: float
    slope: Vector
    summand: int = 0
    n_summands: int = 0
    tolerance: float = 0.0
    witness: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, eq=False)
class ValueClaim:
    """The incumbent of a certificate: ``f(point) <= upper``."""

    __repr__ = one_line

    point: Vector
    upper: float
    witness: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def missing(claim: CutClaim | ValueClaim, *names: str) -> tuple[str, ...]:
    """The names that are not in the witness of a claim."""
    return tuple(name for name in names if name not in claim.witness)


def claim_of_cut(cut: ObjectiveCut, error: float) -> CutClaim:
    """The cut itself, with its constant lowered by the error."""
    return CutClaim(ClaimKind.MINORANT, below(cut.constant, error), cut.subgradient, witness=cut.extras)


def claim_of_half_space(cut: FeasibilityCut, error: float) -> CutClaim:
    """The half-space of a feasibility cut, with its constant lowered by the error."""
    constant, kind = below(cut.constant, error), ClaimKind.HALF_SPACE
    return CutClaim(kind, constant, cut.normal, tolerance=cut.error, witness=cut.extras)


def claim_of_bound(cut: ObjectiveCut) -> CutClaim:
    """The bound that the oracle proved by itself."""
    return CutClaim(ClaimKind.BOUND, cut.lower_bound, np.zeros(cut.subgradient.size), witness=cut.extras)


def below(number: float, error: float) -> float:
    """``number - error``, rounded down."""
    return nextafter(number - error, -inf) if error else number
