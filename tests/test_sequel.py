"""What follows the generator that `minimize` chose: smoothness, kinks, errors, ends are seen, and nothing is lost."""

from itertools import pairwise

import numpy as np
import pytest
from journal_runs import assert_same_history

from oracle_opt import (
    Ball,
    Box,
    FreeSpace,
    FunctionOracle,
    ObjectiveCut,
    Polyhedron,
    Simplex,
    Status,
    minimize,
)
from oracle_opt.domains import Domain
from oracle_opt.generators import LBFGS, AnalyticCenter, ProximalBundle
from oracle_opt.generators.sequel import Sequel

LOOKS = "answers LBFGS() went on: the function looks smooth."
BACK = "answers ProximalBundle() went on: kinks were met."


def cube(n: int, side: float = 5.0) -> Box:
    return Box(np.full(n, -side), np.full(n, side))


def logistic(rng, n, m=None):
    """The mean logistic loss with a ridge: smooth, not quadratic."""
    m = m or 10 * n
    X = rng.normal(size=(m, n))
    y = np.sign(X @ rng.normal(size=n) + rng.logistic(size=m))

    def f(w):
        t = y * (X @ w)
        p = np.exp(-np.logaddexp(0.0, t))
        return float(np.logaddexp(0.0, -t).mean() + 0.005 * w @ w), 0.01 * w - X.T @ (y * p) / m

    return f


def hinge(rng, n, m):
    """The mean hinge loss with a ridge: the more points, the smoother it looks from afar."""
    X = rng.normal(size=(m, n))
    y = np.sign(X @ rng.normal(size=n) + 1.5 * rng.logistic(size=m))

    def f(w):
        t = 1 - y * (X @ w)
        return float(np.maximum(t, 0.0).mean() + 0.005 * w @ w), 0.01 * w - (y * (t > 0)) @ X / m

    return f


def pieces(rng, n, m=None):
    """The largest of affine functions."""
    A, b = rng.normal(size=(m or 5 * n, n)), rng.normal(size=m or 5 * n)

    def f(z):
        heights = A @ z + b
        i = int(heights.argmax())
        return float(heights[i]), A[i]

    return f


