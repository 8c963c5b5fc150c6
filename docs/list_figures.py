"""List the measured tables of the documentation, the stalest first: how much of the code they measure changed since.

    python docs/list_figures.py          (make figures)

A measured table stands between the marks `begin NAME` and `end NAME` of a page. Its commit is the one that its caption
states, or else, and where that is not in the history, the one that wrote its newest line. The code it measures is all
that its script loads, followed as in `make_tour.py`, with the compiled files beside that.
"""

import ast
import datetime
import re
import subprocess
from functools import cache
from pathlib import Path

from make_tour import DOCS, ROOT, closure, defining, modules, sources, statements

SECTION = re.compile(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
SCRIPTS = ("benchmarks", "benchmarks/reliability", "docs")
MAKERS = {  # of sections whose script has another name
    "machine": "benchmarks/run.py",
    "gallery": "docs/make_gallery.py",
}


def git(*words: str) -> list[str]:
    """Lines that git answers."""
    answer = subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=ROOT)
    return answer.stdout.splitlines()


def script_of(page: Path, name: str) -> Path | None:
    """The script that makes a section: of its name, or that of the page."""
    names = [MAKERS[name]] if name in MAKERS else [f"{folder}/{name}.py" for folder in SCRIPTS]
    names += [f"docs/make_{page.stem}.py"] + ["docs/make_gallery.py"] * (page.parent.name == "gallery")
    return next((ROOT / name for name in names if (ROOT / name).is_file()), None)


def measured(script: Path) -> list[Path]:
    """The script, the scripts beside it that it imports, and the files of the library that they load."""
    scripts, files, waiting = {script}, set(), [script]
    while waiting:
        for node in statements(ast.parse(waiting.pop().read_text()), loaded=False):
            beside = script.parent / f"{node.module}.py"
            if beside.is_file() and beside not in scripts:
                scripts.add(beside)
                waiting.append(beside)
            for alias in node.names:
                if found := defining(str(node.module), alias.name):
                    files |= {modules()[name] for name in closure(found)}
    folders = {path.parent for path in files}
    return sorted(scripts | files | {path for path in sources((".pyx", ".pxd", ".h")) if path.parent in folders})


@cache
def history() -> list[str]:
    """All commits that led here."""
    return git("log", "--format=%H")


def commit_of(page: Path, section: str) -> str:
    """The commit of a section: stated, or that of its newest line."""
    stated = re.search(r"commit ([0-9a-f]{7,40})", section)
    if stated and any(commit.startswith(stated[1]) for commit in history()):
        return stated[1]
    text = page.read_text()
    first = text[: text.index(section)].count("\n") + 1
    blamed = git("blame", "-s", f"-L{first},+{max(section.count(chr(10)), 1)}", "--", str(page))
    return max({line.split()[0].lstrip("^") for line in blamed}, key=seconds_of)


def seconds_of(commit: str) -> int:
    """When a commit was made."""
    return int(git("log", "-1", "--format=%ct", commit)[0])


def main() -> None:
    """Print a row for each section."""
    now, rows = datetime.datetime.now(datetime.UTC).timestamp(), []
    for page in sorted(DOCS.rglob("*.md")):
        for found in SECTION.finditer(page.read_text()):
            script = script_of(page, found[1])
            if script is None or script.name == "make_tour.py":
                continue
            commit = commit_of(page, found[2])
            files = [str(path) for path in measured(script)]
            changes = len(git("log", "--format=%h", f"{commit}..HEAD", "--", *files))
            days = (now - seconds_of(commit)) / 86400
            place = f"{page.relative_to(DOCS)}: {found[1]}"
            rows.append((changes, days, place, commit[:7], str(script.relative_to(ROOT))))
    print(f"{'changes':>7} {'days':>5}  {'commit':7}  {'section':44} made by")
    for changes, days, place, commit, script in sorted(rows, reverse=True):
        print(f"{changes:7} {days:5.0f}  {commit:7}  {place:44} {script}")


if __name__ == "__main__":
    main()
