"""Models of a largest eigenvalue on a subspace: their matrices as they are, or products of sparse ones with a basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt import Eigenpairs
from oracle_opt.arrays import Matrix, Vector

if TYPE_CHECKING:  # else where it is used alone: the import of scipy takes time
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class SpectralModel:
    """``s -> max(lambda_max(F_0 + sum_i s_i F_i), max_j (constants_j + slopes_j @ s))``, s of shape (m,).

    Attributes
    ----------
    center : ndarray of shape (r, r)
        F_0.
    matrices : ndarray of shape (m, r, r)
        The F_i, symmetric.
    constants, slopes : ndarray of shape (n,) and (n, m)
        Affine pieces.
    """

    center: Matrix
    matrices: Matrix
    constants: Vector
    slopes: Matrix

    def at(self, s: Vector) -> tuple[Matrix, Vector]:
        """The matrix and the affine pieces at s."""
        return self.center + self.combined(s), self.constants + self.slopes @ s

    def combined(self, s: Vector) -> Matrix:
        """Sum of the F_i, each times its entry of s."""
        result: Matrix = np.tensordot(s, self.matrices, 1)
        return result

    def slope(self, V: Matrix, eta: Vector) -> Vector:
        """Slope of the minorant ``<V, F(s)> + eta @ (constants + slopes @ s)``."""
        pulled: Vector = self.matrices.reshape(len(self.matrices), -1) @ V.ravel() + eta @ self.slopes
        return pulled

    def constant(self, V: Matrix, eta: Vector) -> float:
        """Constant of the same minorant, of V and eta."""
        return float(np.vdot(V, self.center)) + float(eta @ self.constants)

    def pairs(self, V: Matrix, K: Matrix) -> Matrix:
        """``tr(F_i V F_j K)`` for all i, j, of symmetric V and K, shape (m, m)."""
        pushed = V @ self.matrices @ K
        i, j = np.triu_indices(len(V))
        result: Matrix = self._doubled @ (0.5 * (pushed[:, i, j] + pushed[:, j, i])).T
        return result

    @cached_property
    def _doubled(self) -> Matrix:
        """The upper triangles of the F_i, which are symmetric, what is beside the diagonal twice."""
        upper = np.triu_indices(len(self.center))
        result: Matrix = self.matrices[:, *upper] * np.where(upper[0] == upper[1], 1.0, 2.0)
        return result


@dataclass(frozen=True, eq=False)
class Span:
    """The subspace of some orthonormal columns."""

    columns: Matrix

    def small(self, matrix: sparse.csr_array) -> Matrix:
        """``P' M P``."""
        result: Matrix = self.columns.T @ (matrix @ self.columns)
        return 0.5 * (result + result.T)

    def large(self, V: Matrix) -> Matrix:
        """``P V P'``."""
        result: Matrix = self.columns @ V @ self.columns.T
        return result

    def at(self, V: Matrix, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Vector:
        """Entries of `large` of V in some places, from its rows and columns."""
        result: Vector = np.einsum("ij,ij->i", (self.columns @ V)[rows], self.columns[columns])
        return result

    def sizes(self) -> Span:
        """Absolute values."""
        return Span(np.abs(self.columns))

    def total(self, V: Matrix, matrix: sparse.csr_array) -> float:
        """``<P V P', M>``."""
        return float(np.einsum("ij,ij->", self.columns @ V, matrix @ self.columns))


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """The subspace of vectors that are zero but in some rows."""

    rows: NDArray[np.intp]
    order: int

    @property
    def columns(self) -> Matrix:
        """Columns of the unit matrix, shape (N, r)."""
        return np.eye(self.order)[:, self.rows]

    def small(self, matrix: sparse.csr_array) -> Matrix:
        """The rows and columns of a matrix."""
        whole: Matrix = matrix.toarray()
        return whole if len(self.rows) == self.order else whole[np.ix_(self.rows, self.rows)]

    def large(self, V: Matrix) -> Matrix:
        """A matrix with zeros in all other rows and columns."""
        if len(self.rows) == self.order:
            return V
        result = np.zeros((self.order, self.order))
        result[np.ix_(self.rows, self.rows)] = V
        return result

    def at(self, V: Matrix, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Vector:
        """Entries of `large` of V in some places, from its rows and columns."""
        result: Vector = self.large(V)[rows, columns]
        return result

    def sizes(self) -> ChosenRows:
        """Absolute values."""
        return self

    def total(self, V: Matrix, matrix: sparse.csr_array) -> float:
        """``<P V P', M>``."""
        return float(np.vdot(V, self.small(matrix)))


@dataclass(frozen=True, eq=False)
class StructuredModel:
    """As `SpectralModel`, with ``F_i = b_i I - trace P' A_i P`` for sparse A_i that are only multiplied.

    Attributes
    ----------
    told : Eigenpairs
        The A_i, b and the trace.
    basis : Span or ChosenRows
        P.
    center, constants, slopes : ndarray
        As those of `SpectralModel`.
    """

    told: Eigenpairs
    basis: Span | ChosenRows
    center: Matrix
    constants: Vector
    slopes: Matrix

    def at(self, s: Vector) -> tuple[Matrix, Vector]:
        """The matrix and the affine pieces at s."""
        return self.center + self.combined(s), self.constants + self.slopes @ s

    def combined(self, s: Vector) -> Matrix:
        """Sum of the F_i, each times its entry of s."""
        result = -self.told.trace * self.basis.small(self.told.matrix.moved(s))
        result[np.diag_indices(len(result))] += self.told.b @ s
        return result

    def slope(self, V: Matrix, eta: Vector) -> Vector:
        """Slope of the minorant ``<V, F(s)> + eta @ (constants + slopes @ s)``."""
        forms = self._forms(V)
        pulled: Vector = float(np.trace(V)) * self.told.b - self.told.trace * forms + eta @ self.slopes
        return pulled

    def constant(self, V: Matrix, eta: Vector) -> float:
        """Constant of the same minorant, of V and eta."""
        return float(np.vdot(V, self.center)) + float(eta @ self.constants)

    def pairs(self, V: Matrix, K: Matrix) -> Matrix:
        """``tr(F_i V F_j K)`` for all i, j, of symmetric V and K, shape (m, m)."""
        trace, b, large = self.told.trace, self.told.b, self.basis.large
        VK = V @ K
        result: Matrix = trace**2 * self.told.matrix.pairs(large(V), large(K))
        if b.any():
            cross = trace * self._forms(0.5 * (VK + VK.T)) - 0.5 * float(np.trace(VK)) * b
            result -= np.multiply.outer(b, cross)
            result -= np.multiply.outer(cross, b)
        return result

    def sizes(self, V: Matrix, eta: Vector) -> tuple[Vector, float]:
        """The sums of the sizes of the terms in `slope` and `constant` of V and eta."""
        size, told, basis = np.abs(V), self.told, self.basis.sizes()
        forms = told.matrix.gathered(basis.at(size, told.matrix.rows, told.matrix.columns), absolute=True)
        slope = float(np.trace(size)) * np.abs(told.b) + told.trace * forms + eta @ np.abs(self.slopes)
        # C, and the center, in which C and the A_i may have cancelled each other
        constant = told.trace * basis.total(size, abs(told.matrix.C)) + float(
            size.ravel() @ np.abs(self.center).ravel()
        )
        return slope, constant + float(eta @ np.abs(self.constants))

    def _forms(self, V: Matrix) -> Vector:
        """``<A_i, P V P'>`` for all i."""
        matrix = self.told.matrix
        return matrix.gathered(self.basis.at(V, matrix.rows, matrix.columns))
