"""The pool of cuts with summands: its minorants, its tangents and what it forgets, against sums made by hand."""

import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, InvalidCut, ObjectiveCut
from oracle_opt.generators.masters.cut_pool import CutPool

N, SUMMANDS = 4, 3


def summands(rng):
    """Three maxima of 20 affine pieces; a function that gives the cut of their sum at a point, with summands."""
    slopes, constants = rng.normal(size=(SUMMANDS, 20, N)), rng.normal(size=(SUMMANDS, 20))

    def cut(z, error=0.0):
        values = slopes @ z + constants
        chosen = values.argmax(axis=1)
        summands = tuple(
            ObjectiveCut(z, float(values[j, i]) - error, slopes[j, i], error=error) for j, i in enumerate(chosen)
        )
        return ObjectiveCut(
            z,
            sum(part.value for part in summands),
            sum(part.subgradient for part in summands),
            error=SUMMANDS * error,
            summands=summands,
        )

    return cut, lambda z: float((slopes @ z + constants).max(axis=1).sum())


def filled(seed, calls=25):
    rng = np.random.default_rng(seed)
    cut, value = summands(rng)
    pool = CutPool(Box(-np.ones(N), np.ones(N)))
    for _ in range(calls):
        z = rng.normal(size=N)
        pool.add(cut(z))
    normal = rng.normal(size=N)
    pool.add(FeasibilityCut(normal, 0.5, normal, (FeasibilityCut(normal, 0.25, -2 * normal),)))
    return pool, value, rng


@pytest.mark.parametrize("seed", range(10))
def test_minorants_are_the_combination_of_their_multipliers(seed):
    """With those of the summands scaled to what the whole cuts leave, the same for every summand; never above f."""
    pool, value, rng = filled(seed)
    a, u, b = (rng.exponential(size=len(rows)) - 0.3 for rows in (pool.objective, pool.feasibility, pool.summands))
    minorant = pool.minorant(a, u, b)
    a, u, b = (np.maximum(given, 0.0) for given in (a, u, b))
    sums = np.array([b[pool.summands.summand == j].sum() for j in range(SUMMANDS)])
    total = a.sum() + sums.mean()
    constant = a @ pool.objective.constant + u @ pool.feasibility.constant
    slope = a @ pool.objective.matrix + u @ pool.feasibility.matrix
    for j in range(SUMMANDS):
        mine = pool.summands.summand == j
        constant += sums.mean() / sums[j] * (b[mine] @ pool.summands.constant[mine])
        slope = slope + sums.mean() / sums[j] * (b[mine] @ pool.summands.matrix[mine])
    assert minorant.constant == pytest.approx(constant / total)
    np.testing.assert_allclose(minorant.slope, slope / total, atol=1e-12)
    for z in rng.normal(size=(50, N)):
        if (pool.feasibility.matrix @ z + pool.feasibility.constant <= 0).all():
            assert minorant.constant + minorant.slope @ z <= value(z) + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_all_cuts_are_in_that_of_their_combination(seed):
    """What each may lie above f by, in the shares of the combination; of the summands as well."""
    pool, _, rng = filled(seed)
    for rows in (pool.objective, pool.feasibility, pool.summands):
        rows.error[:] = rng.uniform(0.0, 1.0, len(rows))
    a, u, b = (rng.exponential(size=len(rows)) for rows in (pool.objective, pool.feasibility, pool.summands))
    sums = np.array([b[pool.summands.summand == j].sum() for j in range(SUMMANDS)])
    total = a.sum() + sums.mean()
    known = (a @ pool.objective.error + u @ pool.feasibility.error) / total
    known += (b * (sums.mean() / sums)[pool.summands.summand]) @ pool.summands.error / total
    minorant = pool.minorant(a, u, b)
    assert known <= minorant.error <= known + 1e-12 * (1 + known)


def test_a_summand_without_multipliers_leaves_the_proof_to_the_whole_cuts():
    pool, _, rng = filled(0)
    a, b = rng.exponential(size=len(pool.objective)), rng.exponential(size=len(pool.summands))
    b[pool.summands.summand == 1] = 0.0
    none = np.zeros(len(pool.feasibility))
    with_parts, without = pool.minorant(a, none, b), pool.minorant(a, none)
    assert with_parts.constant == pytest.approx(without.constant)
    np.testing.assert_allclose(with_parts.slope, without.slope)
    assert pool.minorant(0 * a, none, b) is None
    assert pool.minorant(a, np.full_like(none, np.inf)) is None


