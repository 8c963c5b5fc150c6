"""A file of records, each written durably, of which all are read as they were written or none; answers as records.

The file is a signature line and records. A record is a tag, its number, the payload's length, a hash of the payload and
of all before it, a CRC-32 of these four, and the payload. A process killed at any moment leaves at most the beginning
of one record, at the end. Whatever else is not as it was written is noticed, be it one bit, a record that is missing,
or one in another's place.

An answered query is a line of JSON, which says where the array at each path of the cut's fields stands, and the bytes
of these arrays. Bytes that several arrays share are written once, and of an array of many zeros the other words alone.
Answers of any kind are written under the name of their class, by arrays of their own.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
import weakref
import zlib
from ast import literal_eval
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from hashlib import blake2b
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.cuts import Cut, FeasibilityCut, Kind, ObjectiveCut, Query
from oracle_opt.errors import InvalidArgument, InvalidCut, JournalMismatch
from oracle_opt.files import lock, sync_folder
from oracle_opt.listener import Entry

Fields = dict[str, NDArray[Any]]
Kinds = Set[Kind]
SIGNATURE = b"oracle_opt journal 3\n"
_HEAD = struct.Struct("<4sQQ16s")  # tag, number, length and hash of the payload
_BEGIN = struct.Struct("<4sQ")
_CHECK = struct.Struct("<I")
_TAG = b"REC\n"
_WORD, _NUMBER = np.dtype("<u8"), np.dtype("<u4")  # of arrays of many zeros: a word that is none, and its number
_SPARSE = _WORD.itemsize + _NUMBER.itemsize
_LONGEST = 1 << 40  # bytes of a payload: no answer has as many

_open: weakref.WeakSet[RecordFile] = weakref.WeakSet()


class RecordFile:
    """Reads the records of a file, then appends to them; nobody else can open it meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as problem:
            reason = "it is a folder" if self.path.is_dir() else f"{problem.strerror}; its folder must be there"
            raise InvalidArgument(f"`journal` must be a file to write, got {self.path}: {reason}") from problem
        self._file = FileIO(handle, "r+b")
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise JournalMismatch(f"`journal` {self.path} must be a regular file")
            lock(self._file)
            content = self._file.readall()
            self.records = self._read(content)  # payloads of the records that the file held
        except BlockingIOError as problem:
            self._file.close()
            raise JournalMismatch(
                f"`journal` {self.path} is in use by another run; wait for its end, or use another file"
            ) from problem
        except BaseException:
            self._file.close()
            raise
        # Bytes at the end that are the beginning of a record; the next one is written over them.
        self.torn = len(content) - self._end
        self._number = len(self.records)  # number of the next record
        _open.add(self)

    def _read(self, content: bytes) -> list[bytes]:
        """Payloads of the whole records; `_end` is where the last of them ends."""
        self._end, self._hash = 0, b""
        records: list[bytes] = []
        if not content.startswith(SIGNATURE):
            if SIGNATURE.startswith(content):  # new, or killed while it was made
                return records
            older = content.startswith(SIGNATURE[:-2])
            what = "was written by another version" if older else "is no journal"
            raise JournalMismatch(f"`journal` {self.path} {what} of this library; choose another file")
        at = len(SIGNATURE)
        while at < len(content):
            start = at + _HEAD.size + _CHECK.size
            head, check = content[at : at + _HEAD.size], content[at + _HEAD.size : start]
            begin = _BEGIN.pack(_TAG, len(records))
            if head[: len(begin)] != begin[: len(head)]:
                raise self._damage(len(records), at, len(content))
            if len(check) < _CHECK.size:
                break
            _, _, length, stated = _HEAD.unpack(head)
            if _CHECK.pack(zlib.crc32(head)) != check or length > _LONGEST:
                raise self._damage(len(records), at, len(content))
            if start + length > len(content):
                break
            payload = content[start : start + length]
            if self._hash_of(payload) != stated:
                raise self._damage(len(records), at, len(content))
            self._hash = stated
            records.append(payload)
            self._end = at = start + length
        return records

    def _damage(self, number: int, at: int, size: int) -> JournalMismatch:
        what = f"answer {number}" if number else "the record that says which run it belongs to"
        keeps = f", or cut it to {at} bytes, which keeps the answers before that one and gives up what follows"
        return JournalMismatch(
            f"`journal` {self.path} is damaged: {what}, at byte {at} of {size}, is not as it was written. The file was "
            f"left as it is: restore it from a copy{keeps if number > 1 else ', or use another file'}"
        )

    def append(self, payload: bytes) -> None:
        """Write one record durably."""
        if self._file.closed:
            raise JournalMismatch(
                f"`journal` {self.path} belongs to the process that opened it, and was closed in this one"
            )
        stated = self._hash_of(payload)
        head = _HEAD.pack(_TAG, self._number, len(payload), stated)
        record = memoryview(head + _CHECK.pack(zlib.crc32(head)) + payload)
        if not self._number:
            record = memoryview(SIGNATURE + record)
        written = 0
        try:
            if self.torn:
                self._file.truncate(self._end)
                self.torn = 0
            self._file.seek(self._end)
            while written < len(record):
                written += self._file.write(record[written:]) or 0
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):  # if this fails a torn record is left, which is dropped when the file is read
                self._file.truncate(self._end)
            raise
        if not self._number:
            sync_folder(self.path.parent)
        self._end += len(record)
        self._hash = stated
        self._number += 1

    def _hash_of(self, payload: bytes) -> bytes:
        """Hash of a payload that follows the last one read or written."""
        return blake2b(payload, digest_size=16, key=self._hash).digest()

    def close(self) -> None:
        """Let others open it."""
        self._file.close()


