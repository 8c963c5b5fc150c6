"""Versions of Python, of this library and of its packages, and the self-test below them, as words to paste."""

import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata

import oracle_opt

OWN = "oracle-opt"
FOR_DEVELOPERS = ("dev", "peers", "site", "test", "all")  # extras that no run of the library needs, and all of them
MODULES = {"scikit-learn": "sklearn", "python-flint": "flint"}  # where a package is imported under another name
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


@dataclass(frozen=True)
class Finding:
    """One line of a diagnosis.

    Attributes
    ----------
    name : str
        What was looked at.
    words : str
        What is there.
    broken : bool
        Whether that keeps the library from working.
    """

    name: str
    words: str
    broken: bool = False

    def __str__(self) -> str:
        return f"  {self.name:<22} {'BROKEN: ' if self.broken else ''}{self.words}"


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `examine` found.

    Attributes
    ----------
    packages, self_test : tuple of Finding
        The versions, and what came of the problems.
    """

    packages: tuple[Finding, ...]
    self_test: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The faults that have to be mended."""
        return tuple(finding for finding in (*self.packages, *self.self_test) if finding.broken)

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken

    def __repr__(self) -> str:
        return f"Diagnosis({'healthy' if self.healthy else ', '.join(f.name for f in self.broken) + ' broken'})"

    def __str__(self) -> str:
        names = ", ".join(finding.name for finding in self.broken)
        verdict = f"Broken: {names}." if names else "Nothing is broken."
        return "\n".join(map(str, ["Packages", *self.packages, "", "Self-test", *self.self_test, "", verdict]))


def examine() -> Diagnosis:
    """Look at the versions of the packages, and solve three small problems of known minimum.

    Takes a few seconds, most of them for importing packages. Nothing is written, and nothing fetched.

    Returns
    -------
    Diagnosis
        ``print(examine())`` shows it; `Diagnosis.healthy` is what the exit status of ``oracle-opt doctor`` says.

    Examples
    --------
    >>> from oracle_opt.doctor import examine
    >>> [finding.name for finding in examine().self_test]
    ['kernel weights', 'matrix game', 'projection']
    """
    from oracle_opt.doctor.self_test import problems, tried

    tests = [attempt(name, lambda make=make: tried(*make())) for name, make in problems().items()]  # type: ignore[misc]
    return Diagnosis(tuple(packages()), tuple(tests))


def attempt(name: str, look: Callable[[], tuple[str, bool]]) -> Finding:
    """A finding of words, and whether that is broken; an exception is one, too, and ends nothing."""
    try:
        return Finding(name, *look())
    except Exception as problem:  # a broken package may raise anything, and is what the doctor is to name
        return Finding(name, f"{type(problem).__name__}: {' '.join(str(problem).split())}", True)


def packages() -> Iterator[Finding]:
    """The library, Python, and each package that is required or that an extra adds: its version, if it can be used."""
    yield Finding("oracle_opt", oracle_opt.__version__)
    yield Finding("Python", f"{platform.python_version()}, {platform.platform()}")
    seen = {OWN}
    for line in sorted(metadata.requires(OWN) or (), key=lambda line: "extra" in line):
        name, extras = _NAME.match(line)[0], _EXTRA.findall(line)  # type: ignore[index]
        if name not in seen and not set(extras) & set(FOR_DEVELOPERS):
            seen.add(name)
            remedy = f"pip install '{OWN}[{extras[0]}]'" if extras else f"pip install '{line.partition(';')[0]}'"
            yield attempt(name, lambda: _package(name, remedy, not extras))  # noqa: B023  # called at once


def _package(name: str, remedy: str, required: bool) -> tuple[str, bool]:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{'missing, and required' if required else 'not installed'}: {remedy}", required
    import_module(MODULES.get(name, name))
    return version, False
