"""A Pyomo model as one linear program, with the names of its rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.benders.linopy_program import Groups
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.words import shown

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

# Kinds of components that are data, or that are walked through below; another one may bind variables.
_KNOWN = {
    "Var", "Constraint", "Objective", "Block", "Param", "Set", "RangeSet", "SetOf", "Expression", "Suffix",
    "BuildAction", "BuildCheck", "IndexedComponent",
}  # fmt: skip


def pyomo_program(model: ConcreteModel, relax: bool = False) -> tuple[LinearProgram, Groups]:
    """Columns, rows, bounds and costs of a Pyomo model, under the names that Pyomo gives: ``ship[mill,Bonn]``.

    Fixed variables count as numbers. All constants of a constraint are moved to its right-hand side.
    """
    pyo = require("pyomo.environ", "modeling", "models of Pyomo")
    repn = require("pyomo.repn", "modeling", "models of Pyomo")
    if not isinstance(model, pyo.ConcreteModel):
        hint = "; call its create_instance()" if isinstance(model, pyo.AbstractModel) else ""
        raise InvalidArgument(f"`model` must be a pyomo ConcreteModel, got {shown(model)}{hint}")
    for component in model.component_objects(active=True, descend_into=True):
        if component.ctype.__name__ not in _KNOWN:
            kind = component.ctype.__name__
            raise InvalidArgument(
                f"`model` must hold variables, linear constraints and an objective; {component.name} is a {kind}"
            )
    columns: dict[str, int] = {}
    groups: Groups = {}
    places: dict[int, int] = {}
    bounds: list[tuple[float, float]] = []
    whole: list[bool] = []
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        called = groups.setdefault(variable.parent_component().name, [])
        if variable.fixed:
            continue
        whole.append(not variable.is_continuous())
        if whole[-1] and not relax:
            raise InvalidArgument(
                f"`model` must be continuous, and the variable {variable.name} is whole: pass relax=True"
            )
        places[id(variable)] = columns[variable.name] = len(columns)
        called.append(variable.name)
        lower, upper = variable.bounds
        bounds.append((-np.inf if lower is None else lower, np.inf if upper is None else upper))

    def linear(expression: Any, what: str) -> tuple[list[int], list[float], float]:
        """Places, coefficients and constant of a linear expression."""
        found = repn.generate_standard_repn(expression, compute_values=True)
        if not found.is_linear():
            raise InvalidArgument(f"`model` must be linear, and {what} is not")
        for variable in found.linear_vars:
            if id(variable) not in places:
                raise InvalidArgument(f"`model` must hold all variables that it uses, and {what} uses {variable.name}")
        return (
            [places[id(one)] for one in found.linear_vars],
            list(map(float, found.linear_coefs)),
            float(found.constant),
        )

    rows: dict[str, int] = {}
    sides: list[tuple[float, float]] = []
    entries: tuple[list[int], list[int], list[float]] = [], [], []
    for constraint in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        held, coefficients, constant = linear(constraint.body, f"the constraint {constraint.name}")
        lower, upper = (pyo.value(side) for side in (constraint.lower, constraint.upper))
        sides.append((-np.inf if lower is None else lower - constant, np.inf if upper is None else upper - constant))
        entries[0].extend([len(rows)] * len(held))
        entries[1].extend(held)
        entries[2].extend(coefficients)
        rows[constraint.name] = len(rows)
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(objectives) != 1:
        raise InvalidArgument(f"`model` must have one active objective, and has {len(objectives)}")
    held, coefficients, offset = linear(objectives[0].expr, "the objective")
    cost = np.zeros(len(columns))
    np.add.at(cost, np.array(held, dtype=np.intp), coefficients)
    lower, upper = np.array(bounds, dtype=float).reshape(-1, 2).T
    row_lower, row_upper = np.array(sides, dtype=float).reshape(-1, 2).T + 0.0  # no -0.0
    matrix = sparse.coo_array((entries[2], entries[:2]), shape=(len(rows), len(columns)), dtype=float)
    told = cost, lower, upper, row_lower, row_upper, sparse.csr_array(matrix), offset
    maximize = bool(objectives[0].sense == pyo.maximize)
    return LinearProgram(
        rows, columns, "objective", "", *told, maximize, n_whole=sum(whole), whole=np.array(whole)
    ), groups
