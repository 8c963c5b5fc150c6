"""The files at the top of the repository that the pages lead to, as pages of the site."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
FOLDER = "reference"
FILES = ("CHANGELOG", "CHANGELOG-0.1", "CONTRIBUTING", "SECURITY")
LINK = re.compile(r"\[([^\]\[]+)\]\((?!https?:|#|/)([^)\s#]*)(#[^)\s]*)?\)")


def write_pages() -> None:
    """Write a copy of each file, with its links as they have to be there.

    They end in .markdown: what ends in .md in this folder is written by hand, and tested.
    """
    folder = DOCS / FOLDER
    folder.mkdir(exist_ok=True)
    for name in FILES:
        text = with_links((DOCS.parent / f"{name}.md").read_text(encoding="utf-8"), DOCS.parent)
        path = folder / f"{name}.markdown"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def with_links(text: str, folder: Path) -> str:
    """Return the text of a page in a folder with links to pages from the top of the site; other files are no links."""

    def replace(match: re.Match[str]) -> str:
        words, target, anchor = match[1], (folder / match[2]).resolve(), match[3] or ""
        if target.is_relative_to(DOCS):
            return f"[{words}](/{target.relative_to(DOCS).as_posix()}{anchor})"
        if target.parent == DOCS.parent and target.stem in FILES:
            return f"[{words}](/{FOLDER}/{target.stem}.markdown{anchor})"
        return words

    return LINK.sub(replace, text)


def link_pages(app: object, page: str, source: list[str]) -> None:
    """Make links of a page to files outside this folder what they are on the site."""
    if not page.startswith(f"{FOLDER}/") and "](../" in source[0]:
        source[0] = with_links(source[0], (DOCS / page).parent)


def setup(app) -> None:
    """Write the pages, and connect this file with Sphinx."""
    write_pages()
    app.connect("source-read", link_pages)
