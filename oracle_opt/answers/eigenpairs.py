"""Eigenvectors of an eigenvalue oracle, and the matrix function that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.answers.pair_products import PairProducts
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidCut

if TYPE_CHECKING:  # else where it is used alone: the import of scipy takes time
    from scipy import sparse

    from oracle_opt.cuts import ObjectiveCut


class AffineMatrix:
    """The symmetric matrix function ``M(y) = C - sum_i y_i A_i``.

    Parameters
    ----------
    C : csr_array of shape (N, N)
        Symmetric.
    rows, columns : ndarray of shape (k,)
        Where some A_i has an entry.
    entries : csc_array of shape (k, m)
        Column i holds the entries of A_i in those places.

    Attributes
    ----------
    order : int
        N.
    counts : ndarray of shape (m,)
        Entries of each A_i.
    single : ndarray of int
        The blocks of order one: rows in which no matrix has an entry beside its diagonal.
    """

    def __init__(
        self, C: sparse.csr_array, rows: NDArray[np.intp], columns: NDArray[np.intp], entries: sparse.csc_array
    ) -> None:
        self.C = C
        self.rows, self.columns = rows, columns
        self.entries = entries
        self.order = C.shape[0]
        self.counts = np.diff(entries.indptr)
        self._gather = entries.T.tocsr()
        coupled = np.zeros(self.order, dtype=bool)
        at = C.tocoo()
        for i, j in (at.coords, (rows, columns)):
            coupled[i[i != j]] = True
        self.single = np.flatnonzero(~coupled)

    def __repr__(self) -> str:
        return f"AffineMatrix(order={self.order}, {self.entries.shape[1]} variables)"

    @classmethod
    def of(cls, C: sparse.csr_array, A: Sequence[sparse.csr_array]) -> AffineMatrix:
        """Make the function of its matrices, ``C - sum_i y[i] * A[i]``."""
        from scipy import sparse

        stacked = sparse.hstack([one.reshape((-1, 1)) for one in A], format="coo")
        places, entry = np.unique(stacked.coords[0], return_inverse=True)
        shape = (len(places), len(A))
        entries = sparse.csc_array((stacked.data, (entry, stacked.coords[1])), shape=shape)
        return cls(C, places // C.shape[0], places % C.shape[0], entries)

    def at(self, y: Vector) -> sparse.csr_array:
        """M(y)."""
        return self.C - self.moved(y)

    def moved(self, s: Vector) -> sparse.csr_array:
        """Sum of the A_i, each times its entry of s."""
        from scipy import sparse

        return sparse.csr_array((self.entries @ s, (self.rows, self.columns)), shape=self.C.shape)

    def sizes_at(self, y: Vector) -> sparse.csr_array:
        """Sums of the sizes of the terms of the entries of M(y)."""
        from scipy import sparse

        moved = sparse.csr_array((abs(self.entries) @ np.abs(y), (self.rows, self.columns)), shape=self.C.shape)
        return abs(self.C) + moved

    def diagonal(self, chosen: NDArray[np.intp]) -> tuple[Vector, Matrix]:
        """Entries on the diagonal of C, shape (k,), and of the A_i, shape (k, m), in the rows chosen."""
        on = np.flatnonzero(self.rows == self.columns)
        place = np.full(self.order, -1)
        place[self.rows[on]] = on
        found = place[chosen]
        entries = np.zeros((len(chosen), self.entries.shape[1]))
        entries[found >= 0] = self._gather[:, found[found >= 0]].toarray().T
        return self.C.diagonal()[chosen], entries

    def forms(self, P: Matrix, Q: Matrix | None = None) -> Matrix:
        """``p_j' A_i q_j`` for the columns j of P and Q (default P), shape (m, number of columns)."""
        result: Matrix = self._gather @ (P[self.rows] * (P if Q is None else Q)[self.columns])
        return result

    def gram(self, R: Matrix) -> Vector:
        """``<A_i, R R'>`` for all i, R of shape (N, k)."""
        result: Vector = self._gather @ np.einsum("ij,ij->i", R[self.rows], R[self.columns])
        return result

    def most(self, norms: Vector) -> Vector:
        """Bounds on the sizes of the terms of `gram`, for an R with rows of these norms."""
        result: Vector = abs(self._gather) @ (norms[self.rows] * norms[self.columns])
        return result

    def gathered(self, entries: Vector, absolute: bool = False) -> Vector:
        """``<A_i, W>`` for all i, of the entries of W at `rows` and `columns`; with abs(A_i) if `absolute`."""
        result: Vector = (abs(self._gather) if absolute else self._gather) @ entries
        return result

    def restrict(self, P: Matrix) -> Matrix:
        """``P' A_i P`` for all i, shape (m, r, r)."""
        r = P.shape[1]
        restricted = np.empty((self.entries.shape[1], r, r))
        for j in range(r):
            restricted[:, j, : j + 1] = self.forms(P[:, : j + 1], np.repeat(P[:, j : j + 1], j + 1, axis=1))
            restricted[:, : j + 1, j] = restricted[:, j, : j + 1]
        return restricted

    @cached_property
    def pairs(self) -> PairProducts:
        """``tr(A_i V A_j K)`` for all i, j, of symmetric V and K."""
        return PairProducts(self.order, self.rows, self.columns, self.entries)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of which `from_arrays` makes the same function; for a journal."""
        C, entries = self.C.tocoo(), self.entries.tocoo()
        return {
            "C": np.vstack([C.data, *C.coords]),
            "places": np.vstack([self.rows, self.columns]),
            "entries": np.vstack([entries.data, *entries.coords]),
            "shape": np.array([self.order, entries.shape[1]]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AffineMatrix:
        """The function of which `arrays` gave these."""
        from scipy import sparse

        rows, columns = arrays["places"]
        order, m = (int(size) for size in arrays["shape"])
        C, *at = arrays["C"]
        entries, *of = arrays["entries"]
        return cls(
            sparse.csr_array((C, tuple(np.array(at, dtype=np.intp))), shape=(order, order)),
            rows,
            columns,
            sparse.csc_array((entries, tuple(np.array(of, dtype=np.intp))), shape=(len(rows), m)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Eigenpairs(Answer):
    """Leading eigenpairs at a query point of ``f(y) = trace * lambda_max(M(y)) + b @ y``.

    For every positive semidefinite W of trace 1, ``trace * <M(y), W> + b @ y`` is a minorant of f.

    Parameters
    ----------
    matrix : AffineMatrix
        The function M.
    trace : float
        The factor, positive.
    b : ndarray of shape (m,)
        The linear term.
    values : ndarray of shape (k,)
        Eigenvalues of M at the point, largest first.
    vectors : ndarray of shape (N, k)
        Their eigenvectors, orthonormal columns.
    """

    words = "eigenvectors of a largest eigenvalue"

    matrix: AffineMatrix
    trace: float
    b: Vector
    values: Vector
    vectors: Matrix

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Trace, linear term, eigenpairs, and the arrays of the matrix function."""
        own = {"trace": np.array(self.trace), "b": self.b, "values": self.values, "vectors": self.vectors}
        return own | self.matrix.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Eigenpairs:
        """The eigenpairs of these arrays."""
        matrix = AffineMatrix.from_arrays(arrays)
        return cls(
            matrix, float(arrays["trace"]), arrays["b"], arrays["values"], np.ascontiguousarray(arrays["vectors"])
        )

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse eigenpairs of another order or number, or of another number of variables, than the matrix has."""
        n, order, count = len(cut.point), self.matrix.order, len(self.values)
        shapes = self.matrix.entries.shape[1:], self.b.shape, self.vectors.shape
        if shapes != ((n,), (n,), (order, count)) or not count:
            raise InvalidCut(
                f"Eigenpairs must be those of a matrix of {n} variables, with `b` of shape ({n},), and `vectors` of "
                f"shape ({order}, k) for k `values`, got {self!r}"
            )
        numbers = (self.b, self.values, self.vectors)
        if not (self.trace > 0 and all(np.isfinite(array).all() for array in numbers)):
            raise InvalidCut(f"Eigenpairs must be finite, and `trace` positive, got {self.trace!r}, {self.values!r}")
