"""The cone of positive semidefinite matrices."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Duals, length
from oracle_opt.proof.enclosure import Enclosure

RAISED = 4 * EPS  # share of the trace by which the diagonal of a dual matrix is enlarged


class PositiveSemidefinite(Cone):
    """Positive semidefinite matrices of an order, as vectors. It is its own dual.

    A symmetric matrix is the vector of its upper triangle, column by column, off-diagonal entries times sqrt(2), so
    that inner products of vectors are those of matrices (the form of Clarabel).

    Parameters
    ----------
    order : int
        Rows of the matrix; the dimension is ``order * (order + 1) / 2``.
    """

    def __init__(self, order: int) -> None:
        self.order = whole("order", order)
        self.dimension = self.order * (self.order + 1) // 2
        self.rounding = self.order * ROUNDING
        self._columns, self._rows = np.tril_indices(self.order)  # the upper triangle by columns
        self._scale = np.where(self._rows == self._columns, 1.0, np.sqrt(2.0))

    def __repr__(self) -> str:
        return f"PositiveSemidefinite({self.order})"

    @property
    def alike(self) -> Hashable:
        """Cones of matrices of one order are alike."""
        return PositiveSemidefinite, self.order

    def screen(self, points: Matrix) -> Vector:
        """Minus the least eigenvalues; a single matrix is not looked at twice."""
        if len(points) == 1:
            return np.full(1, np.inf)
        full = np.zeros((len(points), self.order, self.order))
        full[:, self._rows, self._columns] = full[:, self._columns, self._rows] = points / self._scale
        distances: Vector = np.maximum(-np.linalg.eigvalsh(full)[:, 0], 0.0)
        return distances

    def matrix(self, v: Vector) -> NDArray[np.float64]:
        """Symmetric matrix of a vector v."""
        full = np.zeros((self.order, self.order))
        full[self._rows, self._columns] = full[self._columns, self._rows] = v / self._scale
        return full

    def vector(self, matrix: NDArray[np.float64]) -> Vector:
        """Vector of a symmetric matrix."""
        result: Vector = matrix[self._rows, self._columns] * self._scale
        return result

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One ``q q'`` for each eigenvector q of a negative eigenvalue.

        The diagonal is enlarged by more than the rounding of the entries.
        """
        values, vectors = np.linalg.eigh(self.matrix(v))
        least = -self.rounding * max(-float(values[0]), float(values[-1]))
        if not values[0] < least:
            return np.zeros((0, self.dimension))
        chosen = vectors[:, values < least][:, :most]
        rows: Matrix = chosen[self._rows].T * chosen[self._columns].T * self._scale
        rows[:, self._rows == self._columns] += RAISED
        return rows

    def witness(self, y: Vector) -> NDArray[np.float64]:
        """Vectors q, rows of a matrix, with ``y = sum of q q'`` up to rounding: one where y is that of an eigenvector.

        By columns of the largest diagonal entries, as in a Cholesky factorization with pivots.

        Parameters
        ----------
        y : ndarray of shape (dimension,)
            The row.

        Returns
        -------
        ndarray of shape (k, order)
        """
        left, found = self.matrix(y), []
        left -= RAISED * np.trace(left) * np.eye(self.order)
        largest = first = float(left.diagonal().max())
        while largest > 0.0 and (largest > 1e-13 * first):
            j = int(left.diagonal().argmax())
            found.append(left[j] / np.sqrt(largest))
            left -= np.outer(found[-1], found[-1])
            largest = float(left.diagonal().max())
        return np.array(found)

    def distance(self, v: Vector) -> float:
        """The norm of the negative eigenvalues."""
        return length(np.minimum(np.linalg.eigvalsh(self.matrix(v)), 0.0))

    def dual_near(self, y: Enclosure) -> Enclosure:
        """``sum of v v'`` for the rows v of a witness, of shape (k, order), the diagonal raised as in `separate`."""
        if y.lower.ndim != 2 or y.lower.shape[1] != self.order:
            raise Refuted(f"the dual vectors of a {self!r} must have {self.order} entries each, got {y.lower.shape}")
        rows, columns = self._rows, self._columns
        products = (y[:, rows] * y[:, columns]).sum(axis=0)
        raised = (y * y).sum() * RAISED  # any multiple of the identity may be added: this one is in the half-spaces
        beside = rows != columns
        scaled, diagonal = products[beside] * Enclosure.of(np.array(2.0), y.exact).sqrt(), products[~beside] + raised
        lower, upper = products.lower.copy(), products.upper.copy()
        lower[beside], upper[beside] = scaled.lower, scaled.upper
        lower[~beside], upper[~beside] = diagonal.lower, diagonal.upper
        return Enclosure(lower, upper)

    def point_near(self, v: Vector) -> Vector:
        """The projection, moved along the identity where it is at fault."""
        near = self.project(v)
        values = np.linalg.eigvalsh(self.matrix(near))
        if values[0] < -8 * self.order * EPS * float(np.abs(values).max()):
            near = near + self.vector(-values[0] * np.eye(self.order))
        return near
