"""One linear program cut into blocks, such as weeks, that meet in first-stage variables alone.

A row that joins blocks is split by budgets: with ``A_j @ y_j`` the part of block j, ``A_j @ y_j <= beta_j`` is a row
of block j, and the row itself, in the budgets beta_j, one of the first stage. An equation of two blocks alone needs one
budget, the level of a store at their border: ``A_1 @ y_1 == beta`` and ``A_2 @ y_2 == rhs - beta``. Nothing is lost:
the least cost over the budgets is that of the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.oracles.benders.proof import multiplier_bounds
from oracle_opt.words import shown

if TYPE_CHECKING:
    from linopy import Model

Indices = NDArray[np.intp]
_FIRST, _UNTOLD = -1, -2  # of columns: in the first stage, and not told


def blocks_along(model: Model, first: Indices, dimension: str, size: int) -> Indices:
    """The block of each column of a linopy model: so many successive coordinates of the dimension are one."""
    size = whole("size", size)
    found = []
    for _, variable in model.variables.items():
        labels = variable.labels
        used = labels.values.ravel() != -1
        if dimension in labels.dims:
            place = np.arange(labels.sizes[dimension]) // size
            shape = [-1 if dim == dimension else 1 for dim in labels.dims]
            found.append(np.broadcast_to(place.reshape(shape), labels.shape).ravel()[used])
        else:
            found.append(np.full(int(used.sum()), _UNTOLD))
    of = np.concatenate(found).astype(np.intp)
    of[first] = _FIRST
    if of.max(initial=_UNTOLD) < 0:
        raise InvalidArgument(
            f"`blocks` must be a dimension of second-stage variables, got {shown(dimension)}, and none has it"
        )
    return of


def in_blocks(program: LinearProgram, of: Indices) -> tuple[LinearProgram, Indices]:
    """The program with budgets in place of rows that join blocks, and the block of each column, -1 for the first stage.

    A column in no block by itself is in the only one that its rows touch, else in the first stage.
    """
    A = sparse.csr_array(program.matrix, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    of = _with_untold(of, row, A.indices, A.shape[0])
    least, most = _extremes(of[A.indices], row, A.shape[0])
    joined = np.flatnonzero(least < most)
    lower, upper = _bounds_implied(program, A)
    names, rows, ends = list(program.rows), list[_Row](), list[tuple[str, float, float]]()
    for r in joined.tolist():
        name, sides = names[r], (float(program.row_lower[r]), float(program.row_upper[r]))
        at, value = (one[A.indptr[r] : A.indptr[r + 1]] for one in (A.indices, A.data))
        block, rises, count = of[at], value > 0, len(of) + len(ends)
        each = np.unique(block[block >= 0]).tolist()
        low, high = np.where(rises, lower[at], upper[at]) * value, np.where(rises, upper[at], lower[at]) * value
        reach = [(float(low[block == k].sum()), float(high[block == k].sum())) for k in each]
        if len(each) == 2 and (block >= 0).all() and sides[0] == sides[1]:
            (l1, u1), (l2, u2) = reach
            ends.append((f"{name} after block {each[0]}", max(l1, sides[0] - u2), min(u1, sides[0] - l2)))
            budgets = [(each[0], count, -1.0, (0.0, 0.0)), (each[1], count, 1.0, sides)]
        else:
            met = -np.inf if np.isinf(sides[0]) else 0.0, np.inf if np.isinf(sides[1]) else 0.0
            budgets = [(k, count + i, -1.0, met) for i, k in enumerate(each)]
            ends += [(f"{name} of block {k}", *end) for k, end in zip(each, reach, strict=True)]
            own = block < 0
            new = np.arange(count, count + len(each))
            rows.append(_Row(name, np.r_[at[own], new], np.r_[value[own], np.ones(len(each))], *sides))
        for k, budget, factor, (least_side, most_side) in budgets:
            mine = block == k
            part = np.r_[at[mine], budget], np.r_[value[mine], factor]
            rows.append(_Row(f"{name} in block {k}", *part, least_side, most_side))
    kept = np.setdiff1d(np.arange(A.shape[0]), joined)
    budgets_of = np.full(len(ends), _FIRST)
    return _assembled(program, A[kept], kept, rows, ends), np.r_[of, budgets_of]


@dataclass(frozen=True, eq=False)
class _Row:
    """A row that is new: its entries and sides."""

    name: str
    places: Indices
    values: Vector
    lower: float
    upper: float


def _assembled(
    program: LinearProgram, A: sparse.csr_array, kept: Indices, rows: list[_Row], ends: list[tuple[str, float, float]]
) -> LinearProgram:
    """The rows that are kept, the new ones, and the budgets as further columns with these ends."""
    n, called = A.shape[1] + len(ends), list(program.rows)
    counts = [len(row.places) for row in rows]
    entries = np.concatenate([np.zeros(0), *(row.values for row in rows)])
    places = np.concatenate([np.zeros(0, dtype=np.intp), *(row.places for row in rows)])
    new = sparse.csr_array((entries, places, np.cumsum([0, *counts])), shape=(len(rows), n))
    old = sparse.hstack([A, sparse.csr_array((A.shape[0], len(ends)))])
    names = [*(called[i] for i in kept.tolist()), *(row.name for row in rows)]
    low, high = (np.array([end[i] for end in ends]) for i in (1, 2))
    return replace(
        program,
        rows={name: i for i, name in enumerate(names)},
        columns={**program.columns, **{name: A.shape[1] + i for i, (name, *_) in enumerate(ends)}},
        cost=np.r_[program.cost, np.zeros(len(ends))],
        column_lower=np.r_[program.column_lower, low],
        column_upper=np.r_[program.column_upper, high],
        row_lower=np.r_[program.row_lower[kept], [row.lower for row in rows]],
        row_upper=np.r_[program.row_upper[kept], [row.upper for row in rows]],
        matrix=sparse.csr_array(sparse.vstack([old, new])),
    )


def _with_untold(of: Indices, row: Indices, column: Indices, rows: int) -> Indices:
    """Blocks of the columns, those that are not told found by their rows."""
    least, most = _extremes(of[column], row, rows)
    told = np.flatnonzero(most[row] >= 0)
    first, last = np.full(len(of), len(row)), np.full(len(of), _FIRST)
    np.minimum.at(first, column[told], least[row[told]])
    np.maximum.at(last, column[told], most[row[told]])
    return np.where(of != _UNTOLD, of, np.where(first == last, first, _FIRST))


def _extremes(block: Indices, row: Indices, rows: int) -> tuple[Indices, Indices]:
    """The first and the last block of each row, where it has some."""
    least, most, some = np.full(rows, len(row)), np.full(rows, _FIRST), block >= 0
    np.minimum.at(least, row[some], block[some])
    np.maximum.at(most, row[some], block[some])
    return np.minimum(least, most), most


def _bounds_implied(program: LinearProgram, A: sparse.csr_array) -> tuple[Vector, Vector]:
    """Bounds of the columns that the rows imply, within those given."""
    no_lower, no_upper = np.isinf(program.row_lower), np.isinf(program.row_upper)
    free = np.where(no_lower, 0.0, -np.inf), np.where(no_upper, 0.0, np.inf)
    given = program.column_lower, program.column_upper
    return multiplier_bounds(sparse.csr_array(A.T), *free, program.row_lower, program.row_upper, given)
