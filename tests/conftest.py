"""What several test files share: data sets, and the checks every oracle has to pass."""

import os
from pathlib import Path

import numpy as np
import pytest

from oracle_opt import Query


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


@pytest.fixture(scope="session")
def check_oracle():
    return assert_oracle_conforms


def assert_oracle_conforms(oracle, points, *, accuracies=(None, 1e-2, 1e-10), rounding=1e-9, step=1e-4):
    """Assert what any generator relies on, for an oracle that answers each of the points with an objective cut.

    Shapes; errors not negative and as small as wished; minorants below the function at every other point, whatever the
    accuracy; lower bounds below all values; answers that do not depend on what was asked before, up to their error;
    finite differences between the slopes at both ends, as convexity has it.
    """
    cuts = []
    for accuracy in accuracies:
        for point in points:
            given = np.array(point)
            cut = oracle.query(Query(given, accuracy=accuracy))
            assert cut.point.shape == cut.subgradient.shape == (oracle.domain.dimension,)
            np.testing.assert_array_equal(cut.point, point)
            np.testing.assert_array_equal(given, point)
            assert np.isfinite(cut.value)
            assert np.isfinite(cut.subgradient).all()
            assert cut.error >= 0.0
            if accuracy is not None:
                assert cut.error <= (accuracy + rounding) * abs(cut.upper)
            cuts.append(cut)
    slack = rounding * max(abs(cut.upper) for cut in cuts)
    for x in cuts:
        for z in cuts:
            assert z.upper >= x.value + x.subgradient @ (z.point - x.point) - slack
            assert z.upper >= x.lower_bound - slack
    oracle.reset()
    for first, cut in reversed(list(zip(cuts, cuts, strict=True))):
        again = oracle.query(Query(first.point, accuracy=1e-10))
        assert cut.value - slack <= again.upper
        assert again.value <= cut.upper + slack
    oracle.reset()
    tight = Query(points[0], accuracy=1e-13)
    value, subgradient = oracle.query(tight).value, oracle.query(tight).subgradient
    for other in points[1:]:
        end = oracle.query(Query(points[0] + step * (other - points[0]), accuracy=1e-13))
        difference = (end.value - value) / step
        low, high = subgradient @ (other - points[0]), end.subgradient @ (other - points[0])
        noise = (1e-12 / step) * abs(value) + 1e-3 * abs(low)
        assert low - noise <= difference <= high + noise
