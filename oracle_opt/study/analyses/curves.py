"""What an analysis gives back: the data of a figure first, then their picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Curves:
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
    """

    __repr__ = one_line

    data: pd.DataFrame
    title: str
    x: str
    y: str
    caption: str
    log_x: bool = False
    log_y: bool = False
    kind: str = "line"
    threshold: float | None = None
