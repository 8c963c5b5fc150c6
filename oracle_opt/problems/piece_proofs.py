"""What proves cuts of the drawn functions: the number of a piece, signs of residuals, or nothing but the slope."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, largest
from oracle_opt.proof.claim import ClaimKind, CutClaim
from oracle_opt.proof.enclosed_products import transposed_times
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import numbers, place

if TYPE_CHECKING:
    from oracle_opt.problems.least_absolute import AbsoluteDeviations
    from oracle_opt.problems.max_affine import LargestPiece
    from oracle_opt.problems.separable import SeparableSum


def halved(value: Enclosure) -> Enclosure:
    """One half of it."""
    return value * (Fraction(1, 2) if value.exact else 0.5)


class PieceProof(FunctionProof):
    """``1 + max_i a_i @ y + y @ diag(c_i) @ y / 2 - d_i`` with y the way from the center; the number i is the witness.

    A slope s is that of the piece where ``c_i y = s - a_i``, and the tangent there is
    ``1 - d_i - y @ diag(c_i) @ y / 2`` at the center.

    Parameters
    ----------
    domain : Domain
        Where it is minimized.
    function : LargestPiece
        The data.
    """

    witness = ("piece",)

    def __init__(self, domain: Domain, function: LargestPiece) -> None:
        super().__init__(domain)
        self.function = function

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """That of the piece."""
        it = self.function
        i = place("number of the piece", claim.witness["piece"], len(it.d))
        slope, value = Enclosure.of(it.a[i], exact), 1 - Enclosure.of(it.d[i], exact)
        if it.c is not None:
            y = Enclosure.of(np.divide(claim.slope - it.a[i], it.c[i]), exact)
            bent = y * it.c[i]
            slope, value = slope + bent, value - halved((bent * y).sum())
        return [ProvenTangent(value, slope, it.center)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest piece."""
        it = self.function
        y = Enclosure.of(point, exact) - it.center
        values = []
        for i in range(len(it.d)):
            slope = Enclosure.of(it.a[i], exact) if it.c is None else halved(y * it.c[i]) + it.a[i]
            values.append((slope * y).sum() + 1 - Enclosure.of(it.d[i], exact))
        return largest(values)


class DeviationsProof(FunctionProof):
    """``mean |B x - d| + weight * norm_1(x)``, in groups of rows; signs between -1 and 1 are the witness.

    ``s @ (B x - d) / m + weight * t @ x`` lies below it for all such s and t; of a group, with its rows alone, and t
    in the first.

    Parameters
    ----------
    domain : Domain
        Where it is minimized.
    function : AbsoluteDeviations
        The data.
    """

    witness = ("signs", "own_signs")

    def __init__(self, domain: Domain, function: AbsoluteDeviations) -> None:
        super().__init__(domain)
        self.function = function
        self.n_summands = function.groups if function.groups > 1 else 0

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """That of the signs."""
        it = self.function
        rows, own = np.arange(len(it.d)), self.domain.dimension
        if claim.kind is ClaimKind.SUMMAND:
            rows = np.array_split(rows, it.groups)[claim.summand]
            own = own if claim.summand == 0 else 0
        s = numbers("signs of the residuals", claim.witness["signs"], len(rows))
        t = numbers("signs of the variables", claim.witness["own_signs"], own)
        if max(np.abs(s).max(initial=0.0), np.abs(t).max(initial=0.0)) > 1:
            raise Refuted("the signs must be between -1 and 1")
        signs = Enclosure.of(s, exact)
        slope = transposed_times(it.B[rows], signs) / len(it.d)
        if own:
            slope = slope + Enclosure.of(t, exact) * it.weight
        return [ProvenTangent(-(signs * it.d[rows]).sum() / len(it.d), slope)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The mean, and the norm."""
        it, x = self.function, Enclosure.of(point, exact)
        residuals = transposed_times(it.B.T, x) - it.d
        size = Enclosure.of(np.abs(point), exact).sum() * it.weight
        most = residuals.size()
        return Enclosure(most, most).sum() / len(it.d) + size


class SeparableProof(FunctionProof):
    """``mean_j h_j (x_j - c_j)^2 / 2 + u_j |x_j|``: the slope of a cut tells the point where it was taken.

    Parameters
    ----------
    domain : Domain
        Where it is minimized.
    function : SeparableSum
        The data.
    """

    def __init__(self, domain: Domain, function: SeparableSum) -> None:
        super().__init__(domain)
        self.function = function

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """With ``h (t - c) + u s`` the slope times n, for the t and for the s between -1 and 1 of each variable."""
        it, n = self.function, self.domain.dimension
        above, below = (it.c + (n * claim.slope + sign * it.u) / it.h for sign in (-1.0, 1.0))
        t = np.where(above > 0, above, np.where(below < 0, below, 0.0))
        rest = np.divide(n * claim.slope + it.h * it.c, it.u, out=np.zeros(n), where=it.u > 0)
        s = np.where(t == 0, np.clip(rest, -1.0, 1.0), np.sign(t))
        at, pull = Enclosure.of(t, exact), Enclosure.of(s, exact) * it.u
        bent = (at - it.c) * it.h
        return [ProvenTangent((halved(bent * (at - it.c)) + pull * at).sum() / n, (bent + pull) / n, t)]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The mean."""
        it, x = self.function, Enclosure.of(point, exact)
        away = x - it.c
        return (halved(away * away * it.h) + Enclosure.of(np.abs(point), exact) * it.u).sum() / len(point)
