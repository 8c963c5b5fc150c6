"""Which seconds a study charges: by clocks that only the oracle moves, told by every label, never mixed unseen."""

import json
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import study_parts
from small_results import largest_of_pieces, small_results

from oracle_opt import Box, FunctionOracle, InvalidArgument, StoreMismatch, StudyWarning, minimize
from oracle_opt.clocks import CLOCKS
from oracle_opt.generators import LevelSet
from oracle_opt.study import Results, Study
from oracle_opt.study import machine as machine_module

PIECES = {"p": largest_of_pieces(3, 0)}


class Clocks:
    """Readings that stand still unless an oracle passes time: a second by the clock, half of one of the processor."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = dict.fromkeys(CLOCKS, 0.0)
        for module in ("run", "study.execute"):
            monkeypatch.setattr(f"oracle_opt.{module}.clock_of", lambda name: lambda: self.now[name])

    def function(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        for name, seconds in {"elapsed": 1.0, "processor": 0.5, "thread": 0.25}.items():
            self.now[name] += seconds
        return float(z @ z), 2 * z


@pytest.mark.parametrize(("clock", "each"), [("elapsed", 1.0), ("processor", 0.5), ("thread", 0.25)])
def test_a_run_reads_the_clock_it_is_given(monkeypatch: pytest.MonkeyPatch, clock: str, each: float) -> None:
    oracle = FunctionOracle(Clocks(monkeypatch).function, Box(-np.ones(2), np.full(2, 3.0)))
    result = minimize(oracle, LevelSet(), max_calls=3, probes=0, clock=clock)  # type: ignore[arg-type]
    assert result.history.oracle_seconds.tolist() == [each] * result.n_calls
    assert result.generator_seconds == 0.0
    assert result.clock == clock
    axes = result.plot(x="seconds")
    assert axes.get_xlabel() == f"{'elapsed' if clock == 'elapsed' else 'processor'} seconds in oracle and generator"


@pytest.mark.parametrize(("how", "read", "each"), [("here", "processor", 0.5), ("threads", "thread", 0.25)])
def test_a_study_charges_processor_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, read: str, each: float
) -> None:
    """Of the process where it does one run, of the thread where an executor may do several in one."""
    study = Study({"p": FunctionOracle(Clocks(monkeypatch).function, Box(-np.ones(2), np.full(2, 3.0)))}, ["level-set"])
    monkeypatch.setattr("oracle_opt.study.grid.sendable", lambda *words: None)  # the oracle stays in this process
    monkeypatch.setattr("oracle_opt.study.lanes._dumps", lambda thing: thing)
    with ThreadPoolExecutor(1) as pool:
        results = study.run(tmp_path, pool if how == "threads" else None, jobs=1, progress=False)
    (row,) = results.runs.itertuples()
    assert row.clock == read
    assert row.oracle_seconds == row.processor_seconds == each * row.n_calls


def test_elapsed_seconds_are_by_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine_module.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = Study(PIECES, ["level-set"], clock="elapsed").run(tmp_path, jobs=1, progress=False)
    assert results.runs["clock"].tolist() == ["elapsed"]
    assert results.table(cost="total seconds").title.startswith("Elapsed seconds in oracle and generator")
    settings = json.loads((tmp_path / "study.json").read_text())["settings"]
    assert "clock" not in settings  # as in folders from before there was a choice, which go on
    with pytest.raises(StoreMismatch, match="clock = 'elapsed' there, 'processor' here"):
        Study(PIECES, ["level-set"]).run(tmp_path, jobs=1, progress=False)


@pytest.mark.parametrize(("load", "cores", "jobs"), [(9.0, 2, 1), (0.0, 1, 2)])
def test_a_crowded_machine_is_told_where_seconds_are_elapsed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load: float, cores: int, jobs: int
) -> None:
    monkeypatch.setattr(machine_module.os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(machine_module, "cores", lambda: cores)
    study = {"a": study_parts.pieces}
    with pytest.warns(StudyWarning, match="elapsed seconds of these runs will tell of the others"):
        Study(study, ["level-set"], clock="elapsed").run(tmp_path / "elapsed", jobs=jobs, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study(study, ["level-set"]).run(tmp_path / "processor", jobs=jobs, progress=False)


def test_labels_say_which_seconds(tmp_path: Path) -> None:
    results = small_results()
    for cost in ("oracle seconds", "total seconds"):
        for made in (results.curves(cost=cost), results.profile(cost=cost), results.table(cost=cost)):
            assert "processor seconds" in f"{made.title} {made.caption}".lower()
    assert "processor seconds" in results.data_profile(scale="seconds").x
    assert '"seconds":"processor seconds"' in results.report(tmp_path / "r.html").read_text()
    runs = results.runs.assign(clock=["elapsed", *["processor"] * (len(results.runs) - 1)])
    mixed = Results(runs, results.history, results.tau)
    assert "seconds of different clocks" in mixed.curves(cost="total seconds").caption


def test_other_clocks_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="`clock` must be 'processor' or 'elapsed', got 'wall'"):
        Study(PIECES, ["level-set"], clock="wall")
    with pytest.raises(InvalidArgument, match="`clock` must be one of 'elapsed', 'processor', 'thread', got 'wall'"):
        minimize(PIECES["p"], clock="wall")  # type: ignore[arg-type]
    assert all(hasattr(time, function) for function in CLOCKS.values())
