"""Tables of numbers in NumPy's archives, read so that whatever is wrong with a file is said with its name."""

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.errors import InvalidData
from oracle_opt.reading import read_bytes

MOST = 1 << 28  # bytes of a table
_DAMAGE = (
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def read_tables(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Read arrays of numbers from an archive that `numpy.savez` wrote."""
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: _table(archive, name) for name in names}
    except _DAMAGE as problem:
        words = f"{type(problem).__name__}: {problem}"
        raise InvalidData(f"{path} is no archive of the arrays {', '.join(names)}: {words}") from problem


def _table(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    entry = archive.getinfo(f"{name}.npy")
    if entry.file_size > MOST:
        raise ValueError(f"{name} has {entry.file_size} bytes, and {MOST} are the most")
    with archive.open(entry) as file:
        content = io.BytesIO(file.read(entry.file_size + 1))
    version = np.lib.format.read_magic(content)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = header(content)
    left = content.getbuffer()[content.tell() :]
    count = 1
    for size in shape:
        count *= size  # in whole numbers of any size
    if dtype.kind not in "fiu" or count * dtype.itemsize != len(left):
        raise ValueError(f"{name} says that it holds {count} numbers of type {dtype}, and has {len(left)} bytes")
    table: NDArray[Any] = np.frombuffer(left, dtype).reshape(shape, order="F" if in_columns else "C").copy()
    if np.isnan(table).any():
        raise ValueError(f"{name} holds a number that is none")
    return table
