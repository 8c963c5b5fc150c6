"""A folder of finished runs: each is one file, written at once; what they share stands beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle_opt.errors import StoreMismatch
from oracle_opt.files import atomic_file, atomic_text, folder_name, is_temporary, remove_left_overs
from oracle_opt.optional import require
from oracle_opt.study.records import BLANK, KEY, FinishedRun, Limits, Settings

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2  # of the files; 1 had no digest of a run
STUDY = "study.json"
FILES = ("runs", "summary.csv", "history.parquet", "curves.png", "failures.txt", "report.html")  # beside study.json
WHY = ("study", "the tables and files of a study")
_METADATA, _CHECKSUM = b"oracle_opt.run", b"oracle_opt.checksum"


class RunStore:
    """Finished runs under ``folder/runs/<instance>/<generator>/<seed>.parquet``, for any number of processes.

    A file is a history with the row of the `FinishedRun` and a checksum of all else in its metadata, which tells
    damage. Opening removes temporary files of this machine's killed processes alone. `StoreMismatch`: other settings,
    another version, foreign files, or no folder.
    """

    def __init__(self, folder: os.PathLike[str] | str, settings: Settings) -> None:
        _check_packages()
        self.folder = Path(folder)
        self.settings = settings
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreMismatch(f"{self.folder} is a file; name a folder")
        path = self.folder / STUDY
        if path.exists():
            _compare(path, settings)
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            _check_empty(self.folder)
            atomic_text(path, json.dumps(_header() | {"settings": settings.decisive()}, indent=2) + "\n")
        (self.folder / "runs").mkdir(exist_ok=True)
        for place in (self.folder, *self.folder.glob("runs/*/*")):
            remove_left_overs(place)

    @classmethod
    def existing(cls, folder: os.PathLike[str] | str) -> RunStore:
        """Open a folder as it is, also one of another version of the library if its files are of this format."""
        _check_packages()
        path = Path(folder) / STUDY
        store = cls.__new__(cls)
        store.folder, store.settings = Path(folder), _read_settings(path)[1]
        return store

    def __repr__(self) -> str:
        return f"RunStore({str(self.folder)!r}, {self.settings!r})"

    def save(self, run: FinishedRun) -> None:
        """Write a run; a run of the same key is replaced."""
        pa, parquet = require("pyarrow", *WHY), require("pyarrow.parquet", *WHY)
        table = pa.Table.from_pandas(run.history, preserve_index=False)
        metadata = {_METADATA: json.dumps(run.row), _CHECKSUM: _checksum(run.row, table)}
        table = table.replace_schema_metadata(metadata)
        path = self.path(run.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_file(path, lambda temporary: parquet.write_table(table, temporary))
        except OSError as problem:
            reason = problem.strerror or str(problem)
            kept = f"{reason}; the runs finished before are kept in {self.folder}: mend that, and repeat the call"
            raise OSError(problem.errno, kept) from problem

    def load(self) -> list[FinishedRun]:
        """Read all runs by instance, generator and seed: names in the order given, others after them."""
        paths = [path for path in self.folder.glob("runs/*/*/*.parquet") if not is_temporary(path)]
        runs = [self._read(path) for path in sorted(paths, key=_order)]
        instances, generators = (names.get for names in self._places())
        last = len(runs)
        return sorted(runs, key=lambda run: (instances(run.key[0], last), generators(run.key[1], last)))

    def add_names(self, instances: Iterable[str], generators: Iterable[str]) -> None:
        """Write down names in their order, after those that stand there."""
        known = self._places()
        every = [list(dict.fromkeys((*old, *new))) for old, new in zip(known, (instances, generators), strict=True)]
        if every != [list(old) for old in known]:
            path = self.folder / STUDY
            content = json.loads(path.read_text(encoding="utf-8")) | {"order": every}
            atomic_text(path, json.dumps(content, indent=2) + "\n")

    def _places(self) -> tuple[dict[str, int], dict[str, int]]:
        """The places of instances and of generators; none in a folder from before they were written down."""
        instances, generators = json.loads((self.folder / STUDY).read_text(encoding="utf-8")).get("order", ([], []))
        return {name: i for i, name in enumerate(instances)}, {name: i for i, name in enumerate(generators)}

    def find(self, key: tuple[str, str, int]) -> FinishedRun | None:
        """Read a run if it is there."""
        path = self.path(key)
        return self._read(path) if path.exists() else None

    def path(self, key: tuple[str, str, int]) -> Path:
        """The file of a run."""
        instance, generator, seed = key
        return self.folder / "runs" / folder_name(instance) / folder_name(generator) / f"{seed}.parquet"

    def answer_path(self, instance: str, seed: int) -> Path:
        """The file of what an instance answered at its start."""
        return self.folder / "runs" / folder_name(instance) / f"answer-{seed}.json"

    def _read(self, path: Path) -> FinishedRun:
        run = _read(path)
        if self.path(run.key) != path:
            raise StoreMismatch(
                f"{path} holds the run of {run.key[1]} on {run.key[0]}, seed {run.key[2]}, whose place is "
                f"{self.path(run.key)}: it was moved or copied; remove it"
            )
        return run


def _header() -> dict[str, object]:
    from importlib.metadata import version

    return {"format": FORMAT, "version": version("oracle-opt")}


def _check_empty(folder: Path) -> None:
    """Refuse a folder with files of somebody else that would be overwritten."""
    for name in FILES:
        if (folder / name).exists() and not (folder / STUDY).exists():  # which another process may have written now
            raise StoreMismatch(
                f"{folder} has no {STUDY}, but {name}, which would be overwritten; choose another folder"
            )


def _read_settings(path: Path) -> tuple[dict[str, Any], Settings]:
    if not path.parent.exists():
        raise StoreMismatch(f"there is no folder {path.parent}")
    if not path.exists():
        raise StoreMismatch(f"{path.parent} holds no study: it has no {STUDY}")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise StoreMismatch(
                f"{path.parent} holds files of format {stored['format']}, written by oracle_opt {stored['version']}; "
                f"this is {_header()['version']}, which reads format {FORMAT}: choose another folder"
            )
        given = {"clock": "elapsed"} | stored["settings"]
        return stored, Settings(**given | {"limits": Limits(**given["limits"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        if isinstance(problem, StoreMismatch):
            raise
        raise StoreMismatch(f"{path} holds no settings ({problem!r}); choose another folder") from problem


def _compare(path: Path, settings: Settings) -> None:
    stored, there = _read_settings(path)
    if stored["version"] != _header()["version"]:
        raise StoreMismatch(
            f"{path.parent} holds runs of oracle_opt {stored['version']}, and this is {_header()['version']}, whose "
            "runs may differ: choose another folder; `Results.read` reads both, and `merge` puts them together"
        )
    differences = [
        f"{name} = {getattr(there, name)!r} there, {getattr(settings, name)!r} here"
        for name in settings.decisive() | there.decisive()
        if getattr(there, name) != getattr(settings, name)
    ]
    if differences:
        raise StoreMismatch(
            f"{path.parent} holds runs of other settings: {'; '.join(differences)}. "
            "Choose another folder, or repeat the settings of this one"
        )


def _check_packages() -> None:
    """Before any run: what it takes to keep one."""
    require("pandas", *WHY)
    require("pyarrow", *WHY)


def _order(path: Path) -> tuple[str, str, int]:
    number = int(path.stem) if path.stem.isdecimal() else -1
    return path.parts[-3], path.parts[-2], number


def _read(path: Path) -> FinishedRun:
    parquet = require("pyarrow.parquet", *WHY)
    try:
        with parquet.ParquetFile(path) as file:  # `read_table` makes columns of folders that are called a=b
            table = file.read()
        metadata = table.schema.metadata or {}
        row = json.loads(metadata[_METADATA])
        stated = metadata.get(_CHECKSUM)
        found = _checksum(row, table)
        # without pandas' own metadata, which the checksum does not cover; columns that came later are blank
        run = FinishedRun(BLANK | row, table.replace_schema_metadata(None).to_pandas())
        missing = [name for name in (*KEY, "digest", "status") if name not in row]
    except Exception as problem:  # damaged files make pyarrow raise errors of many kinds
        raise StoreMismatch(f"{path} is no run ({problem!r}); remove it, and it is run again") from problem
    if missing:
        raise StoreMismatch(
            f"{path} lacks {', '.join(missing)}: another version wrote it; remove it, and it is run again"
        )
    if stated is None:
        raise StoreMismatch(f"{path} has no checksum: another version wrote it; remove it, and it is run again")
    if stated != found:
        raise StoreMismatch(f"{path} is damaged, its checksum is another; remove it, and it is run again")
    return run


def _checksum(row: dict[str, object], table: pa.Table) -> bytes:
    """Hexadecimal digits that tell a run's numbers, words, names of columns and types from others."""
    types = [str(kind).replace("<item: ", "<element: ") for kind in table.schema.types]  # files rename a list's entries
    content = json.dumps(row, sort_keys=True), table.schema.names, types
    return hashlib.blake2b(repr((content, table.to_pydict())).encode(), digest_size=16).hexdigest().encode()
