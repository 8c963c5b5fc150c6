"""A quadratic objective and what its cuts rest on, one formula for the cuts in floats and for their proofs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.answers.curvature import Curvature
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.definiteness import lack
from oracle_opt.oracles.conic.squares import Squares, dense_where_full, squares_of
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.number import Numbers

POINT = "point"  # name in the `extras` of a cut of a quadratic objective: where it was taken
SUMMED = 4 * 10**6  # entries of the slopes of all summands up to which a cut has these


@dataclass(frozen=True, eq=False)
class EnclosedRows:
    """The entries of k slopes that are not zero."""

    entries: Enclosure
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, slope: Enclosure) -> EnclosedRows:
        """A single slope, of shape (n,)."""
        columns = np.arange(len(slope.lower))
        return cls(slope, np.zeros_like(columns), columns)


def affine_below(domain: Domain, x: Vector, values: Enclosure, slopes: EnclosedRows) -> tuple[Vector, Matrix]:
    """Values at x and slopes of functions that nowhere in the domain exceed ``values + slopes @ (z - x)``.

    See docs/theory_methods.md, "Quadratic objectives". Where there is no end at all nothing is taken off: there a slope
    other than 0 proves nothing.
    """
    lower, upper = domain.bounding_box()
    left, right = (np.nextafter(np.abs(side), np.inf) for side in (x - lower, upper - x))
    to_left, to_right = np.isfinite(left), np.isfinite(right)
    reach = np.maximum(np.where(to_left, left, 0.0), np.where(to_right, right, 0.0))
    at, low, high = slopes.columns, slopes.entries.lower, slopes.entries.upper
    chosen = low + 0.5 * (high - low)
    one_sided = (to_left != to_right)[at]
    if one_sided.any():
        chosen = np.where(one_sided, np.where(to_left[at], low, high), chosen)
    wrong = np.nextafter(np.maximum(chosen - low, high - chosen), np.inf)
    wrong[low == high] = 0.0
    least = np.atleast_1d(values.lower)
    lost = np.bincount(slopes.rows, wrong * reach[at], len(least)) * (1.0 + (len(x) + 4) * EPS)
    made = np.zeros((len(least), len(x)))
    made[slopes.rows, at] = chosen
    return np.nextafter(least - np.nextafter(lost, np.inf), -np.inf), made


class Quadratic:
    """``f(z) = 1/2 z @ P @ z + c @ z + offset`` on a domain: cuts of f, and of summands of f, from P itself."""

    def __init__(self, P: sparse.csr_array, c: Vector, offset: float, domain: Domain, multicut: bool) -> None:
        self.P, self.c, self.offset, self.domain, self.multicut = P, c, offset, domain, multicut
        least = lack(P)
        self.whole = ConvexPart(self, None, self.squares.lack if multicut else least)
        self._dense = dense_where_full(P)

    @cached_property
    def squares(self) -> Squares:
        """Squares of linear functions that add up to nearly all of the form."""
        return squares_of(self.P)

    @cached_property
    def rest(self) -> ConvexPart:
        """The summand number 0, without the squares: linear but for rounding and tiny eigenvalues."""
        return ConvexPart(self, self.squares, self.squares.lack)

    @property
    def n_summands(self) -> int:
        """How many summands there are: `rest`, and one a square."""
        return 1 + len(self.squares.weights)

    def tangent(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """Value and gradient of f at x."""
        pull = x.mapped(self._dense)
        return _total((pull * 0.5 + self.c) * x) + self.offset, pull + self.c

    def square_tangents(self, x: Enclosure) -> tuple[Enclosure, Enclosure, EnclosedRows]:
        """Values of all squares at x, and affine functions below them: their values at x and their slopes.

        ``s (r_i @ z) - s**2 / (2 w)`` for any number s; the best is ``w r @ x``, which is rounded.
        """
        roots, weights = self.squares.roots, self.squares.weights
        along = self.squares.along(x)
        steep = weights * (0.5 * (along.lower + along.upper))
        values = along**2 * weights * 0.5
        below = along * steep - Enclosure.of(steep) ** 2 / (2.0 * weights)
        rows = np.repeat(np.arange(len(steep)), np.diff(roots.indptr))
        return values, below, EnclosedRows(Enclosure.of(steep[rows]) * roots.data, rows, roots.indices)

    def cut(self, x: Vector, wished: bool) -> ObjectiveCut:
        """The cut of f at x: with those of all summands, if told so and not too large, and the curvature if wished."""
        told = {POINT: x}  # the witness of a certificate
        value, slope = enclosed(self.whole.tangent(Floats.of(x)))
        true = Enclosure.around(self.tangent(Floats.of(x))[0]) if self.whole.charged else value
        few = self.multicut and self.n_summands * len(x) <= SUMMED
        summands = self._summands(x) if few else ()
        answers = (Curvature(self.squares.roots.toarray()),) if wished else ()
        below, slopes = affine_below(self.domain, x, value, EnclosedRows.of(slope))
        error = _above(true.upper.item(), below.item())
        return ObjectiveCut(x, below.item(), slopes[0], error, summands=summands, answers=answers, extras=told)

    def _summands(self, x: Vector) -> tuple[ObjectiveCut, ...]:
        value, slope = enclosed(self.rest.tangent(Floats.of(x)))
        values, belows, rows = self.square_tangents(Enclosure.of(x))
        true = Enclosure.around(self.tangent(Floats.of(x))[0]) - values.sum() if self.rest.charged else value
        first, first_slope = affine_below(self.domain, x, value, EnclosedRows.of(slope))
        others, slopes = affine_below(self.domain, x, belows, rows)
        errors = [_above(high, low) for high, low in zip(values.upper.tolist(), others.tolist(), strict=True)]
        rest = ObjectiveCut(x, first.item(), first_slope[0], _above(true.upper.item(), first.item()), extras={POINT: x})
        told = zip(others.tolist(), slopes, errors, strict=True)
        return rest, *(ObjectiveCut(x, low, steep, error) for low, steep, error in told)


class ConvexPart:
    """f less some squares, made convex: a function g below that on the domain, whose tangents are cuts.

    ``g(z) = f(z) - squares(z) + 1/2 (z - m) @ D @ (z - m) - K``, see docs/theory_methods.md, "Quadratic objectives".
    """

    def __init__(self, form: Quadratic, squares: Squares | None, lack: Vector) -> None:
        self._form, self._squares = form, squares
        self._where = np.flatnonzero(lack)
        self._lack, self._middle, self._most = lack[self._where], np.zeros(0), 0.0
        if not self.charged:
            return
        lower, upper = (side[self._where] for side in form.domain.bounding_box())
        if not np.isfinite([lower, upper]).all():
            j = int(self._where[~np.isfinite([lower, upper]).all(axis=0)][0])
            raise InvalidArgument(
                "`P` must be positive definite beyond rounding, or `domain` have bounds: what rounding hides counts "
                f"times squares of the width, and variable {j} has no end; got {form.domain!r}"
            )
        self._middle = 0.5 * lower + 0.5 * upper
        away = np.maximum(*((Enclosure.of(side) - self._middle).size() for side in (lower, upper)))
        self._most = float((Enclosure.of(away) ** 2 * self._lack).sum().upper) * 0.5

    @property
    def charged(self) -> bool:
        """Whether D is other than 0."""
        return bool(len(self._where))

    def tangent(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """Value and gradient of g at x."""
        value, slope = self._form.tangent(x)
        if self._squares is not None:
            along = x.mapped(self._squares.matrix)
            taken = along * self._squares.weights
            value = value - _total(taken * along) * 0.5
            slope = slope - taken.mapped(self._squares.matrix.T)
        if self.charged:
            away = x[self._where] - self._middle
            pull = away * self._lack
            value = value + _total(pull * away) * 0.5 - self._most
            k, places = len(self._where), (self._where, np.arange(len(self._where)))
            slope = slope + pull.mapped(sparse.csr_array((np.ones(k), places), (x.x.size, k)))
        return value, slope


def enclosed(tangent: tuple[Numbers, Numbers]) -> tuple[Enclosure, Enclosure]:
    """A value and a slope between their ends."""
    return Enclosure.around(tangent[0]), Enclosure.around(tangent[1])


def _total(terms: Numbers) -> Numbers:
    total: Numbers = terms.sums([0, terms.x.size])[0]
    return total


def _above(high: float, low: float) -> float:
    """``high - low``, rounded up and at least 0."""
    return max(0.0, float(np.nextafter(high - low, np.inf)))
