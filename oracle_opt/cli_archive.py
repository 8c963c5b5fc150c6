"""Commands of archives of runs: `oracle-opt archive`, a part of `oracle_opt.cli`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oracle_opt.cli_outcome import Worded, console_of, refusals

if TYPE_CHECKING:
    from oracle_opt.study import Results

archive = typer.Typer(help="Archives of runs: one file for a study.", no_args_is_help=True, rich_markup_mode=None)
File = Annotated[str, typer.Argument(metavar="FILE", help="A file of `Results.save`, or a version such as 2026.1.")]


def _read(file: str) -> Results:
    from oracle_opt.study import Results
    from oracle_opt.study import archive as shipped

    return Results.load(file) if Path(file).exists() else shipped(file)


@archive.command(cls=Worded)
def check(
    file: File,
    sample: Annotated[int, typer.Option(help="Runs that are done again.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
) -> None:
    """Do a sample of the runs again, with their certificates: the same calls, and no bound that contradicts another.

    The exit status is 1 where something is false, or less than nine tenths have calls within 1.1 times those stored.
    """
    with refusals():
        from oracle_opt.study import check_archive

        checked = check_archive(_read(file), sample, seed=seed)
    console_of(200).print(str(checked), highlight=False, markup=False, soft_wrap=True)
    if checked.wrong or not checked.near >= 0.9:
        raise typer.Exit(1)


@archive.command(cls=Worded)
def export(file: File, to: Annotated[Path, typer.Option(help="The table, CSV.")]) -> None:
    """Write the calls at which gaps fell as a table that IOHinspector reads."""
    with refusals():
        from oracle_opt.study import to_iohinspector

        to_iohinspector(_read(file), to)
    console_of().print(f"Table: {to}", highlight=False, soft_wrap=True)


@archive.command(cls=Worded)
def pack(
    folder: Annotated[Path, typer.Argument(help="Folder of a study.")],
    out: Annotated[Path, typer.Option(help="The archive.")],
) -> None:
    """Write the runs of a study into one file."""
    with refusals():
        from oracle_opt.study import Results

        Results.read(folder).save(out)
    console_of().print(f"Archive: {out}", highlight=False, soft_wrap=True)
