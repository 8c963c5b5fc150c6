"""What a reader takes along: a page of the gallery as a notebook, and every page as Markdown, to which docs/llms.txt
leads.
"""

import re
from base64 import b64encode
from pathlib import Path
from shutil import copyfile

import jupytext
import nbformat

NEEDS = 'This notebook needs `pip install "oracle-opt[all]"`.'
COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
VERSION = "2026.1"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def is_example(page: str) -> bool:
    """Whether a page is one of the gallery."""
    return page.startswith("gallery/") and page != "gallery/index"


def notebook(path: Path) -> nbformat.NotebookNode:
    """Return a page as a notebook: listings as code, pictures within it, of links to other pages the words."""
    made = jupytext.reads(path.read_text(encoding="utf-8").replace("\n", f"\n\n{NEEDS}\n", 1), fmt="md")
    made.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"  # the same in each build
        if cell.cell_type == "markdown":
            text = LINK.sub(r"\1", COMMENT.sub("", cell.source))
            cell.source = PICTURE.sub(r"![\1](attachment:\2)", text)
            for _, name in PICTURE.findall(text):
                picture = b64encode((path.parent / name).read_bytes()).decode()
                cell.setdefault("attachments", {})[name] = {"image/png": picture}
    return made


def add_link(app: object, page: str, source: list[str]) -> None:
    """Lead from the top of a page of the gallery to its notebook, and from that of the archive to its runs."""
    if page == "archive":
        link = f'<p class="download"><a href="archive-{VERSION}.html">All runs of the archive {VERSION}</a></p>'
        source[0] = source[0].replace("\n", f"\n\n{link}\n", 1)
    if is_example(page):
        file = f"{page.removeprefix('gallery/')}.ipynb"
        link = f'<p class="download"><a href="{file}" download>Download as a notebook</a></p>'
        source[0] = source[0].replace("\n", f"\n\n{link}\n", 1)


def write_archive(folder: Path) -> Path:
    """Write all runs of the archive that ships as a page: methods by instances, curves on hover, where each is made."""
    from oracle_opt.study import archive

    return archive(VERSION).report(folder / f"archive-{VERSION}.html", title=f"The archive {VERSION}")


def write_files(app, error: Exception | None) -> None:
    """Put the notebooks and the Markdown of the pages beside what was made of them."""
    if error or app.builder.format != "html":
        return
    write_archive(Path(app.outdir))
    for page in app.env.found_docs:
        path = Path(app.env.doc2path(page))
        if path.suffix == ".md":
            copyfile(path, app.outdir / f"{page}.md")
        if is_example(page):
            nbformat.write(notebook(path), app.outdir / f"{page}.ipynb")


def setup(app) -> None:
    """Connect this file with Sphinx."""
    app.connect("source-read", add_link)
    app.connect("build-finished", write_files)
