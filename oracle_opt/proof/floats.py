"""Numbers of a proof in floats, with a bound on their error.

Rounding is counted as in Higham (2002), "Accuracy and Stability of Numerical Algorithms", sections 2.2 and 3.1. An
operation errs by ``EPS / 2`` of its result; a sum of n products, in any order, by ``n EPS / 2`` of the sum of their
sizes, up to higher orders; a product that underflows by half of the smallest number. Twice that is charged, which
leaves room for the higher orders and for the rounding of the charge itself. The charges before it are carried on
``1 + 4 EPS`` times.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import fsum, inf, nextafter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS
from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.plain import divergence

EXACT = 0.0  # the radius of numbers that are as they stand; known by identity, which saves the work for it
ON = 1.0 + 4.0 * EPS
WHOLE = 2**53  # up to which whole numbers are floats
BLOCK = 256  # terms of a long sum that are added up at once
LIBRARY = 8 * EPS  # relative error of a power, an exponential or a logarithm: twice the 4 ulp that NumPy tests


class Floats(Numbers):
    """Floats x, and radii r: ``abs(true - x) <= r``; the radius of a number beyond all floats is infinite or nan."""

    __slots__ = ("r",)
    exact = False

    def __init__(self, x: Any, r: Any = EXACT) -> None:
        self.x, self.r = x, r

    def __repr__(self) -> str:
        return f"Floats({self.x!r}, {self.r!r})"

    @classmethod
    def of(cls, x: Any) -> Self:
        """Numbers as they are; fractions and large whole numbers rounded, with a radius."""
        kind = type(x)
        if kind is cls:
            return x  # type: ignore[no-any-return]
        if kind is float or kind is np.float64 or (kind is np.ndarray and x.dtype == np.float64):
            return cls(x)
        given = np.asarray(x)
        near = given.astype(float)
        exact = given.dtype.kind in "fb" or (given.dtype.kind in "iu" and (np.abs(near) < WHOLE).all())
        made = near if near.ndim else float(near)
        return cls(made) if exact else cls(made, EPS * np.abs(made) + SMALLEST)

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        made = [cls.of(one) for one in parts]
        x = np.concatenate([np.atleast_1d(one.x) for one in made])
        if all(one.r is EXACT for one in made):
            return cls(x)
        return cls(x, np.concatenate([np.broadcast_to(one.r, np.shape(np.atleast_1d(one.x))) for one in made]))

    @classmethod
    def between(cls, low: Any, high: Any) -> Self:
        """Numbers between two ends, each of which may be rounded by a unit: the middle, and a radius for both."""
        with np.errstate(all="ignore"):
            known = np.isfinite(low) & np.isfinite(high)
            x = np.where(known, 0.5 * low + 0.5 * high, high)
            r = (0.5 * (high - low) + 4 * EPS * (np.abs(low) + np.abs(high)) + 4 * SMALLEST) * ON
            r = np.where(known, r, inf)
            return cls(x, r) if x.ndim else cls(float(x), float(r))

    def __add__(self, other: Any) -> Self:
        other = other if type(other) is Floats else self.of(other)
        x = self.x + other.x
        if self.r is EXACT and other.r is EXACT:
            return type(self)(x, EPS * abs(x))
        return type(self)(x, (self.r + other.r + EPS * abs(x)) * ON)

    def __sub__(self, other: Any) -> Self:
        other = other if type(other) is Floats else self.of(other)
        x = self.x - other.x
        if self.r is EXACT and other.r is EXACT:
            return type(self)(x, EPS * abs(x))
        return type(self)(x, (self.r + other.r + EPS * abs(x)) * ON)

    def __neg__(self) -> Self:
        return type(self)(-self.x, self.r)

    def __mul__(self, other: Any) -> Self:
        """Product; that with 0 is 0, and that with 1 is exact."""
        if type(other) is float:
            if other == 1.0:
                return self
            if other != 0.0 and (self.r is not EXACT or type(self.x) is not float or self.x != 0.0):
                x = self.x * other
                r = EPS * abs(x) + 4 * SMALLEST
                return type(self)(x, r if self.r is EXACT else (r + self.r * abs(other)) * ON)
        other = other if type(other) is Floats else self.of(other)
        for one, two in ((self, other), (other, self)):
            if one.r is EXACT and type(one.x) is float and one.x == 0.0:
                return type(self)(np.zeros(two.x.shape) if np.ndim(two.x) else 0.0)
        x = self.x * other.x
        r = EPS * abs(x) + 4 * SMALLEST
        if other.r is EXACT and self.r is EXACT:
            return type(self)(x, r)
        if other.r is not EXACT:
            r = r + abs(self.x) * other.r
        if self.r is not EXACT:
            r = r + self.r * (abs(other.x) + other.r)
        return type(self)(x, r * ON)

    def __truediv__(self, other: Any) -> Self:
        """Quotient of radius ``(r_a + abs(a / b) r_b) / (abs(b) - r_b)``, infinite where the divisor may be 0."""
        other = self.of(other)
        with np.errstate(all="ignore"):
            x = np.divide(self.x, other.x)
            least = (np.abs(other.x) - other.r) * (1.0 - 4.0 * EPS)
            r = ((self.r + np.abs(x) * other.r + 2 * SMALLEST) / least + EPS * np.abs(x) + 2 * SMALLEST) * (
                ON + 4 * EPS
            )
            r = np.where(least > 0, r, inf)
        return type(self)(x, r) if np.ndim(x) else type(self)(float(x), float(r))

    def __abs__(self) -> Self:
        return type(self)(abs(self.x), self.r)

    def __getitem__(self, where: Any) -> Self:
        return type(self)(self.x[where], np.broadcast_to(self.r, self.x.shape)[where] if np.ndim(self.r) else self.r)

    def dot(self, other: Any) -> Self:
        other = other if type(other) is Floats else self.of(other)
        a, b = self.x, other.x
        size_a, size_b, n = np.abs(a), np.abs(b), a.size
        k = (n if n <= 2 * BLOCK else depth(n)) + 8
        r = EPS * k * float(size_a.dot(size_b)) + n * SMALLEST
        if other.r is not EXACT:
            r += _dot(size_a, other.r) * (1.0 + EPS * (n + 8)) + n * SMALLEST
        if self.r is not EXACT:
            r += _dot(size_b + other.r, self.r) * (1.0 + EPS * (n + 8)) + n * SMALLEST
        return type(self)(float(a.dot(b)) if n <= 2 * BLOCK else blocked(a * b), r * ON)

    def mapped(self, matrix: Any) -> Self:
        n, sizes, near = terms_of(matrix, self.x.shape[0]), abs(matrix), np.abs(self.x)
        r = EPS * (n + 1) * (sizes @ near)
        if self.r is not EXACT:
            near = near + self.r
            r = r + (sizes @ np.broadcast_to(self.r, self.x.shape)) * (1.0 + EPS * (n + 8))
        if not np.all(r):  # sums without terms are 0, and known to be; others may be too small to be told from it
            r = np.where(((sizes != 0) * 1.0) @ ((near != 0) * 1.0) > 0.0, r + 2 * n * SMALLEST, 0.0)
        else:
            r = r + 2 * n * SMALLEST
        return type(self)(matrix @ self.x, r * ON)

    def sum(self, axis: int | None = None) -> Self:
        n = self.x.size if axis is None else self.x.shape[axis]
        long = axis is None and n > 2 * BLOCK
        r = EPS * ((depth(n) if long else n) + 8) * np.abs(self.x).sum(axis=axis)
        if self.r is not EXACT:
            r = r + np.broadcast_to(self.r, self.x.shape).sum(axis=axis) * (1.0 + EPS * (n + 8))
        x = blocked(self.x.ravel()) if long else self.x.sum(axis=axis)
        return type(self)(x, r * ON) if np.ndim(x) else type(self)(float(x), float(r) * ON)

    def maximum(self, other: Any) -> Self:
        other = self.of(other)
        r = EXACT if self.r is EXACT and other.r is EXACT else np.maximum(self.r, other.r)
        x = np.maximum(self.x, other.x)
        return type(self)(x, r) if np.ndim(x) else type(self)(float(x), r if r is EXACT else float(r))

    def max(self) -> Self:
        """The largest: between the largest lower end and the largest upper end."""
        if self.r is EXACT:
            return type(self)(float(self.x.max()))
        return self.between(float((self.x - self.r).max()), float((self.x + self.r).max()))

    def sqrt(self) -> Self:
        """Roots, between those of both ends."""
        with np.errstate(all="ignore"):
            if self.r is EXACT:
                x = np.sqrt(np.maximum(self.x, 0.0))
                r = EPS * x
                return type(self)(x, r) if np.ndim(x) else type(self)(float(x), float(r))
            return self.between(*(np.sqrt(np.maximum(end, 0.0)) for end in (self.below(), self.above())))

    def power(self, exponent: Fraction) -> Self:
        """Powers: the exponent is rounded, which makes ``x**e`` wrong by ``e abs(log(x))`` roundings."""
        e = float(exponent)

        def powers(x: Any) -> tuple[Any, Any]:
            x = np.maximum(x, 0.0)
            value, logs = x**e, np.log(np.where(x > 0, x, 1.0))
            return value, value * (LIBRARY + EPS * e * np.abs(logs)) + np.where(x > 0, SMALLEST, 0.0)

        return self._risen(powers)

    def expm1(self) -> Self:
        return self._risen(lambda x: (np.expm1(x), LIBRARY * np.abs(np.expm1(x)) + np.where(x != 0, SMALLEST, 0.0)))

    def divergence(self) -> Self:

        def values(x: Any) -> tuple[Any, Any]:
            value = divergence(x)
            return value, 64 * EPS * np.abs(value) + np.where(x != 0, 4 * SMALLEST, 0.0)

        if self.r is EXACT:
            return self._risen(values)
        low, high = self.below(), self.above()
        (at_low, of_low), (at_high, of_high) = values(low), values(high)
        least = np.minimum(at_low - of_low * ON, at_high - of_high * ON)
        least = np.where((low <= 0) & (high >= 0), 0.0, np.maximum(least, 0.0))
        return self.between(least, np.maximum(at_low + of_low * ON, at_high + of_high * ON))

    def _risen(self, function: Callable[[Any], tuple[Any, Any]]) -> Self:
        """A rising function, with the error of its values."""
        with np.errstate(all="ignore"):
            if self.r is EXACT:
                x, r = function(self.x)
                return type(self)(x, r * ON) if np.ndim(x) else type(self)(float(x), float(r) * ON)
            (low, of_low), (high, of_high) = function(self.below()), function(self.above())
            return self.between(low - of_low * ON, high + of_high * ON)

    @classmethod
    def near(cls, x: float, r: float) -> Self:
        return cls(x, r)

    def group_sums(self, starts: NDArray[np.intp]) -> Self:
        sizes = np.diff(np.append(starts, self.x.size))
        r = EPS * (sizes + 8) * np.add.reduceat(np.abs(self.x), starts)
        if self.r is not EXACT:
            r = r + np.add.reduceat(np.broadcast_to(self.r, self.x.shape), starts) * (1.0 + EPS * (sizes + 8))
        return type(self)(np.add.reduceat(self.x, starts), r * ON)

    def group_max(self, starts: NDArray[np.intp]) -> Self:
        """Largest of groups: between the largest lower ends and the largest upper ends."""
        if self.r is EXACT:
            return type(self)(np.maximum.reduceat(self.x, starts))
        return self.between(*(np.maximum.reduceat(end, starts) for end in (self.x - self.r, self.x + self.r)))

    def sums(self, ends: Sequence[int]) -> Self:
        """Sums between ends, rounded once."""
        known = self.x.tolist()
        x = np.array([fsum(known[first:last]) for first, last in pairwise(ends)])
        r = EPS * np.abs(x) + SMALLEST
        if self.r is not EXACT:
            some = np.diff(ends) > 0
            starts, radii = np.asarray(ends[:-1])[some], np.broadcast_to(self.r, self.x.shape)[ends[0] : ends[-1]]
            r[some] += np.add.reduceat(radii, starts - ends[0]) * (1.0 + EPS * (radii.size + 8)) if some.any() else 0.0
        return type(self)(x, r * ON)

    def below(self) -> Any:
        """Rounded down; minus infinity where nothing is known."""
        return self.x if self.r is EXACT else _outward(self.x - self.r, self.r, -inf)

    def above(self) -> Any:
        """Rounded up; infinity where nothing is known."""
        return self.x if self.r is EXACT else _outward(self.x + self.r, self.r, inf)


def terms_of(matrix: Any, n: int) -> int:
    """How many terms a sum of ``matrix @ x`` has at most: zeros that a sparse one does not store are none."""
    return n if isinstance(matrix, np.ndarray) else int(np.bincount(matrix.tocoo().row, minlength=1).max())


def depth(n: int) -> int:
    """How many additions a term of `blocked` goes through at most: those of its block, of all blocks, of the rest."""
    return n if n <= 2 * BLOCK else BLOCK + n // BLOCK + 1


def blocked(values: NDArray[np.float64]) -> float:
    """A long sum, block by block: in whatever order each is added up, a term is rounded `depth` times at most."""
    whole = values.size // BLOCK * BLOCK
    return float(values[:whole].reshape(-1, BLOCK).sum(axis=1).sum() + values[whole:].sum())


def _dot(values: Any, radii: Any) -> float:
    """``values @ radii``, the radii being one for all or one each."""
    return float(values.dot(radii)) if np.ndim(radii) else float(values.sum() * radii)


def _outward(end: Any, r: Any, towards: float) -> Any:
    """The next float in a direction, if there is a radius; the end of all where nothing is known."""
    if isinstance(end, np.ndarray):
        moved = (np.fmax if towards < 0 else np.fmin)(np.nextafter(end, towards), towards)
        return np.where(r == 0, end, moved)
    return end if r == 0 else nextafter(end, towards) if end == end else towards
