"""What an end says: optima of 0, gaps of rounding, stalls, promises at whose edge the best point lies."""

import numpy as np
import pytest
from provers import FAST

from oracle_opt import FunctionOracle, ObjectiveCut, Oracle, QueryPointGenerator, Status, Step, minimize
from oracle_opt.arrays import EPS
from oracle_opt.bounds import BoundTracker, closed
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Simplex
from oracle_opt.generators import SPG, Ellipsoid, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import LagrangianOracle, RelaxedSolution


def distance(target, domain):
    """Sum of the distances to a point."""
    return FunctionOracle(lambda z: (float(np.abs(z - target).sum()), np.sign(z - target)), domain)


@pytest.mark.campaign(3)
@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 50])
@pytest.mark.parametrize("shift", [0.0, -7.0])
def test_an_optimum_of_zero_is_reached_by_default(generator, n, shift) -> None:
    """And what is called reached is: the rest is at most a millionth of a thousandth of the decrease."""
    rng = np.random.default_rng(n)
    target = rng.uniform(-0.9, 0.9, n) + shift
    domain = Box(np.full(n, shift - 1.0), np.full(n, shift + 1.0))
    result = minimize(distance(target, domain), generator, max_calls=2000)
    assert result.status is Status.CONVERGED
    assert result.success
    first = result.history.value[0]
    assert 0 <= result.upper_bound <= 1e-9 * first + 1e-13 * n * (1 + abs(shift))
    assert result.lower_bound <= 0


def tracker(first, upper, lower, slope=0.0):
    """Bounds after two answers, at 0 and at 1, of which the second has this slope."""
    bounds = BoundTracker(Box([-2.0], [2.0]))
    for point, value, steepness in ((0.0, first, -10.0 * abs(first)), (1.0, upper, slope)):
        bounds.update(ObjectiveCut(np.array([point]), value, np.array([steepness]), lower_bound=lower), None, 0.0)
    return bounds


def test_the_tolerance_is_relative_to_the_value() -> None:
    assert tracker(5.0, 2.0, 1.0).wanted(1e-3) == pytest.approx(2e-3)
    assert tracker(5.0, -2.0, -3.0).wanted(1e-3) == pytest.approx(2e-3)
    assert tracker(5.0, 2.0, 1.0).wanted(1e-3, 0.5) == 0.5
    assert tracker(4000.0, 1.0, 0.0).wanted(1e-3) == pytest.approx(1e-3)
    assert tracker(8.0, 0.0, -1.0).wanted(1e-3) == 0.0
    assert BoundTracker(Simplex(2)).wanted(1e-3, 1.0) == 0.0
    assert not closed(np.inf, 0.0, 1e-3, 1.0)
    assert not closed(1.0, -np.inf, 1e-3, 1.0)


def test_both_bounds_are_zero_up_to_the_resolution() -> None:
    """One unit of roundoff of a value near by, or a few of the terms of the value, in the unit of f."""
    for unit in (1e-30, 1.0, 1e30):
        steep = tracker(8.0 * unit, 1e-16 * unit, -1e-16 * unit, slope=8.0 * unit)
        assert steep.resolution == pytest.approx(64.0 * unit * EPS)
        assert closed(steep.upper, steep.lower, 1e-6, 0.0, steep.resolution)
        assert not closed(steep.upper, steep.lower, 0.0, 0.0, steep.resolution)
        smooth = tracker(8.0 * unit, 1e-16 * unit, -1e-16 * unit, slope=1e-8 * unit)
        assert smooth.resolution == pytest.approx((1e-9 * 80.0) ** 2 / 8.0 * unit)  # of the best value before
        assert closed(smooth.upper, smooth.lower, 1e-6, 0.0, smooth.resolution)
        small = tracker(8.0 * unit, 1e-13 * unit, -1e-13 * unit, slope=8.0 * unit)
        assert not small.closed(1e-6, 0.0)
    assert tracker(0.0, 0.0, -1.0).resolution < 1e-12
    assert tracker(2.0, 1.0, 1.0, slope=1e4).resolution == pytest.approx(8e4 * EPS, rel=1e-3, abs=0.0)


def test_values_far_away_do_not_make_an_optimum_0() -> None:
    """A corner of the domain, or a start far out, tells nothing of the rounding of a value near the minimizer."""
    for far in (1e6, 1e12, 1e20):
        bounds = BoundTracker(Box([-far], [far]))
        for point, value, slope in ((-far, far, -1.0), (1.0, 1e-3, 1.0)):
            bounds.update(ObjectiveCut(np.array([point]), value, np.array([slope]), lower_bound=-1e-3), None, 0.0)
        assert not bounds.closed(1e-6, 0.0)
        assert bounds.closed(1e-6, 2.1e-3)


def test_bounds_that_cross_by_more_than_the_tolerance_close_nothing() -> None:
    for unit in (1e-30, 1.0, 1e30):
        assert closed(1.0 * unit, (1.0 + 1e-9) * unit, 1e-6)
        assert not closed(1.0 * unit, (1.0 + 1e-5) * unit, 1e-6)
        assert not closed(1.0 * unit, (1.0 - 1e-7) * unit, 1e-6, price=1e-5 * unit)
        assert closed(1.0 * unit, (1.0 - 1e-7) * unit, 1e-6, price=1e-7 * unit)
    assert BoundTracker(Simplex(2)).resolution == 0.0


