"""The same curves against several costs, side by side: calls beside seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oracle_opt.line_styles import literal
from oracle_opt.study.plot_style import PRINT, SCREEN, fonts, new_figure
from oracle_opt.study.plots import columns_of_legend, draw_panel, legend_below, threshold_label, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from oracle_opt.study.analyses.curves import Curves

SCREEN_WIDTH = 8.4  # inches
ROW = 0.62  # height of a panel over its width


def draw_side_by_side(columns: Sequence[Curves], width: float | None = None) -> Figure:
    """Draw a row for each panel, and in it a column for each of these, which share the vertical axis.

    Parameters
    ----------
    columns : sequence of Curves
        Of the same panels and names, against different costs.
    width : float, optional
        Inches of a figure for print; default is one for the screen, with larger letters.

    Returns
    -------
    matplotlib Figure
    """
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
