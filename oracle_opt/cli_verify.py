"""The command ``oracle-opt verify``, a part of `oracle_opt.cli`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from oracle_opt.oracle import Oracle

FORMAT, GZIP = b"oracle-opt certificate", b"\x1f\x8b"  # how a certificate begins
GIVEN = 3  # exit status: nothing is false, and not everything is proven


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Certificate of a run; .gz is unpacked.")],
    problem: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Problem of `oracle-opt problems` that it is of, to prove the cuts and the value, too.",
            show_default="they are taken as given",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Examine the witnesses in fractions, too: for small problems.")
    ] = False,
) -> None:
    """Check the certificate of a run in exact arithmetic: say what holds, or the first line that does not.

    The exit status is 0 if it holds, 1 if not, 2 if the file cannot be read. With --problem it is 0 if all is proven
    from the data, and 3 if it holds given some cuts, or the value, that nothing proves. Without, cuts and value are
    given and the status 0 means no more than that the bounds follow from them, as `python verify.py FILE` finds without
    this library.
    """
    from oracle_opt.certificates.certificate import Certificate
    from oracle_opt.errors import DataUnavailable, InvalidArgument, InvalidCertificate, MissingPackage, Refuted

    try:
        oracle = None if problem is None else _oracle_of(problem)
    except (DataUnavailable, InvalidArgument, MissingPackage) as trouble:
        typer.echo(f"error: {trouble}", err=True)
        raise typer.Exit(2) from None
    try:
        verdict = Certificate.load(file).verify(oracle, exact)
    except OSError as trouble:
        typer.echo(f"error: {file} cannot be read: {trouble.strerror}", err=True)
        raise typer.Exit(2) from None
    except (InvalidCertificate, Refuted) as trouble:
        begin = file.read_bytes()[:200]
        if FORMAT not in begin and not begin.startswith(GZIP):
            typer.echo(f"error: cannot be read: {trouble}", err=True)
            raise typer.Exit(2) from None
        typer.echo(f"does not hold: {trouble}")
        raise typer.Exit(1) from None
    typer.echo(verdict)
    if oracle is not None and not verdict.proven:
        raise typer.Exit(GIVEN)


def _oracle_of(name: str) -> Oracle:
    """The oracle of the one problem with this name, made anew."""
    from oracle_opt.errors import InvalidArgument
    from oracle_opt.problems import find

    found = find(name)
    if len(found) != 1:
        raise InvalidArgument(f"--problem must name one problem, and {name!r} names {len(found)}")
    return found[0](0).oracle
