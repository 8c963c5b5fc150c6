"""Bounds on the Lagrangian dual function from a relaxed solution and the optimum of the relaxed problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import callback
from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import exact, exact_dot, rounded_up
from oracle_opt.proof.witness_numbers import numbers, whole_numbers
from oracle_opt.words import one_line

Examine = Callable[[Any], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Examined:
    """A relaxed solution that a proof found feasible, seen through its cost and activity, counted anew."""

    __repr__ = one_line

    cost: Enclosure
    activity: Enclosure

    @classmethod
    def paid(cls, costs: Vector, activity: ArrayLike, in_fractions: bool) -> Examined:
        """Costs that add up to that of a solution, and its activity as it stands."""
        return cls(Enclosure.of(costs, in_fractions).sum(), Enclosure.of(activity, in_fractions))


def checked_claim(claim: CutClaim, count: int) -> int | None:
    """Summand that a claim is about, `None` for all of f; refuse a claim that this dual function never makes."""
    if claim.kind not in (ClaimKind.MINORANT, ClaimKind.SUMMAND):
        raise Refuted(f"a Lagrangian oracle answers with cuts of its function alone, and this is a {claim.kind.value}")
    if claim.kind is ClaimKind.MINORANT:
        return None
    if claim.n_summands != count or not 0 <= claim.summand < count:
        raise Refuted(
            f"the cut is of summand {claim.summand} of {claim.n_summands}, and the relaxed problem has {count} summands"
        )
    return claim.summand


def cut_excess(claim: CutClaim, found: Examined, domain: Domain, sign: float, rhs: Vector, count: int) -> Bound:
    """By how much the claim exceeds ``-sign c(x) + u @ (rhs / count - a(x))`` over the promised set, at most.

    The dual function is the largest of these functions of u over all feasible x; `count` summands share ``u @ rhs``.
    """
    share = Enclosure.of(rhs, found.activity.exact)
    slope = (share if count == 1 else share / count) - found.activity
    return affine_excess(domain, claim, -found.cost if sign > 0 else found.cost, slope)


def checked_point(claim: ValueClaim, domain: Domain, inequality: NDArray[np.bool_]) -> Vector:
    """The multipliers of a claim; those of inequalities that are negative within the domain's tolerance count as 0."""
    u = numbers("point", claim.point, domain.dimension)
    if not domain.contains(u):
        raise Refuted(f"the point is not in the domain of the multipliers, {domain!r}")
    return np.where(inequality, np.maximum(u, 0.0), u)


def value_above(bound: Bound, u: Vector, rhs: Vector, sign: float, in_fractions: bool) -> Bound:
    """Upper bound of f(u), ``u @ rhs - sign * bound``, of a bound on the optimum of ``c(x) + sign u @ a(x)``."""
    if isinstance(bound, float) and not isfinite(bound):
        return inf
    total = exact_dot(u, rhs) - int(sign) * Fraction(bound)
    return total if in_fractions else rounded_up(total)


@contextmanager
def refuting() -> Iterator[None]:
    """Numbers so large that they leave the floats prove nothing."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Refuted:
        raise
    except (ArithmeticError, ValueError) as problem:
        raise Refuted(f"the claim or its witness cannot be counted with: {problem}") from problem


def places(witness: Mapping[str, Any], count: int, what: str) -> NDArray[np.int64] | None:
    """Different whole numbers from 0 to `count` - 1 in increasing order, the `compact` of a witness; None without."""
    given = witness.get("compact")
    if given is None:
        return None
    found = np.sort(whole_numbers(what, given, count, None))
    if (found[1:] == found[:-1]).any():
        raise Refuted(f"the {what} hold {found[1:][found[1:] == found[:-1]][0]} twice")
    return found


def pairs_of(
    witness: Mapping[str, Any], shape: tuple[int, int], what: str, row: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows i and columns j of the numbers ``i * n + j`` of a witness; None without. If `row` is said, of it alone."""
    found = places(witness, shape[0] * shape[1], what)
    if found is None:
        return None
    i, j = np.divmod(found, shape[1])
    if row is not None and (i != row).any():
        raise Refuted(f"the {what} of summand {row} alone are asked for, got those of others")
    return i, j


def checked_examine(examine: Examine | Sequence[Examine] | None, count: int | None) -> tuple[Examine, ...] | None:
    """The user's functions, as many as there are summands, if their number is known."""
    if examine is None:
        return None
    meaning = "a function of a relaxed solution that returns its cost and activity"
    if isinstance(examine, Sequence):
        found = tuple(callback(f"examine[{k}]", one, meaning) for k, one in enumerate(examine))
    else:
        found = (callback("examine", examine, meaning),)
    if not found or (count is not None and len(found) != count):
        raise InvalidArgument(
            f"`examine` must be one function for each summand, {'at least 1' if count is None else count}, got "
            f"{len(found)}"
        )
    return found


def by_user(examine: Sequence[Examine], witness: Mapping[str, Any], dimension: int, in_fractions: bool) -> Examined:
    """What a user's own functions tell of a relaxed solution, of each its part; all parts together are examined."""
    try:
        x, sizes = np.ravel(witness["compact"]), [-1]
        if len(examine) > 1:
            sizes = [int(size) for size in np.ravel(witness["sizes"])]
            if len(sizes) != len(examine) or min(sizes) < 0 or sum(sizes) != x.size:
                raise Refuted(f"the sizes {sizes} do not make {len(examine)} parts of {x.size} numbers")
        cost, rounding, activity = Fraction(0), Fraction(0), [Fraction(0)] * dimension
        for function, part in zip(examine, np.split(x, np.cumsum(sizes[:-1])), strict=True):
            one, values = function(part)
            told = [value if isinstance(value, Fraction) else exact(value) for value in np.ravel(values).tolist()]
            if len(told) != dimension:
                raise Refuted(f"the activity of a relaxed solution must hold {dimension} numbers")
            activity = [a + b for a, b in zip(activity, told, strict=True)]
            cost += Fraction(one) if isinstance(one, Fraction | int) else exact(one)
            rounding += 0 if isinstance(one, Fraction | int) else abs(exact(one)) * exact(EPS)
        spent = Enclosure(np.array(cost - rounding), np.array(cost + rounding))
        used = Enclosure.of(np.array(activity, dtype=object), exact=True)
        return Examined(spent, used) if in_fractions else Examined(spent.floats(), used.floats())
    except Refuted:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        raise Refuted(f"the relaxed solution is none: {problem}") from problem


def joined(compact: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The compact forms of all summands, one after another, and their sizes."""
    sizes = np.array([one.size for one in compact], dtype=np.int32)
    return {"compact": np.concatenate([np.ravel(one) for one in compact]), "sizes": sizes}
