"""Sparse cuts: the same numbers as dense ones, in the memory of their entries that are not zero."""

import tracemalloc

import numpy as np
import pytest

from oracle_opt import Box, CapabilityMismatch, FunctionOracle, ObjectiveCut, minimize
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet
from oracle_opt.generators.masters import CutPool, Rows


def filled(n, share, seed=0):
    """Rows, sparse ones and dense ones mixed, and the same in a plain matrix."""
    rng = np.random.default_rng(seed)
    rows = Rows(n)
    for i in range(40):
        row = np.where(rng.random(n) < (share if i % 3 else 0.5), rng.normal(size=n), 0.0)
        rows.add(row, float(i), 0.0, 1.0, 0.0)
    return rows


@pytest.mark.parametrize("n", [50, 1500])
def test_rows_do_what_their_matrix_does(n):
    rows, rng = filled(n, 0.03), np.random.default_rng(1)
    matrix, z = rows.matrix.copy(), rng.normal(size=n)
    for _ in range(2):
        u = np.where(rng.random(len(rows)) < 0.4, rng.random(len(rows)), 0.0)
        np.testing.assert_allclose(rows.products(z), matrix @ z, atol=1e-12)
        np.testing.assert_allclose(rows.combine(u), u @ matrix, atol=1e-12)
        np.testing.assert_array_equal(rows.steepness, np.abs(matrix).max(axis=1))
        some, columns = np.flatnonzero(u), np.flatnonzero(rng.random(n) < 0.3)
        np.testing.assert_array_equal(rows.block(some, columns), matrix[np.ix_(some, columns)])
        compact = rows.compact if n == 50 else rows.compact.toarray()
        np.testing.assert_array_equal(compact, matrix)
        mask = rng.random(len(rows)) < 0.7
        rows.keep(mask)
        matrix = matrix[mask]
        np.testing.assert_array_equal(rows.matrix, matrix)


def test_equal_sparse_rows_are_counted_once():
    pool = CutPool(Box(-np.ones(2000), np.ones(2000)))
    slope = np.zeros(2000)
    slope[[3, 700]] = 1.0, -2.0
    for _ in range(3):
        pool.add(ObjectiveCut(np.zeros(2000), 1.0, slope))
    assert len(pool.objective) == 1
    assert pool.objective.count[0] == 3


def sparse_oracle(n, pieces, entries=20, seed=0):
    """The largest of affine functions with few entries, on a box."""
    rng = np.random.default_rng(seed)
    columns, values, sides = (
        rng.integers(0, n, (pieces, entries)),
        rng.normal(size=(pieces, entries)),
        rng.normal(size=pieces),
    )

    def function(z):
        heights = (values * z[columns]).sum(axis=1) + sides
        i = int(heights.argmax())
        slope = np.zeros(n)
        np.add.at(slope, columns[i], values[i])
        return float(heights[i]), slope

    return FunctionOracle(function, Box(-np.ones(n), np.ones(n)))


@pytest.mark.parametrize("generator", [LevelSet(), AnalyticCenter(), Kelley()])
def test_run_is_that_of_dense_cuts(generator, monkeypatch):
    oracle = sparse_oracle(2500, 60)
    sparse = minimize(oracle, generator, rtol=1e-3, max_calls=150)
    monkeypatch.setattr("oracle_opt.generators.masters.cut_rows.SHARE", -1.0)
    dense = minimize(oracle, generator, rtol=1e-3, max_calls=150)
    assert sparse.success
    assert dense.success
    assert sparse.upper_bound == pytest.approx(dense.upper_bound, rel=2e-3)
    assert sparse.lower_bound <= dense.upper_bound
    assert dense.lower_bound <= sparse.upper_bound


def peak_of(oracle, generator, calls):
    """Most bytes that a run of so many calls holds."""
    tracemalloc.start()
    try:
        result = minimize(oracle, generator, rtol=1e-9, max_calls=calls)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.n_calls == calls
    return peak


@pytest.mark.parametrize("generator", [LevelSet(), AnalyticCenter()])
def test_memory_of_a_run_grows_with_the_entries(generator):
    """Forty dense cuts in 30,000 variables are 10 MB; sparse ones may cost a fifth of that, with their Gram matrix."""
    n = 30_000
    oracle = sparse_oracle(n, 4000)
    grown = peak_of(oracle, generator, 60) - peak_of(oracle, generator, 20)
    assert grown < 0.2 * 8 * n * 40


def test_ellipsoid_refuses_what_it_cannot_hold(monkeypatch):
    oracle = FunctionOracle(lambda z: (float(np.abs(z).sum()), np.sign(z)), Box(-np.ones(100_000), np.ones(100_000)))
    with pytest.raises(CapabilityMismatch, match=r"100000 variables need 224 GiB.*LevelSet\(\)"):
        minimize(oracle, Ellipsoid())
    few = Box(-np.ones(1000), np.ones(1000))
    assert Ellipsoid().refusal(few) is None
    monkeypatch.setattr("oracle_opt.generators.ellipsoid.machine_memory", lambda: None)
    assert Ellipsoid().refusal(few) is None
    assert "not known" in Ellipsoid().refusal(oracle.domain)
    monkeypatch.setattr("oracle_opt.generators.ellipsoid.machine_memory", lambda: 1 << 24)
    assert "the machine has 0.0156" in Ellipsoid().refusal(few)
