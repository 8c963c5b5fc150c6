"""What several test files share: data sets, journals that need not reach the disk, Ctrl-C."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def training_part():
    """Function from the name of a data set to X, y of 70 % of its rows; skips where there are no data."""
    folder = os.environ.get("ORACLE_OPT_DATA")
    if not folder:
        pytest.skip("ORACLE_OPT_DATA names no folder with the data sets")

    def load(name):
        path = Path(folder) / f"{name}.csv"
        if not path.exists():
            pytest.skip(f"no {path.name} in the folder ORACLE_OPT_DATA names")
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
        return table[chosen, :-1], table[chosen, -1]

    return load


@pytest.fixture
def unflushed(monkeypatch):
    """For tests that write many journals: nothing needs to reach the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def interruptible():
    """For tests that send SIGINT: it interrupts, even where the shell started the tests in the background.

    Such a shell lets them ignore it, and so would each process they start. A handler is no part of what a new process
    inherits: it begins with the default of the system, at which Python installs its own.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
