"""The most memory that this process has held, and that of the machine, as far as the system tells."""

from __future__ import annotations

import os
import sys

KIB = 1024


def machine_memory() -> int | None:
    """Bytes of the machine's memory; `None` where the system does not tell, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def peak_memory() -> int | None:
    """Largest resident memory of this process since it began, in bytes.

    Returns
    -------
    int or None
        None where the system does not tell, as on Windows. Processes that this one has started are not counted.

    Notes
    -----
    Linux tells it as VmHWM; its `ru_maxrss` may be that of the process that started this one, which holds for the
    workers of a study. A program may reset VmHWM through ``/proc/self/clear_refs``, and then it counts from there; this
    library never does.
    """
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * KIB
    except (OSError, ValueError, IndexError):  # no Linux, or a container that hides it
        return _of_usage()
    return _of_usage()


def _of_usage() -> int | None:
    if sys.platform in ("win32", "emscripten"):
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB  # macOS counts bytes, others KiB
