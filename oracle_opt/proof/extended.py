"""Numbers of a proof in extended precision: for long sums whose terms cancel."""

from typing import Any, Self

import numpy as np

from oracle_opt.proof.exact_sums import SMALLEST
from oracle_opt.proof.floats import EXACT, ON, Floats
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions

UNIT = float(np.finfo(np.longdouble).eps)
# Products of eight floats do not underflow where exponents are longer, too; elsewhere this is what they lose.
LOST = 0.0 if np.finfo(np.longdouble).minexp < -8 * 1074 else 4 * SMALLEST


class Extended(Floats):
    """Long doubles x, and radii, with floats below and above; roots and powers are those of `Floats`."""

    __slots__ = ()

    @classmethod
    def of(cls, x: Any) -> Self:
        """Numbers as they are; fractions rounded, with a radius where that loses something."""
        if type(x) is cls:
            return x
        given = np.asarray(x)
        if given.dtype != object:
            return cls(given.astype(np.longdouble)[()])
        near = given.astype(float)
        left = np.asarray(given - Fractions.of(near).x)
        value = near.astype(np.longdouble) + left.astype(float)
        return cls(value[()], np.where(left != 0, UNIT * np.abs(value) + SMALLEST, 0.0)[()])

    __sub__ = Numbers.__sub__  # a sum

    def __add__(self, other: Any) -> Self:
        other = self.of(other)
        x = self.x + other.x
        return type(self)(x, (self.r + other.r + UNIT * abs(x)) * ON)

    def __mul__(self, other: Any) -> Self:
        other = self.of(other)
        x = self.x * other.x
        r = UNIT * abs(x) + LOST
        if other.r is not EXACT:
            r = r + abs(self.x) * other.r
        if self.r is not EXACT:
            r = r + self.r * (abs(other.x) + other.r)
        return type(self)(x, r * ON)

    def dot(self, other: Any) -> Self:
        products: Self = self * other
        return products.sum()

    def mapped(self, matrix: Any) -> Self:
        wide = matrix.astype(np.longdouble)
        return type(self)(wide @ self.x, (abs(wide) @ self._lost(n := self.x.shape[0]) + n * LOST) * ON)

    def sum(self, axis: int | None = None) -> Self:
        n = self.x.size if axis is None else self.x.shape[axis]
        return type(self)(self.x.sum(axis=axis), self._lost(n).sum(axis=axis) * ON)

    def _lost(self, n: int) -> Any:
        """The share of each of n terms in the error of their sum."""
        lost = UNIT * (n + 8) * np.abs(self.x)
        return lost if self.r is EXACT else lost + self.r * (1.0 + UNIT * (n + 8))

    def below(self) -> Any:
        """Floats rounded down, where they or the radius lose something."""
        return _float_towards(self.x - self.r, self.r, -np.inf)

    def above(self) -> Any:
        """Floats rounded up."""
        return _float_towards(self.x + self.r, self.r, np.inf)


def _float_towards(end: Any, r: Any, towards: float) -> Any:
    near = np.asarray(end).astype(float)
    moved = np.where((r == 0) & (near == end), near, np.nextafter(near, towards))
    return moved if moved.ndim else float(moved)
