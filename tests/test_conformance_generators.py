"""Every generator on every problem: valid bounds, honest counts, convergence where it is claimed."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from table import GENERATORS, Entry
from table_nonsmooth import Problem
from table_problems import PROBLEMS

from oracle_opt import Box, CapabilityMismatch, SequentialGenerator, Simplex, Step, minimize
from oracle_opt.testing import KnownProblem, check_generator, check_run
from oracle_opt.testing.known_runs import Watched


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
        oracle, generator = Watched(problem.make()), entry.make()
        words = entry.refusal(oracle)
        if words is not None:
            with pytest.raises(CapabilityMismatch) as refusal:
                minimize(oracle, generator, problem.start)
            pair = f"{type(generator).__name__} cannot serve Watched on {oracle.domain!r}"
            assert str(refusal.value) == f"{pair}: {words}", problem
            assert not oracle.asked


@pytest.mark.parametrize(("entry", "problem"), _pairs(PROBLEMS))
def test_generator_on_problem(entry: Entry, problem: Problem) -> None:
    expected = _expected(entry, problem)
    scale = max(1.0, abs(problem.optimum)) if abs(problem.optimum) > 1e-6 or problem.optimum == 0 else 1e-8
    atol, calls = (expected[0] * scale, expected[1]) if expected else (None, 60)
    known = KnownProblem(problem.name, problem.make(), problem.optimum, problem.accuracy, problem.start)
    result = check_run(entry.make(), known, calls=calls, atol=atol)
    if (result.history.step != Step.FEASIBILITY.value).any():
        seen = np.nanmin(result.history.value + result.history.error)  # rounded to nearest, the bound up
        assert seen <= result.upper_bound <= np.nextafter(seen, np.inf)


@pytest.mark.parametrize("entry", GENERATORS, ids=str)
def test_generator_keeps_the_contract(entry: Entry) -> None:
    """On small problems on a domain of each class, variants on two, and on one of kernels and one of eigenvalues."""
    oracles = [problem for problem in PROBLEMS if problem.name in ("tiny mkl", "max-cut of a cycle")]
    problems = [KnownProblem(p.name, p.make(), p.optimum, max(p.accuracy, 1e-7)) for p in oracles if _served(entry, p)]
    few = [Simplex(4), Box(-np.ones(2), np.ones(2))] if " " in entry.name else None
    assert check_generator(entry.make(), problems, domains=few, calls=12)


COROUTINES = [entry for entry in GENERATORS if isinstance(entry.make(), SequentialGenerator)]


@pytest.mark.parametrize("entry", COROUTINES, ids=str)
def test_a_coroutine_cannot_be_copied_as_documented(entry: Entry) -> None:
    generator, oracle = entry.make(), next(p for p in PROBLEMS if _served(entry, p)).make()
    copy.deepcopy(generator)  # before a run it has no state
    generator.reset(oracle.domain, oracle.domain.interior_point())
    with pytest.raises(TypeError, match="generator"):
        copy.deepcopy(generator)
