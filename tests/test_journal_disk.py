"""Journals on disks: what is flushed, full disks, one run at a time, processes that are killed or fork."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from journal_runs import absolute, records_of

from oracle_opt import Box, FunctionOracle, JournalMismatch, JournalWarning, ObjectiveCut, Query, minimize
from oracle_opt._journal_file import RecordFile
from oracle_opt.generators import Kelley
from oracle_opt.journal import Journal
from oracle_opt.listener import Entry

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")


RUN = {"oracle": "x"}


def test_every_record_and_the_new_file_are_flushed_to_the_disk(tmp_path, monkeypatch) -> None:
    flushed, sync = [], os.fsync

    def watched(handle):
        flushed.append((os.path.realpath(f"/proc/self/fd/{handle}"), os.fstat(handle).st_size))
        sync(handle)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("no /proc")
    monkeypatch.setattr(os, "fsync", watched)
    path = os.path.realpath(tmp_path / "j")
    with Journal(path, RUN) as journal:
        sizes = [os.path.getsize(path)]
        assert [name for name, _ in flushed] == [path, os.path.dirname(path)]
        for _ in range(3):
            z = np.array([0.5])
            journal.answered(Entry(Query(z), ObjectiveCut(z, 1.0, z), 0.0))
            sizes.append(os.path.getsize(path))
    assert [size for name, size in flushed if name == path] == sizes
    assert len(set(sizes)) == 4


@POSIX
def test_a_full_disk_ends_the_run_with_what_it_has_and_a_whole_journal(tmp_path) -> None:
    import resource

    path, options = tmp_path / "j", {"rtol": 1e-12, "max_calls": 12}
    rng = np.random.default_rng(3)
    A = rng.normal(size=(9, 2))

    def oracle():
        return FunctionOracle(
            lambda z: (float(np.abs(A @ z - 0.1).sum()), A.T @ np.sign(A @ z - 0.1)), Box([-1, -1], [1, 2])
        )

    whole = minimize(oracle(), Kelley(), **options)
    minimize(oracle(), Kelley(), journal=path, **(options | {"max_calls": 4}))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 300, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            minimize(oracle(), Kelley(), journal=path, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.result.n_calls == 4
    assert caught.value.result.upper_bound == whole.history.upper_bound[3]
    assert len(records_of(path)) == 5
    resumed = minimize(oracle(), Kelley(), journal=path, **options)  # no warning: nothing torn is left
    np.testing.assert_array_equal(resumed.history.value, whole.history.value)


def test_a_second_run_is_refused_while_the_first_goes_on(tmp_path) -> None:
    refused = []

    def again(record):
        for query in (False, True):
            with pytest.raises(JournalMismatch, match="is in use by another run; wait for its end") as problem:
                minimize(absolute(), Kelley(), journal=tmp_path / "j", journal_check=query)
            refused.append(problem)

    whole = minimize(absolute(), Kelley(), max_calls=3, journal=tmp_path / "j", callback=again)
    assert len(refused) == 2 * whole.n_calls
    assert minimize(absolute(), Kelley(), max_calls=3, journal=tmp_path / "j").n_calls == whole.n_calls


HOLDS = """
import sys, time, os
from oracle_opt._journal_file import RecordFile
file = RecordFile(sys.argv[1])
if len(sys.argv) > 2:
    if not os.fork():
        time.sleep(60)
        os._exit(0)
print("open", flush=True)
time.sleep(60)
"""


def locked(path) -> bool:
    try:
        RecordFile(path).close()
    except JournalMismatch:
        return True
    return False


@POSIX
@pytest.mark.parametrize("with_child", [False, True])
def test_a_journal_is_free_once_its_process_is_killed_whatever_children_it_left(tmp_path, with_child) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "j"), *(["child"] * with_child)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, cwd=tmp_path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        assert locked(tmp_path / "j")
        process.kill()
        process.wait()
        ends = time.monotonic() + 10
        while locked(tmp_path / "j") and time.monotonic() < ends:
            time.sleep(0.01)
        assert not locked(tmp_path / "j")
    finally:
        os.killpg(process.pid, signal.SIGKILL) if with_child else None
        process.stdout.close()


@POSIX
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")  # by JAX, where another test has loaded it
def test_a_forked_child_neither_frees_nor_writes_the_journal_of_its_parent(tmp_path) -> None:
    file = RecordFile(tmp_path / "j")
    file.append(b"run")
    child = os.fork()
    if not child:
        try:
            file.append(b"from the child")
        except JournalMismatch as problem:
            os._exit(17 if "belongs to the process that opened it" in str(problem) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    assert locked(tmp_path / "j")
    file.append(b"from the parent")
    file.close()
    assert records_of(tmp_path / "j") == [b"run", b"from the parent"]


@POSIX
def test_where_files_cannot_be_locked_a_run_says_so_and_goes_on(tmp_path, monkeypatch) -> None:
    import fcntl

    def refuses(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with pytest.warns(JournalWarning, match="cannot be locked on this file system .*see to it that no two runs use it"):
        result = minimize(absolute(), Kelley(), max_calls=2, journal=tmp_path / "j")
    assert result.n_calls == len(records_of_unlocked(tmp_path / "j")) - 1


def records_of_unlocked(path) -> list[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JournalWarning)
        return records_of(path)
