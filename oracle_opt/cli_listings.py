"""Commands that list what is known by name, a part of `oracle_opt.cli`: as tables, or as JSON for programs."""

from __future__ import annotations

import inspect
import json as json_format
from dataclasses import asdict
from difflib import get_close_matches
from math import isfinite
from typing import Annotated, Any

import typer

from oracle_opt.cli_outcome import console_of, refusals, say

JSON = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


def as_json(found: Any) -> None:
    """Write plain data; what is infinite or no number is null, as JSON has neither."""
    typer.echo(json_format.dumps(_finite(found), indent=2, default=str, allow_nan=False))


def _finite(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not isfinite(found) else found


def generator_names(incomplete: str) -> list[str]:
    """Names of generators that begin so, for the completion of a shell."""
    from oracle_opt.study import GENERATORS

    return [name for name in GENERATORS if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """Names of data sets that begin so."""
    from oracle_opt.datasets import available

    return [row.name for row in available() if row.name.startswith(incomplete)]


def family_names(incomplete: str) -> list[str]:
    """Names of families of problems that begin so."""
    from oracle_opt.problems import families

    return [name for name in families() if name.startswith(incomplete)]


def _known(name: str, names: list[str], what: str) -> None:
    from oracle_opt.errors import InvalidArgument

    if name not in names:
        near = get_close_matches(name, names, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"
        raise InvalidArgument(f"there is no {what} {name!r}: {hint}")


def list_generators(
    name: Annotated[
        str | None,
        typer.Argument(help="One, with its parameters.", show_default="all", autocompletion=generator_names),
    ] = None,
    json: JSON = False,
) -> None:
    """List the query-point generators, or the parameters of one."""
    from rich.table import Table

    from oracle_opt.study import GENERATORS

    if name is not None:
        with refusals():
            _known(name, list(GENERATORS), "generator")
        kind = GENERATORS[name]
        defaults = {one.name: one.default for one in inspect.signature(kind).parameters.values()}
        if json:
            as_json({"name": name, "class": kind.__name__, "parameters": defaults})
        else:
            given = ", ".join(f"{one}={default!r}" for one, default in defaults.items())
            typer.echo(f"{kind.__name__}({given})\n\n{inspect.getdoc(kind)}")
        return
    rows = [(one, kind.__name__, (kind.__doc__ or "").strip().split("\n")[0]) for one, kind in GENERATORS.items()]
    if json:
        as_json([dict(zip(("name", "class", "what"), row, strict=True)) for row in rows])
        return
    table = Table("name", "class", "what it is", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console_of().print(table, highlight=False)


def list_datasets(
    name: Annotated[
        str | None, typer.Argument(help="One, in full.", show_default="all", autocompletion=dataset_names)
    ] = None,
    json: JSON = False,
) -> None:
    """List the data sets and precomputed kernels known by name, and where each would come from."""
    from rich.table import Table

    from oracle_opt.datasets import available
    from oracle_opt.datasets.kernel_data import kernel_places

    rows = available()
    if name is not None:
        with refusals():
            _known(name, [row.name for row in rows], "data set")
        rows = tuple(row for row in rows if row.name == name)
    if json:
        as_json([asdict(row) for row in rows])
        return
    if name is not None:
        for key, value in asdict(rows[0]).items():
            typer.echo(f"{key}: {value}")
        return
    table = Table("name", "points", "features", "+1 / -1", "from", "what it is", box=None, pad_edge=False)
    for column in table.columns[1:4]:
        column.justify = "right"
    for row in rows:
        classes = "" if row.n_positive is None else f"{row.n_positive} / {row.n - row.n_positive}"
        table.add_row(row.name, str(row.n), str(row.d), classes, row.place, row.description)
    kernels = Table("precomputed kernels", "from", box=None, pad_edge=False)
    for one, place in kernel_places().items():
        kernels.add_row(one, place)
    console = console_of(180)
    console.print(table, highlight=False)
    console.print()
    console.print(kernels, highlight=False)


def list_problems(
    family: Annotated[
        str | None, typer.Argument(help="Such as nonsmooth.", show_default="all", autocompletion=family_names)
    ] = None,
    json: JSON = False,
) -> None:
    """List the problems known by name: variables, optimum, the gap proven of each, or why it is not at hand."""
    from rich.table import Table

    from oracle_opt.problems.certification import listings, where_stored

    with refusals():
        lines = listings(family)
    heads = ("name", "n", "optimum", "proven gap", "calls", "by", "certificate", "source")
    if json:
        as_json([dict(zip(heads, line, strict=True)) for line in lines])
        return
    table = Table(*heads, box=None, pad_edge=False)
    for column in table.columns[1:5]:
        column.justify = "right"
    for line in lines:
        table.add_row(*line)
    console_of(250).print(table, highlight=False)
    say(where_stored())
