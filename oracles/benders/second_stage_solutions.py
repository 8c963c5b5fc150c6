"""The second stage at a point, scenario by scenario: decisions, costs and multipliers, each solved and checked."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import floats
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracles.benders.recourse import Solved
from oracle_opt.oracles.benders.second_stage import SecondStage
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.words import one_line, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Index, Series

_MOST = 2.5e8  # numbers in the arrays, 2 GB
_CHUNK = 1 << 12  # scenarios whose sides are in memory at a time


@dataclass(frozen=True, eq=False)
class SecondStageSolutions:
    """What is decided in each scenario once x is, and what it costs; made by `BendersOracle.second_stage`.

    Line i of every array is of the scenario ``scenarios[i]``. Its true cost Q_s(x) lies between `lower_bound`, the
    value of its multipliers, and `upper_bound`, which adds to `cost` the price of what y misses of its rows. How far
    the two bounds are apart says how close to optimal y is.

    Attributes
    ----------
    point : ndarray of shape (n,)
        The first-stage decision x.
    first_stage_cost : float
        Its cost, ``c @ x`` and the offset.
    first_stage_missed : float
        By how much x misses the row or the bound of the first stage that it misses most, 0 where it misses none.
    scenarios : ndarray of int, shape (s,)
        Numbers of the scenarios.
    outcomes : ndarray of int, shape (s, number of random blocks)
        The outcome of each random block.
    probability : ndarray of shape (s,)
        Probabilities.
    feasible : ndarray of bool, shape (s,)
        Whether the scenario has a second stage at x. Where it has none its costs are infinite and the rest NaN.
    cost, lower_bound, upper_bound : ndarray of shape (s,)
        ``q @ y``, and the bounds of the true cost.
    missed : ndarray of shape (s,)
        By how much y misses the row that it misses most, in that row's units. Bounds of y hold exactly.
    y : ndarray of shape (s, k)
        Second-stage decisions.
    duals : ndarray of shape (s, m)
        Multipliers of the rows: what a unit more of a right-hand side adds to the cost of that scenario.
    problem : TwoStageProblem
        Has the names of rows and columns.
    n_scenarios : int
        How many there are in all.
    """

    __repr__ = one_line

    point: Vector
    first_stage_cost: float
    first_stage_missed: float
    scenarios: NDArray[np.intp]
    outcomes: NDArray[np.intp]
    probability: Vector
    feasible: NDArray[np.bool_]
    cost: Vector
    lower_bound: Vector
    upper_bound: Vector
    missed: Vector
    y: Matrix
    duals: Matrix
    problem: TwoStageProblem
    n_scenarios: int

    @property
    def expected_cost(self) -> float:
        """Cost of both stages, expected over all scenarios; the true one lies within `expected_bounds`."""
        return self._expected(self.cost)

    @property
    def expected_bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the expected cost of both stages, up to the rounding of the sums."""
        return self._expected(self.lower_bound), self._expected(self.upper_bound)

    def first_stage(self) -> Series:
        """Return the first-stage decision by name.

        Returns
        -------
        Series
            `point`, the index holds the names of the first-stage variables.
        """
        pandas = require("pandas", "study", "tables of scenarios")
        return pandas.Series(self.point, list(self.problem.names), name="x")

    def frame(self) -> DataFrame:
        """Return everything as a pandas DataFrame, a row a scenario.

        Returns
        -------
        DataFrame
            The index holds the labels of the scenarios, where they have some, or their numbers. Columns are pairs:
            ``"scenario"`` with probability, feasible, cost, lower_bound, upper_bound and missed; ``"outcome"`` with the
            outcome of each random block, where these are several; ``"y"`` with the names of the second-stage variables;
            ``"dual"`` with those of the rows. ``frame()["y"]`` is thus the table of the decisions.
        """
        pandas = require("pandas", "study", "tables of scenarios")
        problem, index = self.problem, self._index()
        facts = ("probability", "feasible", "cost", "lower_bound", "upper_bound", "missed")
        parts = {"scenario": pandas.DataFrame({name: getattr(self, name) for name in facts}, index)}
        if len(problem.blocks) > 1:
            called = [
                [block.labels[o] if block.labels else int(o) for o in chosen]
                for block, chosen in zip(problem.blocks, self.outcomes.T, strict=True)
            ]
            names = [block.name for block in problem.blocks]
            parts["outcome"] = pandas.DataFrame(dict(enumerate(called)), index).set_axis(names, axis=1)
        parts["y"] = pandas.DataFrame(self.y, index, list(problem.column_names))
        parts["dual"] = pandas.DataFrame(self.duals, index, list(problem.row_names))
        return pandas.concat(parts, axis=1)

    def _index(self) -> Index:
        """Labels of the only random block, else numbers."""
        pandas = require("pandas", "study", "tables of scenarios")
        blocks = self.problem.blocks
        labels: list[Hashable] = self.scenarios.tolist()
        if len(blocks) == 1 and blocks[0].labels:
            labels = [blocks[0].labels[o] for o in self.outcomes[:, 0]]
        return pandas.Index(labels, name="scenario", tupleize_cols=False)

    def _expected(self, costs: Vector) -> float:
        if len(np.unique(self.scenarios)) != self.n_scenarios or len(self.scenarios) != self.n_scenarios:
            raise InvalidArgument(
                f"`scenarios` must be all {self.n_scenarios}, each once, for an expected cost, got "
                f"{shown(self.scenarios)}; leave `scenarios` out"
            )
        return self.first_stage_cost + float(self.probability @ costs)


