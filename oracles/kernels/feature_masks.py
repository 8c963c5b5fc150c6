"""Sets of features as bits: feature f is bit f % 8 of byte f // 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.words import shown

Masks = NDArray[np.uint8]  # shape (p, bytes)

# Sets packed at a time.
SETS = 1 << 14


def given_masks(features: Sequence[ArrayLike] | NDArray[np.bool_], n_columns: int) -> Masks:
    """Pack the sets of features that a user gave.

    Parameters
    ----------
    features : sequence of p array_like of int, or array_like of bool, shape (p, columns)
        The sets.
    n_columns : int
        Number of columns.

    Returns
    -------
    ndarray of uint8, shape (p, ceil(columns / 8))
        The bits.

    Raises
    ------
    InvalidArgument
        These are no sets of columns, or one is empty; its index is named.
    """
    given: Any = features
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
        raise InvalidArgument(f"`features` must be a sequence, the columns of one kernel each, got {shown(given)}")
    if isinstance(given, np.ndarray) and given.dtype == bool:
        if given.ndim != 2 or given.shape[1] != n_columns:
            raise InvalidArgument(f"`features` must have shape (p, {n_columns}) if it is of bool, got {given.shape}")
        chosen = given
    else:
        chosen = _marked(given, n_columns)
    empty = np.flatnonzero(~chosen.any(axis=1))
    if empty.size:
        raise InvalidArgument(f"`features` must have a column for each kernel, got none for kernel {empty[0]}")
    return np.packbits(chosen, axis=1, bitorder="little")


def _marked(given: Any, n_columns: int) -> NDArray[np.bool_]:
    """Lists of columns as an array of bool, shape (p, columns)."""
    chosen = np.zeros((len(given), n_columns), bool)
    for start in range(0, len(given), SETS):
        sets = [np.asarray(one) for one in given[start : start + SETS]]
        for k, one in enumerate(sets, start):
            whole = one.ndim == 1 and (one.size == 0 or one.dtype.kind in "iu")
            if not whole or (one.size and not 0 <= one.min() <= one.max() < n_columns):
                raise InvalidArgument(
                    f"`features` must be columns from 0 to {n_columns - 1}, got {shown(given[k])} for kernel {k}"
                )
        sizes = np.array([one.size for one in sets])
        part = chosen[start : start + SETS]
        part[np.repeat(np.arange(sizes.size), sizes), np.concatenate(sets).astype(np.intp)] = True
        twice = np.flatnonzero(part.sum(axis=1) < sizes)
        if twice.size:
            k = start + int(twice[0])
            raise InvalidArgument(f"`features` must name no column twice, got {shown(given[k])} for kernel {k}")
    return chosen


def drawn_masks(
    count: int, columns: Indices, largest: int, n_columns: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw sets of some columns, their numbers of columns evenly from 1 to the largest; shape (count, n_columns)."""
    sizes = rng.integers(1, largest + 1, count)
    keys = rng.random((count, columns.size))
    last = np.sort(keys, axis=1)[np.arange(count), sizes - 1]
    chosen = np.zeros((count, n_columns), bool)
    chosen[:, columns] = keys <= last[:, None]
    return chosen


def unpacked(masks: Masks, n_columns: int) -> NDArray[np.bool_]:
    """The sets as an array of bool, shape (p, columns)."""
    return np.unpackbits(masks, axis=1, count=n_columns, bitorder="little").astype(bool)
