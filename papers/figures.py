"""The papers' printed figures, from the data file beside this module."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

NOT_CONVERGED = "-"  # as the papers print it


@dataclass(frozen=True)
class Printed:
    """One printed figure: its words, mean and deviation, and the section with the table."""

    value: str
    spread: str
    section: str

    def __str__(self) -> str:
        """Write it as the paper does."""
        return f"{self.value} ± {self.spread}" if self.spread else self.value


def printed_figures(paper: str, table: str) -> dict[tuple[str, str], Printed]:
    """Read the figures of one table or figure of a paper.

    Parameters
    ----------
    paper : str
        Short name: ``accpm``, ``spg``, ``smo``, ``mixnorm`` or ``qnpkl``.
    table : str
        ``table1``, ``figure2``.

    Returns
    -------
    dict
        (set, quantity) to `Printed`.
    """
    return {
        (line["row"], line["column"]): Printed(line["value"], line["spread"], line["section"])
        for line in all_figures()
        if (line["paper"], line["table"]) == (paper, table)
    }


def all_figures() -> list[dict[str, str]]:
    """Read the lines of the file: paper, table, section, row, column, value, spread."""
    text = files(__package__).joinpath("paper_figures.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
