"""The linear rows of a conic problem: which they are, and what a domain takes up of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.domains import Box, FreeSpace
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.row_matrix import RowMatrix, dense_rows, n_entries

HELD = 1000  # the domain takes up at most so many inequalities unasked: it is made of dense matrices
TIGHTENED = 200  # most variables whose extent is found, by two linear programs each


def rows_of(cones: Sequence[Cone], kind: type[Cone]) -> NDArray[np.intp]:
    """Numbers of the rows of cones of a class."""
    sizes = np.array([cone.dimension for cone in cones], dtype=np.intp)
    return np.flatnonzero(np.repeat([isinstance(cone, kind) for cone in cones], sizes))


def held_rows(
    problem: ConicProblem, free: FreeSpace, hold: bool | None, quadratic: bool
) -> tuple[Box | Polyhedron, NDArray[np.intp]] | None:
    """The domain that takes up equations, bounds and perhaps all inequalities, and these; `None` without any.

    Parameters
    ----------
    problem : ConicProblem
    free : FreeSpace
        Where some minimizer is said to lie.
    hold : bool, optional
        `hold_rows` of `ConicOracle`.
    quadratic : bool
        Whether the objective is.
    """
    equations, inequalities = rows_of(problem.cones, Zero), rows_of(problem.cones, Nonnegative)
    if hold is False:
        inequalities = inequalities[:0]
    elif hold is None and not (quadratic and len(inequalities) <= HELD):
        inequalities = inequalities[n_entries(problem.A)[inequalities] == 1]
    if not len(equations) + len(inequalities):
        return None
    domain = domain_of_rows(problem.A, problem.b, equations, inequalities, free, quadratic)
    return None if domain is None else (domain, np.r_[equations, inequalities])


def domain_of_rows(
    A: RowMatrix,
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
    counts = n_entries(A)
    wrong = np.r_[b[equations][counts[equations] == 0] != 0, b[inequalities][counts[inequalities] == 0] < 0]
    if wrong.any():
        return None
    equations = equations[counts[equations] > 0]
    single, several = (inequalities[counts[inequalities] == 1], inequalities[counts[inequalities] > 1])
    bounds = sparse.csr_array(A[single])
    variable, factor = bounds.indices, bounds.data
    side = b[single] / factor
    np.minimum.at(upper, variable[factor > 0], side[factor > 0])
    np.maximum.at(lower, variable[factor < 0], side[factor < 0])
    if not len(equations) + len(several) and (lower < upper).all():
        return Box(lower, upper)
    try:
        return Polyhedron(
            dense_rows(A, several),
            b[several],
            equality_matrix=dense_rows(A, equations),
            equality_rhs=b[equations],
            lower=lower,
            upper=upper,
            tighten=quadratic and len(lower) <= TIGHTENED,
            center=free.center if quadratic else None,
        )
    except InvalidArgument:
        return None
