"""Writing a file so that nobody ever sees half of it, and having one for oneself."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from oracle_opt.errors import JournalWarning

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

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


def lock(file: FileIO) -> None:
    """Lock an open file until it is closed, or the process ends, however it does.

    Raises
    ------
    BlockingIOError
        Somebody else has locked it.
    """
    try:
        if sys.platform == "win32":
            file.seek(1 << 62)  # one byte far behind the end: it keeps nobody from reading
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as problem:
        raise BlockingIOError(str(problem)) from problem
    except OSError as problem:
        warnings.warn(
            f"{file.name!r} cannot be locked on this file system ({problem}); see to it that no two runs use it",
            JournalWarning,
            stacklevel=5,
        )


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a file made in it is still there after a power cut."""
    if sys.platform == "win32":
        return  # which has no such thing
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems, say of other machines, refuse it
            os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """Read the process's file mode mask; there is no way but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
