"""Feasibility: by how much a point may miss a row or a bound, in the unit of the row's own terms at the point."""

from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Vector

ROUNDING = 4.0 * EPS  # of the terms where variables are as large as they get: what a solver leaves of nothing
FAR = 1e6  # variables that get larger count as this: what rounding leaves of them is no excuse near 0


def allowed(sizes: Any, point: Vector, sides: Vector, tolerance: float, extent: Vector) -> Vector:
    """By how much rows may be missed: ``tolerance * (|A| @ |point| + |sides|)``, and what is rounding alone."""
    terms: Vector = sizes @ (tolerance * np.abs(point) + ROUNDING * np.minimum(extent, FAR))
    return terms + tolerance * np.abs(sides)


def within_bounds(point: Vector, lower: Vector, upper: Vector, tolerance: float) -> bool:
    """Whether each variable is within its bounds, or misses one by no more than is allowed of a row of its own."""
    extent = np.maximum(*(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)))
    rounding = ROUNDING * np.minimum(extent, FAR)
    return all(
        bool((missed <= tolerance * (np.abs(point) + np.abs(side)) + rounding).all())
        for missed, side in ((lower - point, lower), (point - upper, upper))
    )
