"""What an analysis gives back: the data of a figure first, then their picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.optional import require
from oracle_opt.study.panels import Panels
from oracle_opt.study.plot_style import png_of, save_figure
from oracle_opt.study.plots import draw_curves
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHARES = (-0.02, 1.02)  # what an axis of shares shows
COLUMNS = ("panel", "name", "x", "y", "low", "high")


@dataclass(frozen=True, eq=False)
class Curves(Panels):
    """A figure as data: curves in panels.

    Attributes
    ----------
    data : DataFrame
        One row a point of a curve: `panel` and `name` (of the curve, a generator as a rule), `x`, `y`, and `low` and
        `high`, the band around it, NaN where there is none. The points of a curve are in order.
    title, x, y : str
        The title, and the labels of the axes.
    caption : str
        Says in whole sentences what the figure shows, by which test, and of how many runs.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    kind : str
        'line', 'steps' (constant from a point to the next), or 'points'.
    threshold : float or None
        A value of y to draw a line at.
    order : tuple of str
        Names of curves; a curve gets the color, line style and marker of its place in here. Default is the order of
        the data. The figures of the same results, filtered or not, share it.
    diagonal : bool
        Whether to draw the line of equal x and y.
    y_limits : pair of float or None
        The range of y; default is that of the data.
    """

    __repr__ = one_line

    def plot(self, axes: Axes | Sequence[Axes] | None = None, *, backend: str = "matplotlib") -> Any:
        """Draw the figure by a `backend`, 'matplotlib' or 'plotly', perhaps on `axes`, one a panel, and return it."""
        return draw_curves(self, axes, backend=backend)

    def _repr_png_(self) -> bytes | None:
        """The picture, which notebooks show."""
        return png_of(self.plot()) if len(self.data) else None

    def save(self, path: os.PathLike[str] | str, *, width: str | float = "column", height: float | None = None) -> None:
        """Save the figure for print.

        Letters are 7 to 8 points high and stay letters: SVG holds text, PDF fonts of Type 42. There is no title; the
        caption is for the text around the figure.

        The `path` ends in .pdf, .svg or .png. The `width` is that of a 'column', 3.3 inches, of a 'page', 6.9 inches,
        or as many inches; the `height`, in inches, suits the number of panels by default.
        """
        save_figure(path, lambda inches: draw_curves(self, width=inches, height=height), width)


def points(
    panel: str, name: str, x: Vector, y: Vector, low: Vector | float = np.nan, high: Vector | float = np.nan
) -> pd.DataFrame:
    """Make the rows of one curve."""
    pd = require("pandas", "study", "the tables of a study")

    return pd.DataFrame({"panel": panel, "name": name, "x": x, "y": y, "low": low, "high": high})


def together(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of curves one below the other; without any there are the columns alone."""
    pd = require("pandas", "study", "the tables of a study")

    filled = [part for part in parts if len(part)]
    if filled:
        return pd.concat(filled, ignore_index=True)
    empty = pd.DataFrame({column: np.zeros(0) for column in COLUMNS})
    return empty.astype({"panel": str, "name": str})


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Exponent of the power law through the points, by least squares of finite logarithms; NaN for fewer than two."""
    known = np.isfinite(seconds)
    if known.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(np.array(sizes)[known]), np.log(np.array(seconds)[known]), 1)[0])
