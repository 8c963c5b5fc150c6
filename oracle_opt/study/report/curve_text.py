"""Numbers as short texts: levels of logarithms, or their differences, in digits of two kinds."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector

# Printable characters that JSON and HTML leave alone: 44 that end a number, 44 that are followed by more digits.
ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in "\"\\<>&'")
BASE = 44
ZERO, INFINITE, UNKNOWN = -100_000, 100_000, 100_001  # levels


def widths(step: float) -> tuple[float, float]:
    """Decades of a level of gaps, and of bounds and seconds: 0.002 and 0.01, or a twelfth of what matters, if more."""
    decades = -np.log10(1.0 - step) / 12
    return float(max(0.002, decades)), float(max(0.01, decades))


def levels(values: Vector, decades: float) -> NDArray[np.int64]:
    """Round logarithms of numbers that are not negative."""
    proper = np.isfinite(values) & (values > 0)
    found = np.full(len(values), UNKNOWN, dtype=np.int64)
    found[proper] = np.rint(np.log10(values[proper]) / decades)
    found[values == 0] = ZERO
    found[values == np.inf] = INFINITE
    return found


def digits(numbers: Sequence[int]) -> str:
    """Write integers of at least 0, each in digits of base 44 from the lowest on; all but its last are raised."""
    return "".join(map(_number, numbers))


def curve_text(columns: Sequence[NDArray[np.int64]]) -> str:
    """Write columns of integers of one length, as differences from row to row."""
    differences = np.concatenate([np.diff(column, prepend=0) for column in columns]) if len(columns) else np.zeros(0)
    return digits([2 * d if d >= 0 else -2 * d - 1 for d in differences.tolist()])


@cache
def _number(value: int) -> str:
    text = ""
    while value >= BASE:
        value, digit = divmod(value, BASE)
        text += ALPHABET[digit + BASE]
    return text + ALPHABET[value]
