"""Write docs/llms.txt, a list of the pages for programs that read (llmstxt.org): title and first sentence of each.

    python docs/make_llms.py

The order is that of the side bar. The site has the same files beside its pages, so the links hold there, too.
"""

import re
from pathlib import Path

from _site.navigation import rows

DOCS = Path(__file__).parent
WHAT = "Convex optimization through oracles: many query-point methods on one problem, each with a proven duality gap."
SENTENCE = re.compile(r"(?:\*\*|`|\[)?\w.*?[.:?](?=\s|$)", re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def first_sentence(text: str) -> str:
    """Return the first sentence of a page, on one line and without links; a colon that ends it becomes a stop."""
    found = next(filter(None, map(SENTENCE.match, text.split("\n\n"))))
    return re.sub(r":$", ".", " ".join(LINK.sub(r"\1", found[0]).split()))


def line(name: str) -> str:
    """Return the line of a page."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return f"- [{title}]({name}.md): {first_sentence(text)}"


def listing() -> str:
    """Return the whole file; what lies outside this folder is left out."""
    parts = [f"# oracle_opt\n\n> {WHAT}\n"]
    for heading, entries in rows("index").items():
        if heading:
            lines = []
            for name in entries:
                if not name.startswith(".."):
                    lines.append(line(name))
                if name == "gallery/index":
                    lines += [line(f"gallery/{page}") for group in rows(name).values() for page in group]
            parts.append(f"## {heading}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (DOCS / "llms.txt").write_text(listing(), encoding="utf-8")
