"""MKL by its own methods runs through the driver: journals, limits, callbacks, and regularizers of users."""

import numpy as np
import pytest
from lp_problems import SOLVERS, named, random_problem

from oracle_opt import CapabilityMismatch, JournalMismatch, Status, minimize
from oracle_opt._deadline import Deadline
from oracle_opt.errors import Exhausted, OutOfTime
from oracle_opt.generators import SPG, LevelSet
from oracle_opt.oracles import ElasticNet, EntropyRegularizer, GMKLOracle, GramBank, LpRegularizer, Regularizer
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, SmoothDual, WeightDerivative, smo_mkl, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge
from oracle_opt.testing import KnownProblem, check_generator

LOSSES = {
    "hinge": lambda y, t: (y, Hinge(10.0)),
    "squared hinge": lambda y, t: (y, SquaredHinge(10.0)),
    "epsilon": lambda y, t: (t, EpsilonInsensitive(10.0, 0.1)),
    "one class": lambda y, t: (None, OneClass(0.3)),
}


pytestmark = pytest.mark.usefixtures("unflushed")


def assert_same(one, other):
    assert one.status is other.status
    np.testing.assert_array_equal(one.point, other.point)
    for column in ("step", "value", "error", "upper_bound", "lower_bound"):
        np.testing.assert_array_equal(getattr(one.history, column), getattr(other.history, column))
    assert one.cut.extras["n_steps"] == other.cut.extras["n_steps"]


@pytest.mark.campaign(5)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "solver", [NewtonMKL(), SMOMKL(), SMOMKL(polish_points=0), SMOMKL(polish_points=0, working_points=4)], ids=repr
)
def test_a_killed_run_goes_on_from_its_journal(solver, loss, tmp_path):
    bank, _, y, targets = random_problem(6)
    given, of_loss = LOSSES[loss](y, targets)
    options = {"loss": of_loss, "rtol": 1e-8, "solver": solver}
    whole = solve_mkl(bank, given, LpRegularizer(1.2), **options)
    for calls in range(whole.n_calls + 1):
        journal = tmp_path / f"{calls}"
        solve_mkl(bank, given, LpRegularizer(1.2), max_calls=calls, journal=journal, **options)
        resumed = solve_mkl(bank, given, LpRegularizer(1.2), journal=journal, **options)
        assert_same(resumed, whole)


def test_the_fallback_goes_on_from_a_journal(tmp_path):
    bank, _, y, _ = random_problem(3)
    whole = solve_mkl(bank, y, LpRegularizer(1.002), C=100.0)
    assert whole.cut.extras["n_steps"] > 0  # of the fallback
    for calls in (1, whole.n_calls // 2, whole.n_calls - 1):
        journal = tmp_path / f"{calls}"
        solve_mkl(bank, y, LpRegularizer(1.002), C=100.0, max_calls=calls, journal=journal)
        assert_same(solve_mkl(bank, y, LpRegularizer(1.002), C=100.0, journal=journal), whole)


def test_replayed_answers_cost_no_machine(tmp_path):
    class CountingBank(GramBank):
        solved = 0

        def quadratic_forms(self, v):
            self.solved += 1
            return super().quadratic_forms(v)

    _, kernels, y, _ = random_problem(6)
    bank = CountingBank(kernels)
    whole = solve_mkl(bank, y, LpRegularizer(1.5), journal=tmp_path / "journal")
    bank.solved = 0
    again = solve_mkl(bank, y, LpRegularizer(1.5), journal=tmp_path / "journal", journal_check=False)
    assert_same(again, whole)
    assert bank.solved == 0
    assert solve_mkl(bank, y, LpRegularizer(1.5), journal=tmp_path / "journal").n_calls == whole.n_calls
    assert bank.solved == 1  # the last query, asked again


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": -1}, "another oracle"),
        ({"C": 11.0}, "another oracle"),
        ({"regularizer": LpRegularizer(1.6)}, "another oracle"),
        ({"loss": SquaredHinge(10.0), "C": None}, "another oracle"),
        ({"solver": SMOMKL()}, "another generator"),
        ({"rtol": 1e-9}, "another generator"),
    ],
)
def test_journals_of_other_runs_are_refused(change, words, tmp_path):
    bank, _, y, _ = random_problem(6)
    arguments = {"y": y, "regularizer": LpRegularizer(1.5), "C": 10.0, "journal": tmp_path / "journal"}
    solve_mkl(bank, **arguments)
    if "y" in change:
        change = {"y": -y}
    with pytest.raises(JournalMismatch, match=words):
        solve_mkl(bank, **(arguments | change))


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_a_callback_sees_every_call_and_stops_the_run(solver):
    bank, _, y, _ = random_problem(6)
    whole, seen = solve_mkl(bank, y, LpRegularizer(1.2), solver=solver, keep_cuts=True), []

    def callback(record):
        seen.append(record)
        return record.call == 2

    result = solve_mkl(bank, y, LpRegularizer(1.2), solver=solver, callback=callback)
    assert (result.status, result.n_calls) == (Status.STOPPED, 2)
    assert [record.upper_bound for record in seen] == whole.history.upper_bound[:2].tolist()
    assert len(whole.history.cuts) == whole.n_calls


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_an_absolute_gap_ends_a_run(solver):
    bank, _, y, _ = random_problem(6)
    result = solve_mkl(bank, y, LpRegularizer(1.5), rtol=0.0, atol=1e-2, solver=solver)
    assert result.status is Status.CONVERGED
    assert 0 <= result.gap <= 1e-2
    assert result.n_calls < solve_mkl(bank, y, LpRegularizer(1.5), rtol=1e-9, solver=solver).n_calls


