"""A linopy model as one linear program, with the names of its rows and columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.words import shown

if TYPE_CHECKING:
    from linopy import Model

RELAX = "; pass relax=True to take whole variables as any numbers"
SCENARIO = "scenario"  # what PyPSA calls the dimension
Groups = dict[str, list[str]]  # name of a variable of the model, and those of its columns


def linopy_program(model: Model, scenario_dim: str | None = None, relax: bool = False) -> tuple[LinearProgram, Groups]:
    """Columns ``variable[coordinate,...]``, rows, bounds, costs of a linopy model; scenarios are one more dimension."""
    linopy = require("linopy", "modeling", "models of linopy")
    if not isinstance(model, linopy.Model):
        raise InvalidArgument(f"`model` must be a linopy.Model, got {shown(model)}")
    special = [
        name for name, held in (("SOS", model.variables.sos), ("indicator", model.indicator_constraints)) if len(held)
    ]
    n_whole = sum(
        int((variable.labels.values != -1).sum())
        for _, variable in model.variables.items()
        if variable.attrs.get("integer") or variable.attrs.get("binary")
    )
    if (model.type != "LP" and not (relax and n_whole and model.type == "MILP")) or special:
        what = f"{' and '.join(special)} constraints" if special else f"type {model.type}"
        raise InvalidArgument(
            f"`model` must be linear and continuous, of the type LP, and it has {what}{RELAX if n_whole else ''}"
        )
    for name, variable in model.variables.items():
        known = {*variable.labels.dims, *variable.labels.coords}
        if scenario_dim is None and SCENARIO in known and variable.labels[SCENARIO].ndim:
            raise InvalidArgument(
                f"`model` has a dimension {SCENARIO!r}, in the variable {shown(name)}: pass `scenario_dim` and "
                f"`probabilities` to `from_linopy`, or rename the dimension if its entries are no scenarios"
            )
    columns: dict[str, int] = {}
    groups: Groups = {}
    place = np.zeros(0, dtype=np.intp)  # of each label among the columns
    bounds: list[NDArray[np.float64]] = []
    whole = []
    for name, variable in model.variables.items():
        labels, called = _named(name, variable.labels)
        place = _spread(place, labels, len(columns))
        groups[name] = called
        _number(columns, called)
        lower, upper = (_like(variable.labels, side) for side in (variable.lower, variable.upper))
        bounds.append(np.array([lower, upper]))
        whole += [bool(variable.attrs.get("integer") or variable.attrs.get("binary"))] * len(called)
    rows: dict[str, int] = {}
    parts, sides = [], []
    for name, constraint in model.constraints.items():
        labels, called = _named(name, constraint.labels)
        kept = constraint.labels.values.ravel() != -1
        terms = constraint.coeffs.dims[-1]
        shape = (len(kept), constraint.coeffs.sizes[terms])
        coefficients, variables = (
            one.transpose(*constraint.labels.dims, terms).values.reshape(shape)[kept]
            for one in (constraint.coeffs, constraint.vars)
        )
        sign, rhs = (_like(constraint.labels, one) for one in (constraint.sign, constraint.rhs))
        sides.append(_sides(name, sign, rhs + 0.0))  # no -0.0
        row, term = np.nonzero(variables != -1)
        entries = coefficients[row, term], place[variables[row, term]], len(rows) + row
        parts.append(entries)
        _number(rows, called)
    values, columns_at, rows_at = (
        (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else (np.zeros(0),) * 3
    )
    at = (rows_at.astype(np.intp), columns_at.astype(np.intp))
    lower, upper = np.concatenate([np.zeros((2, 0)), *bounds], axis=1)
    row_lower, row_upper = np.concatenate([np.zeros((2, 0)), *sides], axis=1)
    cost = np.zeros(len(columns))
    expression = model.objective.expression
    used = expression.vars.values.ravel() != -1
    np.add.at(cost, place[expression.vars.values.ravel()[used]], expression.coeffs.values.ravel()[used])
    matrix = sparse.csr_array(sparse.coo_array((values, at), shape=(len(rows), len(columns))))
    told = cost, lower, upper, row_lower, row_upper, matrix, float(np.sum(expression.const.values))
    return LinearProgram(
        rows,
        columns,
        "objective",
        "",
        *told,
        bool(model.objective.sense == "max"),
        n_whole=n_whole,
        whole=np.array(whole),
    ), groups


def linopy_scenarios(
    model: Model, dim: str, relax: bool = False
) -> tuple[dict[Hashable, LinearProgram], Groups, set[str]]:
    """Programs of the entries of a dimension, without its coordinate in names, and third the columns without it.

    Costs are those of the model, shares of an expected cost; variables without the dimension are in all.
    """
    program, _ = linopy_program(model, dim, relax)
    parts: list[Any] = [part for each in (model.variables, model.constraints) for _, part in each.items()]
    with_it = [part.labels[dim].to_index() for part in parts if dim in part.labels.dims]
    scenarios = {scenario: k for k, scenario in enumerate(dict.fromkeys(one for index in with_it for one in index))}
    if not scenarios:
        raise InvalidArgument(f"`scenario_dim` must be a dimension of the model, and {shown(dim)} is none")
    columns, groups, of_column = _apart(model.variables, dim, scenarios)
    rows, _, of_row = _apart(model.constraints, dim, scenarios)
    row, column = program.matrix.nonzero()
    owners, at = of_column[column], of_column[column] >= 0
    alone = (of_row < 0)[row] & at
    of_row[row[alone]] = owners[alone]
    for i in row[at & (owners != of_row[row])][:1]:
        raise InvalidArgument(
            f"`model` has a row of two scenarios, {shown(list(program.rows)[i])}, and all rows must be of one"
        )
    result: dict[Hashable, LinearProgram] = {}
    for scenario, k in scenarios.items():
        i, j = (np.flatnonzero((one < 0) | (one == k)) for one in (of_row, of_column))
        result[scenario] = chosen(program, _number({}, rows[i]), i, _number({}, columns[j]), j)
    return result, groups, set(columns[of_column < 0])


def chosen(
    program: LinearProgram, rows: dict[str, int], i: NDArray[np.intp], columns: dict[str, int], j: NDArray[np.intp]
) -> LinearProgram:
    """Rows i and columns j of a program, under other names."""
    return replace(
        program,
        rows=rows,
        columns=columns,
        cost=program.cost[j],
        whole=program.whole[j],
        column_lower=program.column_lower[j],
        column_upper=program.column_upper[j],
        row_lower=program.row_lower[i],
        row_upper=program.row_upper[i],
        matrix=sparse.csr_array(program.matrix[i][:, j]),
    )


def _apart(parts: Any, dim: str, scenarios: dict[Hashable, int]) -> tuple[NDArray[Any], Groups, NDArray[np.intp]]:
    """Names of columns or rows without a dimension's coordinate, as a list and by variable, and the entry of each."""
    groups: Groups = {}
    names, entries = [], [np.zeros(0, dtype=np.intp)]
    for name, part in parts.items():
        labels = part.labels
        _, called = _named(name, labels, dim)
        names.extend(called)
        groups[name] = list(dict.fromkeys(called))
        entry = np.full(labels.shape, -1, dtype=np.intp)
        if dim in labels.dims:
            numbers = np.array([scenarios[one] for one in labels[dim].to_index()])
            entry = numbers[np.indices(labels.shape)[labels.get_axis_num(dim)]]
        entries.append(entry.ravel()[labels.values.ravel() != -1])
    return np.array(names, dtype=object), groups, np.concatenate(entries)


