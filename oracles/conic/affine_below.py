"""Affine functions in floats that lie below some whose value and slopes are known between two ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.proof.enclosure import Enclosure


@dataclass(frozen=True, eq=False)
class EnclosedRows:
    """The entries of k slopes that are not zero.

    Attributes
    ----------
    entries : Enclosure
        Of shape (e,), floats.
    rows, columns : ndarray of int, shape (e,)
        Of which slope, and of which variable.
    """

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

    A slope in floats is wrong by up to w, and ``w @ abs(z - x)`` is taken off the value. A variable with an end on one
    side alone has its slope rounded towards that side, which is wrong in its favor on the other. Where there is no end
    at all nothing is taken off: there a slope other than 0 proves nothing.

    Parameters
    ----------
    domain : Domain
        Where z lies; its bounding box counts.
    x : ndarray of shape (n,)
        The point.
    values : Enclosure
        Of shape (k,) or (), floats: at x.
    slopes : EnclosedRows
        Their slopes.

    Returns
    -------
    tuple
        The values, of shape (k,), and the slopes, of shape (k, n).
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
