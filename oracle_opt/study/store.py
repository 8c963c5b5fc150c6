"""A folder of finished runs: each is one file, written at once; the settings they share stand beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

from oracle_opt.errors import StoreMismatch
from oracle_opt.files import TEMPORARY, atomic_file, atomic_text
from oracle_opt.study.records import Run, Settings

_SCALARS = tuple(column.name for column in fields(Run) if column.name != "history")
_METADATA = b"oracle_opt.run"


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
        The folder holds runs of other settings, or no folder can be made there.
    """

    def __init__(self, folder: os.PathLike[str] | str, settings: Settings) -> None:
        self.folder = Path(folder)
        self.settings = settings
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreMismatch(f"{self.folder} is a file; name a folder")
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.json"
        if path.exists():
            _compare_settings(path, settings)
        else:
            atomic_text(path, json.dumps(asdict(settings), indent=2) + "\n")
        for left_over in self.folder.rglob(f"{TEMPORARY}*"):
            left_over.unlink(missing_ok=True)

    def save(self, run: Run) -> None:
        """Write a run; a run of the same key is replaced."""
        import pyarrow as pa
        from pyarrow import parquet

        scalars = {name: getattr(run, name) for name in _SCALARS}
        table = pa.Table.from_pandas(run.history, preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), _METADATA: json.dumps(scalars)})
        path = self._path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file(path, lambda temporary: parquet.write_table(table, temporary))

    def load(self) -> list[Run]:
        """Read all runs, sorted by data set, generator and split.

        Raises
        ------
        StoreMismatch
            A file in the folder is no run.
        """
        return [_read(path) for path in sorted(self.folder.glob("runs/*/*/*.parquet"), key=_order)]

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
        return self.folder / "runs" / run.dataset / run.generator / f"{run.split}.parquet"


def _compare_settings(path: Path, settings: Settings) -> None:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        differences = [
            f"{name} = {stored[name]!r} there, {value!r} here"
            for name, value in asdict(settings).items()
            if stored[name] != value
        ]
    except (ValueError, KeyError, TypeError) as problem:
        raise StoreMismatch(f"{path} holds no settings ({problem!r}); choose another folder") from problem
    if differences:
        raise StoreMismatch(
            f"{path.parent} holds runs of other settings: {'; '.join(differences)}. "
            "Choose another folder, or repeat the settings of this one"
        )


def _order(path: Path) -> tuple[str, str, int]:
    number = int(path.stem) if path.stem.isdigit() else -1
    return path.parts[-3], path.parts[-2], number


def _read(path: Path) -> Run:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
        scalars = json.loads(table.schema.metadata[_METADATA])
        return Run(**{name: scalars[name] for name in _SCALARS}, history=table.to_pandas())
    except (ArrowException, OSError, KeyError, TypeError, ValueError) as problem:
        raise StoreMismatch(f"{path} is no run ({problem!r}); remove it, and it is run again") from problem
