"""The order of the pages, read from the pages that lead to others: docs/index.md has a table under each heading of the
side bar, and docs/gallery/index.md a list of the pages below it.
"""

import re
from pathlib import Path

from _site import api_pages

DOCS = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[(?:<[^\]]*>)?([^\]]+)\]\(((?:\.\./)?[\w/.-]+)\.md\)")  # a picture may stand before the title


def rows(page: str) -> dict[str, dict[str, str]]:
    """Return the pages that the tables and lists of a page lead to: by heading, by page, its title there."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith(("| ", "- ")):
            for title, target in LINK.findall(line.split(" | ")[0]):
                found.setdefault(heading, {}).setdefault(target, title)
    return found


def contents(page: str) -> dict[str, dict[str, str]]:
    """Return what stands below a page: by heading, by document, its title there."""
    if page == "index":
        return {
            heading: {name.replace("../", "reference/"): title for name, title in entries.items()}
            for heading, entries in rows("index").items()
            if heading
        }
    if page in ("api", "api_parts"):
        return {"": {f"reference/{module}": module for module in api_pages.sections()}}
    if page == "gallery/index":
        return {"": {f"gallery/{name}": title for group in rows(page).values() for name, title in group.items()}}
    return {}


def toctree(entries: dict[str, str], caption: str) -> str:
    """Return a hidden table of contents in the words of MyST."""
    named = [f":caption: {caption}"] if caption else []
    lines = [f"{title} </{name}>" for name, title in entries.items()]
    return "\n".join(["", "```{toctree}", ":hidden:", *named, "", *lines, "```", ""])


def add_contents(app: object, page: str, source: list[str]) -> None:
    """Append the table of contents to the text of a page that has pages below it."""
    source[0] += "".join(toctree(entries, caption) for caption, entries in contents(page).items())


def setup(app) -> None:
    """Connect this file with Sphinx."""
    app.connect("source-read", add_contents)
