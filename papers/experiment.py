"""A table or figure of a paper: where it stands, what it claims, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from papers.figures import Printed, printed_figures
from papers.repetitions import Options, Reproduced


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    paper, table : str
        Their names in the file of the papers' figures; where the paper only draws, a table with the same quantities.
    place : str
        Where it stands in the paper.
    claim : str
        What the paper says it shows.
    run : callable
        Makes an `Reproduced` of `Options`.
    others : tuple of (str, str)
        Further papers and tables it is compared with.
    names : mapping
        (table, set) of the papers' figures to the name of the row here, where that is another.
    """

    paper: str
    table: str
    place: str
    claim: str
    run: Callable[[Options], Reproduced]
    others: tuple[tuple[str, str], ...] = ()
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def printed(self) -> dict[tuple[str, str], Printed]:
        """The figures it is compared with: (set, quantity) to `Printed`."""
        tables = ((self.paper, self.table), *self.others)
        return {
            (self.names.get((table, name), name), quantity): figure
            for paper, table in tables
            for (name, quantity), figure in printed_figures(paper, table).items()
        }
