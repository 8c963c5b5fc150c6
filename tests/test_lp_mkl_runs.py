"""lp-norm multiple kernel learning: how runs end, repeat and fail, and bad arguments."""

import importlib
from math import inf
from time import perf_counter

import numpy as np
import pytest
from lp_problems import SOLVERS, named, random_problem

from oracle_opt import CapabilityMismatch, InvalidArgument, Status, minimize
from oracle_opt.oracles import EntropyRegularizer, GMKLOracle, GramBank, LpRegularizer, MKLOracle
from oracle_opt.oracles._processor import AVX2
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_lp_mkl, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_limits_are_reported(solver):
    bank, _, y, _ = random_problem(3)
    for limits, status, calls in (
        ({"max_calls": 0}, Status.MAX_CALLS, 0),
        ({"max_calls": 1}, Status.MAX_CALLS, 1),
        ({"max_seconds": 0.0}, Status.MAX_SECONDS, 0),
    ):
        result = solve_lp_mkl(bank, y, solver=solver, rtol=1e-12, **limits)
        assert (result.status, result.n_calls, result.success) == (status, calls, False)


@pytest.mark.parametrize("seed", range(3))
def test_without_combined_kernels(seed):
    class ColumnsOnly(GramBank):
        def combine(self, weights, out=None):
            raise AssertionError("asked for a combined kernel")

    _, kernels, y, _ = random_problem(seed)
    result = solve_lp_mkl(ColumnsOnly(kernels), y, 20.0, 1.5, solver=SMOMKL(polish_points=0))
    peer = solve_lp_mkl(GramBank(kernels), y, 20.0, 1.5)
    assert result.status is Status.CONVERGED
    assert max(result.lower_bound, peer.lower_bound) <= min(result.upper_bound, peer.upper_bound) * (1 + 1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
@pytest.mark.parametrize("p", [1.2, 2.0, 4.0])
def test_kernels_that_tell_no_points_apart(p, solver):
    y = np.array([1.0, 1.0, -1.0])
    result = solve_lp_mkl(GramBank([np.ones((3, 3)), np.full((3, 3), 2.0)]), y, 3.0, p, solver=solver)
    assert result.status is Status.CONVERGED
    # nothing but the bias is left: one point of the smaller class stays on the wrong side
    assert result.upper_bound == pytest.approx(6.0)
    assert result.point == pytest.approx(np.zeros(2))


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_rounded_kernels(solver):
    _, kernels, y, _ = random_problem(2)
    one, other = (solve_lp_mkl(GramBank(kernels, dtype=dtype), y, solver=solver) for dtype in ("float32", "float64"))
    assert one.status is Status.CONVERGED
    assert one.upper_bound == pytest.approx(other.upper_bound, rel=1e-4)


def test_step_limit_is_kept():
    bank, _, y, _ = random_problem(3)
    result = solve_lp_mkl(bank, y, solver=SMOMKL(max_steps=3))
    assert result.status is Status.EXHAUSTED
    assert result.cut.extras["n_steps"] == 3
    assert 0 < result.lower_bound < result.upper_bound


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_rounding_ends_a_run(solver):
    bank, _, y, _ = random_problem(3)
    result = solve_lp_mkl(bank, y, 10.0, rtol=0.0, solver=solver)
    assert result.status in (Status.EXHAUSTED, Status.CONVERGED)
    assert result.relative_gap <= 1e-11  # with the rounding of quadratic forms and regularizer, which bounds contain


def test_hard_svms_and_steep_weights_are_left_to_the_fallback():
    bank, _, y, _ = random_problem(3)
    result = solve_lp_mkl(bank, y, 100.0, 1.002)
    assert result.status is Status.CONVERGED
    assert result.cut.extras["n_steps"] > 0
    # a fallback that may do nothing leaves the run unfinished
    idle = solve_lp_mkl(bank, y, 100.0, 1.002, solver=NewtonMKL(fallback=SMOMKL(max_steps=0)))
    assert idle.status is Status.EXHAUSTED
    assert idle.lower_bound <= result.upper_bound


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_interruption_keeps_what_is_known(solver):
    class InterruptedBank(GramBank):
        left = 3

        def quadratic_forms(self, v):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().quadratic_forms(v)

    _, kernels, y, _ = random_problem(3)
    result = solve_lp_mkl(InterruptedBank(kernels), y, rtol=1e-12, solver=solver)
    assert result.status is Status.INTERRUPTED
    assert result.n_calls == 3
    assert result.lower_bound < result.upper_bound < np.inf


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_failure_keeps_what_is_known(solver):
    class FailingBank(GramBank):
        left = 2

        def quadratic_forms(self, v):
            self.left -= 1
            if self.left < 0:
                raise OSError("the disk is gone")
            return super().quadratic_forms(v)

    _, kernels, y, _ = random_problem(3)
    with pytest.raises(OSError, match="the disk is gone") as failure:
        solve_lp_mkl(FailingBank(kernels), y, rtol=1e-12, solver=solver)
    assert (failure.value.result.status, failure.value.result.n_calls) == (Status.FAILED, 2)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_a_run_repeats(solver):
    bank, _, y, _ = random_problem(6)
    one, other = (solve_lp_mkl(bank, y, p=1.2, solver=solver) for _ in range(2))
    np.testing.assert_array_equal(one.point, other.point)
    np.testing.assert_array_equal(one.history.upper_bound, other.history.upper_bound)


@pytest.mark.parametrize("regularizer", [LpRegularizer(2.0), LpRegularizer(1.2), EntropyRegularizer(1.0, np.ones(4))])
def test_the_two_builds_take_the_same_steps(regularizer):
    if not AVX2:
        pytest.skip("one build only on this processor, or the plain one is forced")
    bank, _, y, _ = random_problem(9)
    n, p = bank.n_points, bank.n_kernels
    loss = Hinge(5.0).dual(y, n)
    diagonal = bank.diagonal()
    outcomes = []
    for name in ("mkl", "avx2"):
        loops = importlib.import_module(f"oracle_opt.oracles.{name}._lpmkl")
        if isinstance(regularizer, EntropyRegularizer):
            penalty = loops.Entropy(regularizer.reference, 1.0)
        else:
            penalty = loops.SquaredNorm(1.0) if regularizer.p == 2.0 else loops.LpNorm(regularizer.p, 1.0)
        cache = loops.ColumnCache(lambda i: bank.entries([i], np.arange(n))[0], n, p, n)
        x, M, S, box = np.zeros(n), np.zeros((n, p)), np.zeros(p), (np.zeros(n), loss.lower, loss.upper)
        loops.take_steps(cache, penalty, loss.linear, *box, diagonal, x, M, S, 1e-10, 100_000)
        np.testing.assert_allclose(S, bank.quadratic_forms(x), rtol=1e-8)
        outcomes.append(np.r_[x, S])
    np.testing.assert_allclose(*outcomes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("p", [1, 1.0, 0.5, -2.0, np.nan, np.inf])
def test_p_has_to_be_greater_than_one(p):
    bank, _, y, _ = random_problem(3)
    words = r"`p` must be above 1.*MKLOracle" if np.isfinite(p) else "`p` must be finite"
    with pytest.raises(InvalidArgument, match=words):
        solve_lp_mkl(bank, y, p=p)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lam": 0.0}, "`lam` must be positive"),
        ({"lam": np.inf}, "`lam` must be positive and finite"),
        ({"C": -1.0}, "`C` must be positive"),
        ({"rtol": -1e-3}, "`rtol` must be at least 0"),
        ({"rtol": np.nan}, "`rtol` must be at least 0"),
        ({"max_calls": -1}, "`max_calls` must be a whole number of at least 0"),
        ({"max_seconds": -1.0}, "`max_seconds` must be at least 0"),
        ({"solver": "smo"}, "`solver` must be an MKLSolver object"),
        ({"y": [1, -1]}, "`y` must have .* labels"),
        ({"y": [1, 2]}, "`y` must hold the labels"),
    ],
)
def test_arguments_are_checked(arguments, words):
    bank, _, y, _ = random_problem(3)
    with pytest.raises(InvalidArgument, match=words):
        solve_lp_mkl(**{"bank": bank, "y": y} | arguments)


