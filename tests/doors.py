"""Four doors of the library: which one a file belongs to, and which ones a file of tests goes through."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOORS = {  # by folders and files, the first that fits
    "kernels": (
        "oracles/kernels",
        "oracles/svm",
        "oracles/mkl",
        "oracles/avx",
        "oracles/_processor",
        "oracle_opt/learn",
    ),
    "programs": ("oracles/", "oracle_opt/notary"),
    "study": tuple(f"oracle_opt/{name}" for name in ("study", "problems", "datasets", "doctor", "cli", "command")),
    "core": ("oracle_opt/", "generators/"),
}


def door_of(path: Path) -> str:
    """The door of a file of the library."""
    name = path.relative_to(ROOT).as_posix()
    return next(door for door, starts in DOORS.items() if name.startswith(starts))


@cache
def _doors_of_names() -> dict[str, str]:
    """Which door the names of `oracle_opt.oracles` belong to."""
    from oracle_opt.oracles import _PART_OF

    return {name: "kernels" if part in ("kernels", "mkl", "svm") else "programs" for name, part in _PART_OF.items()}


@cache
def doors_of_test(path: Path) -> frozenset[str]:
    """The doors whose modules a file of tests imports; the core if there is no other."""
    text = path.read_text()
    found = set()
    for module, several, one in re.findall(r"from (oracle_opt[\w.]*) import (?:\(([^)]*)\)|(.*))", text):
        parts = module.split(".")[1:]
        if parts == ["oracles"]:
            names = re.findall(r"\w+", several or one)
            found |= {_doors_of_names()[name] for name in names if name in _doors_of_names()}
        elif parts[:1] == ["oracles"]:
            found.add("kernels" if parts[1] in ("kernels", "mkl", "svm") else "programs")
        elif parts[:1] == ["learn"]:
            found.add("kernels")
        elif parts and parts[0] in ("study", "problems", "datasets", "doctor", "cli", "command"):
            found.add("study")
    return frozenset(found or {"core"})
