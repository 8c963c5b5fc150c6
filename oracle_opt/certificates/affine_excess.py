"""How far a claim may lie above an affine function that is proven."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.certificates.enclosure import Enclosure
from oracle_opt.certificates.exact_sums import slope_excess
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import CutClaim

ROUNDING = 1e-13  # an excess of this share of its terms needs no second look


def affine_excess(
    domain: Domain, claim: CutClaim, value: Enclosure, slope: Enclosure, point: Vector | None = None
) -> float | Fraction:
    """``max (constant + s @ z) - (value + slope @ (z - point))`` over the promised set, at least 0.

    With the claim's s, and d the difference of the slopes, this is
    ``constant + s @ point - value + max d @ (z - point)``, the maximum being taken over the bounding box and, where
    that is more than rounding and the ends are floats, over the set itself.

    Parameters
    ----------
    domain : Domain
        Where z lies.
    claim : CutClaim
        What is claimed.
    value : Enclosure
        A number: what is proven at the point.
    slope : Enclosure
        Of shape (n,): with this slope.
    point : ndarray of shape (n,), optional
        Default: the origin.

    Returns
    -------
    float or Fraction
        The claim less this number is proven; infinite if the set has no end in a direction in which the slopes differ.
    """
    exact = slope.exact
    claimed = Enclosure.of(numbers("slope of the claim", claim.slope, domain.dimension), exact)
    difference = claimed - slope
    if not exact:  # where the slopes are the same number, no outward step
        same = (slope.lower == claim.slope) & (slope.upper == claim.slope)
        difference = Enclosure(np.where(same, 0.0, difference.lower), np.where(same, 0.0, difference.upper))
    head = Enclosure.of(number("constant of the claim", claim.constant), exact) - value
    at = Enclosure.of(np.zeros(domain.dimension) if point is None else point, exact)
    if point is not None:
        head = head + (claimed * at).sum()
    over = _largest_in_box(domain, difference, at)
    if over is None:
        return np.inf
    total = head + over
    excess = total.upper.item()
    if exact:
        blocks = _largest_in_blocks(domain, difference)
        if blocks is not None:
            excess = min(excess, (head + blocks - (difference * at).sum()).upper.item())
        return max(Fraction(excess), Fraction(0))
    size = float(head.size()) + float(over.size())
    if excess > ROUNDING * size or np.isnan(excess):
        middle, wrong = 0.5 * (slope.lower + slope.upper), 0.5 * (slope.upper - slope.lower)
        wrong = np.nextafter(wrong + (np.abs(middle) + wrong) * 1e-15, np.inf)
        most = Enclosure.of(slope_excess(domain, claim.slope, middle, wrong))
        better = (head + most - (Enclosure(claim.slope - middle, claim.slope - middle) * at).sum()).upper.item()
        excess = better if np.isnan(excess) else min(excess, better) if better == better else excess
    if np.isnan(excess):
        raise Refuted("the claim and its witness are so large that nothing can be computed of them")
    return max(float(excess), 0.0)


def _largest_in_box(domain: Domain, difference: Enclosure, at: Enclosure) -> Enclosure | None:
    """The largest ``difference @ (z - at)`` over the bounding box; `None` where that has no end."""
    lower, upper = domain.bounding_box()
    matters = (difference.lower != 0) | (difference.upper != 0)
    if not np.isfinite(lower[matters]).all() or not np.isfinite(upper[matters]).all():
        return None
    exact, difference, at = difference.exact, difference[matters], at[matters]
    ends = [difference * (Enclosure.of(side[matters], exact) - at) for side in (lower, upper)]
    most = np.maximum(ends[0].upper, ends[1].upper)
    return Enclosure(most, most).sum()


def _largest_in_blocks(domain: Domain, difference: Enclosure) -> Enclosure | None:
    """The largest ``difference @ z`` over a product of simplices, in fractions; `None` if it is none."""
    blocks = domain.simplices()
    if blocks is None:
        return None
    each = difference.upper
    if blocks.scale is not None:
        each = np.array(
            [one / Fraction(float(unit)) for one, unit in zip(each, blocks.scale, strict=True)], dtype=object
        )
    radius = Fraction(float(blocks.radius))
    starts = [int(start) for start in blocks.starts]
    largest = [max(each[start : start + size]) for start, size in zip(starts, blocks.sizes, strict=True)]
    total: Any = sum(largest, Fraction(0)) * radius
    return Enclosure.of(total, exact=True)


def numbers(name: str, values: Any, *shape: int) -> Vector:
    """Finite numbers of a shape, or a refusal: what a witness or a claim must be.

    Parameters
    ----------
    name : str
        What they are, in words.
    values : object
        Whatever stands there.
    *shape : int
        The shape wanted.

    Returns
    -------
    ndarray

    Raises
    ------
    Refuted
        It is something else.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise Refuted(f"the {name} is no array of numbers") from None
    if array.shape != shape:
        raise Refuted(f"the {name} must have shape {shape}, and has {array.shape}")
    if not np.isfinite(array).all():
        raise Refuted(f"the {name} must be finite")
    return array


def number(name: str, value: Any) -> float:
    """A finite number, or a refusal, as `numbers`."""
    return float(numbers(name, value))


def place(name: str, value: Any, count: int) -> int:
    """A whole number from 0 to below a count, or a refusal."""
    found = number(name, value)
    if found != int(found) or not 0 <= found < count:
        raise Refuted(f"the {name} must be a whole number from 0 to {count - 1}, and is {found:g}")
    return int(found)
