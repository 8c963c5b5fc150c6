"""Sums of products of floats: exact as fractions, or in floats with a bound on what rounding did."""

from collections.abc import Iterable
from fractions import Fraction
from math import frexp, inf, nextafter

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains import Domain

LOWEST = 1074  # every float is a multiple of 2**-1074
SMALLEST = 2.0**-1074


def exact(value: float) -> Fraction:
    """The number that a float is."""
    return Fraction(float(value))


def exact_dot(left: Iterable[float], right: Iterable[float]) -> Fraction:
    """``sum(left * right)`` without any rounding, in integers: a tenth of the time that sums of fractions take."""
    total = 0
    for a, b in zip(left, right, strict=True):
        if a and b:
            (p, q), (r, s) = float(a).as_integer_ratio(), float(b).as_integer_ratio()
            total += p * r << (2 * LOWEST - q.bit_length() - s.bit_length() + 2)
    return Fraction(total, 1 << 2 * LOWEST)


def rounded_up(number: Fraction) -> float:
    """The smallest float that is no smaller, or the next one."""
    try:
        near = float(number)
    except OverflowError:
        return inf if number > 0 else -np.finfo(float).max
    return near if near >= number else nextafter(near, inf)


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
