"""Running an experiment, and writing and showing what came of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.errors import InvalidArgument
from oracle_opt.files import atomic_text
from oracle_opt.optional import require
from papers.experiment import Experiment
from papers.experiments import EXPERIMENTS
from papers.figures import NOT_CONVERGED, Printed
from papers.repetitions import NOT_AT_HAND, NOT_RUN, Options, Reproduced, Row

if TYPE_CHECKING:
    from rich.table import Table

    from oracle_opt.study.analyses import Curves

HEADINGS = ("set", "quantity", "paper", "ours")
WIDE = 20  # largest over least value, from which axes are logarithmic


@dataclass(frozen=True)
class Report:
    """An experiment that was run.

    Attributes
    ----------
    name : str
        Its name.
    experiment : Experiment
        What it is.
    outcome : Reproduced
        What came of it.
    lines : tuple of (str, str, str, str)
        Set, quantity, the paper's figure and ours, as words; empty where the paper has none.
    folder : Path
        Holds `table.csv`, `table.md` and `figure.png`.
    """

    name: str
    experiment: Experiment
    outcome: Reproduced
    lines: tuple[tuple[str, str, str, str], ...]
    folder: Path


def reproduce(name: str, options: Options) -> Report:
    """Run an experiment and write its files.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    options : Options
        Its folder gets a folder of that name with `table.csv`, `table.md` and `figure.png`; no figure if no run got to
        its end.

    Returns
    -------
    Report
        Ours beside the paper's.

    Raises
    ------
    InvalidArgument
        There is no such experiment; the message lists them.
    DataUnavailable
        None of its sets is at hand.
    """
    require("sklearn", "learn", "the experiments of the papers")
    threadpool_limits = require("threadpoolctl", "study", "the experiments of the papers").threadpool_limits
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise InvalidArgument(f"there is no experiment {name!r}: {hint}Known are {', '.join(EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    folder = options.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        outcome = experiment.run(options)
    printed = experiment.printed()
    outcome = replace(outcome, rows=(*outcome.rows, *rows_not_at_hand(outcome, printed)))
    lines = tuple((row.set, row.quantity, _papers(row, printed), ours(row)) for row in outcome.rows)
    report = Report(name, experiment, outcome, lines, folder)
    atomic_text(folder / "table.csv", _csv(outcome.rows, printed))
    atomic_text(folder / "table.md", markdown(report))
    figure = outcome.figure or against_paper(name, outcome.rows, printed)
    if len(figure.data):
        figure.save(folder / "figure.png", width="page")
    return report


def ours(row: Row) -> str:
    """Write our figure, and how many splits reached the end where not all did."""
    if not row.runs:
        return row.words
    share = f" ({row.reached}/{row.runs})" if row.reached < row.runs else ""
    if not row.reached:
        return f"{NOT_CONVERGED}{share}"
    places = _places(row.ours)
    mean = f"{row.ours:.{places}f}"
    return f"{mean}{share}" if row.runs == 1 else f"{mean} ± {row.deviation:.{places}f}{share}"


def rows_not_at_hand(outcome: Reproduced, printed: Mapping[tuple[str, str], Printed]) -> list[Row]:
    """Rows for what the paper prints of sets that are not at hand."""
    known = {(row.set, row.quantity) for row in outcome.rows}
    return [
        Row(*key, np.nan, np.nan, 0, 0, NOT_AT_HAND)
        for key in printed
        if key not in known
        and any(key[0] == label or key[0].startswith((f"{label} ", f"{label},")) for label in outcome.absent)
    ]


def markdown(report: Report) -> str:
    """Write place, claim, caption, tables, findings and notes as Markdown."""
    outcome, claim = report.outcome, report.experiment.claim
    head = f"{report.experiment.place}. The paper: {claim}.\n\n```sh\npython -m papers {report.name}\n```\n"
    caption = f"{outcome.caption}\n" if outcome.caption else ""
    findings = [f"- {finding}" for finding in outcome.findings]
    notes = [f"- {note[:1].upper()}{note[1:]}." for note in outcome.notes]
    listed = [part for items in (findings, notes) if items for part in ("\n".join(items), "")]
    return "\n".join([head, *([caption] if caption else []), tables_of(report.lines).rstrip("\n"), "", *listed])


def tables_of(lines: tuple[tuple[str, str, str, str], ...]) -> str:
    """Write a Markdown table for each kind of quantity: a row per set, a column per method, "paper / ours" in a cell.

    A quantity is "kind, method", or a kind alone. A column the paper has no figure of shows ours only, one that
    was not run at all the paper's.
    """
    kinds: dict[str, dict[tuple[str, str], tuple[str, str]]] = {}
    for name, quantity, paper, mine in lines:
        kind, _, method = quantity.partition(", ")
        kinds.setdefault(kind, {})[name, method] = paper, mine
    text = ""
    for kind, cells in kinds.items():
        methods = list(dict.fromkeys(method for _, method in cells))
        printed = {method for (_, method), (paper, _) in cells.items() if paper}
        run = {method for (_, method), (_, mine) in cells.items() if mine not in ("", NOT_RUN, NOT_AT_HAND)}
        both = {
            method: "ours" if method not in printed else "paper / ours" if method in run else "paper"
            for method in methods
        }
        heads = [f"{method}, {both[method]}" if method else both[method] for method in methods]
        text += f"| {' | '.join([kind, *heads])} |\n{'|---' * (len(methods) + 1)}|\n"
        for name in dict.fromkeys(name for name, _ in cells):
            row = [name]
            for method in methods:
                paper, mine = cells.get((name, method), ("", ""))
                if both[method] == "paper":
                    row.append(paper)
                else:
                    row.append(f"{paper} / {mine}".strip() if mine and method in printed else mine)
            text += f"| {' | '.join(row)} |\n"
        text += "\n"
    return text


def table_of_figures(report: Report) -> Table:
    """Make the table of an experiment for the terminal.

    Parameters
    ----------
    report : Report
        What `reproduce` returned.

    Returns
    -------
    Table
        Its rows, to be printed by rich.
    """
    require("rich", "cli", "tables on the terminal")
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"{report.name}: {report.experiment.place}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in ("paper", "ours") else "left", no_wrap=True)
    for line in report.lines:
        table.add_row(*line)
    return table


def _papers(row: Row, printed: Mapping[tuple[str, str], Printed]) -> str:
    figure = printed.get((row.set, row.quantity))
    return "" if figure is None else str(figure)


def _places(value: float) -> int:
    """Decimal places for three significant digits, at least one place and at most five."""
    return 1 if value == 0 else min(5, max(1, 2 - int(np.floor(np.log10(abs(value))))))


def _csv(rows: tuple[Row, ...], printed: Mapping[tuple[str, str], Printed]) -> str:
    pd = require("pandas", "study", "the tables of a study")

    table = []
    for row in rows:
        figure = printed.get((row.set, row.quantity))
        paper = (figure.value, figure.spread) if figure else ("", "")
        table.append((row.set, row.quantity, *paper, row.ours, row.deviation, row.reached, row.runs))
    columns = ["set", "quantity", "paper", "paper_spread", "ours", "ours_spread", "reached", "runs"]
    return str(pd.DataFrame(table, columns=columns).to_csv(index=False))


def against_paper(name: str, rows: tuple[Row, ...], printed: Mapping[tuple[str, str], Printed]) -> Curves:
    """Put ours against the paper's, a panel a kind of quantity, a marker a method; equal figures lie on the line.

    Parameters
    ----------
    name : str
        Of the experiment.
    rows : tuple of Row
        Our figures.
    printed : mapping
        (set, quantity) to what the paper prints; where it has none of the sets, ours stand alone, one after the other.

    Returns
    -------
    Curves
    """
    pd = require("pandas", "study", "the tables of a study")

    from oracle_opt.study.analyses.curves import Curves

    points: list[tuple[str, str, float, float]] = []
    for row in rows:
        figure = printed.get((row.set, row.quantity))
        if figure is None or figure.value == NOT_CONVERGED or not np.isfinite(row.ours):
            continue
        kind, _, method = row.quantity.partition(", ")
        points.append((kind, method, float(figure.value), row.ours))
    alone = not points
    if alone:
        points = [
            ("ours", row.quantity, place + 1.0, row.ours) for place, row in enumerate(rows) if np.isfinite(row.ours)
        ]
    data = pd.DataFrame(points, columns=["panel", "name", "x", "y"])
    data[["low", "high"]] = np.nan
    values = data[["y"] if alone else ["x", "y"]].to_numpy()
    spreads = [
        part[["x", "y"]].to_numpy().max() / part[["x", "y"]].to_numpy().min()
        for _, part in data.groupby("panel")
        if (values > 0).all()
    ]
    wide = bool(spreads) and max(spreads) > WIDE
    return Curves(
        data,
        f"{name}: ours against the paper's",
        "row of the table" if alone else "the paper's figure",
        "our figure",
        "Our figures, none of which the paper prints."
        if alone
        else "Our figures against the paper's, a point a row of "
        "its table and a marker a method; on the line both are equal.",
        log_x=wide and not alone,
        log_y=wide,
        kind="points",
        diagonal=not alone,
    )