@pytest.mark.campaign(9)
@pytest.mark.parametrize("generator", [*FAST, None], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_printed_is_at_most_what_was_asked(generator, seed) -> None:
    """Quadratics and maxima of affine functions with a small optimum and a high start: success means rtol."""
    rng = np.random.default_rng(seed)
    n, rise, least = int(rng.integers(1, 6)), 10.0 ** rng.uniform(0, 4), 10.0 ** rng.uniform(-3, 2)
    scales, target = 10.0 ** rng.uniform(-2, 1, n), rng.uniform(-1, 1, n)
    A = rng.normal(size=(n + 3, n)) * scales

    def smooth(z):
        away = A @ (z - target)
        return rise * float(away @ away) + least, 2 * rise * away @ A

    def kinked(z):
        away = scales * (z - target)
        return rise * float(np.abs(away).sum()) + least, rise * scales * np.sign(away)

    for f in (smooth, kinked):
        for start in (np.zeros(n), np.full(n, 1e3)):
            rtol = 10.0 ** rng.uniform(-6, -1)
            domain = Box(np.full(n, -1e3), np.full(n, 1e3))
            result = minimize(FunctionOracle(f, domain), generator, start, rtol=rtol, max_calls=120, probes=0)
            assert not result.success or result.relative_gap <= rtol
            assert result.lower_bound <= least * (1 + 1e-12)


def test_the_calls_to_a_gap_are_known_where_the_optimum_is_zero() -> None:
    for generator in FAST:
        result = minimize(distance(np.array([0.2, -0.7, 0.5]), Box(-np.ones(3), np.ones(3))), generator)
        calls = [result.history.calls_to(tau) for tau in (1e-1, 1e-3, 1e-6)]
        assert result.success
        assert None not in calls
        assert calls == sorted(calls)


def test_the_smallest_gap_of_all_is_named() -> None:
    f = FunctionOracle(lambda z: ObjectiveCut(z, 0.0, np.zeros(1), error=5e-324, lower_bound=0.0), Box([0.0], [1.0]))
    result = minimize(f, LevelSet(), rtol=0.0, max_calls=20)
    assert not result.success
    assert "pass `atol=5e-324`" in result.message


@pytest.mark.parametrize("generator", FAST, ids=repr)
def test_a_run_does_not_depend_on_the_unit_of_the_function(generator) -> None:
    """Times a power of 2, which rounds nothing, it makes the same calls to the same end: no size is small by itself."""
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(12, 6)), rng.normal(size=12)

    def run(unit):
        def largest(z):
            values = A @ z + b
            return unit * values.max(), unit * A[values.argmax()]

        return minimize(FunctionOracle(largest, Box(-np.ones(6), np.ones(6))), generator, max_calls=150)

    once = run(1.0)
    assert once.success
    for unit in (2.0**-70, 2.0**60):
        other = run(unit)
        assert (other.status, other.n_calls) == (once.status, once.n_calls)
        assert (other.upper_bound / unit, other.lower_bound / unit) == (once.upper_bound, once.lower_bound)


def test_a_gap_that_is_rounding_is_closed_but_not_without_a_tolerance() -> None:
    """max(z, -z) from its minimizer on: nothing decreases, and the proof misses 0 by rounding."""
    oracle = FunctionOracle(lambda z: (abs(z[0]), np.array([1.0 if z[0] >= 0 else -1.0])), Box([-1.0], [1.0]))
    result = minimize(oracle, LevelSet(), [0.0])
    assert result.success
    assert 0 < result.gap < 1e-14
    assert "all of it rounding" in result.message
    strict = minimize(oracle, LevelSet(), [0.0], rtol=0.0, max_calls=50)
    assert not strict.success
    assert strict.gap < 1e-14


def test_rounding_that_is_large_beside_the_values_is_no_success() -> None:
    """Promised far away, a minimizer near 0 cannot be proven to six digits; the end says so."""
    oracle = FunctionOracle(lambda z: (abs(z[0] - 1 / 3) + 1.0, np.sign(z - 1 / 3)), FreeSpace(1, 1e13))
    result = minimize(oracle, ProximalBundle(), max_calls=100)
    if not result.success:
        assert result.gap > 1e-6
    else:
        assert result.gap <= 1e-6 * max(abs(result.upper_bound), np.nanmax(result.history.value) - result.upper_bound)


class Twice(QueryPointGenerator):
    """Asks the same point again."""

    def reset(self, domain, point):
        self._point = point

    def ask(self):
        return self._point

    def tell(self, cut):
        return Step.NULL


