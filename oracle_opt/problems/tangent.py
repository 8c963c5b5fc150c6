"""Numbers with their slopes: a formula of them gives value and gradient at a point, both enclosed."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.proof.enclosure import Enclosure


class Tangent:
    """The value of a differentiable function at a point, and its slope there.

    Sums, products, whole powers, `exp` and `sqrt` follow the rules of calculus, and enclose what they round. Plain
    numbers are constants.

    Parameters
    ----------
    value : Enclosure
        A number.
    slope : Enclosure
        Of shape (n,).
    """

    def __init__(self, value: Enclosure, slope: Enclosure) -> None:
        self.value, self.slope = value, slope

    def __repr__(self) -> str:
        return f"Tangent({self.value!r}, slope of {self.slope.lower.size} entries)"

    def __add__(self, other: Any) -> Tangent:
        if isinstance(other, Tangent):
            return Tangent(self.value + other.value, self.slope + other.slope)
        return Tangent(self.value + other, self.slope)

    def __mul__(self, other: Any) -> Tangent:
        if isinstance(other, Tangent):
            return Tangent(self.value * other.value, self.slope * other.value + other.slope * self.value)
        return Tangent(self.value * other, self.slope * other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Tangent:
        return Tangent(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Tangent:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Tangent:
        negative = -self
        return negative.__add__(other)

    def __pow__(self, power: int) -> Tangent:
        """A whole power, at least 2."""
        return Tangent(self.value**power, self.slope * (self.value ** (power - 1) * power))

    def exp(self) -> Tangent:
        """``exp``."""
        value = self.value.exp()
        return Tangent(value, self.slope * value)

    def sqrt(self) -> Tangent:
        """``sqrt`` of a positive number."""
        root = self.value.sqrt()
        return Tangent(root, self.slope / (root * 2))


def variables(point: Vector, exact: bool) -> list[Tangent]:
    """The variables at a point: the slope of each is a unit vector."""
    at, unit = Enclosure.of(point, exact), Enclosure.of(np.eye(len(point)), exact)
    return [Tangent(at[i], unit[i]) for i in range(len(point))]


def total(terms: list[Tangent]) -> Tangent:
    """The sum of some."""
    first, *others = terms
    for one in others:
        first = first + one
    return first
