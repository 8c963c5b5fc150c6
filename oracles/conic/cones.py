"""Closed convex cones, each with the exact separation of a point outside and a test of its dual cone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oracle_opt import InvalidArgument
from oracle_opt.cuts import Vector

Duals = NDArray[np.float64]


class Cone(ABC):
    """A closed convex cone K in R^dimension.

    Attributes
    ----------
    dimension : int
        Length of its vectors.
    """

    dimension: int

    @abstractmethod
    def separate(self, v: Vector) -> Duals:
        """Vectors y of the dual cone, of norm 1, with ``y @ v < 0``.

        Returns
        -------
        ndarray of shape (k, dimension)
            A row a vector, the deepest first; none (k = 0) exactly when v is in K, up to rounding.
        """

    @abstractmethod
    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """Whether y is in the dual cone, up to ``tolerance * norm(y)``."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


def _checked_size(name: str, size: int) -> int:
    if int(size) != size or size < 1:
        raise InvalidArgument(f"`{name}` must be a positive integer, got {size!r}")
    return int(size)


def _unit(y: Vector) -> Duals:
    return (y / np.linalg.norm(y))[None, :]


class Zero(Cone):
    """The origin: equations. Its dual is the whole space.

    Parameters
    ----------
    dimension : int
        Number of equations.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = _checked_size("dimension", dimension)

    def separate(self, v: Vector) -> Duals:
        """One signed unit vector for each entry that is not zero."""
        return _rows_of_identity(-np.sign(v), np.abs(v))

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """Always."""
        return True


class Nonnegative(Cone):
    """The orthant: inequalities. It is its own dual.

    Parameters
    ----------
    dimension : int
        Number of inequalities.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = _checked_size("dimension", dimension)

    def separate(self, v: Vector) -> Duals:
        """One unit vector for each negative entry."""
        return _rows_of_identity((v < 0).astype(float), -v)

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """Whether no entry is negative."""
        return bool(y.min() >= -tolerance * np.linalg.norm(y))


def _rows_of_identity(signs: Vector, depth: Vector) -> Duals:
    """Rows ``signs[i] * e_i`` for the non-zero signs, by falling depth."""
    chosen = np.flatnonzero(signs)
    chosen = chosen[np.argsort(-depth[chosen], kind="stable")]
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
        self.dimension = _checked_size("dimension", dimension)

    def separate(self, v: Vector) -> Duals:
        """Return the residual of the projection: the half-space farthest from v."""
        t, u = v[0], v[1:]
        length = float(np.linalg.norm(u))
        if length <= t:
            return np.zeros((0, self.dimension))
        if length <= -t:
            return _unit(-v)  # v is in the polar cone: its projection is the origin
        return _unit(np.r_[1.0, -u / length])

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """As the cone itself."""
        return bool(np.linalg.norm(y[1:]) <= y[0] + tolerance * np.linalg.norm(y))


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
        self.order = _checked_size("order", order)
        self.dimension = self.order * (self.order + 1) // 2
        self._columns, self._rows = np.tril_indices(self.order)  # the upper triangle by columns
        self._scale = np.where(self._rows == self._columns, 1.0, np.sqrt(2.0))

    def __repr__(self) -> str:
        return f"PositiveSemidefinite({self.order})"

    def matrix(self, v: Vector) -> NDArray[np.float64]:
        """Matrix of a vector."""
        full = np.zeros((self.order, self.order))
        full[self._rows, self._columns] = full[self._columns, self._rows] = v / self._scale
        return full

    def vector(self, matrix: NDArray[np.float64]) -> Vector:
        """Vector of a symmetric matrix."""
        result: Vector = matrix[self._rows, self._columns] * self._scale
        return result

    def separate(self, v: Vector) -> Duals:
        """One ``q q'`` for each eigenvector q of a negative eigenvalue."""
        values, vectors = np.linalg.eigh(self.matrix(v))
        negative = vectors[:, values < 0]
        return negative[self._rows].T * negative[self._columns].T * self._scale

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """As the cone itself."""
        return bool(np.linalg.eigvalsh(self.matrix(y))[0] >= -tolerance * np.linalg.norm(y))


