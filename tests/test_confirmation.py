"""What a run is asked before it states success: its value from the data, and probes."""

import numpy as np
import pytest

from oracle_opt import FeasibilityCut, FunctionOracle, InvalidArgument, ObjectiveCut, Refuted, Status, minimize
from oracle_opt.confirmation import Confirmation
from oracle_opt.domains import Box, FreeSpace, Simplex
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle

METHODS = [None, Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()]


def box(n, width=1.0):
    return Box(-np.full(n, width), np.full(n, width))


@pytest.mark.parametrize("generator", METHODS, ids=repr)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(5))
def test_a_maximum_is_no_minimum(generator, unit, seed):
    """A concave quadratic whose maximum is where the methods start, in any unit of values and of variables."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(1, 8)), 10.0 ** rng.uniform(-6, 6)
    root = rng.normal(size=(n, n)) / width
    P = unit * root.T @ root
    result = minimize(FunctionOracle(lambda z: (-float(z @ P @ z), -2 * P @ z), box(n, width)), generator)
    assert not result.success
    assert result.status is Status.CONTRADICTION


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", METHODS, ids=repr)
def test_waves_are_mostly_found_out(generator):
    """Sums of sines with several wells, declared convex: a proof of the wrong well is rare, and none without probes."""
    false = {"auto": 0, 0: 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 5))
        pace, shift = rng.uniform(2, 6, n), rng.uniform(-3, 3, n)

        def waves(z, pace=pace, shift=shift):
            return float(np.sin(pace * z + shift).sum()), pace * np.cos(pace * z + shift)

        for probes in false:
            result = minimize(FunctionOracle(waves, box(n, 2.0)), generator, probes=probes, max_calls=300)
            false[probes] += result.success and result.lower_bound > -n + 1e-3
    assert false["auto"] <= 1


@pytest.mark.campaign(12)
@pytest.mark.parametrize("generator", METHODS, ids=repr)
@pytest.mark.parametrize("seed", range(10))
def test_convex_functions_are_not_accused(generator, seed):
    """Maxima of affine functions and quadratics of any size and place, with the rounding of honest answers."""
    rng = np.random.default_rng(seed)
    n, unit, width = int(rng.integers(1, 9)), 10.0 ** rng.uniform(-9, 9), 10.0 ** rng.uniform(-3, 3)
    A, b = rng.normal(size=(12, n)) / width, rng.normal(size=12)
    target = rng.uniform(-width, width, n)

    def f(z):
        values, away = A @ z + b, (z - target) / width
        i = int(values.argmax())
        return unit * (values[i] + away @ away), unit * (A[i] + 2 * away / width)

    for domain in (box(n, width), FreeSpace(n, 100 * width)):
        result = minimize(FunctionOracle(f, domain), generator, max_calls=400)
        assert result.status is not Status.CONTRADICTION
        assert result.n_probes == (min(8, max(4, result.n_calls // 4)) if result.success else 0)
        assert not result.success or "none contradicts" in result.checks[-1]


@pytest.mark.parametrize("generator", METHODS, ids=repr)
@pytest.mark.parametrize("radius", [1e-9, 1.93e-5, 1.0, 1e7])
def test_rounding_of_values_that_cancel_is_no_contradiction(generator, radius):
    """``sum(z) - radius`` is 0 on the simplex up to rounding, which is no share of the values."""
    slope = np.array([1.0, 1.0, 1.0])
    oracle = FunctionOracle(lambda z: (float(slope @ z) - radius, slope), Simplex(3, radius))
    result = minimize(oracle, generator, max_calls=60)
    assert result.status is not Status.CONTRADICTION


def test_probes_are_counted_apart_and_keep_to_the_limits():
    asked = []

    def f(z):
        asked.append(z)
        return float(z @ z), 2 * z

    for probes, most, n_probes in (("auto", 1000, 4), (0, 1000, 0), (7, 1000, 7), (7, 4, 3), (7, 1, 0)):
        asked.clear()
        result = minimize(FunctionOracle(f, box(2)), LevelSet(), probes=probes, max_calls=most)
        assert (result.success, result.n_calls, result.n_probes) == (True, 1, n_probes)
        assert len(asked) == 1 + n_probes
        assert len(result.history) == 1
    with pytest.raises(InvalidArgument, match="`probes`"):
        minimize(FunctionOracle(f, box(2)), probes=-1)


@pytest.mark.parametrize("center", [0.0, 1.5])
def test_probes_are_as_far_as_the_domain_is_wide_where_one_point_was_asked(center):
    asked = []

    def f(z):
        asked.append(z)
        return float((z - center) @ (z - center)), 2 * (z - center)

    result = minimize(FunctionOracle(f, Box(np.full(2, center - 1.0), np.full(2, center + 1.0))), LevelSet())
    assert (result.n_calls, result.n_probes) == (1, 4)
    away = [float(np.linalg.norm(z - center)) for z in asked[3:]]
    assert away == pytest.approx([0.1 * np.sqrt(2.0), 0.01 * np.sqrt(2.0)])


def test_a_probe_that_is_not_answered_is_no_contradiction_and_is_told():
    def f(z):
        if z[0] > 0.1:
            raise ValueError("math domain error")
        return float(z @ z) if z[0] > -0.1 else np.nan, 2 * z

    result = minimize(FunctionOracle(f, box(2)))
    assert result.success
    assert "gave no answer" in result.checks[-1]
    infinite = minimize(FunctionOracle(lambda z: (float(z @ z) if abs(z[0]) < 0.1 else np.inf, 2 * z), box(2)))
    assert infinite.success
    assert "gave no answer" not in infinite.checks[-1]


@pytest.mark.parametrize(("n", "most"), [(2, 64), (2**13, 32), (2**16, 4), (2**17, 0)])
def test_of_many_answers_a_few_are_held_that_are_evenly_spaced(n, most):
    held = Confirmation(FunctionOracle(lambda z: (0.0, 0.0 * z), box(n)), True, "auto")
    none = Confirmation(FunctionOracle(lambda z: (0.0, 0.0 * z), box(n)), True, 0)
    for k in range(1, 201):
        cut = ObjectiveCut(np.zeros(n), np.inf if k > 180 else float(k), np.zeros(n))
        held.hold(cut)
        none.hold(cut)
        assert len(held._held) <= most
    places = [place for place, _ in held._held]
    assert len(places) >= most // 2 - most // 4
    assert all(place % held._stride == 0 and cut.value == place for place, cut in held._held)
    assert not none._held


def test_a_probe_may_be_a_half_space_that_cuts_off_the_best_point():
    def f(z):
        if z.any():
            return FeasibilityCut(z, 1.0 + float(z @ z), 2 * z)  # excludes 0, which was called feasible
        return ObjectiveCut(z, 0.0, np.zeros(2))

    result = minimize(FunctionOracle(f, box(2), gives={FeasibilityCut}))
    assert result.status is Status.CONTRADICTION


@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-3])
def test_the_value_is_recomputed_before_success(off):
    def prove_value(claim, exact):
        return float(claim.point @ claim.point) + 1.0 + off

    def f(z):
        return float(z @ z) + 1.0, 2 * z

    oracle = FunctionOracle(f, box(2), witness=("point",), prove_value=prove_value)
    result = minimize(oracle)
    assert result.success == (off < 1e-9)
    assert result.status is (Status.CONVERGED if off < 1e-9 else Status.REFUTED)
    assert len(result.checks) == (off < 1e-9)
    unseen = minimize(oracle, check=False)
    assert (unseen.success, unseen.checks) == (True, ())


def test_a_value_that_is_refuted_is_no_success():
    def prove_value(claim, exact):
        raise Refuted("the point is none")

    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), box(2), witness=("point",), prove_value=prove_value)
    result = minimize(oracle)
    assert result.status is Status.REFUTED
    assert "the point is none" in result.message
    with pytest.raises(Exception, match="nothing to certify"):
        result.certificate()
