"""Gaps of results of `minimize`, with their spread, against calls and seconds, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import instances, real
from oracle_opt.errors import InvalidArgument
from oracle_opt.line_styles import literal
from oracle_opt.result import Result
from oracle_opt.study.analyses.convergence import TICK, RunPath, cost_in_words
from oracle_opt.study.analyses.curves import Curves, together
from oracle_opt.study.analyses.gap_curves import curve_of
from oracle_opt.study.plot_style import PRINT, SCREEN, fonts, new_figure
from oracle_opt.study.plots import columns_of_legend, draw_panel, legend_below, threshold_label, wrapped
from oracle_opt.study.results import Results
from oracle_opt.words import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from oracle_opt.study.analyses.curves import Curves

BOTH = ("calls", "total seconds")
GAP, EXCESS = "proven relative gap", "value above the minimum, relative"
SCREEN_WIDTH = 8.4  # inches
ROW = 0.62  # height of a panel over its width


def plot_runs(
    runs: Results | Mapping[str, Result | Sequence[Result]],
    *,
    tau: float | None = None,
    minimum: float | None = None,
    order: Sequence[str] = (),
    width: float | None = None,
) -> Figure:
    """Draw the gap of runs against oracle calls and, beside it, against seconds in oracle and generator.

    The gap is `History.stopping_gap`: relative to the upper bound's size or, where the minimum is 0, to a thousandth of
    the decrease since the first value. Where there are several runs of a name, or seeds of a study, the curve is their
    geometric mean, and its band reaches from their 10 % to their 90 % quantile. It begins where all of them have a
    finite gap, and a run that has ended keeps its last gap. No two of the first 49 curves look alike, with colors or
    without.

    Parameters
    ----------
    runs : Results, or mapping of str to Result or to a sequence of them
        The results of a study, a row of panels for each instance; or names of curves to what `minimize` returned.
    tau : float, optional
        An accuracy to draw a line at; the axis ends a decade below it. A study has its own.
    minimum : float, optional
        Draw, in place of the proven gap, how far the best value is above this known minimum, or above the best value
        that is known, over ``max(1, abs(minimum))``. Not for a study: `Results.curves` has it as a test.
    order : sequence of str
        Names of curves: each looks by its place in here, so that a method looks the same in several pictures. Default
        is the order of `runs`; a study has its own.
    width : float, optional
        Inches of a figure for print, with small letters; default is one for the screen.

    Returns
    -------
    matplotlib Figure
        Save it by its `savefig`.

    Raises
    ------
    InvalidArgument
        There is nothing to draw, or an argument cannot be used.
    MissingPackage
        Matplotlib or pandas is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import FunctionOracle, Simplex, minimize
    >>> from oracle_opt.generators import Kelley, LevelSet
    >>> from oracle_opt.study import plot_runs
    >>> oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(3))
    >>> start = np.array([1.0, 0.0, 0.0])
    >>> figure = plot_runs({str(one): minimize(oracle, one, start) for one in (Kelley(), LevelSet())})
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['oracle calls', 'elapsed seconds in oracle and generator']
    """
    width = None if width is None else real("width", width, above=0.0)
    if isinstance(runs, Results):
        if minimum is not None or tau is not None or len(order):
            raise InvalidArgument(
                "`tau`, `minimum` and `order` must be left out for a study, which has its own; its method `curves` "
                "measures the distance to a known minimum by its test 'reference'"
            )
        columns = [runs.curves(cost=cost) for cost in BOTH]
    else:
        columns = [curves_of_runs(runs, cost, tau=tau, minimum=minimum, order=order) for cost in BOTH]
    if not len(columns[0].data):
        raise InvalidArgument(f"`runs` must have gaps to draw, got none. {columns[0].caption}")
    return draw_side_by_side(columns, width)


def curves_of_runs(
    runs: Mapping[str, Result | Sequence[Result]],
    cost: str = "calls",
    *,
    tau: float | None = None,
    minimum: float | None = None,
    order: Sequence[str] = (),
) -> Curves:
    """Gaps of results as data of a figure; see `plot_runs`."""
    if not isinstance(runs, Mapping) or not runs:
        raise InvalidArgument(
            f"`runs` must be Results, or a mapping of names to results of minimize, got {shown(runs)}"
        )
    least = None if minimum is None else real("minimum", minimum)
    finest = None if tau is None else real("tau", tau, above=0.0, below=1.0)
    parts, most, clocks = [], 1, set[str]()
    for name, given in runs.items():
        several = [given] if isinstance(given, Result) else given
        results = instances(f"runs[{name!r}]", several, Result, "results of minimize")
        if not results:
            raise InvalidArgument(f"`runs[{name!r}]` must be at least one result, got none")
        most = max(most, len(results))
        clocks |= {one.clock for one in results}
        parts.append(curve_of([_path(str(name), seed, one, cost, least) for seed, one in enumerate(results)], cost))
    y = GAP if least is None else EXCESS
    what = cost_in_words(cost, clocks)
    words = f"{y[0].upper()}{y[1:]} against {what}."
    if most > 1:
        words += " Curves are geometric means over the runs, bands reach from their 10 % to their 90 % quantile."
    data = together(parts)
    return Curves(
        data,
        "Convergence",
        what,
        y,
        words,
        log_x=True,
        log_y=True,
        kind="line" if cost == "calls" else "steps",
        threshold=finest,
        order=tuple(dict.fromkeys([*order, *map(str, runs)])),
        y_limits=None if finest is None or not len(data) else (finest / 10, 2 * float(data[["y", "high"]].max().max())),
    )


def _path(name: str, seed: int, result: Result, cost: str, minimum: float | None) -> RunPath:
    """The accuracy that a run has reached at each cost."""
    history = result.history
    seconds = np.maximum(np.cumsum(history.oracle_seconds + history.generator_seconds), TICK)
    spent = history.call.astype(float) if cost == "calls" else seconds
    gap = history.stopping_gap if minimum is None else (history.upper_bound - minimum) / max(1.0, abs(minimum))
    gap = np.minimum.accumulate(np.maximum(gap, 0.0))
    n = 0.0 if result.point is None else float(result.point.size)
    total = float(spent[-1]) if len(spent) else 0.0
    return RunPath("", name, seed, n, result.status.name, spent, gap, total)


def draw_side_by_side(columns: Sequence[Curves], width: float | None = None) -> Figure:
    """Draw a row for each panel, and in it a column for each of these, which share the vertical axis."""
    first = columns[0]
    letter, line = (0.055, 0.17) if width is not None else (0.078, 0.26)  # of texts, in inches
    inches = SCREEN_WIDTH if width is None else width
    labels = [literal(name) for name in first.names]
    if first.threshold:
        labels.append(threshold_label(first.threshold))
    per_row = min(5, columns_of_legend(labels, inches, letter, 0.65))
    titled = first.panels != ("",)
    panel = ROW * inches / len(columns)
    height = (panel + line * (1 + titled)) * len(first.panels) + line * -(-len(labels) // per_row)
    with fonts(PRINT if width is not None else SCREEN):
        figure = new_figure((inches, height))
        grid = figure.subplots(len(first.panels), len(columns), squeeze=False, sharey="row")
        for row, name in zip(grid, first.panels, strict=True):
            for axes, curves in zip(row, columns, strict=True):
                draw_panel(axes, curves, name)
                axes.set_xlabel(wrapped(curves.x, 0.9 * panel / ROW / letter))
            row[0].set_ylabel(wrapped(first.y, 0.75 * panel / letter))
        legend_below(figure, labels, per_row)
        return figure