def test_a_stall_names_the_gap_and_the_remedy() -> None:
    target = np.array([0.2, 0.8])
    result = minimize(distance(target, Simplex(2)), Twice())
    assert result.status is Status.STALLED
    assert not result.success
    assert f"The gap is {result.gap:.3g}, relative {result.relative_gap:.3g}" in result.message
    assert "was wanted" in result.message
    remedy = float(result.message.split("`atol=")[1].split("`")[0])
    assert remedy >= result.gap
    again = minimize(distance(target, Simplex(2)), Twice(), atol=remedy)
    assert again.status is Status.CONVERGED


@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize(
    ("domain", "far"),
    [
        (FreeSpace(3, 5.0), [30.0, 4.0, 0.0]),
        (FreeSpace(3, 5.0, [1.0, 2.0, 3.0]), [30.0, 4.0, 0.0]),
        (NonnegativeOrthant(3, 5.0), [30.0, 4.0, 0.0]),
        (Box([-5.0, 0, 0], [5.0, 5, 5], promised=[[True, False, False], [True, True, True]]), [-30.0, 1.0, 1.0]),
    ],
    ids=repr,
)
def test_a_minimizer_at_the_edge_of_a_promise_is_a_warning(generator, domain, far) -> None:
    far = np.array(far)
    oracle = FunctionOracle(lambda z: (float(np.linalg.norm(z - far)), (z - far) / np.linalg.norm(z - far)), domain)
    result = minimize(oracle, generator, rtol=1e-4, max_calls=500)
    assert not result.success
    if result.status is Status.EDGE:  # ProximalBundle does not heed the radius, and bounds may cross
        (words,) = result.warnings
        assert words in result.message
        assert "promised" in words


@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize(
    "domain",
    [FreeSpace(3, 5.0), NonnegativeOrthant(3, 5.0), Box(np.zeros(3), np.full(3, 5.0), promised=True)],
    ids=repr,
)
def test_a_minimizer_inside_is_a_plain_success(generator, domain) -> None:
    result = minimize(distance(np.array([1.0, 2.0, 0.5]), domain), generator, max_calls=500)
    assert result.success
    assert result.warnings == ()


def test_a_small_gradient_at_the_edge_of_a_promise_does_not_say_that_the_gap_has_closed() -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z - 4 * z.sum()), 2 * z - 4), Box([-1.0, -1], [1, 1], promised=True))
    result = minimize(oracle, SPG(), [0.5, -0.5], gtol=1e-6, rtol=0)
    assert result.status is Status.GRADIENT
    assert not result.success
    assert len(result.warnings) == 1
    assert "gap has closed" not in result.message


@pytest.mark.parametrize("domain", [Ball(2, 1.0), Box([-1.0, -1], [1.0, 1]), NonnegativeOrthant(2, 3.0), Simplex(2)])
def test_the_edge_of_a_constraint_is_none_of_a_promise(domain) -> None:
    generator = Ellipsoid() if isinstance(domain, Ball) else Kelley()
    result = minimize(FunctionOracle(lambda z: (float(z.sum()), np.ones(2)), domain), generator)
    assert result.success
    assert result.warnings == ()


def test_what_lies_at_the_edge() -> None:
    space = FreeSpace(2, 10.0, [1.0, 1.0])
    assert space.doubt(np.array([1.0, 10.8])) == ""
    assert "9.95" in space.doubt(np.array([1.0, 10.95]))
    assert space.doubt(np.array([500.0, 0.0]))
    assert FreeSpace(2, np.inf).doubt(np.full(2, 1e100)) == ""
    orthant = NonnegativeOrthant(2, 10.0)
    assert orthant.doubt(np.array([0.0, 9.8])) == ""
    assert "variable 1" in orthant.doubt(np.array([0.0, 9.95]))
    assert NonnegativeOrthant(2).doubt(np.array([0.0, 1e300])) == ""
    half = Box([-np.inf, 0.0], [4.0, np.inf], promised=[[False, False], [True, True]])
    assert half.doubt(np.array([-1e9, 1e9])) == ""
    assert "variable 0" in half.doubt(np.array([3.97, 0.0]))


def test_a_bound_of_the_oracles_own_does_not_rest_on_the_promise() -> None:
    class Proves(Oracle):
        domain = FreeSpace(1, 5.0)

        def query(self, query):
            return ObjectiveCut(query.point, 2.0, np.zeros(1), lower_bound=2.0)

    result = minimize(Proves(), Kelley(), [5.0])
    assert result.success
    assert result.warnings == ()


def test_a_lagrangian_dual_whose_multipliers_reach_the_radius() -> None:
    """Knapsacks of which each constraint is worth a multiplier of 20: a radius of 5 says 5 n."""

    def solve(u):
        x = (u < 20.0).astype(float)
        return RelaxedSolution(20.0 * x.sum(), x)

    for inequality in (True, np.array([True, False, True])):
        near = LagrangianOracle(solve, [0.5, 0.5, 0.5], inequality=inequality, maximize=True, radius=5.0)
        result = minimize(near, Kelley())
        assert not result.success
        assert len(result.warnings) == 1
        wide = LagrangianOracle(solve, [0.5, 0.5, 0.5], inequality=inequality, maximize=True, radius=500.0)
        result = minimize(wide, Kelley())
        assert result.success
        assert result.warnings == ()
        assert result.upper_bound == pytest.approx(30.0)
