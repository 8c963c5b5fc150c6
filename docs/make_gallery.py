"""Draw the pictures of docs/gallery/, write the tables of its pages and the one of docs/how_to_choose.md.

    python docs/make_gallery.py [PAGE ...]

The first listing of a page makes an `oracle`, and a `start` if it needs one. Each method of the page runs on it to the
page's gap: one curve and one row, seconds of processor time, medians of three runs. With names of pages only these are
made anew, and the table of docs/how_to_choose.md, which needs all of them, stays.
"""

import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import matplotlib as mpl
import numpy as np
from make_curves import CURVES, FURTHER, save
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from oracle_opt import Oracle, QueryPointGenerator, Result, minimize
from oracle_opt.generators import LBFGS, Ellipsoid, FixedPoint, SpectralBundle
from oracle_opt.oracles import SMOMKL, NewtonMKL

DOCS = Path(__file__).parent
FOLDER = DOCS / "gallery"
MAX_CALLS = 500
REPEATS = 3
LISTING = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
METHODS: Mapping[str, tuple[QueryPointGenerator, str, str]] = {
    **CURVES,
    **FURTHER,
    "Ellipsoid()": (Ellipsoid(), "#888888", "-"),
    "SpectralBundle()": (SpectralBundle(), "#000000", "-"),
    "LBFGS()": (LBFGS(), "#882255", "--"),
    "FixedPoint(updates=True)": (FixedPoint(updates=True), "#000000", "--"),
    "NewtonMKL()": (NewtonMKL(), "#332288", "--"),
    "SMOMKL()": (SMOMKL(), "#661100", "-"),
}


@dataclass(frozen=True)
class Page:
    """What runs on a page: the relative gap asked (where nothing is proven, the projected gradient), names of methods.

    The first of them is the one to begin with, and `why` says why in how_to_choose.md.
    """

    tolerance: float
    names: tuple[str, ...]
    why: str


L1 = ("NewtonBundle()", "LevelSet()", "AnalyticCenter()", "ProximalBundle()", "Kelley()", "SPG()")
BY_LEVEL = ("LevelSet()", "ProximalBundle()", "AnalyticCenter()", "Kelley()")
BY_BUNDLE = ("ProximalBundle()", "LevelSet()", "AnalyticCenter()", "Kelley()")
BY_CENTER = ("AnalyticCenter()", "ProximalBundle()", "LevelSet()", "Kelley()")
SUBGRADIENT = "Subgradient(polyak=True)"
PAGES = {
    "mkl": Page(1e-6, L1, "curvature of the support vector machine: quadratic at the end"),
    "mkl_squared_hinge": Page(1e-6, L1, "the same"),
    "mkl_regression": Page(1e-6, L1, "the same"),
    "mkl_one_class": Page(1e-6, L1, "the same"),
    "gmkl_sum": Page(
        1e-6,
        ("SPG()", "LBFGS()", "LevelSet()", "QuasiNewton()", "ProjectedGradient()", "Subgradient(polyak=True)"),
        "smooth, and every call proves a bound: no master problem is needed",
    ),
    "gmkl_product": Page(
        1e-2,
        ("LBFGS()", "SPG()", "QuasiNewton()", "ProjectedGradient()", "Subgradient()"),
        "not convex: only descent serves, with curvature from its own steps",
    ),
    "mixed_norm": Page(
        1e-4, (*BY_LEVEL, "SPG()", "FixedPoint(updates=True)"), "few calls, each of which is several SVMs"
    ),
    "lp_mkl": Page(
        1e-6,
        ("NewtonMKL()", "SMOMKL()", "SPG()", "FixedPoint(updates=True)", "LBFGS()", "LevelSet()"),
        "the default of `solve_lp_mkl`; of the generators, `SPG()`",
    ),
    "conic_quadratic": Page(
        1e-6, ("Kelley()", "AnalyticCenter()", "LevelSet()", "ProximalBundle()"), "its cuts carry those of the squares"
    ),
    "conic_semidefinite": Page(1e-5, BY_CENTER, "deep interior points: steadier on larger ones, see below"),
    "conic_second_order": Page(1e-6, BY_BUNDLE, "few variables and many half-spaces per call"),
    "conic_exponential": Page(1e-6, BY_BUNDLE, "the same"),
    "max_eigenvalue": Page(1e-5, ("SpectralBundle()", *BY_LEVEL, SUBGRADIENT), "eigenvectors and curvature"),
    "benders": Page(1e-6, (*BY_BUNDLE, "Ellipsoid()"), "piecewise linear: ends at a vertex"),
    "held_karp": Page(1e-6, (*BY_BUNDLE, SUBGRADIENT), "piecewise linear: ends at a vertex"),
    "generalized_assignment": Page(1e-6, (*BY_BUNDLE, SUBGRADIENT), "the same; `LevelSet()` for many jobs, see below"),
    "facility_location": Page(1e-6, (*BY_LEVEL, SUBGRADIENT), "calls hardly grow with the customers"),
    "multicommodity_flow": Page(1e-6, BY_BUNDLE, "few prices are not zero; `AnalyticCenter()` on larger networks"),
    "cvxpy_value": Page(1e-5, BY_LEVEL, "a simplex: its entropic metric fits"),
}


@dataclass(frozen=True)
class Measured:
    """One run of a method, and the median seconds of all."""

    result: Result
    seconds: float


