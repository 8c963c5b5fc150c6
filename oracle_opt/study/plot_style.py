"""How figures are made: letters, sizes, and the files they are saved in; `line_styles` has how curves look."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle_opt.arguments import real
from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_file
from oracle_opt.optional import require
from oracle_opt.words import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"column": 3.3, "page": 6.9}  # inches, of a journal in two columns
PRINT = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "axes.linewidth": 0.6,
}
SCREEN = {"lines.linewidth": 1.7, "lines.markersize": 5.0}
# Text stays text, and the same figure gives the same file.
FILES = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "oracle_opt"}
UNDATED: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}


def save_figure(path: os.PathLike[str] | str, draw: Callable[[float], Figure], width: str | float) -> None:
    """Save a figure for print."""
    target = Path(path)
    ending = target.suffix.lower().removeprefix(".")
    if ending not in UNDATED:
        raise InvalidArgument(f"`path` must end in .pdf, .svg or .png, got {shown(os.fspath(path))}")
    if isinstance(width, str) and width not in WIDTHS:
        raise InvalidArgument(f"`width` must be 'column', 'page' or a number of inches, got {shown(width)}")
    figure = draw(WIDTHS[width] if isinstance(width, str) else real("width", width, above=0.0))
    with fonts(FILES):
        atomic_file(target, lambda place: figure.savefig(place, dpi=300, format=ending, metadata=UNDATED[ending]))


def png_of(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG file."""
    from io import BytesIO

    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()


def fonts(settings: dict[str, Any]) -> AbstractContextManager[None]:
    """Matplotlib's settings for a while."""
    context: AbstractContextManager[None] = require("matplotlib", "plot", "figures").rc_context(settings)
    return context


def new_figure(size: tuple[float, float]) -> Figure:
    """Make a figure that belongs to no window; notebooks show it."""
    require("matplotlib", "plot", "figures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def rounded(value: float) -> str:
    """Write a number in a few letters: 0.001, 1e-4, 5e-3."""
    text = f"{value:.4g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.3e}"
    digits, _, power = text.partition("e")
    if not power:
        return text
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits}e{int(power)}"
