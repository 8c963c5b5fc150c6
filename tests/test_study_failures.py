"""Studies of which runs fail, or all of them, in every way to run them; and functions of a seed of every form."""

import itertools
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import study_parts
from failing_generators import Broken
from small_results import largest_of_pieces
from typer.testing import CliRunner

from oracle_opt import Box, FunctionOracle, InvalidArgument, StudyFailed, StudyWarning
from oracle_opt.cli import main
from oracle_opt.generators import Kelley, LevelSet, SpectralBundle
from oracle_opt.study import Results, Study
from oracle_opt.study.progress_bar import ProgressBar
from oracle_opt.study.recipes import SeedPlace
from oracle_opt.study.records import FinishedRun, failure

BOX = Box(-np.ones(2), np.ones(2))
HOW: dict[str, dict[str, Any]] = {"here": {"jobs": 1}, "processes": {"jobs": 2}, "threads": {}}


def run(study: Study, folder: Path, how: str) -> Results:
    if how == "threads":
        with ThreadPoolExecutor(2) as pool:
            return study.run(folder, pool, progress=False)
    return study.run(folder, progress=False, **HOW[how])


@pytest.mark.parametrize("how", HOW)
def test_a_study_of_which_every_run_fails_raises_with_the_first_message(tmp_path: Path, how: str) -> None:
    bad = {"a": FunctionOracle(study_parts.undefined, BOX), "b": study_parts.not_to_be_made}
    study = Study(bad, ["level-set", "kelley"], seeds=2)
    for _ in range(2):  # what failed is tried again, and fails again
        with (
            pytest.warns(StudyWarning, match="the first of this study: .*(undefined_name|the data are gone)"),
            pytest.raises(
                StudyFailed, match=r"every run of this study failed, 8 of 8, the first .*undefined_name"
            ) as one,
        ):
            run(study, tmp_path, how)
        results = one.value.results
        assert results.runs["status"].tolist() == ["FAILED"] * 8
        assert results.runs["traceback"].str.contains("undefined_name|the data are gone").all()
        kept = Results.read(tmp_path).runs  # nothing that was computed is lost
        assert sorted(kept["message"]) == sorted(results.runs["message"])


