"""Draw docs/images/curves.png and print the tables of calls of docs/how_to_choose.md.

    python docs/make_curves.py [FILE.csv ...]

Runs the generators on l1-MKL with wdbc as scikit-learn ships it: 70 % of the points, 13 (d + 1) kernels, C = 100.
CSV files (one header line, the label -1 or 1 last) get a table of their own and are not drawn. The last table is of
the largest of 20 random affine or quadratic functions on a box.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, QueryPointGenerator, Result, minimize
from oracle_opt.generators import (
    SPG,
    AnalyticCenter,
    FixedPoint,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    Subgradient,
)
from oracle_opt.oracles import MKLOracle, uci_bank

MAX_CALLS = 500
LEVELS = (1e-1, 1e-2, 5e-3, 1e-3, 1e-4, 1e-6)
# Colors of Okabe & Ito, told apart by readers with any color vision; a variant of a class is dashed.
CURVES: dict[str, tuple[QueryPointGenerator, str, str]] = {
    "NewtonBundle()": (NewtonBundle(), "#332288", "-"),
    "LevelSet()": (LevelSet(), "#0072B2", "-"),
    "LevelSet(entropic=False)": (LevelSet(entropic=False), "#0072B2", "--"),
    "AnalyticCenter()": (AnalyticCenter(), "#D55E00", "-"),
    "AnalyticCenter(epigraph=False, proximal=0)": (AnalyticCenter(epigraph=False, proximal=0), "#D55E00", "--"),
    "Kelley()": (Kelley(), "#009E73", "-"),
    "Kelley(chebyshev=True)": (Kelley(chebyshev=True), "#009E73", "--"),
    "ProximalBundle()": (ProximalBundle(), "#999933", "-"),
    "SPG()": (SPG(), "#CC79A7", "-"),
    "SPG(tune_accuracy=True)": (SPG(tune_accuracy=True), "#CC79A7", "--"),
    "Subgradient()": (Subgradient(), "#E69F00", "-"),
    "Subgradient(polyak=True)": (Subgradient(polyak=True), "#E69F00", "--"),
    "ReducedGradient()": (ReducedGradient(), "#56B4E9", "-"),
    "FixedPoint()": (FixedPoint(), "#000000", "-"),
}
# These stand in the tables alone, as the picture is full. The ellipsoid method, which needs hundreds of expensive
# calls to reach 1e-1, is left out.
FURTHER: dict[str, tuple[QueryPointGenerator, str, str]] = {
    "ProjectedGradient()": (ProjectedGradient(), "#44AA99", "-"),
    "QuasiNewton()": (QuasiNewton(), "#882255", "-"),
    "MirrorDescent()": (MirrorDescent(), "#AA4499", "-"),
}


def runs(X: np.ndarray, y: np.ndarray) -> dict[str, Result]:
    """Each generator on the training part of one split."""
    train = np.random.default_rng(0).permutation(len(y))[: int(0.7 * len(y))]
    oracle = MKLOracle(uci_bank(X[train]), y[train], C=100)
    return {name: minimize(oracle, curve[0], max_calls=MAX_CALLS) for name, curve in (CURVES | FURTHER).items()}


def print_table(title: str, results: dict[str, Result]) -> None:
    """Calls until the proven relative gap is at most each level; the single-cut gap at 5e-3; the master's time."""
    print(f"\n| {title} | " + " | ".join(f"{level:g}" for level in LEVELS) + " | 5e-3, single cut | ms a call |")
    print("|---" * (len(LEVELS) + 3) + "|")
    for name, result in results.items():
        history = result.history
        calls = [history.calls_to(level) for level in LEVELS]
        single = np.flatnonzero(history.single_cut_gap <= 5e-3)
        cells = [*calls, int(single[0]) + 1 if single.size else None]
        words = " | ".join("-" if cell is None else str(cell) for cell in cells)
        print(f"| `{name}` | {words} | {1e3 * np.median(history.generator_seconds):.1f} |", flush=True)


def largest_piece(n: int, curved: bool) -> FunctionOracle:
    """``max_i a_i @ x + b_i + c_i / 2 * norm(x - z_i)**2`` over ``[-1, 1]^n``, i = 1 .. 20; affine with c = 0."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, n)), rng.normal(size=20)
    z, c = rng.uniform(-1, 1, (20, n)), rng.uniform(0.5, 2, 20) * curved

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        values = a @ x + b + c / 2 * ((x - z) ** 2).sum(axis=1)
        i = values.argmax()
        return values[i], a[i] + c[i] * (x - z[i])

    return FunctionOracle(function, Box(np.full(n, -1), np.full(n, 1)))


def print_pieces() -> None:
    """Calls until the proven relative gap is at most 1e-6."""
    cases = [(n, curved) for curved in (False, True) for n in (10, 30)]
    print("\n| | " + " | ".join(f"{'quadratic' if curved else 'affine'}, n = {n}" for n, curved in cases) + " |")
    print("|---" * (len(cases) + 1) + "|")
    for name, (generator, _, _) in (CURVES | FURTHER).items():
        if generator.refusal(Box([0], [1])) is None and name != "FixedPoint()":
            runs = [minimize(largest_piece(*case), generator, max_calls=1000) for case in cases]
            print(f"| `{name}` | " + " | ".join(str(run.n_calls) if run.success else "-" for run in runs) + " |")


def draw(results: dict[str, Result], path: Path) -> None:
    """Relative gap against oracle calls: by the best of the four proofs, and by the best single cut alone."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9.6, 3.9), dpi=110, layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for name, (_, color, dashes) in CURVES.items():
            history = results[name].history
            for ax, gaps in zip(axes, (history.relative_gap, history.single_cut_gap), strict=True):
                look = {"marker": "o", "ls": ""} if len(history) == 1 else {"ls": dashes, "lw": 1.6}
                ax.plot(history.call, np.where(gaps > 0, gaps, np.nan), color=color, label=name, **look)
        for ax, title in zip(axes, ("best of the four proofs", "best single cut alone"), strict=True):
            ax.set(xscale="log", yscale="log", ylim=(7e-7, 3), xlim=(0.9, 1.1 * MAX_CALLS), xlabel="oracle calls")
            ax.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
            ax.minorticks_off()
            ax.grid(color="#dddddd", lw=0.6)
            ax.set_title(f"lower bound: {title}", fontsize=9.5)
        axes[0].set_ylabel("proven relative gap")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8.5)
        save(figure, path, colors=64)


def save(figure: Figure, path: Path, colors: int) -> None:
    """Save a figure as a PNG of few colors: a third of the bytes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    picture.quantize(colors, method=Image.Quantize.MAXCOVERAGE, kmeans=4).save(path, optimize=True)


def main() -> None:
    """Make the picture and the table."""
    X, target = load_breast_cancer(return_X_y=True)
    results = runs(X, np.where(target == 0, 1, -1))
    draw(results, Path(__file__).parent / "images" / "curves.png")
    print_table("wdbc", results)
    for name in sys.argv[1:]:
        table = np.loadtxt(name, delimiter=",", skiprows=1)
        print_table(Path(name).stem, runs(table[:, :-1], table[:, -1]))
    print_pieces()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
