"""Draw docs/images/curves.png and print the tables of calls of docs/how_to_choose.md.

    python docs/make_curves.py [--picture] [FILE.csv ...]

Runs the generators on l1-MKL with wdbc as scikit-learn ships it: 70 % of the points, 13 (d + 1) kernels, C = 100. The
picture is of five random splits, the table of the first. CSV files (one header line, the label -1 or 1 last) get a
table of their own and are not drawn. The last table is of the largest of 20 random affine or quadratic functions on a
box. With --picture nothing but the picture is made, in one to three minutes.
"""

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, QueryPointGenerator, Result, minimize
from oracle_opt.certificates.proof_level import standing_of
from oracle_opt.oracles import SMOMKL, MKLOracle, NewtonMKL, uci_bank
from oracle_opt.study import generator_of, plot_runs

MAX_CALLS = 500
LEVELS = (1e-1, 1e-2, 5e-3, 1e-3, 1e-4, 1e-6)
SPLITS = 5  # of the picture
WIDTH, DPI = 7.4, 130  # inches, dots an inch
# The methods of the pictures of this documentation. A method looks by its place in here, the same in each picture: each
# seven in a row have all colors, and those of one page hardly ever share one.
OF_KERNELS: dict[str, QueryPointGenerator] = {"NewtonMKL()": NewtonMKL(), "SMOMKL()": SMOMKL()}
METHODS = {
    words: OF_KERNELS[words] if words in OF_KERNELS else generator_of(words)
    for words in (
        "NewtonBundle()",
        "LevelSet()",
        "AnalyticCenter()",
        "ProximalBundle()",
        "Kelley()",
        "SPG()",
        "Subgradient(polyak=True)",
        "SpectralBundle()",
        "LevelSet(entropic=False)",
        "QuasiNewton()",
        "LBFGS()",
        "ProjectedGradient()",
        "Ellipsoid()",
        "FixedPoint(updates=True)",
        "NewtonMKL()",
        "FixedPoint()",
        "AnalyticCenter(epigraph=False, proximal=0)",
        "ReducedGradient()",
        "Kelley(chebyshev=True)",
        "SPG(tune_accuracy=True)",
        "Subgradient()",
        "SMOMKL()",
        "MirrorDescent()",
        "FrankWolfe()",
        "TrustRegion()",
        "LevelSet(0.5)",
    )
}
# Seconds of the pictures are of processor time, so that it does not matter what else the machine does.
processor_clock = patch.dict(minimize.__wrapped__.__kwdefaults__, clock="processor")
CURVES = (
    "NewtonBundle()",
    "LevelSet()",
    "LevelSet(entropic=False)",
    "AnalyticCenter()",
    "AnalyticCenter(epigraph=False, proximal=0)",
    "Kelley()",
    "Kelley(chebyshev=True)",
    "ProximalBundle()",
    "SPG()",
    "SPG(tune_accuracy=True)",
    "Subgradient()",
    "Subgradient(polyak=True)",
    "ReducedGradient()",
    "FixedPoint()",
)
# These stand in the tables alone, as the picture is full. The ellipsoid method, which needs hundreds of expensive
# calls to reach 1e-1, is left out.
FURTHER = ("ProjectedGradient()", "QuasiNewton()", "MirrorDescent()", "FrankWolfe()")


def runs(X: np.ndarray, y: np.ndarray, names: tuple[str, ...], split: int = 0) -> dict[str, Result]:
    """Each generator on the training part of a split."""
    train = np.random.default_rng(split).permutation(len(y))[: int(0.7 * len(y))]
    oracle = MKLOracle(uci_bank(X[train]), y[train], C=100)
    results = {name: minimize(oracle, METHODS[name], max_calls=MAX_CALLS) for name in names}
    for result in results.values():
        standing_of(result, oracle)  # raises where a certificate is refused: no table is made of it
    return results


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
    for name in CURVES + FURTHER:
        if METHODS[name].refusal(Box([0], [1])) is None and name != "FixedPoint()":
            runs = []
            for case in cases:
                oracle = largest_piece(*case)
                runs.append(minimize(oracle, METHODS[name], max_calls=1000))
                standing_of(runs[-1], oracle)
            print(f"| `{name}` | " + " | ".join(str(run.n_calls) if run.success else "-" for run in runs) + " |")


def picture(runs: dict[str, list[Result]], tau: float, minimum: float | None = None) -> Figure:
    """Calls beside seconds, each method with its look, as wide as the column of a page."""
    figure = plot_runs(runs, tau=tau, minimum=minimum, order=tuple(METHODS), width=WIDTH)
    figure.set_dpi(DPI)
    return figure


def draw(several: list[dict[str, Result]], path: Path) -> None:
    """Proven gap against calls and against seconds, with the spread over the splits."""
    together = {name: [results[name] for results in several] for name in CURVES}
    save(picture(together, 1e-6), path, colors=128)


def save(figure: Figure, path: Path, colors: int) -> None:
    """Save a figure as a PNG of few colors: a third of the bytes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    picture.quantize(colors, method=Image.Quantize.MAXCOVERAGE, kmeans=4).save(path, optimize=True)


def main() -> None:
    """Make the picture and the tables."""
    X, target = load_breast_cancer(return_X_y=True)
    y = np.where(target == 0, 1, -1)
    minimize(MKLOracle(uci_bank(X[:50]), y[:50]), METHODS["Kelley()"], max_calls=3)  # loads what a first run loads
    with processor_clock:
        several = [runs(X, y, CURVES, split) for split in range(SPLITS)]
    draw(several, Path(__file__).parent / "images" / "curves.png")
    if sys.argv[1:] == ["--picture"]:
        return
    print_table("wdbc", runs(X, y, CURVES + FURTHER))
    for name in sys.argv[1:]:
        table = np.loadtxt(name, delimiter=",", skiprows=1)
        print_table(Path(name).stem, runs(table[:, :-1], table[:, -1], CURVES + FURTHER))
    print_pieces()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
