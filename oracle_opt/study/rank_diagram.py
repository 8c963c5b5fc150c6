"""The critical-difference diagram of Demsar (2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle_opt.line_styles import literal, look, marker
from oracle_opt.study.plot_style import PRINT, SCREEN, fonts, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from oracle_opt.study.analyses.mean_ranks import Ranks

BAR = 0.32  # height of the row of a bar, where that of a name is 1


def draw_ranks(ranks: Ranks, axes: Axes | None = None, *, width: float | None = None) -> Figure:
    """Draw mean ranks on a line, the best at the left, with a bar over those that are not told apart.

    Parameters
    ----------
    ranks : Ranks
        What to draw.
    axes : matplotlib Axes, optional
        Where to draw; default is a new figure.
    width : float, optional
        Inches of a new figure, which is then one for print.

    Returns
    -------
    matplotlib Figure
    """
    names, means = list(ranks.data["generator"]), list(ranks.data["mean_rank"])
    k = len(names)
    left = (k + 1) // 2  # so many have their names at the left
    deep = BAR * (len(ranks.cliques) + 1)
    with fonts(PRINT if width is not None else SCREEN):
        if axes is None:
            row = 0.17 if width is not None else 0.26
            inches = width if width is not None else 6.4
            figure = new_figure((inches, row * (left + deep + 2.6)))
            axes = figure.subplots()
            figure.set_layout_engine("constrained", w_pad=0.12)  # names reach beyond the axes
        axes.set(xlim=(1 - 0.02 * k, k + 0.02 * k), ylim=(-deep - left - 0.3, 0.2))
        axes.spines[["left", "right", "bottom"]].set_visible(False)
        axes.xaxis.set_ticks_position("top")
        axes.xaxis.set_label_position("top")
        axes.set_xticks(range(1, k + 1))
        axes.set_yticks([])
        axes.set_xlabel(f"mean rank over {ranks.n} problems")
        if width is None:
            axes.set_title(literal(ranks.title), fontsize="large")
        for place, (name, mean) in enumerate(zip(names, means, strict=True)):
            index = ranks.order.index(name) if name in ranks.order else place
            color = look(index)[0]
            at_left = place < left  # below the name's row there is no other line between it and its end
            depth = -deep - (place if at_left else k - 1 - place) - 0.5
            axes.plot([mean, mean], [0.0, depth], color=color, linewidth=0.9, zorder=2)
            axes.plot(mean, 0.0, marker=marker(index), color=color, clip_on=False, zorder=4)
            text = f"{literal(name)} {mean:.2f}" if at_left else f"{mean:.2f} {literal(name)}"
            aside = {"ha": "right" if at_left else "left", "va": "bottom", "textcoords": "offset points"}
            axes.annotate(text, (mean, depth), (-3 if at_left else 3, -1), **aside)  # type: ignore[arg-type]
        for row_of_bar, clique in enumerate(ranks.cliques):
            ends = [means[names.index(clique[0])] - 0.02 * k, means[names.index(clique[-1])] + 0.02 * k]
            height = -BAR * (row_of_bar + 1)
            axes.plot(ends, [height, height], color="0.25", linewidth=3.0, solid_capstyle="butt", zorder=3)
        return axes.figure  # type: ignore[return-value]  # never a subfigure of somebody else's