def test_parts_are_checked():
    bank, _, y, targets = random_problem(3)
    with pytest.raises(InvalidArgument, match="`reference` must have 4 weights"):
        solve_mkl(bank, y, EntropyRegularizer(1.0, [1.0, 2.0]))
    for regularizer in (LpRegularizer(2, power=1), LpRegularizer(1)):
        with pytest.raises(InvalidArgument, match=r"`regularizer` must have a smooth dual.* GMKLOracle.* MKLOracle"):
            solve_mkl(bank, y, regularizer)
    with pytest.raises(InvalidArgument, match="`regularizer` must be a Regularizer"):
        solve_mkl(bank, y, Hinge())
    with pytest.raises(InvalidArgument, match="`loss` must be a Loss"):
        solve_mkl(bank, y, LpRegularizer(2), loss=LpRegularizer(2))
    with pytest.raises(InvalidArgument, match="`C` is short for"):
        solve_mkl(bank, y, LpRegularizer(2), loss=Hinge(), C=1.0)
    with pytest.raises(InvalidArgument, match="`bank` must be a KernelBank"):
        solve_mkl(np.eye(3), [1, 1, -1], LpRegularizer(2))
    with pytest.raises(InvalidArgument, match="`y` must be finite"):
        solve_mkl(bank, np.where(targets > 0, targets, np.nan), LpRegularizer(2), loss=EpsilonInsensitive())
    for name in ("cache_bytes", "max_steps", "polish_points"):
        with pytest.raises(InvalidArgument, match=f"`{name}` must be a whole number of at least 0"):
            SMOMKL(**{name: -1})
    with pytest.raises(InvalidArgument, match="`working_points` must be a whole number of at least 2, got 1"):
        SMOMKL(working_points=1)
    for solver in (SMOMKL(), NewtonMKL()):
        with pytest.raises(CapabilityMismatch, match=r"cannot serve MKLOracle .* the domain of a GMKLOracle"):
            minimize(MKLOracle(bank, y, 1.0), solver)
        with pytest.raises(CapabilityMismatch, match=r"cannot serve GMKLOracle .* a smooth dual of the regularizer"):
            minimize(GMKLOracle(bank, y, LpRegularizer(2, power=1), C=1.0), solver)


@pytest.mark.parametrize("solver", [SMOMKL(), NewtonMKL()], ids=repr)
def test_seconds_of_a_run_are_parts_of_it(solver):
    bank, _, y, _ = random_problem(6)
    began = perf_counter()
    result = solve_lp_mkl(bank, y, p=1.5, solver=solver)
    elapsed = perf_counter() - began
    history = result.history
    assert (history.oracle_seconds >= 0).all()
    assert (history.generator_seconds >= 0).all()
    assert 0 < result.oracle_seconds + result.generator_seconds <= elapsed
    assert result.oracle_seconds == pytest.approx(history.oracle_seconds.sum())
    assert result.generator_seconds == pytest.approx(history.generator_seconds.sum())


@pytest.mark.campaign(inf)
def test_many_kernels_do_not_widen_the_gap_that_counts():
    """The value at a start of ones grows with p, and a share of the decrease from there counts as closed."""
    from oracle_opt.oracles import RBFBank

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=40) > 0, 1.0, -1.0)
    bank = RBFBank.from_quantiles(X, 200_000, np.arange(10)[:, None])
    result = solve_lp_mkl(bank, y, p=1.33, rtol=1e-3)
    assert result.status is Status.CONVERGED
    assert result.relative_gap <= 1e-3
