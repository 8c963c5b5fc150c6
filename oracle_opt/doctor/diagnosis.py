"""All that is found, in sections, and the words to paste: versions of what is installed, and what the library runs on.

Installed are Python, this library, the packages it needs and those of its extras; it runs on instruction sets, cores,
threads of linear algebra, memory, and folders of data.
"""

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from types import MappingProxyType

import oracle_opt
from oracle_opt.doctor.findings import Finding, brief, found, gib
from oracle_opt.doctor.self_test import self_test

OWN = "oracle-opt"
FOR_DEVELOPERS = ("dev", "peers", "site", "test")  # extras that no run of the library needs
MODULES = {"scikit-learn": "sklearn"}  # where a package is imported under another name
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*\(?(?P<versions>[^;)]*)\)?\s*(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
UNLIMITED = 1 << 60  # bytes; a container without a limit states numbers beyond


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `examine` found.

    Attributes
    ----------
    sections : mapping
        Titles to the `Finding` objects below them, in the order of printing.
    """

    sections: Mapping[str, tuple[Finding, ...]]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The faults that have to be mended."""
        return tuple(finding for findings in self.sections.values() for finding in findings if finding.broken)

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken

    def __repr__(self) -> str:
        return f"Diagnosis({'healthy' if self.healthy else ', '.join(f.name for f in self.broken) + ' broken'})"

    def __str__(self) -> str:
        lines = []
        for title, findings in self.sections.items():
            lines += [title, *map(str, findings), ""]
        names = ", ".join(finding.name for finding in self.broken)
        return "\n".join([*lines, f"Broken: {names}." if names else "Nothing is broken."])


def examine() -> Diagnosis:
    """Look at the installation and the machine, and solve four small problems of known minimum.

    Takes a few seconds, most of them for importing packages. Nothing is written, and nothing fetched.

    Returns
    -------
    Diagnosis
        ``print(examine())`` shows it; `Diagnosis.healthy` is what the exit status of ``oracle-opt doctor`` says.

    Examples
    --------
    >>> from oracle_opt.doctor import examine
    >>> list(examine().sections)
    ['Python', 'Packages', 'Processor', 'Memory', 'Data', 'Self-test']
    """
    looks = {
        "Python": (python, compiled_parts),
        "Packages": (packages,),
        "Processor": (processor,),
        "Memory": (memory,),
        "Data": (data_folders,),
        "Self-test": (self_test,),
    }
    sections = {
        title: tuple(finding for look in each for finding in found(look, look.__name__.replace("_", " ")))
        for title, each in looks.items()
    }
    return Diagnosis(MappingProxyType(sections))


def python() -> Iterator[Finding]:
    """Version and place of the library, and the Python that runs it."""
    version, folder = oracle_opt.__version__, brief(Path(oracle_opt.__file__).parent)
    yield Finding("oracle_opt", f"{version}, in {folder}")
    words = f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    yield Finding("Python", f"{words}, {8 * _pointer_bytes()} bits, in {brief(Path(sys.executable))}")


def compiled_parts() -> Iterator[Finding]:
    """Whether the compiled modules can be imported."""
    for name in ("oracle_opt.oracles", "oracle_opt.generators"):
        trouble = found(lambda name=name: _imports(name), name)  # type: ignore[misc]
        yield from trouble or [Finding(name, "imported, with its compiled modules")]


def packages() -> Iterator[Finding]:
    """Each package that is required or that an extra adds: its version, and whether it can be imported."""
    required, optional = _requirements()
    for name, versions in required.items():
        yield _package(name, versions, f"pip install '{name}{versions}'", True)
    for name, (versions, extra) in optional.items():
        yield _package(name, versions, f"pip install '{OWN}[{extra}]'", False)


def _package(name: str, versions: str, remedy: str, required: bool) -> Finding:
    version = _version(name)
    if version is None:
        return Finding(name, f"{'missing, and required' if required else 'not installed'}: {remedy}", required)
    if not _is_recent(version, versions):
        return Finding(name, f"{version}, and {versions} is required: {remedy}", True)
    for trouble in found(lambda: _imports(MODULES.get(name, name)), name):
        return Finding(name, f"{version}, which cannot be imported: {trouble.words}", True)
    return Finding(name, version)


def _requirements() -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Names to versions of the required packages, and names to versions and extra of the others."""
    required: dict[str, str] = {}
    optional: dict[str, tuple[str, str]] = {}
    for line in metadata.requires(OWN) or ():
        parts = _REQUIREMENT.match(line)
        assert parts is not None, line
        name, versions, extras = parts["name"], parts["versions"].strip(), _EXTRA.findall(parts["marker"] or "")
        if not extras:
            required[name] = versions
        elif name != OWN and extras[0] not in (*FOR_DEVELOPERS, "all"):
            optional.setdefault(name, (versions, extras[0]))
    return required, {name: at for name, at in optional.items() if name not in required}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _is_recent(version: str, versions: str) -> bool:
    """Whether a version is at least the least one that is asked for; by its leading numbers."""
    least = re.search(r">=\s*([\d.]+)", versions)
    return least is None or _numbers(version) >= _numbers(least[1])


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _imports(name: str) -> Iterator[Finding]:
    import_module(name)
    yield from ()


def _pointer_bytes() -> int:
    return (sys.maxsize.bit_length() + 1) // 8


def processor() -> Iterator[Finding]:
    """Its name, the instructions that the compiled loops use, cores, and threads of linear algebra."""
    from oracle_opt.oracles._processor import AVX2, AVX512, HERE
    from oracle_opt.study.machine import processor_name

    yield Finding("processor", processor_name())
    plain = "those of this processor" if HERE else "those of every processor of its kind"
    used = "AVX-512" if AVX512 else "AVX2" if AVX2 else plain
    asked = ", as ORACLE_OPT_BASELINE is set" if os.environ.get("ORACLE_OPT_BASELINE") and not HERE else ""
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
    from oracle_opt.problems.collection import VARIABLE

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
