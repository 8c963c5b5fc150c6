"""Numbers that are plain floats: for searches, and where rounding is bounded as a whole."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS
from oracle_opt.proof.number import Numbers

# Of the divergence: up to where its series is taken, whose coefficients are 1 / (k (k - 1)), highest first.
NEAR, SERIES = 0.1, [1.0 / (k * (k - 1)) for k in range(18, 1, -1)]


class Unbounded(Numbers):
    """Numbers without a bound on their error: what is common to floats as they come out and fractions."""

    __slots__ = ()

    def __init__(self, x: Any) -> None:
        self.x = x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.x!r})"

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        return cls(np.concatenate([np.atleast_1d(cls.of(one).x) for one in parts]))

    def __add__(self, other: Any) -> Self:
        return type(self)(self.x + self.of(other).x)

    def __neg__(self) -> Self:
        return type(self)(-self.x)

    def __mul__(self, other: Any) -> Self:
        return type(self)(self.x * self.of(other).x)

    def __truediv__(self, other: Any) -> Self:
        return type(self)(self.x / self.of(other).x)

    def __abs__(self) -> Self:
        return type(self)(abs(self.x))

    def __getitem__(self, where: Any) -> Self:
        return type(self)(self.x[where])

    def maximum(self, other: Any) -> Self:
        return type(self)(np.maximum(self.x, self.of(other).x))

    def below(self) -> Any:
        return self.x

    def above(self) -> Any:
        return self.x


class Plain(Unbounded):
    """Plain floats without a bound on their error."""

    __slots__ = ()
    exact = False

    @classmethod
    def of(cls, x: Any) -> Self:
        if type(x) is cls:
            return x
        return cls(x if type(x) is float or type(x) is np.ndarray else np.asarray(x, dtype=float)[()])

    def dot(self, other: Any) -> Self:
        return type(self)(self.x.dot(self.of(other).x))

    def mapped(self, matrix: Any) -> Self:
        return type(self)(matrix @ self.x)

    def sum(self, axis: int | None = None) -> Self:
        return type(self)(self.x.sum(axis=axis))

    def max(self) -> Self:
        return type(self)(self.x.max())

    def sqrt(self) -> Self:
        return type(self)(np.sqrt(np.maximum(self.x, 0.0)))

    def power(self, exponent: Fraction) -> Self:
        return type(self)(self.x ** float(exponent))

    def expm1(self) -> Self:
        with np.errstate(over="ignore"):
            return type(self)(np.expm1(self.x))

    def divergence(self) -> Self:
        return type(self)(divergence(self.x))

    @classmethod
    def near(cls, x: float, r: float) -> Self:
        return cls(x)

    def group_sums(self, starts: NDArray[np.intp]) -> Self:
        return type(self)(np.add.reduceat(self.x, starts))

    def group_max(self, starts: NDArray[np.intp]) -> Self:
        return type(self)(np.maximum.reduceat(self.x, starts))


def divergence(x: Any) -> Any:
    """``(1 + x) log(1 + x) - x`` of floats; near 0, where terms cancel, ``x**2 / 2 - .. + (-x)**k / (k (k - 1))``."""
    small = np.abs(x) < NEAR
    away, v = np.where(small, 1.0, np.maximum(x, -1.0)), np.where(small, x, 0.0)
    terms = np.where(away > -1.0, (1.0 + away) * np.log1p(np.maximum(away, EPS - 1.0)) - away, 1.0)
    return np.where(small, v * v * np.polyval(SERIES, -v), terms)
