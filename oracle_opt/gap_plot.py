"""The picture of one run: its proven relative gap against oracle calls or seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.history import History
from oracle_opt.line_styles import curve_options, drawn_gaps, label_decades, literal, plain_axes
from oracle_opt.optional import require
from oracle_opt.words import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = {"calls": "oracle calls", "seconds": "seconds in oracle and generator"}


def plot_gap(history: History, ax: Axes | None, label: str | None, x: str) -> Axes:
    """Draw a gap; see `Result.plot`."""
    if not isinstance(x, str) or x not in AXES:
        raise InvalidArgument(f"`x` must be 'calls' or 'seconds', got {shown(x)}")
    pyplot = require("matplotlib.pyplot", "plot", "figures")
    if ax is None:
        ax = pyplot.subplots(layout="constrained")[1]
    assert ax is not None
    cost = history.call if x == "calls" else np.cumsum(history.oracle_seconds + history.generator_seconds)
    gaps = drawn_gaps(history.relative_gap)
    known = np.isfinite(gaps)  # it is infinite until there is a bound
    ax.plot(cost[known], gaps[known], label=None if label is None else literal(label), **_next_look(ax, known.sum()))
    plain_axes(ax)
    ax.set(xscale="log", yscale="log", xlabel=AXES[x], ylabel="proven relative gap")
    for axis in (ax.xaxis, ax.yaxis):
        label_decades(axis)
    if label is not None:
        ax.legend(frameon=False, handlelength=3.2)
    return ax


def _next_look(ax: Axes, n_points: int) -> dict[str, Any]:
    """How the next curve of these axes looks: as no other of the first 49."""
    return curve_options(len(ax.lines), int(n_points)) | {"linewidth": 1.7, "markersize": 5.0}
