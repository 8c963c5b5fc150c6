"""A folder of finished runs: each is one file, written at once; the settings they share stand beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from oracle_opt.errors import StoreMismatch
from oracle_opt.files import atomic_file, atomic_text, folder_name, is_temporary, remove_left_overs
from oracle_opt.study.records import Run, Settings

if TYPE_CHECKING:
    import pyarrow as pa

_SCALARS = tuple(column.name for column in fields(Run) if column.name != "history")
_METADATA, _CHECKSUM = b"oracle_opt.run", b"oracle_opt.checksum"
FILES = ("runs", "summary.csv", "history.parquet", "curves.png", "failures.txt")  # beside settings.json


class RunStore:
    """Finished runs under ``folder/runs/<data set>/<generator>/<split>.parquet``.

    A file holds the history as its table and the rest of the `Run` in the table's metadata.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    settings : Settings
        Written to `settings.json`, or compared with what stands there.

    Raises
    ------
    StoreMismatch
        The folder holds runs of other settings, or files that are not of a store, or no folder can be made there.

    Notes
    -----
    Names of data sets and generators that mean something to a file system are escaped, see
    `oracle_opt.files.folder_name`. A file's metadata hold a checksum of all else in it; damage is noticed when it is
    read. Opening removes temporary files that killed processes of this machine have left, and nothing else.
    """

    def __init__(self, folder: os.PathLike[str] | str, settings: Settings) -> None:
        self.folder = Path(folder)
        self.settings = settings
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreMismatch(f"{self.folder} is a file; name a folder")
        path = self.folder / "settings.json"
        if path.exists():
            _compare_settings(path, settings)
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                if (self.folder / name).exists():
                    raise StoreMismatch(
                        f"{self.folder} has no settings.json, but {name}, which would be overwritten; "
                        "choose another folder"
                    )
            atomic_text(path, json.dumps(asdict(settings), indent=2) + "\n")
        (self.folder / "runs").mkdir(exist_ok=True)
        for folder in (self.folder, *self.folder.glob("runs/*/*")):
            remove_left_overs(folder)

    def __repr__(self) -> str:
        return f"RunStore({str(self.folder)!r}, {self.settings!r})"

    def save(self, run: Run) -> None:
        """Write a run; a run of the same key is replaced."""
        import pyarrow as pa
        from pyarrow import parquet

        scalars = {name: getattr(run, name) for name in _SCALARS}
        table = pa.Table.from_pandas(run.history, preserve_index=False)
        metadata = {_METADATA: json.dumps(scalars), _CHECKSUM: _checksum(scalars, table)}
        table = table.replace_schema_metadata(metadata)
        path = self._path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file(path, lambda temporary: parquet.write_table(table, temporary))

    def load(self) -> list[Run]:
        """Read all runs, sorted by data set, generator and split.

        Raises
        ------
        StoreMismatch
            A file in the folder is no run, is damaged, or stands in another run's place.
        """
        paths = [path for path in self.folder.glob("runs/*/*/*.parquet") if not is_temporary(path)]
        return [self._read(path) for path in sorted(paths, key=_order)]

    def check(self, runs: Iterable[Run], data: dict[str, str], methods: dict[str, str]) -> None:
        """Refuse stored runs that were made of other data or by another method than now go by their names.

        Parameters
        ----------
        runs : iterable of Run
            The stored runs.
        data : dict
            Names of data sets to their digests.
        methods : dict
            Names of generators to their reprs.

        Raises
        ------
        StoreMismatch
            One differs.
        """
        for run in runs:
            if data.get(run.dataset, run.data) != run.data:
                raise StoreMismatch(
                    f"{self.folder} holds runs of another data set called {run.dataset}: other points, labels or order "
                    "of rows; choose another folder"
                )
            if methods.get(run.generator, run.method) != run.method:
                raise StoreMismatch(
                    f"{self.folder} holds runs of {run.generator} as {run.method}, and it is now "
                    f"{methods[run.generator]}; choose another folder"
                )

    def _path(self, run: Run) -> Path:
        return self.folder / "runs" / folder_name(run.dataset) / folder_name(run.generator) / f"{run.split}.parquet"

    def _read(self, path: Path) -> Run:
        run = _read(path)
        if self._path(run) != path:
            raise StoreMismatch(
                f"{path} holds the run of {run.generator} on {run.dataset}, split {run.split}, whose place is "
                f"{self._path(run)}: it was moved or copied; remove it"
            )
        return run


def _compare_settings(path: Path, settings: Settings) -> None:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        differences = [
            f"{name} = {stored[name]!r} there, {value!r} here"
            for name, value in asdict(settings).items()
            if stored[name] != value
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise StoreMismatch(f"{path} holds no settings ({problem!r}); choose another folder") from problem
    if differences:
        raise StoreMismatch(
            f"{path.parent} holds runs of other settings: {'; '.join(differences)}. "
            "Choose another folder, or repeat the settings of this one"
        )


def _order(path: Path) -> tuple[str, str, int]:
    number = int(path.stem) if path.stem.isdecimal() else -1
    return path.parts[-3], path.parts[-2], number


def _read(path: Path) -> Run:
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:  # `read_table` makes columns of folders that are called a=b
            table = file.read()
        metadata = table.schema.metadata or {}
        scalars = json.loads(metadata[_METADATA])
        stated = metadata.get(_CHECKSUM)
        found = _checksum(scalars, table)
        # without pandas' own metadata, which the checksum does not cover
        history = table.replace_schema_metadata(None).to_pandas()
        run = Run(**{name: scalars[name] for name in _SCALARS}, history=history)
    except Exception as problem:  # damaged files make pyarrow raise errors of many kinds
        raise StoreMismatch(f"{path} is no run ({problem!r}); remove it, and it is run again") from problem
    if stated is None:
        raise StoreMismatch(f"{path} has no checksum: another version wrote it; remove it, and it is run again")
    if stated != found:
        raise StoreMismatch(f"{path} is damaged, its checksum is another; remove it, and it is run again")
    return run


def _checksum(scalars: dict[str, object], table: pa.Table) -> bytes:
    """Hexadecimal digits that tell a run's numbers, words, names of columns and types from others."""
    content = json.dumps(scalars, sort_keys=True), table.schema.names, [str(kind) for kind in table.schema.types]
    return hashlib.blake2b(repr((content, table.to_pydict())).encode(), digest_size=16).hexdigest().encode()
