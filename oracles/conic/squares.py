"""Squares of linear functions that add up to nearly all of a convex quadratic form, and provably to no more."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.oracles.conic.definiteness import Units, blocks, in_own_units, in_units_of_form, lacking
from oracle_opt.proof.enclosure import Enclosure

FULL = 10  # a matrix is dense if more than one in so many entries is not zero
WIDE = 400  # largest order of a block whose squares are added up in extended precision
WORSE = 10.0  # times a lack that the axes of a block may have more than those in its own units
SHARES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10)  # of squares, which make up for the rounding of their roots


@dataclass(frozen=True, eq=False)
class Squares:
    """``1/2 sum_i w_i (r_i @ z)**2``, which ``1/2 z @ (P + D) @ z`` exceeds by a convex function."""

    roots: sparse.csr_array  # the r_i, shape (k, n)
    weights: Vector  # next to 1
    lack: Vector  # the diagonal of D, next to 0; zero in blocks in which P is definite beyond rounding

    @cached_property
    def matrix(self) -> Any:
        """The roots, dense where few of their entries are 0."""
        return dense_where_full(self.roots)

    def along(self, x: Enclosure) -> Enclosure:
        """Products ``r_i @ x``."""
        return x.mapped(self.matrix)


def dense_where_full(matrix: sparse.csr_array) -> Any:
    """The matrix, dense if that makes its products faster."""
    return matrix.toarray() if FULL * matrix.nnz > matrix.shape[0] * matrix.shape[1] else matrix


def squares_of(P: sparse.csr_array) -> Squares:
    """Take a form apart, block by block: variables that no entry of P joins share no square.

    See docs/theory_methods.md, "Quadratic objectives". Weights ``1 - e`` take the smallest share e of a list for which
    D is 0, or as small as they let it be. Where D is much larger so, eigenvectors are those in the block's own units.
    """
    n = P.shape[0]
    entries, columns, counts, weights = [], [], [], []
    shift = np.zeros(n)
    parts = blocks(P)
    single = np.array([members[0] for members in parts if len(members) == 1], dtype=np.intp)
    if len(single):  # p z**2: the share makes up for the rounding of the root
        entries.append(np.sqrt(P.diagonal()[single]))
        columns.append(single)
        counts.append(np.ones(len(single), dtype=np.intp))
        weights.append(np.full(len(single), 1.0 - SHARES[0]))
    for members in parts:
        if len(members) == 1:
            continue
        R, share, d = _squares_of_block(P, members)
        shift[members] = d
        entries.append(R.ravel())
        columns.append(np.tile(members, len(R)))
        counts.append(np.full(len(R), len(members)))
        weights.append(np.full(len(R), 1.0 - share))
    if not entries:
        return Squares(sparse.csr_array((0, n)), np.zeros(0), shift)
    ends = np.r_[0, np.cumsum(np.concatenate(counts))]
    stored = np.concatenate(entries), np.concatenate(columns), ends
    roots = sparse.csr_array(stored, shape=(len(ends) - 1, n))
    roots.sort_indices()
    return Squares(roots, np.concatenate(weights), shift)


def _squares_of_block(P: sparse.csr_array, members: NDArray[np.intp]) -> tuple[Matrix, float, Vector]:
    """Roots, their share and D of a block: along its own axes, unless these lose more than those in its own units."""
    B = P[np.ix_(members, members)].toarray()
    U, units = in_own_units(P, members)
    largest = np.full_like(units, units.max())
    found = _axes(np.ldexp(B, -2 * largest), largest)
    if not found[2].any():
        return found
    other = _axes(U, units)
    return found if (found[2] <= WORSE * other[2]).all() else other


def _axes(U: Matrix, units: Units) -> tuple[Matrix, float, Vector]:
    """Squares along the eigenvectors of U, a block in some units."""
    k = len(U)
    values, vectors = np.linalg.eigh(U)
    rounding = 4.0 * k * EPS * float(values[-1])
    kept = np.flatnonzero(values > 4.0 * rounding)
    R = (vectors[:, kept] * np.sqrt(values[kept] - rounding)).T
    wide = np.longdouble if k <= WIDE else np.float64  # more digits, where that takes no time
    total = R.T.astype(wide) @ R.astype(wide)
    size = float((np.abs(R).T @ np.abs(R)).sum(axis=1).max()) + k * float(np.abs(U).max())
    error = 1.01 * float(np.finfo(wide).eps) * (len(R) + 6) * size
    lacks: list[float] = []
    for share in SHARES:
        left = (U - wide(1.0 - share) * total).astype(float)
        lacks.append(lacking(left, error + EPS * float(np.abs(left).sum(axis=1).max())))
        if not lacks[-1]:
            break
    chosen = next(i for i, one in enumerate(lacks) if one <= 2.0 * min(lacks))
    return np.ldexp(R, units), SHARES[chosen], in_units_of_form(lacks[chosen], units)
