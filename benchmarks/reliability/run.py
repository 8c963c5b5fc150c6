"""Try what nobody has tried: random problems, liars, kills, damage; count what fails.

    python benchmarks/reliability/run.py                          every campaign in full; rewrites docs/reliability.md
    python benchmarks/reliability/run.py --only svm_solves --count 1000 --seed 7    a part, printed and not kept
    python benchmarks/reliability/run.py --only svm_solves --keep                   one campaign in full, its row kept

A campaign is a file of this folder with UNIT (what is counted), FULL and SMALL (trials of the full run and of the
tests), and `run(count, seed, tally)`, which makes `count` trials from one seed. A run is cut into parts, each of a seed
of its own and in a process with one thread of linear algebra: its figures do not depend on the number of processes.
The exit code is 1 if anything failed.
"""

import argparse
import datetime
import importlib
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

PAGE = HERE.parents[1] / "docs" / "reliability.md"
PARTS = 40  # of a full run


def campaigns():
    """Names of all campaigns, sorted."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run" and not path.stem.startswith("_"))


def part(name, count, seed):
    """One part of a campaign: its tally and its seconds."""
    from _tally import Tally

    tally, began = Tally(), perf_counter()
    importlib.import_module(name).run(count, seed, tally)
    return tally, perf_counter() - began


def campaign(name, count, seed, jobs):
    """All of a campaign: its tally and the seconds of its parts together."""
    from _tally import Tally

    sizes = [count // PARTS + (i < count % PARTS) for i in range(PARTS)]
    whole, seconds = Tally(), 0.0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(part, name, size, 1000 * seed + i) for i, size in enumerate(sizes) if size]
        for done, task in enumerate(as_completed(tasks), 1):
            tally, took = task.result()
            whole.add(tally)
            seconds += took
            print(
                f"{name}: {done} of {len(tasks)} parts, {whole.tried} tried, {whole.failed} failed, {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    return whole, seconds


def tables(noun, numbers):
    """Lines of Markdown: a table of names in two parts, as `flip, refused`; a sentence, or a table, of the others."""
    parts = {name: tuple(re.split(": " if ": " in name else ", ", name, maxsplit=1)) for name in numbers}
    parts = {name: pair for name, pair in parts.items() if len(pair) == 2}
    often = {second for _, second in parts.values() if sum(pair[1] == second for pair in parts.values()) > 1}
    known = {first for first, second in parts.values() if second in often}
    cells = {name: (first, second) for name, (first, second) in parts.items() if second in often or first in known}
    if len(cells) < 4:
        cells = {}
    lines = []
    if cells:
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*cells.values(), strict=True))
        at = {pair: numbers[name] for name, pair in cells.items()}
        if len(columns) > len(rows):
            rows, columns, at = columns, rows, {pair[::-1]: number for pair, number in at.items()}
        lines = [f"| {noun} | {' | '.join(columns)} |", "|" + "---|" * (len(columns) + 1)]
        lines += [f"| {row} | {' | '.join(at.get((row, column), '') for column in columns)} |" for row in rows]
    rest = {name: number for name, number in numbers.items() if name not in cells}
    if rest:
        lines += [""] * bool(lines)
        if len(rest) > 6:
            lines += [f"| {noun} | |", "|---|---|", *(f"| {name} | {number} |" for name, number in rest.items())]
        else:
            lines.append(f"{noun.capitalize()}: {', '.join(f'{name} {number}' for name, number in rest.items())}.")
    return lines


def section(name, tally, seconds):
    """Markdown of one campaign, between the marks that `keep` replaces."""
    from _shared import commit

    module = importlib.import_module(name)
    made = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, commit {commit()}, {seconds:.0f} s of one processor."
    lines = [f"**{tally.tried} {module.UNIT}, {tally.failed} failed.** {made}"]
    errors = {what: f"{size:.1e}" for what, size in sorted(tally.largest.items())}
    counts = {what: str(n) for what, n in sorted(tally.counts.items())}
    for noun, numbers in (("largest error", errors), ("seen", counts)):
        if numbers:
            lines += ["", *tables(noun, numbers)]
    if tally.examples:
        lines += ["", *(f"- failed: {words}" for words in tally.examples)]
    return "\n".join(lines)


def keep(name, text):
    """Write one campaign's section into the page; the page says in its own words what the campaign tries."""
    from oracle_opt.files import atomic_text

    page = PAGE.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if len(marks.findall(page)) != 1:
        raise SystemExit(f"{PAGE} must have the marks of {name}, `begin` and `end`, once")
    atomic_text(PAGE, marks.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page))


def main():
    """Run what is asked for; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=campaigns(), metavar="NAME", help=", ".join(campaigns()))
    options.add_argument("--count", type=int, help="trials of each campaign; the page stays as it is without --keep")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--keep", action="store_true", help="write the figures into the page also of a part")
    chosen = options.parse_args()
    failed = 0
    for name in chosen.only or campaigns():
        count = importlib.import_module(name).FULL if chosen.count is None else chosen.count
        tally, seconds = campaign(name, count, chosen.seed, chosen.jobs)
        text = section(name, tally, seconds)
        print(f"## {name}\n\n{text}\n", flush=True)
        if chosen.keep or (chosen.only is None and chosen.count is None):
            keep(name, text)
        failed += tally.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
