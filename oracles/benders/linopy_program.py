"""A linopy model as one linear program, with the names of its rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
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

Groups = dict[str, list[str]]  # name of a variable of the model, and those of its columns


def linopy_program(model: Model) -> tuple[LinearProgram, Groups]:
    """Columns, rows, bounds and costs of a linopy model.

    A column is called ``variable[coordinate,...]``, and a row likewise.
    """
    linopy = require("linopy", "modeling", "models of linopy")
    if not isinstance(model, linopy.Model):
        raise InvalidArgument(f"`model` must be a linopy.Model, got {shown(model)}")
    special = [
        name for name, held in (("SOS", model.variables.sos), ("indicator", model.indicator_constraints)) if len(held)
    ]
    if model.type != "LP" or special:
        what = f"{' and '.join(special)} constraints" if special else f"type {model.type}"
        raise InvalidArgument(f"`model` must be linear and continuous, of the type LP, and it has {what}")
    columns: dict[str, int] = {}
    groups: Groups = {}
    place = np.zeros(0, dtype=np.intp)  # of each label among the columns
    bounds: list[NDArray[np.float64]] = []
    for name, variable in model.variables.items():
        labels, called = _named(name, variable.labels)
        place = _spread(place, labels, len(columns))
        groups[name] = called
        columns |= {one: len(columns) + i for i, one in enumerate(called)}
        lower, upper = (_like(variable.labels, side) for side in (variable.lower, variable.upper))
        bounds.append(np.array([lower, upper]))
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
        rows |= {one: len(rows) + i for i, one in enumerate(called)}
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
    return LinearProgram(
        rows,
        columns,
        "objective",
        "",
        cost,
        lower,
        upper,
        row_lower,
        row_upper,
        sparse.csr_array(sparse.coo_array((values, at), shape=(len(rows), len(columns)))),
        float(np.sum(expression.const.values)),
        bool(model.objective.sense == "max"),
    ), groups


def _named(name: str, labels: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Labels that are used, in order, and what they are called."""
    used: NDArray[np.intp] = labels.values.ravel()
    if not labels.dims:
        return used[used != -1], [name] * int((used != -1).sum())
    called = [f"{name}[{','.join(map(str, key))}]" for key, one in zip(_keys(labels), used, strict=True) if one != -1]
    return used[used != -1], called


def _keys(labels: Any) -> Iterator[tuple[Any, ...]]:
    """Coordinates of all entries; those of a MultiIndex one after the other, as if it were several dimensions."""
    for key in product(*(labels[dim].to_index() for dim in labels.dims)):
        yield tuple(word for part in key for word in (part if isinstance(part, tuple) else (part,)))


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
    if not np.isfinite(rhs).all():
        raise InvalidArgument(
            f"`model` must have finite right-hand sides, and the constraint {shown(name)} has another"
        )
    return np.array([np.where(sign == "<=", -np.inf, rhs), np.where(sign == ">=", np.inf, rhs)])