def _number(known: dict[str, int], called: Iterable[str]) -> dict[str, int]:
    """Number further columns or rows."""
    for one in called:
        if one in known:
            raise InvalidArgument(f"`model` must have coordinates of different names, and two are called {shown(one)}")
        known[one] = len(known)
    return known


def _named(name: str, labels: Any, without: str = "") -> tuple[NDArray[np.intp], list[str]]:
    """Labels that are used, in order, and what they are called, without the coordinate of a dimension."""
    used: NDArray[np.intp] = labels.values.ravel()
    keys = product(*([()] * labels.sizes[dim] if dim == without else labels[dim].to_index() for dim in labels.dims))
    called = [_called(name, key) for key, one in zip(keys, used, strict=True) if one != -1]
    return used[used != -1], called


def _called(name: str, key: tuple[Any, ...]) -> str:
    """Name of an entry; coordinates of a MultiIndex stand one after the other, as if it were several dimensions."""
    words = [str(word) for part in key for word in (part if isinstance(part, tuple) else (part,))]
    return f"{name}[{','.join(words)}]" if words else name


def _spread(place: NDArray[np.intp], labels: NDArray[np.intp], first: int) -> NDArray[np.intp]:
    """Places of labels, to which new labels add places from `first` on."""
    if not len(labels):
        return place
    longer = np.full(max(len(place), int(labels.max()) + 1), -1, dtype=np.intp)
    longer[: len(place)] = place
    longer[labels] = first + np.arange(len(labels))
    return longer


def _like(labels: Any, values: Any) -> NDArray[Any]:
    """Values of the labels that are used, in their order."""
    spread = values.broadcast_like(labels).transpose(*labels.dims).values.ravel()
    return np.asarray(spread[labels.values.ravel() != -1])


def _sides(name: str, sign: NDArray[Any], rhs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower and upper sides."""
    lower, upper = np.where(sign == "<=", -np.inf, rhs), np.where(sign == ">=", np.inf, rhs)
    if not ((lower < np.inf) & (upper > -np.inf)).all():
        raise InvalidArgument(
            f"`model` must have right-hand sides that can hold, and the constraint {shown(name)} has another"
        )
    return np.array([lower, upper])
