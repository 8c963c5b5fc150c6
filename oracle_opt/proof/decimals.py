"""Powers, exponentials and logarithms of fractions from above, in decimals of 60 digits.

The decimal module rounds them to the last digit but one; what 60 digits leave open is far below the 1e-50 of the terms
that is added. Where a function is 0, or a number its own power, nothing is added: the minimum may be as small.
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Overflow, localcontext
from fractions import Fraction

SLACK = Fraction(1, 10**50)
DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
MOST_DIGITS = 100_000  # of a number as a fraction: more take for ever, and no claim is of such numbers
TINY = Fraction(1, 10**12)
LEAST = Fraction(1, 10**400)  # what numbers far below it are taken for, from above


def power_above(x: Fraction, exponent: Fraction) -> Fraction:
    """At least ``x**exponent``, for x >= 0 and a positive exponent; exactly for a small whole one."""
    if not x or exponent == 1:
        return x
    if exponent.denominator == 1 and exponent <= 4:
        return x**exponent.numerator
    with localcontext(DIGITS):
        return _fraction_above(_decimal(x) ** _decimal(exponent))


def exp_less_one_above(x: Fraction) -> Fraction:
    """At least ``exp(x) - 1``: near 0 by ``x + x**2 / 2 + abs(x)**3 / 2``."""
    if abs(x) < TINY:
        return x + x * x / 2 + abs(x) ** 3 / 2
    with localcontext(DIGITS):
        return _fraction_above(_decimal(x).exp()) - 1


def log_above(x: Fraction) -> Fraction:
    """At least ``log(x)``, for x > 0."""
    if x == 1:
        return Fraction(0)
    with localcontext(DIGITS):
        value = Fraction(_decimal(x).ln())
    return value + SLACK * (1 + abs(value))


def _fraction_above(value: Decimal) -> Fraction:
    """A rounded number that is positive, from above."""
    if value.adjusted() > MOST_DIGITS:
        raise Overflow
    return LEAST if value.adjusted() < -401 else Fraction(value) * (1 + SLACK)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)
