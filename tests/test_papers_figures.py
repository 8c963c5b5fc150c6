"""Figures of the experiments, again: by hand from made-up runs, by scikit-learn from the learned weights."""

import numpy as np
import pytest
from papers_data import QUICK, figures, made_up_studies

from oracle_opt.oracles import MKLOracle
from papers import mixnorm
from papers.repetitions import Options
from papers.sets import rbf_bank, standardized


@pytest.fixture
def quick(tmp_path):
    return Options(tmp_path, quick=True)


# Nath and others


def test_the_speed_up_of_mirror_descent_is_over_simple_mkl(quick, monkeypatch):
    def make(k, instance, generator, seed):
        return {"processor_seconds": 2.0**k, "n_calls": 10 + k, "status": "MAX_CALLS" if k == 2 else "CONVERGED"}

    studies = made_up_studies(monkeypatch, mixnorm, make)
    outcome = mixnorm.figure2(quick)
    found = figures(outcome)
    (study,) = studies
    assert (study.paper, study.rtol, study.max_calls) == ("mixnorm", 1e-2, 5000)
    names = ["MirrorDescent", "ReducedGradient", "LevelSet"]
    assert [type(generator).__name__ for generator in study.generators.values()] == names
    for k in range(6):
        method, count = ("mirror descent", "SimpleMKL", "LevelSet")[k % 3], (10, 20)[k // 3]
        for quantity, value in (("seconds", 2.0**k), ("SVMs", 10 + k)):
            known = value if k != 2 else np.nan
            assert found.pop((f"wdbc, {count} kernels", f"{quantity}, {method}")) == pytest.approx(known, nan_ok=True)
    # 2 / 1 and 16 / 8
    assert found == {("largest", "speed-up of mirror descent over SimpleMKL"): 2.0}
    curve = outcome.figure.data[outcome.figure.data["name"] == "mirror descent"]
    assert curve[["x", "y"]].to_numpy().tolist() == [[10, 1], [20, 8]]
    (Z,) = standardized(QUICK.X)
    for count, recipe in zip((10, 20), study.instances.values(), strict=True):
        known = MKLOracle(rbf_bank(Z, count), QUICK.y, C=100.0)
        assert recipe(0).oracle.identity() == known.identity()
