"""The largest resident memory of this process during a run, and what is free, where the system tells."""

from __future__ import annotations

from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEMORY = Path("/proc/meminfo")


def forget_peak() -> bool:
    """Set the largest resident memory back to the present one; whether that is possible here (it is on Linux)."""
    try:
        RESET.write_text("5")
    except OSError:
        return False
    return STATUS.exists()


def peak() -> float:
    """Largest resident memory since it was set back, GiB."""
    for line in STATUS.read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 2**20
    return float("nan")


def free_memory() -> int | None:
    """Bytes that a process may still take before the machine swaps, as Linux tells them; elsewhere None."""
    if not MEMORY.exists():
        return None
    for line in MEMORY.read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return None
