"""Scenarios in a pandas DataFrame: a row a scenario, a column an entry of the second stage that varies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.words import shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PROBABILITY = "probability"
WIDTHS = {"rhs": 1, "cost": 1, "technology": 2, "recourse": 2}  # names behind each kind of entry
_ADD_UP = 1e-6  # how far the sum of probabilities may be from 1
Place = tuple[str, tuple[int, ...]]  # kind of an entry and where it is


class NamedProgram(Protocol):
    """The frame of a table: a `TwoStageProblem`, of which only names, sense and right-hand sides count."""

    names: tuple[str, ...]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    first_row_names: tuple[str, ...]
    maximize: bool

    @property
    def rhs(self) -> Vector:
        """Right-hand sides of the second-stage rows, infinite where a row has none."""


def blocks_of(problem: NamedProgram, tables: Sequence[DataFrame]) -> tuple[RandomBlock, ...]:
    """Random blocks of a problem, one a table."""
    blocks: list[RandomBlock] = []
    owner: dict[Place, int] = {}
    for number, table in enumerate(tables):
        argument = "scenarios" if len(tables) == 1 else f"scenarios[{number}]"
        reader = _Table(problem, table, argument)
        for place, column in reader.places.items():
            if owner.setdefault(place, number) != number:
                raise InvalidArgument(f"`{argument}` has {shown(column)}, which varies in another table, too")
        blocks.append(reader.block("scenarios" if len(tables) == 1 else f"table {number}"))
    return tuple(blocks)


def unknown(argument: str, what: str, name: object, known: Sequence[str]) -> InvalidArgument:
    """Return the error of a name that nothing has, with those that are near."""
    near = get_close_matches(str(name), known, n=3, cutoff=0.5)
    listed = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {listed or 'none'}"
    return InvalidArgument(f"`{argument}` names the {what} {shown(name)}, which is not there: {hint}")


class _Table:
    """A table of scenarios that was checked: `places` are its entries, with the columns they come from."""

    def __init__(self, problem: NamedProgram, table: DataFrame, argument: str) -> None:
        pandas = require("pandas", "study", "tables of scenarios")
        if not isinstance(table, pandas.DataFrame):
            raise InvalidArgument(f"`{argument}` must be a pandas DataFrame, a row a scenario, got {shown(table)}")
        self._problem, self._table, self._argument, self._pandas = problem, table, argument, pandas
        self._names = {
            names: {name: place for place, name in enumerate(names)}
            for names in (problem.names, problem.row_names, problem.column_names)
        }
        if not len(table):
            raise InvalidArgument(f"`{argument}` must have at least one row, a row a scenario, got none")
        self.places: dict[Place, Hashable] = {}
        self._values: dict[Place, Vector] = {}
        self._probabilities = np.full(len(table), 1.0 / len(table))
        with_probabilities = False
        for k, column in enumerate(table.columns):
            words = _words(column)
            if words == (PROBABILITY,):
                if with_probabilities:
                    raise InvalidArgument(f"`{argument}` has two columns of probabilities; keep one")
                with_probabilities = True
                self._probabilities = self._checked_probabilities(self._numbers(table.iloc[:, k], column))
                continue
            place = self._place(words, column)
            if place in self.places:
                raise InvalidArgument(
                    f"`{argument}` has two columns for one entry, {shown(self.places[place])} and {shown(column)}"
                )
            self.places[place] = column
            sign = -1.0 if problem.maximize and place[0] == "cost" else 1.0
            self._values[place] = sign * self._numbers(table.iloc[:, k], column)
        if not self.places:
            raise InvalidArgument(
                f"`{argument}` must have a column for each entry that varies, such as one named as a row "
                f"for the right-hand side of that row, got the columns {shown(list(table.columns))}"
            )

    def block(self, name: str) -> RandomBlock:
        """The entries as a random block."""
        arrays: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for kind, width in WIDTHS.items():
            found = [place for place in self.places if place[0] == kind]
            where = np.array([place[1] for place in found], dtype=np.intp).reshape(len(found), width)
            values = [self._values[place] for place in found]
            arrays[kind] = where, np.array(values).reshape(len(found), len(self._table)).T
        index = self._table.index
        plain = index.equals(self._pandas.RangeIndex(len(index)))
        return RandomBlock(
            self._probabilities,
            arrays["rhs"][0][:, 0],
            arrays["rhs"][1],
            arrays["cost"][0][:, 0],
            arrays["cost"][1],
            *arrays["technology"],
            *arrays["recourse"],
            name,
            () if plain else tuple(index),
        )

    def _place(self, words: tuple[Hashable, ...], column: Hashable) -> Place:
        """Kind and place of the entry that a column stands for."""
        problem, argument = self._problem, self._argument
        if len(words) == 1 and words[0] not in WIDTHS:
            words = ("rhs", *words)
        kind, *names = words
        if kind not in WIDTHS or len(names) != WIDTHS[str(kind)]:
            raise InvalidArgument(
                f"`{argument}` has the column {shown(column)}; a column is {PROBABILITY!r}, the name of a row, "
                "('rhs', row), ('cost', column), ('technology', row, column) or ('recourse', row, column)"
            )
        if kind == "cost":
            return "cost", (self._known("second-stage column", names[0], problem.column_names),)
        row = self._known("second-stage row", names[0], problem.row_names)
        if kind == "rhs":
            if np.isinf(problem.rhs[row]):
                raise InvalidArgument(f"`{argument}` varies the row {shown(names[0])}, which has neither side")
            return "rhs", (row,)
        if kind == "technology":
            return "technology", (row, self._known("first-stage column", names[1], problem.names))
        return "recourse", (row, self._known("second-stage column", names[1], problem.column_names))

    def _known(self, what: str, name: Hashable, names: tuple[str, ...]) -> int:
        """Place of a name, or of a number."""
        if isinstance(name, str):
            if name in self._names[names]:
                if len(self._names[names]) < len(names) and names.count(name) > 1:
                    raise InvalidArgument(
                        f"`{self._argument}` names the {what} {shown(name)}, a name that {names.count(name)} have"
                    )
                return self._names[names][name]
        elif isinstance(name, Integral) and not isinstance(name, bool) and 0 <= name < len(names):
            return int(name)
        problem, hint = self._problem, ""
        if name in self._names[problem.column_names] and what != "second-stage column":
            hint = f"; it is a variable of the second stage, its cost is the column ('cost', {name!r})"
        elif name in self._names[problem.names] and what != "first-stage column":
            hint = "; it is a variable of the first stage"
        elif name in problem.first_row_names and what == "second-stage row":
            hint = "; it is a row of the first stage, without second-stage variables"
        error = unknown(self._argument, what, name, names)
        raise InvalidArgument(f"{error}{hint}") if hint else error

    def _numbers(self, series: Series, column: Hashable) -> Vector:
        """Entries of a column as floats."""
        if series.dtype.kind in "iuf" and isinstance(series.dtype, np.dtype):
            values: Vector = series.to_numpy(dtype=float)
        else:
            values = np.array([self._number(one, i, column) for i, one in enumerate(series)], dtype=float)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise self._wrong(int(wrong[0]), column, f"is {values[wrong[0]]}, and must be a finite number")
        return values

    def _number(self, value: Any, i: int, column: Hashable) -> float:
        if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
            return float(value)
        if value is None or value is self._pandas.NA or value is self._pandas.NaT:
            return np.nan
        raise self._wrong(i, column, f"is {shown(value)}, and must be a number")

    def _checked_probabilities(self, values: Vector) -> Vector:
        low = np.flatnonzero(values <= 0)
        if len(low):
            advice = "drop scenarios that cannot happen" if values[low[0]] == 0 else "probabilities are positive"
            raise self._wrong(int(low[0]), PROBABILITY, f"is {values[low[0]]:g}: {advice}")
        total = float(values.sum())
        if abs(total - 1.0) > _ADD_UP:
            raise InvalidArgument(
                f"`{self._argument}` has probabilities that add up to {total:.9g} instead of 1; "
                "to weigh its rows by them, divide that column by its sum"
            )
        return values

    def _wrong(self, i: int, column: Hashable, reason: str) -> InvalidArgument:
        row = shown(self._table.index[i])
        return InvalidArgument(f"`{self._argument}`: the entry of row {row}, column {shown(column)} {reason}")


def _words(column: Hashable) -> tuple[Hashable, ...]:
    """A column's name as a tuple, without what a MultiIndex fills it with."""
    words = column if isinstance(column, tuple) else (column,)
    while len(words) > 1 and (words[-1] is None or words[-1] == "" or words[-1] != words[-1]):
        words = words[:-1]
    return words
