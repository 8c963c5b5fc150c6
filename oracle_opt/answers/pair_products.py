"""Products of pairs of symmetric matrices with two others between, as a Schur complement needs: the cheapest form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import EPS, Matrix, Vector

if TYPE_CHECKING:  # else where it is used alone: the import of scipy takes time
    from scipy import sparse

# nanoseconds, measured: a pair of places, a vector at a place, a multiplication in a dense product, calls a matrix
PAIR, PLACE, MULTIPLY, MATRIX = 10.0, 12.0, 0.1, 60_000.0
BLOCK = 2_000_000  # most entries of an array in between
ROWS = 50_000  # of those that stay in the cache
SMALL = 40  # rows of a matrix whose eigenvalues are cheap
FACTORED = 3e8  # most multiplications, about, for eigenvalues of larger ones


class PairProducts:
    """``tr(A_i V A_j K)`` for all pairs of sparse symmetric matrices, V and K symmetric, in the cheapest form.

    See docs/theory_cones.md, "The master": Fujisawa, Kojima & Nakata (1997), F1 and F3; Benson, Ye & Zhang (2000).
    """

    def __init__(
        self, order: int, rows: NDArray[np.intp], columns: NDArray[np.intp], entries: sparse.csc_array
    ) -> None:
        from scipy import sparse

        upper = np.flatnonzero(rows <= columns)
        self._rows, self._columns = rows[upper], columns[upper]
        # half of what lies on the diagonal: a place stands for itself and its mirror image
        halved = sparse.diags_array(np.where(self._rows == self._columns, 0.5, 1.0))
        self._gather = (halved @ entries.tocsr()[upper]).T.tocsr()
        self._order, self._count = order, self._gather.shape[0]
        places, counts = len(upper), np.diff(self._gather.indptr)
        touched = [np.unique(np.r_[self._rows[at], self._columns[at]]) for at in map(self._at, range(self._count))]
        several = MATRIX + 2.0 * MULTIPLY * order**2 * np.array([len(one) for one in touched]) + PLACE * places
        # a place that matrices share is multiplied once for all of them
        shared = max(1.0, int(counts.sum()) / max(1, places))
        entrywise = PAIR * counts / shared * places
        light = entrywise <= several
        ranks = np.zeros(self._count, dtype=int)
        affordable = sum(float(len(touched[i])) ** 3 for i in np.flatnonzero(counts > 1)) <= FACTORED
        vectors, self._signs = [], []
        self._full: list[tuple[int, NDArray[np.intp], Matrix]] = []
        for i in map(int, np.flatnonzero((counts > 1) | ~light)):
            if affordable or len(touched[i]) <= SMALL:
                block = self._block(i, touched[i])
                values, axes = np.linalg.eigh(block)
                kept = np.abs(values) > 8.0 * EPS * len(values) * np.abs(values).max()
                cost = PLACE * np.count_nonzero(kept) * places
                if cost <= min(several[i], entrywise[i]):
                    light[i], ranks[i], several[i] = False, np.count_nonzero(kept), cost
                    vectors.append(sparse.csr_array(_embedded(axes[:, kept], touched[i], order)))
                    self._signs.append(values[kept])
            if not light[i] and not ranks[i]:
                self._full.append((i, touched[i], self._block(i, touched[i])))
        self._light, self._low = np.flatnonzero(light), np.flatnonzero(ranks)
        self._vectors = sparse.hstack(vectors, format="csr").toarray() if vectors else np.zeros((order, 0))
        self._starts = np.cumsum(ranks[self._low]) - ranks[self._low]
        self._places = np.unique(self._gather[self._light].indices)
        self._few = self._gather[self._light][:, self._places]
        self._diagonal = bool((self._rows[self._places] == self._columns[self._places]).all())
        # a matrix to a place, in order: nothing to add up
        one = self._few.shape[0] == self._few.shape[1] == self._few.nnz and (np.diff(self._few.indptr) == 1).all()
        self._scale: Vector | None = None
        if one and np.array_equal(self._few.indices, np.arange(self._few.nnz)):
            self._scale = self._few.data
        pair = 0.5 * PAIR if self._diagonal else PAIR
        self.nanoseconds = float(several[~light].sum() + pair * len(self._places) ** 2)

    def _at(self, i: int) -> NDArray[np.intp]:
        """Places of matrix i."""
        at: NDArray[np.intp] = self._gather.indices[self._gather.indptr[i] : self._gather.indptr[i + 1]]
        return at

    def _block(self, i: int, touched: NDArray[np.intp]) -> Matrix:
        """Matrix i, of its rows that are not zero."""
        at, values = self._at(i), self._gather.data[self._gather.indptr[i] : self._gather.indptr[i + 1]]
        block = np.zeros((len(touched), len(touched)))
        block[np.searchsorted(touched, self._rows[at]), np.searchsorted(touched, self._columns[at])] = values
        return block + block.T

    def __call__(self, V: Matrix, K: Matrix) -> Matrix:
        """``tr(A_i V A_j K)``, shape (m, m)."""
        few = self._of_few(V, K)
        if len(self._light) == self._count:
            return few
        result = np.empty((self._count, self._count))
        result[np.ix_(self._light, self._light)] = few
        if len(self._low):
            met = self._of_low_rank(V, K)
            result[:, self._low], result[self._low] = met, met.T
        block = max(1, BLOCK // max(1, len(self._rows)))
        for first in range(0, len(self._full), block):
            some = self._full[first : first + block]
            turned = np.column_stack([self._summed_at_places(V[:, at] @ (A @ K[at])) for _, at, A in some])
            met, chosen = self._gather @ turned, [i for i, _, _ in some]
            result[:, chosen], result[chosen] = met, met.T
        return result

    def _of_few(self, V: Matrix, K: Matrix) -> Matrix:
        """The pairs of matrices with few entries."""
        p, q = self._rows[self._places], self._columns[self._places]
        if self._diagonal:
            if len(p) < len(V) or (p != np.arange(len(p))).any():
                V, K = V[:, p][p], K[:, p][p]
            return self._added(V * K, 2.0)  # four times the same
        return self._added(products_at(V, K, p, q))

    def _added(self, places: Matrix, times: float = 1.0) -> Matrix:
        """From pairs of places to pairs of matrices, each of these so many times."""
        if self._scale is not None:
            scale = times * self._scale
            if (scale != 1.0).any():
                places *= scale
                places *= scale[:, None]
            return places
        half = self._few @ places
        result: Matrix = times**2 * (self._few @ half.T)
        return result

    def _of_low_rank(self, V: Matrix, K: Matrix) -> Matrix:
        """Inner products of all matrices with the matrices of low rank, shape (m, number of the latter)."""
        left, right = V @ self._vectors, (K @ self._vectors) * np.concatenate(self._signs)
        met = np.empty((self._count, self._vectors.shape[1]))
        block = max(8, ROWS // max(1, len(self._rows)))
        for first in range(0, met.shape[1], block):
            u, v = (np.ascontiguousarray(one[:, first : first + block]) for one in (left, right))
            at_places = u[self._rows] * v[self._columns] + u[self._columns] * v[self._rows]
            met[:, first : first + block] = self._gather @ at_places
        result: Matrix = np.add.reduceat(met, self._starts, axis=1)
        return result

    def _summed_at_places(self, product: Matrix) -> Vector:
        """A matrix and its transpose, their sum at the places."""
        result: Vector = product[self._rows, self._columns] + product[self._columns, self._rows]
        return result


def products_at(V: Matrix, K: Matrix, p: NDArray[np.intp], q: NDArray[np.intp]) -> Matrix:
    """``tr(E_a V E_b K)`` for all pairs of ``E_a = e_p e_q' + e_q e_p'``, p and q the a-th of those given."""
    Vp, Vq, Kp, Kq = (np.ascontiguousarray(one[:, at]) for one in (V, K) for at in (p, q))
    block = max(1, ROWS // max(1, len(p)))
    result = np.empty((len(p), len(p)))
    for first in range(0, len(p), block):
        i, j = p[first : first + block], q[first : first + block]
        # of the pair of places (i, j) and (p, q), and their mirror images
        into = result[first : first + block]
        np.multiply(Vp[i], Kq[j], out=into)
        into += Vq[i] * Kp[j]
        into += Vp[j] * Kq[i]
        into += Vq[j] * Kp[i]
    return result


def _embedded(axes: Matrix, touched: NDArray[np.intp], order: int) -> Matrix:
    whole = np.zeros((order, axes.shape[1]))
    whole[touched] = axes
    return whole
