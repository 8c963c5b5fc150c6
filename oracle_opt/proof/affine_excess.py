"""How far a claim may lie above an affine function that is proven."""

from fractions import Fraction
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.proof.claim import Bound, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.witness_numbers import number, numbers

ROUNDING = 1e-13  # an excess of this share of its terms needs no second look


def affine_excess(
    domain: Domain, claim: CutClaim, value: Enclosure, slope: Enclosure, point: Vector | None = None
) -> Bound:
    """``max (constant + s @ z) - (value + slope @ (z - point))`` over the promised set, at least 0.

    It is ``constant + s @ point - value + max d @ (z - point)``, d the difference of the slopes. The maximum is taken
    over the bounding box and, where that is more than rounding and the ends are floats, over the set itself.
    """
    exact = slope.exact
    claimed = Enclosure.of(numbers("slope of the claim", claim.slope, domain.dimension), exact)
    head = Enclosure.of(number("constant of the claim", claim.constant), exact) - value
    if point is None:
        return excess_of(domain, head, claimed - slope)
    at = Enclosure.of(point, exact)
    return excess_of(domain, head + (claimed * at).sum(), claimed - slope, at)


def excess_of(domain: Domain, head: Enclosure, difference: Enclosure, at: Enclosure | None = None) -> Bound:
    """``head + max difference @ (z - at)`` over the promised set, at least 0."""
    exact, steep = difference.exact, (difference.lower != 0) | (difference.upper != 0)
    if not steep.any():
        return _positive(head.upper.item())
    over = _largest_in_box(domain, difference, at, steep)
    if over is None:
        return np.inf
    excess = (head + over).upper.item()
    if exact:
        blocks = _largest_in_blocks(domain, difference)
        if blocks is not None:
            total = head + blocks if at is None else head + blocks - (difference * at).sum()
            excess = min(excess, total.upper.item())
        return _positive(excess)
    size = float(head.size()) + float(over.size())
    if excess > ROUNDING * size or np.isnan(excess):
        middle = 0.5 * difference.lower + 0.5 * difference.upper
        wrong = np.nextafter(np.maximum(difference.upper - middle, middle - difference.lower), np.inf)
        wrong[difference.lower == difference.upper] = 0.0
        most = Enclosure.of(slope_excess(domain, middle, np.zeros_like(middle), wrong))
        total = head + most if at is None else head + most - (Enclosure.of(middle) * at).sum()
        better = total.upper.item()
        excess = better if np.isnan(excess) else min(excess, better) if better == better else excess
    return _positive(excess)


def _positive(excess: Bound) -> Bound:
    """At least 0, or a refusal of what is no number."""
    if isinstance(excess, Fraction):
        return max(excess, Fraction(0))
    if np.isnan(excess):
        raise Refuted("the claim and its witness are so large that nothing can be computed of them")
    return max(float(excess), 0.0)


def _largest_in_box(
    domain: Domain, difference: Enclosure, at: Enclosure | None, steep: NDArray[np.bool_]
) -> Enclosure | None:
    """The largest ``difference @ (z - at)`` over the bounding box; `None` where that may have no end."""
    sides = [side[steep] for side in domain.bounding_box()]
    known = np.isfinite(sides)
    if not known.all():  # it is at the finite end where the difference has the sign for it
        if ((difference.upper[steep] > 0) & ~known[1] | (difference.lower[steep] < 0) & ~known[0]).any():
            return None
        sides = [np.where(known[k], sides[k], sides[1 - k]) for k in (0, 1)]
    ways = [Enclosure.of(side, difference.exact) for side in sides]
    if at is not None:
        ways = [way - at[steep] for way in ways]
    return difference[steep].most_times(Enclosure(ways[0].lower, ways[1].upper)).sum()


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


def slope_excess(domain: Domain, claimed: Vector, proven: Vector, error: Vector | float = 0.0) -> float:
    """By how much ``claimed @ z`` may exceed ``proven @ z`` in the promised set of a domain, at most; in floats."""
    difference = claimed - proven
    unsure = np.broadcast_to(np.abs(difference) * EPS + error, claimed.shape)
    lower, upper = domain.bounding_box()
    if (unsure[np.isinf(lower) | np.isinf(upper)] > 0).any():
        return np.inf
    largest = float(np.maximum(np.abs(difference), unsure).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return largest
    unit = 2.0 ** (frexp(largest)[1] - 1)  # squares of what is very small would be 0
    difference, unsure = difference / unit, np.maximum(unsure / unit, SMALLEST)
    most = -domain.minimize_linear(-difference)[0] + domain.minimum_rounding(difference)
    wide = 1.01 * domain.extent(unsure)
    return unit * float(most + EPS * abs(most) + wide) + SMALLEST
