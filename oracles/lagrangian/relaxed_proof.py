"""What a relaxed solution, and the optimum of the relaxed problem, prove of the Lagrangian dual function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.certificates.exact_sums import exact, exact_dot, slope_excess
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.words import one_line

_EXACT = 2.0**52  # whole numbers up to this size, their sums and differences are floats


@dataclass(frozen=True, eq=False)
class Examined:
    """A relaxed solution that a proof found feasible, seen through its cost and activity, counted anew.

    Parameters
    ----------
    cost : float or Fraction
        c(x).
    activity : ndarray of shape (n,) or sequence of Fraction
        a(x).
    cost_error : float
        By how much the cost may be wrong, at most.
    activity_error : float or ndarray of shape (n,)
        By how much each entry of the activity may be wrong.
    """

    __repr__ = one_line

    cost: float | Fraction
    activity: Vector | Sequence[Fraction]
    cost_error: float = 0.0
    activity_error: float | Vector = 0.0


def checked_claim(claim: CutClaim, dimension: int, count: int) -> int | None:
    """Summand that a claim is about, `None` for all of f; refuse a claim that this dual function never makes."""
    if claim.kind not in (ClaimKind.MINORANT, ClaimKind.SUMMAND):
        raise Refuted(f"a Lagrangian oracle answers with cuts of its function alone, and this is a {claim.kind.value}")
    if np.shape(claim.slope) != (dimension,) or not (isfinite(claim.constant) and np.isfinite(claim.slope).all()):
        raise Refuted(f"the cut must hold {dimension + 1} finite numbers")
    if claim.kind is ClaimKind.MINORANT:
        return None
    if claim.n_summands != count or not 0 <= claim.summand < count:
        raise Refuted(
            f"the cut is of summand {claim.summand} of {claim.n_summands}, and the relaxed problem has {count} summands"
        )
    return claim.summand


def cut_excess(
    claim: CutClaim, found: Examined, domain: Domain, sign: float, rhs: Vector, count: int, in_fractions: bool
) -> float | Fraction:
    """By how much the claim exceeds ``-sign c(x) + u @ (rhs / count - a(x))`` over the promised set, at most.

    That is the function of u which x proves: the dual function is the largest of these over all feasible x. `count` is
    1 for the whole function, else the number of summands, which share ``u @ rhs`` equally.
    """
    # all sums of scalars are exact: only the slopes are counted in floats
    total = exact(claim.constant) + (exact(found.cost) if isinstance(found.cost, float) else found.cost) * int(sign)
    total += exact(found.cost_error)
    if in_fractions:
        lower, upper = domain.bounding_box()
        for slope, side, a, low, high in zip(claim.slope, rhs, found.activity, lower, upper, strict=True):
            more = exact(slope) - exact(side) / count + Fraction(a)
            if more:
                end = high if more > 0 else low
                if not isfinite(end):
                    return inf
                total += more * exact(end)
        return max(total, Fraction(0))
    activity = np.asarray(found.activity, dtype=float)
    share = rhs / count
    proven = share - activity
    error = EPS * (np.abs(share) + np.abs(proven)) + found.activity_error
    if count == 1 and not np.any(found.activity_error):
        error = np.where(whole(rhs) & whole(activity), 0.0, error)
    more_of_slope = slope_excess(domain, claim.slope, proven, error)
    if not isfinite(more_of_slope):
        return inf
    return rounded_up(max(total + exact(more_of_slope), Fraction(0)))


def checked_point(claim: ValueClaim, domain: Domain, inequality: NDArray[np.bool_]) -> Vector:
    """The multipliers of a claim; those of inequalities that are negative within the domain's tolerance count as 0.

    At negative ones the dual function would bound nothing.
    """
    if np.shape(claim.point) != (domain.dimension,) or not np.isfinite(claim.point).all():
        raise Refuted(f"the point must hold {domain.dimension} finite numbers")
    u = np.asarray(claim.point, dtype=float)
    if not domain.contains(u):
        raise Refuted(f"the point is not in the domain of the multipliers, {domain!r}")
    return np.where(inequality, np.maximum(u, 0.0), u)


def value_above(bound: float | Fraction, u: Vector, rhs: Vector, sign: float, in_fractions: bool) -> float | Fraction:
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


def rounded_up(number: Fraction) -> float:
    """The smallest float that is no smaller, or the next one."""
    try:
        near = float(number)
    except OverflowError:
        return inf if number > 0 else -np.finfo(float).max
    return near if near >= number else nextafter(near, inf)


def whole(values: Vector) -> NDArray[np.bool_]:
    """Which entries are whole numbers of which sums and differences are exact."""
    found: NDArray[np.bool_] = (values == np.rint(values)) & (np.abs(values) < _EXACT)
    return found


def places(witness: Mapping[str, Any], count: int, what: str) -> NDArray[np.int64] | None:
    """Different whole numbers from 0 to `count` - 1 in increasing order, the `compact` of a witness; None without."""
    given = witness.get("compact")
    if given is None:
        return None
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as problem:
        raise Refuted(f"the {what} must be whole numbers: {problem}") from problem
    if values.ndim != 1 or not ((values >= 0) & (values < count) & (values == np.rint(values))).all():
        raise Refuted(f"the {what} must be whole numbers from 0 to {count - 1}")
    found = np.sort(values.astype(np.int64))
    if (found[1:] == found[:-1]).any():
        raise Refuted(f"the {what} hold {found[1:][found[1:] == found[:-1]][0]} twice")
    return found


def exact_sum(values: Any) -> Fraction:
    """Sum of floats without rounding."""
    return sum(map(exact, np.asarray(values, dtype=float).ravel().tolist()), Fraction(0))
