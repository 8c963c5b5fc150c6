"""The folder with the public collections, named by the environment variable ORACLE_OPT_PROBLEMS."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any, overload

from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import DataUnavailable, InvalidData
from oracle_opt.oracle import Oracle
from oracle_opt.problems.instance import Instance, Problem
from oracle_opt.problems.problem_family import Family
from oracle_opt.reading import read_text

VARIABLE = "ORACLE_OPT_PROBLEMS"

Entry = Mapping[str, Any]
Known = tuple[float, float]  # an optimum and its error


@overload
def path_in_folder(kind: str, file: str, *, needed: str) -> Path: ...
@overload
def path_in_folder(kind: str, file: str) -> Path | None: ...
def path_in_folder(kind: str, file: str, *, needed: str = "") -> Path | None:
    """Return the path of a file of a collection, or `None` if it is not there."""
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
    """Return what `optima.json` of a collection says of each instance; nothing if the file is not there."""
    path = path_in_folder(kind, "optima.json")
    if path is None:
        return []
    try:
        found = json.loads(read_text(path))["instances"]
        if not all(isinstance(entry["name"], str) for entry in found):
            raise TypeError("a name is no text")
    except (KeyError, RecursionError, TypeError, ValueError) as problem:
        raise InvalidData(f"{path} must hold a list of `instances` with their names: {problem}") from problem
    return list(found)


def digest_of_files(kind: str, files: Iterable[str]) -> str:
    """Return 16 digits that tell these files of a collection from others."""
    paths = [path_in_folder(kind, file) for file in files]
    return digest(*[b"" if path is None else path.read_bytes() for path in paths])


def files_of(entry: Entry) -> list[str]:
    """Return the names of the files of an instance."""
    return list(entry["files"].values()) if "files" in entry else [entry["file"]]


def within_tolerance(value: float, tolerance: float) -> Known:
    """An optimum and its error, the tolerance being relative, absolute below 1."""
    return float(value), tolerance * max(1.0, abs(float(value)))


@dataclass(frozen=True)
class Collection(Family):
    """A public collection in the folder: the instances of its `optima.json` that have an optimum."""

    name: str
    about: str
    dimension: Callable[[Entry], int]
    oracle: Callable[[Entry], Oracle]
    known: Callable[[Entry], Known]
    origin: str
    start: Callable[[Oracle], Vector] | None = None
    version: int = 1

    def problems(self) -> list[Problem]:
        """The instances of which all files are there."""
        return [self._problem(entry) for entry in self._solvable() if not self._lacking(entry)]

    def missing(self) -> dict[str, str]:
        """The instances of which a file is not there, or the collection."""
        solvable = self._solvable()
        if not solvable:
            return {self.name: why_missing(self.name)}
        names = {f"{self.name}/{entry['name']}": self._lacking(entry) for entry in solvable}
        return {name: why_missing(name, Path(files[0])) for name, files in names.items() if files}

    def _solvable(self) -> list[dict[str, Any]]:
        found = [entry for entry in entries(self.name) if entry.get("status", "optimal") == "optimal"]
        for entry in found:
            self._check(entry)
        return found

    def _check(self, entry: Entry) -> None:
        """Refuse an entry that lacks what this collection needs to know, before any file is read."""
        try:
            optimum, error = self.known(entry)
            if not (isfinite(optimum) and 0 <= error < inf and self.dimension(entry) >= 1):
                raise ValueError(f"its optimum is {optimum}, up to {error}, in {self.dimension(entry)} variables")
            for file in files_of(entry):
                if not isinstance(file, str) or not file or Path(file).name != file:
                    raise ValueError(f"{file!r} is no name of a file beside it")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            where = path_in_folder(self.name, "optima.json")
            words = f"{type(problem).__name__}: {problem}"
            raise InvalidData(f"{where}: the instance {entry['name']!r} is not described: {words}") from problem

    def _lacking(self, entry: Entry) -> list[str]:
        return [file for file in files_of(entry) if path_in_folder(self.name, file) is None]

    def _problem(self, entry: Entry) -> Problem:
        optimum, error = self.known(entry)
        content = digest(json.dumps(entry, sort_keys=True), digest_of_files(self.name, files_of(entry)))
        return Problem(
            name=f"{self.name}/{entry['name']}",
            family=self.name,
            n=self.dimension(entry),
            make=partial(_instance, self.oracle, self.start, dict(entry), optimum, error),
            data=f"version {self.version}, {content}",
            optimum=optimum,
            optimum_error=error,
            source=f"{self.origin}; optimum: {entry.get('resolved_how') or entry.get('optimum_from')}",
        )


def _instance(
    oracle: Callable[[Entry], Oracle],
    start: Callable[[Oracle], Vector] | None,
    entry: Entry,
    optimum: float,
    error: float,
    seed: int,
) -> Instance:
    made = oracle(entry)
    return Instance(made, None if start is None else start(made), optimum, error)
