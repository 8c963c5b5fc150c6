"""A small part of each campaign of benchmarks/reliability: nothing fails, and the page has a place for each."""

import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, minimize
from oracle_opt.generators import Kelley

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "reliability"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run" and not path.stem.startswith("_"))


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch):
    """Function from the name of a file of the folder to its module, forgotten after the test."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(ROOT / "benchmarks")):
            del sys.modules[name]


@pytest.mark.campaign(10)
@pytest.mark.parametrize("name", NAMES)
def test_a_small_part_of_each_campaign(load, name: str) -> None:
    tally, module = load("_tally").Tally(), load(name)
    module.run(module.SMALL, 2**20, tally)  # a seed that full runs do not use
    assert tally.tried >= module.SMALL
    assert not tally.failed, tally.examples


def test_the_page_has_a_place_for_each_campaign() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert page.count(f"<!-- begin {name} -->\n") == page.count(f"<!-- end {name} -->") == 1, name


def test_a_tally_counts_failures_errors_and_parts(load) -> None:
    Tally = load("_tally").Tally
    one, two = Tally(), Tally()
    one.trial()
    one.trial(["wrong", "very"])
    one.error("gap", 1e-9)
    two.trial("also wrong")
    two.error("gap", float("nan"))
    two.count("seen")
    one.add(two)
    assert (one.tried, one.failed, one.counts) == (3, 2, {"seen": 1})
    assert one.largest == {"gap": float("inf")}
    assert one.examples == ["wrong; very", "also wrong"]


def test_a_refused_certificate_is_a_failure_and_is_counted(load) -> None:
    tally_module = load("_tally")
    box = Box(-np.ones(2), np.ones(2))
    oracle = FunctionOracle(lambda z: (float(np.abs(z).sum()), np.sign(z)), box)
    result, tally = minimize(oracle, Kelley()), tally_module.Tally()
    assert tally.certificate(result, oracle) == []
    forged = replace(result, upper_bound=result.upper_bound - 1.0)
    assert "refused" in tally.certificate(forged, oracle)[0]
    assert tally.counts == {"certificate: given the cuts": 1, "certificate: refused": 1}
    endless = minimize(oracle, Kelley(), max_calls=0)
    assert tally_module.refusal(endless, oracle) == ("none", [])