@pytest.mark.parametrize("seed", range(10))
def test_tangents_are_the_largest_piece_at_their_point(seed):
    pool, value, rng = filled(seed, calls=4)
    for z in rng.normal(size=(8, N)):
        largest = [
            (pool.summands.constant + pool.summands.matrix @ z)[pool.summands.summand == j].max()
            for j in range(SUMMANDS)
        ]  # of each summand
        assert pool.value(z) == pytest.approx(sum(largest))
        assert pool.value(z) <= value(z) + 1e-12
        assert not pool.add_tangent(z, sum(largest) + 1e-9)
        before = len(pool.objective)
        if pool.objective.largest(z) < sum(largest) - 1e-9:
            assert pool.add_tangent(z, sum(largest) - 1e-9)
            assert len(pool.objective) == before + 1
            assert pool.objective.largest(z) == pytest.approx(sum(largest))
            for other in rng.normal(size=(20, N)):
                assert pool.objective.largest(other) <= value(other) + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_what_is_dropped_takes_the_bound_and_the_newest_cuts_not_along(seed):
    pool, _, rng = filled(seed, calls=40)
    a, u, b = (rng.exponential(size=len(rows)) for rows in (pool.objective, pool.feasibility, pool.summands))
    newest = [np.flatnonzero(pool.summands.summand == j)[-1] for j in range(SUMMANDS)]
    b[newest] = 0.0  # they are new, and not yet of the proof
    a[rng.permutation(len(a))[: len(a) // 2]] = 0.0
    before, rows = pool.minorant(a, u, b), pool.summands.matrix.copy()
    whole, sizes = pool.objective.matrix.copy(), (len(a), len(b))
    cap = 6
    assert sizes[0] > cap
    assert sizes[1] > SUMMANDS * cap
    mask, of_summands = pool.shrink(cap, a, u, b)
    assert mask.sum() == cap // 2
    assert a[mask].min() >= a[~mask].max()
    assert of_summands[newest].all()
    others = np.setdiff1d(np.flatnonzero(of_summands), newest)
    assert len(others) == SUMMANDS * cap // 2
    assert b[others].min() >= b[~of_summands].max()
    np.testing.assert_array_equal(pool.summands.matrix, rows[of_summands])
    np.testing.assert_array_equal(pool.objective.matrix[:-1], whole[mask])
    last = np.zeros(len(pool.objective))
    last[-1] = 1.0
    after = pool.minorant(last, 0 * u)
    assert after.constant == pytest.approx(before.constant)
    np.testing.assert_allclose(after.slope, before.slope, atol=1e-12)
    assert {*pool.summands.summand.tolist()} == set(range(SUMMANDS))


def test_of_equal_multipliers_the_newest_stay():
    pool, _, _ = filled(1, calls=40)
    n, zeros = len(pool.objective), np.zeros(len(pool.objective))
    mask, _ = pool.shrink(8, zeros, np.zeros(2), np.zeros(len(pool.summands)))
    assert np.flatnonzero(mask).tolist() == list(range(n - 4, n))


def test_the_number_of_parts_is_kept():
    pool, _, rng = filled(0)
    z = rng.normal(size=N)
    one = ObjectiveCut(z, 1.0, np.ones(N))
    with pytest.raises(InvalidCut, match="got 2, before 3"):
        pool.add(ObjectiveCut(z, 2.0, 2 * np.ones(N), summands=(one, one)))


def test_values_are_those_of_the_upper_ends():
    """An inexact cut is worth its value plus its error; the model is worth its value alone."""
    rng = np.random.default_rng(0)
    cut, value = summands(rng)
    pool, z = CutPool(Box(-np.ones(N), np.ones(N))), rng.normal(size=N)
    inexact = cut(z, error=0.25)
    pool.add(inexact)
    assert pool.upper == pytest.approx(value(z))
    assert pool.best is inexact
    assert pool.value(z) == pytest.approx(value(z) - 0.75)
    np.testing.assert_allclose(pool.summands.value, [part.value + 0.25 for part in inexact.summands])
    pool.add(cut(z))
    assert pool.value(z) == pytest.approx(value(z))
    assert pool.upper == pytest.approx(value(z))
