"""The figure of Wulff & Ong (2014): relative gap against oracle calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.study.methods import GENERATORS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Okabe and Ito's palette, told apart also by readers who confuse red and green, with a line style each.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), ":")
SMALLEST_GAP = 1e-16
QUANTILES = (0.1, 0.9)


def plot_curves(history: pd.DataFrame, rtol: float, path: Path) -> None:
    """Draw one panel per data set, one curve per generator, and save the picture.

    A curve is the geometric mean over the splits, its band the range from the 10 % to the 90 % quantile. A run that
    has stopped keeps its last gap. A generator that asks once is drawn as a point.

    Parameters
    ----------
    history : DataFrame
        As from `history_table`.
    rtol : float
        Drawn as the threshold.
    path : Path
        PNG file to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(history["dataset"]))
    order = list(dict.fromkeys((*GENERATORS, *history["generator"])))  # gives every name its color
    columns = min(len(datasets), 4 if len(datasets) > 6 else 3 if len(datasets) > 4 else 2)
    rows = -(-len(datasets) // columns)
    figure = Figure(figsize=(max(6.4, 4.2 * columns), 3.3 * rows + 1.1), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False)
    legend: dict[str, Line2D] = {}
    for panel, dataset in zip(panels.flat, datasets, strict=False):
        table = history[history["dataset"] == dataset]
        for name in order:
            part = table[table["generator"] == name]
            if len(part):
                legend.setdefault(name, _draw(panel, gap_matrix(part), order.index(name)))
        threshold = panel.axhline(rtol, color="0.45", linewidth=0.9, zorder=1)
        legend[f"threshold {rtol:g}"] = threshold
        panel.set(title=f"{_shown(dataset)} ({table['split'].nunique()} splits)", xscale="log", yscale="log")
        panel.set_xlabel("oracle calls")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.grid(which="major", color="0.9", linewidth=0.7)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel("relative gap")
    for panel in panels.flat[len(datasets) :]:
        panel.set_visible(False)
    figure.legend(
        *(legend.values(), map(_shown, legend)),
        loc="outside lower center",
        ncols=4 if columns > 1 else 3,
        frameon=False,
        handlelength=3.0,
    )
    figure.savefig(path, dpi=150)


def gap_matrix(part: pd.DataFrame) -> NDArray[np.float64]:
    """Relative gaps of the runs of one generator on one data set.

    Parameters
    ----------
    part : DataFrame
        Their rows of the history.

    Returns
    -------
    ndarray of shape (number of splits, largest number of calls)
        The gap after each call, at least 1e-16; a run that has stopped keeps its last.
    """
    runs = [group["relative_gap"].to_numpy() for _, group in part.groupby("split", sort=True)]
    longest = max(map(len, runs))
    table: NDArray[np.float64] = np.array(
        [np.concatenate((gaps, np.full(longest - len(gaps), gaps[-1]))) for gaps in runs]
    )
    table = np.maximum(table, SMALLEST_GAP, dtype=np.float64)
    table[~np.isfinite(table)] = np.nan
    return table


def look(index: int) -> tuple[str, Any]:
    """Color and line style of the generator of this index: no pair twice among 49."""
    turn, place = divmod(index, len(COLORS))
    return COLORS[place], STYLES[(place + turn) % len(STYLES)]


def _shown(name: str) -> str:
    """Write a name as it stands: dollars begin no formula, characters without a picture are question marks."""
    return "".join(c if c.isprintable() else "?" for c in name).replace("$", r"\$")


def _draw(panel: Axes, gaps: NDArray[np.float64], index: int) -> Line2D:
    """Draw one generator's curve; give it back for the legend."""
    color, style = look(index)
    calls = np.arange(1, gaps.shape[1] + 1)
    known = np.isfinite(gaps).all(axis=0)
    mean = np.exp(np.log(gaps[:, known]).mean(axis=0))
    low, high = np.quantile(gaps[:, known], QUANTILES, axis=0)
    if gaps.shape[1] == 1:
        line: Line2D = panel.plot(calls[known], mean, marker="D", color=color, linestyle="none", zorder=4)[0]
        panel.vlines(calls[known], low, high, color=color, linewidth=1.2, zorder=3)
        return line
    panel.fill_between(calls[known], low, high, color=color, alpha=0.15, linewidth=0, zorder=2)
    curve: Line2D = panel.plot(calls[known], mean, color=color, linestyle=style, linewidth=1.7, zorder=3)[0]
    return curve
