"""The linear description of a set: equations, bounds, inequalities."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.words import one_line


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """Equations, bounds and inequalities that describe a polyhedral set.

    Attributes
    ----------
    equality_matrix, equality_rhs : ndarray of shape (m, n) and (m,)
        Points z of the set have ``equality_matrix @ z == equality_rhs``.
    lower, upper : ndarray of shape (n,)
        And ``lower <= z <= upper``; bounds may be infinite.
    inequality_matrix, inequality_rhs : ndarray of shape (k, n) and (k,), optional
        And ``inequality_matrix @ z <= inequality_rhs``, where these are not `None`.
    """

    __repr__ = one_line

    equality_matrix: Matrix
    equality_rhs: Vector
    lower: Vector
    upper: Vector
    inequality_matrix: Matrix | None = None
    inequality_rhs: Vector | None = None

    @cached_property
    def inequalities(self) -> tuple[Matrix, Vector]:
        """Matrix and right-hand sides of the inequalities, without rows where there are none."""
        if self.inequality_matrix is None or self.inequality_rhs is None:
            return np.zeros((0, len(self.lower))), np.zeros(0)
        return self.inequality_matrix, self.inequality_rhs

    @cached_property
    def has_bounds_alone(self) -> bool:
        """Whether there is neither an equation nor an inequality of several variables."""
        return not (len(inequality_sides(self)) or len(self.equality_rhs))

    @property
    def is_everything(self) -> bool:
        """Whether there is no constraint at all: the set is R^n."""
        return self.has_bounds_alone and bool(np.isinf(self.lower).all() and np.isinf(self.upper).all())

    def deepest_cut(self, point: Vector, axes: Matrix, tolerance: float) -> tuple[Vector, float] | None:
        """Find the violated bound or inequality that cuts deepest into an ellipsoid around a point.

        As `Domain.deepest_cut`: unit normal and violation of the one with the largest violation over
        ``norm(normal @ axes)``, half the width of the ellipsoid ``{point + axes @ w : norm(w) <= 1}``; `None` where no
        violation is above `tolerance`.
        """
        outside = np.maximum(self.lower - point, point - self.upper)
        worst = np.flatnonzero(outside > tolerance)
        depths, widths = outside[worst], np.linalg.norm(axes[worst], axis=1)
        matrix, rhs = self.inequalities
        rows = matrix[:0]
        if len(rhs):
            norms = np.linalg.norm(matrix, axis=1)
            beyond = (matrix @ point - rhs) / norms
            violated = beyond > tolerance
            rows = matrix[violated] / norms[violated, None]
            depths = np.r_[depths, beyond[violated]]
            widths = np.r_[widths, np.linalg.norm(rows @ axes, axis=1)]
        if not len(depths):
            return None
        chosen = int(np.argmax(depths / np.maximum(widths, 1e-300)))
        if chosen < len(worst):
            normal = np.zeros(len(point))
            j = worst[chosen]
            normal[j] = 1.0 if point[j] > self.upper[j] else -1.0
        else:
            normal = rows[chosen - len(worst)]
        return normal, float(depths[chosen])


class SparseConstraints(LinearConstraints):
    """Linear constraints of sparse rows, of which dense matrices are made when they are asked for."""

    def __init__(self, E: Any, f: Vector, lower: Vector, upper: Vector, A: Any, b: Vector) -> None:
        vars(self).update(stored=(A, E), equality_rhs=f, lower=lower, upper=upper, inequality_rhs=b)

    @cached_property
    def equality_matrix(self) -> Matrix:
        """Dense matrix of the equations."""
        made: Matrix = vars(self)["stored"][1].toarray()
        return made

    @cached_property
    def inequality_matrix(self) -> Matrix:
        """Dense matrix of the inequalities."""
        made: Matrix = vars(self)["stored"][0].toarray()
        return made


def stored_rows(known: LinearConstraints) -> tuple[Any, Any]:
    """Matrices of the inequalities and of the equations as they are kept, dense or sparse."""
    return vars(known).get("stored") or (known.inequalities[0], known.equality_matrix)


def inequality_sides(known: LinearConstraints) -> Vector:
    """Right-hand sides of the inequalities, none where there are none."""
    return np.zeros(0) if known.inequality_rhs is None else known.inequality_rhs


def ellipsoid_around(lower: Vector, upper: Vector) -> tuple[Vector, Matrix]:
    """Center and axes of the smallest ellipsoid around a box, flat in the variables that it fixes."""
    half = 0.5 * (upper - lower)
    wide = np.flatnonzero(half > 0)
    return lower + half, np.sqrt(len(wide)) * np.diag(half)[:, wide]
