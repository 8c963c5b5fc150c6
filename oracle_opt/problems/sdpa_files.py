"""Semidefinite programs: the reader of SDPA's sparse format, and the same program as a largest eigenvalue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import FreeSpace
from oracle_opt.errors import InvalidData

if TYPE_CHECKING:
    from scipy import sparse

    from oracle_opt.oracles import Cone, ConicProblem, MaxEigenvalueOracle


def read_sdpa(path: Path) -> ConicProblem:
    """Return ``min c x`` where ``sum_i x_i F_i - F_0`` is positive semidefinite, from a file in SDPA's sparse format.

    Raises
    ------
    InvalidData
        The file is in no such format.
    """
    try:
        return _parsed(path.read_text(encoding="utf-8").splitlines())
    except (ValueError, IndexError) as problem:
        raise InvalidData(f"{path} is no file in SDPA's sparse format: {problem}") from problem


def _parsed(lines: list[str]) -> ConicProblem:
    from scipy import sparse

    from oracle_opt.oracles import ConicProblem, Nonnegative, PositiveSemidefinite

    lines = [line for line in lines if line.strip() and line[0] not in '"*']
    plain = [line.translate(str.maketrans(",(){}", "     ")).split() for line in lines]
    m = int(plain[0][0])
    sizes = [int(float(size)) for size in plain[2][: int(plain[1][0])]]
    c = np.array(plain[3][:m], dtype=float)
    cones: list[Cone] = [PositiveSemidefinite(size) if size > 0 else Nonnegative(-size) for size in sizes]
    starts = np.cumsum([0, *(cone.dimension for cone in cones)])
    b = np.zeros(starts[-1])
    entries = []
    for fields in plain[4:]:
        k, block, i, j = (int(field) for field in fields[:4])
        i, j = min(i, j) - 1, max(i, j) - 1
        size = sizes[block - 1]
        row = starts[block - 1] + (j * (j + 1) // 2 + i if size > 0 else i)
        value = float(fields[4]) * (np.sqrt(2.0) if i != j else 1.0)
        if k == 0:
            b[row] -= value
        else:
            entries.append((row, k - 1, -value))
    rows, columns, values = zip(*entries, strict=True)
    return ConicProblem(c, sparse.csr_array((values, (rows, columns)), shape=(len(b), m)), b, cones)


def as_largest_eigenvalue(
    program: ConicProblem, radius: float = 1e3, trace: float = 1.0
) -> tuple[MaxEigenvalueOracle, bool]:
    """Return ``min c x + trace * max(0, lambda_max(F_0 - sum_i x_i F_i))``, and whether it needs no promised trace.

    Where ``sum_i y_i F_i = I`` for some y, all solutions Y of the dual have the trace ``c y``, and so has lambda_max
    alone. Elsewhere the trace is a promise, that some Y has no more; a zero on the diagonal makes the maximum.

    All F_i come to norm one by the units of x, and then, where the trace is a promise, each block to the square root of
    its order, that of all F_i together: the promises are in these units.

    Parameters
    ----------
    program : ConicProblem
        Of semidefinite and nonnegative cones, as `read_sdpa` returns it.
    radius : float
        A promise: some minimizer lies so near the origin.
    trace : float
        Plays no role where the trace is known.
    """
    from scipy import sparse

    from oracle_opt.oracles import MaxEigenvalueOracle, PositiveSemidefinite

    c, A, b, cones = program.c, -program.A, program.b, program.cones
    norms = sparse.linalg.norm(A, axis=0)
    A, c = A @ sparse.diags_array(1.0 / norms), c / norms
    units = [
        cone.vector(np.eye(cone.order)) if isinstance(cone, PositiveSemidefinite) else np.ones(cone.dimension)
        for cone in cones
    ]
    unit = np.concatenate(units)
    y, normal = np.zeros(len(c)), (A.T @ A).toarray()  # normal equations: the matrices have many entries
    for _ in range(3):  # refined, as these lose half of the digits
        y += np.linalg.lstsq(normal, A.T @ (unit - A @ y))[0]
    constant = bool(np.linalg.norm(A @ y - unit) <= 1e-9 * np.linalg.norm(unit))
    starts = np.cumsum([cone.dimension for cone in cones])[:-1]
    if not constant:
        size = _sizes_of_rows(A, cones, starts)
        A, b = sparse.diags_array(1.0 / size) @ A, b / size

    places = _places(cones, 0 if constant else 1)
    columns = A.tocsc()
    ends = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    F = [_symmetric(columns.indices[first:last], columns.data[first:last], places) for first, last in ends]
    trace = float(c @ y) if constant else trace
    C = _symmetric(np.flatnonzero(b), -b[b != 0], places)
    return MaxEigenvalueOracle(C, F, c, trace=trace, domain=FreeSpace(len(c), radius)), constant


def _places(cones: tuple[Cone, ...], more: int) -> tuple[int, Matrix]:
    """Order of the block diagonal matrix with so many zeros behind, and for each row of the program its place in it."""
    from oracle_opt.oracles import PositiveSemidefinite

    places, order = [], 0
    for cone in cones:
        if isinstance(cone, PositiveSemidefinite):
            j = np.repeat(np.arange(cone.order), np.arange(1, cone.order + 1))
            i = np.arange(cone.dimension) - j * (j + 1) // 2
            size = cone.order
        else:
            i = j = np.arange(cone.dimension)
            size = cone.dimension
        places.append(order + np.array([i, j]))
        order += size
    return order + more, np.concatenate(places, axis=1)


def _symmetric(rows: NDArray[np.integer], values: Vector, places: tuple[int, Matrix]) -> sparse.csr_array:
    """The matrix of some rows of the program, whose entries off the diagonal are times the square root of two."""
    from scipy import sparse

    order, (i, j) = places[0], places[1][:, rows]
    beside = i != j
    values = np.where(beside, values / np.sqrt(2.0), values)
    entries = np.r_[values, values[beside]], (np.r_[i, j[beside]], np.r_[j, i[beside]])
    return sparse.csr_array(entries, shape=(order, order))


def _sizes_of_rows(A: sparse.csr_array, cones: tuple[Cone, ...], starts: Vector) -> Vector:
    """Square root of the mean, over the order of a block, of all squares in it; of a nonnegative row, its norm."""
    from scipy import sparse

    from oracle_opt.oracles import PositiveSemidefinite

    squares = np.split(sparse.linalg.norm(A, axis=1) ** 2, starts)
    means = [
        np.full(len(square), square.sum() / cone.order) if isinstance(cone, PositiveSemidefinite) else square
        for cone, square in zip(cones, squares, strict=True)
    ]
    size: Vector = np.sqrt(np.concatenate(means))
    size[size == 0] = 1.0
    return size
