"""Keep the source code quoted in the documentation equal to the source.

    python docs/update_quotes.py

A comment `<!-- source: generators/subgradient.py -->`, or with the name of a function, class or method behind the
path, stands before a Python block; the block is replaced by that file or definition. The tests check that nothing
would change.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUOTE = re.compile(r"(<!-- source: (\S+)(?: (\S+))? -->\n```python\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)


def definition(path: str, name: str | None) -> str:
    """Text of a file, or of the function, class or `Class.method` of that name in it."""
    text = (ROOT / path).read_text()
    if name is None:
        return text
    node: ast.AST = ast.parse(text)
    for word in name.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == word)
    return "".join(text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno])


def with_quotes(text: str) -> str:
    """Return a page with every quotation made anew."""
    return QUOTE.sub(lambda match: match[1] + definition(match[2], match[3]), text)


def main() -> None:
    """Rewrite the pages that have quotations."""
    for page in sorted(ROOT.glob("docs/*.md")):
        text = page.read_text()
        if with_quotes(text) != text:
            page.write_text(with_quotes(text))
            print(f"updated {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
