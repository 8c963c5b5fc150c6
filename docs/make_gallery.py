"""Draw the pictures of docs/gallery/, write the tables of its pages and the one of docs/how_to_choose.md.

    python docs/make_gallery.py [--pictures] [PAGE ...]

The listings of a page make an `oracle`, and where it needs them a `start`, a `plain` oracle of the same function, and a
`figure` of what was found, which becomes PAGE_fit.png. Each method of the page runs on the oracle to the page's gap,
three times: one curve, whose band over seconds is the spread of the clock, and one row, seconds of processor time,
medians. With names of pages only these are made anew, and the table of docs/how_to_choose.md, which
needs all of them, stays; with --pictures all tables stay.
"""

import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
from make_curves import METHODS, picture, processor_clock, save
from threadpoolctl import threadpool_limits

from oracle_opt import Oracle, QueryPointGenerator, Result, minimize
from oracle_opt.certificates.proof_level import standing_of

DOCS = Path(__file__).parent
FOLDER = DOCS / "gallery"
MAX_CALLS = 500
REPEATS = 3
LISTING = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


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
PLAIN = " on the plain sum"
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
    "auc": Page(
        1e-6,
        ("LevelSet(0.5)", "LevelSet()", "ProximalBundle()", "Kelley()", f"ProximalBundle(){PLAIN}", "AnalyticCenter()"),
        "the quadratic is known and taken as it is: the default",
    ),
    "quantile": Page(1e-6, BY_BUNDLE, "the norm is known, the rest piecewise linear: ends at a vertex"),
}


@dataclass(frozen=True)
class Measured:
    """The runs of a method, which differ in their seconds alone, the median seconds of processor time, and what the
    certificate of the first is worth.
    """

    results: tuple[Result, ...]
    seconds: float
    certificate: str

    @property
    def result(self) -> Result:
        """The first of them."""
        return self.results[0]


def answer(oracle: Oracle, start: np.ndarray | None, method: QueryPointGenerator, page: Page) -> Result:
    """One run to the tolerance of the page."""
    tolerances = {"rtol": page.tolerance} if oracle.convex else {"rtol": 0.0, "gtol": page.tolerance}
    return minimize(oracle, method, start, **tolerances, max_calls=MAX_CALLS)


def measure(page: str) -> tuple[bool, dict[str, Measured]]:
    """Run the listing of a page and all its methods; tell whether its oracle is convex, too."""
    namespace = {"__name__": "example"}
    with redirect_stdout(sys.stderr):
        for listing in LISTING.findall((FOLDER / f"{page}.md").read_text()):
            exec(listing, namespace)
    if "figure" in namespace:
        save(namespace["figure"], FOLDER / f"{page}_fit.png", colors=96)
    oracle, runs = namespace["oracle"], {}
    for name in PAGES[page].names:
        results, seconds = [], []
        asked = namespace["plain"] if name.endswith(PLAIN) else oracle
        for _ in range(REPEATS):
            began = process_time()
            with processor_clock:
                results.append(answer(asked, namespace.get("start"), METHODS[name.removesuffix(PLAIN)], PAGES[page]))
            seconds.append(process_time() - began)
        certificate = standing_of(results[0], asked).value  # raises where it is refused: no table is made of it
        runs[name] = Measured(tuple(results), float(np.median(seconds)), certificate)
        print(f"{page}: {name} {results[0].n_calls} calls, {runs[name].seconds:.2g} s", file=sys.stderr)
    return oracle.convex, runs


def draw(convex: bool, runs: dict[str, Measured], tolerance: float, path: Path) -> None:
    """Proven gap against calls and seconds; where nothing is proven, the excess over the best value of all."""
    best = None if convex else min(run.result.upper_bound for run in runs.values())
    results = {name: list(run.results) for name, run in runs.items()}
    tau = tolerance if convex else 1e-5
    save(picture(results, tau, best), path, colors=96)


def power(tolerance: float) -> str:
    """Return a power of ten, as 1e-6."""
    return f"{tolerance:.0e}".replace("e-0", "e-")


def table(convex: bool, runs: dict[str, Measured], tolerance: float) -> str:
    """Rows of a page; a dash where a run ended before it reached the tolerance."""
    goal = "proven relative gap" if convex else "projected gradient"
    heading = "gap at the end" if convex else "value at the end"
    lines = [
        f"To a {goal} of {power(tolerance)}, at most {MAX_CALLS} calls:\n",
        f"| generator | oracle calls | seconds | {heading} | [certificate](../certificates.md) |",
        "|---|---|---|---|---|",
    ]
    for name, run in runs.items():
        calls = run.result.n_calls if run.result.success else "-"
        end = f"{run.result.relative_gap:.0e}" if convex else f"{run.result.upper_bound:.6g}"
        lines.append(f"| `{name}` | {calls} | {run.seconds:.2g} | {end} | {run.certificate} |")
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
    rows, pictures_alone = [], "--pictures" in sys.argv[1:]
    named = [word for word in sys.argv[1:] if word != "--pictures"]
    for page in named or PAGES:
        convex, runs = measure(page)
        draw(convex, runs, PAGES[page].tolerance, FOLDER / f"{page}.png")
        if not pictures_alone:
            splice(FOLDER / f"{page}.md", "measured", table(convex, runs, PAGES[page].tolerance))
        rows.append(choice(page, runs))
    if not named and not pictures_alone:
        heading = "| oracle | to a gap of | first choice | why | its calls, seconds | the others |"
        splice(DOCS / "how_to_choose.md", "gallery", "\n".join([heading, "|---" * 6 + "|", *rows]))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
