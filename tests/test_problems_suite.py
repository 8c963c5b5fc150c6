"""The suite of problems: every instance can be made, its cuts are true and its optimum lies between bounds of ours."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from math import isfinite

import numpy as np
import pytest

from oracle_opt import InvalidArgument, Oracle, minimize, problems
from oracle_opt.errors import DataUnavailable
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.problems import Problem
from oracle_opt.testing import check_oracle

SUITE = problems.suite()
SMALL = [problem for problem in SUITE if problem.n <= 60]
NEEDS_NOTHING = ("nonsmooth", "max-affine", "max-quadratic")


def all_of(chosen: list[Problem]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("problem", chosen, ids=lambda problem: problem.name.replace(" ", "_"))


def slack(problem: Problem, oracle: Oracle, upper: float) -> float:
    """By how much a bound may contradict a stated optimum: its error, and rounding."""
    return 1e-9 * max(1.0, abs(upper))


@all_of(SUITE)
def test_a_problem_says_what_it_is(problem: Problem) -> None:
    assert problem.name.startswith(problem.family)
    assert problem.source
    assert problem.data
    assert not isfinite(problem.optimum) or 0 <= problem.optimum_error < 1e-4 * max(1.0, abs(problem.optimum))
    again = pickle.loads(pickle.dumps(problem))
    assert again.identity() == problem.identity()
    assert again.name == problem.name
    (found,) = problems.find(problem.name.upper())
    assert found.identity() == problem.identity()


@all_of(SUITE)
def test_an_instance_starts_in_its_domain(problem: Problem) -> None:
    instance = problem()
    assert instance.oracle.domain.dimension == problem.n
    assert instance.start is None or instance.oracle.domain.contains(instance.start)
    if isfinite(problem.optimum):
        assert abs(instance.optimum - problem.optimum) <= problem.optimum_error + instance.optimum_error
    assert problem().oracle.identity() == instance.oracle.identity()


@all_of(SMALL)
def test_cuts_are_true_and_the_optimum_is_between_the_bounds(problem: Problem) -> None:
    instance = problem()
    oracle = instance.oracle
    check_oracle(oracle, n_points=3)
    for generator, calls in ((LevelSet(), 40), (Kelley(), 15)):
        result = minimize(oracle, generator, instance.start, max_calls=calls, max_seconds=1.0)
        assert np.isfinite(result.lower_bound)
        wrong = instance.optimum_error + slack(problem, oracle, result.upper_bound)
        assert result.lower_bound - wrong <= instance.optimum <= result.upper_bound + wrong


def test_names_are_unique_and_many() -> None:
    names = [problem.name.lower() for problem in SUITE]
    assert len(set(names)) == len(names)
    assert {problem.family for problem in SUITE} <= set(problems.families())
    assert min(problem.n for problem in SUITE) == 2
    assert max(problem.n for problem in SUITE) == 10_000
    for family in NEEDS_NOTHING:
        assert len(problems.suite(family)) >= 5


def test_a_drawn_instance_depends_on_all_parameters_and_the_seed() -> None:
    (first,) = problems.find("max-affine(n=5, pieces=9, seed=1)")
    assert first().oracle.identity() == first(3).oracle.identity()
    for other in ("max-affine(n=5, pieces=9, seed=2)", "max-affine(n=5, pieces=8, seed=1)"):
        (changed,) = problems.find(other)
        assert changed.identity() != first.identity()
        assert changed().oracle.identity() != first().oracle.identity()
    (seeded,) = problems.find("max-affine(n=5, pieces=9)")
    assert seeded.name == "max-affine(n=5, pieces=9)"
    assert seeded(1).oracle.identity() == first().oracle.identity()
    assert seeded(2).oracle.identity() != first().oracle.identity()
    assert seeded.identity() != first.identity()
    (same,) = problems.find(" MAX-AFFINE(seed=1,pieces=9, n=5.0) ")
    assert same.identity() == first.identity()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsmoth", "no family of problems 'nonsmoth': did you mean nonsmooth"),
        ("nonsmooth/CB4", "no problem 'CB4' in nonsmooth: did you mean CB"),
        ("max-affin(n=3)", "did you mean max-affine"),
        ("max-affine(size=3)", "no parameter 'size'"),
        ("max-affine(peices=3)", "no parameter 'peices': did you mean pieces"),
        ("max-affine(n=0)", "`n` must be a whole number of at least 1"),
        ("max-affine(n=3, active=-1)", "`active` must be positive"),
        ("max-affine(3)", "`text` must look like"),
        ("max-affine(n=3", "no family of problems"),
        ("max-affine(n=)", "`text` must look like"),
        ("max-affine(n=2+m)", "`n` must be a number or a word"),
        ("nonsmooth(n=3)", "takes no parameters; name one of its problems, such as nonsmooth/CB2"),
        ("", "no family of problems"),
    ],
)
def test_what_is_not_known_is_refused_with_what_is_near(text: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=None) as refusal:
        problems.find(text)
    assert words in str(refusal.value)


def test_find_wants_a_text() -> None:
    with pytest.raises(InvalidArgument, match="`text` must be a text"):
        problems.find(3)  # type: ignore[arg-type]


def test_files_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]) -> None:
    monkeypatch.delenv("ORACLE_OPT_PROBLEMS", raising=False)
    with pytest.raises(DataUnavailable, match="set the environment variable ORACLE_OPT_PROBLEMS"):
        problems.find("nonsmooth/tr48")
    assert "nonsmooth/TR48" in problems.missing("nonsmooth")
    assert problems.find("nonsmooth/CB2")
    monkeypatch.setenv("ORACLE_OPT_PROBLEMS", str(tmp_path))
    with pytest.raises(DataUnavailable, match=r"not found in .*, the folder that the environment variable"):
        problems.find("nonsmooth/tr48")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from oracle_opt import problems; problems.families();"
        "print([name for name in ('scipy', 'pandas', 'highspy', 'cvxpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "[]"
