"""The picture of a run in two variables: stills of chosen calls, or a film of all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from localization_pictures.convex_polygons import Window
from localization_pictures.data import Localization, LocalizationStep
from localization_pictures.trace import A_RUN, trace_localization
from oracle_opt.arguments import flag, instance, real
from oracle_opt.arrays import Matrix
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracle import Oracle
from oracle_opt.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colors, told apart by readers with any color vision.
BLUE, ORANGE, GREEN, SKY, YELLOW, BLACK = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#F0E442", "#000000"
PANELS, COLUMNS = 6, 3
COLORS_OF_FILM, DPI_OF_FILM = 32, 90


def plot_localization(
    result: Result,
    domain: Domain | Oracle,
    calls: Iterable[int] | None = None,
    *,
    window: Window | None = None,
    zoom: bool = False,
    film: str | os.PathLike[str] | None = None,
    seconds: float = 0.8,
) -> Figure:
    """Draw what the cuts of a run in two variables leave, call by call.

    Each panel shows one call: the domain with contour lines of the function, the edges of the cuts, the newest one
    thicker, the localization set filled, all query points so far, the best of them as a star, and the next one as a
    diamond. Its title has the call and the bounds.

    Parameters
    ----------
    result : Result
        Of a run with ``keep_cuts=True``.
    domain : Domain or Oracle
        Of the run. An oracle also gives the contour lines of its function: it is asked at up to 41 x 41 points, which
        are not counted. With a domain they are those of the model, the largest of all objective cuts.
    calls : iterable of int, optional
        After which calls; default is six between the first and the last, for a film all.
    window : tuple of float, optional
        What to show: left, right, bottom, top. Default is the whole domain, or the surroundings of the query points
        where these take up a small part of it.
    zoom : bool
        Whether a panel shows the surroundings of its localization set alone, once that is small.
    film : path-like, optional
        Write a GIF with one picture a call to this file instead, and return the figure of its last picture.
    seconds : float
        How long the film shows each call; the last stays three times as long.

    Returns
    -------
    matplotlib Figure
        Save it by its `savefig`.

    Raises
    ------
    InvalidArgument
        The run kept no cuts, has not two variables, or its function is not convex.

    See Also
    --------
    trace_localization : The same as data.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Box, FunctionOracle, minimize
    >>> from oracle_opt.generators import Kelley
    >>> from localization_pictures import plot_localization
    >>> oracle = FunctionOracle(lambda z: (abs(z).sum(), np.sign(z)), Box([-1, -1], [3, 3]))
    >>> result = minimize(oracle, Kelley(), keep_cuts=True)
    >>> figure = plot_localization(result, oracle, [1, 2])
    >>> figure.axes[0].get_title().startswith("call 1: ")
    True
    """
    duration, zoom = real("seconds", seconds, above=0.0), flag("zoom", zoom)
    if calls is None and film is None:
        calls = _spread(instance("result", result, Result, A_RUN).n_calls)
    data = trace_localization(result, domain, calls, window=window)
    if not data.steps:
        raise InvalidArgument("`calls` must name at least one call, got none")
    if film is not None:
        return _film(data, film, duration, zoom)
    n = len(data.steps)
    columns = min(n, COLUMNS)
    rows = -(-n // columns)
    figure = _figure(data, columns, rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for panel in panels.flat[n:]:
        panel.set_visible(False)
    for panel, step in zip(panels.flat, data.steps, strict=False):
        draw_step(panel, data, step, zoom)
    _legend(figure, *panels.flat[:n])
    return figure


def draw_step(panel: Axes, data: Localization, step: LocalizationStep, zoom: bool = False) -> None:
    """Draw one call on matplotlib axes."""
    domain, polygon = np.array(data.domain), np.array(step.polygon).reshape(-1, 2)
    left, right, bottom, top = _near(data.window, polygon) if zoom else data.window
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", title=_title(step))
    panel.title.set_fontsize(9)
    panel.tick_params(labelsize=7, length=2)
    panel.set_facecolor("#eeeeee")
    panel.fill(*domain.T, facecolor="white", edgecolor="0.3", linewidth=1.0, zorder=1)
    for _, line in data.contours:
        panel.plot(*np.array(line).T, color="0.8", linewidth=0.6, zorder=2)
    for cut in step.lines:
        if cut.ends:
            new = cut.call == step.call
            color, style = (BLUE, "-") if cut.kind == "objective" else (GREEN, "--")
            shade, width = (1.0, 1.8) if new else (0.45, 0.7)
            panel.plot(*np.array(cut.ends).T, color=color, linestyle=style, linewidth=width, alpha=shade, zorder=4)
    name = "localization set"
    panel.fill(*polygon.T, facecolor=SKY, edgecolor=BLUE, alpha=0.45, linewidth=1.2, zorder=3, label=name)
    asked = np.array(data.points[: step.call])
    panel.plot(*asked.T, ".", color=BLACK, markersize=3.5, zorder=5, label="query points")
    look: dict[str, Any] = {"color": ORANGE, "markerfacecolor": "none", "markeredgewidth": 1.5}
    if step.best is not None:
        panel.plot(*step.best, "*", color=BLACK, markersize=9, markerfacecolor=YELLOW, zorder=6, label="best so far")
    panel.plot(*step.point, "o", markersize=10, zorder=7, label="this query point", **look)
    if step.next_point is not None:
        panel.plot(*step.next_point, "D", markersize=5, zorder=8, label="next query point", **look)


def _title(step: LocalizationStep) -> str:
    upper = "no value yet" if step.upper_bound is None else f"min $\\leq$ {step.upper_bound:.6g}"
    bounds = upper if step.lower_bound is None else f"{step.lower_bound:.6g} $\\leq$ {upper}"
    return f"call {step.call}: {bounds}"


def _spread(n_calls: int) -> list[int]:
    """Six calls between the first and the last, closer together at first."""
    return sorted({round(call) for call in np.geomspace(1, max(1, n_calls), PANELS)})


def _near(window: Window, polygon: Matrix) -> Window:
    """Three times the extent of a set, if it is small beside the window."""
    left, right, bottom, top = window
    extent = 3 * float(np.ptp(polygon, axis=0).max()) if len(polygon) else 0.0
    share = extent / max(right - left, top - bottom)
    if not 1e-12 < share < 1:
        return window
    x, y = 0.5 * (polygon.min(axis=0) + polygon.max(axis=0))
    half, high = 0.5 * share * (right - left), 0.5 * share * (top - bottom)
    return x - half, x + half, y - high, y + high


def _figure(data: Localization, columns: int, rows: int, dpi: int = 110) -> Figure:
    require("matplotlib", "plot", "figures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    left, right, bottom, top = data.window
    width = max(3.2 * columns, 4.4)
    high = min(2.0, max(0.3, (top - bottom) / (right - left))) * (width / columns - 0.4) + 0.6
    figure = Figure(figsize=(width, high * rows + 0.5), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _legend(figure: Figure, *panels: Axes) -> None:
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    for panel in panels:
        handles, names = panel.get_legend_handles_labels()
        entries |= dict(zip(names, handles, strict=True))
    entries["edge of a cut"] = Line2D([], [], color=BLUE, linewidth=1.8)
    columns = 3 if figure.get_figwidth() < 8 else 6
    where: Any = "outside lower center"
    figure.legend(list(entries.values()), list(entries), loc=where, ncols=columns, frameon=False, fontsize=8)


def _film(data: Localization, path: str | os.PathLike[str], seconds: float, zoom: bool) -> Figure:
    """Write a GIF of few colors, which takes a tenth of the room of one with 256 a picture."""
    require("matplotlib", "plot", "figures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image  # Pillow comes with matplotlib

    pictures = []
    for step in data.steps:
        figure = _figure(data, 1, 1, DPI_OF_FILM)
        panel = figure.subplots()
        draw_step(panel, data, step, zoom)
        _legend(figure, panel)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
        pictures.append(picture.quantize(COLORS_OF_FILM, Image.Quantize.MAXCOVERAGE, kmeans=4))
    durations = [int(1000 * seconds)] * (len(pictures) - 1) + [int(3000 * seconds)]
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)
    return figure
