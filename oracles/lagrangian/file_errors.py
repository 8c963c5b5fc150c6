"""Errors of files that hold the data of a relaxation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oracle_opt.errors import InvalidArgument, InvalidData


@contextmanager
def data_of(path: Path, *own: str) -> Iterator[None]:
    """Turn what a constructor refuses into the error of the file; arguments of the caller's `own` stay theirs."""
    try:
        yield
    except InvalidArgument as problem:
        if str(problem).startswith(tuple(f"`{name}`" for name in own)):
            raise
        raise InvalidData(f"{path}: {problem}") from problem
