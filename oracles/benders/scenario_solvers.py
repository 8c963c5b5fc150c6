"""How the scenarios of a query get multipliers and bounds of their values, and what is kept between queries."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt._highs_model import HighsError
from oracle_opt.arrays import Matrix, Vector, numbered
from oracle_opt.errors import OracleOptError
from oracle_opt.oracles.benders.dual_simplex import optimal_bases
from oracle_opt.oracles.benders.recourse import DualVertex, Recourse, Solved
from oracle_opt.oracles.benders.scenario_duals import MOST_NUMBERS, DualTable
from oracle_opt.oracles.benders.scenario_sums import ScenarioSums, accepted
from oracle_opt.oracles.benders.second_stage import SecondStage
from oracle_opt.oracles.benders.vertices import MOST_BYTES, Indices, Pool, Vertices, bytes_of_one

MOST_CUTS = 50  # feasibility cuts of one answer
_CHUNK = 1 << 16  # scenarios whose sides are in memory at a time
_TIE = 1e-6  # relative difference up to which values in single precision may be one
_TIED = 64  # vertices that are all tried where their values are one
_WIDER = 0.0, 1e-9, 1e-8, 1e-7, 1e-6  # by these shares of 1 and their terms sides are moved, where no ray proves enough
_HELD = 1e-9  # of the terms of a half-space: a generator's point that violates it by less is on it
_TIGHT = 1e-6  # bounds of a value that are further apart, relative to its terms, are not of an optimal vertex
ENTRIES = 1 << 21  # of the costs of scenarios in memory at a time
_FIRST, _LARGEST, _FACTOR = 8, 4096, 8  # scenarios pivoted together: as many more each time


class Answers:
    """Multipliers of some scenarios, their constants, and upper bounds on their values."""

    def __init__(self, stage: SecondStage, x: Vector, members: Indices, sums: ScenarioSums, duals: DualTable) -> None:
        self.stage, self.members, self.sums, self.duals = stage, members, sums, duals
        problem, form = stage.problem, stage.form
        self.moved = stage.frame.moved(x, stage.outcomes[members])
        self.lower, self.upper = problem.row_lower + self.moved, problem.row_upper + self.moved
        self.cost, self.values = stage.costs(members), stage.entries(members)
        self._pi = np.zeros((len(members), form.shape[0]))
        self._constant, self._bound, self._value = np.zeros((3, len(members)))
        self._row = np.zeros(len(members), dtype=np.intp)

    def of_some(self, lines: Indices) -> tuple[Matrix, Matrix | None]:
        """Costs, and entries of W that vary, of some scenarios."""
        cost = self.cost if len(self.cost) == 1 else self.cost[lines]
        return cost, None if self.values is None else self.values[lines]

    def try_vertices(self, vertices: Vertices, which: Indices, lines: Indices) -> NDArray[np.bool_]:
        """Answer those scenarios for which their vertex is optimal; tell which.

        What is kept may be feasible and not optimal: then both bounds are apart, and the scenario is solved anew.
        """
        cost, values = self.of_some(lines)
        form, rounding, lower, upper = self.stage.form, self.sums.rounding, self.lower[lines], self.upper[lines]
        fits, bounds = vertices.tried(form, which, lower, upper, rounding, cost, values)
        pi, constant = vertices.multipliers[which[fits]], vertices.constant[which[fits]]
        value, terms = self._minorants(pi, constant, lines[fits])
        tight = bounds - value <= _TIGHT * np.abs(bounds)
        loose = np.flatnonzero(~tight)
        if len(loose):  # neither terms that cancel nor what rounding costs, ten times of it, are the vertex's fault
            size = np.abs(constant[loose]) + np.abs(terms[loose]).sum(axis=1) + np.abs(bounds[loose])
            cancelled = _TIGHT * size + 10.0 * (form.prices(pi[loose]) @ rounding)
            tight[loose] = (bounds - value)[loose] <= cancelled
        fits[fits] = tight
        served, which = lines[fits], which[fits]
        self._pi[served], self._constant[served], self._value[served] = pi[tight], constant[tight], value[tight]
        self._bound[served], self._row[served] = bounds[tight], vertices.row[which]
        return fits

    def _minorants(self, pi: Matrix, constant: Vector, lines: Indices | slice = slice(None)) -> tuple[Vector, Matrix]:
        """Values of minorants, and their terms of the rows' sides."""
        terms = pi * np.where(pi > 0, self.lower[lines], np.where(pi < 0, self.upper[lines], 0.0))
        return constant + terms.sum(axis=1), terms

    def recall(self, vertices: Vertices, which: Indices) -> None:
        """Answer with the minorants of these vertices; where one is not optimal no upper bound is known."""
        self._pi[:], self._constant[:] = vertices.multipliers[which], vertices.constant[which]
        self._row[:], self._value[:] = vertices.row[which], self._minorants(self._pi, self._constant)[0]
        form, rounding = self.stage.form, self.sums.rounding
        self._bound[:] = vertices.upper_bounds(form, which, self.lower, self.upper, rounding, self.cost)
        self.try_vertices(vertices, which, np.arange(len(which)))

    def take(self, found: Mapping[int, Solved]) -> None:
        """Answer scenarios, by their lines, with what HiGHS found."""
        if not found:
            return
        some = np.array([*found])
        cost, values = self.of_some(some)
        inside = self.stage.interiors(cost, values)
        pi, y = (np.array(each) for each in zip(*((one.multipliers, one.y) for one in found.values()), strict=True))
        lower, upper, rounding = self.lower[some], self.upper[some], self.sums.rounding
        pi, constant, bound, _ = self.stage.form.proven(pi, y, cost, values, inside, lower, upper, rounding)
        self._pi[some], self._constant[some], self._bound[some] = pi, constant, bound
        self._row[some], self._value[some] = self.duals.add(pi), self._minorants(pi, constant, some)[0]

    def take_all(self, multipliers: Matrix) -> None:
        """Answer with the minorants of multipliers of any origin; no upper bound is known."""
        form, inside = self.stage.form, self.stage.interiors(self.cost, self.values)
        cleaned = form.cleaned(multipliers)
        self._pi[:], self._constant[:] = form.minorants(cleaned, self.cost, self.values, inside)
        self._row[:], self._bound[:] = self.duals.add(self._pi), np.inf
        self._value[:] = self._minorants(self._pi, self._constant)[0]

    def solve(self, program: Recourse, line: int) -> Solved | DualVertex:
        """Solve one scenario; a ray that is returned proves it infeasible.

        A half-space that x violates by what HiGHS lets rows be missed, or by the last digits of its terms, is one that
        no generator can keep to. Then sides are moved outward, and what the point misses is priced.
        """
        cost, values = self.of_some(np.array([line]))
        entries = None if values is None else values[0]
        lower, upper, sides = self.lower[line], self.upper[line], self.sums.sides
        best, ray, failure = -np.inf, None, None
        for share in _WIDER:
            room = share * (1.0 + sides)
            try:
                found = program.solve(cost[0], entries, lower - room, upper + room)
            except HighsError as error:
                failure = error
                continue
            if isinstance(found, Solved):
                return found
            value = float(found.values(lower[None], upper[None])[0])
            if value > accepted(found.multipliers) + _HELD * found.size(sides):
                return found
            if value > best:
                best, ray = value, found
        if ray is None or best <= 0:
            ray = program.elastic_ray(entries, lower, upper)
            best = float(ray.values(lower[None], upper[None])[0])
        if best > 0:
            return ray
        name = f"scenario {self.members[line]}{self.stage.where}"
        row = self.stage.problem.row_names[int(np.abs(ray.multipliers).argmax())]
        raise OracleOptError(
            f"HiGHS neither solves {name} at this x nor proves it infeasible; most of its ray is of row {row!r}: look "
            "at the units there, or give the variables nearer bounds"
        ) from failure

    def add_ray(self, line: int, ray: DualVertex, left: Indices) -> Indices:
        """Keep the half-space of an infeasible scenario; those of `left` that the ray proves infeasible are done."""
        cuts = ray.values(self.lower[np.r_[line, left]], self.upper[np.r_[line, left]])
        self.sums.add_ray(ray, int(self.members[line]), float(cuts[0]), self.stage.outcomes)
        return left[cuts[1:] <= 0]

    def gather(self) -> None:
        """Add all to the sums, unless one is infeasible."""
        if not self.sums.feasibility:
            outcomes, p = self.stage.outcomes, self.stage.probability
            self.sums.add_each(self._pi, self._constant, self._value, self.members, self._bound, outcomes, p)
            self.sums.tell_duals(self.duals, self._row)

    @property
    def full(self) -> bool:
        """Whether there are as many half-spaces as an answer holds."""
        return len(self.sums.feasibility) >= MOST_CUTS


