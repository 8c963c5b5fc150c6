"""Every generator on every problem: valid bounds, honest counts, convergence where it is claimed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from table import GENERATORS, PROBLEMS, Entry, Problem

from oracle_opt import CapabilityMismatch, Query, QueryPointGenerator, SequentialGenerator, Status, Step, minimize
from oracle_opt.oracle import Oracle


class Counting(Oracle):
    """Counts independently of the driver, and keeps what was asked."""

    def __init__(self, inner: Oracle) -> None:
        self.inner, self.domain = inner, inner.domain
        self.gives_feasibility_cuts, self.convex = inner.gives_feasibility_cuts, inner.convex
        self.gives_eigenvectors = inner.gives_eigenvectors
        self.asked: list[np.ndarray] = []

    def reset(self) -> None:
        self.inner.reset()

    def query(self, query: Query):
        self.asked.append(query.point.copy())
        return self.inner.query(query)


def _expected(entry: Entry, problem: Problem) -> tuple[float, int] | None:
    for kind, gap, calls in entry.reaches:
        if kind in problem.kinds:
            return (gap, calls) if np.isfinite(gap) else None
    return None


def _served(entry: Entry, problem: Problem) -> bool:
    return entry.refusal(problem.make()) is None


def _pairs(problems: list[Problem], entries: list[Entry] = GENERATORS) -> list:
    """Parameters for those pairs of generator and problem that the table says can run."""
    return [
        pytest.param(entry, problem, id=f"{entry}-{problem}".replace(" ", "_"))
        for entry in entries
        for problem in problems
        if _served(entry, problem)
    ]


@pytest.mark.parametrize("entry", [e for e in GENERATORS if not all(_served(e, p) for p in PROBLEMS)], ids=str)
def test_what_a_generator_cannot_serve_is_refused_before_the_first_call(entry: Entry) -> None:
    for problem in PROBLEMS:
        oracle, generator = Counting(problem.make()), entry.make()
        words = entry.refusal(oracle)
        if words is not None:
            with pytest.raises(CapabilityMismatch) as refusal:
                minimize(oracle, generator, problem.start)
            pair = f"{type(generator).__name__} cannot serve Counting on {oracle.domain!r}"
            assert str(refusal.value) == f"{pair}: {words}", problem
            assert not oracle.asked


@pytest.mark.parametrize(("entry", "problem"), _pairs(PROBLEMS))
def test_generator_on_problem(entry: Entry, problem: Problem) -> None:
    generator, oracle = entry.make(), Counting(problem.make())
    expected = _expected(entry, problem)
    scale = max(1.0, abs(problem.optimum)) if abs(problem.optimum) > 1e-6 or problem.optimum == 0 else 1e-8
    tolerance, calls = (expected[0] * scale, expected[1]) if expected else (0.0, 60)
    result = minimize(oracle, generator, problem.start, rtol=0, atol=tolerance, max_calls=calls, keep_cuts=True)
    history = result.history

    # counts and points
    assert result.n_calls == len(oracle.asked) == len(history)
    for point in oracle.asked:
        assert oracle.domain.contains(point, 1e-8)
    if problem.start is not None:
        assert (oracle.asked[0] == problem.start).all()

    # proofs hold in every row, up to rounding
    rounding = problem.accuracy * max(scale, np.nanmax(np.abs(history.value), initial=0.0))
    assert (history.lower_bound <= problem.optimum + rounding).all()
    assert (history.upper_bound >= problem.optimum - rounding).all()
    for name in ("oracle_bound", "cut_bound", "model_bound", "average_bound"):
        assert (getattr(history, name) <= problem.optimum + rounding).all()
    assert (np.diff(history.upper_bound[np.isfinite(history.upper_bound)]) <= 0).all()
    assert (np.diff(history.lower_bound[np.isfinite(history.lower_bound)]) >= 0).all()

    # steps
    objective = history.step != Step.FEASIBILITY.value
    assert (np.isfinite(history.value) == objective).all()
    if objective.any():
        assert history.step[objective][0] == Step.SERIOUS.value
        assert result.point is not None
        seen = np.nanmin(history.value + history.error)  # rounded to nearest, the bound up
        assert seen <= result.upper_bound <= np.nextafter(seen, np.inf)

    if expected is not None:
        assert result.status is Status.CONVERGED, f"{result.message} gap {result.gap:.2e} after {result.n_calls} calls"


def _query(generator: QueryPointGenerator) -> Query:
    asked = generator.ask()
    return asked if isinstance(asked, Query) else Query(asked)


QUICK = [p for p in PROBLEMS if p.name in ("quadratic on simplex", "max affine on box", "caps by cuts", "tiny mkl")]


@pytest.mark.parametrize(("entry", "problem"), _pairs(QUICK))
def test_run_twice_gives_the_same_history(entry: Entry, problem: Problem) -> None:
    generator, oracle = entry.make(), Counting(problem.make())
    first = minimize(oracle, generator, problem.start, rtol=1e-9, max_calls=25)
    second = minimize(oracle, generator, problem.start, rtol=1e-9, max_calls=25)
    assert (first.history.value == second.history.value)[np.isfinite(first.history.value)].all()
    assert (first.history.lower_bound == second.history.lower_bound).all()
    assert list(first.history.step) == list(second.history.step)


COROUTINES = [entry for entry in GENERATORS if isinstance(entry.make(), SequentialGenerator)]


@pytest.mark.parametrize("entry", COROUTINES, ids=str)
def test_a_coroutine_cannot_be_copied_as_documented(entry: Entry) -> None:
    generator, oracle = entry.make(), next(p for p in PROBLEMS if _served(entry, p)).make()
    copy.deepcopy(generator)  # before a run it has no state
    generator.reset(oracle.domain, oracle.domain.interior_point())
    with pytest.raises(TypeError, match="generator"):
        copy.deepcopy(generator)


@pytest.mark.parametrize(("entry", "problem"), _pairs(QUICK, [e for e in GENERATORS if e not in COROUTINES]))
def test_copy_between_calls_goes_on_identically(entry: Entry, problem: Problem) -> None:
    generator, oracle = entry.make(), Counting(problem.make())
    generator.reset(oracle.domain, oracle.domain.interior_point())
    for _ in range(6):
        generator.tell(oracle.query(_query(generator)))
    twin = copy.deepcopy(generator)
    for _ in range(6):
        asked, same = _query(generator), _query(twin)
        # HiGHS factorizes anew: equal up to rounding
        np.testing.assert_allclose(asked.point, same.point, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(asked.point, _query(generator).point)  # ask is pure
        oracle.reset()
        cut = oracle.query(asked)
        oracle.reset()
        assert generator.tell(cut) is twin.tell(oracle.query(same))


@pytest.mark.parametrize("entry", GENERATORS, ids=str)
def test_constructor_only_stores_its_arguments(entry: Entry) -> None:
    generator = entry.make()
    assert generator.parameters() == {k: v for k, v in vars(generator).items() if not k.startswith("_")}
    assert repr(eval(repr(generator), {type(generator).__name__: type(generator)})) == repr(generator)


@pytest.mark.parametrize(("entry", "problem"), _pairs([p for p in PROBLEMS if p.name == "max affine on box"]))
def test_old_cuts_are_told_but_not_counted(entry: Entry, problem: Problem) -> None:
    generator, oracle = entry.make(), Counting(problem.make())
    first = minimize(problem.make(), generator, max_calls=12, rtol=1e-6, keep_cuts=True)
    if isinstance(generator, SequentialGenerator):
        # a coroutine takes up the cuts of its own start, in order, and no others
        elsewhere = problem.make().query(Query(np.full(5, 0.25)))
        with pytest.raises(ValueError, match="old cuts"):
            minimize(oracle, generator, cuts=[elsewhere], max_calls=12)
        return
    second = minimize(oracle, generator, cuts=first.history.cuts, max_calls=12, rtol=1e-6)
    assert second.n_calls == len(oracle.asked)
    assert second.upper_bound <= first.upper_bound
    assert second.lower_bound >= first.lower_bound - 1e-12
