"""Reading text files: whatever is wrong with one is said with its name, its line and the reason."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument, InvalidData

UNPACKED = "ORACLE_OPT_MAX_UNPACKED"
_ALWAYS, _RATIO = 2**26, 200  # text packs to a tenth of its size, rarely to less than a hundredth
_PIECE = 2**20
_PACKERS = (("gzip", ".gz", b"\x1f\x8b"), ("bzip2", ".bz2", b"BZh9"), ("xz", ".xz", b"\xfd7zXZ\0"))
_CONTROL = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f]")
_FOREIGN = re.compile(r"[^0-9+\-.eE]")  # `float` alone would take 1_0, nan, inf, blanks and digits of all scripts
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


def read_bytes(path: Path) -> bytes:
    """Read a file; unpack it if its name ends in .gz, .bz2 or .xz, or its content begins as one of these does."""
    if path.is_dir():
        raise InvalidData(f"{path} is a folder, and a file is wanted")
    if path.exists() and not path.is_file():
        raise InvalidData(f"{path} is a pipe or a device, which may never end; save its content in a file")
    try:
        content = path.read_bytes()
    except FileNotFoundError as problem:
        raise InvalidData(f"the file {path} does not exist") from problem
    except (OSError, ValueError) as problem:
        raise InvalidData(f"{path} cannot be read: {problem}") from problem
    for packer, ending, beginning in _PACKERS:
        if path.suffix.lower() == ending or content.startswith(beginning):
            return _unpacked(path, content, packer)
    return content


def _unpacked(path: Path, content: bytes, packer: str) -> bytes:
    limit, pieces, size = _most_unpacked(len(content)), [], 0
    try:
        with _opened(io.BytesIO(content), packer) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > limit:
                    raise InvalidData(
                        f"{path} unpacks to more than {limit} bytes from {len(content)}; if that is meant, set the "
                        f"environment variable {UNPACKED} to the bytes it may have"
                    )
                pieces.append(piece)
    except (OSError, EOFError, MemoryError, zlib.error, lzma.LZMAError) as problem:
        raise InvalidData(f"{path} cannot be unpacked by {packer}: {problem}") from problem
    return b"".join(pieces)


def _opened(packed: io.BytesIO, packer: str) -> gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile:
    if packer == "gzip":
        return gzip.GzipFile(fileobj=packed)
    return bz2.BZ2File(packed) if packer == "bzip2" else lzma.LZMAFile(packed)


def _most_unpacked(packed: int) -> int:
    stated = os.environ.get(UNPACKED)
    if not stated:
        return max(_ALWAYS, _RATIO * packed)
    limit = whole(stated)
    if limit is None or limit < 1:
        raise InvalidArgument(f"`{UNPACKED}` must be a positive number of bytes, got {stated!r}")
    return limit


def read_text(path: Path) -> str:
    r"""Read a text file in UTF-8, with or without a mark, else Latin-1, as `read_bytes` does; lines end in ``\n``."""
    content = read_bytes(path).removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")  # DOS ended files so
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        raise wrong(
            path, line, f"the character {control[0]!r} is in no text file, unless it is UTF-16: save it as UTF-8"
        )
    return text


def wrong(path: Path, line: int, reason: str) -> InvalidData:
    """Make the error of a line, counted from 1."""
    return InvalidData(f"{path}, line {line}: {reason}")


def shown(word: str) -> str:
    """Quote a word; a very long one is cut."""
    return repr(word if len(word) <= 40 else f"{word[:40]}...")


def number(word: str, infinite: bool = False) -> float | None:
    """Value of a word of ASCII digits, point, signs and exponent; None if it is no number or not finite."""
    if infinite and _INFINITY.fullmatch(word):
        return float(word)
    if _FOREIGN.search(word):
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def numbers(words: Sequence[str]) -> Vector | None:
    """Values of many words at once, None if `number` takes one of them for none."""
    if _FOREIGN.search("".join(words)):
        return None
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def whole(word: str) -> int | None:
    """Value of a word that is a whole number of at most 18 digits, else None."""
    return int(word) if _WHOLE.fullmatch(word) else None


class Words:
    """Words of a text file, in order, that know their lines."""

    def __init__(self, path: Path, lines: Iterable[tuple[int, str]]) -> None:
        self.path = path
        self._lines = list(lines)
        self.words = [word for _, line in self._lines for word in line.split()]

    @classmethod
    def of_file(cls, path: Path) -> Words:
        """Read all words of a file."""
        return cls(path, enumerate(read_text(path).split("\n"), 1))

    def __len__(self) -> int:
        return len(self.words)

    def wrong(self, k: int, reason: str) -> InvalidData:
        """Make the error of word k."""
        before, at = 0, 1
        for at, line in self._lines:  # noqa: B007 - the last line where k lies behind all words
            before += len(line.split())
            if before > k:
                break
        return wrong(self.path, at, reason)

    def numbers(self, places: slice | Iterable[int] = slice(None), infinite: bool = False) -> Vector:
        """Values of words at these places."""
        chosen = range(len(self.words))[places] if isinstance(places, slice) else places
        words = [self.words[k] for k in chosen]
        plain = numbers(words)
        if plain is not None:
            return plain
        values = np.empty(len(words))
        for i, k in enumerate(chosen):
            value = number(self.words[k], infinite)
            if value is None:
                raise self.wrong(k, f"{shown(self.words[k])} is not a {'' if infinite else 'finite '}number")
            values[i] = value
        return values

    def count(self, k: int, what: str) -> int:
        """Value of word k, which must be a whole number of at least 1; `what` says what it counts."""
        value = whole(self.words[k]) if k < len(self.words) else None
        if value is None or value < 1:
            got = shown(self.words[k]) if k < len(self.words) else "the end of the file"
            raise self.wrong(k, f"the number of {what} must be a whole number of at least 1, got {got}")
        return value


@contextmanager
def data_of(path: Path, *own: str) -> Iterator[None]:
    """Turn what a constructor refuses into the error of the file; arguments of the caller's `own` stay theirs."""
    try:
        yield
    except InvalidArgument as problem:
        if str(problem).startswith(tuple(f"`{name}`" for name in own)):
            raise
        raise InvalidData(f"{path}: {problem}") from problem
