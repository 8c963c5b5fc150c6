"""Random subsets of features, and widths that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import real, whole
from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.feature_masks import Masks, drawn_masks
from oracle_opt.oracles.kernels.subset_numbers import rates_of, unit_of
from oracle_opt.words import shown

# Kernels drawn at a time, from a random stream of their own: so none depends on how many there are.
DRAWN = 1 << 14


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
