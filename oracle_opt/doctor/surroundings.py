"""What the library runs on: instruction sets, cores, threads of linear algebra, memory, and folders of data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from oracle_opt.doctor.findings import Finding, brief, gib

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
UNLIMITED = 1 << 60  # bytes; a container without a limit states numbers beyond


def processor() -> Iterator[Finding]:
    """Its name, the instructions that the compiled loops use, cores, and threads of linear algebra."""
    from oracle_opt.oracles._processor import AVX2, AVX512
    from oracle_opt.study.machine import processor_name

    yield Finding("processor", processor_name())
    used = "AVX-512" if AVX512 else "AVX2" if AVX2 else "those of every processor of its kind"
    asked = ", as ORACLE_OPT_BASELINE is set" if os.environ.get("ORACLE_OPT_BASELINE") else ""
    yield Finding("instructions used", used + asked)
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Windows and macOS
        mine = os.cpu_count() or 1
    yield Finding("cores", f"{mine} of {os.cpu_count()}")
    yield from _linear_algebra()
    named = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    yield Finding("limits of threads", ", ".join(named) or "none in the environment")


def _linear_algebra() -> Iterator[Finding]:
    """Libraries of linear algebra that numpy and scipy have loaded, with their threads."""
    import scipy.linalg  # noqa: F401  # loads its own

    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        yield Finding("BLAS", "threads unknown: pip install 'oracle-opt[parallel]'")
        return
    loaded = {
        f"{pool['internal_api']} {pool['version']} for {pool.get('architecture', 'any')}, {pool['num_threads']} threads"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    yield Finding("BLAS", "; ".join(sorted(loaded)) or "none that tells its threads")


def memory() -> Iterator[Finding]:
    """Memory of the machine, what is free of it, and the limit of a container."""
    try:
        total = gib(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        total = "unknown: this system does not tell"
    yield Finding("memory", total)
    free = _free_bytes()
    if free is not None:
        yield Finding("free memory", gib(free))
    for path in map(Path, LIMITS):
        try:
            limit = int(path.read_text())
        except (OSError, ValueError):  # no container, or "max"
            continue
        if limit < UNLIMITED:
            yield Finding("limit of memory", f"{gib(limit)}, of this container")


def _free_bytes() -> int | None:
    """Bytes that a process can take without others being swapped out; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def data_folders() -> Iterator[Finding]:
    """The folders that environment variables name, and which data sets are where."""
    from oracle_opt.datasets.load import CACHE_VARIABLE, FOLDER_VARIABLE, available, cache_folder
    from oracle_opt.problems.folder import VARIABLE

    for variable in (FOLDER_VARIABLE, VARIABLE):
        named = os.environ.get(variable)
        there = named is not None and Path(named).expanduser().is_dir()
        words = "not set" if not named else brief(Path(named)) + ("" if there else ", and there is no such folder")
        yield Finding(variable, words, bool(named) and not there)
    cache = cache_folder()
    asked = f", which {CACHE_VARIABLE} names" if os.environ.get(CACHE_VARIABLE) else ""
    yield Finding("cache", brief(cache) + asked + ("" if cache.is_dir() else "; it is made when it is needed"))
    sets = available()
    yield Finding("data sets here", ", ".join(row.name for row in sets if row.here) or "none")
    elsewhere = sum(not row.here for row in sets)
    yield Finding("data sets elsewhere", f"{elsewhere}: `oracle-opt datasets` says where they come from")
