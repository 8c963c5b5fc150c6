"""Grids of runs: processes, executors, kills, full disks, two processes on one folder."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import study_parts
from failing_generators import Broken, Dying, Killed
from small_results import largest_of_pieces

from oracle_opt import Box, FunctionOracle, InvalidArgument, StudyWarning
from oracle_opt.files import TEMPORARY
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.study import Results, Study
from oracle_opt.study.records import FAILED, KEY

INSTANCES = {f"pieces {n}": largest_of_pieces(n, 0) for n in (2, 4)} | {"factory": study_parts.pieces}
SCRIPT = """
import os, sys, time
from oracle_opt import Box, FunctionOracle
from oracle_opt.generators import LevelSet
from oracle_opt.study import Study
import numpy as np

def square(z):
    time.sleep(0.01)
    return z @ z, 2 * z

box = Box(-np.ones(3), np.full(3, 2.0))
instances = {f"square {i}": FunctionOracle(square, box) for i in range(2)}
study = Study(instances, ["level-set", "kelley", "analytic-center"], seeds=2)
print("begins", flush=True)
print(study.run(sys.argv[1], jobs=int(sys.argv[2]), progress=False))
"""


def study(**options) -> Study:
    return Study(INSTANCES, ["level-set", "kelley", "newton-bundle"], seeds=2, **options)


def numbers(results: Results) -> pd.DataFrame:
    """All that does not depend on clocks."""
    runs = results.runs.drop(
        columns=["oracle_seconds", "generator_seconds", "seconds", "processor_seconds", "clock", "machine", "version"]
    )
    history = results.history.drop(columns=["oracle_seconds", "generator_seconds"])
    both = history.merge(runs, on=list(KEY), suffixes=("", "_of_run"), how="outer")
    return both.sort_values([*KEY, "call"], ignore_index=True)


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> pd.DataFrame:
    return numbers(study().run(tmp_path_factory.mktemp("here"), jobs=1, progress=False))


def test_processes_change_nothing(here, tmp_path) -> None:
    found = study().run(tmp_path, jobs=2, progress=False)
    pd.testing.assert_frame_equal(numbers(found), here)
    pd.testing.assert_frame_equal(numbers(Results.read(tmp_path)), here)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_change_nothing(here, tmp_path, kind) -> None:
    options = {"mp_context": get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) as executor:
        found = study().run(tmp_path, executor, progress=False)
        assert executor.submit(abs, -1).result() == 1  # it is the user's, and goes on
    pd.testing.assert_frame_equal(numbers(found), here)


def test_dask_workers_change_nothing(here, tmp_path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    import dask

    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = study().run(tmp_path, client.get_executor(), progress=False)
    pd.testing.assert_frame_equal(numbers(found), here)


def script(tmp_path: Path) -> list[str]:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return [sys.executable, str(file), str(tmp_path / "study")]


def test_a_script_needs_no_guard_and_no_module_of_its_own(tmp_path) -> None:
    done = subprocess.run([*script(tmp_path), "2"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("begins") == 1
    assert "Results(12 runs of 3 generators on 2 instances: 12 CONVERGED)" in done.stdout


@pytest.mark.campaign(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_at_any_moment_and_run_again(tmp_path, jobs) -> None:
    command, folder = [*script(tmp_path), jobs], tmp_path / "study"
    rng, kept = np.random.default_rng(int(jobs)), 0
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wanted = kept + int(rng.integers(1, 4))
        while len(stored := list(folder.glob("runs/*/*/[0-9]*.parquet"))) < wanted:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = len(stored)
        assert len(Results.read(folder)) >= kept
    assert kept < 12
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "12 CONVERGED" in done.stdout


def test_two_processes_on_one_folder(tmp_path) -> None:
    processes = [
        subprocess.Popen([*script(tmp_path), "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        assert "Results(12 runs of 3 generators on 2 instances: 12 CONVERGED)" in out
    folder = tmp_path / "study"
    assert len(Results.read(folder)) == 12
    assert len(list(folder.glob("runs/*/*/*"))) == 12
    assert not list(folder.rglob(f"{TEMPORARY}*"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_costs_one_run(tmp_path, jobs) -> None:
    generators = {"broken": Broken(), "kelley": Kelley()}
    with pytest.warns(StudyWarning, match="broken.*: it is broken"):
        found = Study(INSTANCES, generators).run(tmp_path, jobs=jobs, progress=False).runs
    assert found.groupby("generator")["status"].unique().map(list).to_dict() == {
        "broken": [FAILED],
        "kelley": ["CONVERGED"],
    }


@pytest.mark.parametrize(("kind", "words"), [(Dying, "EXIT(3)"), (Killed, "SIGKILL(-9)")])
def test_a_worker_that_dies_costs_one_run(tmp_path, kind, words) -> None:
    generators = {"kelley": Kelley(), "bad": kind(), "level-set": LevelSet()}
    with pytest.warns(StudyWarning, match="bad.* ChildProcessError"):
        found = Study(INSTANCES, generators).run(tmp_path, jobs=2, progress=False).runs
    assert set(found[found["generator"] != "bad"]["status"]) == {"CONVERGED"}
    bad = found[found["generator"] == "bad"]
    assert set(bad["status"]) == {FAILED}
    assert set(bad["message"]) == {f"ChildProcessError: the worker process died; its exit code: {words}"}


def test_a_process_that_was_replaced_is_sent_the_instance_again(tmp_path) -> None:
    """As loky does with a process that holds a large instance, where psutil is installed."""
    generators = {"forgetful": study_parts.Forgetful(), "kelley": Kelley(), "level-set": LevelSet()}
    found = Study(INSTANCES, generators, seeds=2).run(tmp_path, jobs=2, progress=False).runs
    assert set(found["status"]) == {"CONVERGED"}
    assert len(found) == 18


def test_a_broken_executor_loses_nothing_that_is_finished(tmp_path) -> None:
    generators = {"kelley": Kelley(), "bad": Killed()}
    instances = {"pieces 2": INSTANCES["pieces 2"]}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor, pytest.raises(BrokenExecutor) as raised:
        Study(instances, generators).run(tmp_path, executor, progress=False)
    assert "repeat the call with another one" in raised.value.__notes__[0]
    assert Results.read(tmp_path).runs["generator"].tolist() == ["kelley"]


def test_what_cannot_be_sent_is_said_before_anything_is_done(tmp_path) -> None:
    lock = threading.Lock()

    def square(z):
        with lock:
            return z @ z, 2 * z

    oracle = FunctionOracle(square, Box(-np.ones(2), np.full(2, 2.0)))
    locked = Study({"fine": INSTANCES["pieces 2"], "locked": oracle}, ["kelley"])
    with pytest.raises(InvalidArgument, match=r"`instances\['locked'\]` cannot be sent to another process .*`jobs=1`"):
        locked.run(tmp_path, jobs=2, progress=False)
    assert not len(Results.read(tmp_path))
    assert set(locked.run(tmp_path, jobs=1, progress=False).runs["status"]) == {"CONVERGED"}


def test_a_full_disk_leaves_what_is_finished(tmp_path, monkeypatch) -> None:
    from oracle_opt.study import store

    real, written = store.atomic_file, []

    def atomic_file(path, write):
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, write)
        written.append(path)

    monkeypatch.setattr(store, "atomic_file", atomic_file)
    with pytest.raises(OSError, match=r"No space left.*runs finished before are kept in .*repeat the call"):
        study().run(tmp_path, jobs=2, progress=False)
    assert len(Results.read(tmp_path)) == 3
    monkeypatch.undo()
    assert len(study().run(tmp_path, jobs=1, progress=False)) == 18


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_finished_runs(tmp_path, jobs) -> None:
    process = subprocess.Popen(
        [*script(tmp_path), jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    process.stdout.readline()
    deadline = time.time() + 100
    while len(list((tmp_path / "study").glob("runs/*/*/[0-9]*.parquet"))) < 2 and time.time() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    kept = int(out.partition("Results(")[2].partition(" runs")[0])
    assert 2 <= kept < 12
    assert len(Results.read(tmp_path / "study")) == kept


def test_workers_die_with_their_parent(tmp_path) -> None:
    process = subprocess.Popen([*script(tmp_path), "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    deadline = time.time() + 100
    while not list((tmp_path / "study").glob("runs/*/*/[0-9]*.parquet")) and time.time() < deadline:
        time.sleep(0.02)
    workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    pids = [int(pid) for pid in workers.stdout.split()]
    assert len(pids) >= 2
    process.kill()
    process.communicate()
    deadline = time.time() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.time() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
