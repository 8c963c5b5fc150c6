"""Sections of a second stage: variables and rows that no row joins to others, such as the weeks of a year."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import floats
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.words import shown

if TYPE_CHECKING:
    from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sections:
    """The section of each variable and of each row of a second stage, and the number that a user gave each section.

    Rows without variables are in the first section, and variables of a section without rows in the first that has some.
    """

    of_columns: Indices
    of_rows: Indices
    numbers: Indices

    @classmethod
    def of(cls, problem: TwoStageProblem, given: ArrayLike) -> Sections:
        """Sections as a user numbers the variables."""
        numbers = floats("sections", given, "an array of whole numbers")
        m, k = problem.W.shape
        if numbers.shape != (k,) or not (numbers == np.rint(numbers)).all() or numbers.min(initial=0.0) < 0:
            raise InvalidArgument(f"`sections` must be {k} whole numbers from 0 on, got {shown(numbers)}")
        columns = numbers.astype(np.intp)
        empty = np.setdiff1d(np.arange(columns.max(initial=0) + 1), columns)
        if len(empty):
            raise InvalidArgument(f"`sections` must each have a variable, and number {empty[0]} has none")
        W = sparse.coo_array(problem.W)
        places = [np.array([W.coords[0], W.coords[1]])[:, W.data != 0]]
        places += [block.recourse_entries.T for block in problem.blocks]
        row, column = np.concatenate(places, axis=1)
        least, most = np.full(m, len(columns)), np.zeros(m, dtype=np.intp)
        np.minimum.at(least, row, columns[column])
        np.maximum.at(most, row, columns[column])
        joined = np.flatnonzero((least < most) & (least < len(columns)))
        if len(joined):
            i = int(joined[0])
            raise InvalidArgument(
                f"`sections` must not be joined by a row, and {shown(problem.row_names[i])} has variables of "
                f"{least[i]} and {most[i]}; split it by a first-stage variable, as `from_linopy` does with `blocks`"
            )
        used = np.unique(most) if m else np.arange(columns.max(initial=0) + 1)
        columns = np.where(np.isin(columns, used), columns, used[0])
        return cls(np.searchsorted(used, columns), np.searchsorted(used, most), used)

    def __len__(self) -> int:
        return len(self.numbers)

    def places(self, section: int) -> tuple[Indices, Indices]:
        """Its rows and columns."""
        return np.flatnonzero(self.of_rows == section), np.flatnonzero(self.of_columns == section)

    def problem(self, whole: TwoStageProblem, section: int) -> TwoStageProblem:
        """The program whose second stage is this section alone."""
        rows, columns = self.places(section)
        made = copy(whole)
        made.sections = None
        made.q, made.y_lower, made.y_upper = whole.q[columns], whole.y_lower[columns], whole.y_upper[columns]
        made.T, made.W = whole.T[rows], whole.W[rows][:, columns]
        made.row_lower, made.row_upper = whole.row_lower[rows], whole.row_upper[rows]
        made.row_names = tuple(whole.row_names[i] for i in rows.tolist())
        made.column_names = tuple(whole.column_names[i] for i in columns.tolist())
        made.blocks = tuple(_part(block, rows, columns) for block in whole.blocks)
        return made


def _part(block: RandomBlock, rows: Indices, columns: Indices) -> RandomBlock:
    """The part of a random block in these rows and columns."""

    def kept(places: Indices, numbers: Indices) -> tuple[NDArray[np.bool_], Indices]:
        here = np.isin(places, numbers)
        return here, np.searchsorted(numbers, places[here])

    in_rows, row = kept(block.rows, rows)
    in_costs, column = kept(block.cost_columns, columns)
    in_T, T_row = kept(block.technology_entries[:, 0], rows)
    in_W, W_row = kept(block.recourse_entries[:, 0], rows)
    W_column = np.searchsorted(columns, block.recourse_entries[in_W, 1])
    values = block.rhs, block.cost, block.technology, block.recourse
    rhs, cost, technology, recourse = (np.zeros((0, 0)) if one is None else one for one in values)
    return replace(
        block,
        rows=row,
        rhs=rhs[:, in_rows],
        cost_columns=column,
        cost=cost[:, in_costs],
        technology_entries=np.column_stack([T_row, block.technology_entries[in_T, 1]]),
        technology=technology[:, in_T],
        recourse_entries=np.column_stack([W_row, W_column]),
        recourse=recourse[:, in_W],
    )
