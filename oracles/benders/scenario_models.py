"""Two-stage programs from a linear program for each scenario: what they share, and the entries in which they differ."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arguments import floats, instances
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.benders.linopy_program import Groups, chosen, linopy_program, linopy_scenarios
from oracle_opt.oracles.benders.mps import LinearProgram
from oracle_opt.oracles.benders.pyomo_program import pyomo_program
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.words import shown

if TYPE_CHECKING:
    from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

_ULP = float(np.finfo(float).eps)
Programs = dict[Hashable, LinearProgram]  # by the name of the scenario


def programs_of_models(models: Any, probabilities: Any, relax: bool) -> tuple[Programs, Groups, Vector]:
    """Linear programs of models, one a scenario, the groups of their variables, and the probabilities."""
    if not isinstance(models, Iterable) or isinstance(models, str):
        raise InvalidArgument(
            f"`models` must be a sequence of models or a mapping of names to them, got {shown(models)}"
        )
    named: dict[Hashable, Any] = dict(models) if isinstance(models, Mapping) else dict(enumerate(models))
    if not named:
        raise InvalidArgument("`models` must hold at least one model, one a scenario, got none")
    programs: Programs = {}
    groups: Groups = {}
    for scenario, model in named.items():
        packages = {base.__module__.split(".")[0] for base in type(model).__mro__}
        if not packages & {"linopy", "pyomo"}:
            raise InvalidArgument(f"`models` must be models of linopy or Pyomo, and {scenario!r} is {shown(model)}")
        try:
            read = linopy_program if "linopy" in packages else pyomo_program
            programs[scenario], found = read(model, relax=relax)
        except InvalidArgument as refusal:
            raise InvalidArgument(f"`models` has the scenario {scenario!r}: {refusal}") from refusal
        groups = groups or found
    if probabilities is None:  # mpi-sppy leaves them in its models, or "uniform"
        attached = [getattr(model, "_mpisppy_probability", "uniform") for model in named.values()]
        if any(one not in (None, "uniform") for one in attached):
            probabilities = attached
    return programs, groups, scenario_probabilities(tuple(named), probabilities)


def programs_of_dimension(
    model: Any, dim: str, first_stage: Sequence[str], probabilities: Any, relax: bool
) -> tuple[Programs, Groups, Vector]:
    """Linear programs of a linopy model that holds all scenarios, along a dimension, and the same as above."""
    programs, groups, shared = linopy_scenarios(model, dim, relax)
    if probabilities is None:
        raise InvalidArgument(f"`probabilities` must be those of the scenarios, {shown(list(programs))}, got None")
    chances = scenario_probabilities(tuple(programs), probabilities)
    named = instances("first_stage", first_stage, str, "the name of a variable")
    decided = {column for name in named for column in groups.get(name, (name,))}
    for chance, program in zip(chances, programs.values(), strict=True):
        for column in program.columns:
            if (column in decided) != (column in shared):
                raise InvalidArgument(
                    f"`first_stage` must name the variables without the dimension {dim!r} and no others, got "
                    f"{shown(first_stage)}, and {shown(column)} {'lacks' if column in shared else 'has'} the dimension"
                )
        program.cost[[column not in shared for column in program.columns]] /= chance
    return programs, groups, chances


def scenario_probabilities(scenarios: Sequence[Hashable], given: Any) -> Vector:
    """Probabilities in the order of the scenarios, from a sequence or by name; equal ones without any."""
    if given is None:
        return np.full(len(scenarios), 1.0 / len(scenarios))
    if hasattr(given, "keys"):  # a mapping, or a pandas Series
        if set(given.keys()) != set(scenarios):
            raise InvalidArgument(
                f"`probabilities` must name the scenarios {shown(list(scenarios))}, got {shown(list(given.keys()))}"
            )
        given = [given[scenario] for scenario in scenarios]
    values = floats("probabilities", given)
    if values.shape != (len(scenarios),) or not (values > 0).all() or abs(values.sum() - 1.0) > 1e-6:
        raise InvalidArgument(
            f"`probabilities` must be {len(scenarios)} positive numbers that add up to 1, one a scenario, "
            f"got {shown(values)}; leave out scenarios that cannot happen"
        )
    return values


def aligned(programs: Programs, argument: str) -> Programs:
    """The same programs, all with rows and columns in the order of the first one."""
    first, nominal = next(iter(programs.items()))
    result: Programs = {}
    for scenario, program in programs.items():
        if program.maximize != nominal.maximize:
            raise InvalidArgument(
                f"`{argument}` must minimize in all scenarios or maximize in all, and {first!r} and {scenario!r} differ"
            )
        for what, mine, known in (("variable", program.columns, nominal.columns), ("row", program.rows, nominal.rows)):
            if odd := sorted(mine.keys() ^ known.keys()):
                with_it, without = (scenario, first) if odd[0] in mine else (first, scenario)
                raise InvalidArgument(
                    f"`{argument}` must have the same {what}s in all scenarios, and {shown(odd[0])} is in {with_it!r} "
                    f"and not in {without!r}"
                )
        i = np.array([program.rows[name] for name in nominal.rows], dtype=np.intp)
        j = np.array([program.columns[name] for name in nominal.columns], dtype=np.intp)
        result[scenario] = chosen(program, nominal.rows, i, nominal.columns, j)
    return result


def with_bounds_as_rows(programs: Programs, first_stage: Container[str]) -> Programs:
    """The same programs with bounds that differ by scenario as rows, beside the widest of them as bounds."""
    each = list(programs.values())
    new: list[tuple[str, int, str]] = []  # the name of a row, its column, and the side
    for side in ("lower", "upper"):
        bounds = np.array([getattr(one, f"column_{side}") for one in each])
        for name, j in each[0].columns.items():
            if name not in first_stage and (bounds[:, j] != bounds[0, j]).any():
                new.append((f"{name}-{side}", j, side))
    if not new:
        return programs
    columns, upper = np.array([j for _, j, _ in new]), np.array([side == "upper" for _, _, side in new])
    rows = each[0].rows | {name: len(each[0].rows) + i for i, (name, _, _) in enumerate(new)}
    unit = sparse.csr_array((np.ones(len(new)), (np.arange(len(new)), columns)), shape=(len(new), len(each[0].columns)))
    lower, higher = (np.array([getattr(one, f"column_{side}") for one in each]) for side in ("lower", "upper"))
    return {
        scenario: replace(
            one,
            rows=rows,
            matrix=sparse.csr_array(sparse.vstack([one.matrix, unit])),
            row_lower=np.concatenate([one.row_lower, np.where(upper, -np.inf, one.column_lower[columns])]),
            row_upper=np.concatenate([one.row_upper, np.where(upper, one.column_upper[columns], np.inf)]),
            column_lower=_widest(one.column_lower, lower.min(axis=0), columns[~upper]),
            column_upper=_widest(one.column_upper, higher.max(axis=0), columns[upper]),
        )
        for scenario, one in programs.items()
    }


def _widest(bounds: Vector, of_all: Vector, columns: NDArray[np.intp]) -> Vector:
    """Bounds with those of some columns as wide as in any scenario."""
    wide = bounds.copy()
    wide[columns] = of_all[columns]
    return wide


def superposed(programs: Programs) -> LinearProgram:
    """Return a program that has an entry wherever one of them has, and the sides that hold in all of them."""
    each = list(programs.values())
    return replace(
        each[0],
        matrix=sparse.csr_array(reduce(lambda sum_, one: sum_ + abs(one.matrix), each[1:], abs(each[0].matrix))),
        row_lower=np.array([one.row_lower for one in each]).max(axis=0),
        row_upper=np.array([one.row_upper for one in each]).min(axis=0),
    )


def differing(
    problems: dict[Hashable, TwoStageProblem], probabilities: Vector, labels: Sequence[Hashable], argument: str
) -> RandomBlock:
    """The entries in which problems differ, as a random block; refuses what the second stage cannot vary."""
    (first, nominal), *_ = problems.items()
    sign = -1.0 if nominal.maximize else 1.0
    for scenario, other in problems.items():

        def refuse(what: str, here: float, there: float, scenario: Hashable = scenario) -> None:
            raise InvalidArgument(
                f"`{argument}` must differ in right-hand sides, costs of the second stage and entries of its rows "
                f"alone, and {what} is {here:.17g} in {first!r} and {there:.17g} in {scenario!r}"
            )

        for what, names, mine, theirs in (
            ("the cost of the first-stage variable", nominal.names, sign * nominal.c, sign * other.c),
            *(
                (f"the {side} {what}", names, getattr(nominal, f"{of}_{side}"), getattr(other, f"{of}_{side}"))
                for what, names, of in (
                    ("bound of the variable", nominal.names, "x"),
                    ("bound of the variable", nominal.column_names, "y"),
                    ("side of the first-stage row", nominal.first_row_names, "first"),
                )
                for side in ("lower", "upper")
            ),
        ):
            for j in np.flatnonzero(mine != theirs)[:1]:
                refuse(f"{what} {shown(names[j])}", mine[j], theirs[j])
        places, (mine, theirs) = _entries([nominal.A, other.A])
        for (i, j), here, there in zip(places[:1], mine, theirs, strict=False):
            row, column = nominal.first_row_names[i], nominal.names[j]
            refuse(f"the entry of the first-stage row {shown(row)} and {shown(column)}", here, there)
        sides = np.array([[one.row_lower, one.row_upper] for one in (nominal, other)])
        for end, side in enumerate(("lower", "upper")):
            for i in np.flatnonzero(np.isinf(sides[0, end]) != np.isinf(sides[1, end]))[:1]:
                refuse(f"the {side} side of the row {shown(nominal.row_names[i])}", *sides[:, end, i])
        both = np.flatnonzero(np.isfinite(sides).all(axis=(0, 1)))
        width = np.diff(sides[:, :, both], axis=1)[:, 0]
        size = np.abs(sides[:, :, both]).max(axis=(0, 1), initial=0.0)
        for i in np.flatnonzero(np.abs(width[1] - width[0]) > 4 * _ULP * size)[:1]:
            row = nominal.row_names[both[i]]
            refuse(f"the distance of the two sides of the row {shown(row)}", width[0, i], width[1, i])
    each = list(problems.values())
    rhs, cost = np.array([one.rhs for one in each]), np.array([one.q for one in each])
    cost = np.where(np.abs(cost - cost[0]) <= 16 * _ULP * np.abs(cost[0]), cost[0], cost)  # rounding of p * q / p
    rows, columns = (np.flatnonzero((one != one[0]).any(axis=0)) for one in (rhs, cost))
    return RandomBlock(
        probabilities,
        rows,
        rhs[:, rows],
        columns,
        cost[:, columns],
        *_entries([one.T for one in each]),
        *_entries([one.W for one in each]),
        "scenarios",
        labels,
    )


def _entries(matrices: Sequence[sparse.csr_array]) -> tuple[NDArray[np.intp], Matrix]:
    """Places at which matrices differ, and their numbers there, a line a matrix."""
    odd = reduce(lambda sum_, one: sum_ + abs(one - matrices[0]), matrices[1:], abs(matrices[0] - matrices[0]))
    i, j = odd.nonzero()
    values = [one[i, j] for one in matrices] if len(i) else np.zeros((len(matrices), 0))
    return np.column_stack([i, j]).astype(np.intp), np.array(values)
