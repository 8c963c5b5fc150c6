"""A point of a second stage in fractions: near to one in floats that misses rows and bounds by rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite

from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.oracles.benders.elimination import eliminated
from oracle_opt.oracles.benders.exact_vertex import Side

_ROUNDS = 12


def exact_point(
    y: Vector, W: sparse.csr_array, y_lower: Vector, y_upper: Vector, sides: Sequence[tuple[Side, Side]]
) -> list[Fraction] | None:
    """A point of ``lower <= W @ y <= upper`` within its bounds, exactly; None where none is found.

    Rows that are missed are made equations, which are solved exactly for entries that are between their bounds; an
    entry that then crosses a bound stays there.

    Parameters
    ----------
    y : ndarray of shape (k,)
        The point to begin with.
    W : csr_array of shape (m, k)
    y_lower, y_upper : ndarray of shape (k,)
    sides : sequence of m pairs
        Lower and upper side of each row.
    """
    low = [Fraction(one) if isfinite(one) else None for one in y_lower.tolist()]
    high = [Fraction(one) if isfinite(one) else None for one in y_upper.tolist()]
    rows = [
        [(int(j), Fraction(v)) for j, v in zip(W.indices[a:b], W.data[a:b].tolist(), strict=True) if v]
        for a, b in zip(W.indptr[:-1], W.indptr[1:], strict=True)
    ]
    point = [Fraction(one) for one in y.tolist()]
    point = [p if a is None else max(p, a) for p, a in zip(point, low, strict=True)]
    point = [p if b is None else min(p, b) for p, b in zip(point, high, strict=True)]
    # how far each entry may move, at most 1: those that may move far are moved
    room = [
        float(min(1, p - a if a is not None else 1, b - p if b is not None else 1))
        for p, a, b in zip(point, low, high, strict=True)
    ]
    free = [(a is None or p > a) and (b is None or p < b) for p, a, b in zip(point, low, high, strict=True)]
    tight: dict[int, Fraction] = {}
    for _ in range(_ROUNDS):
        missed = False
        for i, (row, (least, most)) in enumerate(zip(rows, sides, strict=True)):
            value = sum((v * point[j] for j, v in row if point[j]), Fraction(0))
            if least is not None and value < least:
                tight[i], missed = least, True
            elif most is not None and value > most:
                tight[i], missed = most, True
        if not missed:
            return point
        moved = _solved(rows, tight, point, free, room)
        if moved is None:
            return None
        for j, value in enumerate(moved):
            bounds = (
                bound
                for bound, over in ((low[j], -1), (high[j], 1))
                if bound is not None and (value - bound) * over > 0
            )
            for bound in bounds:
                moved[j], free[j] = bound, False
        point = moved
    return None


def _solved(
    rows: Sequence[Sequence[tuple[int, Fraction]]],
    tight: dict[int, Fraction],
    point: list[Fraction],
    free: list[bool],
    room: list[float],
) -> list[Fraction] | None:
    """The point moved in its free entries to where the tight rows are equations."""
    equations = (
        ({j: v for j, v in rows[i] if free[j]}, side - sum((v * point[j] for j, v in rows[i] if point[j]), Fraction(0)))
        for i, side in tight.items()
    )
    steps = eliminated(equations, lambda j: room[j])
    if steps is None:
        return None
    return [p + steps.get(j, Fraction(0)) for j, p in enumerate(point)]