def solved_scenarios(
    given: TwoStageProblem, stage: SecondStage, x: Vector, scenarios: ArrayLike | None
) -> SecondStageSolutions:
    """Solve scenarios of a problem at x, each from the last one's solution; see `BendersOracle.second_stage`."""
    problem, units, count = stage.problem, stage.frame.units, len(stage.probability)
    members = np.arange(count) if scenarios is None else _members(scenarios, count)
    m, k = problem.W.shape
    if len(members) * (m + k) > _MOST:
        raise InvalidArgument(
            f"`scenarios` must be fewer: the decisions and multipliers of {len(members)} take "
            f"{8e-9 * len(members) * (m + k):.2g} GB; pass some of their numbers, such as range(1000), at a time"
        )
    feasible = np.zeros(len(members), dtype=bool)
    cost, lower_bound, upper_bound = (np.full(len(members), np.inf) for _ in range(3))
    missed, y, duals = (
        np.full(len(members), np.nan),
        np.full((len(members), k), np.nan),
        np.full((len(members), m), np.nan),
    )
    program, form, rounding = stage.program(), stage.form, stage.empty_sums(x).rounding
    for start in range(0, len(members), _CHUNK):
        some = members[start : start + _CHUNK]
        moved, costs, values = stage.frame.moved(x, stage.outcomes[some]), stage.costs(some), stage.entries(some)
        low, high = problem.row_lower + moved, problem.row_upper + moved
        for i in range(len(some)):
            q, entries = costs[i % len(costs)], None if values is None else values[i]
            solved = program.solve(q, entries, low[i], high[i])
            if isinstance(solved, Solved):
                y[start + i], duals[start + i] = solved.y, solved.multipliers
        at = np.flatnonzero(np.isfinite(y[start : start + len(some), 0]))
        if not len(at):
            continue
        costs, values = costs if len(costs) == 1 else costs[at], None if values is None else values[at]
        low, high, at = low[at], high[at], start + at
        inside = stage.interiors(costs, values)
        duals[at], constant, upper_bound[at], rows = form.proven(
            duals[at], y[at], costs, values, inside, low, high, rounding
        )
        feasible[at], cost[at] = True, (costs * y[at]).sum(axis=1)
        sides = np.where(duals[at] > 0, low, np.where(duals[at] < 0, high, 0.0))
        lower_bound[at] = constant + (duals[at] * sides).sum(axis=1)
        missed[at] = np.max(np.maximum(low - rows, rows - high) / units.rows, axis=1, initial=0.0)
    rows = problem.A @ x
    over = (problem.first_lower - rows, rows - problem.first_upper, problem.x_lower - x, x - problem.x_upper)
    return SecondStageSolutions(
        x,
        float(problem.c @ x) + problem.offset,
        float(np.max(np.concatenate(over), initial=0.0)),
        members,
        stage.outcomes[members],
        stage.probability[members],
        feasible,
        cost,
        lower_bound,
        upper_bound,
        missed,
        y * units.columns,
        duals * units.rows,
        given,
        count,
    )


def _members(scenarios: ArrayLike, count: int) -> NDArray[np.intp]:
    given = floats("scenarios", scenarios, "whole numbers of scenarios, or a range")
    if given.ndim != 1 or not (given == np.rint(given)).all():
        raise InvalidArgument(f"`scenarios` must be whole numbers of scenarios, or a range, got {shown(given)}")
    outside = given[(given < 0) | (given >= count)]
    if len(outside):
        raise InvalidArgument(f"`scenarios` must be at least 0 and below {count}, got {outside[0]:g}")
    return given.astype(np.intp)
