"""What of the papers runs here: every table, figure and algorithm, with its command or the reason why there is none."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from oracle_opt.optional import require

if TYPE_CHECKING:
    from rich.table import Table

STATUSES = {
    "built": "it runs here",
    "in part": "some of its sets or methods are missing",
    "other data": "it runs here on data that are at hand",
    "data not at hand": "its data are not at hand",
}
PAPERS = {
    "accpm": "Wulff & Ong (2014)",
    "spg": "Jain, Vishwanathan & Varma (2012)",
    "smo": "Vishwanathan et al. (2010)",
    "mixnorm": "Nath et al. (2009)",
    "qnpkl": "Picard et al. (2012)",
}


@dataclass(frozen=True)
class CoverageLine:
    """An item of a paper.

    Attributes
    ----------
    paper : str
        Short name, a key of `PAPERS`.
    item : str
        Where it stands: "Table 1", "Figure 1a", "Algorithm 1", "section 5.2".
    what : str
        What it is.
    status : str
        A key of `STATUSES`.
    commands : tuple of str
        Experiments that run it, for ``python -m papers``.
    classes : tuple of str
        Public names that implement it.
    reason : str
        What is missing and why; empty if nothing is.
    """

    paper: str
    item: str
    what: str
    status: str
    commands: tuple[str, ...]
    classes: tuple[str, ...]
    reason: str


def coverage() -> tuple[CoverageLine, ...]:
    """Read the lines of `coverage.csv`.

    Returns
    -------
    tuple of CoverageLine
        In the order of the papers.
    """
    text = files(__package__).joinpath("coverage.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        CoverageLine(
            *(row["paper"], row["item"], row["what"], row["status"]),
            *(tuple(row["commands"].split()), tuple(row["classes"].split()), row["reason"]),
        )
        for row in rows
    )


def coverage_markdown(link: Callable[[str], str]) -> str:
    """Write a Markdown table for each paper.

    Parameters
    ----------
    link : callable
        Makes the words for an experiment, such as a link to its section, of its name.
    """
    parts = []
    for paper, authors in PAPERS.items():
        lines = ["| item | what it is | status | run by | class |", "|---|---|---|---|---|"]
        for line in coverage():
            if line.paper == paper:
                status = f"{line.status}: {line.reason}" if line.reason else line.status
                run_by, classes = ", ".join(map(link, line.commands)), ", ".join(f"`{name}`" for name in line.classes)
                lines.append(f"| {line.item} | {line.what} | {status} | {run_by} | {classes} |")
        parts.append(f"**{authors}**\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def coverage_table() -> Table:
    """Make the table for the terminal."""
    require("rich", "cli", "tables on the terminal")
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        "paper", "item", "what it is", "status", "command or class", "reason", box=SIMPLE_HEAD, pad_edge=False
    )
    last = ""
    for line in coverage():
        first = PAPERS[line.paper] if line.paper != last else ""
        last = line.paper
        runs = ", ".join(line.commands or line.classes)
        table.add_row(first, line.item, line.what, line.status, runs, line.reason)
    return table
