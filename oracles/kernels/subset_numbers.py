"""Kernels on subsets of the features as numbers: bits of the features, rates, how exact entries are, pairs, draws."""

from collections.abc import Iterator, Sequence
from math import frexp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.kernels.compiled_loops import subset_loops, thread_count
from oracle_opt.words import shown

Masks = NDArray[np.uint8]  # shape (p, bytes)

# Sets packed at a time.
SETS = 1 << 14
# Unit roundoff of single precision.
SINGLE = 2.0**-24
# Relative error of the powers of two, which a test tries on all numbers.
OF_POWER = 1.75 * SINGLE
# Largest rate in units of the spread of the points: squared differences lost below 2**-126 then do not count.
LARGEST_RATE = 2.0**80
# Pairs of points listed at a time.
PAIRS = 1 << 18
# Kernels drawn at a time, from a random stream of their own: so none depends on how many there are.
DRAWN = 1 << 14


def given_masks(features: Sequence[ArrayLike] | NDArray[np.bool_], n_columns: int) -> Masks:
    """Pack the sets of features that a user gave."""
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


def exactness_of(n_bytes: int) -> float:
    """Error of an entry in single precision, over its diagonal: see docs/theory_smooth_mkl.md, "Kernels on subsets"."""
    roundings = 2.0 + (3.0 if n_bytes == 8 else 4.0 if n_bytes < 8 else 8.0 + n_bytes / 8.0)
    lost = 2.0**-126 * (n_bytes * LARGEST_RATE + 1.0)
    return 1.001 * (roundings * SINGLE / 2.718 + OF_POWER) + lost


def unit_of(points: Matrix) -> float:
    """A power of two that is at least the largest difference of two entries in a column."""
    spread = float((0.5 * points.max(axis=0) - 0.5 * points.min(axis=0)).max())
    return 2.0 ** min(frexp(spread)[1] + 1, 1023) if spread > 0.0 else 1.0


def rates_of(widths: Vector, unit: float) -> NDArray[np.float32]:
    """The rates ``unit**2 / (2 s**2 log 2)``; squares are not taken where they overflow."""
    good = np.isfinite(widths) & (widths > 0.0)
    if not good.all():
        k = int(np.flatnonzero(~good)[0])
        raise InvalidArgument(f"`widths` must be positive and finite, got {widths[k]!r} for kernel {k}")
    least = unit / sqrt(2.0 * log(2.0) * LARGEST_RATE)
    if widths.min() < least:
        k = int(widths.argmin())
        raise InvalidArgument(
            f"`widths` must be at least {least:.3g}, as entries of `X` in a column differ by up to {unit:.3g}, got "
            f"{widths[k]!r} for kernel {k}; with RBFBank they may be smaller"
        )
    rates = (unit / widths) ** 2 / (2.0 * log(2.0))
    return np.maximum(rates, 2.0**-126).astype(np.float32)


def lower_pairs(n: int) -> Iterator[tuple[NDArray[np.intc], NDArray[np.intc]]]:
    """All pairs (i, j), j < i, of n points, in order, about `PAIRS` at a time."""
    first = 1
    while first < n:
        stop = first + 1
        while stop < n and (stop * (stop + 1) - first * (first - 1)) // 2 <= PAIRS:
            stop += 1
        i = np.arange(first, stop, dtype=np.intc)
        a = np.repeat(i, i)
        starts = np.repeat(np.cumsum(i) - i, i)
        yield a, (np.arange(a.size) - starts).astype(np.intc)
        first = stop


def scratch_for(entries: int) -> NDArray[np.float32]:
    """Room for as many threads as so many entries are worth, a row each, at a multiple of 64 bytes."""
    threads = thread_count(8 * entries)
    room = np.empty(threads * subset_loops.SCRATCH + 16, np.float32)
    start = -room.ctypes.data % 64 // 4
    return room[start : start + threads * subset_loops.SCRATCH].reshape(threads, subset_loops.SCRATCH)


def drawn_subsets(
    points: Matrix, n_kernels: int, largest: int | None, widths: tuple[float, float], seed: int
) -> tuple[Masks, NDArray[np.float32]]:
    """Masks and rates of random kernels; the arguments are those of `SubsetBank.random`, and checked here."""
    p, seed = whole("n_kernels", n_kernels), whole("seed", seed, 0)
    varied = np.flatnonzero(points.max(axis=0) > points.min(axis=0))
    if varied.size == 0:
        raise InvalidArgument("`X` must have a column that is not constant, got none")
    largest = (varied.size + 1) // 2 if largest is None else whole("largest", largest)
    if largest > varied.size:
        raise InvalidArgument(
            f"`largest` must be at most {varied.size}, the number of columns that vary, got {largest}"
        )
    low, high = (real(f"widths[{i}]", one, above=0.0) for i, one in enumerate(_two(widths)))
    if low > high:
        raise InvalidArgument(f"`widths` must be two positive numbers in order, got {widths!r}")
    unit = unit_of(points)
    squares = 2.0 * (points / unit).var(axis=0)
    masks, rates = np.empty((p, -(-points.shape[1] // 8)), np.uint8), np.empty(p, np.float32)
    for number, start in enumerate(range(0, p, DRAWN)):
        # Each time as many as ever, so that a kernel does not depend on p.
        part, rng = slice(start, min(start + DRAWN, p)), np.random.default_rng([seed, number])
        chosen = drawn_masks(DRAWN, varied, largest, points.shape[1], rng)
        s = rng.uniform(low, high, DRAWN) * np.sqrt(chosen @ squares) * unit
        count = part.stop - part.start
        masks[part] = np.packbits(chosen[:count], axis=1, bitorder="little")
        rates[part] = rates_of(s[:count], unit)
    return masks, rates


def _two(widths: Any) -> tuple[Any, Any]:
    if not isinstance(widths, Sequence | np.ndarray) or isinstance(widths, str) or len(widths) != 2:
        raise InvalidArgument(f"`widths` must be two positive numbers in order, got {shown(widths)}")
    return widths[0], widths[1]
