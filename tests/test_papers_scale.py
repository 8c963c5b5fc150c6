"""Figures of the experiment on growth: what is run, what is counted, and the papers' figures beside it."""

import numpy as np
import pytest
from papers_data import QUICK, figures, made_up_studies

from oracle_opt import minimize
from oracle_opt.datasets import Dataset
from oracle_opt.oracles import GMKLOracle, MKLOracle
from papers import scale
from papers.experiments import EXPERIMENTS
from papers.figures import Printed
from papers.repetitions import Options
from papers.sets import Sets


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


def made_up(k, instance, generator, seed):
    """Seconds that grow as the square of the size; one run that did not get to the gap."""
    size = float(instance.split()[1])
    failed = {"status": "MAX_CALLS"} if instance == "wdbc, 80 kernels, p=1.33" else {}
    numbers = {"processor_seconds": 1e-3 * size**2, "n_calls": 3, "relative_gap": 5e-4, "peak": 0.25}
    return numbers | failed


def test_seconds_calls_gaps_memory_and_exponents(quick, monkeypatch):
    studies = made_up_studies(monkeypatch, scale, made_up)
    outcome = scale.figure(quick)
    found = figures(outcome)
    kinds = [("points", kind) for kind in ("l1", "p=1.33", "l1, own distances")]
    kinds += [("kernels", kind) for kind in ("l1", "p=1.33")]
    for unit, kind in kinds:
        for size in (40, 80):
            row = f"wdbc, {size} {unit}, {kind}"
            lost = row == "wdbc, 80 kernels, p=1.33"
            for quantity, value in (("seconds", 1e-3 * size**2), ("calls", 3), ("gap", 5e-4), ("GiB", 0.25)):
                known = np.nan if lost else value
                assert found.pop((row, quantity)) == pytest.approx(known, nan_ok=True)
        power = found.pop(("wdbc", f"exponent of {unit}, {kind}"))
        assert power == pytest.approx(2.0 if (unit, kind) != ("kernels", "p=1.33") else np.nan, nan_ok=True)
    assert not found
    assert [(study.paper, study.rtol) for study in studies] == 5 * [("scale", 1e-3)]
    curve = outcome.figure.data[outcome.figure.data["name"] == "ours, l1"]
    assert set(curve["panel"]) == {"wdbc: points", "wdbc: kernels"}
    assert outcome.figure.log_x
    assert outcome.figure.log_y


def test_instances_of_growth(quick, monkeypatch):
    studies = made_up_studies(monkeypatch, scale, made_up)
    scale.figure(quick)
    instances = {name: recipe(0) for study in studies for name, recipe in study.instances.items()}
    for name, instance in instances.items():
        size, unit = int(name.split()[1]), name.split()[2].rstrip(",")
        bank = instance.oracle.bank
        assert (bank.n_points, bank.n_kernels) == ((size, 50) if unit == "points" else (120, size))
        assert type(instance.oracle) is (MKLOracle if "l1" in name else GMKLOracle)
        families = 50 if "own" in name else 1 if unit == "points" else 4
        assert len(bank.features) == families
        assert {len(features) for features in bank.features} == {2 if "own" in name else 4 if families == 1 else 1}
        np.testing.assert_allclose(bank.diagonal(), 1.0 / bank.n_points)
    for study in studies:
        (generator,) = study.generators.values()
        instance = next(iter(study.instances.values()))(0)
        assert minimize(instance.oracle, generator, instance.start, rtol=1e-3).relative_gap <= 1e-3


def test_hours_stand_beside_the_papers_and_what_was_not_run_is_there(tmp_path, monkeypatch):
    """As if wdbc were Sonar, Adult and the rest."""
    made_up_studies(monkeypatch, scale, lambda k, instance, generator, seed: {"processor_seconds": 36.0})
    part = Dataset("part", QUICK.X, QUICK.y, QUICK.feature_names, "", "")
    monkeypatch.setattr(
        scale, "sets_of", lambda names, options: Sets([(label, part) for label in names], ["a set is missing"])
    )
    outcome = scale.figure(Options(tmp_path))
    found = {(row.set, row.quantity): row for row in outcome.rows}
    assert found["Sonar, 1000000 kernels, p=1.33", "hours"].ours == pytest.approx(0.01)
    assert ("Sonar, 1000000 kernels, l1", "hours") not in found  # no paper has it
    covertype = found["Covertype, 581012 points, p=1.33", "hours, SPG-GMKL"]
    assert covertype.runs == 0
    assert "a set is missing" in outcome.notes
    data = outcome.figure.data
    printed = data[(data["panel"] == "Sonar: kernels") & (data["name"] == "SPG-GMKL as printed, p=1.33")]
    assert printed[["x", "y"]].to_numpy().tolist() == [[1e6, 105.62 * 3600]]
    web = data[(data["panel"] == "Web: points") & data["name"].str.startswith("SMO-MKL as printed, p=1.33")]
    assert web[["x", "y"]].to_numpy().tolist() == [[49749, 1574.73]]
    assert "Covertype: points" not in set(data["panel"])


def test_the_experiment_is_compared_with_all_its_tables():
    printed = EXPERIMENTS["spg-figure-scale"].printed()
    assert printed["Sonar", "exponent of kernels, SPG-GMKL"] == Printed("1", "", "5.5")
    assert printed["Adult, 32561 points, p=1.33", "seconds, SMO-MKL"].value == "9245.80"
    assert printed["Adult, 32561 points, l1", "hours, SPG-GMKL"].value == "4.55"
