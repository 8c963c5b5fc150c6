"""Curves as a figure of plotly, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.line_styles import MARKERS, SMALLEST_GAP, look, marker
from oracle_opt.optional import require
from oracle_opt.study.plot_style import rounded

if TYPE_CHECKING:
    from oracle_opt.study.analyses.curves import Curves

SYMBOLS = dict(zip(MARKERS, ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"), strict=True))
HEIGHT = 330  # pixels of a panel
LINE = 2.0  # pixels


def plotly_figure(curves: Curves) -> Any:
    """Make a figure of plotly from curves: the same panels, colors and line styles as with matplotlib.

    Raises
    ------
    MissingPackage
        Plotly is not installed.
    """
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


def _traces(scatter: Any, curves: Curves, points: Any, name: str, in_legend: bool) -> list[Any]:
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
