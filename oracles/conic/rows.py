"""The linear rows of a conic problem: which they are, and what a domain takes up of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.domains import Box, FreeSpace
from oracle_opt.domains.polyhedron import Polyhedron
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.conic.cones import ROUNDING, Cone, Nonnegative, Zero
from oracle_opt.oracles.conic.conic_problem import ConicProblem
from oracle_opt.oracles.conic.row_matrix import RowMatrix, dense_rows, n_entries

HELD = 1000  # the domain takes up at most so many inequalities unasked: its programs are made of dense matrices
LARGE = 10**6  # places of a matrix up to which its rows make dense ones of a domain
ODD = 16  # rows whose largest entry is beyond 2 to this, or below its inverse, are brought to 1
SMALL = 1e-4  # least width of a variable, in units of the largest: else points miss rows by more than 1e-5 of it


def rows_of(cones: Sequence[Cone], kind: type[Cone]) -> NDArray[np.intp]:
    """Numbers of the rows of cones of a class."""
    sizes = np.array([cone.dimension for cone in cones], dtype=np.intp)
    return np.flatnonzero(np.repeat([isinstance(cone, kind) for cone in cones], sizes))


def held_rows(
    problem: ConicProblem, free: FreeSpace, hold: bool | None, quadratic: bool
) -> tuple[Box | Polyhedron, NDArray[np.intp]] | None:
    """The domain that takes up equations, bounds and perhaps all inequalities, and these; `None` without any."""
    equations, inequalities = rows_of(problem.cones, Zero), rows_of(problem.cones, Nonnegative)
    if hold is False:
        inequalities = inequalities[:0]
    elif hold is None:
        single = inequalities[n_entries(problem.A)[inequalities] == 1]
        if not (quadratic and len(inequalities) <= HELD and _of_one_scale(*bounds_of(problem.A, problem.b, single))):
            inequalities = single
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
    """``{x : A x == b on the equations, A x <= b on the inequalities}``; `None` if that is empty.

    Inequalities of one variable become bounds, else the radius is one, as a promise (`promised_bounds`). For a
    quadratic objective, which is large far out, the interior point is near the center.
    """
    counts = n_entries(A)
    missed = np.r_[np.abs(b[equations][counts[equations] == 0]), -b[inequalities][counts[inequalities] == 0]]
    if (missed > ROUNDING * float(np.abs(b).max(initial=0.0))).any():
        return None  # rows without entries that no x satisfies: what looks at rows says so
    equations = equations[counts[equations] > 0]
    single, several = (inequalities[counts[inequalities] == 1], inequalities[counts[inequalities] > 1])
    lower, upper, promised = promised_bounds(*bounds_of(A, b, single), free)
    (G, h), (E, f) = (_near_one(_rows_of(A, these), b[these]) for these in (several, equations))
    if not len(equations) + len(several) and (lower < upper).all():
        return Box(lower, upper, promised=promised)
    try:
        return Polyhedron(
            G,
            h,
            equality_matrix=E,
            equality_rhs=f,
            lower=lower,
            upper=upper,
            center=free.center if quadratic else None,
            promised=promised,
        )
    except InvalidArgument:
        return None


def bounds_of(A: RowMatrix, b: Vector, single: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """Lower and upper bounds by inequalities of one variable each, infinite where there are none."""
    rows = sparse.csr_array(A[single])
    variable, factor = rows.indices, rows.data
    side = b[single] / factor
    lower, upper = np.full(A.shape[1], -np.inf), np.full(A.shape[1], np.inf)
    np.minimum.at(upper, variable[factor > 0], side[factor > 0])
    np.maximum.at(lower, variable[factor < 0], side[factor < 0])
    return lower, upper


def _of_one_scale(lower: Vector, upper: Vector) -> bool:
    """Whether tolerances of 1e-9, relative to the largest variable from 1 on, are small beside every width."""
    width, ends = upper - lower, np.abs([lower, upper])
    size = float(ends[np.isfinite(ends)].max(initial=1.0))
    return bool((width[width > 0] >= SMALL * size).all())


def _rows_of(A: RowMatrix, rows: NDArray[np.intp]) -> RowMatrix:
    """Rows of a matrix, dense unless all of them would make a large matrix."""
    return dense_rows(A, rows) if A.shape[0] * A.shape[1] <= LARGE else A[rows]


def _near_one(rows: Any, sides: Vector) -> tuple[Any, Vector]:
    """The same rows, those whose entries HiGHS takes for zeros, or as too large, times a power of two."""
    is_dense = isinstance(rows, np.ndarray)
    sizes = np.abs(rows if is_dense else rows.data)
    largest = sizes.max(axis=1, initial=0.0) if is_dense else np.maximum.reduceat(np.r_[sizes, 0.0], rows.indptr[:-1])
    exponents = np.where(np.abs(np.log2(largest)) > ODD, -np.rint(np.log2(largest)), 0.0).astype(np.intp)
    sides = np.ldexp(sides, exponents)
    if is_dense:
        return np.ldexp(rows, exponents[:, None]), sides
    scaled = np.ldexp(rows.data, np.repeat(exponents, np.diff(rows.indptr)))
    return sparse.csr_array((scaled, rows.indices, rows.indptr), shape=rows.shape), sides


def promised_bounds(lower: Vector, upper: Vector, free: FreeSpace) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Bounds that are finite, as they are, and the radius in place of infinite ones; which of them are only promised.

    Beside a finite bound the other side is so far from the center, or from that bound where it is the farther one.
    """
    promised = np.isinf([lower, upper])
    least = np.minimum(free.center, np.where(promised[1], np.inf, upper)) - free.radius
    most = np.maximum(free.center, np.where(promised[0], -np.inf, lower)) + free.radius
    return np.where(promised[0], least, lower), np.where(promised[1], most, upper), promised
