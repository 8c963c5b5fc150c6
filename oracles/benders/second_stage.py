"""The second stage of some scenarios at a point: served a basis at a time, or a program at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.proof import Interiors
from oracle_opt.oracles.benders.recourse import Recourse
from oracle_opt.oracles.benders.scenario_sums import Frame, ScenarioSums
from oracle_opt.oracles.benders.second_stage_units import Units
from oracle_opt.oracles.benders.standard_form import StandardForm
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.oracles.benders.vertices import Pool, Vertices, inverses


@dataclass(frozen=True)
class Drawing:
    """The recipe of the scenarios of an oracle: a few words for a worker, which makes them by itself."""

    problem: TwoStageProblem
    n_samples: int | None
    seed: int
    n_summands: int
    bounds: tuple[Vector, Vector]
    known: tuple[NDArray[np.intp], NDArray[np.int8]] | None = None

    def __call__(self) -> SecondStage:
        """Take all scenarios, or draw some."""
        units = Units.of(self.problem)
        problem = units(self.problem)
        drawn = problem.all_scenarios() if self.n_samples is None else problem.sample(self.n_samples, self.seed)
        n_summands = min(self.n_summands, len(drawn[1]))
        frame = Frame.of(problem, units, drawn[1], n_summands, self.bounds)
        return SecondStage(problem, *drawn, frame, n_summands, self.known)


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
    ) -> None:
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
        pool = Pool(self.form)
        if len(self.known[0]):
            pool.add(self.vertices(*self.known, self.problem.q[None], None)[0])
        return pool
