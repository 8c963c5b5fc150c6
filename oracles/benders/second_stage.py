"""The second stage of some scenarios at a point: served a basis at a time, or a program at a time."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.proof import Interiors, multiplier_bounds
from oracle_opt.oracles.benders.recourse import Recourse
from oracle_opt.oracles.benders.scenario_sums import Frame, ScenarioSums
from oracle_opt.oracles.benders.second_stage_units import Units
from oracle_opt.oracles.benders.standard_form import StandardForm
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.oracles.benders.vertices import Pool, Vertices, inverses


def with_implied_bounds(problem: TwoStageProblem, bounds: tuple[Vector, Vector]) -> TwoStageProblem:
    """The program with the bounds of y that rows imply, for x within its bounds; a row of one variable is one.

    Where y has bounds, any multipliers prove something. Small programs stay as they are: their vertices are feasible.
    """
    if small_enough(problem.W.shape):
        return problem
    made = copy(problem)
    _turn_rows_into_bounds(made)
    least, most = made.least_and_most_sides(bounds)
    free = np.where(np.isinf(least), 0.0, -np.inf), np.where(np.isinf(most), 0.0, np.inf)
    given = made.y_lower, made.y_upper
    with np.errstate(over="ignore"):  # what overflows is no bound
        implied = multiplier_bounds(sparse.csr_array(problem.W.T), *free, least, most, given)
    made.y_lower, made.y_upper = (np.where(np.isinf(own), one, own) for own, one in zip(given, implied, strict=True))
    return made


def _turn_rows_into_bounds(problem: TwoStageProblem) -> None:
    """Let the bounds of y hold what rows of one variable say, if these do not vary; their sides become infinite."""
    varies = np.zeros(len(problem.row_lower), dtype=bool)
    for block in problem.blocks:
        for rows in (block.rows, block.technology_entries[:, 0], block.recourse_entries[:, 0]):
            varies[rows] = True
    W, T = (sparse.csr_array(one, copy=True) for one in (problem.W, problem.T))
    W.eliminate_zeros()
    T.eliminate_zeros()
    rows = np.flatnonzero((np.diff(W.indptr) == 1) & (np.diff(T.indptr) == 0) & ~varies)
    entry, column = W.data[W.indptr[rows]], W.indices[W.indptr[rows]]
    sides = np.array([problem.row_lower[rows], problem.row_upper[rows]])
    with np.errstate(over="ignore"):
        ends = sides / entry
    exact = (np.abs(np.frexp(entry)[0]) == 0.5) & (ends * entry == sides).all(axis=0)  # a power of 2, and no underflow
    rows, column, ends = rows[exact], column[exact], np.sort(ends[:, exact], axis=0)
    lower, upper = problem.y_lower.copy(), problem.y_upper.copy()
    np.maximum.at(lower, column, ends[0])
    np.minimum.at(upper, column, ends[1])
    if (lower > upper).any():  # no y at all: rows are better to say so
        return
    problem.y_lower, problem.y_upper = lower, upper
    problem.row_lower, problem.row_upper = problem.row_lower.copy(), problem.row_upper.copy()
    problem.row_lower[rows], problem.row_upper[rows] = -np.inf, np.inf


@dataclass(frozen=True)
class Drawing:
    """The recipe of the scenarios of an oracle: a few words for a worker, which makes them by itself."""

    problem: TwoStageProblem
    n_samples: int | None
    seed: int
    n_summands: int | None
    bounds: tuple[Vector, Vector]
    known: tuple[NDArray[np.intp], NDArray[np.int8]] | None = None

    def __call__(self) -> SecondStage:
        """Take all scenarios, or draw some."""
        units = Units.of(self.problem)
        problem = units(self.problem)
        drawn = problem.all_scenarios() if self.n_samples is None else problem.sample(self.n_samples, self.seed)
        count = len(drawn[1])
        each = 1 if problem.sections is None else count * len(problem.sections)
        wanted = self.n_summands or max(each, _SUMMANDS)
        n_summands = each if count < each <= wanted else min(wanted, count)
        frame = Frame.of(problem, units, drawn[1], n_summands, self.bounds)
        return SecondStage(problem, *drawn, frame, n_summands, self.known)


_SUMMANDS = 20  # by default, of scenarios


class SecondStage:
    """Scenarios of a two-stage program, and the programs that serve them."""

    def __init__(
        self,
        problem: TwoStageProblem,
        outcomes: NDArray[np.intp],
        probability: Vector,
        frame: Frame,
        n_summands: int,
        known: tuple[NDArray[np.intp], NDArray[np.int8]] | None = None,
        where: str = "",
    ) -> None:
        self.where = where  # which section of another second stage this is, in words behind the name of a scenario
        self.problem, self.outcomes, self.probability = problem, outcomes, probability
        self.frame, self.n_summands = frame, n_summands
        m, k = problem.W.shape
        self.known = known or (np.zeros((0, m), dtype=np.intp), np.zeros((0, k + m), dtype=np.int8))

    @cached_property
    def form(self) -> StandardForm:
        """The program that all scenarios share."""
        p = self.problem
        box = p.multiplier_boxes()[1]
        W = sparse.csr_array(p.W, copy=True)
        W.sum_duplicates()
        entries = [block.recourse_entries for block in p.blocks if len(block.recourse_entries)]
        places = np.unique(np.vstack(entries), axis=0) if entries else np.zeros((0, 2), dtype=np.intp)
        if entries:
            whole = W.tolil()
            whole[tuple(places.T)] = 0.0
            W = sparse.csr_array(whole)
        W.eliminate_zeros()
        sides = p.row_lower, p.row_upper
        return StandardForm(W, places, p.y_lower, p.y_upper, *sides, box, self.frame.units.rows)

    @cached_property
    def sections(self) -> list[SecondStage]:
        """The sections of the second stage, each as one of its own; none where there are none."""
        sections, frame = self.problem.sections, self.frame
        made: list[SecondStage] = []
        for number in range(0 if sections is None else len(sections)):
            assert sections is not None
            rows, columns = sections.places(number)
            units = Units(frame.units.rows[rows], frame.units.columns[columns])
            problem, n_summands = sections.problem(self.problem, number), min(self.n_summands, len(self.probability))
            own = Frame.of(problem, units, self.probability, n_summands, (frame.lower, frame.upper))
            where = f" of block {sections.numbers[number]}"
            made.append(SecondStage(problem, self.outcomes, self.probability, own, n_summands, where=where))
        return made

    @cached_property
    def interiors(self) -> Interiors:
        """Multipliers well inside."""
        cost = self.problem.q.copy()
        for block in self.problem.blocks:
            if block.cost is not None and len(block.cost_columns):
                columns = block.cost_columns
                least = np.where(self.form.side[columns] < 0, block.cost.max(axis=0), block.cost.min(axis=0))
                cost[columns] = least
        return Interiors(self.form, cost)

    @cached_property
    def _rays(self) -> Interiors:
        return Interiors(self.form, np.zeros(self.form.shape[1]))

    def program(self) -> Recourse:
        """Return a program that has solved nothing."""
        return Recourse(self.form, self._rays.anew())

    def costs(self, members: NDArray[np.intp]) -> Matrix:
        """Costs of the second stage: a line for each of these scenarios, or one for all."""
        if not any(len(block.cost_columns) for block in self.problem.blocks):
            return self.problem.q[None]
        result = np.tile(self.problem.q, (len(members), 1))
        for block, outcome in zip(self.problem.blocks, self.outcomes[members].T, strict=True):
            if block.cost is not None and len(block.cost_columns):
                result[:, block.cost_columns] = block.cost[outcome]
        return result

    def entries(self, members: NDArray[np.intp]) -> Matrix | None:
        """Entries of W that vary, a line for each of these scenarios; None where none does."""
        places = self.form.entries
        if not len(places):
            return None
        result = np.zeros((len(members), len(places)))
        flat = places[:, 0] * self.form.shape[1] + places[:, 1]
        for block, outcome in zip(self.problem.blocks, self.outcomes[members].T, strict=True):
            if block.recourse is not None and len(block.recourse_entries):
                mine = block.recourse_entries[:, 0] * self.form.shape[1] + block.recourse_entries[:, 1]
                result[:, np.searchsorted(flat, mine)] = block.recourse[outcome]
        return result

    def vertices(
        self, basic: NDArray[np.intp], at: NDArray[np.int8], cost: Matrix, values: Matrix | None
    ) -> tuple[Vertices, NDArray[np.bool_]]:
        """Dual vertices of bases, and which of them there are: not those of singular ones."""
        inverse, good = inverses(self.form.bases(basic, values))
        if not good.all():
            cost = cost if len(cost) == 1 else cost[good]
            values = None if values is None else values[good]
        made = Vertices.of(self.form, inverse, basic[good], at[good], cost, values, self.interiors(cost, values))
        finite = np.isfinite(made.constant) & np.isfinite(made.multipliers).all(axis=1)
        if not finite.all():
            good[good] = finite
            made = made.take(np.flatnonzero(finite))
        return made, good

    def empty_sums(self, x: Vector) -> ScenarioSums:
        """Return empty sums at a point."""
        return ScenarioSums(self.frame, x, self.n_summands, len(self.probability))

    @cached_property
    def start(self) -> Pool:
        """The dual vertices that are known from the start."""
        pool, (basic, at) = Pool(self.form), self.known
        if len(basic):
            pool.add(self.vertices(basic, at, self.problem.q[None], None)[0])
        return pool
