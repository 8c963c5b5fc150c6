"""Numbers of a proof in fractions, whose sums and products go through whole numbers."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite, lcm
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from oracle_opt.proof.elementary import exp_less_one_above, log_ends, power_above, sqrt_ends
from oracle_opt.proof.plain import Unbounded


class Fractions(Unbounded):
    """Fractions; arrays of them are arrays of objects. Sums and products go through whole numbers, which is fast."""

    __slots__ = ()
    exact = True

    @classmethod
    def of(cls, x: Any) -> Self:
        if type(x) is cls:
            return x
        if np.ndim(x) == 0:
            return cls(_fraction(x))
        given = np.asarray(x)
        plain = given.dtype == np.float64 and bool(np.isfinite(given).all())
        return cls(_objects([*map(Fraction if plain else _fraction, given.ravel().tolist())], given.shape))

    def dot(self, other: Any) -> Self:
        pairs = [(a, b) for a, b in zip(self.x, self.of(other).x, strict=True) if a and b]
        left, unit = _whole([a for a, _ in pairs])
        right, other_unit = _whole([b for _, b in pairs])
        return type(self)(Fraction(sum(a * b for a, b in zip(left, right, strict=True)), unit * other_unit))

    def mapped(self, matrix: Any) -> Self:
        """``matrix @ x``, by whole numbers."""
        used = np.flatnonzero(self.x if self.x.ndim == 1 else self.x.any(axis=1))
        whole, unit = _whole(self.x[used].ravel().tolist())
        x, sums = _objects(whole, self.x[used].shape), np.zeros((matrix.shape[0], *self.x.shape[1:]), dtype=object)
        if isinstance(matrix, np.ndarray):
            numbers, low = integers(matrix[:, used])
            sums = numbers @ x if used.size else sums
        else:
            entries = matrix.tocsc()[:, used].tocoo()
            numbers, low = integers(entries.data)
            lines, totals = list(x), list(sums)  # whole numbers, or arrays of them
            for i, j, entry in zip(entries.row.tolist(), entries.col.tolist(), numbers.tolist(), strict=True):
                totals[i] = totals[i] + entry * lines[j]
            sums = _objects([one for line in totals for one in np.ravel(line).tolist()], sums.shape)
        power = Fraction(2) ** low / unit
        return type(self)(_objects([one * power for one in sums.ravel().tolist()], sums.shape))

    def sum(self, axis: int | None = None) -> Self:
        whole, unit = _whole(self.x.ravel().tolist())
        if axis is None:
            return type(self)(Fraction(sum(whole), unit))
        sums = np.asarray(_objects(whole, self.x.shape).sum(axis=axis), dtype=object)
        return type(self)(_objects([Fraction(one, unit) for one in sums.ravel().tolist()], sums.shape))

    def minimum(self, other: Any) -> Self:
        return type(self)(np.minimum(self.x, self.of(other).x))

    def max(self) -> Self:
        return type(self)(max(self.x.ravel().tolist()))

    def sqrt(self) -> Self:
        """Roots, rounded up to 120 digits; those of squares are exact."""
        return self._each(lambda x: sqrt_ends(max(x, Fraction(0)))[1])

    def power(self, exponent: Fraction) -> Self:
        """Powers, rounded up to 120 digits; small whole ones are exact."""
        return self._each(lambda x: power_above(max(x, Fraction(0)), exponent))

    def expm1(self) -> Self:
        """``exp(x) - 1``, rounded up to 120 digits."""
        return self._each(exp_less_one_above)

    def divergence(self) -> Self:
        """``(1 + x) log(1 + x) - x``, rounded up to 120 digits."""
        return self._each(lambda x: (1 + x) * log_ends(1 + x)[1] - x if x > -1 else Fraction(1))

    def _each(self, function: Callable[[Fraction], Fraction]) -> Self:
        """A function of each number."""
        if isinstance(self.x, Fraction):
            return type(self)(function(self.x))
        return type(self)(_objects([function(one) for one in self.x.ravel().tolist()], self.x.shape))

    @classmethod
    def near(cls, x: float, r: float) -> Self:
        return cls(_fraction(x) + _fraction(r))

    def group_sums(self, starts: NDArray[np.intp]) -> Self:
        sums = [type(self)(one).sum().x for one in np.split(self.x, starts[1:])]
        return type(self)(_objects(sums, (len(sums),)))

    def group_max(self, starts: NDArray[np.intp]) -> Self:
        largest = [max(one.tolist()) for one in np.split(self.x, starts[1:])]
        return type(self)(_objects(largest, (len(largest),)))


def integers(values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Integers, as Python objects, and an exponent: ``values == integers * 2**exponent``, exactly."""
    mantissas, exponents = np.frexp(values)
    whole = (mantissas * 2.0**53).astype(np.int64).astype(object)
    low = int(exponents.min(initial=0))
    return whole << (exponents - low).astype(object), low - 53


def _whole(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Whole numbers and a unit of which fractions are the quotients."""
    unit = lcm(*(one.denominator for one in values))
    return [one.numerator * (unit // one.denominator) for one in values], unit


def _fraction(value: Any) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int):
        return Fraction(value)
    if not isfinite(value):
        raise OverflowError(f"{value} is no number that can be counted with")
    return Fraction(float(value))


def _objects(values: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    made = np.empty(shape, dtype=object)
    made.reshape(-1)[:] = values
    return made
