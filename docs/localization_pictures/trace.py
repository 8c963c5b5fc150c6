"""Following what the cuts of a run in two variables leave, call by call, and the contour lines to draw it on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite

import numpy as np

from localization_pictures.convex_polygons import Window, area, clip_all, inside, line_in_window, promised_polygon
from localization_pictures.data import CutLine, Localization, LocalizationStep, Point
from oracle_opt.arguments import instance
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.result import Result

A_RUN = "what `minimize` returned"
GRID = 41  # points a side
LEVELS = 10


def trace_localization(
    result: Result,
    domain: Domain | Oracle,
    calls: Iterable[int] | None = None,
    *,
    window: Window | None = None,
) -> Localization:
    """Follow the localization set of a run in two variables.

    After call k it holds the points z of the domain that satisfy every feasibility cut so far and, for every objective
    cut so far, ``value + subgradient @ (z - point) <= upper bound``. Every minimizer does: the left side is at most
    f(z), and the right side at least the minimum. It is what the cuts prove, whatever the method makes of them.

    Parameters
    ----------
    result : Result
        Of a run with ``keep_cuts=True``.
    domain : Domain or Oracle
        Of the run. An oracle also gives the contour lines of its function: it is asked at up to 41 x 41 points, which
        are not counted. With a domain they are those of the model, the largest of all objective cuts.
    calls : iterable of int, optional
        After which calls, each from 1 to ``result.n_calls``; default is all.
    window : tuple of float, optional
        What to show: left, right, bottom, top. Default is the whole domain, or the surroundings of the query points
        where these take up a small part of it.

    Returns
    -------
    Localization

    Raises
    ------
    InvalidArgument
        The run kept no cuts, has not two variables, or its function is not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Box, FunctionOracle, minimize
    >>> from oracle_opt.generators import Kelley
    >>> from localization_pictures.trace import trace_localization
    >>> oracle = FunctionOracle(lambda z: (abs(z).sum(), np.sign(z)), Box([-1, -1], [3, 3]))
    >>> result = minimize(oracle, Kelley(), keep_cuts=True)
    >>> steps = trace_localization(result, oracle).steps
    >>> [round(step.share, 3) for step in steps]
    [0.5, 0.5, 0.438, 0.0]
    """
    oracle = domain if isinstance(domain, Oracle) else None
    found = domain.domain if isinstance(domain, Oracle) else domain
    where = instance("domain", found, Domain, "the domain or the oracle of the run")
    cuts = _checked(result, where, oracle)
    chosen = range(1, len(cuts) + 1) if calls is None else sorted(set(calls))
    for call in chosen:
        if not 1 <= call <= len(cuts):
            raise InvalidArgument(f"`calls` must lie between 1 and {len(cuts)}, the calls of the run, got {call}")
    points = np.array([cut.point for cut in cuts])
    whole = promised_polygon(where, points)
    window = _window(points, whole) if window is None else window
    if not (len(window) == 4 and window[0] < window[1] and window[2] < window[3] and np.isfinite(window).all()):
        raise InvalidArgument(f"`window` must be left < right and bottom < top, four numbers, got {window}")
    steps = tuple(_steps(result, cuts, whole, set(chosen), window))
    contours = tuple((level, _pairs(line)) for level, line in contour_lines(cuts, whole, window, oracle))
    return Localization(_pairs(whole), window, _pairs(points), steps, contours, of_model=oracle is None)


def _checked(result: Result, domain: Domain, oracle: Oracle | None) -> tuple[Cut, ...]:
    """The cuts of a run that can be drawn."""
    cuts = instance("result", result, Result, A_RUN).history.cuts
    if domain.dimension != 2:
        raise InvalidArgument(f"`domain` must have two variables to be drawn in the plane, got {domain!r}")
    if len(cuts) < max(1, result.n_calls):
        raise InvalidArgument(
            f"`result` must hold the cuts of its calls, got {len(cuts)} cuts of {result.n_calls} calls; "
            "run `minimize(..., keep_cuts=True)`"
        )
    if cuts[0].point.shape != (2,):
        raise InvalidArgument(f"`result` must be of a run in two variables, got {cuts[0].point.size}")
    if oracle is not None and not oracle.convex:
        raise InvalidArgument(f"`domain` must be of a convex function, whose cuts prove something, got {oracle!r}")
    return cuts


def _steps(
    result: Result, cuts: tuple[Cut, ...], whole: Matrix, chosen: set[int], window: Window
) -> Iterable[LocalizationStep]:
    """After each chosen call; the sets are nested, as the upper bound falls and cuts are added: each cuts the last."""
    history, polygon, size = result.history, whole, area(whole)
    rows: list[tuple[int, str, Vector, float]] = []  # call, kind, normal, offset but for the upper bound
    center = best = None
    lowest = np.inf
    for k, cut in enumerate(cuts):
        rows += _rows(k + 1, cut)
        if history.step[k] == "serious":
            center = _pair(cut.point)
        if isinstance(cut, ObjectiveCut) and cut.upper < lowest:
            lowest, best = cut.upper, _pair(cut.point)
        known = [
            (call, kind, normal, constant + (lowest if kind == "objective" else 0.0))
            for call, kind, normal, constant in rows
            if kind == "feasibility" or isfinite(lowest)
        ]
        polygon = clip_all(polygon, ((normal, offset) for _, _, normal, offset in known))
        if k + 1 in chosen:
            lines = tuple(
                CutLine(call, kind, _pair(normal), offset, _pairs(line_in_window(normal, offset, window)))
                for call, kind, normal, offset in known
            )
            yield LocalizationStep(
                call=k + 1,
                step=str(history.step[k]),
                point=_pair(cut.point),
                next_point=_pair(cuts[k + 1].point) if k + 1 < len(cuts) else None,
                center=center,
                best=best,
                upper_bound=_finite(history.upper_bound[k]),
                lower_bound=_finite(history.lower_bound[k]),
                lines=lines,
                polygon=_pairs(polygon),
                share=area(polygon) / size if size > 0 else 0.0,
            )


def _rows(call: int, cut: Cut) -> list[tuple[int, str, Vector, float]]:
    """Half-planes of a cut and the further ones it carries; flat ones have no edge."""
    if isinstance(cut, ObjectiveCut):
        one = [(call, "objective", c.subgradient, -c.constant) for c in (cut, *cut.further)]
    else:  # points that the oracle calls feasible within its tolerance are kept
        one = [(call, "feasibility", c.normal, c.error - c.constant) for c in (cut, *cut.further)]
    return [row for row in one if row[2].any()]


def _window(points: Matrix, whole: Matrix) -> Window:
    """The domain, or the query points where they take up less than a fifth of it, with a margin."""
    low, high = whole.min(axis=0), whole.max(axis=0)
    extent = float(np.ptp(points, axis=0).max())
    if 0 < 5 * extent < (high - low).max():
        low, high = points.min(axis=0), points.max(axis=0)
        middle = 0.5 * (low + high)
        low, high = middle - 0.75 * extent, middle + 0.75 * extent
    margin = 0.04 * max(float((high - low).max()), 1e-12)
    return (float(low[0] - margin), float(high[0] + margin), float(low[1] - margin), float(high[1] + margin))


def _finite(number: float) -> float | None:
    return float(number) if isfinite(number) else None


def _pair(point: Vector) -> Point:
    return float(point[0]), float(point[1])


def _pairs(points: Matrix) -> tuple[Point, ...]:
    return tuple(_pair(point) for point in points)


def contour_lines(
    cuts: Sequence[Cut], polygon: Matrix, window: Window, oracle: Oracle | None = None
) -> Iterator[tuple[float, Matrix]]:
    """Give lines on which the function has a value, more of them where it is low.

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
