"""The proximal bundle from points that another method found: no more calls than from the usual start."""

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, InvalidCut, minimize, problems
from oracle_opt.generators import LevelSet, ProximalBundle
from oracle_opt.oracles import HeldKarpOracle

TEXTS = (
    "max-affine(n=20, seed={})",
    "max-quadratic(n=15, seed={})",
    "least-absolute(n=20, seed={})",
    "random-facilities(n=40, seed={})",
    "matrix-game(n=30, seed={})",
)


def cities(seed, n=40):
    points = np.random.default_rng(seed).uniform(0, 1000, (n, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return HeldKarpOracle((distances + distances.T) / 2)


@pytest.mark.parametrize("seed", [3])
def test_a_good_start_costs_no_more_calls_than_none(seed):
    made = [problems.find(text.format(seed))[0](0) for text in TEXTS]
    ratios = []
    for oracle, start in [(one.oracle, one.start) for one in made] + [(cities(seed), None)]:
        cold = minimize(oracle, ProximalBundle(), start, rtol=1e-6)
        other = minimize(oracle, LevelSet(), start, rtol=1e-6, keep_cuts=True)
        assert cold.success
        assert other.success
        for accuracy in (1e-1, 1e-2, 1e-3, 1e-4):
            allowed = cold.upper_bound + accuracy * abs(cold.upper_bound)
            point = next(cut.point for cut in other.history.cuts if cut.upper <= allowed)
            warm = minimize(oracle, ProximalBundle(), point, rtol=1e-6)
            assert warm.success
            assert warm.n_calls <= 1.3 * cold.n_calls + 10  # the tolerance of a single run
            ratios.append(warm.n_calls / cold.n_calls)
    assert np.median(ratios) <= 0.9


def test_a_value_that_overflows_everywhere_is_refused_by_its_point():
    def function(z):
        with np.errstate(over="ignore"):
            value = np.exp(1000.0 * z)
        return value.sum(), 1000.0 * value

    assert minimize(FunctionOracle(function, Box([-1.0], [1.0])), ProximalBundle(), [1.0]).success
    with pytest.raises(InvalidCut, match="finite") as caught:  # at the interior point, too
        minimize(FunctionOracle(function, Box([0.75], [1.25])), ProximalBundle(), [1.0])
    assert any("during oracle call 1, at [1.]" in note for note in caught.value.__notes__)
