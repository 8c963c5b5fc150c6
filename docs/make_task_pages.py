"""Draw the pictures of README and of the pages by task, from ten_minutes to coming_from.

    python docs/make_task_pages.py [PAGE ...]

Each picture is of the objects that the listings of its page make, which are run first; that of coming_from is of a
problem made here. Seconds are of the processor.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from make_curves import processor_clock, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from oracle_opt import Result, minimize
from oracle_opt.generators import Ellipsoid, Kelley, LevelSet, NewtonBundle, ReducedGradient
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.study import plot_runs, plot_weights

DOCS = Path(__file__).parent
WIDTH = 7.4  # inches
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
UPPER, LOWER, TRUTH = "#D55E00", "#0072B2", "#000000"


def names_of(page: str, listings: int | None = None) -> dict[str, Any]:
    """What the listings of a page, or its first ones, leave behind."""
    namespace: dict[str, Any] = {"__name__": "page"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in [*BLOCK.finditer((DOCS / f"{page}.md").read_text())][:listings]:
                exec(block[1], namespace)
        finally:
            os.chdir(here)
    return namespace


def panels(count: int, height: float, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure with panels in a row."""
    figure = Figure(figsize=(WIDTH, height), dpi=150, layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, count, **options))
    for panel in axes:
        panel.grid(color="0.9", linewidth=0.7)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def side_by_side(runs: Any) -> Figure:
    """Gaps against calls and against seconds, as a figure of the pages' size."""
    figure: Figure = plot_runs(runs, width=WIDTH)
    figure.set_dpi(150)
    return figure


def draw_bounds(panel: Axes, run: Result, truth: float | None, title: str) -> None:
    """Both bounds against calls, and what lies between."""
    history = run.history
    known = np.isfinite(history.lower_bound) & np.isfinite(history.upper_bound)
    call, lower, upper = history.call[known], history.lower_bound[known], history.upper_bound[known]
    panel.fill_between(call, lower, upper, color=LOWER, alpha=0.12, linewidth=0)
    panel.plot(call, upper, color=UPPER, linewidth=1.7, label="upper bound")
    panel.plot(call, lower, color=LOWER, linewidth=1.7, linestyle="-.", label="lower bound")
    if truth is not None:
        panel.axhline(truth, color=TRUTH, linewidth=1.0, linestyle="--", label="minimum")
        last = upper[len(upper) // 3] - truth, truth - lower[len(lower) // 3]
        room = 2.5 * max(*last, 1e-6 * abs(truth))
        panel.set_ylim(truth - room, truth + room)
    panel.set_title(title)
    panel.set_xlabel("oracle calls")
    panel.locator_params(axis="x", integer=True)
    panel.legend(frameon=False, loc="best")


def readme() -> Figure:
    """The study of the first screen."""
    names_of("../README", listings=1)  # loads what a first run loads
    return side_by_side(names_of("../README", listings=1)["results"])


def ten_minutes() -> Figure:
    """The weights that the page finds."""
    figure: Figure = plot_weights(names_of("ten_minutes")["best"]).figure
    figure.set_dpi(150)
    return figure


def compare_strategies() -> Figure:
    """The study of the page: calls beside seconds, with bands."""
    names_of("compare_strategies")  # loads what a first run loads
    return side_by_side(names_of("compare_strategies")["results"])


def own_oracle() -> Figure:
    """Both bounds of the three examples."""
    names = names_of("own_oracle")
    figure, axes = panels(3, 2.6)
    cases = (
        (names["portfolio"], names["least_risk"], "a portfolio"),
        (names["theta"], 4.0, "a semidefinite program"),
        (names["capacities"], names["ready_made"].upper_bound, "a stochastic program"),
    )
    for panel, (run, truth, title) in zip(axes, cases, strict=True):
        draw_bounds(panel, run, truth, title)
    return figure


def own_generator() -> Figure:
    """The page's method beside a shipped one."""
    names = names_of("own_generator")
    return side_by_side(dict(zip(("EntropicDescent()", "LevelSet()"), names["runs"], strict=True)))


def certificates() -> Figure:
    """An honest oracle, and one that states a falsehood."""
    names = names_of("certificates")
    figure, axes = panels(2, 2.8)
    late = names["late"]
    whole = minimize(names["oracle"], LevelSet(), rtol=1e-6)
    draw_bounds(axes[0], whole, late.upper_bound, "an honest oracle")
    z = np.linspace(-1.2, 1.2, 400)
    axes[1].plot(z, [names["two_wells"](np.array([one]))[0] for one in z], color="0.5", label="the function")
    wrong, local = names["wrong"], names["local"]
    axes[1].plot(*wrong.point, wrong.upper_bound, "o", color=UPPER, label='"proven" minimum')
    axes[1].plot(*local.point, local.upper_bound, "s", color=LOWER, label="nothing proven")
    axes[1].set(title="a function that is not convex", xlabel="z")
    axes[1].legend(frameon=False)
    return figure


def coming_from() -> Figure:
    """Methods of other libraries, written anew here, on one problem."""
    X, target = load_iris(return_X_y=True)
    X, y = X[50::2], np.where(target[50::2] == 1, 1, -1)
    oracle = MKLOracle(uci_bank(X), y, C=100)
    methods = {
        "as SimpleMKL": ReducedGradient(),
        "as SHOGUN's wrapper": Kelley(),
        "as ellalgo": Ellipsoid(),
        "NewtonBundle()": NewtonBundle(),
    }
    minimize(oracle, NewtonBundle())  # loads what a first run loads
    return side_by_side({name: minimize(oracle, one, rtol=1e-4, max_calls=1000) for name, one in methods.items()})


PICTURES: dict[str, Callable[[], Figure]] = {
    one.__name__: one
    for one in (readme, ten_minutes, compare_strategies, own_oracle, own_generator, certificates, coming_from)
}


def main() -> None:
    """Draw the pictures of the pages named, or of all."""
    for page in sys.argv[1:] or PICTURES:
        with processor_clock, mpl.rc_context({"font.size": 8.5, "axes.titlesize": 9}):
            save(PICTURES[page](), DOCS / "images" / f"{page}.png", colors=160)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
