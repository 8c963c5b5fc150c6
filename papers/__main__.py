"""The command ``python -m papers``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT in sys.path:  # the sources beside this folder come last: what is installed is what runs
    sys.path.remove(ROOT)
    sys.path.append(ROOT)

from oracle_opt.cli_outcome import INTERRUPTED, console_of, refusals, say  # noqa: E402

FILES = ("table.csv", "table.md", "figure.png")  # of an experiment

main = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)


@main.command()
def run(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Such as accpm-table1.", show_default=False)
    ] = None,
    listing: Annotated[
        bool,
        typer.Option("--list", help="List every table, figure and algorithm of the papers with its NAME, or why not."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of one set, seconds, to see that it runs.")
    ] = False,
    splits: Annotated[
        int | None, typer.Option(help="Random splits, or folds (at most 5).", show_default="as many as the paper")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder; gets a folder NAME with table.csv, table.md, figure.png.")] = Path(
        "reproduction"
    ),
) -> None:
    """Run an experiment of one of the papers on the data at hand, and print our figures beside the paper's.

    Finished runs are kept in the folder: the same command again continues with what is missing. Ctrl-C is safe.
    """
    console = console_of()
    try:
        with refusals():
            from oracle_opt.errors import InvalidArgument
            from papers.coverage import coverage_table
            from papers.repetitions import Options
            from papers.report import reproduce, table_of_figures

            if listing:
                console_of(220).print(coverage_table(), highlight=False)
                return
            if name is None:
                raise InvalidArgument("name an experiment, such as accpm-table1; --list shows all of them")
            report = reproduce(name, Options(out, quick, splits, seed, jobs, say, True))
    except KeyboardInterrupt:
        say(f"interrupted; finished runs are kept in {out}: run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    console.print(table_of_figures(report))
    console.print(f"The paper: {report.experiment.claim}.", highlight=False, soft_wrap=True)
    for sentence in (report.outcome.caption, *report.outcome.findings):
        if sentence:
            console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    for note in report.outcome.notes:
        console.print(f"- {note}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Files: {', '.join(str(report.folder / n) for n in FILES)}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main(prog_name="python -m papers")
