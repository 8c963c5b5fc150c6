"""What several test files share: data sets, journals that need not reach the disk, Ctrl-C; samples of campaigns."""

import os
import signal
from collections import defaultdict
from math import ceil
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from doors import doors_of_test


def pytest_addoption(parser):
    parser.addoption("--campaigns", action="store_true", help="run all cases of campaigns, not a sample of them")
    parser.addoption(
        "--ulp", type=int, metavar="SEED", help="move the answers of oracles by one unit in the last place"
    )


def pytest_configure(config):
    seed = config.getoption("ulp")
    if seed is not None:
        import last_place

        last_place.move_answers(seed)


def pytest_runtest_setup(item):
    if item.config.getoption("ulp") is not None:
        import last_place

        last_place.Asked.still = item.get_closest_marker("to_the_bit") is not None


def pytest_itemcollected(item):
    """Mark a test by the doors that its file goes through."""
    for door in sorted(doors_of_test(item.path)):
        item.add_marker(door)


def pytest_collection_modifyitems(config, items):
    """Run one in `share` of the cases of a campaign, `@pytest.mark.campaign(share)`, and those asked for by name.

    A share of inf, of what takes minutes, leaves all of them to `--campaigns`.

    The sample is the same on every machine, and does not depend on what else is run.
    """
    if config.getoption("campaigns"):
        return
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("campaign")
        if mark and item.nodeid not in config.args:
            cases[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    left = set()
    for (_, share), campaign in cases.items():
        campaign.sort(key=lambda item: crc32(item.name.encode()))
        left.update(item.nodeid for item in campaign[ceil(len(campaign) / share) :])
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]


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
def folder(monkeypatch, tmp_path):
    """The folder that ORACLE_OPT_DATA names, empty, with an empty cache beside it."""
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


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