def _deepest(curve: Callable[[float], Vector], v: Vector, start: float, reach: float = 40.0) -> Duals:
    """Return the row ``y = curve(r)`` that cuts v off deepest, ``min over r of y @ v / norm(y)``, near r = start.

    Every r gives a valid row, so the search decides the depth alone.
    """
    from scipy.optimize import minimize_scalar  # only here: the import takes time

    def depth(r: float) -> float:
        y = curve(r)
        return float(y @ v / np.linalg.norm(y))

    found = minimize_scalar(depth, bounds=(start - reach, start + reach), method="bounded", options={"xatol": 1e-10})
    return _unit(curve(min((start, float(found.x)), key=depth)))


class Exponential(Cone):
    """Closure of ``{(x, y, z) : y > 0, y * exp(x / y) <= z}``."""

    def __init__(self) -> None:
        self.dimension = 3

    def __repr__(self) -> str:
        return "Exponential()"

    def separate(self, v: Vector) -> Duals:
        """A supporting plane at the deepest ratio ``r = x / y``."""
        x, y, z = (float(entry) for entry in v)
        if z < 0 and z <= y:
            return np.array([[0.0, 0.0, 1.0]])
        if y < 0:
            return np.array([[0.0, 1.0, 0.0]])
        if y == 0:
            if x <= 0:
                return np.zeros((0, 3))
            return _deepest(self._support, v, np.log(z / x) + 1.0 if z > 0 else 0.0)
        if z > 0 and x <= y * np.log(z / y):
            return np.zeros((0, 3))
        # at ratio log(z / y) the plane touches the cone above (y, z); at x / y it touches it above (x, y)
        return _deepest(self._support, v, np.log(z / y) if z > 0 else x / y)

    @staticmethod
    def _support(r: float) -> Vector:
        """``exp(r) x + (1 - r) exp(r) y <= z`` touches the cone along the ray of ratio r; times exp(-r) if r > 0."""
        large, small = (1.0, np.exp(-r)) if r > 0 else (np.exp(r), 1.0)
        return np.array([-large, (r - 1.0) * large, small])

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """``u < 0, -u exp(v / u) <= e w``, or ``u = 0, v >= 0, w >= 0``."""
        slack = tolerance * float(np.linalg.norm(y))
        u, v, w = (float(entry) for entry in y)
        if u >= 0:
            return bool(u <= slack and v >= -slack and w >= -slack)
        return bool(v / u <= 700.0 and -u * np.exp(v / u - 1.0) <= w + slack)


class Power(Cone):
    """``{(x, y, z) : x**a * y**(1 - a) >= abs(z), x >= 0, y >= 0}``.

    Parameters
    ----------
    exponent : float
        a, strictly between 0 and 1.
    """

    def __init__(self, exponent: float) -> None:
        if not 0 < exponent < 1:
            raise InvalidArgument(f"`exponent` must lie strictly between 0 and 1, got {exponent!r}")
        self.exponent = float(exponent)
        self.dimension = 3

    def __repr__(self) -> str:
        return f"Power({self.exponent:g})"

    def separate(self, v: Vector) -> Duals:
        """A supporting plane of ``x**a * y**(1-a) - abs(z)`` at the deepest ratio x / y."""
        x, y, z = (float(entry) for entry in v)
        if x < 0 or y < 0:
            return np.array([[1.0, 0.0, 0.0] if x <= y else [0.0, 1.0, 0.0]])
        a = self.exponent
        if x**a * y ** (1 - a) >= abs(z):
            return np.zeros((0, 3))
        sign = 1.0 if z > 0 else -1.0
        start = np.log(max(x, 1e-300) / max(y, 1e-300))
        return _deepest(lambda r: np.array([a * np.exp((a - 1) * r), (1 - a) * np.exp(a * r), -sign]), v, start)

    def dual_contains(self, y: Vector, tolerance: float = 1e-9) -> bool:
        """``(u / a)**a * (v / (1 - a))**(1 - a) >= abs(w), u >= 0, v >= 0``."""
        slack = tolerance * float(np.linalg.norm(y))
        u, v, w = (float(entry) for entry in y)
        if min(u, v) < -slack:
            return False
        a = self.exponent
        return bool((max(u, 0.0) / a) ** a * (max(v, 0.0) / (1 - a)) ** (1 - a) >= abs(w) - slack)
