"""Who serves the scenarios of a query: large programs one by one, sections by themselves, and tasks of an executor."""

from copy import copy
from typing import Any

import highspy
import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Vector
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.recourse import Solved
from oracle_opt.oracles.benders.scenario_duals import MOST_NUMBERS, DualTable
from oracle_opt.oracles.benders.scenario_solvers import ENTRIES, Answers, Bunched, Singly
from oracle_opt.oracles.benders.scenario_sums import ScenarioSums, Share
from oracle_opt.oracles.benders.second_stage import SecondStage

Packed = dict[int, tuple[bytes, bytes]]  # by scenario: where each column and each row is in its last basis


class Warm:
    """HiGHS for each scenario, from its last optimal basis: where bases are too large for their inverses."""

    def __init__(self, stage: SecondStage) -> None:
        self._program = stage.program()
        self._bases: dict[int, Any] = {}
        self._last = -1

    def serve(self, stage: SecondStage, x: Vector, scenarios: range, sums: ScenarioSums) -> None:
        """Add the answers of successive scenarios to the sums."""
        step = max(1, ENTRIES // sum(stage.form.shape))
        duals = DualTable(stage.form.units)
        if len(scenarios) * stage.form.shape[0] > MOST_NUMBERS:
            sums.forget_duals()
        for start in range(scenarios.start, scenarios.stop, step):
            answers = Answers(stage, x, np.arange(start, min(start + step, scenarios.stop)), sums, duals)
            found: dict[int, Solved] = {}
            for line, member in enumerate(answers.members.tolist()):
                seconds_left()
                if member in self._bases and member != self._last:
                    self._program.program.begin(self._bases[member])
                self._last = member
                solved = answers.solve(self._program, line)
                if isinstance(solved, Solved):
                    found[line], self._bases[member] = solved, self._program.program.basis()
                    continue
                answers.add_ray(line, solved, np.arange(0))
                if answers.full:
                    return
            answers.take(found)
            answers.gather()

    def packed(self) -> Packed:
        """The bases as bytes, by scenario, for a task that goes elsewhere."""
        return {
            member: (bytes(map(int, basis.col_status)), bytes(map(int, basis.row_status)))
            for member, basis in self._bases.items()
        }

    def unpack(self, bases: Packed) -> None:
        """Begin at these bases."""
        kinds = {int(kind): kind for kind in highspy.HighsBasisStatus.__members__.values()}
        for member, (columns, rows) in bases.items():
            basis = self._bases[member] = highspy.HighsBasis()
            basis.col_status, basis.row_status = ([kinds[i] for i in each] for each in (columns, rows))
            basis.valid = True


class InSections:
    """The sections of a second stage, each served by itself."""

    def __init__(self, stage: SecondStage, scenarios: range) -> None:
        self._servers = [server_of(section, scenarios) for section in stage.sections]

    def serve(self, stage: SecondStage, x: Vector, scenarios: range, sums: ScenarioSums) -> None:
        """Add the answers of successive scenarios to the sums."""
        each = [section.empty_sums(x) for section in stage.sections]
        for section, server, own in zip(stage.sections, self._servers, each, strict=True):
            server.serve(section, x, scenarios, own)
        sums.join(each)


def server_of(stage: SecondStage, scenarios: range) -> Bunched | Singly | Warm | InSections:
    """A new solver of these scenarios."""
    if stage.sections:
        return InSections(stage, scenarios)
    if not small_enough(stage.form.shape):
        return Warm(stage)
    return Bunched(stage, stage.start) if stage.problem.only_rows_vary else Singly(stage, scenarios)


def share_of(
    stage: SecondStage, x: Vector, first: int, last: int, bases: list[Packed]
) -> tuple[list[Share], list[Packed]]:
    """Sums over scenarios `first` to `last` - 1, or those of so many sections, and the bases to begin at next time.

    Only the bases that the last query ended with are known of it: who does the task moves no bit.
    """
    if stage.sections:
        count, sections = len(stage.probability), stage.sections[first:last]
        each = [share_of(section, x, 0, count, bases[i : i + 1]) for i, section in enumerate(sections)]
        return [share for shares, _ in each for share in shares], [one for _, own in each for one in own]
    sums, scenarios = stage.empty_sums(x), range(first, last)
    server, fresh = server_of(stage, scenarios), copy(stage)
    fresh.interiors = stage.interiors.anew()
    if isinstance(server, Warm):
        server.unpack(bases[0] if bases else {})
    server.serve(fresh, x, scenarios, sums)
    return [sums.share()], [server.packed() if isinstance(server, Warm) else {}]