def answer(oracle: Oracle, start: np.ndarray | None, method: QueryPointGenerator, page: Page) -> Result:
    """One run to the tolerance of the page."""
    tolerances = {"rtol": page.tolerance} if oracle.convex else {"rtol": 0.0, "gtol": page.tolerance}
    return minimize(oracle, method, start, **tolerances, max_calls=MAX_CALLS)


def measure(page: str) -> tuple[bool, dict[str, Measured]]:
    """Run the listing of a page and all its methods; tell whether its oracle is convex, too."""
    namespace = {"__name__": "example"}
    with redirect_stdout(sys.stderr):
        exec(LISTING.search((FOLDER / f"{page}.md").read_text())[1], namespace)
    oracle, runs = namespace["oracle"], {}
    for name in PAGES[page].names:
        seconds = []
        for _ in range(REPEATS):
            began = process_time()
            result = answer(oracle, namespace.get("start"), METHODS[name][0], PAGES[page])
            seconds.append(process_time() - began)
        runs[name] = Measured(result, float(np.median(seconds)))
        print(f"{page}: {name} {result.n_calls} calls, {runs[name].seconds:.2g} s", file=sys.stderr)
    return oracle.convex, runs


def draw(convex: bool, runs: dict[str, Measured], tolerance: float, path: Path) -> None:
    """Proven relative gap against oracle calls; where nothing is proven, the excess over the best value of all."""
    least = tolerance if convex else 1e-5
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(6.2, 2.9), dpi=110, layout="constrained")
        ax = figure.subplots()
        best = min(run.result.upper_bound for run in runs.values())
        for name, run in runs.items():
            history = run.result.history
            gaps = history.relative_gap if convex else (history.upper_bound - best) / abs(best)
            gaps = np.where(gaps < 10, np.maximum(gaps, least / 5), np.nan)  # what is smaller is on the lower edge
            _, color, dashes = METHODS[name]
            ax.plot(history.call, gaps, color=color, ls=dashes, lw=1.6, label=name.removesuffix("()"))
            if run.result.success and np.isfinite(gaps[-1]):
                ax.plot(history.call[-1], gaps[-1], "o", ms=4, color=color, clip_on=False, zorder=3)
        if convex:
            ax.axhline(tolerance, color="0.45", lw=0.8, zorder=1)
        ax.set(xscale="log", yscale="log", xlabel="oracle calls", xlim=(0.9, None), ylim=(least / 5, None))
        ax.set_ylabel("proven relative gap" if convex else "above the best value, relative")
        ax.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
        ax.minorticks_off()
        ax.grid(color="#dddddd", lw=0.6)
        figure.legend(loc="outside right center", frameon=False)
        save(figure, path, colors=64)


def power(tolerance: float) -> str:
    """Return a power of ten, as 1e-6."""
    return f"{tolerance:.0e}".replace("e-0", "e-")


def table(convex: bool, runs: dict[str, Measured], tolerance: float) -> str:
    """Rows of a page; a dash where a run ended before it reached the tolerance."""
    goal = "proven relative gap" if convex else "projected gradient"
    heading = "gap at the end" if convex else "value at the end"
    lines = [
        f"To a {goal} of {power(tolerance)}, at most {MAX_CALLS} calls:\n",
        f"| generator | oracle calls | seconds | {heading} |",
        "|---|---|---|---|",
    ]
    for name, run in runs.items():
        calls = run.result.n_calls if run.result.success else "-"
        end = f"{run.result.relative_gap:.0e}" if convex else f"{run.result.upper_bound:.6g}"
        lines.append(f"| `{name}` | {calls} | {run.seconds:.2g} | {end} |")
    return "\n".join(lines)


def choice(page: str, runs: dict[str, Measured]) -> str:
    """Row of a page in how_to_choose.md: the first method, and all others that reached the tolerance, by calls."""
    first, *_ = PAGES[page].names
    words = {name: f"{run.result.n_calls}, {run.seconds:.2g} s" for name, run in runs.items() if run.result.success}
    rest = sorted(words.keys() - {first}, key=lambda name: runs[name].result.n_calls)
    failed = [f"`{name}` -" for name in PAGES[page].names if name not in words]
    others = "; ".join([f"`{name}` {words[name]}" for name in rest] + failed)
    title = (FOLDER / f"{page}.md").read_text().partition("\n")[0].removeprefix("# ")
    link = f"[{title}](gallery/{page}.md)"
    return f"| {link} | {power(PAGES[page].tolerance)} | `{first}` | {PAGES[page].why} | {words[first]} | {others} |"


def splice(path: Path, name: str, section: str) -> None:
    """Put a section between its marks, which the page must have once."""
    marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    text, count = marked.subn(lambda match: f"{match[1]}\n{section}\n\n{match[2]}", path.read_text())
    if count != 1:
        raise ValueError(f"{path} must have the marks of {name} once, got {count}")
    path.write_text(text)


def main() -> None:
    """Make what is asked for."""
    rows = []
    for page in sys.argv[1:] or PAGES:
        convex, runs = measure(page)
        draw(convex, runs, PAGES[page].tolerance, FOLDER / f"{page}.png")
        splice(FOLDER / f"{page}.md", "measured", table(convex, runs, PAGES[page].tolerance))
        rows.append(choice(page, runs))
    if len(sys.argv) == 1:
        heading = "| oracle | to a gap of | first choice | why | its calls, seconds | the others |"
        splice(DOCS / "how_to_choose.md", "gallery", "\n".join([heading, "|---" * 6 + "|", *rows]))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
