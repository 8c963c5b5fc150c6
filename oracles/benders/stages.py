"""One linear program in two stages: which columns are decided first, and which rows hold them alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arguments import instances
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.oracles.benders.scenario_frame import unknown
from oracle_opt.words import shown


@dataclass(frozen=True, eq=False)
class Stages:
    """Places of the columns and rows of either stage."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    first_rows: NDArray[np.intp]
    second_rows: NDArray[np.intp]


def stages(program: LinearProgram, groups: Mapping[str, Sequence[str]], first_stage: Sequence[str]) -> Stages:
    """Sort columns and rows into stages."""
    named = instances("first_stage", first_stage, str, "the name of a variable")
    is_first = np.zeros(len(program.columns), dtype=bool)
    for name in named:
        if name not in groups and name not in program.columns:
            single = [column for column in program.columns if column not in groups]
            raise unknown("first_stage", "variable", name, [*groups, *single])
        is_first[[program.columns[one] for one in groups.get(name, (name,))]] = True
    return staged(program, is_first)


def staged(program: LinearProgram, is_first: NDArray[np.bool_]) -> Stages:
    """Sort rows into stages as the columns are."""
    for what, there in (("first", is_first.any()), ("second", not is_first.all())):
        if not there:
            raise InvalidArgument(f"`first_stage` must leave each stage a variable, and the {what} stage has none")
    matrix = sparse.csr_array(program.matrix != 0)
    held = np.diff(matrix.indptr) > 0
    later = matrix @ ~is_first > 0
    wrong = np.flatnonzero(~held & ((program.row_lower > 0) | (program.row_upper < 0)))
    if len(wrong):
        row = list(program.rows)[wrong[0]]
        raise InvalidArgument(f"`model` has a constraint without variables that does not hold, {shown(row)}")
    if not later.any():
        raise InvalidArgument(
            "`first_stage` must leave a constraint to the second stage, and holds all their variables"
        )
    return Stages(*(np.flatnonzero(one) for one in (is_first, ~is_first, held & ~later, later)))
