"""Numbers of a proof: floats with a bound on their error, or fractions. One formula runs on either.

A formula is a function of numbers: it makes them with ``numbers.of``, where `numbers` is `Floats` or `Fractions`,
combines them by the methods of `Numbers`, and ends in `below` or `above`. Run in floats it makes the cut, run in
fractions it is the proof.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Numbers(ABC):
    """A number, or an array, of a proof; the other side of an operation is of the same kind, or plain floats."""

    __slots__ = ("x",)
    __array_ufunc__ = None  # an array on the left leaves the operation to the numbers
    exact: bool
    x: Any

    @classmethod
    @abstractmethod
    def of(cls, x: Any) -> Self:
        """Numbers as they are: floats, fractions, whole numbers, a sequence or an array of these, or numbers."""

    @classmethod
    @abstractmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        """One array of the numbers of several, one after the other; there is at least one."""

    @abstractmethod
    def __add__(self, other: Any) -> Self: ...

    @abstractmethod
    def __neg__(self) -> Self: ...

    @abstractmethod
    def __mul__(self, other: Any) -> Self: ...

    @abstractmethod
    def __truediv__(self, other: Any) -> Self: ...

    @abstractmethod
    def __abs__(self) -> Self: ...

    @abstractmethod
    def __getitem__(self, where: Any) -> Self: ...

    def __radd__(self, other: Any) -> Self:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> Self:
        return self.__mul__(other)

    def __sub__(self, other: Any) -> Self:
        return self + -self.of(other)

    def __rsub__(self, other: Any) -> Self:
        return self.of(other) + -self

    def __rtruediv__(self, other: Any) -> Self:
        return self.of(other) / self

    @abstractmethod
    def dot(self, other: Any) -> Self:
        """Sum of the products of two arrays of shape (n,)."""

    @abstractmethod
    def mapped(self, matrix: Any) -> Self:
        """``matrix @ x``: of a plain matrix of floats, an array or sparse, and numbers of shape (n,) or (n, b)."""

    @abstractmethod
    def sum(self, axis: int | None = None) -> Self:
        """Sum of all numbers of an array, or along an axis."""

    @abstractmethod
    def maximum(self, other: Any) -> Self:
        """The larger of two, entry by entry."""

    def minimum(self, other: Any) -> Self:
        """The smaller of two, entry by entry."""
        return -(-self).maximum(-self.of(other))

    @abstractmethod
    def max(self) -> Self:
        """The largest of an array, which must not be empty."""

    def min(self) -> Self:
        """The smallest of an array, which must not be empty."""
        return -(-self).max()

    @abstractmethod
    def sqrt(self) -> Self:
        """At least the roots, 0 of negative numbers: a formula may use them where more is no stronger claim."""

    @abstractmethod
    def power(self, exponent: Fraction) -> Self:
        """At least the positive powers of numbers that are not negative, as `sqrt`."""

    @abstractmethod
    def expm1(self) -> Self:
        """At least ``exp(x) - 1``, as `sqrt`."""

    @abstractmethod
    def divergence(self) -> Self:
        """At least ``(1 + x) log(1 + x) - x``, as `sqrt`, for x >= -1: convex, and 0 at 0."""

    @classmethod
    @abstractmethod
    def near(cls, x: float, r: float) -> Self:
        """A number that a user has computed, wrong by r at most; a fraction that is at least it."""

    @abstractmethod
    def group_sums(self, starts: NDArray[np.intp]) -> Self:
        """Sums of the groups of an array that begin at some places; none is empty."""

    @abstractmethod
    def group_max(self, starts: NDArray[np.intp]) -> Self:
        """Largest numbers of the groups of an array that begin at some places; none is empty."""

    def sums(self, ends: Sequence[int]) -> Self:
        """Sums of the numbers between successive ends, which may be none; in floats each is rounded once."""
        return self.joined([self[first:last].sum() for first, last in pairwise(ends)])

    @abstractmethod
    def below(self) -> Any:
        """Lower ends: floats rounded down, or the fractions."""

    @abstractmethod
    def above(self) -> Any:
        """Upper ends: floats rounded up, or the fractions."""