@pytest.mark.parametrize("seed", range(6))
def test_smooth_functions_are_seen_soon_and_end_sooner(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 5 * (seed + 2)
    oracle = FunctionOracle(logistic(rng, n), cube(n))
    chosen, alone = minimize(oracle, rtol=1e-6), minimize(oracle, ProximalBundle(), rtol=1e-6)
    assert chosen.success
    assert chosen.choice.endswith(LOOKS)
    assert chosen.generator == repr(LBFGS())
    assert int(chosen.choice.split(" After ")[1].split()[0]) <= 20
    assert chosen.n_calls < alone.n_calls
    assert chosen.lower_bound <= alone.upper_bound
    assert alone.lower_bound <= chosen.upper_bound


@pytest.mark.parametrize("seed", range(6))
def test_few_pieces_are_never_taken_for_smooth(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 3 * (seed + 2)
    oracle = FunctionOracle(pieces(rng, n), cube(n))
    chosen, alone = minimize(oracle), minimize(oracle, ProximalBundle())
    assert chosen.success
    assert "went on" not in chosen.choice
    assert_same_history(chosen, alone)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_what_looks_smooth_from_afar_leads_back_at_kinks(seed: int) -> None:
    """An average of very many kinks."""
    rng, n = np.random.default_rng(seed), 12
    oracle = FunctionOracle(hinge(rng, n, 20_000), FreeSpace(n, radius=20.0))
    chosen, alone = minimize(oracle), minimize(oracle, ProximalBundle())
    assert chosen.success
    assert LOOKS in chosen.choice
    assert chosen.choice.endswith(BACK)
    assert chosen.choice.count("went on") == 2
    assert chosen.n_calls <= 1.3 * alone.n_calls


@pytest.mark.parametrize("seed", range(3))
def test_badly_conditioned_functions_go_to_the_analytic_center(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 10
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (rng.normal(size=(8 * n, n)) * np.geomspace(1.0, 1e-5, n) ** 0.5) @ Q
    b = A @ rng.normal(size=n) + 0.3 * rng.normal(size=8 * n)

    def f(z):
        away = A @ z - b
        return float(away @ away) / 2, A.T @ away

    result = minimize(FunctionOracle(f, cube(n)), rtol=1e-6)
    alone = minimize(FunctionOracle(f, cube(n)), ProximalBundle(), rtol=1e-6)
    assert result.success
    assert result.choice.endswith("answers AnalyticCenter() went on: the gap fell too slowly.")
    assert result.n_calls < alone.n_calls


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**-7, 2.0**30])
@pytest.mark.parametrize("stretch", [2.0**-20, 2.0**10])
def test_the_decisions_have_no_unit(unit: float, stretch: float) -> None:
    n = 8
    f = logistic(np.random.default_rng(1), n)

    def scaled(z):
        value, slope = f(z * stretch)
        return unit * value, (unit * stretch) * slope

    plain = minimize(FunctionOracle(f, cube(n)), rtol=1e-4)
    other = minimize(FunctionOracle(scaled, cube(n, 5.0 / stretch)), rtol=1e-4)
    assert other.choice == plain.choice
    assert other.n_calls == plain.n_calls


def test_a_constant_added_to_the_function_changes_no_decision() -> None:
    f = logistic(np.random.default_rng(2), 6)

    def raised(z):
        value, slope = f(z)
        return value + 1e4, slope

    plain = minimize(FunctionOracle(f, cube(6)), rtol=0, atol=1e-5)
    other = minimize(FunctionOracle(raised, cube(6)), rtol=0, atol=1e-5)
    assert LOOKS in plain.choice
    assert other.choice == plain.choice


def test_rounding_is_no_kink() -> None:
    """Near the minimum both linearization errors are rounding, and say nothing."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(12, 4))
        b = A @ rng.normal(size=4)

        def f(z, A=A, b=b):
            away = A @ z - b
            return float(away @ away) + 1.0, 2.0 * (A.T @ away)

        result = minimize(FunctionOracle(f, cube(4)), rtol=1e-14, max_calls=200)
        assert "kinks" not in result.choice
        assert result.upper_bound == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("domain", [Simplex(12), Polyhedron(np.ones((1, 12)), np.ones(1), lower=-1.0, upper=1.0)])
def test_on_other_domains_than_bounds_smoothness_changes_nothing(domain: Domain) -> None:
    result = minimize(FunctionOracle(logistic(np.random.default_rng(3), 12), domain), rtol=1e-5)
    assert result.success
    assert "went on" not in result.choice


@pytest.mark.parametrize("seed", range(4))
def test_from_values_alone_it_goes_on_until_it_ends(seed: int) -> None:
    """`ProximalBundle` alone asks the same question again and again, where slopes have errors."""
    rng, n = np.random.default_rng(seed), 6 + 3 * seed
    A, b = rng.normal(size=(2 * n, n)), rng.normal(size=2 * n)

    def f(z):
        v = A @ z + b
        return float(v.max() + np.log(np.exp(v - v.max()).sum()) + 0.05 * z @ z)

    result = minimize(FunctionOracle.from_values(f, cube(n)), rtol=1e-4, max_calls=400)
    assert result.success
    assert "went on" in result.choice


class Stubborn(FunctionOracle):
    """It answers with an error that leaves a gap, and says so."""

    def query(self, query):
        value, slope = float(abs(query.point).sum()) + 1.0, np.sign(query.point)
        return ObjectiveCut(query.point, value - 0.05, slope, error=0.1)


def test_a_gap_that_errors_leave_is_no_reason_to_go_on_for_long() -> None:
    oracle = Stubborn(lambda z: (0.0, z), cube(3))
    result = minimize(oracle, rtol=1e-4, max_calls=500)
    assert result.status is not Status.CONVERGED
    assert result.n_calls < 60
    assert result.lower_bound <= 1.0 <= result.upper_bound


def test_nothing_is_lost_where_another_goes_on() -> None:
    """Bounds never fall, the best point stays, no point is asked about twice, and each answer is in the history."""
    oracle = FunctionOracle(hinge(np.random.default_rng(0), 12, 20_000), FreeSpace(12, radius=20.0))
    result = minimize(oracle, keep_cuts=True)
    lower, upper = result.history.lower_bound, result.history.upper_bound
    assert all(a <= b for a, b in pairwise(lower))
    assert all(a >= b for a, b in pairwise(upper))
    asked = [tuple(cut.point) for cut in result.history.cuts]
    assert len(set(asked)) == len(asked) == result.n_calls
    assert result.certificate().verify(oracle).lower == pytest.approx(result.lower_bound)


def test_known_cuts_are_told_to_those_who_follow() -> None:
    f = logistic(np.random.default_rng(4), 10)
    oracle = FunctionOracle(f, cube(10))
    first = minimize(oracle, ProximalBundle(), max_calls=8, keep_cuts=True, rtol=1e-6)
    again = minimize(oracle, cuts=first.history.cuts, rtol=1e-6)
    assert LOOKS in again.choice
    assert again.success
    assert again.n_calls + 8 <= minimize(oracle, rtol=1e-6).n_calls + 6  # what is known is not asked again, or little


@pytest.mark.parametrize("calls", [*range(1, 30), 60])
def test_it_can_be_cut_at_every_call_and_resumed(tmp_path, calls: int) -> None:
    """Decisions are functions of the answers: a journal replays them."""
    oracle = FunctionOracle(hinge(np.random.default_rng(0), 12, 20_000), FreeSpace(12, radius=20.0), name="hinge")
    path = tmp_path / "journal"
    minimize(oracle, max_calls=calls, journal=path)
    resumed, whole = minimize(oracle, max_calls=70, journal=path), minimize(oracle, max_calls=70)
    assert_same_history(whole, resumed)
    assert resumed.choice == whole.choice


@pytest.mark.parametrize("stop", range(3, 12))
def test_a_callback_may_stop_it_anywhere(stop: int) -> None:
    oracle = FunctionOracle(logistic(np.random.default_rng(5), 9), cube(9))
    result = minimize(oracle, callback=lambda record: record.call == stop)
    assert result.status is Status.STOPPED
    assert result.n_calls == stop


def test_an_interrupt_while_another_takes_over_loses_nothing(monkeypatch) -> None:
    def interrupted(self, domain, point):
        raise KeyboardInterrupt

    monkeypatch.setattr(LBFGS, "reset", interrupted)
    result = minimize(FunctionOracle(logistic(np.random.default_rng(5), 9), cube(9)))
    assert result.status is Status.INTERRUPTED
    assert result.n_calls > 3
    assert np.isfinite(result.gap)


def test_what_held_threads_is_let_go(monkeypatch) -> None:
    finished = []
    for kind in (ProximalBundle, LBFGS):
        monkeypatch.setattr(kind, "finish", lambda self: finished.append(type(self).__name__))
    minimize(FunctionOracle(logistic(np.random.default_rng(5), 9), cube(9)))
    assert finished == ["ProximalBundle", "LBFGS"]


def test_a_domain_that_others_refuse_stays_as_it_is() -> None:
    def f(z):
        return float(abs(z[0]) + 2 * abs(z[1]) + abs(z).sum()), np.sign(z) + np.sign(z) * np.r_[1, 2, np.zeros(9)]

    result = minimize(FunctionOracle(f, Ball(11)), point=np.full(11, 0.1), max_calls=300)
    assert "went on" not in result.choice
    assert result.choice.startswith("No generator was given, and SPG() was chosen")


def test_one_variable_an_affine_function_and_a_start_at_the_minimizer() -> None:
    square = FunctionOracle(lambda z: (float(z @ z) + 1.0, 2.0 * z), cube(1))
    assert minimize(square, rtol=1e-9).success
    affine = minimize(FunctionOracle(lambda z: (float(z.sum()), np.ones(4)), cube(4)))
    assert affine.success
    assert "went on" not in affine.choice
    absolute = FunctionOracle(lambda z: (float(abs(z).sum()) + 1.0, np.sign(z)), cube(5))
    assert minimize(absolute, point=np.zeros(5)).success


def test_infinite_answers_are_left_to_whom_they_are_for() -> None:
    """f is +inf where the logarithm has no value: points there tell nothing of smoothness."""
    target = np.array([0.3, 2.0, 4.0])

    def f(z):
        if (z <= 0).any():
            return np.inf, None
        return float((z - target * np.log(z)).sum()), 1.0 - target / z

    oracle = FunctionOracle(f, Box(np.full(3, -1.0), np.full(3, 10.0)))
    result = minimize(oracle, point=np.ones(3), rtol=1e-6)
    assert result.success
    assert result.upper_bound == pytest.approx(float((target - target * np.log(target)).sum()), rel=1e-5)


def test_answers_that_are_kept_have_a_bound_in_bytes() -> None:
    n = 400_000
    sequel = Sequel(FunctionOracle(lambda z: (float(z @ z), 2 * z), cube(n)))
    sequel.reset(cube(n), np.zeros(n))
    assert sequel._answers.maxlen * n <= 5_000_000


def test_studies_and_given_generators_do_not_go_on() -> None:
    f = logistic(np.random.default_rng(5), 9)
    oracle = FunctionOracle(f, cube(9))
    for given in (ProximalBundle(), AnalyticCenter()):
        result = minimize(oracle, given)
        assert result.generator == repr(given)
        assert result.choice == ""
