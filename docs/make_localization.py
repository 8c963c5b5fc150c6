"""Draw the pictures of docs/localization.md and write its table.

    python docs/make_localization.py

The first listing of the page makes `oracle` and `start`; each method runs on it to a gap of 1e-4.
"""

import re
from pathlib import Path

from localization_pictures import plot_localization, trace_localization
from localization_pictures.plot import draw_step
from make_curves import save
from make_gallery import splice
from matplotlib.figure import Figure

from oracle_opt import Oracle, QueryPointGenerator, Result, minimize
from oracle_opt.certificates.proof_level import standing_of
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle

DOCS = Path(__file__).parent
METHODS: tuple[QueryPointGenerator, ...] = (Kelley(), LevelSet(), AnalyticCenter(), Ellipsoid(), ProximalBundle())
CALLS = (2, 4, 6, 9)
FILMS = {"Kelley": 12, "AnalyticCenter": 10}  # so many calls
WANTED = 1e-4


def problem(page: str) -> tuple[Oracle, list[float]]:
    """Oracle and start that the first listing makes."""
    listing = re.search(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    if listing is None:
        raise ValueError("the page must have a listing")
    namespace: dict = {}
    exec(listing[1], namespace)
    return namespace["oracle"], namespace["start"]


def measure(oracle: Oracle, start: list[float]) -> dict[str, Result]:
    """Each method, by the name of its class."""
    results = {
        type(method).__name__: minimize(oracle, method, start, rtol=WANTED, keep_cuts=True) for method in METHODS
    }
    for result in results.values():
        standing_of(result, oracle)  # raises where a certificate is refused: no table is made of it
    return results


def table(oracle: Oracle, results: dict[str, Result]) -> str:
    """Share of the domain that is left, and calls to two gaps."""
    lines = [
        f"| | {' | '.join(f'left after {k}' for k in CALLS)} | calls to 1e-2 | calls to 1e-4 |",
        "|---" * (len(CALLS) + 3) + "|",
    ]
    for name, result in results.items():
        shares = [f"{100 * step.share:.2g} %" for step in trace_localization(result, oracle.domain, CALLS).steps]
        calls = [str(result.history.calls_to(gap)) for gap in (1e-2, WANTED)]
        lines.append(f"| `{name}()` | {' | '.join(shares + calls)} |")
    return "\n".join(lines)


def draw(oracle: Oracle, results: dict[str, Result], path: Path) -> None:
    """One row a method, one column a call."""
    figure = Figure(figsize=(9.6, 1.95 * len(results)), dpi=100, layout="constrained")
    panels = figure.subplots(len(results), len(CALLS))
    for row, (name, result) in zip(panels, results.items(), strict=True):
        data = trace_localization(result, oracle, CALLS)
        for panel, step in zip(row, data.steps, strict=True):
            draw_step(panel, data, step)
            panel.title.set_fontsize(7.5)
            panel.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    save(figure, path, colors=32)


def main() -> None:
    """Make the pictures and the table."""
    page = DOCS / "localization.md"
    oracle, start = problem(page.read_text())
    results = measure(oracle, start)
    draw(oracle, results, DOCS / "images" / "localization.png")
    for name, n_calls in FILMS.items():
        film = DOCS / "images" / f"localization_{name}.gif"
        plot_localization(results[name], oracle, range(1, n_calls + 1), film=film, seconds=1.0)
    splice(page, "measured", table(oracle, results))


if __name__ == "__main__":
    main()
