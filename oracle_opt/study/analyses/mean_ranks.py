"""Mean ranks of generators, with tests of which are told apart, and the diagram of Demsar (2006)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arguments import real
from oracle_opt.errors import InvalidArgument
from oracle_opt.line_styles import literal, look, marker
from oracle_opt.optional import require
from oracle_opt.study.analyses.convergence import accuracy, cost_in_words
from oracle_opt.study.analyses.problem_costs import at_least_two, problem_costs
from oracle_opt.study.analyses.rank_tests import cliques_of, friedman, holm, log_ratios, nemenyi, ranks_of, wilcoxon_p
from oracle_opt.study.plot_style import PRINT, SCREEN, fonts, new_figure, png_of, rounded, save_figure
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from oracle_opt.study.runs import Runs


FEWEST, FEW = 6, 10  # problems: below the one nothing is said, below the other the caption warns
BAR = 0.32  # height of the row of a bar, where that of a name is 1


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks as data, and a critical-difference diagram.

    Attributes
    ----------
    data : DataFrame
        One row a generator, the best first: `generator`, `mean_rank`, and the `share_solved` of problems.
    pairs : DataFrame
        One row a pair: `first` and `second`, `p` of Wilcoxon's test, `p_holm` corrected for the number of pairs, and
        whether they are told apart, `different`.
    cliques : tuple of tuples of str
        Largest groups of neighbors in rank of whom no two are told apart.
    n : int
        Number of problems.
    friedman_p : float
        Probability of such ranks if all generators were alike.
    critical_difference : float
        Nemenyi's, for comparison with older work: mean ranks closer than this are not told apart by his test.
    alpha : float
        Probability of telling any two apart that are alike.
    title, caption : str
        What it is, in whole sentences.
    order : tuple of str
        Names of generators, which decide their colors.
    """

    __repr__ = one_line

    data: pd.DataFrame
    pairs: pd.DataFrame
    cliques: tuple[tuple[str, ...], ...]
    n: int
    friedman_p: float
    critical_difference: float
    alpha: float
    title: str
    caption: str
    order: tuple[str, ...] = ()

    def plot(self, axes: Axes | None = None) -> Figure:
        """Draw mean ranks on a line, a bar over each clique: the critical-difference diagram; `axes` may be given."""
        return draw_ranks(self, axes)

    def _repr_png_(self) -> bytes:
        """The picture, which notebooks show."""
        return png_of(self.plot())

    def save(self, path: os.PathLike[str] | str, *, width: str | float = "column") -> None:
        """Save the diagram for print in the file `path`, of a `width` as for `Curves.save`."""
        save_figure(path, lambda inches: draw_ranks(self, width=inches), width)


def ranks(
    results: Runs,
    *,
    cost: str = "calls",
    tau: float | None = None,
    test: str = "certified",
    seeds: str = "median",
    alpha: float = 0.05,
) -> Ranks:
    """Rank the generators on every problem, and test which mean ranks are told apart.

    `cost`, `tau`, `test` and `seeds` are as in `Results.profile`, with one accuracy. Generators that do not solve a
    problem share the last rank; one that is refused everywhere has none. The tests take problems for independent of
    each other, which seeds of the same instance hardly are; so the median is taken by default. `alpha` is the
    probability of telling any two apart that are alike. Two generators and 6 problems are needed.

    Notes
    -----
    Mean ranks depend on which generators are there, the tests of pairs do not: Wilcoxon's signed-rank test on the
    logarithms of the ratios of costs, where a problem that one of the two alone solves weighs most, and one that
    neither solves is a tie. Below 10 problems hardly anything can be told apart.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006), 1-30.
    S. García, F. Herrera, An extension on "Statistical comparisons ...", JMLR 9 (2008), 2677-2694.
    """
    pd = require("pandas", "study", "the tables of a study")

    alpha = real("alpha", alpha, above=0.0, below=1.0)
    tau = accuracy(results, tau)
    costs = problem_costs(results, cost=cost, tau=tau, test=test, seeds=seeds)
    refused = [name for name in costs.table if costs.counts.loc[name, "refused"] == costs.counts.loc[name, "runs"]]
    served = costs.table.drop(columns=refused)
    at_least_two(served, "ranks")
    times = served.to_numpy()
    n, k = times.shape
    if n < FEWEST:
        hint = "; with seeds='each' every seed is a problem" if seeds == "median" and len(results.runs) > n * k else ""
        raise InvalidArgument(f"`results` must hold at least {FEWEST} problems for ranks, got {n}{hint}")
    table = ranks_of(times)
    order = np.argsort(table.mean(axis=0), kind="stable")
    names = [served.columns[i] for i in order]
    times, table = times[:, order], table[:, order]
    places = list(combinations(range(k), 2))
    p = [wilcoxon_p(log_ratios(times[:, i], times[:, j])) for i, j in places]
    corrected = holm(p)
    alike = np.ones((k, k), dtype=bool)
    for (i, j), value in zip(places, corrected, strict=True):
        alike[i, j] = alike[j, i] = value > alpha
    overall = friedman(table)
    sentences = [
        f"Mean ranks over {n} problems; bars join generators of whom no two are told apart by Wilcoxon's signed-rank "
        f"test with Holm's correction at {alpha:g}. Friedman's test of all: p = {overall:.2g}."
    ]
    if refused:
        sentences.append(f"Left out, as refused everywhere: {', '.join(refused)}.")
    if overall > alpha:
        sentences.append("It does not tell them from equal ones, so their order says little.")
    if n < FEW:
        sentences.append(f"With {n} problems hardly anything can be told apart: 10 and more are advised.")
    if k > 2:
        sentences.append("Mean ranks depend on which generators are compared.")
    return Ranks(
        pd.DataFrame(
            {"generator": names, "mean_rank": table.mean(axis=0), "share_solved": np.isfinite(times).mean(axis=0)}
        ),
        pd.DataFrame(
            {
                "first": [names[i] for i, _ in places],
                "second": [names[j] for _, j in places],
                "p": p,
                "p_holm": corrected,
                "different": corrected <= alpha,
            }
        ),
        tuple(tuple(names[first : last + 1]) for first, last in cliques_of(alike)),
        n,
        overall,
        nemenyi(n, k, alpha),
        alpha,
        f"Mean ranks by {cost_in_words(cost, results.runs['clock'])} to {rounded(tau)}, test '{test}'",
        f"{' '.join(sentences)} {costs.sentences}",
        results.order,
    )


def draw_ranks(ranks: Ranks, axes: Axes | None = None, *, width: float | None = None) -> Figure:
    """Draw mean ranks on a line, the best at the left, with a bar over those that are not told apart."""
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