def test_refused_runs_are_no_failures_and_save_no_study(tmp_path: Path) -> None:
    refused = Study({"p": study_parts.pieces}, {"spectral-bundle": SpectralBundle()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert refused.run(tmp_path / "refused", jobs=1, progress=False).runs["status"].tolist() == ["REFUSED"]
    both = Study({"p": study_parts.pieces}, {"spectral-bundle": SpectralBundle(), "broken": Broken()})
    with pytest.warns(StudyWarning), pytest.raises(StudyFailed, match=r"1 of 2, the first one so: .*it is broken"):
        both.run(tmp_path / "both", jobs=1, progress=False)


@pytest.mark.parametrize("how", HOW)
def test_one_failure_is_said_once_and_none_is_not(tmp_path: Path, how: str) -> None:
    good = Study({"p": study_parts.pieces}, {"kelley": Kelley(), "level-set": LevelSet()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(run(good, tmp_path / "good", how)) == 2
    with pytest.warns(StudyWarning) as said:
        run(Study({"p": study_parts.pieces}, {"kelley": Kelley(), "broken": Broken()}), tmp_path / "one", how)
    assert [str(one.message).partition(":")[0] for one in said] == ["a run has failed, the first of this study"]


def test_a_warning_that_is_made_an_error_loses_no_run(tmp_path: Path) -> None:
    study = Study({"p": study_parts.pieces}, {"kelley": Kelley(), "broken": Broken(), "level-set": LevelSet()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(StudyWarning, match="it is broken"):
            study.run(tmp_path, jobs=1, progress=False)
    assert Results.read(tmp_path).runs["status"].tolist() == ["CONVERGED", "FAILED"]


def test_the_command_tells_and_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_parts.py").write_text("from study_parts import not_to_be_made, pieces\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for names, words in (
        ('["broken_parts:not_to_be_made"]', "2 runs failed"),
        ('["broken_parts:not_to_be_made", "broken_parts:pieces"]', "2 runs failed"),
    ):
        (tmp_path / "s.toml").write_text(
            f'instances = {names}\ngenerators = ["kelley", "level-set"]\n', encoding="utf-8"
        )
        done = CliRunner().invoke(main, ["study", "s.toml", "--jobs", "1"])
        assert done.exit_code == 1, done.output
        assert "warning: a run has failed, the first of this study" in done.output
        assert "the data are gone" in done.output
        assert words in done.output
        assert "Traceback" not in done.output


def test_the_bar_counts_failures() -> None:
    bar, row = ProgressBar(False, 0, 3), {"instance": "a", "generator": "b", "seed": 0}
    for k, one in enumerate((failure(row, ValueError("no")), FinishedRun({**row, "status": "CONVERGED"}, None))):  # type: ignore[arg-type]
        bar.advance(one)
        assert bar.n_failed == 1, k
    told: list[str] = []
    bar._bar = type("Bar", (), {"update": lambda self, task, advance, description: told.append(description)})()
    bar._task = 0
    bar.advance(failure(row, ValueError("no")))
    assert told == ["(last: a b, 2 failed)"]


def test_a_log_without_a_terminal_is_told_each_tenth(capfd: pytest.CaptureFixture[str]) -> None:
    bar, row = ProgressBar(True, 0, 25), {"instance": "a", "generator": "b", "seed": 0, "status": "CONVERGED"}
    for k in range(25):
        bar.advance(failure(row, ValueError("no")) if k == 11 else FinishedRun(row, None))  # type: ignore[arg-type]
    first, *lines = capfd.readouterr().err.splitlines()
    assert first == "25 runs to do"
    assert [int(line.split()[0]) for line in lines] == [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]
    assert lines[3] == "10 of 25 runs, about 0:00 left"
    assert lines[-1] == "25 of 25 runs, 1 failed, about 0:00 left"


@pytest.mark.parametrize("jobs", [1, 2])
def test_values_that_are_bound_stay_as_they_are(tmp_path: Path, jobs: int) -> None:
    loop: dict[str, Any] = {f"lambda {n}": (lambda n=n: study_parts.sized(n)) for n in (2, 4)}
    loop |= {f"partial {n}": partial(study_parts.sized, n) for n in (3, 5)}
    loop |= {
        "by name": partial(study_parts.sized, n=6),
        "none": lambda: study_parts.sized(7),
        "several": lambda n=3, m=5: study_parts.sized(n + m),
    }
    runs = Study(loop, ["level-set"]).run(tmp_path, jobs=jobs, progress=False).runs.set_index("instance")
    assert runs["n"].to_dict() == {
        "lambda 2": 2, "lambda 4": 4, "partial 3": 3, "partial 5": 5, "by name": 6, "none": 7, "several": 8,
    }  # fmt: skip
    assert runs["oracle"].tolist() == [study_parts.sized(n).identity() for n in runs["n"]]


def test_the_seed_goes_where_there_is_a_place_for_it(tmp_path: Path) -> None:
    makers: dict[str, Any] = {
        "one": lambda seed: largest_of_pieces(3, seed),
        "any name": lambda s: largest_of_pieces(3, s),
        "partial": partial(study_parts.of_both, 3),
        "by name": partial(study_parts.of_both, n=3),
        "default": partial(study_parts.with_default, 3),
        "last": lambda seed, n=3: largest_of_pieces(n, seed),
        "first": lambda n=3, seed=9: largest_of_pieces(n, seed),
        "keyword": lambda *, seed: largest_of_pieces(3, seed),
        "any number": lambda *given: largest_of_pieces(3, *given),
        "object": study_parts.Maker(3),
        "words": lambda seed, **more: largest_of_pieces(3, seed),
    }
    runs = Study(makers, ["level-set"], seeds=[4, 7]).run(tmp_path, jobs=1, progress=False).runs
    for row in runs.itertuples():
        assert row.oracle == largest_of_pieces(3, row.seed).identity(), row.instance


@pytest.mark.parametrize("seeds", [300_000_000, range(10**15), itertools.count()])
def test_endless_seeds_are_refused_at_once(seeds: Any) -> None:
    with pytest.raises(InvalidArgument, match=f"`seeds` must be at most 1,000,000, got {re.escape(repr(seeds)[:6])}"):
        Study({"a": study_parts.sized}, ["kelley"], seeds=seeds)


@pytest.mark.parametrize("seeds", [2, [0, 1], [3]])
def test_seeds_without_a_place_are_refused_at_once(seeds: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"`instances\['a'\]` has no argument for the seed: .*`lambda seed, n=n"):
        Study({"a": lambda n=3: study_parts.sized(n)}, ["kelley"], seeds=seeds)
    Study(
        {"a": lambda: study_parts.sized(3), "b": study_parts.sized(3)}, ["kelley"], seeds=seeds
    )  # nothing in them looks like a seed


@pytest.mark.parametrize(
    "make",
    [
        study_parts.of_both,
        lambda a, b, c=1: None,
        lambda *, n: None,
        partial(lambda a, b, c: None, 1),
        lambda seed, *, n: None,
    ],
)
def test_functions_that_need_more_than_a_seed_are_refused_at_once(make: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"`instances\['a'\]` must be a function of a seed alone, and it needs"):
        Study({"a": make}, ["kelley"])


def test_a_function_that_does_not_tell_its_arguments_is_given_the_seed() -> None:
    assert SeedPlace.of("a", dict.fromkeys) in (SeedPlace.FIRST, SeedPlace.BOUND)
    assert SeedPlace.of("a", max) is SeedPlace.FIRST


@pytest.mark.parametrize("tau", [(0.1, 2.0), (0.0, 0.1), (0.5, -1.0), (1.0, 1e-3), (), float("nan")])
def test_accuracies_are_all_between_0_and_1(tau: Any) -> None:
    with pytest.raises(InvalidArgument, match="`tau`"):
        Study({"p": study_parts.pieces}, ["kelley"], tau=tau)
