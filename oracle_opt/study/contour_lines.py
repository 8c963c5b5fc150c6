"""Contour lines of a function of two variables, or of the model that its cuts make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.oracle import Oracle
from oracle_opt.study.convex_polygons import Window, inside

GRID = 41  # points a side
LEVELS = 10


def contour_lines(
    cuts: Sequence[Cut], polygon: Matrix, window: Window, oracle: Oracle | None = None
) -> Iterator[tuple[float, Matrix]]:
    """Give lines on which the function has a value, more of them where it is low.

    Parameters
    ----------
    cuts : sequence of cuts
        The model is the largest of the objective cuts.
    polygon : ndarray of shape (m, 2)
        Corners of the domain.
    window : tuple of float
        What is shown: left, right, bottom, top.
    oracle : Oracle, optional
        Asked for the function's value on a grid, and reset afterwards; default is the model.

    Yields
    ------
    level : float
    line : ndarray of shape (k, 2)
    """
    from contourpy import contour_generator  # which comes with matplotlib

    value = _model(cuts) if oracle is None else _function(oracle)
    low, high = np.maximum(polygon.min(axis=0), window[::2]), np.minimum(polygon.max(axis=0), window[1::2])
    if value is None or len(polygon) < 3 or not (low < high).all():
        return
    x, y = (np.linspace(low[j], high[j], GRID) for j in (0, 1))
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    shown = inside(polygon, places)
    heights = np.full(len(places), np.nan)
    heights[shown] = [value(place) for place in places[shown]]
    if oracle is not None:
        oracle.reset()
    if not np.isfinite(heights).any():
        return
    least, most = np.nanmin(heights), np.nanquantile(heights, 0.95)
    lines = contour_generator(x, y, np.ma.masked_invalid(heights.reshape(GRID, GRID)))
    for level in least + (most - least) * (np.arange(1, LEVELS + 1) / LEVELS) ** 2:
        for line in lines.lines(level):
            yield float(level), np.asarray(line)


def _model(cuts: Sequence[Cut]) -> Callable[[Vector], float] | None:
    """The largest of all objective cuts; `None` if there is none."""
    rows = [(c.constant, c.subgradient) for cut in cuts if isinstance(cut, ObjectiveCut) for c in (cut, *cut.further)]
    if not rows:
        return None
    constants, slopes = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    return lambda z: float((constants + slopes @ z).max())


def _function(oracle: Oracle) -> Callable[[Vector], float]:
    """The oracle's values; none where it calls a point infeasible, or outside the domain."""

    def value(place: Vector) -> float:
        if not oracle.domain.contains(place):
            return float("nan")
        cut = oracle.query(Query(place.copy()))
        return float("nan") if isinstance(cut, FeasibilityCut) else cut.value

    return value
