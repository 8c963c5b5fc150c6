"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

TEMPORARY = ".partial-"


def atomic_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, then put it in place at once.

    Parameters
    ----------
    path : Path
        Final place; replaced if it exists. Its folder must exist.
    write : callable
        Called with the path of an empty temporary file, which it is to fill.

    Raises
    ------
    OSError
        The folder cannot be written to. Whatever goes wrong, `path` is as it was and the temporary file is gone.
    """
    handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        write(Path(temporary))
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def atomic_text(path: Path, text: str) -> None:
    """Write a text file at once."""
    atomic_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _umask() -> int:
    """Read the process's file mode mask; there is no way but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
