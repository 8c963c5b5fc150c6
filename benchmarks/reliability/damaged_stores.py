"""Stores of runs that are damaged, and processes that are killed while they save: noticed, or harmless."""

import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _guard import fork

from oracle_opt import StoreMismatch
from oracle_opt.study.records import BLANK, FinishedRun, Settings
from oracle_opt.study.store import RunStore

UNIT = "damaged or killed stores"
FULL, SMALL = 2000, 25
KILLS = 0.15  # their share


def run(count, seed, tally):
    """Make `count` trials."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        with tempfile.TemporaryDirectory() as folder:
            words = (_killed if rng.random() < KILLS else _damaged)(Path(folder), rng, tally)
        tally.trial([f"seed {seed}, trial {trial}: {word}" for word in words])


def _some_run(rng, instance, generator, seed):
    n = int(rng.integers(1, 40))
    history = pd.DataFrame(
        {
            "call": np.arange(1, n + 1),
            "step": rng.choice(["SERIOUS", "NULL"], n),
            "value": rng.normal(size=n) * 10.0 ** rng.integers(-8, 8),
            "lower_bound": np.where(rng.random(n) < 0.3, -np.inf, rng.normal(size=n)),
            "single_cut_gap": np.where(rng.random(n) < 0.3, np.nan, rng.random(n)),
        }
    )
    words = {"instance": instance, "generator": generator, "seed": seed, "status": "CONVERGED", "method": "Kelley()"}
    numbers = dict(zip(("seconds", "upper_bound", "relative_gap", "accuracy"), rng.random(4).tolist(), strict=True))
    return FinishedRun(BLANK | words | {"n_calls": n} | numbers, history)


def _same(one, two):
    return repr(one.row) == repr(two.row) and one.history.equals(two.history)


def _stored(folder, rng):
    """A store of a few runs; the runs by their paths."""
    store = RunStore(folder, Settings())
    runs = [_some_run(rng, d, g, s) for d in ("moons", "a/b") for g in ("kelley", "spg") for s in (0,)]
    for one in runs:
        store.save(one)
    return {store.path(one.key): one for one in runs}


def _damaged(folder, rng, tally):
    """One file is damaged: all runs come back as they were, or the damage is said."""
    by_path = _stored(folder, rng)
    paths = list(by_path)
    path, other = (paths[i] for i in rng.choice(len(paths), 2, replace=False))
    if rng.random() < 0.15:
        path = folder / "study.json"
    damage = DAMAGES[rng.integers(len(DAMAGES))]
    damage(path, other, rng)
    gone = {p for p in (path, other) if not p.exists()}
    words = []
    try:
        loaded = RunStore(folder, Settings()).load()
    except StoreMismatch as problem:
        tally.count("noticed")
        if not any(str(p.relative_to(folder)) in str(problem) for p in (path, other)) and str(folder) not in str(
            problem
        ):
            words.append(f"the message names no file: {problem}")
    except Exception as problem:  # what the campaign looks for
        words.append(f"{type(problem).__name__}: {str(problem)[:200]}")
    else:
        tally.count("harmless")
        found = {one.key: one for one in loaded}
        expected = {one.key: one for p, one in by_path.items() if p not in gone}
        if found.keys() != expected.keys() or not all(_same(found[key], expected[key]) for key in found):
            words.append("other runs came back than were saved")
    return [f"{damage.__name__} of {path.name}: {word}" for word in words]


def _killed(folder, rng, tally):
    """A process saves runs without end and is killed: what it has reported is there, whole."""
    runs = [_some_run(rng, "moons", "kelley", split) for split in range(80)]
    RunStore(folder, Settings()).save(runs[0])
    reader, writer = os.pipe()
    child = fork()
    if not child:
        try:
            os.close(reader)
            store = RunStore(folder, Settings())
            for number, one in enumerate(runs):
                store.save(one)
                os.write(writer, number.to_bytes(2, "little"))
        finally:
            os._exit(0)
    os.close(writer)
    time.sleep(rng.uniform(0.0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = b""
    while part := os.read(reader, 4096):
        told += part
    os.close(reader)
    reported = len(told) // 2
    tally.count("kills")
    try:
        store = RunStore(folder, Settings())
        loaded = {one.row["seed"]: one for one in store.load()}
    except Exception as problem:  # what the campaign looks for
        return [f"killed after {reported} runs: {type(problem).__name__}: {str(problem)[:200]}"]
    words = []
    if not set(range(reported)) <= set(loaded) <= set(range(reported + 1)) | {0}:
        words.append(f"killed after {reported} runs, and {sorted(loaded)} are there")
    if not all(_same(one, runs[split]) for split, one in loaded.items()):
        words.append(f"killed after {reported} runs, and one is not what was saved")
    store.save(runs[-1])
    return words


def flip(path, other, rng):
    """Flip one to eight bits."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 9)):
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(bytes(content))


def flip_one(path, other, rng):
    """Flip one bit."""
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(bytes(content))


def cut(path, other, rng):
    """Drop the end."""
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def zeros(path, other, rng):
    """Overwrite a block with zeros, as a lost sector does."""
    content = path.read_bytes()
    i, size = int(rng.integers(len(content))), int(rng.integers(1, 600))
    path.write_bytes((content[:i] + bytes(size) + content[i + size :])[: len(content)])


def exchange(path, other, rng):
    """Exchange two files."""
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def copy(path, other, rng):
    """Put a copy of another file in its place, or in a new one."""
    target = (
        path if rng.random() < 0.5 else path.with_name(str(rng.choice(["7.parquet", "x.parquet", "²"])) + ".parquet")
    )
    target.write_bytes(other.read_bytes())


def mix(path, other, rng):
    """Begin as one file, and go on as another."""
    one, two = path.read_bytes(), other.read_bytes()
    i = rng.integers(len(one))
    path.write_bytes(one[:i] + two[i:])


def garbage(path, other, rng):
    """Put random bytes in its place."""
    path.write_bytes(rng.bytes(int(rng.integers(0, 2000))))


def remove(path, other, rng):
    """Remove it."""
    path.unlink()


def folder_instead(path, other, rng):
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def temporary(path, other, rng):
    """Leave files beside it that begin as temporary ones do."""
    path.with_name(f".partial-00000000-1-{rng.integers(99)}.parquet").write_bytes(path.read_bytes()[:50])


DAMAGES = (
    flip,
    flip_one,
    flip_one,
    flip_one,
    cut,
    zeros,
    exchange,
    copy,
    mix,
    garbage,
    remove,
    folder_instead,
    temporary,
)
