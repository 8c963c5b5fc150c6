"""Closed convex cones: projections, half-spaces, proofs; the origin and the orthant.

A cone of one's own is a subclass of `Cone` with `separate`. A half-space of a conic problem rests on a vector y of the
dual cone. A stranger's y is not believed: a vector near to it, in the dual cone by its construction, takes its place.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import Refuted
from oracle_opt.proof.enclosure import Enclosure

Duals = NDArray[np.float64]

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

    def __init_subclass__(cls) -> None:
        """A class that says anew what its cone is does not inherit what is known of another one."""
        own = vars(cls).keys()
        for name in ("dual_near", "point_near"):
            if name not in own and own & {"separate", "project", "distance", "dual_distance", "nearby", "screen"}:
                setattr(cls, name, vars(Cone)[name])

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

    def dual_near(self, y: Enclosure) -> Enclosure | None:
        """A vector near y that is in the dual cone whatever rounding did.

        Parameters
        ----------
        y : Enclosure of shape (dimension,), or that of `witness`
            Floats or fractions, as they are.

        Returns
        -------
        Enclosure or None
            Of the same kind; `None`, the default, if the dual cone is not known: cuts are then given, not proven.
        """
        return None

    def point_near(self, v: Vector) -> Vector | None:
        """A point near v that is in K whatever rounding did.

        Parameters
        ----------
        v : ndarray of shape (dimension,)
            Any finite point.

        Returns
        -------
        ndarray of shape (dimension,) or None
            `None`, the default, if there is no such rule: values are then given, not proven.
        """
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


def refuse_misfit(cone: Cone, y: Enclosure) -> None:
    """Refuse a dual vector of another length."""
    if y.lower.shape != (cone.dimension,):
        raise Refuted(f"the dual vector of a {cone!r} must have {cone.dimension} entries, got {y.lower.shape}")


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


def known_vector(*entries: Any) -> Enclosure:
    """A vector of known numbers, floats or fractions."""
    array = np.array(entries, dtype=float if all(isinstance(entry, float) for entry in entries) else object)
    return Enclosure(array, array)


def nearest_of(choices: Sequence[Enclosure], y: Enclosure) -> Enclosure:
    """The choice that is next to y."""
    return min(choices, key=lambda one: sum(abs(float(part)) for part in one.lower - y.lower))


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

    def dual_near(self, y: Enclosure) -> Enclosure:
        """The vector itself: any is in the dual cone."""
        return y

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

    def dual_near(self, y: Enclosure) -> Enclosure:
        """The positive parts."""
        clipped = np.maximum(y.lower, 0 * y.lower)
        return Enclosure(clipped, clipped)

    def distance(self, v: Vector) -> float:
        """The norm of the negative parts."""
        return length(np.minimum(v, 0.0))


def _rows_of_identity(signs: Vector, depth: Vector, most: int | None) -> Duals:
    """Rows ``signs[i] * e_i`` for the non-zero signs, by falling depth."""
    chosen = deepest(depth, np.flatnonzero(signs), most)
    rows = np.zeros((len(chosen), len(signs)))
    rows[np.arange(len(chosen)), chosen] = signs[chosen]
    return rows