def _close_in_child() -> None:
    """Close the files of the parent in a process made by fork: else they stay locked as long as that child lives."""
    for file in list(_open):
        file.close()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_in_child)


def encode(entry: Entry) -> bytes:
    """Bytes of an entry."""
    accuracy = np.nan if entry.query.accuracy is None else entry.query.accuracy
    fields: dict[str, Any] = {"seconds": entry.seconds, "query": entry.query.point, "accuracy": accuracy}
    fields["wishes"] = _names(sorted(entry.query.wishes, key=lambda kind: kind.__name__))
    for name, value in cut_fields(entry.cut).items():
        if np.asarray(value).dtype.hasobject:
            raise InvalidCut(f"`{_place(name)}` must be an array or a number to be journaled, got {type(value)}")
        fields[f"cut/{name}"] = value
    return _packed(fields)


def decode(payload: bytes, kinds: Kinds) -> Entry:
    """Entry of these bytes, with answers of these kinds; any exception at all says that they are none."""
    fields = _unpacked(payload)
    accuracy, seconds = float(fields["accuracy"]), float(fields["seconds"])
    if not seconds >= 0:
        raise ValueError(f"the oracle took {seconds} seconds")
    if fields["query"].ndim != 1 or fields["query"].dtype != np.float64:
        raise ValueError(f"the query point is an array of {fields['query'].dtype}, shape {fields['query'].shape}")
    wishes = frozenset(_kind(name, kinds) for name in fields["wishes"].tolist())
    query = Query(fields["query"], None if np.isnan(accuracy) else accuracy, wishes)
    return Entry(query, _cut(_grouped(fields)["cut"], kinds), seconds)


def _packed(fields: Mapping[str, Any]) -> bytes:
    """Bytes of arrays and numbers by name."""
    places: dict[str, tuple[Any, ...]] = {}
    starts: dict[bytes, int] = {}  # of the bytes that are written, which are in order
    end = 0
    for name, value in fields.items():
        array = np.asarray(value)
        order: Literal["C", "F"] = "F" if array.flags.fnc else "C"
        content = array.tobytes(order)
        if len(content) % _WORD.itemsize == 0:  # in bits: -0.0 is no zero
            words = np.frombuffer(content, _WORD)
            numbers = np.flatnonzero(words)
            if _SPARSE * numbers.size < len(content) and words.size <= 1 << 32:
                content = numbers.astype(_NUMBER).tobytes() + words[numbers].tobytes()
        start = starts.setdefault(content, end)
        end = max(end, start + len(content))
        places[name] = (repr(dtype_to_descr(array.dtype)), array.shape, order, start, len(content))
    return b"\n".join([json.dumps(places, separators=(",", ":")).encode(), b"".join(starts)])


