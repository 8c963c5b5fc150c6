"""The four proofs one by one, the cut pool's minorants, and the tracker's bookkeeping."""

import numpy as np
import pytest
from affine_pieces import least_of_pieces
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle_opt import BoundSource, BoundTracker, FeasibilityCut, Minorant, ObjectiveCut, Simplex
from oracle_opt.bounds import CutAverage, relative_gap
from oracle_opt.generators.masters.cut_pool import CutPool

DOMAIN = Simplex(4)


def random_problem(seed: int):
    """max of affine functions on the simplex with one half-space, with its optimum by HiGHS through scipy."""
    rng = np.random.default_rng(seed)
    slopes, constants, normal = rng.normal(size=(8, 4)), rng.normal(size=8), rng.normal(size=4)
    side = normal @ DOMAIN.interior_point() + 0.05
    return slopes, constants, normal, side, least_of_pieces(DOMAIN, slopes, constants, [normal], [side])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_nonnegative_multipliers_prove_a_bound(seed) -> None:
    slopes, constants, normal, side, optimum = random_problem(seed)
    rng = np.random.default_rng(seed)
    pool, tracker = CutPool(DOMAIN), BoundTracker(DOMAIN)
    for _ in range(6):
        z = DOMAIN.project(rng.normal(size=4))
        violation = float(normal @ z - side)
        if violation > 0:
            pool.add(FeasibilityCut(z, violation, normal))
        else:
            values = slopes @ z + constants
            i = int(values.argmax())
            cut = ObjectiveCut(z, float(values[i]), slopes[i])
            pool.add(cut)
            tracker.update(cut, None, float(rng.uniform()))
    if not len(pool.objective):
        return
    multipliers = rng.exponential(size=len(pool.objective)), rng.exponential(size=len(pool.feasibility))
    minorant = pool.minorant(*multipliers)
    bound = minorant.minimum(DOMAIN)
    assert bound <= optimum + 1e-9
    assert tracker.lower <= optimum + 1e-9
    assert tracker.proofs[BoundSource.CUT] <= optimum + 1e-9
    assert tracker.proofs[BoundSource.AVERAGE] <= optimum + 1e-9
    assert tracker.upper >= optimum - 1e-9


def test_each_proof_can_be_the_best_one() -> None:
    z = DOMAIN.interior_point()
    tracker = BoundTracker(DOMAIN)
    assert tracker.source is BoundSource.NONE
    tracker.update(ObjectiveCut(z, 1.0, np.array([1.0, 0, 0, 0])), None, 0.0)
    assert tracker.source is BoundSource.CUT
    assert tracker.lower == pytest.approx(0.75, abs=1e-13)
    assert tracker.lower + tracker.rounding == pytest.approx(0.75, abs=1e-16)
    assert 0 < tracker.rounding < 1e-14
    tracker.update(ObjectiveCut(z, 1.0, np.array([1.0, 0, 0, 0]), lower_bound=0.8), None, 0.0)
    assert tracker.source is BoundSource.ORACLE
    tracker.update(ObjectiveCut(z, 1.0, np.array([0, 1.0, 0, 0])), Minorant(0.9, np.zeros(4)), 0.0)
    assert tracker.source is BoundSource.MODEL
    assert tracker.gap == pytest.approx(0.1)
    assert tracker.relative_gap == pytest.approx(0.1)


def test_the_cut_is_asked_beside_a_minorant_with_a_slope() -> None:
    """The multipliers of a solver make it needless where the slope is 0 alone."""
    cut = ObjectiveCut(DOMAIN.interior_point(), 1.0, np.array([1.0, 0, 0, 0]))
    for slope, least in ((np.zeros(4), -np.inf), (np.array([1.0, 0, 0, 0]), 0.75)):
        tracker = BoundTracker(DOMAIN)
        tracker.update(cut, Minorant(0.0, slope, extras={"multipliers": np.ones(1)}), 0.0)
        assert tracker.proofs[BoundSource.CUT] == pytest.approx(least, abs=1e-13)


def test_the_average_proves_what_no_single_cut_does() -> None:
    """|z1 - z2| on the simplex of two: each cut alone proves -1, their mean 0."""
    domain = Simplex(2)
    tracker = BoundTracker(domain)
    for z, slope in ((np.array([0.6, 0.4]), np.array([1.0, -1.0])), (np.array([0.4, 0.6]), np.array([-1.0, 1.0]))):
        tracker.update(ObjectiveCut(z, 0.2, slope), None, 0.5)
    assert tracker.proofs[BoundSource.CUT] == pytest.approx(-1.0)
    assert tracker.lower == pytest.approx(0.0, abs=1e-14)
    assert tracker.source is BoundSource.AVERAGE


