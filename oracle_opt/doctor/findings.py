"""One line of a diagnosis, and how each part of it is looked at without ending the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


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


def found(look: Callable[[], Iterator[Finding]], name: str) -> tuple[Finding, ...]:
    """All findings of one look; an exception that ends it is a finding, too."""
    findings: list[Finding] = []
    try:
        findings.extend(look())
    except Exception as problem:  # a broken package may raise anything, and is what the doctor is to name
        findings.append(Finding(name, f"{type(problem).__name__}: {' '.join(str(problem).split())}", True))
    return tuple(findings)


def brief(path: Path) -> str:
    """A path with ``~`` for the home folder: what is pasted need not tell a name."""
    try:
        return str(Path("~") / path.absolute().relative_to(Path.home()))
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        return str(path)


def gib(n_bytes: float) -> str:
    """Bytes in GiB."""
    return f"{n_bytes / 2**30:.3g} GiB"
