"""Gauss' elimination without rounding: sparse linear equations, and whether a matrix is positive semidefinite."""

from collections.abc import Callable, Iterable
from fractions import Fraction

Line = dict[int, Fraction]


def eliminated(equations: Iterable[tuple[Line, Fraction]], weight: Callable[[int], float]) -> Line | None:
    """Solve ``sum_j line_j x_j = right`` by Gauss' elimination, those x_j that are left over being 0."""
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


def semidefinite(whole: list[list[int]], *, strictly: bool = False) -> bool:
    """Whether a symmetric matrix of whole numbers, which is changed, is positive semidefinite, or `strictly` definite.

    No pivot is negative and only zeros stand beside a zero. Divisions leave no remainder: Bareiss (1968), "Sylvester's
    identity and multistep integer-preserving Gaussian elimination".
    """
    before = 1
    for k, top in enumerate(whole):
        pivot = top[k]
        if pivot < 0 or (pivot == 0 and (strictly or any(top[k + 1 :]))):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(whole)):
            below, first = whole[i], top[i]
            for j in range(i, len(whole)):
                below[j] = (below[j] * pivot - first * top[j]) // before
        before = pivot
    return True
