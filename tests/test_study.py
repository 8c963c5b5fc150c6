"""The comparison of Wulff & Ong (2014), a study of l1-MKL on random splits, and its files."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from failing_generators import Broken

from oracle_opt import InvalidArgument, StoreMismatch, StudyFailed, StudyWarning, minimize
from oracle_opt.datasets import Dataset, load, split_points
from oracle_opt.files import TEMPORARY, atomic_file, atomic_text
from oracle_opt.generators import FixedPoint, Kelley, LevelSet, Subgradient
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.problems.instance import processes
from oracle_opt.study import GENERATORS, SUMMARY_COLUMNS, Results, compare, summary_table
from oracle_opt.study.records import KEY, Settings
from oracle_opt.study.store import RunStore

SECONDS = ["oracle_seconds_mean", "generator_seconds_mean"]
THREE = {"level-set": LevelSet(), "kelley": Kelley(), "fixed-point": FixedPoint()}


def made_up(name="moons", n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 100.0][:d]
    y = np.where(X[:, 0] ** 2 + 0.1 * X[:, 1] + 0.3 * rng.normal(size=n) > 0.7, 1.0, -1.0)
    return Dataset(name, X, y, tuple("abc"[:d]), "made up", "here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def comparison(folder):
    return compare([made_up()], THREE, folder, splits=3)


def test_files(comparison, folder):
    names = ["curves.png", "history.parquet", "report.html", "runs", "study.json", "summary.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert json.loads((folder / "study.json").read_text())["settings"] == {
        "limits": {"calls": 500, "seconds": None},
        "tau": [5e-3],
        "until": ["certified"],
        "keep_points": False,
        "clock": "processor",
    }
    assert len(list(folder.glob("runs/*/*/*.parquet"))) == 9
    assert not list(folder.rglob(f"{TEMPORARY}*"))
    assert (folder / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_summary(comparison, folder):
    table = pd.read_csv(folder / "summary.csv")
    assert tuple(table.columns) == SUMMARY_COLUMNS
    assert table["generator"].tolist() == ["level-set", "kelley", "fixed-point"]
    assert table["runs"].tolist() == [3, 3, 3]
    assert table["converged"].tolist() == [3, 3, 0]
    assert table["n_calls_mean"].iloc[2] == 1
    assert table["n_kernels_mean"].iloc[2] == 52
    assert table["accuracy_mean"].between(0.5, 1.0).all()
    assert (table["relative_gap_max"].iloc[:2] <= 5e-3).all()
    for row in table.itertuples():
        group = comparison.runs[comparison.runs["generator"] == row.generator]
        assert row.n_calls_mean == pytest.approx(np.mean(group["n_calls"]))
        assert row.n_calls_std == pytest.approx(np.std(group["n_calls"]))
        assert row.oracle_seconds_mean == pytest.approx(np.mean(group["oracle_seconds"]))
        assert row.relative_gap_max == pytest.approx(max(group["relative_gap"]), rel=1e-12)


def test_history(comparison, folder):
    table = pd.read_parquet(folder / "history.parquet")
    assert table.columns[:4].tolist() == [*KEY, "call"]
    assert {"value", "upper_bound", "lower_bound", "relative_gap", "single_cut_gap"} <= set(table.columns)
    assert len(table) == comparison.runs["n_calls"].sum()
    for run in comparison.runs.itertuples():
        rows = table[(table["generator"] == run.generator) & (table["seed"] == run.seed)]
        assert rows["call"].tolist() == list(range(1, run.n_calls + 1))
        assert rows["relative_gap"].iloc[-1] == run.relative_gap
        assert rows["oracle_seconds"].sum() == pytest.approx(run.oracle_seconds)


def test_a_run_is_what_minimize_gives(comparison, tmp_path):
    """Going on for the sake of the single-cut gap changes nothing but the count of calls to it."""
    dataset = made_up()
    train, test = split_points(dataset.y, 1)
    oracle = MKLOracle(uci_bank(dataset.X[train]), dataset.y[train], C=100.0)
    result = minimize(oracle, LevelSet(), rtol=5e-3, max_calls=500)
    longer = compare([dataset], {"level-set": LevelSet()}, tmp_path, splits=2, single_cut=True)
    plain = comparison.filter(generator="level-set", seed=1)
    (run,) = longer.filter(seed=1).runs.itertuples()
    (stored,) = plain.runs.itertuples()
    assert stored.n_calls == run.n_calls == result.n_calls
    assert run.relative_gap == pytest.approx(result.relative_gap)
    assert run.upper_bound == pytest.approx(result.upper_bound)
    assert run.accuracy == pytest.approx((oracle.predict(result.cut, dataset.X[test]) == dataset.y[test]).mean())
    assert run.n_kernels == (result.point > 1e-3 * result.point.max()).sum()
    gaps = longer.filter(seed=1).history["single_cut_gap"].to_numpy()
    assert gaps[-1] <= 5e-3 < gaps[-2]
    further = minimize(oracle, LevelSet(), rtol=0, max_calls=len(gaps))
    assert further.history.single_cut_gap[-1] == pytest.approx(gaps[-1], abs=1e-9)
    assert len(gaps) >= run.n_calls


def test_bad_arguments(tmp_path):
    for change, words in (
        ({"splits": 0}, "`splits` must"),
        ({"jobs": 0}, "`jobs` must"),
        ({"rtol": 0.0}, "`rtol` must"),
        ({"train": 1.0}, "`train` must"),
        ({"C": -1.0}, "`C` must"),
        ({"max_calls": 0}, "`max_calls` must"),
        ({"seed": -1}, "`seed` must"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            compare([made_up()], {"kelley": Kelley()}, tmp_path, **change)
    with pytest.raises(InvalidArgument, match="`datasets` must"):
        compare([made_up(), made_up()], {"kelley": Kelley()}, tmp_path)
    with pytest.raises(InvalidArgument, match="`generators` must"):
        compare([made_up()], {}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_grows(tmp_path):
    assert len(compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=1)) == 1
    more = compare([made_up(), made_up("other", seed=5)], {"fixed-point": FixedPoint()}, tmp_path, splits=2)
    assert len(more) == 4
    stamp = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*/*.parquet")}
    assert len(compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=2)) == 2
    assert stamp == {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*/*.parquet")}
    assert pd.read_csv(tmp_path / "summary.csv")["instance"].tolist() == ["moons", "other"]


def test_other_settings_data_and_methods_are_refused(tmp_path):
    compare([made_up()], {"level-set": LevelSet()}, tmp_path, splits=1)
    before = (tmp_path / "summary.csv").read_bytes()
    with pytest.raises(StoreMismatch, match=r"another problem called moons: .*C=100.* and is now .*C=10"):
        compare([made_up()], {"level-set": LevelSet()}, tmp_path, C=10.0, splits=1)
    with pytest.raises(StoreMismatch, match=r"another problem called moons: .*seed 0.* and is now .*seed 3"):
        compare([made_up()], {"level-set": LevelSet()}, tmp_path, seed=3, splits=1)
    with pytest.raises(StoreMismatch, match="another problem called moons"):
        compare([made_up(seed=1)], {"level-set": LevelSet()}, tmp_path, splits=1)
    with pytest.raises(StoreMismatch, match="runs of level-set as LevelSet"):
        compare([made_up()], {"level-set": Kelley()}, tmp_path, splits=1)
    assert (tmp_path / "summary.csv").read_bytes() == before
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(StoreMismatch, match="holds no settings"):
        compare([made_up()], {"level-set": LevelSet()}, tmp_path, splits=1)
    (tmp_path / "file").touch()
    with pytest.raises(StoreMismatch, match="is a file"):
        RunStore(tmp_path / "file", Settings())


@pytest.mark.parametrize("content", [b"", b"PAR1 torn", None])
def test_a_file_that_is_no_run_is_named(tmp_path, content):
    compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=1)
    (path,) = tmp_path.glob("runs/*/*/*.parquet")
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    for again in (lambda: Results.read(tmp_path), lambda: compare([made_up()], THREE, tmp_path, splits=1)):
        with pytest.raises(StoreMismatch, match=r"\.parquet is no run .* remove it"):
            again()


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


def test_failures_are_written_down(tmp_path):
    with pytest.warns(StudyWarning, match="broken.* InvalidArgument: it is broken"):
        found = compare([made_up()], THREE | {"broken": Broken()}, tmp_path, splits=2)
    failed = found.filter(generator="broken").runs
    assert failed["message"].tolist() == ["InvalidArgument: it is broken"] * 2
    assert (tmp_path / "failures.txt").read_text().count("Traceback") == 2
    compare([made_up()], THREE | {"broken": FixedPoint()}, tmp_path, splits=2)
    assert not (tmp_path / "failures.txt").exists()


def test_kernels_that_do_not_fit_are_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("oracle_opt.problems.mkl.share_of_memory", lambda: 1000)
    with pytest.warns(StudyWarning, match="memory_limit"), pytest.raises(StudyFailed, match="memory_limit") as failed:
        compare([made_up()], {"kelley": Kelley()}, tmp_path, splits=1)
    (run,) = failed.value.results.runs.itertuples()
    assert "memory_limit" in run.message
    assert "memory_limit" in (tmp_path / "failures.txt").read_text()
    assert processes.get() == 1


def test_processes_change_nothing(comparison, tmp_path):
    found = compare([made_up()], THREE, tmp_path, splits=3, jobs=2)
    pd.testing.assert_frame_equal(
        summary_table(found).drop(columns=SECONDS), summary_table(comparison).drop(columns=SECONDS)
    )


def test_every_generator_of_the_table_runs_on_wdbc(tmp_path):
    wdbc = load("wdbc")
    part = Dataset("wdbc", wdbc.X[:100, :2], wdbc.y[:100], wdbc.feature_names[:2], "", "")
    runs = compare([part], list(GENERATORS), tmp_path, splits=1, max_calls=50).runs
    assert set(runs["generator"]) == set(GENERATORS)
    served = runs[runs["status"] != "REFUSED"]
    assert set(runs["generator"]) - set(served["generator"]) == {"spectral-bundle", "lbfgs", "optimal-kelley"}
    assert (served["lower_bound"] <= served["upper_bound"]).all()
    assert (served["upper_bound"] >= served["lower_bound"].max() * (1 - 1e-9)).all()


def test_names_are_those_of_the_files():
    for name, kind in GENERATORS.items():
        assert kind.__module__.rsplit(".", 1)[-1] == name.replace("-", "_")


@pytest.mark.parametrize(("name", "optimum"), [("sonar", 5122.86), ("ionosphere", 5610.126), ("pima", 27581.03)])
def test_split_0_is_the_problem_of_known_optimum(tmp_path, name, optimum):
    if not os.environ.get("ORACLE_OPT_DATA"):
        pytest.skip("ORACLE_OPT_DATA names no folder with the data sets")
    (run,) = compare([load(name)], {"level-set": LevelSet()}, tmp_path, splits=1).runs.itertuples()
    assert run.lower_bound <= optimum * (1 + 1e-5)
    assert run.upper_bound >= optimum * (1 - 1e-5)
    assert run.relative_gap <= 5e-3


class BreaksLate(Kelley):
    """Fails at its twenty-fifth question."""

    def ask(self):
        if len(self._model.pool.objective) == 24:
            raise ArithmeticError("no further")
        return super().ask()


def test_breaking_down_after_convergence_costs_the_single_cut_count_alone(tmp_path):
    both = {"kelley": Kelley(), "late": BreaksLate()}
    found = compare([made_up()], both, tmp_path / "both", splits=1, rtol=0.1, single_cut=True)
    whole, broken = found.runs.itertuples()
    calls = found.history.groupby("generator")["single_cut_gap"].agg(["size", "min"])
    assert whole.n_calls < 24 < calls["size"]["kelley"]
    assert calls["min"]["kelley"] <= 0.1
    assert broken.status == "CONVERGED"
    assert calls["min"]["late"] > 0.1
    assert (broken.n_calls, broken.upper_bound, broken.accuracy) == (whole.n_calls, whole.upper_bound, whole.accuracy)
    with pytest.warns(StudyWarning), pytest.raises(StudyFailed, match="ArithmeticError: no further") as failed:
        compare([made_up()], {"late": BreaksLate()}, tmp_path / "late", splits=1, rtol=1e-6)
    assert failed.value.results.runs["status"].tolist() == ["FAILED"]
    assert len(failed.value.results.history) == 24


def test_subgradient_that_does_not_converge_is_said_so(tmp_path):
    found = compare([made_up()], {"subgradient": Subgradient()}, tmp_path, splits=1, rtol=1e-9, max_calls=5)
    (run,) = found.runs.itertuples()
    assert run.status == "MAX_CALLS"
    assert run.n_calls == 5
