"""Values and conjugates of regularizers from above, in decimals of 60 digits.

For every slope g the conjugate over the orthant, ``r*(g) = sup over d >= 0 of g @ d - r(d)``, gives

    r(d) >= g @ d - r*(g)   for all d >= 0,

which is what a cut says of r: no point at which it was made is needed. r* never falls where an entry of g rises, so a
bound from above of g gives one of r*.

The decimal module rounds roots, powers, exponentials and logarithms to the last digit but one; what 60 digits leave
open is far below the 1e-50 of the terms that is added. Where a function is 0 nothing is added: the minimum may be as
small. A regularizer of a user's own is taken at its word, up to
`ROUNDING`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Overflow, localcontext
from fractions import Fraction

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.mkl.regularized import ROUNDING
from oracle_opt.oracles.mkl.regularizers import ElasticNet, EntropyRegularizer, LpRegularizer, Regularizer

SLACK = Fraction(1, 10**50)
DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
MOST_DIGITS = 100_000  # of a number as a fraction: more take for ever, and no claim is of such numbers
TINY = Fraction(1, 10**12)
LEAST = Fraction(1, 10**400)  # what numbers far below it are taken for, from above


def value_above(regularizer: Regularizer, d: Vector) -> Fraction:
    """At least ``r(d)``, for d not negative."""
    numbers = [Fraction(value) for value in d.tolist()]
    if type(regularizer) is LpRegularizer:
        power, weight = Fraction(regularizer.power), Fraction(regularizer.weight)
        return weight / power * _power(lp_norm_above(numbers, Fraction(regularizer.p)), power)
    if type(regularizer) is ElasticNet:
        linear, quadratic = Fraction(regularizer.linear), Fraction(regularizer.quadratic)
        return linear * _sum(numbers) + quadratic / 2 * _sum(x * x for x in numbers)
    if type(regularizer) is EntropyRegularizer:
        reference = [Fraction(x) for x in np.broadcast_to(regularizer.reference, d.shape).tolist()]
        return Fraction(regularizer.weight) * _sum(
            (x * (_log_above(x / of) - 1) if x else 0) + of for x, of in zip(numbers, reference, strict=True)
        )
    value = float(regularizer.value(d))
    return _finite(value + ROUNDING * abs(value))


def conjugate_above(regularizer: Regularizer, g: Sequence[Fraction]) -> Fraction | None:
    """At least ``r*(g)``; None if that is infinite or not known."""
    if type(regularizer) is LpRegularizer:
        return _of_norm(regularizer, lp_norm_above(g, conjugate_exponent(regularizer)))
    if type(regularizer) is ElasticNet:
        linear, quadratic = Fraction(regularizer.linear), Fraction(regularizer.quadratic)
        return _sum(max(x - linear, Fraction(0)) ** 2 for x in g) / (2 * quadratic)
    if type(regularizer) is EntropyRegularizer:
        weight = Fraction(regularizer.weight)
        reference = np.broadcast_to(regularizer.reference, len(g)).tolist()
        try:
            return weight * _sum(
                Fraction(of) * _exp_less_one_above(x / weight) for x, of in zip(g, reference, strict=True)
            )
        except Overflow:
            return None
    above = np.array([max(float(x), 0.0) for x in g])
    value = float(regularizer.conjugate(above * (1.0 + ROUNDING)))
    return _finite(value + ROUNDING * abs(value)) if value < np.inf else None


def conjugate_of_claim(regularizer: Regularizer, g: Sequence[Fraction]) -> Fraction | None:
    """At least ``r*(g)`` of a slope that is claimed; None if it is not known.

    Raises
    ------
    Refuted
        It is infinite, or so large that it cannot be written down.
    """
    cost = conjugate_above(regularizer, g)
    if cost is None and type(regularizer) in (LpRegularizer, ElasticNet, EntropyRegularizer):
        raise Refuted(
            f"its slope is steeper than {regularizer!r}, or so steep that its conjugate is beyond all numbers"
        )
    return cost


def conjugate_exponent(regularizer: LpRegularizer) -> Fraction | None:
    """The q of ``1/p + 1/q = 1``; None for infinity."""
    p = Fraction(regularizer.p)
    return None if p == 1 else p / (p - 1)


def lp_norm_above(values: Sequence[Fraction], p: Fraction | None) -> Fraction:
    """At least the lp norm of what is positive in some numbers; exactly for p 1 or, None, infinity."""
    positive = [x for x in values if x > 0]
    largest = max(positive, default=Fraction(0))
    if p is None or len(positive) < 2:
        return largest
    if p == 1:
        return _sum(positive)
    return largest * _power(_sum(_power(x / largest, p) for x in positive), 1 / p)


def _of_norm(regularizer: LpRegularizer, norm: Fraction) -> Fraction | None:
    """With ``m = power / (power - 1)``: ``weight / m * (norm / weight)**m``; at power 1 an indicator."""
    weight, power = Fraction(regularizer.weight), Fraction(regularizer.power)
    if power == 1:
        return Fraction(0) if norm <= weight else None
    m = power / (power - 1)
    try:
        return weight / m * _power(norm / weight, m)
    except Overflow:
        return None


def _sum(values: object) -> Fraction:
    return sum(values, Fraction(0))  # type: ignore[call-overload,no-any-return]


def _power(x: Fraction, exponent: Fraction) -> Fraction:
    """At least ``x**exponent``, for x >= 0; exactly for a small whole exponent."""
    if not x or exponent == 1:
        return x
    if exponent.denominator == 1 and exponent <= 4:
        return x**exponent.numerator
    with localcontext(DIGITS):
        return _fraction_above(_decimal(x) ** _decimal(exponent))


def _exp_less_one_above(x: Fraction) -> Fraction:
    """At least ``exp(x) - 1``: near 0 by ``x + x**2 / 2 + abs(x)**3 / 2``."""
    if abs(x) < TINY:
        return x + x * x / 2 + abs(x) ** 3 / 2
    with localcontext(DIGITS):
        return _fraction_above(_decimal(x).exp()) - 1


def _fraction_above(value: Decimal) -> Fraction:
    """A rounded number that is positive, from above.

    Raises
    ------
    decimal.Overflow
        It has too many digits to be counted with.
    """
    if value.adjusted() > MOST_DIGITS:
        raise Overflow
    return LEAST if value.adjusted() < -401 else Fraction(value) * (1 + SLACK)


def _log_above(x: Fraction) -> Fraction:
    if x == 1:
        return Fraction(0)
    with localcontext(DIGITS):
        value = Fraction(_decimal(x).ln())
    return value + SLACK * (1 + abs(value))


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _finite(value: float) -> Fraction:
    if not np.isfinite(value):
        raise Refuted(f"the regularizer is {value}")
    return Fraction(value)
