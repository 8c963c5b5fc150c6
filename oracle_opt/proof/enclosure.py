"""Numbers between two ends, which no rounding leaves: interval arithmetic on arrays."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import EPS
from oracle_opt.proof.elementary import Ends, exp_ends, log_ends, sqrt_ends
from oracle_opt.proof.exact_sums import SMALLEST, rounded_up
from oracle_opt.proof.floats import LIBRARY, Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions

MOST = float(np.finfo(float).max)


class Enclosure:
    """An array of numbers, each known to lie between two ends.

    Ends are floats, rounded outward at every step, or fractions, exact. Operands are of the same kind or plain numbers.
    """

    __array_ufunc__ = None  # an array on the left leaves the operation to the enclosure

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower = np.asarray(lower)
        self.upper = self.lower if upper is lower else np.asarray(upper)

    def __repr__(self) -> str:
        return f"Enclosure({self.lower.tolist()}, {self.upper.tolist()})"

    @classmethod
    def of(cls, values: ArrayLike, exact: bool = False) -> Enclosure:
        """Floats as they are, or the fractions that they are."""
        array = np.asarray(values)
        if exact:
            array = _each(_fraction, array)
        elif array.dtype != float:
            array = array.astype(float)
        return cls(array, array)

    @classmethod
    def around(cls, numbers: Numbers) -> Enclosure:
        """The interval between the ends of numbers that know their error."""
        lower = numbers.below()
        return cls(lower, lower if numbers.exact else numbers.above())

    @classmethod
    def within(cls, values: Any, radii: Any) -> Enclosure:
        """Floats that may be wrong by radii."""
        return cls(
            np.where(radii > 0, np.nextafter(values - radii, -np.inf), values),
            np.where(radii > 0, np.nextafter(values + radii, np.inf), values),
        )

    @property
    def exact(self) -> bool:
        """Whether the ends are fractions."""
        return bool(self.lower.dtype == object)

    def floats(self) -> Enclosure:
        """Ends that are fractions as floats, each rounded outward."""
        low, high = _each(lambda x: -rounded_up(-x), self.lower), _each(rounded_up, self.upper)
        return Enclosure(low.astype(float), high.astype(float))

    def __getitem__(self, where: Any) -> Enclosure:
        lower = self.lower[where]
        return Enclosure(lower, lower if self.lower is self.upper else self.upper[where])

    def __add__(self, other: Any) -> Enclosure:
        other = self._like(other)
        ends = _sum(self.lower, other.lower)
        if self.lower is self.upper and other.lower is other.upper:
            return Enclosure(*ends)
        return Enclosure(ends[0], _sum(self.upper, other.upper)[1])

    def __neg__(self) -> Enclosure:
        upper = -self.lower
        return Enclosure(upper if self.lower is self.upper else -self.upper, upper)

    def __sub__(self, other: Any) -> Enclosure:
        return self + -self._like(other)

    def __mul__(self, other: Any) -> Enclosure:
        other = self._like(other)
        if other.lower is other.upper and self.lower is self.upper:
            product = _times(self.lower, other.lower)
            return _outward(product, product)
        ends = [_times(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        low, high = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
        return _outward(np.minimum(low, np.minimum(ends[2], ends[3])), np.maximum(high, np.maximum(ends[2], ends[3])))

    def most_times(self, other: Enclosure) -> Enclosure:
        """The upper ends of the products alone."""
        ends = [_times(a, b) for a in self._sides() for b in other._sides()]
        most = reduce(np.maximum, ends)
        most = most if self.exact else np.nextafter(most, np.inf)
        return Enclosure(most, most)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Enclosure:
        negative = -self
        return negative.__add__(other)

    def __truediv__(self, divisor: Any) -> Enclosure:
        """By numbers whose ends are both positive."""
        divisor = self._like(divisor)
        if not np.all(divisor.lower > 0):
            raise ValueError("division by what may be zero or negative")
        with np.errstate(all="ignore"):
            ends = [a / b for a in (self.lower, self.upper) for b in (divisor.lower, divisor.upper)]
        return _outward(np.minimum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))

    def __pow__(self, power: int) -> Enclosure:
        """A whole power, at least 1."""
        if power == 1:
            return self
        if power % 2:
            return self * self ** (power - 1)
        half = self ** (power // 2)
        ends = _times(half.lower, half.lower), _times(half.upper, half.upper)
        crosses = (half.lower < 0) & (half.upper > 0)
        low = np.where(crosses, 0 * ends[0], np.minimum(*ends)) if np.any(crosses) else np.minimum(*ends)
        return _outward(low, np.maximum(*ends))

    def sum(self, axis: int | None = None) -> Enclosure:
        """The sum of all entries, or along an axis."""
        if not self.lower.size:
            zero = np.zeros(np.sum(np.zeros(self.lower.shape), axis=axis).shape)
            return Enclosure.of(zero, self.exact)
        if self.exact:
            ends = [Fractions(side).sum(axis).x for side in self._sides()]
        elif axis is None:  # sums that are rounded once
            ends = [fsum(side.ravel().tolist()) for side in self._sides()]
        else:
            ends = [side.sum(axis=axis) for side in self._sides()]
            wrong = [1.01 * EPS * (self.lower.shape[axis] + 4) * np.abs(side).sum(axis=axis) for side in self._sides()]
            ends = [ends[0] - wrong[0] - SMALLEST, ends[-1] + wrong[-1] + SMALLEST]
        return _outward(ends[0], ends[-1])

    def mapped(self, matrix: Any) -> Enclosure:
        """``matrix @ x`` of a plain matrix of floats, an array or sparse."""
        if self.lower is self.upper:
            return Enclosure.around((Fractions if self.exact else Floats)(self.lower).mapped(matrix))
        if not self.exact:
            return Enclosure.around(Floats.between(self.lower, self.upper).mapped(matrix))
        middle, wide = ((self.upper + sign * self.lower) / 2 for sign in (1, -1))
        ends = Fractions(middle).mapped(matrix), Fractions(wide).mapped(abs(matrix))
        return Enclosure((ends[0] - ends[1]).x, (ends[0] + ends[1]).x)

    def _sides(self) -> tuple[Any, ...]:
        """Both ends, or the number that is both."""
        return (self.lower,) if self.lower is self.upper else (self.lower, self.upper)

    def size(self) -> Any:
        """The largest size that each entry may have."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    def exp(self) -> Enclosure:
        """``exp``, up to 1e5 in fractions."""
        return self._by(exp_ends, np.exp, -np.inf)

    def log(self) -> Enclosure:
        """``log`` of positive numbers."""
        return self._by(log_ends, np.log, 0.0)

    def sqrt(self) -> Enclosure:
        """``sqrt``; where the lower end is negative, of what is not."""
        clipped = Enclosure(np.maximum(self.lower, 0 * self.lower), self.upper)
        return clipped._by(sqrt_ends, np.sqrt, -SMALLEST)

    def _by(self, ends: Callable[[Fraction], Ends], function: Callable[[Any], Any], above: float) -> Enclosure:
        """A rising function of numbers above a bound."""
        if not np.all(self.lower > above):
            raise ValueError("a function of a number for which it is not defined")
        if self.exact:
            return Enclosure(_each(lambda x: ends(x)[0], self.lower), _each(lambda x: ends(x)[1], self.upper))
        with np.errstate(all="ignore"):
            low, high = (np.asarray(function(side)) for side in (self.lower, self.upper))
        least = 0.0 if function is not np.log else -np.inf
        low = np.minimum(low, MOST)  # a lower end that overflowed is some number above this
        low = np.maximum(low - LIBRARY * np.abs(low) - SMALLEST, least)
        return Enclosure(low, high + LIBRARY * np.abs(high) + SMALLEST)

    def _like(self, other: Any) -> Enclosure:
        return other if isinstance(other, Enclosure) else Enclosure.of(other, self.exact)


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Ends of ``a + b``, rounded outward, or exact: what rounding took off is known exactly (Knuth's two-sum)."""
    total = np.asarray(a + b)
    if total.dtype == object:
        return total, total
    shadow = total - a
    lost = (a - (total - shadow)) + (b - shadow)
    low = np.where(lost >= 0, total, np.nextafter(total, -np.inf))
    return low, np.where(lost <= 0, total, np.nextafter(total, np.inf))


def _outward(low: Any, high: Any) -> Enclosure:
    """Ends rounded away from each other; fractions as they are."""
    if np.asarray(low).dtype == object:
        return Enclosure(low, high)
    return Enclosure(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def _times(a: Any, b: Any) -> Any:
    """A product in which zero times infinity is zero: the factor that is zero means it exactly."""
    with np.errstate(all="ignore"):
        product = np.asarray(a * b)
    return np.where((a == 0) | (b == 0), 0.0, product) if product.dtype == float else product


def _fraction(value: Any) -> Fraction:
    """An integer, float or fraction as a fraction."""
    return value if isinstance(value, Fraction) else Fraction(value if isinstance(value, int) else float(value))


def _each(function: Callable[[Any], Any], values: Any) -> Any:
    """A function of each entry, as an array of objects."""
    made = np.empty(values.shape, dtype=object)
    made.reshape(-1)[:] = [function(value) for value in np.asarray(values).reshape(-1).tolist()]
    return made
