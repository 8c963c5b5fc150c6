"""The commands ``oracle-opt verify`` and ``oracle-opt notarize``, a part of `oracle_opt.cli`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oracle_opt.cli_listings import JSON, as_json

if TYPE_CHECKING:
    from oracle_opt.oracle import Oracle
    from oracle_opt.oracles import ConicOracle

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
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="MPS or LP file that it is of, in place of --problem.")
    ] = None,
    json: JSON = False,
) -> None:
    """Check the certificate of a run in exact arithmetic: say what holds, or the first line that does not.

    The exit status is 0 if it holds, 1 if not, 2 if the file cannot be read. With --problem or --model it is 0 if all
    is proven from the data, and 3 if it holds given some cuts, or the value, that nothing proves. Without, cuts and
    value are given and the status 0 means no more than that the bounds follow from them, as `python verify.py FILE`
    finds without this library.
    """
    from oracle_opt.certificates.certificate import Certificate
    from oracle_opt.errors import (
        DataUnavailable,
        InvalidArgument,
        InvalidCertificate,
        InvalidData,
        MissingPackage,
        Refuted,
    )

    try:
        oracle = _oracle_of(problem) if problem is not None else None if model is None else _oracle_of_model(model)
    except (DataUnavailable, InvalidArgument, InvalidData, MissingPackage, OSError) as trouble:
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
    if json:
        ends = {name: getattr(verdict, name) for name in ("lower", "upper", "gap", "n_given", "value_proven", "proven")}
        as_json(ends | {"words": str(verdict)})
    else:
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


def _oracle_of_model(path: Path, signs: str | None = None) -> ConicOracle:
    """The oracle of a linear program in a file."""
    from oracle_opt.oracles import ConicOracle

    return ConicOracle.from_model(path, signs)


def notarize(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="MPS or LP file; .gz is unpacked.")],
    duals: Annotated[Path, typer.Option(help="CSV file: names of rows, and their duals or a Farkas ray.")],
    out: Annotated[Path, typer.Option(help="Certificate to write.")],
    point: Annotated[Path | None, typer.Option(help="CSV file: names of columns, and values.")] = None,
    signs: Annotated[
        str | None, typer.Option(help="Of the duals: highs, gurobi or negated.", show_default="as the duals tell")
    ] = None,
) -> None:
    """Certify the bound that the duals of any solver prove of a linear program, whole variables relaxed.

    The exit status is 0 if a bound was written, and verified against the model; also if a ray proves that no point is
    feasible, which is said, and no file written. It is 1 if the bound is refuted, 2 if a file cannot be read, a name is
    unknown, or nothing follows from the duals.
    """
    from oracle_opt.cli_outcome import refusals, say
    from oracle_opt.errors import InvalidArgument, InvalidCertificate, Refuted
    from oracle_opt.notary import notarize as certified

    with refusals():
        oracle = _oracle_of_model(model, signs)
        numbers, place = _numbers(duals), None if point is None else _numbers(point)
        with suppress(InvalidArgument):
            oracle.infeasible_by(numbers)
            typer.echo("no point is feasible: the ray proves it of the model")
            return
        try:
            certificate = certified(oracle, numbers, place)
            verdict = certificate.verify(oracle)
        except (InvalidCertificate, Refuted) as trouble:
            say(f"error: nothing is proven: {trouble}")
            raise typer.Exit(1) from None
        certificate.save(out)
    typer.echo(verdict)
    typer.echo(f"at most {-verdict.lower!r}" if oracle.maximizes else f"at least {verdict.lower!r}")
    if oracle.relaxation:
        typer.echo(oracle.relaxation)


def _numbers(path: Path) -> dict[str, float]:
    """Names and numbers of a CSV file of two columns; a first line without a number is a header."""
    import csv

    from oracle_opt.errors import InvalidData
    from oracle_opt.reading import number, read_text

    lines = read_text(path).splitlines()
    tab = next((mark for mark in "\t;" if lines and mark in lines[0]), ",")
    found: dict[str, float] = {}
    for count, (*names, word) in enumerate(filter(None, csv.reader(lines, delimiter=tab)), 1):
        name, value = tab.join(names).strip(), number(word.strip(), infinite=False)
        if value is None and count > 1:
            raise InvalidData(f"{path}, line {count}: {word!r} is no finite number")
        if name in found:
            raise InvalidData(f"{path}, line {count}: {name} stands twice")
        if value is not None:
            found[name] = value
    return found
