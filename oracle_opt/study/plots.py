"""The one plotter: draws curves in panels, on the screen and for print, or as a figure of plotly for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.line_styles import (
    MARKERS,
    SMALLEST_GAP,
    curve_options,
    label_decades,
    literal,
    look,
    marker,
    plain_axes,
)
from oracle_opt.optional import require
from oracle_opt.study.panels import Panels
from oracle_opt.study.plot_style import PRINT, SCREEN, fonts, new_figure, rounded
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS = "circle square triangle-up diamond triangle-down cross x triangle-left pentagon triangle-right"  # in plotly
SYMBOLS = dict(zip(MARKERS, WORDS.split(), strict=True))
HEIGHT = 330  # pixels of a panel
LINE = 2.0  # pixels


def draw_curves(
    curves: Panels,
    axes: Axes | Sequence[Axes] | None = None,
    *,
    backend: str = "matplotlib",
    width: float | None = None,
    height: float | None = None,
) -> Any:
    """Draw curves."""
    if backend not in ("matplotlib", "plotly"):
        raise InvalidArgument(f"`backend` must be 'matplotlib' or 'plotly', got {shown(backend)}")
    if not len(curves.data):
        raise InvalidArgument(f"`data` must have points to draw, got none for '{curves.title}'. {curves.caption}")
    if backend == "plotly":
        if axes is not None:
            raise InvalidArgument("`axes` must be left out with the backend 'plotly', which makes its own")
        return plotly_figure(curves)
    names = curves.panels
    with fonts(PRINT if width is not None else SCREEN):
        if axes is not None:
            given = list(np.ravel(np.asarray(axes, dtype=object)))
            if len(given) != len(names):
                raise InvalidArgument(f"`axes` must be as many as there are panels, {len(names)}, got {len(given)}")
            for panel, name in zip(given, names, strict=True):
                draw_panel(panel, curves, name)
                panel.set(xlabel=curves.x, ylabel=curves.y)
                panel.legend(*panel.get_legend_handles_labels(), frameon=False)
            return given[0].figure
        return _new_figure(curves, names, width, height)


def _new_figure(curves: Panels, names: tuple[str, ...], width: float | None, height: float | None) -> Figure:
    columns = min(len(names), 4 if len(names) > 6 else 3 if len(names) > 4 else 2)
    if width is not None:
        columns = min(columns, max(1, int(width / (1.6 if len(names) > 3 else 2.2))))
    rows = -(-len(names) // columns)
    inches = width if width is not None else max(6.4, 4.2 * columns)
    letter, line, handle = (0.055, 0.17, 0.5) if width is not None else (0.078, 0.26, 0.65)  # of texts, in inches
    labels = [literal(name) for name in curves.names]
    if curves.threshold:
        labels.append(threshold_label(curves.threshold))
    per_row = min(4, columns_of_legend(labels, inches, letter, handle))
    letters = 0.85 * inches / columns / letter  # over a panel
    lines = max(wrapped(name, letters).count("\n") + 1 for name in names) + wrapped(curves.x, letters).count("\n")
    if height is None:
        panel = (max(1.5, 0.7 * inches / columns) if width is not None else 3.1) + line * lines
        height = panel * rows + line * -(-len(labels) // per_row) + (0.15 if width is not None else 0.5)
    figure = new_figure((inches, height))
    panels = figure.subplots(rows, columns, squeeze=False)
    tall = 0.9 * (height / rows) / letter
    for place, axes in enumerate(panels.flat):
        if place < len(names):
            draw_panel(axes, curves, names[place])
            axes.set_title(wrapped(names[place], letters))
            if place + columns >= len(names):
                axes.set_xlabel(wrapped(curves.x, letters))
            if place % columns == 0:
                axes.set_ylabel(wrapped(curves.y, tall))
        else:
            axes.set_visible(False)
    if width is None:
        figure.suptitle(literal(curves.title), fontsize="large")
    legend_below(figure, labels, per_row)
    return figure


def columns_of_legend(labels: Sequence[str], inches: float, letter: float, handle: float) -> int:
    """The most columns of a legend that fit: each is as wide as its longest label, and filled from top to bottom."""
    for columns in range(len(labels), 1, -1):
        parts = np.array_split(np.array([len(label) for label in labels]), columns)
        if sum(letter * part.max() + handle for part in parts) <= inches:
            return columns
    return 1


def legend_below(figure: Figure, labels: Sequence[str], per_row: int) -> None:
    """One legend for all panels, in the order of these labels."""
    found = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    ordered = [label for label in labels if label in found]
    figure.legend(
        [found[label] for label in ordered],
        ordered,
        loc="outside lower center",
        ncols=per_row,
        frameon=False,
        handlelength=3.2,
        columnspacing=1.2,
    )


def threshold_label(value: float) -> str:
    """The legend's text for the line of an accuracy."""
    return f"threshold {rounded(value)}"


def wrapped(text: str, letters: float) -> str:
    """Break a text into lines of so many letters."""
    return fill(literal(text), max(10, int(letters)), break_on_hyphens=False)


