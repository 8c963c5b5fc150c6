"""Arguments that several domains take, checked, and the words they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import InvalidArgument

EDGE = 0.01  # share of a radius that counts as its edge


def checked_dimension(dimension: int) -> int:
    if int(dimension) != dimension or dimension < 1:
        raise InvalidArgument(f"`dimension` must be a positive integer, got {dimension!r}")
    return int(dimension)


def checked_radius(radius: float, *, finite: bool) -> float:
    if not radius > 0 or (finite and not np.isfinite(radius)):
        raise InvalidArgument(f"`radius` must be positive{' and finite' if finite else ''}, got {radius!r}")
    return float(radius)


def checked_center(center: ArrayLike | None, dimension: int) -> Vector:
    checked = np.zeros(dimension) if center is None else np.array(center, dtype=float)
    if checked.shape != (dimension,) or not np.isfinite(checked).all():
        raise InvalidArgument(f"`center` must be {dimension} finite numbers, got shape {checked.shape}")
    return checked


def short(values: Vector) -> str:
    """Return a short text that differs for different arrays."""
    if (values == values[0]).all():
        return f"{values[0]:g}"
    return f"[{values[0]:g} .. {values[-1]:g} #{digest(values)}]"


def edge_of_promise(where: str) -> str:
    return (
        f"The best point lies at the edge of what is promised: {where}. A minimizer may lie farther out, and then the "
        "lower bound is none; state a larger `radius`."
    )
