"""Stores of runs: nothing leaves their folder or is deleted unasked, damage is noticed; workers die, too."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from checkout import ROOT, needs_sources

from oracle_opt import InvalidArgument, StoreMismatch
from oracle_opt.datasets import Dataset
from oracle_opt.files import TEMPORARY, atomic_file, folder_name, remove_left_overs
from oracle_opt.generators import FixedPoint
from oracle_opt.study import Results, compare, store
from oracle_opt.study.records import BLANK, FinishedRun, Settings
from oracle_opt.study.store import RunStore
from oracle_opt.study.summary import table_of_results


def made_up(name="moons", n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return Dataset(name, X, np.where(X[:, 0] > 0, 1.0, -1.0), ("a", "b"), "made up", "here")


def some_run(instance="moons", generator="kelley", seed=0, numbers=0):
    rng = np.random.default_rng(numbers)
    history = pd.DataFrame({"call": np.arange(1, 6), "value": rng.normal(size=5), "step": list("abcde")})
    history.loc[2, "value"] = np.nan
    row = BLANK | {"instance": instance, "generator": generator, "seed": seed, "accuracy": 0.5, "method": "Kelley()"}
    return FinishedRun(row | {"status": "CONVERGED", "n_calls": 5}, history)


ODD = [
    "../up",
    "..",
    ".",
    "/etc/x",
    "a/b",
    "a\\b",
    "C:x",
    "CON",
    "nul.txt",
    "com1",
    ".hidden",
    "ends.",
    "ends ",
    "%2E",
    "a%b",
]
ODD += ["a\0b", "new\nline", "*?<>|", '"', "größe", "a=1", "[/red]", "$x_$", "$\\frac$", "\ud800", "_b"]


def test_folder_names_stay_below_and_differ():
    names = [folder_name(name) for name in ODD]
    assert len({name.casefold() for name in names}) == len(ODD)
    for name in names:
        assert not re.search(r'[<>:"/\\|?*\0-\x1f]|^\.|[. ]$', name)
        assert name.split(".")[0].upper() not in ("CON", "NUL", "COM1")
    assert [folder_name(name) for name in ("level-set", "größe", "a=1")] == ["level-set", "größe", "a=1"]
    for name in ("", "x" * 201, "ü" * 101):
        with pytest.raises(InvalidArgument, match="must have 1 to 200 bytes"):
            folder_name(name)


def test_names_never_leave_the_folder(tmp_path):
    odd = [name for name in ODD if name != "\ud800"]  # no text file can hold that one
    before = set(tmp_path.parent.rglob("*"))
    out = tmp_path / "deep" / "out"
    for _ in range(2):
        results = compare([made_up(odd[0]), made_up(odd[4])], {name: FixedPoint() for name in odd}, out, splits=1)
        keys = set(results.runs[["instance", "generator", "seed"]].itertuples(index=False, name=None))
        assert keys == {(odd[i], name, 0) for i in (0, 4) for name in odd}
        assert not results.runs["traceback"].any()
    new = set(tmp_path.parent.rglob("*")) - before
    assert all(path == out.parent or path == out or path.is_relative_to(out) for path in new)
    assert len(list(out.glob("runs/*/*/0.parquet"))) == 2 * len(odd)
    assert table_of_results(made_up(odd[0]), results, train=0.7, C=100.0).row_count
    with pytest.raises(InvalidArgument, match="must have 1 to 200 bytes"):
        compare([made_up("")], {"fixed-point": FixedPoint()}, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def gone():
    """Process id that is no longer in use."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_opening_deletes_only_what_killed_processes_of_this_machine_left(tmp_path):
    store = RunStore(tmp_path, Settings())
    store.save(some_run())
    folder = tmp_path / "runs" / "moons" / "kelley"
    names = []
    atomic_file(folder / "x.parquet", lambda temporary: names.append(temporary.name))
    (folder / "x.parquet").unlink()
    (mine,) = names
    dead = mine.replace(f"-{os.getpid()}-", f"-{gone()}-")
    machine = mine.removeprefix(TEMPORARY)[:8]
    foreign = dead.replace(machine, "0" * 8 if machine != "0" * 8 else "1" * 8)
    kept = [mine, foreign, f"{TEMPORARY}notes.txt", f"{TEMPORARY}{machine}-x-1.parquet", "notes.txt"]
    for name in (dead, *kept):
        (folder / name).touch()
        os.utime(folder / name, (0, 0))
    fresh = dead.replace(".parquet", "b.parquet")
    (folder / fresh).touch()
    (folder / "sub").mkdir()
    (folder / "sub" / dead).touch()
    (tmp_path / "runs" / dead).touch()
    RunStore(tmp_path, Settings())
    expected = {*kept, fresh, "sub", "0.parquet"}
    assert {path.name for path in folder.iterdir()} == (expected if os.name != "nt" else {*expected, dead})
    assert (folder / "sub" / dead).exists()
    assert (tmp_path / "runs" / dead).exists()
    assert [run.key for run in RunStore(tmp_path, Settings()).load()] == [("moons", "kelley", 0)]  # no temporary file
    remove_left_overs(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["runs", "summary.csv", "failures.txt"])
