"""The second stage of some scenarios at a point: served a basis at a time, or a program at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.benders.gathered import Frame, Gathered, Share
from oracle_opt.oracles.benders.recourse import Basis, Recourse
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem

_CHUNK = 1 << 16  # scenarios whose sides are in memory at a time
MOST_CUTS = 50  # feasibility cuts of one answer
_MOST_BASES = 500  # bases remembered


@dataclass(frozen=True)
class Drawing:
    """The recipe of the scenarios of an oracle: a few words for a worker, which makes them by itself.

    Parameters
    ----------
    problem : TwoStageProblem
    n_samples : int or None
    seed, n_summands : int
    radius : float
        As of `BendersOracle`.
    """

    problem: TwoStageProblem
    n_samples: int | None
    seed: int
    n_summands: int
    radius: float

    def __call__(self) -> SecondStage:
        """Take all scenarios, or draw some."""
        problem = self.problem
        drawn = problem.all_scenarios() if self.n_samples is None else problem.sample(self.n_samples, self.seed)
        n_summands = min(self.n_summands, len(drawn[1]))
        return SecondStage(problem, *drawn, Frame.of(problem, drawn[1], n_summands, self.radius), n_summands)


class SecondStage:
    """Scenarios of a two-stage program, and the programs that serve them.

    Parameters
    ----------
    problem : TwoStageProblem
    outcomes : ndarray of int, shape (n_scenarios, n_blocks)
        Outcome of each block in each scenario.
    probability : ndarray of shape (n_scenarios,)
    frame : Frame
    n_summands : int
        Groups of scenarios that are summed up apart.
    """

    def __init__(
        self, problem: TwoStageProblem, outcomes: NDArray[np.intp], probability: Vector, frame: Frame, n_summands: int
    ) -> None:
        self.problem, self.outcomes, self.probability = problem, outcomes, probability
        self.frame, self.n_summands = frame, n_summands

    @cached_property
    def _pattern(self) -> Recourse:
        """A program that solves nothing itself."""
        p = self.problem
        return Recourse(p.q, p.W, p.y_lower, p.y_upper, *p.multiplier_boxes())

    def program(self) -> Recourse:
        """Return a program that has solved nothing."""
        return self._pattern.anew()

    def gathered(self, x: Vector) -> Gathered:
        """Return empty sums at a point."""
        return Gathered(self.frame, x, self.n_summands, len(self.probability))

    def serve(
        self, x: Vector, scenarios: range, program: Recourse, bases: list[Basis], gathered: Gathered
    ) -> list[Basis]:
        """Add the answers of successive scenarios to the sums.

        Parameters
        ----------
        x : ndarray of shape (n,)
        scenarios : range
            Which scenarios.
        program : Recourse
            Solves those that no basis serves; starts where it ended.
        bases : list of Basis
            Tried first, in this order, where costs and recourse do not vary.
        gathered : Gathered
            The sums.

        Returns
        -------
        list of Basis
            Those given and those found; of too many the last ones.
        """
        if self.problem.only_rows_vary:
            bases = bases.copy()
            self._serve_bunched(x, scenarios, program, bases, gathered)
            return bases[-_MOST_BASES:]
        self._serve_singly(x, scenarios, program, gathered)
        return bases

    def share(self, x: Vector, first: int, last: int) -> Share:
        """Sums over scenarios `first` to `last` - 1, by a program that has solved nothing: they have no history."""
        gathered = self.gathered(x)
        self.serve(x, range(first, last), self.program(), [], gathered)
        return gathered.share()

    def _serve_bunched(
        self, x: Vector, scenarios: range, program: Recourse, bases: list[Basis], gathered: Gathered
    ) -> None:
        """Bases known first, a new one from the first scenario that is left, until none is."""
        outcomes, p = self.outcomes, self.probability
        for start in range(scenarios.start, scenarios.stop, _CHUNK):
            lower, upper = self.frame.row_sides(x, outcomes[start : min(start + _CHUNK, scenarios.stop)])
            left = np.arange(len(lower))
            for basis in bases:
                left = self._settle(basis, left, start, lower, upper, gathered)
                if not len(left):
                    break
            while len(left):
                feasible, dual, value = program.solve(lower[left[0]], upper[left[0]], gathered.rounding)
                if not feasible:
                    cuts = dual.values(lower[left], upper[left])
                    if not cuts[0] > 0:
                        raise RuntimeError("HiGHS calls a scenario infeasible and its ray does not prove it")
                    gathered.add_ray(dual, start + left[0], float(cuts[0]), outcomes)
                    left = left[cuts <= 0]
                    if len(gathered.feasibility) >= MOST_CUTS:
                        return
                    continue
                one = left[:1]
                found = program.basis(dual)
                if found is not None:
                    bases.append(found)
                    left = self._settle(found, left, start, lower, upper, gathered)
                # a basis may miss its own scenario by more than the tolerance and still fit others
                if len(left) and left[0] == one[0]:
                    gathered.add(dual, start + one, dual.values(lower[one], upper[one]), np.array([value]), outcomes, p)
                    left = left[1:]

    def _settle(
        self, basis: Basis, left: NDArray[np.intp], start: int, lower: Matrix, upper: Matrix, gathered: Gathered
    ) -> NDArray[np.intp]:
        """Serve those for which the basis is optimal; give the others."""
        fits, bounds = basis.serve(lower[left], upper[left], gathered.sides, gathered.rate)
        served = left[fits]
        if len(served):
            values = basis.values(lower[served], upper[served])
            gathered.add(basis, start + served, values, bounds, self.outcomes, self.probability)
        return left[~fits]

    def turn(self, program: Recourse, s: int | np.integer) -> None:
        """Give a program the costs and the recourse matrix of scenario s."""
        for block, outcome in zip(self.problem.blocks, self.outcomes[s], strict=True):
            assert block.cost is not None
            assert block.recourse is not None
            if len(block.cost_columns):
                program.change_cost(block.cost_columns, block.cost[outcome])
            if len(block.recourse_entries):
                program.change_matrix(block.recourse_entries, block.recourse[outcome])

    def _serve_singly(self, x: Vector, scenarios: range, program: Recourse, gathered: Gathered) -> None:
        """A program a scenario, each from the last one's solution."""
        members = np.arange(scenarios.start, scenarios.stop)
        lower, upper = self.frame.row_sides(x, self.outcomes[members])
        answers = []
        for s, low, high in zip(members, lower, upper, strict=True):
            self.turn(program, s)
            answers.append(program.solve(low, high, gathered.rounding))
        for k, (feasible, dual, _) in enumerate(answers):
            if not feasible and len(gathered.feasibility) < MOST_CUTS:
                violation = float(dual.values(lower[[k]], upper[[k]])[0])
                if not violation > 0:
                    raise RuntimeError("HiGHS calls a scenario infeasible and its ray does not prove it")
                gathered.add_ray(dual, int(members[k]), violation, self.outcomes)
        if not gathered.feasibility:
            pi = np.array([dual.multipliers for _, dual, _ in answers])
            constants, bounds = np.array([(dual.constant, bound) for _, dual, bound in answers]).T
            gathered.add_each(pi, constants, members, lower, upper, bounds, self.outcomes, self.probability)
