"""What `log=` writes, and what a result says of the time and memory of its run."""

import logging
import pickle
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oracle_opt import Box, FunctionOracle, InvalidArgument, Simplex, Status, StudyWarning, history, minimize, run_log
from oracle_opt.cli import main
from oracle_opt.generators import FixedPoint, Kelley, LevelSet, Subgradient
from oracle_opt.oracles import GramBank, MKLOracle, RBFBank, solve_lp_mkl, solve_mkl
from oracle_opt.study import Study
from oracle_opt.study.progress_bar import duration

BANK = GramBank([np.outer(v, v) + np.eye(8) for v in np.random.default_rng(0).normal(size=(3, 8))])
LABELS = np.tile([1.0, -1.0], 4)
CALL = re.compile(r" +(\d+)  (serious|null|feasibility) +(\S+) +(\S+) +(\S+) +([\d.]+)")


@pytest.fixture
def oracle():
    target = np.array([0.2, 0.3, 0.5])
    return FunctionOracle(lambda z: (abs(z - target).sum(), np.sign(z - target)), Simplex(3))


def square(z):
    return float(z @ z), 2 * z


def undefined(z):
    return undefined_name, z  # noqa: F821


def calls_of(lines) -> list[int]:
    return [int(found[1]) for line in lines if (found := CALL.fullmatch(line))]


def test_lines_say_what_the_history_says(oracle):
    lines: list[str] = []
    result = minimize(oracle, Kelley(), atol=1e-9, log=lines.append)
    head, titles, *calls, end = lines
    assert head == f"{result.generator} on FunctionOracle in 3 variables: rtol 1e-06, atol 1e-09, at most 1000 calls"
    assert titles.split() == ["call", "step", "upper", "bound", "lower", "bound", "rel.", "gap", "seconds"]
    rows = [CALL.fullmatch(line) for line in calls]
    assert len(rows) == result.n_calls <= run_log.FIRST
    history = result.history
    for row, *told in zip(rows, history.step, history.upper_bound, history.lower_bound, strict=True):
        assert row is not None
        assert row[2] == told[0]
        assert [float(row[3]), float(row[4])] == pytest.approx(told[1:], rel=1e-9)
    assert end.startswith(f"CONVERGED after {result.n_calls} oracle calls and ")
    assert end.endswith(result.message)
    assert "\n" not in "".join(lines)


def test_after_ten_calls_a_line_a_second_and_the_last(oracle, monkeypatch):
    now = 0.0
    monkeypatch.setattr(run_log, "perf_counter", lambda: now)

    def later(record):
        nonlocal now
        now += 0.3

    lines: list[str] = []
    minimize(oracle, Subgradient(), rtol=0.0, max_calls=23, callback=later, log=lines.append)
    # call n is at 0.3 (n - 1) seconds; the tenth has a line at 2.7, so the next are due at 3.7 and, after call 14, 4.9
    assert calls_of(lines) == [*range(1, 11), 14, 18, 22, 23]
    assert lines[-1].startswith("MAX_CALLS after 23")