def test_the_clock_ends_the_steps(monkeypatch):
    bank, _, y, _ = random_problem(6)
    left = [3]

    def seconds_left():
        left[0] -= 1
        if left[0] < 0:
            raise OutOfTime("over")

    monkeypatch.setattr(smo_mkl, "seconds_left", seconds_left)
    result = solve_mkl(bank, y, LpRegularizer(1.5), rtol=1e-12, solver=SMOMKL(polish_points=0))
    assert result.status is Status.MAX_SECONDS
    assert result.lower_bound < result.upper_bound < np.inf
    left[0] = 0  # before the first query
    result = solve_mkl(bank, y, LpRegularizer(1.5), rtol=1e-12, solver=SMOMKL())
    assert (result.status, result.n_calls) == (Status.MAX_SECONDS, 0)


def test_the_compiled_steps_look_at_the_clock():
    bank, _, y, _ = random_problem(6)
    problem = GMKLOracle(bank, y, LpRegularizer(1.5)).domain.problem
    dual = problem.dual
    sets = smo_mkl.WorkingSets(bank, problem.pieces, dual.penalty(), np.zeros(y.size), y.size, 1 << 20)
    before = sets.x.copy()
    smo_mkl.seconds_left()
    with Deadline(0.0), pytest.raises(OutOfTime):
        smo_mkl.take_steps(
            sets.cache,
            dual.penalty(),
            problem.pieces.linear,
            problem.pieces.ridge,
            problem.pieces.lower,
            problem.pieces.upper,
            bank.diagonal(),
            sets.x,
            sets.M,
            sets.S,
            0.0,
            1000,
        )
    np.testing.assert_array_equal(sets.x, before)


def test_interruption_of_the_steps_keeps_what_is_known():
    class InterruptedBank(GramBank):
        left = 40

        def entries(self, rows, columns):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().entries(rows, columns)

    _, kernels, y, _ = random_problem(3)
    result = solve_mkl(InterruptedBank(kernels), y, rtol=1e-12, solver=SMOMKL(polish_points=0, working_points=4))
    assert result.status is Status.INTERRUPTED
    assert result.n_calls >= 1
    assert result.lower_bound < result.upper_bound < np.inf


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_asking_twice_asks_the_same(solver):
    bank, _, y, _ = random_problem(6)
    oracle = GMKLOracle(bank, y, LpRegularizer(1.5))
    solver.reset(oracle.domain, oracle.domain.interior_point())
    while True:
        try:
            query = solver.ask()
        except Exhausted:
            break
        point = query.point.copy()
        assert solver.ask() is query
        np.testing.assert_array_equal(query.point, point)
        cut = oracle.query(query)
        solver.tell(cut)
        if cut.upper - cut.lower_bound <= 1e-6 * cut.upper:
            break
    assert cut.upper - cut.lower_bound <= 1e-6 * cut.upper


