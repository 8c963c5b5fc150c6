"""Rows that are the same point become one, and points have one order: weights and repeated rows are one problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector

Points = Any


@dataclass(frozen=True, eq=False)
class MergedPoints:
    """Rows that differ, with the weights of all that are like them: the same convex problem, whatever the order."""

    rows: NDArray[np.intp]
    points: Points
    weights: Vector


def merged(points: Points, y: NDArray[Any] | None, weights: Vector) -> MergedPoints:
    """Drop rows of weight zero, merge equal rows of equal label or target, and sort them."""
    used = np.flatnonzero(weights)
    kept = points[used]
    label = np.zeros(used.size) if y is None else np.asarray(y, dtype=float)[used]
    if sparse.issparse(kept):
        kept = _canonical(kept)
    keys: NDArray[Any] = _sparse_keys(kept, label) if sparse.issparse(kept) else _dense_keys(kept, label)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.bincount(which, weights[used], first.size).astype(float)
    return MergedPoints(used[first], kept[first], sums)


def _dense_keys(points: NDArray[np.float64], label: Vector) -> NDArray[np.void]:
    """Bytes of each label and point, equal for equal rows: adding 0 turns -0 into 0."""
    table = np.empty((points.shape[0], points.shape[1] + 1))
    table[:, 0], table[:, 1:] = label, points
    table += 0.0
    return table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).reshape(-1)


def _sparse_keys(points: sparse.csr_array, label: Vector) -> NDArray[np.intp]:
    """Ranks of the rows among all of them, by label, columns and values."""
    ends = points.indptr
    rows = [
        (label[i], points.indices[ends[i] : ends[i + 1]].tobytes(), points.data[ends[i] : ends[i + 1]].tobytes())
        for i in range(points.shape[0])
    ]
    rank = {row: r for r, row in enumerate(sorted(set(rows)))}
    return np.array([rank[row] for row in rows], dtype=np.intp)


def _canonical(points: Any) -> sparse.csr_array:
    """A copy with sorted columns, each once, no zeros and indices of one type."""
    made = sparse.csr_array(points, copy=True)
    made.sum_duplicates()
    made.eliminate_zeros()
    made.data += 0.0
    made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int64)
    return made
