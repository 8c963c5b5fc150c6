"""Instances made around a point that is then known to be a minimizer: how well their minimum is known in numbers."""

from __future__ import annotations

import numpy as np

from oracle_opt.arrays import EPS, Vector


def between(upper: float, lower: float, terms: float) -> tuple[float, float]:
    """Return an optimum and its error from a value at some point and a lower bound, both computed.

    Parameters
    ----------
    upper, lower : float
        A value at a point of the domain, and the minimum of an affine function that lies below f.
    terms : float
        Sum of the sizes of all numbers that were added up for them: rounding is at most a small multiple of it.
    """
    rounding = 64.0 * EPS * terms
    middle = 0.5 * (upper + lower)
    return middle, 0.5 * abs(upper - lower) + rounding + 2.0 * EPS * abs(middle)


def unit_weights(rng: np.random.Generator, count: int) -> Vector:
    """Positive weights that add up to one, none much smaller than the others."""
    weights: Vector = rng.uniform(0.5, 1.5, count)
    weights /= weights.sum()
    return weights