def test_a_folder_of_other_files_is_refused(tmp_path, name):
    (tmp_path / name).mkdir() if name == "runs" else (tmp_path / name).write_text("mine")
    with pytest.raises(StoreMismatch, match=f"no study.json, but {name}"):
        compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_two_processes_may_begin_in_a_new_folder_at_once(tmp_path, monkeypatch):
    check = store._check_empty

    def meanwhile(folder):
        monkeypatch.setattr(store, "_check_empty", check)
        RunStore(folder, Settings()).save(some_run())
        check(folder)

    monkeypatch.setattr(store, "_check_empty", meanwhile)
    assert [run.key for run in RunStore(tmp_path / "new", Settings()).load()] == [("moons", "kelley", 0)]


def test_a_flipped_bit_is_noticed_or_harmless(tmp_path):
    store = RunStore(tmp_path, Settings())
    run = some_run()
    store.save(run)
    (path,) = tmp_path.glob("runs/*/*/*.parquet")
    whole, rng, noticed, harmless = path.read_bytes(), np.random.default_rng(0), 0, 0
    for _ in range(400):
        content = bytearray(whole)
        content[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(content))
        try:
            (twin,) = store.load()
        except StoreMismatch as problem:
            noticed += str(path) in str(problem)
        else:
            pd.testing.assert_frame_equal(twin.history, run.history)
            assert twin.row == pytest.approx(run.row, nan_ok=True)
            harmless += 1
    assert noticed + harmless == 400
    assert noticed > 200


def test_numbers_changed_without_trace_are_noticed(tmp_path):
    from pyarrow import parquet

    store = RunStore(tmp_path, Settings())
    store.save(some_run())
    (path,) = tmp_path.glob("runs/*/*/*.parquet")
    table = parquet.read_table(path)
    for key, value in ((b"oracle_opt.run", None), (b"oracle_opt.checksum", b"0" * 32)):
        changed = json.dumps(json.loads(table.schema.metadata[key]) | {"accuracy": 1.0}) if value is None else value
        parquet.write_table(table.replace_schema_metadata({**table.schema.metadata, key: changed}), path)
        with pytest.raises(StoreMismatch, match=r"0\.parquet is damaged, its checksum is another; remove it"):
            store.load()
    parquet.write_table(
        table.replace_schema_metadata({b"oracle_opt.run": table.schema.metadata[b"oracle_opt.run"]}), path
    )
    with pytest.raises(StoreMismatch, match="no checksum: another version"):
        store.load()


def test_a_run_in_another_ones_place_is_noticed(tmp_path):
    store = RunStore(tmp_path, Settings())
    for seed in range(2):
        store.save(some_run(seed=seed))
    folder = tmp_path / "runs" / "moons" / "kelley"
    (folder / "0.parquet").replace(folder / "1.parquet")
    with pytest.raises(StoreMismatch, match=r"1\.parquet holds the run of kelley on moons, seed 0.*moved or copied"):
        store.load()


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "[1]", "null", '{"rtol": 1', "\udcff", None])
def test_settings_that_are_none(tmp_path, content):
    path = tmp_path / "study.json"
    path.mkdir() if content is None else path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreMismatch, match=r"study\.json holds no settings"):
        RunStore(tmp_path, Settings())


