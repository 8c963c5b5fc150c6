"""Run the study behind docs/findings.md, and write the tables and the picture of that page.

    ORACLE_OPT_PROBLEMS=folder ORACLE_OPT_DATA=folder python docs/make_findings.py FOLDER [--jobs N] [--dry]

The generators at their defaults on the problem suite, as far as it has at most 200 variables: at most 500 calls and 5
seconds a run, each to a relative gap of 1e-6. FOLDER keeps the runs: the same command again does what is missing. With
--dry the tables are printed and nothing is written. Takes about half an hour on one core.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from threadpoolctl import threadpool_limits

from oracle_opt.problems import Problem, suite
from oracle_opt.study import GENERATORS, Limits, Results, Study
from oracle_opt.study.summary import certificates

DOCS = Path(__file__).parent
LARGEST = 200
LIMITS = Limits(calls=500, seconds=5.0)
TAU = (1e-2, 1e-4, 1e-6)
MIDDLE = 1e-4
CLOSE = 1.5  # times the fewest calls
# Left out: what asks once, and four first-order methods for which `SPG` and `Subgradient` stand.
LEFT_OUT = ("fixed-point", "frank-wolfe", "mirror-descent", "projected-gradient", "reduced-gradient")
METHODS = [name for name in GENERATORS if name not in LEFT_OUT]
DRAWN = [
    "analytic-center",
    "level-set",
    "newton-bundle",
    "kelley",
    "proximal-bundle",
    "spectral-bundle",
    "spg",
    "lbfgs",
]


def problems(families: list[str] | None) -> list[Problem]:
    """The suite without what is too large."""
    return [one for one in suite() if one.n <= LARGEST and (not families or one.family in families)]


def calls_of(results: Results, tau: float) -> pd.DataFrame:
    """Calls to an accuracy: a row an instance, a column a generator; infinite where a run did not get there."""
    return results.table(tau=tau).data.set_index("instance")[list(results.order)]


def markdown(head: list[str], rows: list[list[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def class_name(name: str) -> str:
    """As it is written in Python."""
    return f"`{GENERATORS[name].__name__}()`"


def of_generators(results: Results) -> str:
    """For each generator: what it serves, what it solves, and how often it is best or close to it."""
    served = results.runs[results.runs["status"] != "REFUSED"].groupby("generator").size()
    tables = {tau: calls_of(results, tau) for tau in TAU}
    middle = tables[MIDDLE]
    solved = middle[np.isfinite(middle).any(axis=1)]
    best = solved.min(axis=1)
    area = results.area().data[list(results.order)].mean()
    rows = []
    for name in sorted(results.order, key=lambda name: -area[name]):
        counts = [int(np.isfinite(tables[tau][name]).sum()) for tau in TAU]
        wins, close = int((solved[name] == best).sum()), int((solved[name] <= CLOSE * best).sum())
        rows.append([class_name(name), int(served.get(name, 0)), *counts, wins, close, f"{area[name]:.3f}"])
    head = [
        "generator",
        "serves",
        *(f"solves to {tau:g}" for tau in TAU),
        "fewest calls",
        f"within {CLOSE:g} x",
        "area",
    ]
    return markdown(head, rows)


def of_families(results: Results) -> str:
    """For each family: the three generators that are most often within 1.5 x of the fewest calls, and by area."""
    calls, runs = calls_of(results, MIDDLE), results.runs
    family = runs.drop_duplicates("instance").set_index("instance")["family"]
    areas = results.area().data.set_index("instance")[list(results.order)]
    rows = []
    for name in dict.fromkeys(runs["family"]):
        part = calls[family.reindex(calls.index) == name]
        solved = part[np.isfinite(part).any(axis=1)]
        if not len(solved):
            rows.append([name, len(part), 0, "-", "-"])
            continue
        close = solved.le(CLOSE * solved.min(axis=1), axis=0).sum().sort_values(ascending=False, kind="stable")
        first = [f"{class_name(one)} {close[one]}" for one in close.index[:3] if close[one]]
        mean = areas[family.reindex(areas.index) == name].mean().sort_values(ascending=False, kind="stable")
        by_area = [f"{class_name(one)} {mean[one]:.2f}" for one in mean.index[:3]]
        rows.append([name, len(part), len(solved), ", ".join(first), ", ".join(by_area)])
    head = ["family", "instances", f"solved to {MIDDLE:g} by some", f"within {CLOSE:g} x of the fewest calls", "area"]
    return markdown(head, rows)


def of_the_run(results: Results) -> str:
    """What was run."""
    runs = results.runs
    seconds = float(runs["seconds"].sum())
    counts = ", ".join(f"{count} {status}" for status, count in runs["status"].value_counts().items())
    known = runs[np.isfinite(runs["optimum"]) & np.isfinite(runs["lower_bound"])]
    slack = known["optimum_error"] + 1e-9 * np.maximum(1.0, known["optimum"].abs())
    wrong = int((known["lower_bound"] > known["optimum"] + slack).sum())
    return (
        f"{runs['instance'].nunique()} instances of {runs['family'].nunique()} families, 2 to {runs['n'].max()} "
        f"variables; {runs['generator'].nunique()} generators at their defaults; at most {LIMITS.calls} calls and "
        f"{LIMITS.seconds:g} s a run, to a proven relative gap of {TAU[-1]:g}, one thread, one seed, the start of each "
        f"instance. {len(runs)} runs in {seconds / 60:.0f} minutes: {counts}. Version {runs['version'].iloc[0]}, "
        f"{runs['machine'].iloc[0]}. Certificates: {certificates(runs)}. {len(known)} runs have a lower bound on an "
        f"instance whose minimum is known; it is above that minimum, beyond its stated error, in {wrong}."
    )


def draw(results: Results) -> None:
    """Profiles of the generators that can be read in one picture, relative to the best of all."""
    from dataclasses import replace

    curves = results.profile(tau=TAU)
    curves = replace(curves, data=curves.data[curves.data["name"].isin(DRAWN)])
    figure = curves.plot()
    FigureCanvasAgg(figure)
    figure.savefig(DOCS / "images" / "findings.png", dpi=110)


def splice(path: Path, sections: dict[str, str]) -> None:
    """Put sections between their marks, each of which the page must have once."""
    text = path.read_text()
    for name, section in sections.items():
        marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text, count = marked.subn(lambda match, section=section: f"{match[1]}\n{section}\n\n{match[2]}", text)
        if count != 1:
            raise ValueError(f"{path} must have the marks of {name} once, got {count}")
    path.write_text(text)


def main() -> None:
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps the runs")
    parser.add_argument("--only", nargs="+", metavar="FAMILY", help="these families alone")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, default 1")
    parser.add_argument("--dry", action="store_true", help="print the tables instead of writing them")
    asked = parser.parse_args()
    chosen = problems(asked.only)
    results = Study(chosen, METHODS, limits=LIMITS, tau=TAU).run(asked.folder, jobs=asked.jobs)
    findings = {"run": of_the_run(results), "generators": of_generators(results), "families": of_families(results)}
    if asked.dry:
        print("\n\n".join(findings.values()))
        return
    splice(DOCS / "findings.md", findings)
    draw(results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
