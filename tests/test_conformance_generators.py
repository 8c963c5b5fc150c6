"""Every generator on every problem: valid bounds, honest counts, convergence where it is claimed."""

import copy

import numpy as np
import pytest
from table import GENERATORS, Entry
from table_nonsmooth import Problem
from table_problems import PROBLEMS

from oracle_opt import CapabilityMismatch, SequentialGenerator, Step, minimize
from oracle_opt.testing import KnownProblem, check_run
from oracle_opt.testing.known_runs import Watched


def _expected(entry: Entry, problem: Problem) -> tuple[float, int] | None:
    for kind, gap, calls in entry.reaches:
        if kind in problem.kinds:
            return (gap, calls) if np.isfinite(gap) else None
    return None


def _one_of_each() -> list[Problem]:
    """The first of the problems of the same kinds on domains of the same class: what variants of a method meet."""
    return list({(p.kinds, type(p.make().domain)): p for p in reversed(PROBLEMS)}.values())


def _pairs() -> list:
    """Parameters for those pairs of generator and problem that the table says can run."""
    few = _one_of_each()
    return [
        pytest.param(
            entry, problem, id=f"{entry}-{problem}".replace(" ", "_"), marks=[pytest.mark.campaign(4)] * entry.variant
        )
        for entry in GENERATORS
        for problem in (few if entry.variant else PROBLEMS)
        if entry.serves(problem)
    ]


@pytest.mark.parametrize("entry", [e for e in GENERATORS if not all(e.serves(p) for p in PROBLEMS)], ids=str)
def test_what_a_generator_cannot_serve_is_refused_before_the_first_call(entry: Entry) -> None:
    for problem in PROBLEMS:
        oracle, generator = Watched(problem.make()), entry.make()
        words = entry.refusal(oracle)
        if words is not None:
            with pytest.raises(CapabilityMismatch) as refusal:
                minimize(oracle, generator, problem.start)
            pair = f"{type(generator).__name__} cannot serve Watched on {oracle.domain!r}"
            assert str(refusal.value) == f"{pair}: {words}", problem
            assert not oracle.asked


@pytest.mark.parametrize(("entry", "problem"), _pairs())
def test_generator_on_problem(entry: Entry, problem: Problem) -> None:
    expected = _expected(entry, problem)
    scale = max(1.0, abs(problem.optimum)) if abs(problem.optimum) > 1e-6 or problem.optimum == 0 else 1e-8
    atol, calls = (expected[0] * scale, expected[1]) if expected else (None, 60)
    known = KnownProblem(problem.name, problem.make(), problem.optimum, problem.accuracy, problem.start)
    result = check_run(entry.make(), known, calls=calls, atol=atol)
    if (result.history.step != Step.FEASIBILITY.value).any():
        seen = np.nanmin(result.history.value + result.history.error)  # rounded to nearest, the bound up
        assert seen <= result.upper_bound <= np.nextafter(seen, np.inf)


COROUTINES = [entry for entry in GENERATORS if isinstance(entry.make(), SequentialGenerator)]


@pytest.mark.parametrize("entry", COROUTINES, ids=str)
def test_a_coroutine_cannot_be_copied_as_documented(entry: Entry) -> None:
    generator, oracle = entry.make(), next(p for p in PROBLEMS if entry.serves(p)).make()
    copy.deepcopy(generator)  # before a run it has no state
    generator.reset(oracle.domain, oracle.domain.interior_point())
    with pytest.raises(TypeError, match="generator"):
        copy.deepcopy(generator)
