"""A certificate as lines of JSON, each float in hexadecimal; docs/certificate_files.md has the format."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.certificates.verify import DamagedFile, Record
from oracle_opt.errors import InvalidCertificate
from oracle_opt.files import atomic_file
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.words import shown


def hexadecimal(value: float) -> str:
    """A float in hexadecimal, without the zeros that end its digits: ``0x1.8p+0`` is 1.5."""
    digits, power, exponent = float(value).hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}" if power and "." in digits else digits + power + exponent


def hexadecimals(values: Iterable[float]) -> str:
    """Floats with spaces between; what stands there often, as bounds do, is put into words once."""
    bits, which = np.unique(np.array(values, dtype=float).view(np.int64), return_inverse=True)
    words = list(map(hexadecimal, bits.view(float).tolist()))
    return " ".join([words[i] for i in which.ravel().tolist()])


def slope_words(slope: Vector) -> Record:
    """A slope or row: all its entries or, where less than half are not 0, these and their places."""
    places = np.flatnonzero(slope)
    if 2 * len(places) > len(slope):
        return {"slope": hexadecimals(slope)}
    return {"at": places.tolist(), "slope": hexadecimals(slope[places])}


def slope_of(record: Mapping[str, Any], n: int) -> Vector:
    """The slope that a line states."""
    slope = np.zeros(n)
    slope[record.get("at", slice(None))] = _floats(record["slope"])
    return slope


def set_words(described: Mapping[str, Any]) -> Record:
    """A set that `Domain.described` describes: arrays and numbers in the words of a certificate."""
    words: Record = {}
    for name, value in described.items():
        if name == "rows":
            words["rows"] = [
                {"equation": equation, "rhs": hexadecimal(rhs), "multiplier": hexadecimal(u), **_row_words(row)}
                for row, rhs, equation, u in value
            ]
        else:
            words[name] = hexadecimals(value) if np.ndim(value) else hexadecimal(value)
    return words


def _row_words(row: Vector | tuple[Vector, Vector]) -> Record:
    if isinstance(row, tuple):
        return {"at": row[0].tolist(), "slope": hexadecimals(row[1])}
    return slope_words(row)


def cut_words(claim: CutClaim, multiplier: float) -> Record:
    """The line of a cut."""
    words: Record = {
        "line": "cut",
        "kind": claim.kind.value,
        "multiplier": hexadecimal(multiplier),
        "constant": hexadecimal(claim.constant),
        **slope_words(np.asarray(claim.slope, dtype=float)),
    }
    if claim.kind is ClaimKind.SUMMAND:
        words |= {"summand": int(claim.summand), "n_summands": int(claim.n_summands)}
    if claim.tolerance or claim.kind is ClaimKind.HALF_SPACE:
        words["tolerance"] = hexadecimal(claim.tolerance)
    if claim.note:
        words["note"] = claim.note
    if claim.witness:
        words["witness"] = {name: _array_words(name, value) for name, value in claim.witness.items()}
    return words


def cut_of(record: Record, n: int) -> tuple[CutClaim, float]:
    """The cut that a line states, and its multiplier."""
    claim = CutClaim(
        ClaimKind(record["kind"]),
        float.fromhex(record["constant"]),
        slope_of(record, n),
        summand=record.get("summand", 0),
        n_summands=record.get("n_summands", 0),
        tolerance=float.fromhex(record.get("tolerance", "0x0p+0")),
        witness=_witness_of(record),
        note=_note_of(record),
    )
    return claim, float.fromhex(record["multiplier"])


def value_words(value: ValueClaim | None, outside: Mapping[str, float]) -> Record:
    """The line of the incumbent, of no words where there is none."""
    if value is None:
        return {"line": "incumbent", "upper": "inf"}
    return {
        "line": "incumbent",
        "upper": hexadecimal(value.upper),
        "outside": {kind: hexadecimal(amount) for kind, amount in outside.items()},
        "point": hexadecimals(value.point),
        **({"note": value.note} if value.note else {}),
        "witness": {name: _array_words(name, one) for name, one in value.witness.items()},
    }


def value_of(record: Record) -> ValueClaim | None:
    """The incumbent that a line states, if any."""
    if record["upper"] == "inf":
        return None
    point, upper = _floats(record["point"]), float.fromhex(record["upper"])
    return ValueClaim(point, upper, _witness_of(record), _note_of(record))


def plain(name: str, value: object) -> str | int | float | None:
    """A fact of a run as JSON has it."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else hexadecimal(float(value))
    raise InvalidCertificate(f"`facts` must be words and numbers, got {shown(value)} for {name!r}")


def content_of(records: Sequence[Record]) -> bytes:
    """All lines as bytes, and the last one, which closes the file."""
    text = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode()
    end = {"line": "end", "lines": len(records) + 1, "sha256": hashlib.sha256(text).hexdigest()}
    return text + json.dumps(end).encode() + b"\n"


def write(path: Path, content: bytes) -> None:
    """Write all at once; compressed where the name ends in .gz."""
    data = gzip.compress(content, mtime=0) if path.suffix == ".gz" else content
    atomic_file(path, lambda temporary: temporary.write_bytes(data))


def content_at(path: Path) -> bytes:
    """All lines of a file, which may be compressed."""
    data = path.read_bytes()
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as problem:
        raise DamagedFile(f"the compressed file is damaged or cut off: {problem}") from problem


def _array_words(name: str, value: object) -> Record:
    """An array or a number: dtype, shape, and entries row by row."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise InvalidCertificate(
            f"the witness {name!r} must be an array of real numbers, or a number, got {shown(value)}"
        )
    flat = array.ravel().tolist()
    values = hexadecimals(flat) if array.dtype.kind == "f" else " ".join(str(int(entry)) for entry in flat)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


def _witness_of(record: Record) -> dict[str, Any]:
    return {name: _array_of(words) for name, words in record.get("witness", {}).items()}


def _note_of(record: Record) -> str:
    note = record.get("note", "")
    if not isinstance(note, str):
        raise ValueError(f"a note is a text, got {shown(note)}")
    return note


def _array_of(words: Record) -> Any:
    dtype = np.dtype(words["dtype"])
    if dtype.kind not in "fiub":
        raise ValueError(f"there is no witness of type {dtype}")
    entries = words["values"].split()
    flat: NDArray[Any] = np.array([float.fromhex(one) if dtype.kind == "f" else int(one) for one in entries], dtype)
    array = flat.reshape(words["shape"])
    return array.item() if array.ndim == 0 else array


def _floats(words: str) -> Vector:
    return np.array([float.fromhex(word) for word in words.split()])
