import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points, version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from oracle_opt.cli import main
from oracle_opt.study import DEFAULT_GENERATORS, GENERATORS

COMMAND = [sys.executable, "-c", "from oracle_opt.cli import main; main()"]
SECONDS = ["oracle_seconds_mean", "generator_seconds_mean"]


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "parabola.csv")


def write_table(path):
    """Write a problem of 60 points as CSV."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=np.where(X[:, 0] ** 2 + 0.3 * X[:, 1] > 0.7, 1, 0))
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_compare(table, tmp_path):
    out = tmp_path / "report"
    command = ("compare", table, "--splits", 2, "--generators", "level-set,kelley,fixed-point", "--out", out)
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert "6 runs to do" in first.stderr
    for word in ("parabola: 60 points", "level-set", "kelley", "fixed-point", "2/2", "0/2", str(out / "summary.csv")):
        assert word in first.stdout
    row = next(line for line in first.stdout.splitlines() if "kelley" in line)
    assert len(re.findall("±", row)) == 6
    summary = pd.read_csv(out / "summary.csv")
    assert summary["generator"].tolist() == ["level-set", "kelley", "fixed-point"]
    second = run(*command)
    assert "6 runs found finished, 0 to do" in second.stderr
    assert second.stdout == first.stdout
    pd.testing.assert_frame_equal(pd.read_csv(out / "summary.csv"), summary)


def test_settings_of_another_command_are_refused(table, tmp_path):
    run("compare", table, "--splits", 1, "--generators", "fixed-point", "--out", tmp_path)
    result = run("compare", table, "--splits", 1, "--generators", "fixed-point", "--out", tmp_path, "--C", 10)
    assert result.exit_code == 2
    assert re.search("another problem called parabola: .*C=100.* and is now of .*C=10,", result.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--C", "0"), "`C` must be positive, got 0.0"),
        (("--train", "1"), "`train` must lie strictly between 0 and 1"),
        (("--splits", "0"), "`splits` must be a whole number of at least 1"),
        (("--rtol", "-1"), "`rtol` must lie strictly between 0 and 1"),
        (("--max-calls", "0"), "`max_calls` must be a whole number of at least 1"),
        (("--jobs", "0"), "`jobs` must be a whole number of at least 1"),
        (("--generators", "kelly"), "there is no generator 'kelly': did you mean kelley"),
        (("--generators", "qqq"), "known are analytic-center, level-set"),
        (("--generators", ","), "names none"),
        (("--rtol", "small"), "--rtol"),
        (("--splits", "x"), "'x'"),
        (("--splits=x",), "'x'"),
        (("--tau", "1"), "--rtol"),
        (("nosuch",), "there is no data set 'nosuch': known are"),
        (("wdcb",), "there is no data set 'wdcb': did you mean wdbc"),
        (("nowhere/at_all.csv",), "the file nowhere/at_all.csv does not exist"),
    ],
)
def test_refusals(table, tmp_path, words, message):
    result = run("compare", table, "--out", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_two_files_of_one_name(table, tmp_path):
    (tmp_path / "sub").mkdir()
    twin = tmp_path / "sub" / table.name
    twin.write_bytes(table.read_bytes())
    result = run("compare", table, twin, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "two of the data sets are called parabola" in result.stderr


def test_failures_give_exit_code_1(tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,label\n" + "1,0\n1,1\n" * 10)
    result = run("compare", path, "--splits", 1, "--generators", "kelley", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "failed: constant, kelley, split 0: InvalidArgument" in result.stderr
    assert "1 runs failed" in result.stderr


def test_generators():
    result = run("generators")
    assert result.exit_code == 0
    for word in ("analytic-center", "AnalyticCenter", "reduced-gradient", "spg", "fixed-point"):
        assert word in result.stdout


def test_every_generator_compares(table, tmp_path):
    result = run(
        "compare", table, "--splits", 1, "--generators", ",".join(GENERATORS), "--max-calls", 4, "--out", tmp_path
    )
    assert result.exit_code == 0, result.output
    served = [name for name in GENERATORS if name not in ("spectral-bundle", "lbfgs", "optimal-kelley")]
    assert pd.read_csv(tmp_path / "summary.csv")["generator"].tolist() == served
    assert "refused: parabola, lbfgs, split 0: LBFGS cannot serve MKLOracle" in result.stderr


def test_help_names_what_is_left_out():
    words = re.sub(r"[\s|│]+", "", run("compare", "--help").stdout)
    assert f"allbut{','.join(name for name in GENERATORS if name not in DEFAULT_GENERATORS)}" in words


def test_datasets(monkeypatch, tmp_path):
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path))
    lines = run("datasets").stdout.splitlines()
    places = {line.split()[0]: line for line in lines[1:] if line and not line.startswith(" ")}
    assert "scikit-learn" in places["wdbc"]
    assert "OpenML 37" in places["pima"]
    assert "needs the file wpbc.csv" in places["wpbc"]
    assert "268 / 500" in places["pima"]


def test_version_and_entry_point(monkeypatch, capsys):
    assert run("--version").stdout.strip() == f"oracle-opt {version('oracle-opt')}"
    (script,) = entry_points(group="console_scripts", name="oracle-opt")
    monkeypatch.setattr(sys, "argv", ["oracle-opt", "--version"])
    with pytest.raises(SystemExit) as ended:
        script.load()()
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == f"oracle-opt {version('oracle-opt')}"


def test_real_process(table, tmp_path):
    words = ["compare", str(table), "--splits", "1", "--generators", "level-set,fixed-point", "--out", "report"]
    result = subprocess.run([*COMMAND, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("2 runs to do\n1 of 2 runs, about ")
    assert (tmp_path / "report" / "curves.png").exists()


GRID = ("--splits", "5", "--generators", "level-set,subgradient", "--max-calls", "75", "--rtol", "1e-3")
RUNS = 10


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Data file, and the summary of an uninterrupted command on it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    table = write_table(folder / "parabola.csv")
    assert run("compare", table, *GRID, "--out", folder).exit_code == 0
    return table, pd.read_csv(folder / "summary.csv").drop(columns=SECONDS)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a group of processes")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_and_continued(uninterrupted, tmp_path, jobs):
    """The final summary is that of an uninterrupted command, apart from seconds."""
    table, summary = uninterrupted
    words = ["compare", str(table), *GRID, "--jobs", jobs, "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*COMMAND, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(finished(tmp_path)) < 2 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
    stdout, stderr = process.communicate(timeout=60)
    kept = len(finished(tmp_path))
    assert process.returncode == 130, stderr
    assert f"interrupted: kept {kept} finished runs in {tmp_path}; run the same command again to continue" in stderr
    assert "Traceback" not in stderr
    assert "parabola: 60 points" in stdout
    assert 2 <= kept < RUNS
    again = run("compare", table, *GRID, "--out", tmp_path)  # jobs may change
    assert again.exit_code == 0
    assert f"{kept} runs found finished, {RUNS - kept} to do" in again.stderr
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "summary.csv").drop(columns=SECONDS), summary)


def finished(out: Path):
    return list(out.glob("runs/*/*/[0-9]*.parquet"))
