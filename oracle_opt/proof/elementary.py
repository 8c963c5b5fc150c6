"""Exponentials, logarithms, roots and powers of fractions, each between two fractions: by balls of python-flint."""

from collections.abc import Callable
from fractions import Fraction
from threading import Lock
from typing import Any

BITS = 400  # of a ball: its ends are about 2**-BITS apart, relative to their size
LARGEST = 100_000  # of an exponent: the result would have more digits than anyone waits for
LEAST = Fraction(1, 1 << 2000)  # what sizes far below it are taken for, from above
PRECISION = Lock()  # python-flint has one for all threads

Ends = tuple[Fraction, Fraction]  # a number lies between these


def _ends(x: Fraction, function: Callable[[Any, Any], Any]) -> Ends:
    """A function of a fraction, given the ball and the way to make others."""
    import flint  # only here: the import takes time

    def ball(v: Fraction) -> Any:
        return flint.arb(flint.fmpq(v.numerator, v.denominator))

    with PRECISION, flint.ctx.workprec(BITS):
        value = function(ball(x), ball)
        if not value.is_finite():
            raise OverflowError("a function of a fraction has too many digits")
        ends = value.lower().man_exp(), value.upper().man_exp()
    if max(int(exponent) for _, exponent in ends) > 4 * LARGEST:
        raise OverflowError("a function of a fraction has too many digits")
    if min(int(exponent) for _, exponent in ends) < -16 * LARGEST:
        return Fraction(0) if value > 0 else -LEAST, LEAST
    low, high = (Fraction(int(whole)) * Fraction(2) ** int(exponent) for whole, exponent in ends)
    return low, high


def exp_ends(x: Fraction) -> Ends:
    """``exp(x)``."""
    if abs(x) > LARGEST:
        raise OverflowError(f"the exponential of {float(x):.6g}")
    return _ends(x, lambda v, _: v.exp())


def log_ends(x: Fraction) -> Ends:
    """``log(x)`` of a positive fraction."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not positive")
    return _ends(x - 1, lambda v, _: v.log1p()) if 1 < 2 * x < 4 else _ends(x, lambda v, _: v.log())


def sqrt_ends(x: Fraction) -> Ends:
    """``sqrt(x)`` of a fraction that is not negative; exact for squares of binary fractions."""
    if x < 0:
        raise ValueError("the square root of a negative number")
    return _ends(x, lambda v, _: v.sqrt()) if x else (x, x)


def power_above(x: Fraction, exponent: Fraction) -> Fraction:
    """At least ``x**exponent``, for x >= 0 and a positive exponent; exactly for a small whole one."""
    if not x or (exponent.denominator == 1 and exponent <= 4):
        return x**exponent.numerator
    return _ends(x, lambda v, ball: v ** ball(exponent))[1]


def exp_less_one_above(x: Fraction) -> Fraction:
    """At least ``exp(x) - 1``."""
    return _ends(max(x, -Fraction(LARGEST)), lambda v, _: v.expm1())[1]
