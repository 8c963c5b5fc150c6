"""The linear rows of a conic problem as a domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.domains import Box, FreeSpace
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument

TIGHTENED = 200  # most variables whose extent is found, by two linear programs each


def domain_of_rows(
    A: sparse.csr_array,
    b: Vector,
    equations: NDArray[np.intp],
    inequalities: NDArray[np.intp],
    free: FreeSpace,
    quadratic: bool,
) -> Box | Polyhedron | None:
    """``{x : A x == b on the equations, A x <= b on the inequalities}`` within the radius; `None` if that is empty.

    An inequality of one variable becomes its bound. For a quadratic objective the bounds are brought down to the extent
    of the set: the radius is only a statement, and a proof loses to rounding and tolerances what a wide box leaves. Its
    interior point is near the center then, as a quadratic is large far out.
    """
    lower, upper = free.center - free.radius, free.center + free.radius
    n_entries = np.diff(A.indptr)
    wrong = np.r_[b[equations][n_entries[equations] == 0] != 0, b[inequalities][n_entries[inequalities] == 0] < 0]
    if wrong.any():
        return None
    equations = equations[n_entries[equations] > 0]
    single, several = (inequalities[n_entries[inequalities] == 1], inequalities[n_entries[inequalities] > 1])
    variable, factor = A.indices[A.indptr[single]], A.data[A.indptr[single]]
    side = b[single] / factor
    np.minimum.at(upper, variable[factor > 0], side[factor > 0])
    np.maximum.at(lower, variable[factor < 0], side[factor < 0])
    if not len(equations) + len(several) and (lower < upper).all():
        return Box(lower, upper)
    try:
        return Polyhedron(
            A[several].toarray(),
            b[several],
            equality_matrix=A[equations].toarray(),
            equality_rhs=b[equations],
            lower=lower,
            upper=upper,
            tighten=quadratic and len(lower) <= TIGHTENED,
            center=free.center if quadratic else None,
        )
    except InvalidArgument:
        return None
