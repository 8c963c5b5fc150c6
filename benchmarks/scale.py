"""Many kernels, many points: seconds, memory, calls and proven gaps, each row in a process of its own.

    ORACLE_OPT_DATA=folder python benchmarks/scale.py                       # all rows, and the growth
    python benchmarks/scale.py widths-1e6 covertype                         # some of them, by name
    python benchmarks/scale.py covertype --n 20000                          # fewer points
    python benchmarks/scale.py covertype --journal run.journal              # killed, the same command goes on
    python benchmarks/scale.py covertype --journal run.journal --kill-after 60   # kills it once and starts it again
    python benchmarks/scale.py growth-p growth-n --figure docs/images/scale_growth.png

Prints Markdown tables; progress goes to stderr. Kernels are RBF of unit trace on standardized features; hinge loss; to
a proven relative gap of 1e-3. "s" are processor seconds, user and system, of making the bank and solving; "process"
those of the whole process, Python's start and reading the data included, and "peak" its largest resident memory, both
as the system tells the parent (`_watched.py`). One thread, unless OMP_NUM_THREADS says more.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import _scale_rows
import _watched
from _scale_rows import GROWTH, ROWS
from _shared import say, table

HEADINGS = ("row", "problem", "s", "process, s", "peak, GiB", "calls", "gap", "goal", "prototype", "paper")
GROWTH_HEADINGS = ("growth of", "sizes", "s", "peak, GiB", "exponent", "last step's")


@dataclass(frozen=True)
class Measured:
    """What a process did.

    Attributes
    ----------
    found : dict
        What it printed.
    seconds : float
        Its processor seconds, all starts together.
    peak : float
        Its largest resident memory, GiB.
    starts : int
        How often it was started.
    """

    found: dict
    seconds: float
    peak: float
    starts: int


def watched(command, kill_after=None):
    """Run a command; with `kill_after`, kill it after so many seconds of the clock, and run it once more."""
    seconds, peak = 0.0, 0.0
    limit = "" if kill_after is None else str(kill_after)
    for start in (1, 2):
        launcher = [sys.executable, "-S", _watched.__file__, limit if start == 1 else "", *command]
        told = json.loads(subprocess.run(launcher, stdout=subprocess.PIPE, text=True, check=True).stdout)
        seconds += told["seconds"]
        peak = max(peak, told["peak"])
        if not told["killed"]:
            break
        say(f"killed after {kill_after:g} s; started again")
    if told["code"]:
        raise SystemExit(f"{' '.join(command)} ended with {told['code']}")
    return Measured(json.loads(told["printed"].splitlines()[-1]), seconds, peak, start)


def measured(problem, journal=None, kill_after=None):
    """Have a process of its own solve a problem."""
    command = [sys.executable, _scale_rows.__file__, json.dumps(asdict(problem)), *([journal] if journal else [])]
    return watched(command, kill_after)


def row(name, problem, chosen):
    """One row of the table."""
    words = ROWS[name]
    done = measured(problem, chosen.journal, chosen.kill_after)
    found = done.found
    label = found["words"] + (f", started {done.starts} times" if done.starts > 1 else "")
    figures = f"{found['s']:.3g}", f"{done.seconds:.3g}", f"{done.peak:.2f}", found["calls"], f"{found['gap']:.0e}"
    whole = problem == words.problem
    cells = name, label, *figures, *((words.goal, words.prototype, words.paper) if whole else ("", "", ""))
    say(" | ".join(map(str, cells)))
    return cells


def growth(name, quick):
    """Lines of the table of growth, and the points of its curve."""
    problem, field, sizes = GROWTH[name]
    sizes = sizes[:2] if quick else sizes
    seconds, peaks = [], []
    for size in sizes:
        done = measured(replace(problem, **{field: size}))
        seconds.append(done.found["s"])
        peaks.append(done.peak)
        say(f"{name} {size}: {seconds[-1]:.3g} s, {peaks[-1]:.2f} GiB, gap {done.found['gap']:.0e}")
    slope, last = _scale_rows.exponent(sizes, seconds), _scale_rows.exponent(sizes[-2:], seconds[-2:])
    norm = problem.norm if problem.norm == "l1" else f"p = {problem.norm}"
    of = f"{problem.data}, {problem.kernels}, {norm}"
    cells = (
        f"{'kernels' if field == 'p' else 'points'}: {of}",
        ", ".join(f"{size:,}" for size in sizes),
        ", ".join(f"{s:.3g}" for s in seconds),
        ", ".join(f"{peak:.2f}" for peak in peaks),
        f"{slope:.2f}",
        f"{last:.2f}",
    )
    return cells, (field, of, sizes, seconds)


def main():
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="ROW", help=", ".join([*ROWS, *GROWTH]))
    options.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options.add_argument("--n", type=int, help="take so many points")
    options.add_argument("--p", type=int, help="take so many kernels")
    options.add_argument("--journal", help="keep the cuts of the run here, and go on from those that are kept")
    options.add_argument("--kill-after", type=float, help="kill the row after so many seconds, and start it again")
    options.add_argument("--figure", help="draw the growth into this file")
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in {**ROWS, **GROWTH}]
    if unknown:
        options.error(f"there is no row {unknown[0]!r}; known are {', '.join([*ROWS, *GROWTH])}")
    names = chosen.names or [*ROWS, *GROWTH]
    if chosen.journal and (len(names) > 1 or names[0] not in ROWS):
        options.error("a journal belongs to one row: name it")
    if chosen.kill_after is not None and not chosen.journal:
        options.error("a row that is killed goes on from its --journal: name one")
    rows, growths, curves = [], [], []
    for name in names:
        problem = ROWS[name].problem if name in ROWS else GROWTH[name][0]
        reason = _scale_rows.missing(problem)
        if reason:
            print(f"Left out: {name}, as {reason}\n")
            continue
        if chosen.quick:
            problem = _scale_rows.small(problem)
        if name in ROWS:
            problem = replace(problem, n=chosen.n or problem.n, p=chosen.p or problem.p)
            rows.append(row(name, problem, chosen))
        else:
            cells, curve = growth(name, chosen.quick)
            growths.append(cells)
            curves.append(curve)
    if rows:
        table(HEADINGS, rows)
    if growths:
        table(GROWTH_HEADINGS, growths)
    if curves and chosen.figure:
        _scale_rows.draw(curves, Path(chosen.figure))


if __name__ == "__main__":
    main()
