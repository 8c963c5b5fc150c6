"""A vertex of a second stage in fractions: the one point of a basis, if that is within all bounds exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.oracles.benders.elimination import Line, eliminated
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER

Side = Fraction | None  # None: there is no such side


def exact_vertex(
    at: NDArray[np.int8], W: sparse.csr_array, y_lower: Vector, y_upper: Vector, sides: Sequence[tuple[Side, Side]]
) -> list[Fraction] | None:
    """The y of ``W @ y - r == 0`` at which all columns outside the basis are at their bounds; None if it misses others.

    Parameters
    ----------
    at : ndarray of int8, shape (k + m,)
        Where each column of ``[W, -I]`` is, as of `Vertices`.
    W : csr_array of shape (m, k)
    y_lower, y_upper : ndarray of shape (k,)
    sides : sequence of m pairs
        Lower and upper side of each row.
    """
    ends = zip(y_lower.tolist(), y_upper.tolist(), strict=True)
    bounds = [
        (Fraction(low) if isfinite(low) else None, Fraction(high) if isfinite(high) else None) for low, high in ends
    ]
    y = [_end(one, pair) for one, pair in zip(at[: len(bounds)].tolist(), bounds, strict=True)]
    rows = [
        [(int(j), Fraction(v)) for j, v in zip(W.indices[a:b], W.data[a:b].tolist(), strict=True) if v]
        for a, b in zip(W.indptr[:-1], W.indptr[1:], strict=True)
    ]
    equations: list[tuple[Line, Fraction]] = []
    for row, one, pair in zip(rows, at[len(bounds) :].tolist(), sides, strict=True):
        right = _end(one, pair)
        if right is not None:  # else r is in the basis, and seen when y is known
            known = ((v, y[j]) for j, v in row)
            right -= sum((v * value for v, value in known if value), Fraction(0))
            equations.append(({j: v for j, v in row if y[j] is None}, right))
    found = _solved(equations)
    if found is None:
        return None
    point = [found.get(j, Fraction(0)) if value is None else value for j, value in enumerate(y)]
    values = [sum((v * point[j] for j, v in row if point[j]), Fraction(0)) for row in rows]
    inside = all(
        (low is None or low <= value) and (high is None or value <= high)
        for value, (low, high) in zip([*point, *values], [*bounds, *sides], strict=True)
    )
    return point if inside else None


def _end(where: int, pair: tuple[Side, Side]) -> Side:
    if where == BASIC:
        return None
    return pair[0] if where == LOWER else pair[1] if where == UPPER else Fraction(0)


def _solved(equations: list[tuple[Line, Fraction]]) -> Line | None:
    """Solve equations most of which become those of one unknown, one after the other; the others by elimination.

    Bases of linear programs are nearly triangular: an unknown of one equation alone is found last, from that; and what
    is the only unknown of an equation is found at once.
    """
    known: Line = {}
    last: list[tuple[int, Line, Fraction]] = []
    left = dict(enumerate(equations))
    holds: dict[int, set[int]] = {}
    for i, (line, _) in left.items():
        for j in line:
            holds.setdefault(j, set()).add(i)
    alone = [j for j, which in holds.items() if len(which) == 1]
    while alone:
        j = alone.pop()
        if len(holds[j]) != 1:
            continue
        (i,) = holds[j]
        line, right = left.pop(i)
        last.append((j, line, right))
        for other in line:
            holds[other].discard(i)
            if len(holds[other]) == 1:
                alone.append(other)
    single = [i for i, (line, _) in left.items() if len(line) == 1]
    while single:
        i = single.pop()
        if i not in left:
            continue
        line, right = left[i]
        if len(line) != 1:
            continue
        del left[i]
        ((j, v),) = line.items()
        known[j] = right / v
        for other in holds[j] - {i}:
            line, right = left[other]
            left[other] = {a: b for a, b in line.items() if a != j}, right - line[j] * known[j]
            if len(left[other][0]) == 1:
                single.append(other)
        holds[j].clear()
    rest = eliminated(sorted(left.values(), key=lambda pair: len(pair[0])), lambda _: 1)
    if rest is None:
        return None
    known |= rest
    for j, line, right in reversed(last):
        known[j] = (
            right - sum((v * known.get(a, Fraction(0)) for a, v in line.items() if a != j), Fraction(0))
        ) / line[j]
    return known
