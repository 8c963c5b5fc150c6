"""All that is found, in sections, and the words to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from oracle_opt.doctor.findings import Finding, found
from oracle_opt.doctor.installed import compiled_parts, packages, python
from oracle_opt.doctor.self_test import self_test
from oracle_opt.doctor.surroundings import data_folders, memory, processor


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
        """What has to be mended."""
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
