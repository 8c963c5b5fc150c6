"""Write what experiments gave into the pages on the papers: python tools/papers_pages.py FOLDER

FOLDER is that of `python -m papers NAME --out FOLDER`. In papers/pages/*.md a section is called as its
experiment, and what stands between its two comment lines is the text of FOLDER/NAME/table.md, with the figure of those
that repeat one. Sections of experiments that were not run there stay as they are. Without FOLDER, papers/README.md
gets the table of what runs, from papers/coverage.csv, and nothing else is written.
"""

import re
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))
from papers.coverage import coverage_markdown  # noqa: E402

PAGES = ROOT / "papers" / "pages"
COVERAGE, COVERAGE_END = "<!-- coverage: written by tools/papers_pages.py -->", "<!-- end of coverage -->"
FIRST, LAST = "<!-- figures: written by tools/papers_pages.py -->", "<!-- end of figures -->"
SECTION = re.compile(rf"^### (?P<name>\S+)\n\n{re.escape(FIRST)}\n(?P<figures>.*?){re.escape(LAST)}\n", re.M | re.S)


def with_figures(page: str, tables: dict[str, str]) -> str:
    """Put the texts of experiments, by name, into a page."""

    def section(old: re.Match[str]) -> str:
        name = old["name"]
        if name not in tables:
            return old[0]
        picture = f"![{name}]({name}.png)\n\n" if "figure" in name else ""
        return f"### {name}\n\n{FIRST}\n\n{tables[name].strip()}\n\n{picture}{LAST}\n"

    return SECTION.sub(section, page)


def with_coverage(page: str, places: dict[str, str]) -> str:
    """Put the table of what runs into the first page; `places` are the pages of the experiments, by name."""

    def link(name: str) -> str:
        return f"[{name}](pages/{places[name]}.md#{name})" if name in places else name

    head, first, rest = page.partition(COVERAGE)
    _, last, tail = rest.partition(COVERAGE_END)
    if not last:
        raise SystemExit(f"there are no two lines {COVERAGE} and {COVERAGE_END}")
    return f"{head}{first}\n\n{coverage_markdown(link)}\n{last}{tail}"


def pages_of_experiments() -> dict[str, str]:
    """Name of the page that has the section of an experiment."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    return {section["name"]: stem for stem, text in pages.items() for section in SECTION.finditer(text)}


def in_few_colors(source: Path, target: Path) -> None:
    """Copy a figure with a palette, which takes a third of the bytes."""
    with Image.open(source) as figure:
        figure.convert("RGB").quantize(128).save(target, optimize=True)


def main() -> None:
    """Rewrite the pages, and copy the figures."""
    if len(sys.argv) > 2:
        raise SystemExit(__doc__)
    if len(sys.argv) == 1:
        overview = PAGES.with_name("README.md")
        page = with_coverage(overview.read_text(encoding="utf-8"), pages_of_experiments())
        overview.write_text(page, encoding="utf-8")
        return
    folder = Path(sys.argv[1])
    tables = {path.parent.name: path.read_text(encoding="utf-8") for path in folder.glob("*/table.md")}
    for page in sorted(PAGES.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        names = {section["name"] for section in SECTION.finditer(old)} & tables.keys()
        page.write_text(with_figures(old, tables), encoding="utf-8")
        for name in sorted(names):
            if "figure" in name:
                in_few_colors(folder / name / "figure.png", PAGES / f"{name}.png")
            print(f"updated {name}")
            del tables[name]
    for name in tables:
        print(f"{name} has no section in {PAGES}", file=sys.stderr)


if __name__ == "__main__":
    main()
