"""Arguments that several domains take, checked, and the words they share."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import floats, real, whole
from oracle_opt.arrays import Vector, digest
from oracle_opt.errors import InvalidArgument

EDGE = 0.01  # share of a radius that counts as its edge


def checked_dimension(dimension: int) -> int:
    return whole("dimension", dimension)


def checked_radius(radius: float, *, finite: bool) -> float:
    return real("radius", radius, above=0.0, infinite=not finite)


def checked_center(center: ArrayLike | None, dimension: int) -> Vector:
    checked = np.zeros(dimension) if center is None else floats("center", center)
    if checked.shape != (dimension,) or not np.isfinite(checked).all():
        raise InvalidArgument(f"`center` must be {dimension} finite numbers, got shape {checked.shape}")
    return checked


def short(values: Vector) -> str:
    """Return a short text that differs for different arrays."""
    if (values == values[0]).all():
        return f"{values[0]:g}"
    return f"[{values[0]:g} .. {values[-1]:g} #{digest(values)}]"


def edge_of_promise(where: str) -> str:
    return (
        f"The best point lies at the edge of what is promised: {where}. A minimizer may lie farther out, and then the "
        "lower bound is none; state a larger `radius`."
    )


def checked_rows(
    name: str, matrix: Any, side_name: str, side: ArrayLike | None, n: int, *, equations: bool
) -> tuple[Any, Vector]:
    """Matrix and sides of inequalities or `equations`, finite; rows of zeros that hold are left out, others refused.

    A sparse matrix is taken as it is, and stays sparse.
    """
    if (matrix is None) != (side is None):
        raise InvalidArgument(f"`{name}` and `{side_name}` must be given together")
    if matrix is None:
        return np.zeros((0, n)), np.zeros(0)
    is_sparse, b = not isinstance(matrix, np.ndarray), np.array(side, dtype=float)
    A: Any = matrix if is_sparse else np.array(matrix, dtype=float)
    if A.ndim != 2 or A.shape[1] != n or b.shape != A.shape[:1]:
        raise InvalidArgument(
            f"`{name}` and `{side_name}` must have shapes (m, {n}) and (m,), got {A.shape} and {b.shape}"
        )
    if not (np.isfinite(A.data if is_sparse else A).all() and np.isfinite(b).all()):
        raise InvalidArgument(f"`{name}` and `{side_name}` must be finite")
    used = np.diff(A.indptr) > 0 if is_sparse else A.any(axis=1)
    false = ~used & ((b != 0) if equations else (b < 0))
    if false.any():
        i = int(np.flatnonzero(false)[0])
        sign = "=" if equations else "<="
        raise InvalidArgument(
            f"`{name}` and `{side_name}` must leave some point, and row {i} is 0 {sign} {b[i]:g}: it has no entry but 0"
        )
    return A[used], b[used]
