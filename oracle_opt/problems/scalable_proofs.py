"""Proofs of cuts of the classic nonsmooth functions of any number of variables.

The largest of linear functions needs no witness but the slope, and neither does that of squares, where the slope tells
the point; sums over rows or links need the signs or the numbers of the pieces.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, halved, largest
from oracle_opt.problems.scalable_functions import hilbert
from oracle_opt.proof.claim import CutClaim
from oracle_opt.proof.enclosed_products import transposed_times
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers, place, whole_numbers


def _unit(n: int, i: int, size: float) -> Vector:
    unit = np.zeros(n)
    unit[i] = size
    return unit


class LargestSquare(FunctionProof):
    """``max_i x_i^2``: ``x_i^2 >= s x_i - s^2 / 4`` for every s."""

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangent in the variable with the steepest slope."""
        i = int(np.abs(claim.slope).argmax())
        s = float(claim.slope[i])
        value = -halved(halved(Enclosure.of(np.array(s), exact) ** 2))
        return [ProvenTangent(value, Enclosure.of(_unit(len(claim.slope), i, s), exact))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest square."""
        return Enclosure.of(np.abs(point).max(), exact) ** 2


class LargestSize(FunctionProof):
    """``max_i |x_i|``."""

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """``x_i``, ``-x_i`` or 0."""
        i = int(np.abs(claim.slope).argmax())
        slope = _unit(len(claim.slope), i, np.sign(claim.slope[i]))
        return [ProvenTangent(Enclosure.of(np.zeros(()), exact), Enclosure.of(slope, exact))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest size."""
        return Enclosure.of(np.abs(point).max(), exact)


class GoffinProof(FunctionProof):
    """``n max_i x_i - sum_i x_i``."""

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The piece of the variable with the largest slope."""
        n = len(claim.slope)
        slope = _unit(n, int(claim.slope.argmax()), n) - 1.0
        return [ProvenTangent(Enclosure.of(np.zeros(()), exact), Enclosure.of(slope, exact))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """Both parts."""
        x = Enclosure.of(point, exact)
        return Enclosure.of(point.max(), exact) * len(point) - x.sum()


class NesterovProof(FunctionProof):
    """``max_i x_i + |x|^2 / 2``, above ``y_i`` plus the tangent ``y @ x - |y|^2 / 2`` of the square for every y."""

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangent of the variable with the largest slope, at y: the slope less 1 in that entry."""
        i = int(claim.slope.argmax())
        y = Enclosure.of(claim.slope, exact) - _unit(len(claim.slope), i, 1.0)
        return [ProvenTangent(-halved((y * y).sum()), Enclosure.of(claim.slope, exact))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """Both parts."""
        return Enclosure.of(point.max(), exact) + halved((Enclosure.of(point, exact) ** 2).sum())


class LargestHilbert(FunctionProof):
    """``max_i |H_i @ x|``, H the Hilbert matrix as its floats are."""

    witness = ("piece",)

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """``H_i @ x``, ``-H_i @ x`` or 0."""
        rows = hilbert(len(claim.slope))
        slope = np.sign(claim.slope[0]) * rows[place("number of the row", claim.witness["piece"], len(rows))]
        return [ProvenTangent(Enclosure.of(np.zeros(()), exact), Enclosure.of(slope, exact))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest size."""
        sizes = transposed_times(hilbert(len(point)), Enclosure.of(point, exact)).size()
        return Enclosure(sizes.max(), sizes.max())


class SumHilbert(FunctionProof):
    """``sum_i |H_i @ x|``: ``s @ H @ x`` lies below it for all s between -1 and 1."""

    witness = ("signs",)

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The sum of the rows with these signs."""
        rows = hilbert(len(claim.slope))
        signs = numbers("signs of the rows", claim.witness["signs"], len(rows))
        if np.abs(signs).max() > 1:
            raise Refuted("the signs must be between -1 and 1")
        return [ProvenTangent(Enclosure.of(np.zeros(()), exact), transposed_times(rows, Enclosure.of(signs, exact)))]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The sum of the sizes."""
        sizes = transposed_times(hilbert(len(point)), Enclosure.of(point, exact)).size()
        return Enclosure(sizes, sizes).sum()


class Links(FunctionProof):
    """A sum over neighbors of the largest of some convex functions; the point and which function is the witness."""

    witness: tuple[str, ...] = ("point", "pieces")

    def links(self, a: Enclosure, b: Enclosure) -> list[tuple[Enclosure, Enclosure, Enclosure]]:
        """Values of the functions of each pair, and their slopes in a and in b."""
        return [
            (-a - b, a * 0 - 1, b * 0 - 1),
            (a**2 + b**2 - 1 - a - b, 2 * a - 1, 2 * b - 1),
        ]

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The sum of the tangents of the chosen pieces."""
        n = self.domain.dimension
        point = numbers("point of the cut", claim.witness["point"], n)
        functions = self._functions(point, exact)
        which = whole_numbers("numbers of the pieces", claim.witness["pieces"], len(functions), n - 1)
        value, in_a, in_b = (_chosen([one[k] for one in functions], which) for k in range(3))
        return [ProvenTangent(value.sum(), _joined(in_a, in_b), point)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The sum of the largest ones."""
        upper = np.max([one[0].upper for one in self._functions(point, exact)], axis=0)
        return Enclosure(upper, upper).sum()

    def _functions(self, point: Vector, exact: bool) -> list[tuple[Enclosure, Enclosure, Enclosure]]:
        x = Enclosure.of(point, exact)
        return self.links(x[:-1], x[1:])


class LinksCB3(Links):
    """With the three functions of Charalambous and Conn."""

    def links(self, a: Enclosure, b: Enclosure) -> list[tuple[Enclosure, Enclosure, Enclosure]]:
        """Values and slopes."""
        e = 2 * (b - a).exp()
        return [
            (a**4 + b**2, 4 * a**3, 2 * b),
            ((2 - a) ** 2 + (2 - b) ** 2, 2 * a - 4, 2 * b - 4),
            (e, -e, e),
        ]


class LargestSumCB3(LinksCB3):
    """The largest of the sums of each of the three; the point is the witness."""

    witness = ("point",)

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangents of the three sums."""
        point = numbers("point of the cut", claim.witness["point"], self.domain.dimension)
        return [
            ProvenTangent(value.sum(), _joined(in_a, in_b), point)
            for value, in_a, in_b in self._functions(point, exact)
        ]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest sum."""
        return largest([value.sum() for value, _, _ in self._functions(point, exact)])


def _chosen(parts: list[Enclosure], which: Any) -> Enclosure:
    """The part of each pair that belongs to its piece."""
    lower, upper = ([one.lower for one in parts], [one.upper for one in parts])
    return Enclosure(np.choose(which, lower), np.choose(which, upper))


def _joined(in_a: Enclosure, in_b: Enclosure) -> Enclosure:
    """The slope, of those in the first and in the second of each pair."""
    none = Enclosure.of(np.zeros(1), in_a.exact)
    return _after(in_a, none) + _after(none, in_b)


def _after(one: Enclosure, other: Enclosure) -> Enclosure:
    return Enclosure(np.concatenate([one.lower, other.lower]), np.concatenate([one.upper, other.upper]))


class TransportProof(FunctionProof):
    """``sum_j d_j max_i (x_i - c_ij) - sum_i s_i x_i``; the numbers i of each j are the witness."""

    witness = ("rows",)

    def __init__(self, domain: Domain, c: Vector, d: Vector, s: Vector) -> None:
        super().__init__(domain)
        self.c, self.d, self.s = c, d, s

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The tangent that takes each variable from its row of the witness."""
        if (self.d < 0).any():
            raise Refuted("a demand is negative: the function is not convex")
        n, many = self.c.shape
        rows = whole_numbers("rows", claim.witness["rows"], n, many)
        d = Enclosure.of(self.d, exact)
        taken = (rows[:, None] == np.arange(n)).astype(float)
        slope = transposed_times(taken, d) - self.s
        return [ProvenTangent(-(d * self.c[rows, np.arange(many)]).sum(), slope)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The sum."""
        x = Enclosure.of(point, exact)
        most = (x[:, None] - self.c).upper.max(axis=0)
        return (Enclosure(most, most) * self.d).sum() - (x * self.s).sum()
