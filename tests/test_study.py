import json
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from failing_generators import Broken, Dying, Killed

from oracle_opt import InvalidArgument, StoreMismatch, minimize
from oracle_opt.datasets import Dataset, load, split_points
from oracle_opt.files import TEMPORARY, atomic_file, atomic_text
from oracle_opt.generators import FixedPoint, Kelley, LevelSet, Subgradient
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.study import (
    GENERATORS,
    SUMMARY_COLUMNS,
    RunStore,
    Settings,
    compare,
    history_table,
    summary_table,
)
from oracle_opt.study.plots import gap_matrix, look
from oracle_opt.study.protocol import run_split

SECONDS = ["oracle_seconds_mean", "generator_seconds_mean"]


def made_up(name="moons", n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 100.0][:d]
    y = np.where(X[:, 0] ** 2 + 0.1 * X[:, 1] + 0.3 * rng.normal(size=n) > 0.7, 1.0, -1.0)
    return Dataset(name, X, y, tuple("abc"[:d]), "made up", "here")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    generators = {"level-set": LevelSet(), "kelley": Kelley(), "fixed-point": FixedPoint()}
    return compare([made_up()], generators, tmp_path_factory.mktemp("study"), splits=3)


def test_files(comparison):
    folder = comparison.folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "curves.png",
        "history.parquet",
        "runs",
        "settings.json",
        "summary.csv",
    ]
    assert json.loads((folder / "settings.json").read_text()) == {
        "rtol": 5e-3,
        "train": 0.7,
        "C": 100.0,
        "max_calls": 500,
        "seed": 0,
        "single_cut": False,
    }
    assert len(list(folder.glob("runs/*/*/*.parquet"))) == 9
    assert not list(folder.rglob(f"{TEMPORARY}*"))
    assert (folder / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_summary(comparison):
    table = pd.read_csv(comparison.folder / "summary.csv")
    assert tuple(table.columns) == SUMMARY_COLUMNS
    assert table["generator"].tolist() == ["level-set", "kelley", "fixed-point"]
    assert table["runs"].tolist() == [3, 3, 3]
    assert table["converged"].tolist() == [3, 3, 0]
    assert table["n_calls_mean"].iloc[2] == 1
    assert table["n_kernels_mean"].iloc[2] == 52
    assert table["accuracy_mean"].between(0.5, 1.0).all()
    assert (table["relative_gap_max"].iloc[:2] <= 5e-3).all()
    for row in table.itertuples():
        group = [run for run in comparison.runs if run.generator == row.generator]
        calls = [run.n_calls for run in group]
        assert row.n_calls_mean == pytest.approx(np.mean(calls))
        assert row.n_calls_std == pytest.approx(np.std(calls))
        assert row.oracle_seconds_mean == pytest.approx(np.mean([run.oracle_seconds for run in group]))
        assert row.relative_gap_max == pytest.approx(max(run.relative_gap for run in group), rel=1e-12)


def test_history(comparison):
    table = pd.read_parquet(comparison.folder / "history.parquet")
    assert table.columns[:4].tolist() == ["dataset", "generator", "split", "call"]
    assert {"value", "upper_bound", "lower_bound", "relative_gap", "single_cut_gap"} <= set(table.columns)
    assert len(table) == sum(run.n_calls for run in comparison.runs)
    for run in comparison.runs:
        rows = table[(table["generator"] == run.generator) & (table["split"] == run.split)]
        assert rows["call"].tolist() == list(range(1, run.n_calls + 1))
        assert rows["relative_gap"].iloc[-1] == run.relative_gap
        assert rows["oracle_seconds"].sum() == pytest.approx(run.oracle_seconds)


def test_a_run_is_what_minimize_gives(comparison):
    """Going on for the sake of the single-cut gap changes nothing but the count of calls to it."""
    dataset, settings = made_up(), Settings()
    train, test = split_points(dataset.y, 1)
    oracle = MKLOracle(uci_bank(dataset.X[train]), dataset.y[train], C=100.0)
    result = minimize(oracle, LevelSet(), rtol=settings.rtol, max_calls=500)
    (run,) = run_split(dataset, {"level-set": LevelSet()}, 1, Settings(single_cut=True))
    stored = next(run for run in comparison.runs if run.key == ("moons", "level-set", 1))
    assert stored.n_calls == run.n_calls
    assert run.n_calls == result.n_calls
    assert run.relative_gap == pytest.approx(result.relative_gap)
    assert run.upper_bound == pytest.approx(result.upper_bound)
    assert run.accuracy == pytest.approx((oracle.predict(result.cut, dataset.X[test]) == dataset.y[test]).mean())
    assert run.n_kernels == (result.point > 1e-3 * result.point.max()).sum()
    longer = minimize(oracle, LevelSet(), rtol=0, max_calls=run.single_cut_calls)
    assert longer.history.single_cut_gap[-1] <= 5e-3 * (1 + 1e-9)
    assert longer.history.single_cut_gap[-2] > 5e-3
    assert run.single_cut_calls >= run.n_calls


@pytest.mark.parametrize(
    ("name", "value"),
    [("rtol", 0.0), ("rtol", np.nan), ("train", 0.0), ("train", 1.0), ("C", -1.0), ("max_calls", 0), ("seed", -1)],
)
def test_bad_settings(name, value):
    with pytest.raises(InvalidArgument, match=f"`{name}` must"):
        Settings(**{name: value})


def test_bad_arguments(tmp_path):
    with pytest.raises(InvalidArgument, match="`splits` must"):
        compare([made_up()], {"kelley": Kelley()}, tmp_path, splits=0)
    with pytest.raises(InvalidArgument, match="`jobs` must"):
        compare([made_up()], {"kelley": Kelley()}, tmp_path, jobs=0)
    with pytest.raises(InvalidArgument, match="`datasets` must"):
        compare([made_up(), made_up()], {"kelley": Kelley()}, tmp_path)
    with pytest.raises(InvalidArgument, match="`generators` must"):
        compare([made_up()], {}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_grows(tmp_path):
    small = compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=1)
    assert (small.n_found, small.n_done) == (0, 1)
    more = compare([made_up(), made_up("other", seed=5)], {"fixed-point": FixedPoint()}, tmp_path, splits=2)
    assert (more.n_found, more.n_done) == (1, 3)
    stamp = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*/*.parquet")}
    again = compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=2)
    assert (again.n_found, again.n_done) == (2, 0)
    assert stamp == {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*/*.parquet")}
    assert pd.read_csv(tmp_path / "summary.csv")["dataset"].tolist() == ["moons", "other"]


def test_other_settings_data_and_methods_are_refused(tmp_path):
    compare([made_up()], {"level-set": LevelSet()}, tmp_path, splits=1)
    before = (tmp_path / "summary.csv").read_bytes()
    with pytest.raises(StoreMismatch, match=r"C = 100.0 there, 10.0 here; seed = 0 there, 3 here"):
        compare([made_up()], {"level-set": LevelSet()}, tmp_path, Settings(C=10.0, seed=3), splits=1)
    with pytest.raises(StoreMismatch, match="another data set called moons"):
        compare([made_up(seed=1)], {"level-set": LevelSet()}, tmp_path, splits=1)
    with pytest.raises(StoreMismatch, match="runs of level-set as LevelSet"):
        compare([made_up()], {"level-set": Kelley()}, tmp_path, splits=1)
    assert (tmp_path / "summary.csv").read_bytes() == before
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(StoreMismatch, match="holds no settings"):
        compare([made_up()], {"level-set": LevelSet()}, tmp_path, splits=1)
    (tmp_path / "file").touch()
    with pytest.raises(StoreMismatch, match="is a file"):
        RunStore(tmp_path / "file", Settings())


def test_store_keeps_a_run_whole(comparison, tmp_path):
    store = RunStore(tmp_path, Settings())
    for run in reversed(comparison.runs):
        store.save(run)
    store = RunStore(tmp_path, Settings())
    loaded = {run.key: run for run in store.load()}
    assert loaded.keys() == {run.key for run in comparison.runs}
    for run in comparison.runs:
        twin = loaded[run.key]
        assert (twin.status, twin.accuracy, twin.method, twin.data) == (run.status, run.accuracy, run.method, run.data)
        assert twin.single_cut_calls == run.single_cut_calls
        pd.testing.assert_frame_equal(twin.history, run.history.reset_index(drop=True), check_dtype=False)


@pytest.mark.parametrize("content", [b"", b"PAR1 torn", None])
def test_a_file_that_is_no_run_is_named(comparison, tmp_path, content):
    store = RunStore(tmp_path, Settings())
    store.save(comparison.runs[0])
    (path,) = tmp_path.glob("runs/*/*/*.parquet")
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    with pytest.raises(StoreMismatch, match=r"\.parquet is no run .* remove it"):
        store.load()


def test_writing_is_all_or_nothing(tmp_path):
    path = tmp_path / "file"
    atomic_text(path, "old")

    def fail(temporary):
        temporary.write_text("half of")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic_file(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    atomic_text(path, "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_costs_one_run(tmp_path, jobs):
    generators = {"kelley": Kelley(), "broken": Broken(), "fixed-point": FixedPoint()}
    seen = []
    outcome = compare([made_up()], generators, tmp_path, splits=2, jobs=jobs, on_run=seen.append)
    assert sorted(failure.key for failure in outcome.failures) == [("moons", "broken", 0), ("moons", "broken", 1)]
    assert "it is broken" in outcome.failures[0].message
    assert len(outcome.runs) == 4
    assert len(seen) == 6
    assert "Traceback" in (tmp_path / "failures.txt").read_text()
    mended = compare([made_up()], {**generators, "broken": FixedPoint()}, tmp_path, splits=2)
    assert (mended.n_found, mended.n_done, mended.failures) == (4, 2, ())
    assert not (tmp_path / "failures.txt").exists()


def test_a_worker_that_dies_costs_its_split(tmp_path):
    generators = {"fixed-point": FixedPoint(), "dying": Dying(), "kelley": Kelley()}
    outcome = compare([made_up()], generators, tmp_path, splits=2, jobs=2)
    assert outcome.runs == ()
    assert len(outcome.failures) == 6
    assert all("exit code 3" in failure.message for failure in outcome.failures)
    mended = compare([made_up()], {**generators, "dying": FixedPoint()}, tmp_path, splits=2)
    assert len(mended.runs) == 6


def test_a_worker_that_is_killed_costs_its_run_and_what_follows_it(tmp_path):
    generators = {"fixed-point": FixedPoint(), "killed": Killed(), "kelley": Kelley()}
    outcome = compare([made_up()], generators, tmp_path, splits=3, jobs=2)
    assert sorted(run.key for run in outcome.runs) == [("moons", "fixed-point", split) for split in range(3)]
    lost = [("moons", name, split) for name in ("kelley", "killed") for split in range(3)]
    assert sorted(failure.key for failure in outcome.failures) == lost
    assert all("exit code -9" in failure.message for failure in outcome.failures)
    assert multiprocessing.active_children() == []


def test_processes_that_do_not_start_are_failures(tmp_path):
    """A script without the guard of `__main__` is run again in each of its processes, which multiprocessing refuses."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np\n"
        "from oracle_opt.datasets import Dataset\n"
        "from oracle_opt.generators import FixedPoint\n"
        "from oracle_opt.study import compare\n"
        "data = Dataset('moons', np.eye(40), np.where(np.arange(40) % 2, 1.0, -1.0), (), '', '')\n"
        "outcome = compare([data], {'fixed-point': FixedPoint()}, sys.argv[1], splits=2, jobs=2)\n"
        "print(*(failure.message for failure in outcome.failures), sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-P", script, tmp_path / "out"], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["ChildProcessError: the worker process died as it started"] * 2, done.stderr


def test_kernels_that_do_not_fit_are_a_failure():
    (outcome,) = run_split(made_up(), {"kelley": Kelley()}, 0, Settings(), memory_limit=1000)
    assert "memory_limit" in outcome.message


def test_processes_change_nothing(comparison, tmp_path):
    generators = {"level-set": LevelSet(), "kelley": Kelley(), "fixed-point": FixedPoint()}
    outcome = compare([made_up()], generators, tmp_path, splits=3, jobs=2)
    pd.testing.assert_frame_equal(
        summary_table(outcome.runs).drop(columns=SECONDS), summary_table(comparison.runs).drop(columns=SECONDS)
    )


def test_ctrl_c_keeps_finished_runs(tmp_path):
    def interrupt(run):
        if run.split == 1:
            raise KeyboardInterrupt

    outcome = compare([made_up()], {"kelley": Kelley()}, tmp_path, splits=4, on_run=interrupt)
    assert outcome.interrupted
    assert [run.split for run in outcome.runs] == [0, 1]
    assert (tmp_path / "summary.csv").exists()


def test_stopped_runs_keep_their_last_gap(comparison):
    table = history_table(comparison.runs)
    gaps = gap_matrix(table[table["generator"] == "kelley"])
    calls = [run.n_calls for run in comparison.runs if run.generator == "kelley"]
    assert gaps.shape == (3, max(calls))
    assert [row[-1] for row in gaps] == [run.relative_gap for run in comparison.runs if run.generator == "kelley"]
    assert (np.diff(gaps, axis=1) <= 0).all()


def test_every_generator_of_the_table_runs_on_wdbc():
    wdbc = load("wdbc")
    part = Dataset("wdbc", wdbc.X[:100, :2], wdbc.y[:100], wdbc.feature_names[:2], "", "")
    generators = {name: kind() for name, kind in GENERATORS.items()}
    runs = list(run_split(part, generators, 0, Settings(max_calls=50)))
    assert [run.generator for run in runs] == list(GENERATORS)
    assert all(run.lower_bound <= run.upper_bound for run in runs)
    best = max(run.lower_bound for run in runs)
    assert all(run.upper_bound >= best * (1 - 1e-9) for run in runs)


def test_names_are_those_of_the_files():
    for name, kind in GENERATORS.items():
        assert kind.__module__.rsplit(".", 1)[-1] == name.replace("-", "_")


@pytest.mark.parametrize(("name", "optimum"), [("sonar", 5122.86), ("ionosphere", 5610.126), ("pima", 27581.03)])
def test_split_0_is_the_problem_of_known_optimum(name, optimum):
    if not os.environ.get("ORACLE_OPT_DATA"):
        pytest.skip("ORACLE_OPT_DATA names no folder with the data sets")
    (run,) = run_split(load(name), {"level-set": LevelSet()}, 0, Settings())
    assert run.lower_bound <= optimum * (1 + 1e-5)
    assert run.upper_bound >= optimum * (1 - 1e-5)
    assert run.relative_gap <= 5e-3


class BreaksLate(Kelley):
    """Fails at its twenty-fifth question."""

    def ask(self):
        if len(self._model.pool.objective) == 24:
            raise ArithmeticError("no further")
        return super().ask()


def test_breaking_down_after_convergence_costs_the_single_cut_count_alone():
    whole, broken = run_split(
        made_up(), {"kelley": Kelley(), "late": BreaksLate()}, 0, Settings(rtol=0.1, single_cut=True)
    )
    assert whole.n_calls < 24 < whole.single_cut_calls
    assert broken.converged
    assert broken.single_cut_calls is None
    assert (broken.n_calls, broken.upper_bound, broken.accuracy) == (whole.n_calls, whole.upper_bound, whole.accuracy)
    (failure,) = run_split(made_up(), {"late": BreaksLate()}, 0, Settings(rtol=1e-6))
    assert failure.message == "ArithmeticError: no further"


def test_subgradient_that_does_not_converge_is_said_so():
    (run,) = run_split(made_up(), {"subgradient": Subgradient()}, 0, Settings(rtol=1e-9, max_calls=5))
    assert run.status == "MAX_CALLS"
    assert not run.converged
    assert run.single_cut_calls is None
    assert run.n_calls == 5


def test_every_generator_has_a_look_of_its_own():
    assert len({look(index) for index in range(len(GENERATORS))}) == len(GENERATORS)
