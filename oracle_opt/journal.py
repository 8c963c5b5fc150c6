"""A log of answered cuts: written durably call by call, replayed when the same run is started again.

The file is a signature line and records; a record is a tag, the payload's length, its CRC-32 and the payload. The
first payload names the run, each further one is an answered query as an `.npz` archive without pickles. A run killed
at any moment leaves at most one torn record, at the end, which is dropped on opening.
"""

from __future__ import annotations

import io
import json
import os
import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut, Query
from oracle_opt.errors import InvalidCut, JournalMismatch, JournalWarning
from oracle_opt.spectral import AffineMatrix, SpectralPart

SIGNATURE = b"oracle_opt journal 1\n"
_HEAD = struct.Struct("<4sQI")
_TAG = b"REC\n"


@dataclass(frozen=True, eq=False)
class Entry:
    """One answered query: the question, the answer and the seconds the oracle took."""

    query: Query
    cut: Cut
    seconds: float


class Journal:
    """Reads what a file holds, then appends to it.

    Parameters
    ----------
    path : path-like
        The file; made if it does not exist.
    identity : mapping of str to str
        What makes this run what it is: problem, generator, starting point.

    Raises
    ------
    JournalMismatch
        The file belongs to another run, is no journal, or is damaged before its last record.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str]) -> None:
        self.path = Path(path)
        content = self.path.read_bytes() if self.path.exists() else b""
        payloads, end = self._read(content)
        if payloads:
            self._compare(json.loads(payloads[0]), identity)
        self._entries = [_decode(payload) for payload in payloads[1:]]
        self._replayed = 0
        self._file = self.path.open("r+b" if content else "wb")
        if content:
            self._file.truncate(end)
            self._file.seek(end)
        if not payloads:
            self._file.seek(0)
            self._file.truncate(0)
            self._file.write(SIGNATURE)
            self._write(json.dumps(identity).encode())

    def _read(self, content: bytes) -> tuple[list[bytes], int]:
        """Return whole payloads, and where the last of them ends."""
        if not content.startswith(SIGNATURE[: len(content)]):
            raise JournalMismatch(f"`journal` {self.path} is no journal of this library; choose another file")
        payloads: list[bytes] = []
        end = len(SIGNATURE)
        while end + _HEAD.size <= len(content):
            tag, length, crc = _HEAD.unpack_from(content, end)
            start, stop = end + _HEAD.size, end + _HEAD.size + length
            if stop > len(content) and tag == _TAG:
                break
            if tag != _TAG or zlib.crc32(content[start:stop]) != crc:
                if stop == len(content) and tag == _TAG:
                    break
                raise JournalMismatch(
                    f"`journal` {self.path} is damaged at byte {end}, after {max(0, len(payloads) - 1)} answers; "
                    f"cut it to {end} bytes to keep those, or remove it to start again"
                )
            payloads.append(content[start:stop])
            end = stop
        if content and end != len(content):
            warnings.warn(
                f"journal {self.path}: dropped a torn last record of {len(content) - end} bytes; "
                f"{max(0, len(payloads) - 1)} answers are kept",
                JournalWarning,
                stacklevel=4,
            )
        return payloads, end

    def _compare(self, recorded: dict[str, str], identity: dict[str, str]) -> None:
        for name, now in identity.items():
            if recorded.get(name) != now:
                raise JournalMismatch(
                    f"`journal` {self.path} was written for another {name}: {recorded.get(name)}, now {now}; "
                    "use another file or remove this one"
                )

    def next_answer(self, query: Query) -> Entry | None:
        """Return the recorded answer to this query; `None` once all are replayed."""
        if self._replayed == len(self._entries):
            return None
        entry = self._entries[self._replayed]
        if not np.array_equal(entry.query.point, query.point):
            raise JournalMismatch(
                f"`journal` {self.path}: call {self._replayed + 1} was asked at another point than now; "
                "it was written by another problem, generator, seed or version"
            )
        self._replayed += 1
        return entry

    def append(self, entry: Entry) -> None:
        """Write one answer durably."""
        self._write(_encode(entry))

    def _write(self, payload: bytes) -> None:
        self._file.write(_HEAD.pack(_TAG, len(payload), zlib.crc32(payload)) + payload)
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _encode(entry: Entry) -> bytes:
    accuracy = np.nan if entry.query.accuracy is None else entry.query.accuracy
    fields: dict[str, Any] = {"seconds": entry.seconds, "query": entry.query.point, "accuracy": accuracy}
    fields["wants_curvature"] = entry.query.curvature
    _flatten(entry.cut, "cut/", fields)
    stream = io.BytesIO()
    np.savez(stream, **fields)
    return stream.getvalue()


def _flatten(cut: Cut, prefix: str, fields: dict[str, Any]) -> None:
    if isinstance(cut, ObjectiveCut):
        names = ["point", "value", "subgradient", "error", "lower_bound"] + ["curvature"] * (cut.curvature is not None)
    else:
        names = ["point", "violation", "normal", "error"]
    fields |= {prefix + name: getattr(cut, name) for name in names}
    for name, value in cut.extras.items():
        if np.asarray(value).dtype.hasobject:
            raise InvalidCut(f"`extras[{name!r}]` must be an array or a number to be journaled, got {type(value)}")
        fields[f"{prefix}extras/{name}"] = value
    others: dict[str, tuple[Cut, ...]] = {"parts": cut.parts}
    if isinstance(cut, ObjectiveCut):
        others["further"] = cut.further
        if cut.spectral is not None:
            part = cut.spectral
            arrays = {"trace": part.trace, "b": part.b, "values": part.values, "vectors": part.vectors}
            arrays |= part.matrix.arrays()
            fields |= {f"{prefix}spectral/{name}": array for name, array in arrays.items()}
    for name, several in others.items():
        for index, other in enumerate(several):
            _flatten(other, f"{prefix}{name}/{index}/", fields)


def _decode(payload: bytes) -> Entry:
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        fields = {name: archive[name] for name in archive.files}
    accuracy = float(fields["accuracy"])
    query = Query(fields["query"], None if np.isnan(accuracy) else accuracy, bool(fields["wants_curvature"]))
    return Entry(query, _unflatten("cut/", fields), float(fields["seconds"]))


def _unflatten(prefix: str, fields: dict[str, Any]) -> Cut:
    start = f"{prefix}extras/"
    extras = {
        name.removeprefix(start): value.item() if value.ndim == 0 else value
        for name, value in fields.items()
        if name.startswith(start)
    }
    parts, further = (_unflatten_several(f"{prefix}{name}/", fields) for name in ("parts", "further"))
    own = {name: fields.get(prefix + name) for name in ("point", "subgradient", "curvature", "normal")}
    if own["normal"] is not None:
        violation, error = float(fields[prefix + "violation"]), float(fields.get(prefix + "error", 0.0))
        return FeasibilityCut(fields[prefix + "point"], violation, own["normal"], parts, extras, error)
    value, error, lower = (float(fields[prefix + name]) for name in ("value", "error", "lower_bound"))
    return ObjectiveCut(
        fields[prefix + "point"],
        value,
        fields[prefix + "subgradient"],
        error,
        lower,
        parts,
        own["curvature"],
        extras,
        further,
        _spectral(f"{prefix}spectral/", fields),
    )


def _spectral(prefix: str, fields: dict[str, Any]) -> SpectralPart | None:
    arrays = {name.removeprefix(prefix): array for name, array in fields.items() if name.startswith(prefix)}
    if not arrays:
        return None
    matrix, trace = AffineMatrix.from_arrays(arrays), float(arrays["trace"])
    return SpectralPart(matrix, trace, arrays["b"], arrays["values"], arrays["vectors"])


def _unflatten_several(prefix: str, fields: dict[str, Any]) -> tuple[Any, ...]:
    cuts: list[Cut] = []
    while f"{prefix}{len(cuts)}/point" in fields:
        cuts.append(_unflatten(f"{prefix}{len(cuts)}/", fields))
    return tuple(cuts)
