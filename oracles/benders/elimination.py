"""Sparse linear equations solved in fractions, as few as are tight at a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

Line = dict[int, Fraction]


def eliminated(equations: Iterable[tuple[Line, Fraction]], weight: Callable[[int], float]) -> Line | None:
    """Solve ``sum_j line_j x_j = right`` by Gauss' elimination, those x_j that are left over being 0.

    Parameters
    ----------
    equations : iterable of tuple of mapping and Fraction
        Each line, entries by their numbers, with its right side; lines are changed.
    weight : callable
        How much an entry of a number counts where a pivot is chosen: the largest is.

    Returns
    -------
    dict or None
        Those x_j that pivots were chosen for; `None` if the equations contradict each other.
    """
    pivots: list[tuple[int, Line, Fraction]] = []
    for line, right in equations:
        for pivot, other, value in pivots:
            factor = line.get(pivot)
            if factor:
                for j, v in other.items():
                    rest = line.get(j, Fraction(0)) - factor * v
                    if rest:
                        line[j] = rest
                    else:
                        line.pop(j, None)
                right -= factor * value
        if line:
            pivot = max(line, key=lambda j: abs(line[j]) * weight(j))
            scale = line[pivot]
            pivots.append((pivot, {j: v / scale for j, v in line.items()}, right / scale))
        elif right:
            return None
    found: Line = {}
    for pivot, line, value in reversed(pivots):
        found[pivot] = value - sum((v * found[j] for j, v in line.items() if j != pivot and j in found), Fraction(0))
    return found
