"""The folder with the public collections, named by the environment variable ORACLE_OPT_PROBLEMS."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, overload

from oracle_opt.arrays import digest
from oracle_opt.errors import DataUnavailable, InvalidData

VARIABLE = "ORACLE_OPT_PROBLEMS"


@overload
def path_in_folder(kind: str, file: str, *, needed: str) -> Path: ...
@overload
def path_in_folder(kind: str, file: str) -> Path | None: ...
def path_in_folder(kind: str, file: str, *, needed: str = "") -> Path | None:
    """Return the path of a file of a collection, or `None` if it is not there.

    Parameters
    ----------
    kind : str
        Folder of the collection.
    file : str
    needed : str
        Name of a problem that cannot do without.

    Raises
    ------
    DataUnavailable
        The file is not there and is needed.
    """
    folder = os.environ.get(VARIABLE)
    path = Path(folder) / kind / file if folder else None
    if path is not None and path.is_file():
        return path
    if needed:
        raise DataUnavailable(why_missing(needed, path))
    return None


def why_missing(name: str, path: Path | None = None) -> str:
    """Say that a problem or a collection is not at hand, and what to do."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return f"{name} needs files: set the environment variable {VARIABLE} to the folder of the public collections"
    lacking = path.name if path is not None else "its files"
    return f"{name}: {lacking} not found in {folder}, the folder that the environment variable {VARIABLE} names"


def entries(kind: str) -> list[dict[str, Any]]:
    """Return what `optima.json` of a collection says of each instance; nothing if the file is not there.

    Raises
    ------
    InvalidData
        The file is not what it should be.
    """
    path = path_in_folder(kind, "optima.json")
    if path is None:
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["instances"]
        if not all(isinstance(entry["name"], str) for entry in found):
            raise TypeError("a name is no text")
    except (ValueError, KeyError, TypeError) as problem:
        raise InvalidData(f"{path} must hold a list of `instances` with their names: {problem}") from problem
    return list(found)


def digest_of_files(kind: str, files: Iterable[str]) -> str:
    """Return 16 digits that tell these files of a collection from others."""
    paths = [path_in_folder(kind, file) for file in files]
    return digest(*[b"" if path is None else path.read_bytes() for path in paths])
