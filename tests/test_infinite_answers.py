"""Functions that are +inf at some query points, NaN, and questions that come again."""

import inspect
import itertools
from functools import cache

import numpy as np
import pytest

from oracle_opt import FeasibilityCut, FunctionOracle, ObjectiveCut, Status, generators, minimize
from oracle_opt._questions import REPEATS, STEPS_BACK
from oracle_opt.domains import Box, FreeSpace, Simplex
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, InvalidCut
from oracle_opt.generator import QueryPointGenerator, SequentialGenerator, Step

METHODS = [
    method()
    for _, method in sorted(vars(generators).items())
    if inspect.isclass(method)
    and issubclass(method, QueryPointGenerator)
    and not any(one.default is inspect.Parameter.empty for one in inspect.signature(method).parameters.values())
]
HONEST = {Status.CONVERGED, Status.MAX_CALLS, Status.STALLED, Status.EXHAUSTED}


def overflowing(seed):
    """A sum of exponentials that overflow far out, on a wide box."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    A, b = rng.normal(size=(3 * n, n)), rng.normal(size=3 * n)

    def exponentials(z):
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.exp(A @ z + b)
            return float(terms.sum() + 0.5 * z @ z), terms @ A + z

    return exponentials, Box(np.full(n, -1e3), np.full(n, 1e3)), np.zeros(n)


def barrier(seed):
    """``sum -log(b - A z)``: +inf outside of a polytope, with b - A z = 1 at the start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    A = np.vstack([rng.normal(size=(3 * n, n)), np.eye(n), -np.eye(n)])
    b = np.ones(len(A))
    cost = rng.normal(size=n)

    def f(z):
        rooms = b - A @ z
        if (rooms <= 0).any():
            return np.inf, None
        return float(cost @ z - np.log(rooms).sum()), cost + (1 / rooms) @ A

    return f, Box(np.full(n, -50.0), np.full(n, 50.0)), np.zeros(n)


@cache
def minimum(problem, seed):
    """A run to a small gap, with which those of all methods are compared."""
    f, domain, start = problem(seed)
    truth = minimize(FunctionOracle(f, domain), generators.AnalyticCenter(), start, max_calls=1000, rtol=1e-9)
    assert truth.success
    return truth


