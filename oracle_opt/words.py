"""Objects in words of one line: arrays by their shape, the rest in short."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np

LONGEST = 80  # characters that one thing may take
ADDRESS = re.compile(r"( object)? at 0x[0-9a-f]+")
LINE = 240  # characters of a line that names several


def shown(value: object) -> str:
    """Return at most 80 characters on one line that say what a value is.

    More than three entries are shown by their shape, mappings by their names, functions and classes by their name.
    """
    if isinstance(value, type):
        words = f"the class {value.__name__}"
    elif isinstance(value, FunctionType):
        words = f"the function {value.__qualname__}"
    elif isinstance(value, Enum):
        words = value.name
    elif isinstance(value, float | np.floating):
        words = f"{float(value):.10g}"
    elif isinstance(value, np.ndarray) and value.ndim == 0:
        words = shown(value.item())
    elif isinstance(value, np.ndarray) and (value.ndim != 1 or value.size > 3 or value.dtype.kind not in "fiub"):
        words = f"array{value.shape}".replace(",)", ")")
    elif isinstance(value, np.ndarray):
        words = f"[{', '.join(shown(entry) for entry in value.tolist())}]"
    elif isinstance(value, Mapping):
        words = f"{{{', '.join(map(str, value))}}}"
    elif isinstance(value, tuple | list) and len(value) > 3:
        words = f"{type(value).__name__} of {len(value)}"
    elif isinstance(value, tuple | list):
        inside = ", ".join(map(shown, value))
        words = f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    elif type(value).__module__.startswith("scipy.sparse"):
        words = f"sparse{getattr(value, 'shape', '')}"
    else:
        words = ADDRESS.sub("", " ".join(repr(value).split()))
    if len(words) <= LONGEST:
        return words
    size = f" of {len(value)}" if isinstance(value, str | tuple | list | Mapping) else ""
    return f"{type(value).__name__}{size}"


def literal(value: object) -> str:
    """Return the `repr` of a parameter, the same in every process: a function by its name, no address in memory."""
    if isinstance(value, FunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    return ADDRESS.sub("", repr(value))


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that are all different: with a number behind those that stood before."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return tuple(found)


def by_attributes(thing: object) -> str:
    """Return the class and the public attributes of an object whose attributes are its parameters: its ``__repr__``."""
    words = [f"{name}={shown(value)}" for name, value in vars(thing).items() if not name.startswith("_")]
    return f"{type(thing).__name__}({', '.join(words)})"


def one_line(thing: Any) -> str:
    """Return the class of a dataclass' object and its fields that are neither default nor empty: its ``__repr__``."""
    words = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        plain = isinstance(value, bool | int | float | str | type(None))
        default = plain and field.default is not MISSING and value == field.default
        empty = isinstance(value, tuple | list | frozenset | Mapping) and not value
        if field.repr and not (default or empty or (value is None and field.default is None)):
            words.append(f"{field.name}={shown(value)}")
    line = f"{type(thing).__name__}({', '.join(words)})"
    while len(line) > LINE and words:
        words.pop()
        line = f"{type(thing).__name__}({', '.join(words)}, ...)"
    return line


def number(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
