"""On what a run was made."""

import os
import platform
from contextlib import suppress
from functools import cache


@cache
def own_version() -> str:
    """Version of this library."""
    from importlib.metadata import version

    return version("oracle-opt")


@cache
def machine_words() -> str:
    """Words that say on what a run was made."""
    from importlib.metadata import version

    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "highspy"))
    return (
        f"{platform.system()} {platform.machine()}, {processor_name()}, Python {platform.python_version()}, {libraries}"
    )


def processor_name() -> str:
    """Name of the processor, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return platform.processor() or "processor unknown"
    return platform.processor() or "processor unknown"


def cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def crowded(jobs: int | None) -> str:
    """Why elapsed seconds would tell of the neighbors, too: more jobs, or a higher load, than cores; empty if not."""
    n = cores()
    if jobs is not None and jobs > n:
        return f"{jobs} runs at a time share {n} core{'s' * (n > 1)}"
    with suppress(AttributeError, OSError):  # no such system call, as on Windows
        load = os.getloadavg()[0]
        if load > n:
            return f"the load of the machine is {load:.1f}, on {n} core{'s' * (n > 1)}"
    return ""
