"""Writing a file so that nobody ever sees half of it, having one for oneself, and naming folders."""

import errno
import hashlib
import os
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from oracle_opt.errors import InvalidArgument, JournalWarning

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TEMPORARY = ".partial-"
_OURS = re.compile(rf"{re.escape(TEMPORARY)}([0-9a-f]{{8}})-([0-9]+)-\w+(\.\w+)?")
_LIVE = 3600.0  # seconds: writing takes less; processes of another container may hide from us
_RESERVED = {"CON", "PRN", "AUX", "NUL"} | {f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10)}  # Windows
_LONGEST = 200  # bytes; file systems allow 255


def atomic_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, then put it in place at once."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    prefix = f"{TEMPORARY}{_machine()}-{os.getpid()}-"
    handle, temporary = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
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
    """Lock an open file until it is closed, or the process ends, however it does."""
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
        return  # Windows has no such thing
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems, for example those of other machines, refuse it
            os.fsync(handle)
    finally:
        os.close(handle)


def is_temporary(path: Path) -> bool:
    """Whether a file is one that `atomic_file` was killed in, or is writing now."""
    return path.name.startswith(TEMPORARY)


def remove_left_overs(folder: Path) -> None:
    """Remove what `atomic_file` left in a folder where a process of this machine was killed an hour ago or more."""
    for path in folder.glob(f"{TEMPORARY}*"):
        parts = _OURS.fullmatch(path.name)
        try:
            if (
                parts is not None
                and parts[1] == _machine()
                and not _lives(int(parts[2]))
                and path.is_file()
                and time.time() - path.stat().st_mtime > _LIVE
            ):
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster


def folder_name(name: str) -> str:
    """Name of a folder for a name of any kind: different names get different ones, and none leads elsewhere.

    Characters with a meaning to a file system become ``%`` and two hexadecimal digits a byte, as in web addresses.
    """
    escaped = "".join(_escape(c) if c in '<>:"/\\|?*%' or not c.isprintable() else c for c in name)
    if escaped.startswith(".") or escaped.split(".")[0].rstrip().upper() in _RESERVED:
        escaped = _escape(escaped[0]) + escaped[1:]
    if escaped.endswith((".", " ")):
        escaped = escaped[:-1] + _escape(escaped[-1])
    if not 1 <= len(escaped.encode()) <= _LONGEST:
        raise InvalidArgument(f"`name` of a data set or generator must have 1 to {_LONGEST} bytes, got {name[:50]!r}")
    return escaped


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _machine() -> str:
    """8 hexadecimal digits of this machine's name."""
    return hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()


def _lives(pid: int) -> bool:
    """Whether a process of this machine exists; yes where that cannot be asked harmlessly."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _umask() -> int:
    """Read the process's file mode mask; there is no way but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