@pytest.mark.campaign(2)
@pytest.mark.parametrize(
    "solver", [NewtonMKL(), NewtonMKL(fallback=None), SMOMKL(), SMOMKL(polish_points=0, working_points=5)], ids=repr
)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_contract_of_generators_is_kept(loss, solver):
    bank, _, y, targets = random_problem(6)
    given, of_loss = LOSSES[loss](y, targets)
    best = solve_mkl(bank, given, LpRegularizer(1.5), loss=of_loss, rtol=1e-9)
    oracle = GMKLOracle(bank, given, LpRegularizer(1.5), loss=of_loss)
    problem = KnownProblem(loss, oracle, 0.5 * (best.upper_bound + best.lower_bound), accuracy=1e-7)
    assert check_generator(solver, [problem], domains=()) == (loss,)


def test_why_a_method_ends_is_said():
    bank, _, y, _ = random_problem(3)
    result = solve_mkl(bank, y, solver=SMOMKL(max_steps=3))
    assert result.status is Status.EXHAUSTED
    assert "limit of steps" in result.message
    result = solve_mkl(bank, y, LpRegularizer(1.002), C=100.0, solver=NewtonMKL(fallback=None))
    assert result.status is Status.EXHAUSTED
    assert "Its reason: " in result.message


class Cubic(Regularizer):
    """``sum(d**3) / 3``, whose conjugate is ``2/3 sum(s**1.5)``."""

    convex = True

    def value(self, d):
        return float((d**3).sum()) / 3.0

    def gradient(self, d):
        return d**2

    def conjugate(self, s):
        return 2.0 / 3.0 * float((s**1.5).sum())

    def smooth_dual(self, n_kernels):
        return CubicDual(self, n_kernels)


class CubicDual(SmoothDual):
    def weights(self, S):
        return np.sqrt(0.5 * S)

    def derivative(self, S):
        return WeightDerivative(0.25 / np.sqrt(np.maximum(0.5 * S, 1e-12)), np.zeros_like(S), 0.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_regularizers_of_users_are_solved_by_newton(loss):
    bank, _, y, targets = random_problem(6)
    given, of_loss = LOSSES[loss](y, targets)
    result = solve_mkl(bank, given, Cubic(), loss=of_loss)
    peer = solve_mkl(bank, given, LpRegularizer(3.0, 1.0), loss=of_loss)
    assert result.status is Status.CONVERGED
    asked = minimize(GMKLOracle(bank, given, Cubic(), loss=of_loss, radius=50.0), SPG(), rtol=1e-6)
    assert asked.success
    assert max(result.lower_bound, asked.lower_bound) <= min(result.upper_bound, asked.upper_bound) + 1e-9
    assert abs(result.upper_bound - peer.upper_bound) > 1e-3  # another problem
    with pytest.raises(CapabilityMismatch, match=r"SMOMKL cannot serve .*compiled steps do not know Cubic"):
        solve_mkl(bank, given, Cubic(), loss=of_loss, solver=SMOMKL())
    with pytest.raises(CapabilityMismatch, match=r"take NewtonMKL\(fallback=None\)"):
        solve_mkl(bank, given, Cubic(), loss=of_loss, solver=NewtonMKL())


@pytest.mark.parametrize(
    "regularizer", [LpRegularizer(1.5), EntropyRegularizer(0.5, 0.3), ElasticNet(0.2, 0.3)], ids=repr
)
@pytest.mark.parametrize("loss", LOSSES)
def test_generators_find_the_same_optimum(loss, regularizer):
    bank, _, y, targets = random_problem(8)
    given, of_loss = LOSSES[loss](y, targets)
    direct = solve_mkl(bank, given, regularizer, loss=of_loss, rtol=1e-9)
    assert direct.success
    oracle = GMKLOracle(bank, given, regularizer, loss=of_loss, radius=max(1.0, 2.0 * direct.point.max()))
    asked = minimize(oracle, LevelSet(), rtol=1e-6)
    assert asked.success
    slack = 1e-9 * max(1.0, abs(direct.upper_bound))
    assert max(direct.lower_bound, asked.lower_bound) <= min(direct.upper_bound, asked.upper_bound) + slack
