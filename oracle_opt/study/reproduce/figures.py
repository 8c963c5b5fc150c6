"""Figures of the experiments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.study.plot_style import COLORS
from oracle_opt.study.reproduce.paper import NOT_CONVERGED, Printed
from oracle_opt.study.reproduce.repetitions import Row

MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def save_panels(
    path: Path,
    panels: Mapping[str, Mapping[str, tuple[Vector, Vector]]],
    x: str,
    y: str,
    *,
    log_y: bool = True,
    lines: bool = True,
) -> None:
    """Draw a panel a name, in it a curve (or points) a method, x on a logarithmic scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(5.0, 4.2 * len(panels)), 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, curves) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True):
        for index, (name, (xs, ys)) in enumerate(curves.items()):
            look = {"color": COLORS[index % len(COLORS)], "marker": MARKERS[index % len(MARKERS)]}
            axes.plot(xs, ys, label=name, linestyle="-" if lines else "none", markersize=4, **look)
        axes.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log" if log_y else "linear")
        axes.grid(which="major", color="0.9", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def draw_against(path: Path, rows: tuple[Row, ...], printed: Mapping[tuple[str, str], Printed]) -> None:
    """Draw ours against the paper's, a panel a kind of quantity, a marker per method; equal figures lie on the line."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        figure = printed.get((row.set, row.quantity))
        if figure is None or figure.value == NOT_CONVERGED or not np.isfinite(row.ours):
            continue
        kind, _, method = row.quantity.partition(", ")
        panels.setdefault(kind, {}).setdefault(method, []).append((float(figure.value), row.ours))
    if not panels:  # the paper prints none of these sets
        panels = {"ours": {}}
        for place, row in enumerate(rows):
            panels["ours"].setdefault(row.quantity, []).append((place + 1.0, row.ours))
    _draw(path, panels)


def _draw(path: Path, panels: Mapping[str, Mapping[str, list[tuple[float, float]]]]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * len(panels), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (kind, methods) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True):
        for index, (method, points) in enumerate(methods.items()):
            xs, ys = zip(*points, strict=True)
            look = {"color": COLORS[index % len(COLORS)], "marker": MARKERS[index % len(MARKERS)]}
            axes.plot(xs, ys, linestyle="none", label=method, **look)
        every = [value for points in methods.values() for point in points for value in point]
        wide = min(every) > 0 and max(every) > 20 * min(every)
        if kind != "ours":
            axes.axline((1.0, 1.0), (2.0, 2.0), color="0.6", linewidth=0.9, zorder=1)
            axes.set(xlabel=f"paper: {kind}", ylabel=f"ours: {kind}")
        axes.set(xscale="log" if wide else "linear", yscale="log" if wide else "linear")
        if not wide:
            margin = 0.1 * (max(every) - min(every)) + 1e-3
            axes.set(ylim=(min(every) - margin, max(every) + margin))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)
