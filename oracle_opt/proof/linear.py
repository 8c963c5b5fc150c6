"""What multipliers of linear rows prove: a half-space, and the least of an affine function over bounds.

Where ``b - A @ z`` is in a cone and y in its dual cone, ``y @ (b - A @ z) >= 0``. So ``s @ z`` is at least ``(s + A.T @
y) @ z - b @ y`` at all z of the rows, for every s; and over bounds of z at least the least of that.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.number import Numbers

M = TypeVar("M", Numbers, Enclosure)


def half_space(A: Any, b: Any, y: M) -> tuple[M, M]:
    """``-b @ y`` and ``A.T @ y``: constant and slope of an affine function that is at most 0 at all z of the rows."""
    return -(y * b).sum(), y.mapped(A.T)


def least_over(x: Numbers, ends: NDArray[Any], wide: tuple[NDArray[np.intp], Any, Any]) -> Numbers:
    """The least ``x @ z`` over a box, a column each: z is at these ends, or where x is positive at the lower ones.

    `wide` are the places where both ends are finite, and these; where just one is, x must draw z there.
    """
    used = np.flatnonzero(ends.any(axis=1))
    total = (x[used] * ends[used]).sum(axis=0)
    where, lower, upper = wide
    if len(where):
        total = total - (x[where].maximum(0.0) * (x.of(upper) - lower)[:, None]).sum(axis=0)
    return total