def draw_panel(axes: Axes, curves: Panels, panel: str) -> None:
    """Draw the curves of one panel."""
    part = curves.data[curves.data["panel"] == panel]
    present = set(part["name"])
    for name in curves.names:
        if name in present:
            _draw_one(axes, part[part["name"] == name], curves, name)
    if curves.threshold is not None:
        label = threshold_label(curves.threshold) if curves.threshold else None
        axes.axhline(curves.threshold, color="0.45", linewidth=0.9, zorder=1, label=label)
    axes.set(xscale="log" if curves.log_x else "linear", yscale="log" if curves.log_y else "linear")
    if curves.diagonal:
        axes.axline((1.0, 1.0), (2.0, 2.0), color="0.6", linewidth=0.9, zorder=1)
    if curves.y_limits is not None:
        axes.set_ylim(curves.y_limits)
    axes.set_title(literal(panel))
    plain_axes(axes)
    for axis, is_log in ((axes.xaxis, curves.log_x), (axes.yaxis, curves.log_y)):
        if is_log:
            label_decades(axis)
    if not curves.log_x and (part["x"] % 1 == 0).all():
        axes.locator_params(axis="x", integer=True)


def _draw_one(axes: Axes, rows: pd.DataFrame, curves: Panels, name: str) -> None:
    """Draw one curve with its band."""
    x, y, low, high = (rows[column].to_numpy(dtype=float) for column in ("x", "y", "low", "high"))
    if curves.log_y:
        y, low, high = (np.where(values <= 0, SMALLEST_GAP, values) for values in (y, low, high))
    options = curve_options(curves.place(name), len(x)) | {"label": literal(name), "zorder": 3}
    color = options["color"]
    banded = np.isfinite(low) & np.isfinite(high)
    if curves.kind == "points" or len(rows) == 1:
        axes.plot(x, y, **options | {"linestyle": "none", "markevery": None})
        if banded.any():
            axes.vlines(x[banded], low[banded], high[banded], color=color, linewidth=1.2, zorder=2)
        return
    steps = curves.kind == "steps"
    if banded.any():
        axes.fill_between(
            x, low, high, where=banded, step="post" if steps else None, color=color, alpha=0.15, linewidth=0, zorder=2
        )
    axes.plot(x, y, drawstyle="steps-post" if steps else "default", **options)


def spread_of(gaps: NDArray[np.float64]) -> tuple[Vector, Vector, Vector]:
    """Geometric mean over the runs (rows), and the 10 % and the 90 % quantile."""
    floored = np.maximum(gaps, SMALLEST_GAP)
    low, high = np.quantile(floored, (0.1, 0.9), axis=0)
    return np.exp(np.log(floored).mean(axis=0)), low, high


def plotly_figure(curves: Panels) -> Any:
    """Make a figure of plotly from curves: the same panels, colors and line styles as with matplotlib."""
    graph_objects = require("plotly.graph_objects", "plotly", "figures with backend='plotly'")
    make_subplots = require("plotly.subplots", "plotly", "figures with backend='plotly'").make_subplots
    panels = curves.panels
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = make_subplots(rows=rows, cols=columns, subplot_titles=panels)
    seen: set[str] = set()
    for place, panel in enumerate(panels):
        cell = {"row": place // columns + 1, "col": place % columns + 1}
        part = curves.data[curves.data["panel"] == panel]
        for name in curves.names:
            points = part[part["name"] == name]
            if len(points):
                for trace in _traces(graph_objects.Scatter, curves, points, name, name not in seen):
                    figure.add_trace(trace, **cell)
                seen.add(name)
        if curves.threshold is not None:
            words = f"threshold {rounded(curves.threshold)}" if curves.threshold else None
            figure.add_hline(y=curves.threshold, line={"color": "gray", "width": 1}, annotation_text=words, **cell)
        if curves.diagonal:
            ends = [part[["x", "y"]].to_numpy().min(), part[["x", "y"]].to_numpy().max()]
            line = {"color": "gray", "width": 1}
            figure.add_trace(graph_objects.Scatter(x=ends, y=ends, mode="lines", line=line, showlegend=False), **cell)
    figure.update_xaxes(type="log" if curves.log_x else "linear", title_text=curves.x)
    figure.update_yaxes(type="log" if curves.log_y else "linear", title_text=curves.y, range=curves.y_limits)
    figure.update_layout(title_text=curves.title, height=HEIGHT * rows + 150, template="plotly_white")
    return figure


def _traces(scatter: Any, curves: Panels, points: Any, name: str, in_legend: bool) -> list[Any]:
    """The band of a curve, if it has one, and the curve; a click in the legend hides both, in all panels."""
    x, y, low, high = (points[column].to_numpy(dtype=float) for column in ("x", "y", "low", "high"))
    if curves.log_y:
        y, low, high = (np.where(values <= 0, SMALLEST_GAP, values) for values in (y, low, high))
    place = curves.place(name)
    color, dashes = look(place)
    dash = ",".join(f"{LINE * length:.3g}px" for length in dashes) or "solid"
    shape = "hv" if curves.kind == "steps" else "linear"
    alone = curves.kind == "points" or len(x) == 1
    shared = {"x": x, "legendgroup": name}
    traces = []
    banded = np.isfinite(low) & np.isfinite(high)
    if banded.any() and not alone:
        edge = {"mode": "lines", "line": {"width": 0, "shape": shape}, "showlegend": False, "hoverinfo": "skip"}
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        fill = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.15)"}
        traces = [scatter(y=high, **shared, **edge), scatter(y=low, **shared, **edge, **fill)]
    traces.append(
        scatter(
            y=y,
            name=name,
            showlegend=in_legend,
            mode="markers" if alone else "lines",
            line={"color": color, "dash": dash, "shape": shape, "width": LINE},
            marker={"color": color, "symbol": SYMBOLS[marker(place)]},
            error_y={"array": high - y, "arrayminus": y - low} if alone and banded.any() else None,
            **shared,
        )
    )
    return traces
