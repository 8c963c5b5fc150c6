"""Checks of the numbers of claims and witnesses: finite and of a given shape, or refused in words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.errors import Refuted


def numbers(name: str, values: Any, *shape: int | None) -> Vector:
    """Finite numbers of a shape."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise Refuted(f"the {name} is no array of numbers") from None
    if array.ndim != len(shape) or any(want not in (None, one) for want, one in zip(shape, array.shape, strict=True)):
        raise Refuted(f"the {name} must be finite numbers of shape {shape}, and has shape {array.shape}")
    if not np.isfinite(array).all():
        raise Refuted(f"the {name} must be finite numbers")
    return array


def number(name: str, value: Any) -> float:
    """A finite number, or a refusal, as `numbers`."""
    return float(numbers(name, value))


def whole_numbers(name: str, values: Any, below: int, *shape: int | None) -> NDArray[np.intp]:
    """Whole numbers from 0 to less than another one, of a shape, or a refusal."""
    try:
        found = numbers(name, values, *shape)
    except Refuted as problem:
        raise Refuted(f"{problem}, whole numbers") from None
    if not ((found >= 0) & (found < below) & (found == np.rint(found))).all():
        raise Refuted(f"the {name} must be whole numbers from 0 to {below - 1}")
    return found.astype(np.intp)


def place(name: str, value: Any, count: int) -> int:
    """A whole number from 0 to below a count, or a refusal."""
    return int(whole_numbers(name, value, count))
