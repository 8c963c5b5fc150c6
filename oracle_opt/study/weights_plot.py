"""Weights of kernels as bars: the largest by name, all by group."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import Matrix
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.line_styles import COLORS, MARKERS, literal
from oracle_opt.optional import require
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.result import Result
from oracle_opt.study.plot_style import SCREEN, fonts, new_figure
from oracle_opt.words import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "0.72"
LONGEST = 46  # characters of a label


class Weights(NamedTuple):
    """The data of the picture: weights of shape (number of problems, p), and names."""

    values: Matrix
    names: NDArray[np.object_]
    groups: NDArray[np.object_]
    problems: tuple[str, ...]


class Bar(NamedTuple):
    """One bar: its label, its color, and its length for each problem."""

    label: str
    color: str
    lengths: NDArray[np.float64]


def plot_weights(
    weights: Any, ax: Axes | None = None, *, oracle: KernelWeightsOracle | None = None, n_named: int = 12
) -> Axes:
    """Draw the weights of kernels: a bar for each of the largest, colored by group; the others of a group are one bar.

    Parameters
    ----------
    weights : DataFrame, Result or fitted estimator
        The table that ``oracle.weights(result)`` returns, with the columns name, group and weight; a result, with its
        oracle; or an estimator of `oracle_opt.learn`, also at the end of a pipeline. Where several problems have
        weights of their own, one for each class say, bars are their means, and a mark shows each of them.
    ax : matplotlib Axes, optional
        Where to draw; default is a new figure.
    oracle : oracle of multiple kernel learning, optional
        The one a result is of: it knows the names of the kernels.
    n_named : int
        Bars that stand for one kernel, at most.

    Returns
    -------
    matplotlib Axes
        Its attribute `figure` is what to save or show.

    Raises
    ------
    InvalidArgument
        These are no weights of kernels.

    Examples
    --------
    >>> import pandas as pd
    >>> from oracle_opt.study import plot_weights
    >>> table = pd.DataFrame({"name": ["a", "b"], "group": ["left", "left"], "weight": [0.7, 0.3]})
    >>> [label.get_text() for label in plot_weights(table).get_yticklabels()]
    ['a', 'b']
    """
    require("matplotlib", "plot", "pictures of weights")
    if isinstance(weights, Result | ObjectiveCut) and isinstance(oracle, KernelWeightsOracle):
        weights = oracle.weights(weights)
    given = _weights_of(weights)
    order, bars = _bars(given, whole("n_named", n_named))
    with fonts(SCREEN):
        if ax is None:
            ax = new_figure((7.6, 1.1 + 0.27 * max(len(bars), 2))).subplots()
        _draw(ax, given, order, bars)
    return ax


def _weights_of(weights: Any) -> Weights:
    """Weights and names of a table or an estimator, perhaps at the end of a pipeline or the best of a search."""
    weights = getattr(weights, "best_estimator_", weights)
    weights = weights.steps[-1][1] if hasattr(weights, "steps") else weights
    pandas = sys.modules.get("pandas")  # there is no table before it was imported
    if pandas is not None and isinstance(weights, pandas.DataFrame):
        missing = [name for name in ("name", "group", "weight") if name not in weights.columns]
        if missing:
            raise InvalidArgument(
                f"`weights` must have the columns name, group and weight, as oracle.weights(result) has them; "
                f"{missing[0]!r} is missing"
            )
        values = weights["weight"].to_numpy(dtype=float)[None]
        names, groups, classes = weights["name"], weights["group"], None
    else:
        try:
            values, names, groups = weights.weights_, weights.kernel_names_, weights.kernel_groups_
        except AttributeError as problem:
            raise InvalidArgument(
                "`weights` must be the table of oracle.weights(result), a result with `oracle=` the one it is of, or a "
                "fitted estimator with `weights_`, `kernel_names_` and `kernel_groups_`, got "
                f"{shown(weights)}: {problem}"
            ) from problem
        values, classes = np.atleast_2d(np.asarray(values, dtype=float)), getattr(weights, "classes_", None)
    n_problems, p = values.shape
    if p == 0 or len(names) != p or len(groups) != p or not np.isfinite(values).all():
        raise InvalidArgument(
            f"`weights` must be finite, with a name and a group each, got {p} weights, {len(names)} names and "
            f"{len(groups)} groups"
        )
    return Weights(values, _texts(names), _texts(groups), _problems(n_problems, classes))


def _texts(given: Sequence[Any]) -> NDArray[np.object_]:
    return np.array([str(one) for one in given], dtype=object)


def _problems(n_problems: int, classes: Any) -> tuple[str, ...]:
    """Names of the problems: the classes, or pairs of them, where their number fits."""
    if n_problems == 1:
        return ("",)
    known = [str(one) for one in classes] if classes is not None else []
    if len(known) == n_problems:
        return tuple(known)
    pairs = [f"{a} / {b}" for i, a in enumerate(known) for b in known[i + 1 :]]
    return tuple(pairs) if len(pairs) == n_problems else tuple(f"problem {i}" for i in range(n_problems))


def _bars(given: Weights, n_named: int) -> tuple[list[str], list[Bar]]:
    """Groups by their sums, and the bars, group by group and the largest first."""
    means = given.values.mean(axis=0)
    sums = {group: float(means[given.groups == group].sum()) for group in dict.fromkeys(given.groups)}
    order = sorted(sums, key=lambda group: -sums[group])
    colors = {group: COLORS[i] if i < len(COLORS) - 1 else GREY for i, group in enumerate(order)}
    positive = np.flatnonzero(given.values.max(axis=0) > 0)
    named = positive[np.argsort(-means[positive], kind="stable")][:n_named]
    bars, left = [], []
    for group in order:
        members = np.flatnonzero(given.groups == group)
        chosen = [k for k in named.tolist() if given.groups[k] == group]
        told = colors[group] != GREY  # by its color
        bars += [
            Bar(_cut(name.removesuffix(f" of {group}") if told else name), colors[group], given.values[:, k])
            for k, name in zip(chosen, given.names[chosen], strict=True)
        ]
        rest = np.setdiff1d(members, chosen)
        rest = rest[given.values[:, rest].max(axis=0, initial=0.0) > 0]
        if rest.size and told and chosen:
            label = f"{rest.size} more of {group}"
            bars.append(Bar(_cut(label), colors[group], given.values[:, rest].sum(axis=1)))
        else:
            left += rest.tolist()
    if left:
        label = f"{len(left)} more of other groups" if bars else f"{len(left)} kernels"
        bars.append(Bar(label, GREY, given.values[:, left].sum(axis=1)))
    n_zero = means.size - positive.size
    if n_zero:
        words = "1 kernel has" if n_zero == 1 else f"{n_zero} kernels have"
        bars.append(Bar(f"{words} weight 0", GREY, np.zeros(given.values.shape[0])))
    return order, bars


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 3] + "..."


def _draw(ax: Axes, given: Weights, order: list[str], bars: list[Bar]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    places = np.arange(len(bars))
    means = np.array([bar.lengths.mean() for bar in bars])
    ax.barh(places, means, height=0.72, color=[bar.color for bar in bars], zorder=2)
    several = len(given.problems) > 1
    if several:
        for i in range(len(given.problems)):
            heights = places + 0.5 * (i + 0.5 - 0.5 * len(given.problems)) / len(given.problems)
            marks = MARKERS[i % len(MARKERS)]
            lengths = [bar.lengths[i] for bar in bars]
            ax.plot(lengths, heights, marks, color="white", markeredgecolor="0.15", markersize=4.5, zorder=3)
    ax.set_yticks(places, [literal(bar.label) for bar in bars])
    ax.invert_yaxis()
    ax.set_xlabel("weight of the kernel" + (", mean of the problems" if several else ""))
    ax.set_xlim(left=0.0)
    ax.grid(axis="x", color="0.9", zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    sums = {group: float(given.values[:, given.groups == group].sum(axis=1).mean()) for group in order}
    handles: list[Any] = []
    if len(order) > 1:
        first = order[: len(COLORS) - 1]
        handles = [Patch(color=COLORS[i], label=literal(_cut(f"{g}: {sums[g]:.3g}"))) for i, g in enumerate(first)]
        others = order[len(COLORS) - 1 :]
        if others:
            total = sum(sums[group] for group in others)
            words = f"{len(others)} more groups" if len(others) > 1 else others[0]
            handles.append(Patch(color=GREY, label=literal(_cut(f"{words}: {total:.3g}"))))
    if several:
        handles += [
            Line2D(
                [],
                [],
                linestyle="",
                marker=MARKERS[i % len(MARKERS)],
                color="white",
                markeredgecolor="0.15",
                markersize=4.5,
                label=literal(_cut(name)),
            )
            for i, name in enumerate(given.problems[:12])
        ]
    if handles:
        title = "sum of each group" if len(order) > 1 else None
        ax.legend(handles=handles, title=title, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
