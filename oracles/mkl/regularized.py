"""A regularizer as a user may have written it: its values checked, and the lower bound it gives."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.regularizers import Regularizer

# What rounding may make of a regularizer or its conjugate, relative to them.
ROUNDING = 256 * float(np.finfo(float).eps)


def regularize(regularizer: Regularizer, d: Vector) -> tuple[float, Vector]:
    """Value and gradient of a regularizer at weights d.

    Raises
    ------
    InvalidArgument
        They are not finite, or the gradient is of another shape.
    """
    value, slope = float(regularizer.value(d)), np.asarray(regularizer.gradient(d), dtype=float)
    if slope.shape != d.shape:
        raise InvalidArgument(f"`regularizer.gradient` must have shape {d.shape}, got {slope.shape}")
    if not np.isfinite(value):
        raise InvalidArgument(f"`regularizer.value` must be finite on the orthant, got {value}")
    if not np.isfinite(slope).all():
        k = int(np.flatnonzero(~np.isfinite(slope))[0])
        raise InvalidArgument(
            f"`regularizer.gradient` must be finite on the orthant, got {slope[k]} for weight {k} at {d[k]:g}"
        )
    return value, slope


def least_of_multiples(
    regularizer: Regularizer, constant: float, F: Vector, quadratic: float, longest: float | None
) -> float:
    """``max over t of L(t b) - r*(t**2 F / 2)``, rounded down: see `docs/theory.md`.

    Parameters
    ----------
    regularizer : Regularizer
        r, with its conjugate r*.
    constant : float
        At most L(b).
    F : ndarray of shape (p,)
        At least the quadratic forms of b.
    quadratic : float
        At least what of L(b) goes with the square of a multiple of b and is subtracted, that of a ridge.
    longest : float or None
        The largest t for which ``t * b`` is feasible; None: no other multiple is.
    """
    if longest is None:
        lower = constant - regularizer.conjugate(0.5 * F)
        return lower - ROUNDING * (abs(constant) + abs(lower))
    linear = constant + quadratic
    lower = regularizer.dual_bound(linear, 0.5 * F, longest, quadratic)
    return lower - ROUNDING * (2.0 * abs(linear) + quadratic + abs(lower))