@pytest.mark.campaign(15)
@pytest.mark.parametrize("problem", [overflowing, barrier])
@pytest.mark.parametrize("generator", METHODS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_every_method_goes_on_where_a_function_is_infinite(problem, generator, seed):
    f, domain, start = problem(seed)
    try:
        with np.errstate(over="ignore"):  # norms of slopes above 1e154 overflow, which the methods bear
            result = minimize(FunctionOracle(f, domain), generator, start, max_calls=150, rtol=1e-4)
    except CapabilityMismatch:
        pytest.skip("the method does not serve such a domain")
    truth = minimum(problem, seed)
    assert result.status in HONEST
    assert result.lower_bound <= truth.upper_bound + 1e-9 * abs(truth.upper_bound)
    assert result.upper_bound >= truth.lower_bound - 1e-9 * abs(truth.lower_bound)
    assert result.upper_bound <= f(start)[0]
    assert len(result.history) == result.n_calls


@pytest.mark.campaign(9)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("make", [generators.Kelley, generators.ProximalBundle, generators.AnalyticCenter])
def test_most_methods_still_converge(make, seed):
    f, domain, start = overflowing(seed)
    result = minimize(FunctionOracle(f, domain), make(), start, max_calls=600)
    assert result.success


def test_infinite_answers_are_calls_and_come_back_from_a_journal(tmp_path):
    f, domain, start = overflowing(3)
    plain = minimize(FunctionOracle(f, domain, name="f"), generators.Kelley(), start, keep_cuts=True)
    assert np.isinf(plain.history.value).any()
    assert all(np.isfinite(cut.value) for cut in plain.history.cuts)
    path = tmp_path / "journal"
    n = int(np.flatnonzero(np.isinf(plain.history.value))[-1]) + 1  # ends right after an infinite answer
    minimize(FunctionOracle(f, domain, name="f"), generators.Kelley(), start, journal=path, max_calls=n)
    resumed = minimize(FunctionOracle(f, domain, name="f"), generators.Kelley(), start, journal=path)
    assert resumed.n_replayed == n
    assert resumed.history.value.tolist() == plain.history.value.tolist()
    assert resumed.lower_bound == plain.lower_bound


def test_the_first_point_has_to_be_finite():
    def f(z):
        return (np.inf if z[0] > 0.5 else float(z @ z)), 2 * z

    domain = Box([-1.0], [1.0])
    back = minimize(FunctionOracle(f, domain), generators.LevelSet(), [0.9])  # the interior point is 0
    assert back.success
    for generator in (generators.LevelSet(), generators.SPG()):
        with pytest.raises(InvalidCut, match="`point`") as caught:
            minimize(FunctionOracle(lambda z: (np.inf, z), domain), generator)
        assert caught.value.result.n_calls == 0


def test_a_function_that_is_nowhere_else_finite_ends():
    def f(z):
        return (0.0 if not z.any() else np.inf), np.ones(2)

    for generator in (generators.LevelSet(), generators.Kelley(), generators.ProximalBundle()):
        result = minimize(FunctionOracle(f, Box([-1.0, -1], [1.0, 1])), generator)
        assert result.status is Status.STALLED
        assert result.n_calls <= 2 + 10 * STEPS_BACK
        assert "answer by a `FeasibilityCut`" in result.message
        assert "atol" not in result.message


@pytest.mark.parametrize(("value", "slope"), [(np.nan, 1.0), (-np.inf, 1.0), (1.0, np.nan)])
def test_nan_stays_an_error_that_names_the_point(value, slope):
    def f(z):
        return (value, np.full(1, slope)) if z[0] < -0.5 else (float(z[0]), np.ones(1))

    with pytest.raises(InvalidCut, match=r"-1\."):
        minimize(FunctionOracle(f, Box([-1.0], [1.0])), generators.Kelley())


def test_a_finite_value_without_a_finite_slope_is_not_here():
    """-sqrt(z) on [0, 1] from the right: the slope is infinite at 0."""

    def f(z):
        with np.errstate(divide="ignore"):
            return float(z[0] - np.sqrt(z[0])), 1 - 0.5 / np.sqrt(z)

    result = minimize(FunctionOracle(f, Box([0.0], [1.0])), generators.Kelley(), [1.0])
    assert result.success
    assert result.upper_bound == pytest.approx(-0.25, rel=1e-6)


def test_told_cuts_are_finite():
    known = ObjectiveCut(np.zeros(1), np.inf, np.zeros(1))
    with pytest.raises(InvalidArgument, match="`cuts`"):
        minimize(FunctionOracle(lambda z: (z[0], np.ones(1)), Box([-1.0], [1.0])), cuts=[known])


class Asks(SequentialGenerator):
    """Asks given points, one after the other."""

    def __init__(self, points):
        self.points = points

    def queries(self, domain, point):
        for z in self.points:
            self.center = yield np.array([z])


@pytest.mark.parametrize("times", range(1, 3 * REPEATS))
def test_a_repeated_question_is_answered_from_memory(times):
    asked = []

    def f(z):
        asked.append(z[0])
        return abs(z[0] - 0.3), np.sign(z - 0.3)

    result = minimize(FunctionOracle(f, Box([-1.0], [1.0])), Asks([0.5] + times * [0.6] + [0.2]), probes=0)
    most = times - 1 <= REPEATS
    assert asked == ([0.5, 0.6, 0.2] if most else [0.5, 0.6])
    assert result.n_calls == len(asked) == len(result.history)
    assert result.status is (Status.EXHAUSTED if most else Status.STALLED)


@pytest.mark.parametrize(("error", "calls"), [(0.3, 3), (0.0, 2)])
def test_an_answer_that_was_not_tight_may_be_asked_for_again(error, calls):
    """The cut is lower by its error at first; the same question, asked twice more, is a call once."""
    asked = []

    def f(z):
        asked.append(z[0])
        value, missed = abs(z[0] - 0.3), error if asked.count(z[0]) == 1 else 0.0
        return ObjectiveCut(z, value - missed, np.sign(z - 0.3), error=missed)

    result = minimize(FunctionOracle(f, Box([-1.0], [1.0])), Asks([0.5, 0.4, 0.4, 0.4]), probes=0)
    assert asked == [0.5, 0.4, 0.4][:calls]
    assert result.status is Status.EXHAUSTED
    assert result.lower_bound <= 0.0 <= result.upper_bound


def test_an_answer_told_again_counts_in_the_average_and_in_no_conflict():
    """What is told again is the same cut: bounds stay valid, and its number is that of the first."""
    f = FunctionOracle(lambda z: (float((z - 0.3) @ (z - 0.3)), 2 * (z - 0.3)), FreeSpace(2, 10.0))

    class Twice(generators.Subgradient):
        def reset(self, domain, point):
            super().reset(domain, point)
            self._turn = itertools.count()

        def ask(self):
            if next(self._turn) % 2:
                self._point = self._last
            self._last = super().ask()
            return self._last

    result = minimize(f, Twice(), max_calls=60)
    assert result.lower_bound <= 0.0 <= result.upper_bound
    assert result.status in (Status.MAX_CALLS, Status.CONVERGED, Status.EXHAUSTED)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", METHODS, ids=repr)
@pytest.mark.parametrize("domain", [Box(-np.ones(6), np.ones(6)), Simplex(6)], ids=repr)
@pytest.mark.parametrize("count", [1, 10])
def test_cuts_of_unknown_value_told_before_a_run(generator, domain, count, recwarn):
    """Nothing divides by zero, nothing is proven that is false, and a method that takes such cuts ends well."""
    rng = np.random.default_rng(count)
    S, h = rng.normal(size=(20, 6)), rng.normal(size=20)

    def f(z):
        i = int(np.argmax(S @ z + h))
        return S[i] @ z + h[i], S[i]

    known = [ObjectiveCut(np.zeros(6), float(h[i]), S[i], error=np.inf) for i in range(count)]
    truth = minimize(FunctionOracle(f, domain), generators.Kelley(), rtol=1e-9)
    try:
        result = minimize(FunctionOracle(f, domain), generator, cuts=known, max_calls=200)
    except (CapabilityMismatch, InvalidArgument):
        pytest.skip("the method takes no such cuts")
    assert result.lower_bound <= truth.upper_bound + 1e-12
    assert result.upper_bound >= truth.lower_bound - 1e-12
    if isinstance(
        generator, generators.Kelley | generators.LevelSet | generators.ProximalBundle | generators.AnalyticCenter
    ):
        assert result.success
    assert not recwarn


class Steps(QueryPointGenerator):
    """Takes feasibility cuts and asks on a line."""

    takes = frozenset({FeasibilityCut})

    def reset(self, domain, point):
        self._points = iter([0.0, 4.0, 0.5])
        self._asks = next(self._points)
        self.told = []

    def ask(self):
        return np.array([self._asks])

    def tell(self, cut):
        self.told.append(cut)
        self._asks = next(self._points, 0.75)
        return Step.NULL


def test_on_the_way_back_a_point_may_be_infeasible():
    def f(z):
        if z[0] > 3:
            return np.inf, None
        if z[0] > 1:
            return FeasibilityCut(z, z[0] - 1, np.ones(1))
        return ObjectiveCut(z, z[0] ** 2 + 1, 2 * z)

    method = Steps()
    result = minimize(
        FunctionOracle(f, Box([-5.0], [5.0]), gives={FeasibilityCut}), method, [0.0], max_calls=5, rtol=0.0
    )
    assert [float(cut.point[0]) for cut in method.told] == [0.0, 2.0, 0.5, 0.75]
    assert result.history.value[1] == np.inf