def test_a_full_disk_leaves_what_is_finished(tmp_path, monkeypatch):
    generators = {"fixed-point": FixedPoint()}
    first = compare([made_up()], generators, tmp_path, splits=2)
    fsync = os.fsync

    def full(handle):
        written.append(handle)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    written: list[int] = []
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OSError, match=r"No space left .* the runs finished before are kept in .*repeat the call"
    ) as caught:
        compare([made_up()], generators, tmp_path, splits=6)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert not list(tmp_path.rglob(f"{TEMPORARY}*"))
    assert len(Results.read(tmp_path)) == 4
    again = compare([made_up()], generators, tmp_path, splits=6)
    assert len(again) == 6
    assert again.runs["seconds"][:2].tolist() == first.runs["seconds"].tolist()  # of the runs that were kept


def test_a_run_that_ctrl_c_meets_just_after_it_was_stored_counts(tmp_path, monkeypatch):
    save = RunStore.save

    def interrupted(store, run):
        save(store, run)
        if run.row["seed"] == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunStore, "save", interrupted)
    results = compare([made_up()], {"fixed-point": FixedPoint()}, tmp_path, splits=4)
    assert results.interrupted
    assert results.runs["seed"].tolist() == [0, 1]
    assert (tmp_path / "summary.csv").exists()


PARENT = """
import os, sys, time
import numpy as np
from oracle_opt.datasets import Dataset
from oracle_opt.generators import FixedPoint
from oracle_opt.study import compare

class Endless(FixedPoint):
    def ask(self):
        with open(os.path.join(sys.argv[1], str(os.getpid())), "w"):
            pass
        while True:  # computes, and neither reads nor writes
            np.linalg.eigvalsh(np.random.default_rng(0).normal(size=(200, 200)))

if True:
    X = np.random.default_rng(0).normal(size=(40, 2))
    data = Dataset("moons", X, np.where(X[:, 0] > 0, 1.0, -1.0), ("a", "b"), "", "")
    compare([data], {"endless": Endless()}, os.path.join(sys.argv[1], "out"), splits=2, jobs=2)
"""


def lives(pid):
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc to look at processes")
def test_workers_die_with_their_parent(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "pids").mkdir()
    parent = subprocess.Popen([sys.executable, "-P", tmp_path / "parent.py", tmp_path / "pids"])
    workers = []
    try:
        for _ in range(600):
            workers = [int(path.name) for path in (tmp_path / "pids").iterdir() if path.name.isdigit()]
            if len(workers) == 2:
                break
            assert parent.poll() is None
            time.sleep(0.1)
        assert len(workers) == 2
        assert all(map(lives, workers))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        for _ in range(300):
            if not any(map(lives, workers)):
                break
            time.sleep(0.1)
        assert not any(map(lives, workers))
    finally:
        for pid in (parent.pid, *filter(lives, workers)):
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        parent.wait()


def test_a_run_of_before_a_column_came_is_read(tmp_path):
    older = some_run()
    del older.row["processor_seconds"]
    store = RunStore(tmp_path, Settings())
    store.save(older)
    (run,) = store.load()
    assert run.row == pytest.approx(older.row | {"processor_seconds": 0.0}, nan_ok=True)
    del older.row["digest"]
    store.save(older)
    with pytest.raises(StoreMismatch, match=r"lacks digest: another version wrote it; remove it, and it is run again"):
        store.load()


@needs_sources
def test_the_format_of_the_files_is_that_of_the_page(tmp_path):
    """Whoever changes it makes folders unreadable that others have: the page of stability has to say so."""
    RunStore(tmp_path, Settings())
    (told,) = re.findall(
        r"`\"format\": (\d+)` in `study.json`", (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    )
    assert json.loads((tmp_path / "study.json").read_text())["format"] == int(told)
