"""How curves look: colors, dashes, markers, and the axes they are drawn on; and the picture of one run."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.clocks import kind_of_seconds
from oracle_opt.errors import InvalidArgument
from oracle_opt.history import History
from oracle_opt.optional import require
from oracle_opt.words import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette and three of Tol's, told apart also by readers who confuse red and green, with dashes and a
# marker each, by which curves are told apart without any color. Dashes: lengths of ink and gap in widths of the line.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#999933", "#332288"]
DASHES: tuple[tuple[float, ...], ...] = (
    *((), (4, 1.6), (6, 1.5, 1, 1.5), (1, 1.3), (9, 2.5), (4, 1.4, 1, 1.4, 1, 1.4), (8, 1.6, 2.5, 1.6)),
    *((2.5, 3), (12, 1.5, 1, 1.5, 1, 1.5), (14, 4)),
)
MARKERS = "os^DvPX<p>"
N_LOOKS = len(COLORS)
SMALLEST_GAP = 1e-16  # where a gap of 0 is drawn on a logarithmic axis
FEW = 12  # points up to which all of a curve have a marker
APART = 0.15  # between the markers of longer curves, as a share of the diagonal of the axes
AXES = {"calls": "oracle calls", "seconds": "{} in oracle and generator"}


def look(index: int) -> tuple[str, tuple[float, ...]]:
    """Color and dashes of the curve of this index: no pair twice among 50."""
    turn, place = divmod(index, N_LOOKS)
    return COLORS[place], DASHES[(place + turn) % N_LOOKS]


def marker(index: int) -> str:
    """Marker of the curve of this index: with its color, and with its dashes, no pair twice among 50."""
    turn, place = divmod(index, N_LOOKS)
    return MARKERS[(place + 3 * turn) % N_LOOKS]


def curve_options(index: int, n_points: int) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for the curve of this index, with so many points."""
    color, dashes = look(index)
    # the markers of curves that run side by side do not stand side by side
    every = None if n_points <= FEW else (APART * ((3 * index) % N_LOOKS + 0.5) / N_LOOKS, APART)
    style: Any = (0, dashes) if dashes else "-"
    return {"color": color, "linestyle": style, "marker": marker(index), "markevery": every}


def drawn_gaps(gaps: Vector) -> Vector:
    """Gaps as a logarithmic axis can show them: 0 at the bottom, nothing where there is none."""
    shown: Vector = np.where(np.isfinite(gaps), np.maximum(gaps, SMALLEST_GAP), np.nan)
    return shown


def plain_axes(axes: Axes) -> None:
    """A light grid behind the curves, and no frame above and on the right."""
    axes.grid(which="major", color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def literal(name: str) -> str:
    """Write a name as it stands: dollars begin no formula, characters without a picture are question marks."""
    return "".join(c if c.isprintable() else "?" for c in name).replace("$", r"\$")


def label_decades(axis: Any) -> None:
    """Numbers at the decades of a logarithmic axis, and between them where it spans less than two, in one notation."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    least, most = sorted(axis.get_view_interval())
    decades = log10(most / least) if least > 0 else 0.0
    powers = least > 0 and (least < 1e-3 / 1.001 or most > 1e5)
    axis.set_major_formatter(FuncFormatter(lambda value, place: _as_power(value) if powers else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(MaxNLocator(1))
    elif decades < 2:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def _as_power(value: float) -> str:
    """Write a number of an axis by its power of ten."""
    if value <= 0:  # beside the axis, where ticks are even steps
        return f"{value:g}"
    power = floor(log10(value) + 1e-9)
    factor = value / 10.0**power
    return f"$10^{{{power}}}$" if abs(factor - 1) < 1e-6 else f"${factor:g}\\cdot10^{{{power}}}$"


def plot_gap(history: History, ax: Axes | None, label: str | None, x: str, clock: str) -> Axes:
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
    ax.set(xscale="log", yscale="log", xlabel=AXES[x].format(kind_of_seconds([clock])), ylabel="proven relative gap")
    for axis in (ax.xaxis, ax.yaxis):
        label_decades(axis)
    if label is not None:
        ax.legend(frameon=False, handlelength=3.2)
    return ax


def _next_look(ax: Axes, n_points: int) -> dict[str, Any]:
    """How the next curve of these axes looks: as no other of the first 49."""
    return curve_options(len(ax.lines), int(n_points)) | {"linewidth": 1.7, "markersize": 5.0}