def test_upper_bound_counts_the_stated_error() -> None:
    tracker = BoundTracker(DOMAIN)
    z = DOMAIN.interior_point()
    tracker.update(ObjectiveCut(z, 1.0, np.zeros(4), error=0.5), None, 0.0)
    tracker.update(ObjectiveCut(z, 1.2, np.zeros(4), error=0.1), None, 0.0)
    assert tracker.upper == 1.3
    assert tracker.incumbent.value == 1.2


def test_without_convexity_nothing_is_proven() -> None:
    tracker = BoundTracker(DOMAIN, convex=False)
    tracker.update(
        ObjectiveCut(DOMAIN.interior_point(), 1.0, np.ones(4), lower_bound=0.9), Minorant(0.5, np.zeros(4)), 1.0
    )
    assert tracker.lower == -np.inf
    assert tracker.source is BoundSource.NONE


def test_relative_gap() -> None:
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(-2.0, -3.0) == 0.5
    assert relative_gap(0.0, -1e-12) == pytest.approx(1.0)
    assert relative_gap(np.inf, 1.0) == np.inf
    assert relative_gap(1.0, 1.0 + 1e-15) == 0.0


def test_pool_merges_equal_cuts_and_keeps_the_least_value() -> None:
    pool = CutPool(Simplex(2))
    slope = np.array([1.0, 2.0])
    for z in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])):
        pool.add(ObjectiveCut(z, float(slope @ z), slope))
    assert len(pool.objective) == 1
    assert pool.objective.count.tolist() == [3]
    assert pool.objective.value.tolist() == [1.0]
    assert pool.upper == 1.0


def test_dropping_cuts_keeps_the_bound() -> None:
    rng = np.random.default_rng(1)
    pool = CutPool(DOMAIN)
    for _ in range(60):
        z = rng.dirichlet(np.ones(4))
        pool.add(ObjectiveCut(z, float(z @ z), 2 * z))
    multipliers = rng.exponential(size=60)
    before = pool.minorant(multipliers, np.zeros(0))
    mask, _ = pool.shrink(20, multipliers, np.zeros(0))
    assert mask.sum() == 10
    assert len(pool.objective) == 11
    last = np.zeros(11)
    last[-1] = 1.0
    after = pool.minorant(last, np.zeros(0))
    assert after.constant == pytest.approx(before.constant)
    np.testing.assert_allclose(after.slope, before.slope)
    assert pool.shrink(20, last, np.zeros(0)) is None


@pytest.mark.parametrize("seed", range(3))
def test_constants_and_least_values_of_cuts_and_minorants(seed) -> None:
    rng = np.random.default_rng(seed)
    point, slope = rng.normal(size=(2, DOMAIN.dimension))
    for cut in (ObjectiveCut(point, 2.5, slope), FeasibilityCut(point, 2.5, slope)):
        assert cut.constant == pytest.approx(2.5 - sum(s * z for s, z in zip(slope, point, strict=True)), rel=1e-14)
    minorant = Minorant(0.5, slope, error=0.25, tolerance=0.125)
    assert minorant.minimum(DOMAIN) == pytest.approx(0.5 + slope.min(), rel=1e-14)  # at a vertex


@pytest.mark.parametrize("unit", [1.0, 1e8])
def test_an_average_is_the_weighted_mean_up_to_its_error(unit) -> None:
    from fractions import Fraction

    rng = np.random.default_rng(0)
    average, weights = CutAverage(3), rng.exponential(size=50)
    constants, slopes = unit * rng.normal(size=50), rng.normal(size=(50, 3)) / unit
    for constant, slope, weight in zip(constants, slopes, weights, strict=True):
        average.add(constant, slope, weight, 1e-3, abs(constant))
    total = sum(Fraction(w) for w in weights)
    known = sum(Fraction(w) * Fraction(c) for w, c in zip(weights, constants, strict=True)) / total
    assert abs(Fraction(average.constant) - known) <= Fraction(average.error) - Fraction(1e-3)
    np.testing.assert_allclose(average.slope, weights @ slopes / weights.sum(), rtol=1e-12)
    assert average.error <= 1e-3 + 1e-12 * unit
