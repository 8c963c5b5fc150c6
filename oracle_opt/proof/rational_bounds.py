"""Exponential, logarithm and square root of fractions, each between two fractions."""

from fractions import Fraction
from math import isqrt

BITS = 160  # what is kept of a number: the ends of an interval are about 2**-BITS apart, relative to their size
LARGEST = 100_000  # of the exponents: the result would have more digits than anyone waits for

Ends = tuple[Fraction, Fraction]  # a number lies between these


def _cut(value: Fraction, up: bool) -> Fraction:
    """The fraction rounded, down or up, to `BITS` binary digits."""
    if not value:
        return value
    shift = BITS - abs(value.numerator).bit_length() + value.denominator.bit_length()
    scaled = value * 2**shift if shift >= 0 else value / 2**-shift
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return Fraction(whole, 2**shift) if shift >= 0 else Fraction(whole * 2**-shift)


def exp_ends(x: Fraction) -> Ends:
    """``exp(x)``, by its series at ``x / 2**m``, squared m times."""
    if abs(x) > LARGEST:
        raise OverflowError(f"the exponential of {float(x):.6g}")
    if x < 0:
        low, high = exp_ends(-x)
        return _cut(1 / high, False), _cut(1 / low, True)
    halvings = (int(x) + 1).bit_length() + 8
    terms = BITS // 8
    r = _cut(x / 2**halvings, False), _cut(x / 2**halvings, True)  # at most 2**-8
    sums = [Fraction(1), Fraction(1)]
    term = [Fraction(1), Fraction(1)]
    for i in range(1, terms + 1):
        for side in (0, 1):
            term[side] = _cut(term[side] * r[side] / i, bool(side))
            sums[side] += term[side]
    low, high = _cut(sums[0], False), _cut(sums[1] + term[1], True)  # what is left out is less than the last term
    for _ in range(halvings):
        low, high = _cut(low * low, False), _cut(high * high, True)
    return low, high


def _log_of_ratio(t: Fraction) -> Ends:
    """``log((1 + t) / (1 - t)) = 2 (t + t**3 / 3 + t**5 / 5 + ...)`` for 0 <= t <= 1/3."""
    ends = []
    for up in (False, True):
        s = _cut(t, up)
        square, power, total, i = s * s, s, Fraction(0), 1
        while power * 2 ** (BITS + 2) > s and i < 4 * BITS:
            total += power / i
            power, i = _cut(power * square, up), i + 2
        # what is left out is at most a geometric series
        ends.append(2 * (total + (power / (1 - square) if up else 0)))
    return _cut(ends[0], False), _cut(ends[1], True)


def log_ends(x: Fraction) -> Ends:
    """``log(x)`` of a positive fraction, as that of ``2**e * m`` with m between 1 and 2."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not positive")
    e = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / 2**e if e >= 0 else x * 2**-e
    if m < 1:
        m, e = 2 * m, e - 1
    low, high = _log_of_ratio((m - 1) / (m + 1))
    two = _log_of_ratio(Fraction(1, 3))
    return low + e * two[e < 0], high + e * two[e >= 0]


def sqrt_ends(x: Fraction) -> Ends:
    """``sqrt(x)`` of a fraction that is not negative."""
    if x < 0:
        raise ValueError("the square root of a negative number")
    if not x:
        return Fraction(0), Fraction(0)
    half = max(0, BITS - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    whole = isqrt((x.numerator << 2 * half) // x.denominator)
    high = whole if whole * whole * x.denominator == x.numerator << 2 * half else whole + 1
    return Fraction(whole, 1 << half), Fraction(high, 1 << half)
