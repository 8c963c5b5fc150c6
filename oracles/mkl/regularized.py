"""A regularizer as a user may have written it: its values checked, and the lower bound it gives."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.mkl.regularizers import Regularizer

# What rounding may make of a regularizer or its conjugate, relative to them.
ROUNDING = 256 * EPS
# And of an entry of its slope.
OF_SLOPE = 16 * EPS


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


def lowered(d: Vector, value: float, slope: Vector, sizes: Vector) -> tuple[float, Vector]:
    """Value and slope of a cut at d, both lowered by what rounding has made of the slope.

    Where a minimum is 0 a slope that is too steep by its last digit claims something false near it. A slope that is too
    flat, less what that adds at d, claims less at all weights from 0 on.

    Parameters
    ----------
    d : ndarray of shape (p,)
        Not negative.
    value : float
        At d.
    slope : ndarray of shape (p,)
        There.
    sizes : ndarray of shape (p,)
        Of the terms of which it was added up.
    """
    wrong = OF_SLOPE * sizes
    return value - (1.0 + EPS * (d.size + 8)) * float(wrong @ d) - EPS * abs(value), slope - wrong


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
    F = np.maximum(F, 0.0)  # a rounded kernel may have a form below 0, where no conjugate is asked for
    if longest is None:
        lower = constant - regularizer.conjugate(0.5 * F)
        return lower - ROUNDING * (abs(constant) + abs(lower))
    linear = constant + quadratic
    lower = regularizer.dual_bound(linear, 0.5 * F, longest, quadratic)
    return lower - ROUNDING * (2.0 * abs(linear) + quadratic + abs(lower))
