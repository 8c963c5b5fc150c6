"""What an analysis gives back: the data of a table first, then their text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isinf, isnan
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle_opt.files import atomic_text
from oracle_opt.words import one_line

if TYPE_CHECKING:
    import pandas as pd

# What has a meaning to LaTeX, or another picture in its oldest font encoding.
_LATEX = {letter: rf"\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "≤": r"$\leq$",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#$~])")


@dataclass(frozen=True, eq=False)
class Table:
    """A table as data.

    Attributes
    ----------
    data : DataFrame
        As it is to be shown: numbers as numbers, the row names its first columns.
    title : str
        What it is.
    caption : str
        Says in whole sentences what the columns are and of how many runs.
    compared : tuple of str
        Columns of numbers that compete with one another in each row: the best is set in bold.
    largest_is_best : bool
        Whether the best is the largest of them; otherwise it is the least.
    last : tuple of str
        A row of words below the data, as of counts; empty if there is none.
    """

    __repr__ = one_line

    data: pd.DataFrame
    title: str
    caption: str
    compared: tuple[str, ...] = ()
    largest_is_best: bool = False
    last: tuple[str, ...] = ()

    def to_markdown(self, path: os.PathLike[str] | str | None = None) -> str:
        """Return the table in Markdown: head, rows, title and caption; write it into the file `path`, if given."""
        head = [escape_markdown(str(name)) for name in self.data]
        marks = ["---:" if self._numeric(name) else "---" for name in self.data]
        rows = [head, marks, *self._cells(escape_markdown, "**{}**", plain_number)]
        if self.last:
            rows.append([escape_markdown(word) for word in self.last])
        lines = [f"| {' | '.join(row)} |" for row in rows]
        text = "\n".join((*lines, "", escape_markdown(f"{self.title}. {self.caption}"), ""))
        return _written(text, path)

    def to_latex(self, path: os.PathLike[str] | str | None = None) -> str:
        """Return the table in LaTeX, for the package booktabs; write it into the file `path`, if given.

        A `table` with its caption, numbers at the right, the best of a row in bold, dashes for runs that are open.
        """
        head = " & ".join(escape_latex(str(name)) for name in self.data)
        rows = [" & ".join(row) for row in self._cells(escape_latex, r"\textbf{{{}}}", _latex_number)]
        if self.last:
            rows += [r"\midrule", " & ".join(map(escape_latex, self.last))]
        body = "\n".join(row if row.startswith(r"\midrule") else rf"{row} \\" for row in rows)
        places = "".join("r" if self._numeric(name) else "l" for name in self.data)
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(f'{self.title}. {self.caption}')}}}",
            rf"\begin{{tabular}}{{{places}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
        return _written("\n".join(lines), path)

    def _repr_markdown_(self) -> str:
        """The table, which notebooks show."""
        return self.to_markdown()

    def to_csv(self, path: os.PathLike[str] | str | None = None) -> str:
        """Return the data as comma-separated values with all digits; write them into the file `path`, if given."""
        return _written(self.data.to_csv(index=False, lineterminator="\n"), path)

    def _numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.data[name].dtype.kind in "fiu"

    def _cells(self, escape: Callable[[str], str], bold: str, number: Callable[[Real], str]) -> Iterator[list[str]]:
        """The rows as texts; in bold all compared columns whose text is the best column's."""
        for row in self.data.to_dict("records"):
            texts = {
                name: number(value) if isinstance(value, Real) and not isinstance(value, bool) else escape(str(value))
                for name, value in row.items()
            }
            rivals = {name: float(row[name]) for name in self.compared if abs(float(row[name])) < float("inf")}
            if rivals:
                best = (max if self.largest_is_best else min)(rivals, key=lambda name: rivals[name])
                for name in [name for name in rivals if texts[name] == texts[best]]:
                    texts[name] = bold.format(texts[name])
            yield list(texts.values())


def escape_markdown(text: str) -> str:
    """Let every character stand for itself in a cell of Markdown; line ends are spaces."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Let every character stand for itself in LaTeX."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _latex_number(value: Any) -> str:
    """As `plain_number`, with powers of ten and a long dash."""
    text = plain_number(value)
    digits, e, power = text.partition("e")
    return "--" if text == "-" else rf"${digits} \cdot 10^{{{int(power)}}}$" if e else text.replace("-", "$-$")


def plain_number(value: Any) -> str:
    """Write a number in three digits, whole ones up to a million in full; a dash where there is none."""
    number = float(value)
    if isnan(number) or isinf(number):
        return "-"
    if number.is_integer() and abs(number) < 1e6:
        return str(int(number))
    return f"{number:.3g}"


def _written(text: str, path: os.PathLike[str] | str | None) -> str:
    """Write the text to a file if one is given."""
    if path is not None:
        atomic_text(Path(path), text)
    return text
