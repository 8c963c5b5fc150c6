"""Functions of values of all sizes, 1e50 at some points: every cutting-plane method proves their minimum."""

import numpy as np
import pytest
from steep_functions import FAMILIES, largest_exponential

from oracle_opt import Box, FeasibilityCut, ObjectiveCut, minimize, problems
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.generators.masters import CutPool

METHODS = (Kelley(), Kelley(chebyshev=True), LevelSet(), AnalyticCenter(), ProximalBundle())


def starts(oracle):
    """The middle of the domain, and a point near a corner, where the values are largest."""
    upper = oracle.domain.linear_constraints().upper
    return {"middle": oracle.domain.interior_point(), "corner": 0.9 * upper}


@pytest.mark.campaign(17)
@pytest.mark.parametrize("start", ["middle", "corner"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("generator", METHODS, ids=repr)
def test_minimum_is_proven(generator, family, start):
    oracle, optimum = family(7)
    # this way from the corner is long, and the last thousandth of it takes the proximal method thousands of calls
    slow = isinstance(generator, ProximalBundle) and family is largest_exponential and start == "corner"
    most = 50 if slow else 800
    result = minimize(oracle, generator, starts(oracle)[start], rtol=0.0, atol=1e-5 * optimum, max_calls=most)
    assert result.lower_bound <= optimum * (1 + 1e-12)
    assert result.upper_bound >= optimum * (1 - 1e-12)
    assert result.success or slow


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", METHODS, ids=repr)
def test_polak2(generator):
    instance = problems.find("nonsmooth/Polak2")[0]()
    result = minimize(instance.oracle, generator, instance.start, rtol=1e-6, max_calls=800)
    assert result.success
    assert result.lower_bound <= instance.optimum * (1 + 1e-13) <= result.upper_bound * (1 + 1e-12)
    assert result.relative_gap <= 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_flattened_cuts_stay_below_the_function(seed):
    rng = np.random.default_rng(seed)
    n = 4
    slopes, heights = rng.normal(size=(30, n)) * 10.0 ** rng.uniform(-2, 40, (30, 1)), rng.normal(size=30)
    domain = Box(-np.ones(n), np.ones(n))

    def value(z):
        return float((slopes @ z + heights).max())

    pool = CutPool(domain)
    for z in rng.uniform(-1, 1, (25, n)):
        i = int((slopes @ z + heights).argmax())
        pool.add(ObjectiveCut(z, slopes[i] @ z + heights[i], slopes[i]))
        assert pool.best is not None
        pool.flatten(pool.best)
        steepest = np.abs(pool.objective.matrix).max()
        assert steepest <= 1.0001e6 * np.abs(pool.best.subgradient).max()
    for z in rng.uniform(-1, 1, (200, n)):
        rows = pool.objective
        assert (rows.constant + rows.matrix @ z - rows.error - 1e-15 * rows.size <= value(z)).all()


def test_cuts_of_like_slopes_are_left_alone():
    pool = CutPool(Box(-np.ones(2), np.ones(2)))
    for slope in ([1.0, 0.0], [0.0, 1e3], [-1e5, 0.0]):
        pool.add(ObjectiveCut(np.zeros(2), 1.0, np.array(slope)))
    pool.add(FeasibilityCut(np.ones(2), 1.0, np.array([1e9, 0.0])))
    assert pool.objective.matrix.tolist() == [[1.0, 0.0], [0.0, 1e3], [-1e5, 0.0]]
    assert pool.feasibility.matrix.tolist() == [[1e9, 0.0]]