class Bunched:
    """Where costs and W are the same in all scenarios, so that a dual vertex of one is one of all.

    One product values every known vertex in every scenario, and the best is optimal if its basis is feasible. Else dual
    simplex steps follow, a few scenarios first, whose vertices may serve the others; HiGHS does the rest.
    """

    def __init__(self, stage: SecondStage, pool: Pool) -> None:
        self._program = stage.program()
        self.pool = pool.copy()
        self.solved = self.stepped = 0  # scenarios solved by HiGHS, and by dual simplex steps

    def serve(self, stage: SecondStage, x: Vector, scenarios: range, sums: ScenarioSums) -> None:
        """Add the answers of successive scenarios to the sums."""
        self.pool.begin()
        step = self._most(stage)
        for start in range(scenarios.start, scenarios.stop, step):
            members = np.arange(start, min(start + step, scenarios.stop))
            answers = Answers(stage, x, members, sums, self.pool.duals)
            self._chunk(stage, answers)
            if answers.full:
                return
            answers.gather()

    def recall(self, stage: SecondStage, x: Vector, scenarios: range, sums: ScenarioSums) -> None:
        """Add minorants by the best known vertex of each scenario, optimal or not."""
        step = self._most(stage)
        for start in range(scenarios.start, scenarios.stop, step):
            members = np.arange(start, min(start + step, scenarios.stop))
            answers = Answers(stage, x, members, sums, self.pool.duals)
            best, _ = self.pool.best(answers.moved, np.arange(len(self.pool)))
            answers.recall(self.pool.vertices, best)
            answers.gather()

    @staticmethod
    def _most(stage: SecondStage) -> int:
        """Scenarios that are served together."""
        return min(_CHUNK, max(MOST_BYTES // bytes_of_one(stage.form), 1))

    def _chunk(self, stage: SecondStage, answers: Answers) -> None:
        pool, moved = self.pool, answers.moved
        left = np.arange(len(moved))
        best, value = np.zeros(len(moved), dtype=np.intp), np.full(len(moved), -np.inf)
        fresh, size, most = np.arange(len(pool)), _FIRST, min(_LARGEST, self._most(stage))
        while len(left):
            seconds_left()
            if len(fresh):
                # those as good as the best so far are tried, too: of several vertices of one value some fit
                number, now = pool.best(moved[left], fresh)
                near = now >= value[left] - _TIE * (np.abs(now) + np.abs(value[left]))
                fits = answers.try_vertices(pool.vertices, number[near], left[near])
                pool.used(number[near][fits])
                rises = now > value[left]
                best[left[rises]], value[left[rises]] = number[rises], now[rises]
                near[near] = fits
                left = left[~near]
                if len(fresh) <= _TIED:
                    left = self._ties(answers, left, value, fresh)
                fresh = fresh[:0]
            elif not len(pool):
                left, fresh = self._solve(stage, answers, left[0], left[1:])
            else:
                size = min(size, most)
                some, left = left[:size], left[size:]
                size *= _FACTOR
                hard, fresh = self._step(stage, answers, some, best)
                while len(hard) and not answers.full:
                    rest, more = self._solve(stage, answers, hard[0], np.r_[hard[1:], left])
                    hard, left = np.intersect1d(hard, rest), np.intersect1d(left, rest)
                    fresh = np.union1d(fresh, more)
            if answers.full:
                return

    def _ties(self, answers: Answers, left: Indices, value: Vector, fresh: Indices) -> Indices:
        """Try all of a few vertices that are as good as the best; return what is left."""
        every = self.pool.values(answers.moved[left], fresh)
        near = every >= (value[left] - _TIE * (np.abs(value[left]) + 1e-300))[:, None]
        near[near.sum(axis=1) < 2] = False
        for number, tied in zip(fresh, near.T, strict=True):
            lines = np.flatnonzero(tied)
            if len(lines):
                which = np.full(len(lines), number)
                fits = answers.try_vertices(self.pool.vertices, which, left[lines])
                self.pool.used(which[fits])
                near[lines[fits]] = False
                left[lines[fits]] = -1
        return left[left >= 0]

    def _step(self, stage: SecondStage, answers: Answers, some: Indices, best: Indices) -> tuple[Indices, Indices]:
        """Dual simplex steps from the best vertices; return the scenarios not answered then, and the vertices met."""
        cost, values = answers.of_some(some)
        pool, sides = self.pool, (answers.lower[some], answers.upper[some])
        done, basic, at = optimal_bases(stage.form, pool.vertices, best[some], cost, values, *sides)
        first, again = numbered(one.tobytes() for one in at)
        found, good = stage.vertices(basic[first], at[first], cost, values)
        numbers = np.full(len(first), -1)
        numbers[good] = pool.add(found)
        numbers = numbers[again]
        served = np.zeros(len(some), dtype=bool)
        lines = np.flatnonzero(done)[numbers >= 0]
        numbers = numbers[numbers >= 0]
        served[lines] = answers.try_vertices(pool.vertices, numbers, some[lines])
        pool.used(numbers)
        self.stepped += int(served.sum())
        return some[~served], np.unique(numbers)

    def _solve(self, stage: SecondStage, answers: Answers, line: int, left: Indices) -> tuple[Indices, Indices]:
        """Solve one scenario; return those of `left` not known to be infeasible, and the vertex met, if any."""
        one = np.array([line])
        cost, values = answers.of_some(one)
        solved = answers.solve(self._program, int(line))
        self.solved += 1
        if isinstance(solved, DualVertex):
            return answers.add_ray(line, solved, left), left[:0]
        basic, at = self._program.basis()
        found, good = stage.vertices(basic[None], at[None], cost, values)
        number = self.pool.add(found)
        # a basis may miss its own scenario by more than the tolerance and still fit others
        if not good[0] or not answers.try_vertices(self.pool.vertices, number, one)[0]:
            answers.take({int(line): solved})
        return left, number


class Singly:
    """Where costs or W vary: each scenario has the vertex that was optimal for it last, and takes steps from there."""

    def __init__(self, stage: SecondStage, scenarios: range) -> None:
        self._program = stage.program()
        self._first = scenarios.start
        kept = min(len(scenarios), MOST_BYTES // bytes_of_one(stage.form))
        self._own = Vertices.room(kept, stage.form)
        self._known = np.zeros(kept, dtype=bool)
        self._duals = DualTable(stage.form.units)
        self.solved = self.stepped = 0

    def serve(self, stage: SecondStage, x: Vector, scenarios: range, sums: ScenarioSums) -> None:
        """Add the answers of successive scenarios to the sums."""
        step = max(1, min(_CHUNK, ENTRIES // sum(stage.form.shape)))
        if len(self._duals) > 4 * len(scenarios):
            # most of the rows are of no scenario any more: cuts of before keep the old table
            self._duals = DualTable(stage.form.units)
            self._own.row[self._known] = self._duals.add(self._own.multipliers[self._known])
        if len(scenarios) * stage.form.shape[0] > MOST_NUMBERS:
            sums.forget_duals()
        for start in range(scenarios.start, scenarios.stop, step):
            members = np.arange(start, min(start + step, scenarios.stop))
            answers = Answers(stage, x, members, sums, self._duals)
            self._chunk(stage, answers)
            if answers.full:
                return
            answers.gather()

    def _chunk(self, stage: SecondStage, answers: Answers) -> None:
        number = answers.members - self._first
        kept = number < len(self._own)
        left = np.arange(len(number))
        begun = np.flatnonzero(kept & self._known[np.where(kept, number, 0)]) if len(self._own) else left[:0]
        if len(begun):
            fits = answers.try_vertices(self._own, number[begun], begun)
            left, begun = np.setdiff1d(left, begun[fits]), begun[~fits]
        if len(begun):
            cost, values = answers.of_some(begun)
            sides = answers.lower[begun], answers.upper[begun]
            done, basic, at = optimal_bases(stage.form, self._own, number[begun], cost, values, *sides)
            served = self._keep(stage, answers, begun[done], basic, at)
            self.stepped += len(served)
            left = np.setdiff1d(left, served)
        found: dict[int, Solved] = {}
        bases, lines = [], []
        for line in left.tolist():
            seconds_left()
            solved = answers.solve(self._program, line)
            self.solved += 1
            if isinstance(solved, DualVertex):
                answers.add_ray(line, solved, left[:0])
                if answers.full:
                    return
                continue
            found[line] = solved
            if kept[line]:
                lines.append(line)
                bases.append(self._program.basis())
        if lines:
            basic, at = (np.array(part) for part in zip(*bases, strict=True))
            for line in self._keep(stage, answers, np.array(lines), basic, at).tolist():
                del found[line]
        answers.take(found)

    def _keep(
        self, stage: SecondStage, answers: Answers, lines: Indices, basic: Indices, at: NDArray[np.int8]
    ) -> Indices:
        """Vertices of these scenarios from now on; return those that they answer."""
        if not len(lines):
            return lines
        cost, values = answers.of_some(lines)
        found, good = stage.vertices(basic, at, cost, values)
        lines = lines[good]
        number = answers.members[lines] - self._first
        found.row = self._duals.add(found.multipliers)
        self._own.put(number, found)
        self._known[number] = True
        fits = answers.try_vertices(self._own, number, lines)
        return lines[fits]
