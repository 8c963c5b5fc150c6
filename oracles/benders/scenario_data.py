"""The numbers of each scenario of a two-stage program, read from the data anew for whoever proves something of them."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from math import fsum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.proof.number import Numbers

Indices = NDArray[np.intp]
Some = TypeVar("Some", bound=Numbers)
Wide = tuple[Indices, Vector, Vector]  # places, lower and upper ends


class ScenarioData:
    """Sides, costs and matrices of scenarios, a line each, and the summands that scenarios make up.

    A random right-hand side is the upper side if that is finite, else the lower; the other side moves by as much.
    """

    def __init__(self, problem: TwoStageProblem, outcomes: Indices, probability: Vector, n_summands: int) -> None:
        self.problem, self.outcomes, self.probability, self.n_summands = problem, outcomes, probability, n_summands
        self.of_sections = max(1, n_summands // len(probability))  # summands of a scenario
        groups = n_summands // self.of_sections
        self.first_of: list[int] = (-(-np.arange(groups + 1) * len(probability) // groups)).tolist()

    @property
    def n_scenarios(self) -> int:
        """How many there are."""
        return len(self.probability)

    def name(self, member: int) -> str:
        """The name of a scenario: its number, and the labels of its outcomes as far as they have some."""
        chosen = zip(self.problem.blocks, self.outcomes[member].tolist(), strict=True)
        labels = [(block.name, block.labels[o]) for block, o in chosen if block.labels]
        if not labels:
            return f"scenario {member}"
        words = [f"{label!r}" if len(self.problem.blocks) == 1 else f"{label!r} of {name}" for name, label in labels]
        return f"scenario {member} ({', '.join(words)})"

    @cached_property
    def ambiguous(self) -> bool:
        """Whether an entry varies twice, so that its value in a scenario is a matter of taste."""
        blocks = self.problem.blocks
        places = (
            [block.rows[:, None] for block in blocks],
            [block.cost_columns[:, None] for block in blocks],
            [block.technology_entries for block in blocks],
            [block.recourse_entries for block in blocks],
        )
        stacked = (np.vstack(each) for each in places if any(len(one) for one in each))
        return any(len(np.unique(each, axis=0)) < len(each) for each in stacked)

    @cached_property
    def shares(self) -> Vector:
        """Shares of the first stage's cost in the summands: of all but the last one, which has what is left of 1."""
        masses = [fsum(self.probability[first:last].tolist()) for first, last in pairwise(self.first_of)]
        return np.repeat(np.array(masses) / fsum(masses) / self.of_sections, self.of_sections)[:-1]

    @cached_property
    def sections(self) -> list[ScenarioData]:
        """The data of each section of the second stage; of all of it, where there are none."""
        problem, sections = self.problem, self.problem.sections
        if sections is None:
            return [self]
        each = (sections.problem(problem, i) for i in range(len(sections)))
        return [ScenarioData(one, self.outcomes, self.probability, 1) for one in each]

    def sides(self, members: Indices) -> Matrix:
        """Upper sides of the rows, lower ones where these are infinite, 0 where both are: a line a scenario."""
        problem = self.problem
        nominal = finite_ends(problem.row_lower, problem.row_upper)
        sides = np.tile(nominal, (len(members), 1))
        for block, outcome in zip(problem.blocks, self.outcomes[members].T, strict=True):
            assert block.rhs is not None
            sides[:, block.rows] = block.rhs[outcome]
        sides[:, np.isinf(problem.row_lower) & np.isinf(problem.row_upper)] = 0.0
        return sides

    @cached_property
    def wide_rows(self) -> Wide:
        """Rows with two different finite sides, and these: in a scenario the lower one follows the upper one."""
        return _wide(self.problem.row_lower, self.problem.row_upper)

    @cached_property
    def wide_columns(self) -> Wide:
        """Variables of the second stage with two different finite bounds, and these."""
        return _wide(self.problem.y_lower, self.problem.y_upper)

    def lower_sides(self, upper: Some) -> Some:
        """Lower sides of the wide rows, of numbers that are upper sides, a line a scenario."""
        rows, low, high = self.wide_rows
        return upper[:, rows] - (upper.of(high) - low)

    def costs(self, members: Indices) -> Matrix:
        """Costs of the second stage, a line a scenario, or one line for all."""
        blocks = self.problem.blocks
        if not any(len(block.cost_columns) for block in blocks):
            return self.problem.q[None]
        result = np.tile(self.problem.q, (len(members), 1))
        for block, outcome in zip(blocks, self.outcomes[members].T, strict=True):
            assert block.cost is not None
            result[:, block.cost_columns] = block.cost[outcome]
        return result

    @cached_property
    def recourse_entries(self) -> Indices:
        """Rows and columns of the entries of W that vary."""
        return np.vstack([np.zeros((0, 2), dtype=np.intp), *(block.recourse_entries for block in self.problem.blocks)])

    @cached_property
    def technology_entries(self) -> Indices:
        """Rows and columns of the entries of T that vary."""
        none = np.zeros((0, 2), dtype=np.intp)
        return np.vstack([none, *(block.technology_entries for block in self.problem.blocks)])

    @cached_property
    def W(self) -> sparse.csr_array:
        """The recourse matrix, 0 where it varies."""
        return _without(self.problem.W, self.recourse_entries)

    @cached_property
    def T(self) -> sparse.csr_array:
        """The technology matrix, 0 where it varies."""
        return _without(self.problem.T, self.technology_entries)

    def recourse(self, members: Indices) -> Matrix:
        """The entries of W that vary, a line a scenario."""
        none = np.zeros((len(members), 0))
        pairs = zip(self.problem.blocks, self.outcomes[members].T, strict=True)
        return np.hstack([none, *(block.recourse[outcome] for block, outcome in pairs if block.recourse is not None)])

    def technology(self, members: Indices) -> Matrix:
        """The entries of T that vary, a line a scenario."""
        none = np.zeros((len(members), 0))
        pairs = zip(self.problem.blocks, self.outcomes[members].T, strict=True)
        each = (block.technology[outcome] for block, outcome in pairs if block.technology is not None)
        return np.hstack([none, *each])

    def matrix(self, member: int) -> sparse.csr_array:
        """W of one scenario."""
        return _with(self.W, self.recourse_entries, self.recourse(np.array([member]))[0])

    def technology_matrix(self, member: int) -> sparse.csr_array:
        """T of one scenario."""
        return _with(self.T, self.technology_entries, self.technology(np.array([member]))[0])


def finite_ends(lower: Vector, upper: Vector) -> Vector:
    """Upper ends, lower ones where these are infinite, 0 where both are."""
    ends = np.where(np.isfinite(upper), upper, lower)
    return np.where(np.isfinite(ends), ends, 0.0)


def _wide(lower: Vector, upper: Vector) -> Wide:
    where = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper) & (lower != upper))
    return where, lower[where], upper[where]


def _without(matrix: sparse.csr_array, places: Indices) -> sparse.csr_array:
    found = sparse.csr_array(matrix, copy=True)
    found.sum_duplicates()
    if len(places):
        whole = found.tolil()
        whole[tuple(places.T)] = 0.0
        found = sparse.csr_array(whole)
    found.eliminate_zeros()
    return found


def _with(matrix: sparse.csr_array, places: Indices, values: Vector) -> sparse.csr_array:
    if not len(places):
        return matrix
    return sparse.csr_array(matrix + sparse.csr_array((values, tuple(places.T)), shape=matrix.shape))
