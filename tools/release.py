"""Run what a release has to pass, and keep the outcomes on the page of reliability: `python tools/release.py`.

    python tools/release.py                        all commands, in order, hours; also after one that failed
    python tools/release.py --only wheel oldest    some of them; the rows of the others stay

Each is a `make` command. Its row has what pytest counted last, or else its exit code, and is written as soon as the
command has ended; versions are those that a command prints, or else those of this interpreter. The exit code is 1
where a command failed.
"""

import argparse
import datetime
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _shared import ROOT, commit
from run import splice, version

from oracle_opt.files import atomic_text

PAGE = ROOT / "docs" / "reliability.md"
NAMES = ("test", "newest", "wheel", "oldest", "sanitize", "site", "campaigns")
HEADINGS = ("command", "outcome", "minutes", "date", "commit", "Python, NumPy, SciPy")
COUNTED = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+s", re.MULTILINE)  # by pytest
TRIED = re.compile(r"^tried with (.*)$", re.MULTILINE)  # tools/check_wheel.py


def followed(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a command; the output is passed on as it comes."""
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return running.returncode, "".join(lines)


def row(command: str, made: str, code: int, output: str, seconds: float) -> tuple[str, ...]:
    """Cells of a command that has ended."""
    counted = COUNTED.findall(output)
    outcome = "; ".join([f"**exit code {code}**"] * bool(code) + counted[-1:]) or "exit code 0"
    here = f"{platform.python_version()}, {version('numpy')}, {version('scipy')}"
    tried = TRIED.findall(output)
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    return f"`{command}`", outcome, f"{seconds / 60:.1f}", today, made, tried[-1] if tried else here


def merged(page: str, cells: tuple[str, ...], order: list[str]) -> str:
    """The page with a row in place of the one of the same command, or beside the others, in order."""
    section = page.partition("<!-- begin release -->")[2].partition("<!-- end release -->")[0]
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in section.splitlines() if line.startswith("| `")}
    rows[cells[0]] = f"| {' | '.join(cells)} |"
    known = [f"`{command}`" for command in order]
    kept = sorted(rows, key=lambda name: known.index(name) if name in known else len(known))
    lines = (f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|", *(rows[name] for name in kept))
    return splice(page, "release", "\n".join(lines))


def main() -> int:
    """Run what is asked for; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    chosen = options.parse_args()
    splice(PAGE.read_text(encoding="utf-8"), "release", "")  # hours must not end at a missing mark
    rows = []
    for name in (name for name in NAMES if name in chosen.only):
        made, began = commit(), time.monotonic()  # there may be others before it ends
        code, output = followed(["make", name])
        rows.append((row(f"make {name}", made, code, output, time.monotonic() - began), code))
        page = PAGE.read_text(encoding="utf-8")  # anew: it may have been edited meanwhile
        atomic_text(PAGE, merged(page, rows[-1][0], [f"make {one}" for one in NAMES]))
    for cells in (HEADINGS, ("---",) * len(HEADINGS), *(cells for cells, _ in rows)):
        print(f"| {' | '.join(cells)} |")
    return int(any(code for _, code in rows))


if __name__ == "__main__":
    sys.exit(main())
