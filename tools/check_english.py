"""Sentences of pages, docstrings and captions that are too long or hard to follow.

    python tools/check_english.py [FILE ...]

Prints each with its file and line and fails: a sentence of more than 35 words, one that begins with "Of", one that says
"that of the" or "those of" twice. Code, tables, formulas, links' targets and lists of parameters do not count, nor what
a program writes between `begin` and `end`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 35
FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+")  # code and formulas of pages
WRITTEN = re.compile(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", re.DOTALL)  # tables and counts, by a program
CODE = re.compile(r"``.+?``|`[^`]+`", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
END = re.compile(
    r"(?<=[.!?:;])[*_\")]*\s+(?=[\[\"'*_(]*[A-Z`0-9])|(?<=[.!?])\s+(?=\")"  # a capital, or a quoted word
    r"|\n\s*\n|\n(?=\s*[-*|>#])|\n(?=\s*\d+\. )"
)
HEADING = re.compile(r"\n( *)\w[^\n]*\n\1-+\n")  # of a docstring's section
PARAMETER = re.compile(r"^ *\*{0,2}\w+(, \*{0,2}\w+)* : .*$", re.MULTILINE)  # name and type in a docstring
TWICE = re.compile(r"\b(that of the|those of)\b")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Line, counted from 0, and words of each sentence."""
    text = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    start = 0
    for end in [*(match.end() for match in END.finditer(text)), len(text)]:
        sentence = text[start:end]
        lead = len(sentence) - len(sentence.lstrip())
        if sentence.strip() and not sentence.lstrip().startswith(("|", "#", ">>>", "..")):
            plain = CODE.sub("code", LINK.sub(r"\1", sentence))
            yield text.count("\n", 0, start + lead), " ".join(plain.split())
        start = end


def fault(sentence: str) -> str | None:
    """What is wrong with a sentence."""
    words = [word for word in sentence.split() if re.search(r"\w", word)]
    if len(words) > MOST_WORDS:
        return f"{len(words)} words"
    if words and words[0] == "Of":
        return 'begins with "Of"'
    if len(TWICE.findall(sentence)) > 1:
        return "that of the, those of: twice"
    return None


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """First line and text of what a file says: a page, or the docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        for block in (WRITTEN, FENCED, INDENTED):
            text = block.sub(lambda found: "\n" * found[0].count("\n"), text)
        yield 1, text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            value = node.body[0].value
            words = value.value
            for name in ("Examples", "References"):
                words = re.split(rf"\n\s*{name}\n\s*-+\n", words)[0]
            yield value.lineno, PARAMETER.sub("", HEADING.sub("\n\n\n", words))


def main() -> int:
    """Check the files named, or all."""
    files = [Path(name) for name in sys.argv[1:]] or [
        *(page for page in sorted(ROOT.glob("*.md")) if not page.name.startswith("CHANGELOG")),  # its entries are lists
        *sorted(ROOT.glob("docs/**/*.md")),
        *(path for folder in ("oracle_opt", "oracles", "generators") for path in sorted((ROOT / folder).rglob("*.py"))),
    ]
    found = 0
    for path in files:
        for first, text in prose(path):
            for line, sentence in sentences(text):
                if wrong := fault(sentence):
                    found += 1
                    print(f"{path}:{first + line}: {wrong}: {sentence[:100]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
