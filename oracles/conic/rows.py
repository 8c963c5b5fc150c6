"""The linear rows of a conic problem as a polyhedral domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.cuts import Vector
from oracle_opt.domain import FreeSpace
from oracle_opt.errors import InvalidArgument
from oracle_opt.polyhedron import Polyhedron

TIGHTENED = 200  # most variables whose extent is found, by two linear programs each


def polyhedron_of_rows(
    A: sparse.csr_array, b: Vector, equations: NDArray[np.intp], inequalities: NDArray[np.intp], free: FreeSpace
) -> Polyhedron | None:
    """``{x : A x + b == 0 on the equations, >= 0 on the inequalities}`` within the radius; `None` if that is empty.

    An inequality of one variable becomes its bound. Where there are inequalities, the bounds are brought down to the
    extent of the set: the radius is but a statement, and a proof loses to it what a wide box leaves.
    """
    lower, upper = free.center - free.radius, free.center + free.radius
    n_entries = np.diff(A.indptr)
    if (b[equations][n_entries[equations] == 0] != 0).any() or (
        b[inequalities][n_entries[inequalities] == 0] < 0
    ).any():
        return None
    single = inequalities[n_entries[inequalities] == 1]
    several = inequalities[n_entries[inequalities] > 1]
    equations = equations[n_entries[equations] > 0]
    variable, factor = A.indices[A.indptr[single]], A.data[A.indptr[single]]
    side = -b[single] / factor
    np.maximum.at(lower, variable[factor > 0], side[factor > 0])
    np.minimum.at(upper, variable[factor < 0], side[factor < 0])
    try:
        return Polyhedron(
            -A[several].toarray() if len(several) else None,
            b[several] if len(several) else None,
            equality_matrix=A[equations].toarray() if len(equations) else None,
            equality_rhs=-b[equations] if len(equations) else None,
            lower=lower,
            upper=upper,
            tighten=bool(len(inequalities)) and len(lower) <= TIGHTENED,
        )
    except InvalidArgument:
        return None
