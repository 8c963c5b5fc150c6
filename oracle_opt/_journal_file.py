"""A file of records, each written durably, of which all are read as they were written or none.

The file is a signature line and records. A record is a tag, its number, the payload's length, a hash of the payload and
of all before it, a CRC-32 of these four, and the payload. A process killed at any moment leaves at most the beginning
of one record, at the end. Whatever else is not as it was written is noticed, be it one bit, a record that is missing,
or one in another's place.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import weakref
import zlib
from contextlib import suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path

from oracle_opt.errors import JournalMismatch
from oracle_opt.files import lock, sync_folder

SIGNATURE = b"oracle_opt journal 3\n"
_HEAD = struct.Struct("<4sQQ16s")  # tag, number, length and hash of the payload
_BEGIN = struct.Struct("<4sQ")
_CHECK = struct.Struct("<I")
_TAG = b"REC\n"
_LONGEST = 1 << 40  # bytes of a payload: no answer has as many

_open: weakref.WeakSet[RecordFile] = weakref.WeakSet()


class RecordFile:
    """Reads the records of a file, then appends to them; nobody else can open it meanwhile.

    Parameters
    ----------
    path : path-like
        The file; made if it does not exist.

    Attributes
    ----------
    records : list of bytes
        Payloads of the records that the file held.
    torn : int
        Bytes at the end that are the beginning of a record; the next one is written over them.

    Raises
    ------
    JournalMismatch
        The file is no journal, is damaged, or is in use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._file = FileIO(handle, "r+b")
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise JournalMismatch(f"`journal` {self.path} must be a regular file")
            lock(self._file)
            content = self._file.readall()
            self.records = self._read(content)
        except BlockingIOError as problem:
            self._file.close()
            raise JournalMismatch(
                f"`journal` {self.path} is in use by another run; wait for its end, or use another file"
            ) from problem
        except BaseException:
            self._file.close()
            raise
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
        """Write one record durably.

        Raises
        ------
        OSError
            The disk is full, say; the file is as it was.
        """
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
