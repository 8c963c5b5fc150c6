"""Closed convex cones, each with the projection of a point on it, half-spaces between both, and a test of its dual."""

from abc import ABC, abstractmethod
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.proof.exact_sums import SMALLEST

Duals = NDArray[np.float64]

RAISED = 4 * EPS  # share of the trace by which the diagonal of a dual matrix is enlarged
ROUNDING = 8 * EPS  # what counts as rounding of a distance, relative to the terms of the half-space


class Cone(ABC):
    """A closed convex cone K in R^dimension, seen through the projection on it.

    By Moreau's theorem a point v is ``p + q`` with p, its nearest point, in K, -q in the dual cone and ``p @ q = 0``.
    So ``y = -q / norm(q)`` separates: ``y @ z >= 0`` on K, and ``y @ v = -norm(q)``, minus the distance of v from K.

    Attributes
    ----------
    dimension : int
        Length of its vectors.
    rounding : float
        Distance that `separate` may take for rounding, relative to the norm of the point.
    """

    dimension: int
    rounding: float = ROUNDING

    @abstractmethod
    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """Orthonormal vectors y of the dual cone with ``y @ v < 0``, which take v to its nearest point.

        The nearest point of K is ``v - sum_i (y_i @ v) y_i``, its distance the norm of the ``y_i @ v``. A plane
        in each direction in which v leaves K, rather than the one half-space of their sum.

        Parameters
        ----------
        v : ndarray of shape (dimension,)
            Any finite point.
        most : int, optional
            Limit on the rows; default: as many as there are.

        Returns
        -------
        ndarray of shape (k, dimension)
            A row a vector, the deepest first; none (k = 0) where v is in K, or as near as rounding can tell: within
            `rounding` times ``abs(y) @ abs(v)``. The rows are in the dual cone also in exact arithmetic, which costs
            them at most as much.
        """

    @property
    def alike(self) -> Hashable:
        """The same for cones that are the same set, so that `screen` can look at their points together."""
        return id(self)

    def screen(self, points: Matrix) -> Vector:
        """Distances of many points from K, roughly: positive where they are outside by more than rounding, 0 inside.

        Parameters
        ----------
        points : ndarray of shape (k, dimension)
            A point a row.

        Returns
        -------
        ndarray of shape (k,)
            The farther, the larger; where a cone has no fast rule, infinity.
        """
        return np.full(len(points), np.inf)

    def nearby(self, points: Matrix) -> Matrix | None:
        """Points of K that are about the nearest ones to many points, in K also in exact arithmetic.

        Parameters
        ----------
        points : ndarray of shape (k, dimension)
            A point a row.

        Returns
        -------
        ndarray of shape (k, dimension) or None
            NaN in rows for which the fast rule finds none; `None`, the default, without such a rule.
        """
        return None

    def project(self, v: Vector) -> Vector:
        """Nearest point of K to v."""
        rows = self.separate(v)
        nearest: Vector = v - (rows @ v) @ rows
        return nearest

    def distance(self, v: Vector) -> float:
        """Euclidean distance of v from K; 0 where that is rounding, as in `separate`."""
        return length(self.separate(v) @ v)

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """Whether y is within ``tolerance * norm(y)`` of the dual cone: by Moreau's theorem, -y projected on K."""
        return self.dual_distance(y) <= tolerance * length(y)

    def dual_distance(self, y: Vector) -> float:
        """Euclidean distance of y from the dual cone."""
        return length(self.project(-y))

    def witness(self, y: Vector) -> NDArray[np.float64] | None:
        """The proof that a row of `separate`, times a positive number, is in the dual cone.

        Parameters
        ----------
        y : ndarray of shape (dimension,)
            The row.

        Returns
        -------
        ndarray or None
            `None`, the default, if it is y itself.
        """
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


def length(v: Vector) -> float:
    """Euclidean norm that neither overflows nor underflows."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if 0.0 < largest < np.inf else largest


def scaled(v: Vector) -> Vector:
    """Return v times a power of two, its largest entry between 1/2 and 1; a cone holds both or none."""
    return np.ldexp(v, -int(np.frexp(np.abs(v).max(initial=0.0))[1]))


def lengths(rows: Matrix) -> Vector:
    """Euclidean norm of each row, none of which overflows or underflows."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where((largest > 0.0) & (largest < np.inf), largest, 1.0)
    norms: Vector = unit * np.sqrt(((rows / unit[:, None]) ** 2).sum(axis=1))
    return norms


