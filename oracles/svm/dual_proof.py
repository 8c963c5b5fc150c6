"""What dual variables of a support vector machine prove of it, and decision values: the part that knows no kernel.

Everything here is counted in fractions, from a `Separable` alone: from the loss and the labels or targets. The machine
is

    max over x of  L(x) - 1/2 x @ K @ x,   lower <= x <= upper,  sum(x) = total,
    L(x) = linear @ x - kink @ abs(x) - 1/2 ridge @ x**2.

*From below*, any x in the box and of the right sum will do. Given dual variables are such an x but for rounding, so
they are first made one (`feasible`), and L is taken at what came of it.

*From above*, K being positive semidefinite, ``-1/2 x @ K @ x <= 1/2 b @ K @ b - x @ K @ b`` for every b. With
``v = K @ b`` and any bias, as ``bias * (total - sum(x))`` is 0,

    max  <=  1/2 b @ v + bias * total + sum_i max over x_i of (linear_i - v_i - bias) x_i - kink_i |x_i| - 1/2 ridge_i
             x_i**2,

each x_i in its own interval: `worst_case` is all of it but the first term, and what errors of v may change of both.
This is the primal objective of the hyperplane of b and of the bias; it bounds the machine from above whatever these two
are.

Two numbers of a `Separable` are rounded themselves: a ridge is ``1 / (2 C)``, and where targets were shifted by
`offset` the linear term is theirs less the offset. Either may be wrong by half a unit in the last place, which is
charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.svm.separable_dual import Separable

HALF = Fraction(EPS) / 2  # relative error of a rounded number
ANY = Fraction(10**100)  # the longest feasible multiple of 0


@dataclass(frozen=True, eq=False)
class FeasibleDual:
    """Dual variables that are exactly in the box and of the right sum, and what L is there.

    Parameters
    ----------
    points : ndarray of int, shape (m,)
        Where they may be other than 0.
    x : list of m Fraction
        They.
    linear, quadratic : Fraction
        ``L(t x) >= t * linear - t**2 * quadratic`` for t >= 0.
    longest : Fraction
        Up to which t the multiple ``t x`` is feasible, at least 1.
    scalable : bool
        Whether smaller multiples are feasible, too.
    """

    points: np.ndarray
    x: list[Fraction]
    linear: Fraction
    quadratic: Fraction
    longest: Fraction
    scalable: bool


def feasible(dual: Separable, b: Vector) -> FeasibleDual:
    """Return the dual variables b, cut off at the box and moved by what their sum is wrong.

    Raises
    ------
    Refuted
        The box and the sum allow nothing near.
    """
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
    return FeasibleDual(points, moved, *_parts(dual, points, moved), dual.total == 0.0)


def _parts(dual: Separable, points: np.ndarray, x: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """Linear part of L, quadratic part, and the longest feasible multiple."""
    sizes = [abs(value) for value in x]
    slopes = [Fraction(value) for value in dual.linear[points].tolist()]
    linear = sum((a * b for a, b in zip(slopes, x, strict=True)), Fraction(0))
    if dual.kink is not None:
        linear -= sum((Fraction(a) * b for a, b in zip(dual.kink[points].tolist(), sizes, strict=True)), Fraction(0))
    if dual.offset:
        linear -= HALF * sum((abs(a) * b for a, b in zip(slopes, sizes, strict=True)), Fraction(0))
    quadratic = Fraction(0)
    if dual.ridge is not None:
        ridge = [Fraction(value) for value in dual.ridge[points].tolist()]
        quadratic = (1 + 2 * HALF) / 2 * sum((r * b * b for r, b in zip(ridge, x, strict=True)), Fraction(0))
    if dual.total != 0.0:
        return linear, quadratic, Fraction(1)
    lower, upper = dual.box
    ends = np.where(np.array([value > 0 for value in x], dtype=bool), upper[points], lower[points])
    room = [Fraction(end) / b for end, b in zip(ends.tolist(), x, strict=True) if b]
    return linear, quadratic, min(room, default=ANY)


def worst_case(
    dual: Separable,
    v: Sequence[Fraction],
    wrong: Sequence[Fraction],
    bias: Fraction,
    about: Sequence[Fraction],
    forgiven: Fraction = Fraction(0),
) -> Fraction:
    """``bias * total + sum_i max over x_i``, see above, where decision values are wrong by errors e.

    Where ``1/2 factor * b @ v`` is added to it, it is wrong by ``about @ e``, too, with ``about = factor * b / 2``.
    Together that is ``(about_i - x_i) e_i`` for each point, of which the largest is taken.

    Parameters
    ----------
    dual : Separable
        Of the machine.
    v : sequence of n Fraction
        Decision values without bias.
    wrong : sequence of n Fraction
        How large each of the errors e may be.
    bias : Fraction
        As in decision values; that of the shifted targets is `offset` less.
    about : sequence of n Fraction
        See above.
    forgiven : Fraction
        What is forgiven of the loss at each point: ``forgiven * abs(x_i)`` is subtracted from each of the terms.
    """
    bias -= Fraction(dual.offset)
    shifted = HALF if dual.offset else Fraction(0)
    none = [0.0] * dual.linear.size
    kink, ridge = (none if array is None else array.tolist() for array in (dual.kink, dual.ridge))
    total = bias * Fraction(dual.total)
    box = dual.lower.tolist(), dual.upper.tolist()
    rows = zip(dual.linear.tolist(), kink, *box, ridge, v, wrong, about, strict=True)
    for a, k, low, high, r, value, error, middle in rows:
        linear = Fraction(a)
        slope, less = linear - value - bias, Fraction(k) + forgiven - shifted * abs(linear)
        total += max(
            abs(middle) * error,
            _largest(slope - less, high, r, error, middle),
            _largest(-slope - less, -low, r, error, -middle),
        )
    return total


def _largest(slope: Fraction, end: float, ridge: float, error: Fraction, middle: Fraction) -> Fraction:
    """``max of slope * z - 1/2 ridge * z**2 + error * abs(z - middle)`` at the end of ``0 <= z <= end``, or within.

    Without ridge the function is convex. With one it is the larger of two parabolas.
    """
    if end <= 0:
        return Fraction(0)
    if ridge == 0:
        z = Fraction(end)
        return slope * z + error * abs(z - middle)
    bend, found = (1 - 2 * HALF) * Fraction(ridge), []
    for sign in (1, -1):
        steep = slope + sign * error
        z = max(steep, Fraction(0)) / bend
        z = min(z, Fraction(end)) if isfinite(end) else z
        found.append(steep * z - bend * z * z / 2 - sign * error * middle)
    return max(found)


def is_norm(dual: Separable) -> bool:
    """Whether L is the sum of the sizes of its variables but for a ridge, and x @ 1 = 0, as of both hinge losses."""
    zero = np.where(dual.linear > 0, dual.lower, dual.upper)
    plain = dual.kink is None and dual.total == dual.offset == 0.0
    return plain and not zero.any() and bool((abs(dual.linear) == 1).all())
