"""The suite of problems: every instance can be made, its cuts are true and its optimum lies between bounds of ours."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from math import isfinite
from pathlib import Path

import numpy as np
import pytest

from oracle_opt import FeasibilityCut, InvalidArgument, Oracle, Polyhedron, minimize, problems
from oracle_opt.errors import DataUnavailable, InvalidData
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.problems import Problem
from oracle_opt.problems.conic_rows import read_mps
from oracle_opt.problems.sdpa_files import read_sdpa
from oracle_opt.testing import check_oracle

OTHERS = ("mkl", "mkl-kinds")  # tests/test_problems_mkl.py
FAMILIES = [family for family in problems.families() if family not in OTHERS]
# Benders' and conic oracles, whose own tests hold such checks against points known to be feasible
CHECKED_ELSEWHERE = ("lp", "qp", "sdp", "stochastic", "two-stage", "robust-lp", "resisting")
SUITE = [problem for family in FAMILIES for problem in problems.suite(family)]
SLOW = ("stochastic/lands-1e6",)
# enough of each family: the rest has the same code and other data
SMALL = [
    problem
    for family in FAMILIES
    for problem in [one for one in problems.suite(family) if one.n <= 60][: 30 if family == "nonsmooth" else 4]
    if problem.name not in SLOW
]
NEEDS_NOTHING = (
    "nonsmooth",
    "max-affine",
    "max-quadratic",
    "scalable",
    "matrix-game",
    "least-absolute",
    "separable",
    "resisting",
    "robust-lp",
    "max-cut",
    "theta",
    "two-stage",
    "one-tree",
    "random-facilities",
)


def all_of(chosen: list[Problem]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("problem", chosen, ids=lambda problem: problem.name.replace(" ", "_"))


def slack(oracle: Oracle, upper: float) -> float:
    """By how much bounds may contradict an optimum: points that miss a constraint by its tolerance may cost less."""
    tolerant = FeasibilityCut in oracle.gives or isinstance(oracle.domain, Polyhedron)
    return (1e-6 if tolerant else 1e-11) * max(1.0, abs(upper))


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


@pytest.mark.campaign(4)
@all_of([problem for problem in SUITE if problem.n <= 500 and problem.name not in SLOW])
def test_an_instance_starts_in_its_domain(problem: Problem) -> None:
    instance = problem()
    assert instance.oracle.domain.dimension == problem.n
    assert instance.start is None or instance.oracle.domain.contains(instance.start)
    if isfinite(problem.optimum):
        assert abs(instance.optimum - problem.optimum) <= problem.optimum_error + instance.optimum_error
    assert problem().oracle.identity() == instance.oracle.identity()


@all_of([problem for problem in SUITE if problem.name == "stochastic/fxm2-6"])
def test_rounded_probabilities_are_taken_as_they_were_published(problem: Problem) -> None:
    """Six times 1/6 to six digits, as those who state the optimum solved it; divided by their sum it is 1.7e-5 less."""
    result = minimize(problem().oracle)
    assert result.success
    assert result.upper_bound == pytest.approx(problem.optimum, rel=1e-8)


@pytest.mark.campaign(6)
@all_of(SMALL)
def test_cuts_are_true_and_the_optimum_is_between_the_bounds(problem: Problem) -> None:
    instance = problem()
    oracle = instance.oracle
    if problem.family not in CHECKED_ELSEWHERE:
        check_oracle(oracle, n_points=3)
    for generator, calls in ((LevelSet(), 40), (Kelley(), 15)):
        result = minimize(oracle, generator, instance.start, max_calls=calls, max_seconds=1.0)
        assert (
            np.isfinite(result.lower_bound) or FeasibilityCut in oracle.gives
        )  # it may not have seen a feasible point
        wrong = instance.optimum_error + slack(oracle, result.upper_bound)
        assert result.lower_bound - wrong <= instance.optimum <= result.upper_bound + wrong


def test_names_are_unique_and_many() -> None:
    names = [problem.name.lower() for problem in SUITE]
    assert len(set(names)) == len(names)
    assert {problem.family for problem in SUITE} <= set(problems.families())
    assert min(problem.n for problem in SUITE) == 2
    assert max(problem.n for problem in SUITE) == 10_000
    for family in NEEDS_NOTHING:
        assert len(problems.suite(family)) >= 4


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
        ("theta(n=99, nodes=4)", "`n` must be at most 4, all edges between 4 nodes, got 99"),
        ("max-cut(n=4, rank=4)", "`rank` must be less than `n`, 4, got 4"),
        ("scalable(function=maxx, n=4)", "did you mean maxq or maxl"),
        ("scalable(n=1)", "`n` must be at least 2"),
        ("max-affine(pieces=1)", "`pieces` must be at least 2, got 1"),
        ("max-affine(active=1.5)", "`active` must"),
        ("matrix-game(support=2)", "`support` must"),
        ("max-quadratic(condition=0.5)", "`condition` must be at least 1"),
        ("least-absolute(m=3, groups=4)", "`groups` must be at most `m`, 3, got 4"),
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
        problems.find(text)[0]()
    assert words in str(refusal.value)


def test_find_wants_a_text() -> None:
    with pytest.raises(InvalidArgument, match="`text` must be a text"):
        problems.find(3)  # type: ignore[arg-type]


def test_files_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ORACLE_OPT_PROBLEMS", raising=False)
    with pytest.raises(DataUnavailable, match=r"^lp needs files: set the environment variable ORACLE_OPT_PROBLEMS"):
        problems.find("lp/afiro")
    with pytest.raises(DataUnavailable, match=r"^qp needs files"):
        problems.find("qp")
    assert problems.suite("sdp") == []
    assert problems.missing("sdp").keys() == {"sdp"}
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


def test_a_collection_with_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the list of optima names and the folder lacks is not at hand; the rest is."""
    folder = tmp_path / "gap"
    folder.mkdir()
    (folder / "two.txt").write_text("1 2\n1 2\n1 1\n2\n")
    known = {"jobs": 2, "sense": "min", "lagrangian_bound": 3.0, "optimum_from": "by hand"}
    listed = [{"name": name, "file": f"{name}.txt", **known} for name in ("two", "three")]
    (folder / "optima.json").write_text(json.dumps({"instances": listed}))
    monkeypatch.setenv("ORACLE_OPT_PROBLEMS", str(tmp_path))
    (two,) = problems.find("gap/two")
    result = minimize(two().oracle, Kelley())
    assert (result.upper_bound, two.optimum) == (pytest.approx(-3.0), -3.0)
    with pytest.raises(DataUnavailable, match=r"gap/three: three\.txt not found"):
        problems.find("gap/three")
    before = two.identity()
    (folder / "two.txt").write_text("1 2\n1 3\n1 1\n2\n")
    assert problems.find("gap/two")[0].identity() != before
    (folder / "two.txt").unlink()
    with pytest.raises(DataUnavailable, match=r"gap/two: two\.txt not found"):
        two()
    (folder / "optima.json").write_text("{}")
    with pytest.raises(InvalidData, match=r"optima\.json must hold a list"):
        problems.suite("gap")


@pytest.mark.parametrize(("reader", "name"), [(read_mps, "MPS"), (read_sdpa, "SDPA")])
def test_files_of_another_format_are_refused(reader: Callable[[Path], object], name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("nothing of the kind\n1 2 3\n")
    with pytest.raises(InvalidData, match=name):
        reader(path)
