"""HiGHS' solution of all scenarios in one program, the extensive form: a point to ask first, and a minorant."""

from copy import copy
from importlib.metadata import version
from time import perf_counter

import highspy
import numpy as np
from scipy import sparse

from oracle_opt._deadline import Deadline, seconds_left
from oracle_opt._highs_model import HighsError, HighsProgram, units_of
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.generator import Minorant
from oracle_opt.oracles.benders.dual_simplex import small_enough
from oracle_opt.oracles.benders.scenario_data import Indices, finite_ends
from oracle_opt.oracles.benders.scenario_duals import DualTable
from oracle_opt.oracles.benders.scenario_solvers import Answers
from oracle_opt.oracles.benders.scenario_sums import ScenarioSums
from oracle_opt.oracles.benders.second_stage import SecondStage
from oracle_opt.proposal import Proposal

# Rows of all scenarios together up to which HiGHS is asked first (docs/peers.md), and where the second stage is so
# large that cuts take a program for each scenario; the latter was seen to hold at 3,800 and 38,000 rows.
HELD = 1e-9  # of its terms: by how much a solver's scenario misses a row
MOST_ROWS, MOST_ROWS_ALONE = 10_000, 20_000


def proposed(stage: SecondStage, domain: Domain) -> Proposal | None:
    """The proposal of HiGHS; `None` where scenarios are so many that cuts are sooner."""
    m, different = stage.form.shape[0], min(stage.problem.n_scenarios, len(stage.outcomes))
    alone = not (small_enough(stage.form.shape) or stage.sections)
    if different * m > (MOST_ROWS_ALONE if alone else MOST_ROWS):
        return None
    once = copy(stage)  # what was drawn several times is one scenario
    once.outcomes, which = np.unique(stage.outcomes, axis=0, return_inverse=True)
    once.probability = np.bincount(which.ravel(), stage.probability).astype(float)
    name = f"HiGHS {version('highspy')} on all scenarios together"
    try:
        with Deadline(perf_counter() + 0.5 * seconds_left()):  # the other half is for cuts
            program = extensive_form(once)
            status = program.run()
    except HighsError as failure:
        return Proposal(None, None, f"{name}: {failure}")
    if status != highspy.HighsModelStatus.kOptimal:
        return Proposal(None, None, f"{name}: {program.ending(status)}")
    found, multipliers = program.solution()
    x = domain.project(found[: domain.dimension])
    pi = multipliers[-len(once.outcomes) * m :].reshape(-1, m) / once.probability[:, None]
    return Proposal(x, minorant(stage, x, pi[which.ravel()]), f"{name}: optimal")


def extensive_form(stage: SecondStage) -> HighsProgram:
    """``min c @ x + sum_s p_s q_s @ y_s`` in HiGHS: the rows of the first stage, then those of each scenario."""
    problem, frame, form, outcomes = stage.problem, stage.frame, stage.form, stage.outcomes
    (m, k), n, s = form.shape, problem.c.size, len(outcomes)
    members = np.arange(s)
    below, own = sparse.kron(np.ones((s, 1)), problem.T), sparse.kron(sparse.eye_array(s), form.W)
    for b, rows, columns, change in frame.changes:
        below = below + _of_scenarios(change[outcomes[:, b]], rows, columns, (m, 0), below.shape)
    if (values := stage.entries(members)) is not None:
        rows, columns = form.entries.T
        own = own + _of_scenarios(values, rows, columns, (m, k), own.shape)
    first = sparse.csr_array((problem.A.shape[0], s * k))
    matrix = sparse.csr_array(sparse.vstack([sparse.hstack([problem.A, first]), sparse.hstack([below, own])]))
    moved = frame.moved(np.zeros(n), outcomes)
    lower = np.r_[problem.first_lower, (problem.row_lower + moved).ravel()]
    upper = np.r_[problem.first_upper, (problem.row_upper + moved).ravel()]
    least, most = np.r_[frame.lower, np.tile(problem.y_lower, s)], np.r_[frame.upper, np.tile(problem.y_upper, s)]
    row_units, units = units_of(matrix, finite_ends(lower, upper), least, most)
    program = HighsProgram({"presolve": "choose"})
    program.add_columns(least, most, units=units)
    program.add_rows(matrix, lower, upper, row_units)
    program.change_costs(np.r_[problem.c, (stage.probability[:, None] * stage.costs(members)).ravel()])
    return program


def _of_scenarios(
    values: Matrix, rows: Indices, columns: Indices, step: tuple[int, int], shape: tuple[int, int]
) -> sparse.csr_array:
    """Entries that vary, a line a scenario; each block begins so many rows and columns after the one before."""
    at = np.arange(len(values))[:, None]
    places = (rows + step[0] * at).ravel(), (columns + step[1] * at).ravel()
    return sparse.csr_array((values.ravel(), places), shape=shape)


def minorant(stage: SecondStage, x: Vector, pi: Matrix) -> Minorant | None:
    """The cut at x that multipliers of any origin give, a line a scenario, with what proves it; `None` if none."""
    duals, sums = DualTable(stage.form.units), ScenarioSums(stage.frame, x, 1, len(pi))
    answers = Answers(stage, x, np.arange(len(pi)), sums, duals)
    answers.take_all(pi)
    answers.gather()
    cut = sums.cut()
    assert isinstance(cut, ObjectiveCut)  # without rays
    if not np.isfinite(cut.value):  # a reduced cost of a free variable is too far from 0
        return None
    at, terms = cut.subgradient @ x, np.abs(cut.subgradient) @ np.abs(x) + abs(cut.value)
    error, saved = 2.0 * EPS * (len(x) + 4) * float(terms), HELD * float(terms + np.abs(stage.problem.c) @ np.abs(x))
    return Minorant(float(cut.value - at), cut.subgradient, error, saved, extras=cut.extras)
