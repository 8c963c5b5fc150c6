"""Fewer points of a history, and what is lost by that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector

# Of the improvements tried, the smallest one with which the page is small enough is taken, or the last.
STEPS = (0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


def kept_points(gap: Vector, first: NDArray[np.bool_], step: float) -> NDArray[np.bool_]:
    """Choose the points of histories, one below the other, that a figure needs.

    Parameters
    ----------
    gap : ndarray of shape (m,)
        Relative gaps after the calls.
    first : ndarray of bool, shape (m,)
        Where a history begins.
    step : float
        The improvement that matters, between 0 and 1.

    Returns
    -------
    ndarray of bool, shape (m,)
        The first and the last point of every history, and each whose gap lies in another interval
        ``((1 - step)^(j+1), (1 - step)^j]`` than the one before. So the gap of a point that is left out differs from
        that of the last one kept before it by a factor between ``1 - step`` and ``1 / (1 - step)``.
    """
    if not len(gap):
        return np.zeros(0, dtype=bool)
    interval = np.full(len(gap), np.nan)
    proper = np.isfinite(gap) & (gap > 0)
    interval[proper] = np.floor(np.log(gap[proper]) / np.log1p(-step))
    interval[gap == 0] = np.inf
    interval[gap == np.inf] = -np.inf
    changed = np.ones(len(gap), dtype=bool)
    changed[1:] = (interval[1:] != interval[:-1]) & ~(np.isnan(interval[1:]) & np.isnan(interval[:-1]))
    kept: NDArray[np.bool_] = changed | first | np.append(first[1:], True)
    return kept


def shortened(texts: list[str], budget: int) -> tuple[list[str], int]:
    """Keep the end of long texts, so that all different ones together have no more characters than the budget.

    Parameters
    ----------
    texts : list of str
        Such as tracebacks, whose end says most.
    budget : int
        Characters.

    Returns
    -------
    texts : list of str
        As long as before, or with the longest that fits: no text is shorter than 80 characters for this.
    longest : int
        Characters that a text may have had; 0 if none was shortened.
    """
    different = np.array([len(text) for text in set(texts)] or [0])
    if different.sum() <= budget:
        return texts, 0
    longest = 80
    while np.minimum(different, 2 * longest).sum() <= budget:
        longest *= 2
    return [text if len(text) <= longest else "... " + text[-longest:] for text in texts], longest