def test_true_writes_to_standard_error(oracle, capfd):
    minimize(oracle, Kelley(), max_calls=3, log=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert calls_of(err.splitlines()) == [1, 2, 3]
    minimize(oracle, Kelley(), max_calls=3)
    assert capfd.readouterr() == ("", "")


def test_logging_and_print_take_the_lines(oracle, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="runs"):
        result = minimize(oracle, Kelley(), max_calls=3, log=logging.getLogger("runs").info)
    assert calls_of(caplog.messages) == [1, 2, 3]
    assert caplog.messages[-1].endswith(result.message)
    minimize(oracle, Kelley(), max_calls=3, log=print)
    assert calls_of(capsys.readouterr().out.splitlines()) == [1, 2, 3]


@pytest.mark.parametrize("options", [{"log": True}, {"progress": True}])
@pytest.mark.parametrize("where", ["none", "closed"])
def test_no_standard_error_ends_no_run(oracle, monkeypatch, tmp_path, options, where):
    closed = open(tmp_path / "log", "w")  # noqa: SIM115  # a file that is closed too early is what is tested
    closed.close()
    monkeypatch.setattr(sys, "stderr", None if where == "none" else closed)
    assert minimize(oracle, Kelley(), atol=1e-9, **options).success
    results = Study({"a": oracle}, ["kelley"]).run(tmp_path / "study", jobs=1, **{"progress": False} | options)
    assert results.runs["status"].tolist() == ["CONVERGED"]


@pytest.mark.parametrize("log", [None, 1, "print", [print]])
def test_what_is_no_log_is_refused(oracle, log, tmp_path):
    with pytest.raises(InvalidArgument, match="`log` must be True, False, or a function of a line such as print"):
        minimize(oracle, Kelley(), log=log)
    with pytest.raises(InvalidArgument, match="`log` must be"):
        Study({"a": oracle}, ["kelley"]).run(tmp_path / "study", log=log)
    assert not (tmp_path / "study").exists()


def test_how_a_run_ended_is_said_however_it_ended(oracle):
    def fails(z):
        raise ZeroDivisionError("the data are gone")

    lines: list[str] = []
    with pytest.raises(ZeroDivisionError):
        minimize(FunctionOracle(fails, Simplex(3)), Kelley(), log=lines.append)
    assert lines[-1].startswith("FAILED after 0 oracle calls")

    def interrupts(record):
        raise KeyboardInterrupt

    lines.clear()
    minimize(oracle, Kelley(), callback=interrupts, log=lines.append)
    assert lines[-1].startswith("INTERRUPTED after 1 oracle calls")


@pytest.mark.parametrize("last", ["on ", "1", "CONVERGED"])
def test_a_log_that_fails_loses_nothing(oracle, last):
    """As a full disk: the exception is raised, and carries what was computed; no line is tried again."""
    lines: list[str] = []

    def write(line):
        lines.append(line)
        if last in line.split("serious")[0]:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left") as caught:
        minimize(oracle, Kelley(), atol=1e-9, log=write)
    assert caught.value.result.status is Status.FAILED
    assert sum(last in line.split("serious")[0] for line in lines) == 1
    assert last in lines[-1].split("serious")[0]


def test_the_way_of_the_machines_is_said():
    n = 1000
    bank = RBFBank(np.random.default_rng(0).normal(size=(n, 2)), [[0, 1]], [[0.5, 1.0, 2.0]])
    for budget, words in ((8 * n**2, "in 3 variables:"), (8 * n**2 - 1, "in 3 variables (machines on working sets")):
        lines: list[str] = []
        minimize(MKLOracle(bank, np.resize([1, -1], n), memory_budget=budget), max_calls=1, log=lines.append)
        assert words in lines[0]


@pytest.mark.parametrize("solve", [solve_mkl, solve_lp_mkl])
def test_solvers_of_mkl_have_the_log(solve):
    lines: list[str] = []
    result = solve(BANK, LABELS, C=10.0, log=lines.append)
    assert lines[0].startswith("NewtonMKL(")
    assert " on GMKLOracle in 3 variables" in lines[0]
    assert calls_of(lines)[-1] == result.n_calls
    assert lines[-1].endswith(result.message)


def test_a_study_says_each_run(oracle, tmp_path, capfd):
    lines: list[str] = []
    study = Study({"l1": oracle}, ["kelley", "fixed-point"], seeds=2, tau=1e-6)
    study.run(tmp_path, jobs=1, progress=False, log=lines.append)
    assert lines[0] == "4 runs to do"
    assert [line.partition(" after")[0] for line in lines[1:]] == [
        *("1 of 4: l1, kelley, seed 0: CONVERGED", "2 of 4: l1, fixed-point, seed 0: EXHAUSTED"),
        *("3 of 4: l1, kelley, seed 1: CONVERGED", "4 of 4: l1, fixed-point, seed 1: EXHAUSTED"),
    ]
    study.run(tmp_path, jobs=1, progress=False, log=True)
    assert capfd.readouterr().err == "4 runs found finished, 0 to do\n"
    study.run(tmp_path, jobs=1, progress=True, log=True)
    assert capfd.readouterr().err == "4 runs found finished, 0 to do\n"


def test_the_command_says_each_run(tmp_path):
    (tmp_path / "line.csv").write_text("a,label\n" + "".join(f"{x},{int(x > 4)}\n" for x in range(10)))
    words = [*("compare", str(tmp_path / "line.csv"), "--splits", "2", "--C", "1"), *("--generators", "fixed-point")]
    done = CliRunner().invoke(main, [*words, "--log", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    assert lines[0] == "2 runs to do"
    assert [line.partition(":")[0] for line in lines[1:]] == ["1 of 2", "2 of 2"]


def test_seconds_are_those_of_the_whole_run(monkeypatch):
    """Of the oracle, the generator, the callback and the log: by a clock that only they move."""
    now = 100.0

    def passes(seconds):
        nonlocal now
        now += seconds

    for module in ("run", "history", "run_log"):
        monkeypatch.setattr(f"oracle_opt.{module}.perf_counter", lambda: now)
    monkeypatch.setattr("oracle_opt.run.clock_of", lambda name: lambda: now)

    class Slow(FixedPoint):
        def tell(self, cut):
            passes(0.5)
            return super().tell(cut)

    def function(z):
        passes(2.0)
        return float(z @ z), 2 * z

    oracle = FunctionOracle(function, Box(np.zeros(2), np.ones(2)))
    callback, log = (lambda record: passes(8.0)), (lambda line: passes(32.0))
    result = minimize(oracle, Slow(), max_calls=1, callback=callback, log=log)
    assert result.n_calls == 1
    assert (result.oracle_seconds, result.generator_seconds) == (2.0, 0.5)
    assert result.seconds == 2.0 + 0.5 + 8.0 + 3 * 32.0  # three lines before the last, which tells these seconds
    assert "106 in all, 2 in the oracle, 0.5 in the generator" in str(result)


def test_a_run_from_a_journal_says_which_seconds_are_recorded(oracle, tmp_path):
    path = tmp_path / "journal"
    first = minimize(oracle, Kelley(), max_calls=3, journal=path)
    again = minimize(oracle, Kelley(), atol=1e-9, journal=path)
    assert (first.n_replayed, again.n_replayed) == (0, 3)
    assert again.n_calls > 3
    assert "; those of 3 calls are from the journal" in str(again)
    assert "journal" not in str(first)
    assert again.history.oracle_seconds[:3].tolist() == first.history.oracle_seconds.tolist()


@pytest.mark.skipif(history.peak_memory() is None, reason="this system does not tell")
def test_memory_is_the_peak_of_the_process_and_its_growth():
    """An oracle that holds more than the process ever has, by a known amount, and gives it back."""
    before = history.peak_memory()
    held = before + (64 << 20)

    def function(z):
        if len(z) == 3:
            np.ones(held // 8)
        return float(z @ z), 2 * z

    large = minimize(FunctionOracle(function, Simplex(3)), LevelSet(), max_calls=2)
    assert large.memory >= held
    assert large.memory - large.memory_growth == pytest.approx(before, abs=32 << 20)
    small = minimize(FunctionOracle(function, Simplex(4)), LevelSet(), max_calls=2)
    assert small.memory == large.memory
    assert small.memory_growth == 0
    assert f"{small.memory / 2**20:.4g} MiB at most in this process, of which 0 MiB came in this run" in str(small)


def test_a_system_that_tells_no_memory(oracle, monkeypatch):
    monkeypatch.setattr("oracle_opt.history.peak_memory", lambda: None)
    result = minimize(oracle, Kelley(), max_calls=2)
    assert result.memory is result.memory_growth is None
    assert "not told by this system" in str(result)


@pytest.mark.skipif(sys.platform != "linux", reason="two counters to compare are on Linux alone")
def test_the_two_counters_of_memory_agree():
    assert history._of_usage() == pytest.approx(history.peak_memory(), rel=0.2)


def test_a_result_is_pickled_with_its_costs(oracle):
    result = pickle.loads(pickle.dumps(minimize(oracle, Kelley(), max_calls=2)))
    assert result.seconds > 0
    assert str(result) == str(pickle.loads(pickle.dumps(result)))


class Notebook:
    """What stands for IPython in a notebook: keeps what each line showed."""

    kernel = object()

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[list[str]] = []
        display = types.ModuleType("IPython.display")
        display.display = self.display  # type: ignore[attr-defined]
        package = types.ModuleType("IPython")
        package.get_ipython = lambda: self  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", package)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> types.SimpleNamespace:
        assert raw
        assert display_id
        line = [bundle["text/plain"]]
        self.shown.append(line)
        return types.SimpleNamespace(update=lambda bundle, raw: line.append(bundle["text/plain"]))


def test_a_notebook_shows_the_bounds_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    result = minimize(FunctionOracle(square, Box([-1.0], [2.0])), Kelley(), progress=True)
    (line,) = notebook.shown
    assert line[0].startswith("Kelley")
    assert f"call {result.n_calls} " in line[-1]
    assert f"{result.lower_bound:.8g}" in line[-1]


def test_a_notebook_shows_runs_failures_and_the_time_left_of_a_study(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(run_log, "RENEWED", 0.0)
    oracles = {"a": FunctionOracle(square, Box([-1.0], [2.0])), "b": FunctionOracle(undefined, Box([-1.0], [2.0]))}
    with pytest.warns(StudyWarning):
        Study(oracles, ["kelley"], seeds=2).run(tmp_path, jobs=1)
    (line,) = notebook.shown
    assert "4 runs" in line[0]
    assert all("left" in words for words in line[1:])
    assert "failed" not in line[1]
    assert "2 failed" in line[-1]
    assert "4 of 4" in line[-1]


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0:00"), (59.6, "1:00"), (3725.0, "1:02:05")])
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words
