"""On what a run was made."""

from __future__ import annotations

import platform
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
