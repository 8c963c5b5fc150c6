"""Reading of files that hold numbers and little else."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from oracle_opt.cuts import Vector
from oracle_opt.errors import InvalidData


def read_text(path: Path) -> str:
    """Text of a file, unpacked if its name ends in .gz."""
    if not path.is_file():
        raise InvalidData(f"the file {path} does not exist")
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def read_numbers(path: Path) -> Vector:
    """All numbers of a file, in order."""
    try:
        return np.array(read_text(path).split(), dtype=float)
    except ValueError as problem:
        raise InvalidData(f"{path} must hold numbers alone, {problem}") from problem
