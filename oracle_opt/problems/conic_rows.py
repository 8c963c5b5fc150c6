"""Linear and quadratic programs of rows ``l <= A x <= u`` as conic oracles, and the reader of MPS files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidArgument, InvalidData

if TYPE_CHECKING:
    from scipy import sparse

    from oracle_opt.oracles import Cone, ConicOracle

INFINITE = 1e20  # what MPS files and solvers call infinite
MOST = 500  # half-spaces of one answer


def read_mps(path: Path, radius: float = 1e4) -> ConicOracle:
    """Return the linear program of an MPS file, packed by gzip or not, as an oracle."""
    from scipy import sparse

    from oracle_opt.oracles.benders.mps import read_mps as program_of

    try:
        program = program_of(path)
    except InvalidData as problem:
        raise InvalidData(f"no linear program in MPS format: {problem}") from problem
    if program.maximize:
        raise InvalidData(f"{path} is to be maximized; change the signs of its costs and leave OBJSENSE out")
    rows = sparse.vstack([program.matrix, sparse.eye_array(len(program.columns))]).tocsr()
    lower, upper = (
        np.r_[sides] for sides in ((program.row_lower, program.column_lower), (program.row_upper, program.column_upper))
    )
    try:
        return of_rows(program.cost, rows, lower, upper, offset=program.offset + 0.0, radius=radius)  # no -0.0
    except InvalidArgument as problem:
        raise InvalidData(f"{path} is no linear program that can be solved: {problem}") from problem


def of_rows(
    c: Vector,
    rows: sparse.csr_array,
    lower: Vector,
    upper: Vector,
    *,
    offset: float = 0.0,
    P: sparse.csc_array | None = None,
    radius: float = 1e4,
) -> ConicOracle:
    """Return the oracle of ``min 1/2 x @ P @ x + c @ x + offset`` where ``lower <= rows @ x <= upper``."""
    from scipy import sparse

    from oracle_opt.oracles import ConicOracle, Nonnegative, Zero

    equal = lower == upper
    below, above = (lower > -INFINITE) & ~equal, (upper < INFINITE) & ~equal
    cones: list[Cone] = [Zero(int(equal.sum()))] if equal.any() else []
    inequalities = int(below.sum() + above.sum())
    cones += [Nonnegative(inequalities)] if inequalities else []
    A = sparse.vstack([rows[equal], -rows[below], rows[above]])
    b = np.r_[lower[equal], -lower[below], upper[above]]
    domain = FreeSpace(len(c), radius)
    return ConicOracle(c, A, b, cones, domain=domain, P=P, offset=offset, max_half_spaces=MOST)