def _unpacked(payload: bytes) -> Fields:
    """Arrays by name of their bytes, to the last bit."""
    line, _, contents = payload.partition(b"\n")
    fields = {}
    for name, (kind, shape, order, start, length) in json.loads(line).items():
        dtype, content = descr_to_dtype(literal_eval(kind)), contents[start : start + length]
        size = prod(shape) * dtype.itemsize
        if length < size:
            numbers, words = np.frombuffer(content, _NUMBER, length // _SPARSE), np.zeros(size // _WORD.itemsize, _WORD)
            words[numbers] = np.frombuffer(content, _WORD, offset=numbers.nbytes)
            content = words.tobytes()
        fields[name] = np.frombuffer(content, dtype).reshape(shape, order=order).copy("K")
    return fields


def cut_fields(cut: Cut) -> dict[str, Any]:
    """All that a cut holds, by paths: `value`, `summands/0/value`, `extras/alpha`."""
    if isinstance(cut, ObjectiveCut):
        names = ["point", "value", "subgradient", "error", "lower_bound"]
    else:
        names = ["point", "violation", "normal", "error"]
    fields = {name: getattr(cut, name) for name in names}
    fields |= {f"extras/{name}": value for name, value in cut.extras.items()}
    several: dict[str, tuple[Cut, ...]] = {"further": cut.further}
    if isinstance(cut, ObjectiveCut):
        several["summands"] = cut.summands
        if cut.answers:
            fields["kinds"] = _names(type(one) for one in cut.answers)
        for one in cut.answers:
            fields |= {f"answers/{type(one).__name__}/{name}": array for name, array in one.arrays().items()}
    for name, others in several.items():
        for i, other in enumerate(others):
            fields |= {f"{name}/{i}/{inner}": value for inner, value in cut_fields(other).items()}
    return fields


def _names(kinds: Iterable[type[Answer]]) -> NDArray[np.str_]:
    return np.array([kind.__name__ for kind in kinds], dtype=np.str_)


def _kind(name: str, kinds: Kinds) -> type[Answer]:
    for kind in kinds:
        if kind.__name__ == name and issubclass(kind, Answer):
            return kind
    raise ValueError(f"it has to do with answers of the kind {name}, which neither oracle nor generator knows")


def _place(name: str) -> str:
    """How a user writes what is at a path: an extra, or an array of an answer."""
    which = max("extras/", "answers/", key=name.rfind)
    before, _, rest = name.rpartition(which)
    return f"{before.replace('/', '.')}{which[:-1]}[{rest!r}]"


def _grouped(fields: Mapping[str, NDArray[Any]]) -> dict[str, Fields]:
    """Fields by the first word of their paths, under the rest of it."""
    groups: dict[str, Fields] = {}
    for name, value in fields.items():
        first, _, rest = name.partition("/")
        groups.setdefault(first, {})[rest] = value
    return groups


def _cut(fields: Fields, kinds: Kinds) -> Cut:
    own = {name: value for name, value in fields.items() if "/" not in name}
    inner = _grouped({name: value for name, value in fields.items() if "/" in name})
    extras = {name: array.item() if array.ndim == 0 else array for name, array in inner.get("extras", {}).items()}
    further = _several(inner.get("further", {}), kinds)
    if "normal" in own:
        return FeasibilityCut(
            own["point"],
            float(own["violation"]),
            own["normal"],
            further=further,
            extras=extras,
            error=float(own["error"]),
        )
    return ObjectiveCut(
        own["point"],
        float(own["value"]),
        own["subgradient"],
        error=float(own["error"]),
        lower_bound=float(own["lower_bound"]),
        summands=_several(inner.get("summands", {}), kinds),
        extras=extras,
        further=further,
        answers=_answers(own["kinds"].tolist(), inner.get("answers", {}), kinds) if "kinds" in own else (),
    )


def _several(fields: Fields, kinds: Kinds) -> tuple[Any, ...]:
    groups = _grouped(fields)
    return tuple(_cut(groups[str(i)], kinds) for i in range(len(groups)))


def _answers(names: list[str], fields: Fields, kinds: Kinds) -> tuple[Answer, ...]:
    groups = _grouped(fields)
    return tuple(_kind(name, kinds).from_arrays(groups.get(name, {})) for name in names)
