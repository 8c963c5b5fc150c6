"""Dual variables of a support vector machine made exactly feasible: in the box, and of the right sum.

Given dual variables are feasible but for rounding. Everything here is counted in fractions, from a `LossDual` alone:
from the loss and the labels or targets. What feasible ones prove is the formula of `oracles.mkl.formula`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.svm.loss_dual import LossDual

ANY = Fraction(10**100)  # the longest feasible multiple of 0


@dataclass(frozen=True, eq=False)
class FeasibleDual:
    """Dual variables that are exactly in the box and of the right sum."""

    points: np.ndarray
    x: list[Fraction]
    longest: Fraction


def feasible(dual: LossDual, b: Vector) -> FeasibleDual:
    """Return the dual variables b, cut off at the box and moved by what their sum is wrong."""
    values = np.clip(b, dual.lower, dual.upper)
    points = np.flatnonzero(values)
    x = {int(i): Fraction(v) for i, v in zip(points, values[points].tolist(), strict=True)}
    excess = sum(x.values(), Fraction(0)) - Fraction(dual.total)
    if excess:
        ends = dual.lower if excess > 0 else dual.upper
        room = np.abs(ends - values)
        # the roomiest of those that are not 0, then the others
        for i in np.lexsort((-room, values == 0.0)).tolist():
            start = x.get(i, Fraction(0))
            x[i] = start - excess
            if isfinite(ends[i]):
                end = Fraction(float(ends[i]))
                x[i] = max(x[i], end) if excess > 0 else min(x[i], end)
            excess -= start - x[i]
            if not excess:
                break
        else:
            raise Refuted("the box of the dual variables holds none of the right sum")
    points = np.array(sorted(x), dtype=np.intp)
    moved = [x[i] for i in points.tolist()]
    if dual.piecewise is None or dual.total != 0.0:
        return FeasibleDual(points, moved, Fraction(1))
    lower, upper = dual.piecewise.box
    sides = np.where(np.array([value > 0 for value in moved], dtype=bool), upper[points], lower[points])
    limits = [Fraction(end) / value for end, value in zip(sides.tolist(), moved, strict=True) if value]
    return FeasibleDual(points, moved, min(limits, default=ANY))
