"""Projection on many simplices at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A multiple of 1 / w added to t moves nu alone. Where nu is this many times what it leaves of the largest t, the sum of
# the difference is lost in rounding: t less its largest is then projected.
FAR = 1e3


def project_on_simplices(t: NDArray[np.float64], w: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Row-wise ``max(0, t - nu / w)`` with nu such that each row adds up to radius.

    Condat (2016), "Fast projection onto the simplex", sorting variant, with weights: the breakpoints are t * w.
    Padded entries have t = -inf.
    """
    order = np.argsort(-(t * w), axis=1)
    sorted_t = np.take_along_axis(t, order, axis=1)
    sorted_w = np.take_along_axis(w, order, axis=1)
    padded = np.isneginf(sorted_t)
    total = np.cumsum(np.where(padded, 0.0, sorted_t), axis=1) - radius
    inverse = np.cumsum(np.where(padded, 0.0, 1.0 / sorted_w), axis=1)
    positive = (sorted_t * sorted_w > total / inverse) & ~padded
    last = np.maximum(positive.sum(axis=1) - 1, 0)[:, None]
    nu = np.take_along_axis(total, last, axis=1) / np.take_along_axis(inverse, last, axis=1)
    top = sorted_t[:, :1] * sorted_w[:, :1]
    if (np.abs(nu) > FAR * (top - nu)).any():
        return project_on_simplices(t - top / w, w, radius)
    result: NDArray[np.float64] = np.maximum(t - nu / w, 0.0)
    return result
