"""How the kernels of a bank are numbered that is made of several parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oracle_opt.oracles.kernels.base import Indices


class Numbering:
    """Which kernels of a bank are those of its parts.

    Parameters
    ----------
    sizes : sequence of int
        Number of kernels of each part, at least 1.
    order : ndarray of int, shape (p,), optional
        Kernel i is number ``order[i]`` if the parts stand one after another. Default: they do.

    Attributes
    ----------
    n_kernels : int
        p.
    parts : list of slice or ndarray of int
        The kernels of each part, in its order.
    """

    def __init__(self, sizes: Sequence[int], order: Indices | None = None) -> None:
        self._ends = np.cumsum(sizes)
        self.n_kernels, self.order = int(self._ends[-1]), order
        starts = (self._ends - np.asarray(sizes)).tolist()
        slices = [slice(start, stop) for start, stop in zip(starts, self._ends.tolist(), strict=True)]
        self.parts: list[slice | Indices] = list(slices)
        if order is not None:
            places = np.empty_like(order)
            places[order] = np.arange(order.size)
            self.parts = [places[part] for part in slices]

    def place(self, k: int) -> tuple[int, int]:
        """Number of the part that kernel k belongs to, and its number there."""
        number = k if self.order is None else int(self.order[k])
        part = int(np.searchsorted(self._ends, number, side="right"))
        return part, number - (int(self._ends[part - 1]) if part else 0)

    def subset(self, kernels: Indices) -> tuple[Numbering, list[tuple[int, Indices]]]:
        """Number some of the kernels anew, in the order given.

        Returns
        -------
        tuple
            The new numbering, and of each part that is left its number and which of its kernels.
        """
        numbers = kernels if self.order is None else self.order[kernels]
        part = np.searchsorted(self._ends, numbers, side="right")
        by_part = np.argsort(part, kind="stable")
        used, first = np.unique(part[by_part], return_index=True)
        groups = np.split(numbers[by_part], first[1:])
        starts = np.concatenate([[0], self._ends])
        order = None
        if (np.diff(by_part) < 0).any():
            order = np.empty_like(by_part)
            order[by_part] = np.arange(by_part.size)
        chosen = [(i, group - starts[i]) for i, group in zip(used.tolist(), groups, strict=True)]
        return Numbering([group.size for group in groups], order), chosen


def joined(parts: Sequence[slice | Indices]) -> slice | Indices:
    """Where some parts are, one after another: as a slice, which is faster, if they follow each other."""
    if not parts:
        return slice(0)
    slices = [part for part in parts if isinstance(part, slice)]
    if len(slices) == len(parts) and all(a.stop == b.start for a, b in pairwise(slices)):
        return slice(slices[0].start, slices[-1].stop)
    return np.concatenate([np.arange(part.start, part.stop) if isinstance(part, slice) else part for part in parts])


def entries_array(rows: int, columns: int, n_kernels: int, n_parts: int) -> NDArray[np.float64]:
    """Return an array of shape (r, c, p) for entries: kernel by kernel in memory if the parts have few kernels each."""
    if 4 * n_parts < n_kernels:
        return np.empty((rows, columns, n_kernels))
    return np.empty((n_kernels, rows, columns)).transpose(1, 2, 0)


@contextmanager
def kernels_of(found: NDArray[np.float64], part: slice | Indices) -> Iterator[NDArray[np.float64]]:
    """Yield where to write the entries of some kernels, an array of shape (r, c, number of them)."""
    if isinstance(part, slice):
        yield found[:, :, part]
        return
    out = np.empty((part.size, *found.shape[:2]))
    yield out.transpose(1, 2, 0)
    found.transpose(2, 0, 1)[part] = out
