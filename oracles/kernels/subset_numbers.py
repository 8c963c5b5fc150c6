"""Numbers of kernels in single precision: rates instead of widths, how exact entries are, pairs, room for loops."""

from __future__ import annotations

from collections.abc import Iterator
from math import frexp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.packed_build import thread_count
from oracle_opt.oracles.kernels.subsets_build import SCRATCH

# Unit roundoff of single precision.
SINGLE = 2.0**-24
# Relative error of the powers of two, which a test tries on all numbers.
OF_POWER = 1.75 * SINGLE
# Largest rate in units of the spread of the points: squared differences lost below 2**-126 then do not count.
LARGEST_RATE = 2.0**80
# Pairs of points listed at a time.
PAIRS = 1 << 18


def exactness_of(n_bytes: int) -> float:
    """By how much an entry in single precision may differ from the kernel, over its diagonal.

    The sum of the squared differences on the features of a byte is rounded once, from double precision. In the sum over
    the bytes it takes part in 3 roundings if these are 8, in at most 4 if they are fewer, and in one for each 8 of them
    and in 8 more if they are more; and the product with the rate is rounded. So the exponent t is off by ``r * t``, r
    being that many roundings, and ``2**-t`` by at most ``r * max(x * exp(-x)) = r / e``. Numbers below 2**-126 may be
    lost, in the sums of squares, which the rate magnifies, and in the power.
    """
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
    room = np.empty(threads * SCRATCH + 16, np.float32)
    start = -room.ctypes.data % 64 // 4
    return room[start : start + threads * SCRATCH].reshape(threads, SCRATCH)
