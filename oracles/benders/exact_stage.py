"""The second stage of one scenario in fractions: the point of a basis, and a point near one in floats.

What floats leave open is decided here: points that are feasible to the last bit, by sparse linear equations that are
solved exactly, as few as are tight.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER
from oracle_opt.proof.elimination import Line, eliminated

_ROUNDS = 12
Side = Fraction | None  # None: there is no such side


class ExactStage:
    """``lower <= W @ y <= upper`` and the bounds of y."""

    def __init__(
        self, W: sparse.csr_array, y_lower: Vector, y_upper: Vector, sides: Sequence[tuple[Side, Side]]
    ) -> None:
        low, high = ([Fraction(one) if isfinite(one) else None for one in end.tolist()] for end in (y_lower, y_upper))
        self.bounds: list[tuple[Side, Side]] = [*zip(low, high, strict=True)]
        self.rows = [
            [(int(j), Fraction(v)) for j, v in zip(W.indices[a:b], W.data[a:b].tolist(), strict=True) if v]
            for a, b in zip(W.indptr[:-1], W.indptr[1:], strict=True)
        ]
        self.sides = sides

    def vertex(self, at: NDArray[np.int8]) -> list[Fraction] | None:
        """The y of ``W @ y - r == 0`` with all columns outside the basis at their bounds; None if it misses others."""
        y = [_end(one, pair) for one, pair in zip(at[: len(self.bounds)].tolist(), self.bounds, strict=True)]
        equations: list[tuple[Line, Fraction]] = []
        for row, one, pair in zip(self.rows, at[len(self.bounds) :].tolist(), self.sides, strict=True):
            right = _end(one, pair)
            if right is not None:  # else r is in the basis, and seen when y is known
                known = ((v, y[j]) for j, v in row)
                right -= sum((v * value for v, value in known if value), Fraction(0))
                equations.append(({j: v for j, v in row if y[j] is None}, right))
        found = eliminated(equations, lambda _: 1)
        if found is None:
            return None
        point = [found.get(j, Fraction(0)) if value is None else value for j, value in enumerate(y)]
        values = [*point, *(_product(row, point) for row in self.rows)]
        inside = all(
            (low is None or low <= value) and (high is None or value <= high)
            for value, (low, high) in zip(values, [*self.bounds, *self.sides], strict=True)
        )
        return point if inside else None

    def point(self, y: Vector) -> list[Fraction] | None:
        """A feasible point near one of shape (k,) in floats; None where none is found.

        Rows that are missed become equations, solved exactly for entries between bounds; at a bound they stay.
        """
        point = [Fraction(one) for one in y.tolist()]
        for j, (a, b) in enumerate(self.bounds):
            point[j] = point[j] if a is None else max(point[j], a)
            point[j] = point[j] if b is None else min(point[j], b)
        pairs = [*zip(point, self.bounds, strict=True)]
        # how far each entry may move, at most 1: those that may move far are moved
        room = [float(min(1, p - a if a is not None else 1, b - p if b is not None else 1)) for p, (a, b) in pairs]
        free = [(a is None or p > a) and (b is None or p < b) for p, (a, b) in pairs]
        tight: dict[int, Fraction] = {}
        for _ in range(_ROUNDS):
            missed = False
            for i, (row, (least, most)) in enumerate(zip(self.rows, self.sides, strict=True)):
                value = _product(row, point)
                if least is not None and value < least:
                    tight[i], missed = least, True
                elif most is not None and value > most:
                    tight[i], missed = most, True
            if not missed:
                return point
            equations = (
                ({j: v for j, v in self.rows[i] if free[j]}, side - _product(self.rows[i], point))
                for i, side in tight.items()
            )
            steps = eliminated(equations, lambda j: room[j])
            if steps is None:
                return None
            point = [p + steps.get(j, Fraction(0)) for j, p in enumerate(point)]
            for j, (a, b) in enumerate(self.bounds):
                if a is not None and point[j] < a:
                    point[j], free[j] = a, False
                if b is not None and point[j] > b:
                    point[j], free[j] = b, False
        return None


def _product(row: Sequence[tuple[int, Fraction]], point: Sequence[Fraction]) -> Fraction:
    return sum((v * point[j] for j, v in row if point[j]), Fraction(0))


def _end(where: int, pair: tuple[Side, Side]) -> Side:
    if where == BASIC:
        return None
    return pair[0] if where == LOWER else pair[1] if where == UPPER else Fraction(0)
