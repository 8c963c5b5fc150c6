"""Features and widths of RBF kernels: checks, and widths from the distances of points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.on_the_fly import checked_features
from oracle_opt.oracles.kernels.points import Points, of_features, sampled_distances


def quantile_widths(
    points: Points,
    n_kernels: int,
    features: Sequence[ArrayLike] | None,
    quantiles: tuple[float, float],
    n_pairs: int,
    seed: int,
) -> tuple[list[Indices], list[Vector]]:
    """Features and widths of the families of `RBFBank.from_quantiles`, whose parameters these are."""
    if n_kernels < 1 or n_pairs < 1:
        raise InvalidArgument(f"`n_kernels` and `n_pairs` must be at least 1, got {n_kernels!r} and {n_pairs!r}")
    if not 0.0 <= quantiles[0] <= quantiles[1] <= 1.0:
        raise InvalidArgument(f"`quantiles` must be two numbers from 0 to 1 in order, got {quantiles!r}")
    by_column = points.tocsc() if sparse.issparse(points) else points
    given: Sequence[ArrayLike]
    if features is None:
        spread = by_column.max(axis=0) - by_column.min(axis=0)
        varied = np.flatnonzero(spread.toarray() if sparse.issparse(spread) else spread)
        if varied.size == 0:
            raise InvalidArgument("`X` must have a column that is not constant, got none")
        given = [varied, *varied[:, None]]
    else:
        given = features
    subsets = [checked_features(f, points.shape[1]) for f in given[:n_kernels]]
    if not subsets:
        raise InvalidArgument("`features` must have an entry, got none")
    counts = np.full(len(subsets), -(-n_kernels // len(subsets)))
    counts = np.diff(np.minimum(np.cumsum([0, *counts]), n_kernels))
    subsets = subsets[: np.count_nonzero(counts)]
    rng = np.random.default_rng(seed)
    widths = []
    for f, count in zip(subsets, counts.tolist(), strict=False):
        distances = sampled_distances(of_features(by_column, f), n_pairs, rng)
        if distances.size == 0:
            raise InvalidArgument(f"`X` must have points that differ on the features {f.tolist()}")
        least, largest = np.quantile(distances, quantiles)
        widths.append(np.geomspace(least, largest, count))
    return subsets, widths


def checked_widths(widths: ArrayLike) -> Vector:
    """Return the widths of a family, or raise `InvalidArgument` unless they are positive."""
    s = floats("widths", widths).reshape(-1)
    if s.size == 0 or not (np.isfinite(s) & (s > 0)).all():
        raise InvalidArgument(f"`widths` must be positive and finite in each entry, got {widths!r}")
    return s
