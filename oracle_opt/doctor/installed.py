"""Versions: Python, this library, the packages it needs, and those of its extras."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

import oracle_opt
from oracle_opt.doctor.findings import Finding, brief, found

OWN = "oracle-opt"
FOR_DEVELOPERS = ("dev", "peers", "site", "test")  # extras that no run of the library needs
MODULES = {"scikit-learn": "sklearn"}  # where a package is imported under another name
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*\(?(?P<versions>[^;)]*)\)?\s*(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


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