def one_row(y: Vector, v: Vector) -> Duals:
    """Return y as the row of `separate`, or no row where ``y @ v`` is rounding."""
    depth, terms = -float(y @ v), float(np.abs(y) @ np.abs(v))
    return y[None, :] if depth > ROUNDING * terms else np.zeros((0, len(v)))


def deepest(depth: Vector, chosen: NDArray[np.intp], most: int | None) -> NDArray[np.intp]:
    """Return the chosen places of the largest `depth`, at most so many, by falling depth."""
    if most is not None and most < len(chosen):
        chosen = np.sort(chosen[np.argpartition(-depth[chosen], most)[:most]])
    return chosen[np.argsort(-depth[chosen], kind="stable")]


class Zero(Cone):
    """The origin: equations. Its dual is the whole space.

    Parameters
    ----------
    dimension : int
        Number of equations.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension)

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One signed unit vector for each entry that is not zero."""
        return _rows_of_identity(-np.sign(v), np.abs(v), most)

    def project(self, v: Vector) -> Vector:
        """The origin."""
        return np.zeros(self.dimension)

    def distance(self, v: Vector) -> float:
        """The norm."""
        return length(v)


class Nonnegative(Cone):
    """The orthant: inequalities. It is its own dual.

    Parameters
    ----------
    dimension : int
        Number of inequalities.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension)

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One unit vector for each negative entry."""
        return _rows_of_identity((v < 0).astype(float), -v, most)

    def project(self, v: Vector) -> Vector:
        """The positive parts."""
        return np.maximum(v, 0.0)

    def distance(self, v: Vector) -> float:
        """The norm of the negative parts."""
        return length(np.minimum(v, 0.0))


def _rows_of_identity(signs: Vector, depth: Vector, most: int | None) -> Duals:
    """Rows ``signs[i] * e_i`` for the non-zero signs, by falling depth."""
    chosen = deepest(depth, np.flatnonzero(signs), most)
    rows = np.zeros((len(chosen), len(signs)))
    rows[np.arange(len(chosen)), chosen] = signs[chosen]
    return rows


class SecondOrder(Cone):
    """``{(t, u) : norm(u) <= t}``. It is its own dual.

    Parameters
    ----------
    dimension : int
        Length of (t, u).
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension)
        self.rounding = ROUNDING + self.dimension * EPS

    @property
    def alike(self) -> Hashable:
        """Second-order cones of one dimension are alike."""
        return SecondOrder, self.dimension

    def screen(self, points: Matrix) -> Vector:
        """``(norm(u) - t) / sqrt(2)``, the distance unless the nearest point is the origin."""
        sizes = np.abs(points).max(axis=1)
        unit = points / np.where(sizes > 0.0, sizes, 1.0)[:, None]  # else the squares might be zero or infinite
        outside = np.sqrt(np.einsum("ij,ij->i", unit[:, 1:], unit[:, 1:])) - unit[:, 0]
        distances: Vector = sizes * np.maximum(outside, 0.0) / np.sqrt(2.0)
        return distances

    def nearby(self, points: Matrix) -> Matrix:
        """The nearest points, the first entry enlarged by more than the rounding of the others."""
        t, size = points[:, 0], lengths(points[:, 1:])
        middle = np.where(size <= t, t, np.maximum(0.5 * t + 0.5 * size, 0.0))
        share = np.where(size <= t, 1.0, np.minimum(middle / np.where(size > 0.0, size, 1.0), 1.0))
        near: Matrix = np.c_[middle, share[:, None] * points[:, 1:]]
        least = lengths(near[:, 1:]) * (1.0 + (self.dimension + 8) * EPS)
        least += self.dimension * SMALLEST * near[:, 1:].any(axis=1)
        near[:, 0] = np.maximum(middle, least)
        return near

    def separate(self, v: Vector, most: int | None = None) -> Duals:
        """One row, ``(1, -u / norm(u)) / sqrt(2)`` unless the nearest point is the origin.

        The first entry is enlarged by more than the rounding of the others.
        """
        v = scaled(v)
        t, u = float(v[0]), v[1:]
        size = float(np.linalg.norm(u))
        if size <= t:
            return np.zeros((0, self.dimension))
        # where v is in the polar cone the nearest point is the origin, and -v separates
        y = -v / length(v) if size <= -t else np.r_[1.0, -u / size] / np.sqrt(2.0)
        y[0] = max(y[0], (1.0 + self.dimension * EPS) * float(np.linalg.norm(y[1:])))
        return one_row(y, v)


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
