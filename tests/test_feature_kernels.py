"""The loops that write the kernels of `uci_bank`: exponentials against long double, widths against NumPy."""

import pickle

import numpy as np
import pytest

from oracle_opt.oracles import uci_bank
from oracle_opt.oracles._processor import AVX2, AVX512
from oracle_opt.oracles.kernels import _feature_kernels, features

BUILDS = [_feature_kernels]
if AVX2:
    from oracle_opt.oracles.avx2 import _feature_kernels as _feature_kernels_avx2

    BUILDS.append(_feature_kernels_avx2)
if AVX512:
    from oracle_opt.oracles.avx512 import _feature_kernels as _feature_kernels_avx512

    BUILDS.append(_feature_kernels_avx512)


@pytest.fixture(params=BUILDS, ids=lambda build: build.__name__.rpartition(".")[2])
def build(request):
    return request.param


def gaussians(build, squares, rate, scale=1.0):
    """Gaussian of squared distances, and its sum with nothing."""
    out, total = np.full((2, squares.size), np.nan), np.zeros(squares.size)
    build.fill_of_pairs(squares, np.ones_like(squares), np.full(2, rate), np.array([scale, 1.0]), out, total, 1)
    np.testing.assert_array_equal(total, out[0] + out[1])
    return out[0]


@pytest.mark.parametrize("rate", [-1.0, -0.7213475204444817, -3e-4, -11.3, -1e6, -5e-324])
def test_exponentials_are_as_exact_as_promised(build, rate):
    rng = np.random.default_rng(0)
    near = np.arange(0.0, 40.0, 0.5)  # where exponents are whole numbers and halves, and next to them
    squares = np.r_[
        0.0, 5e-324, 1e-300, near, np.nextafter(near, 50), rng.random(15000) * 3, rng.exponential(size=4560)
    ]
    squares = np.r_[squares, 10.0 ** rng.uniform(-20, 300, 1000)]
    exact = np.exp2(squares.astype(np.longdouble) * np.longdouble(rate))
    found = gaussians(build, squares, rate)
    assert np.abs(found - exact).max() <= 4 * 2.0**-53
    assert found[0] == 1.0
    assert found.min() >= 2.0**-901
    np.testing.assert_array_equal(gaussians(build, squares, rate, 0.125), 0.125 * found)


def test_no_error_is_larger_at_any_scale(build):
    squares = np.random.default_rng(1).random(20100) * 5
    scale = 1.0 / 397
    exact = np.exp2(-squares.astype(np.longdouble)) * np.longdouble(scale)
    assert np.abs(gaussians(build, squares, -1.0, scale) - exact).max() <= 5 * 2.0**-53 * scale


def values(kind, n=60):
    rng = np.random.default_rng(2)
    return {
        "spread": rng.normal(size=n),
        "rounded": rng.normal(size=n).round(1),
        "two": np.repeat([0.0, 1.0], n // 2),
        "outlier": np.r_[rng.normal(size=n - 2) * 1e-9, 1e9, -3.0],
        "pair": np.r_[np.zeros(n - 1), 1e-3],
        "powers": 2.0 ** -np.arange(n),
        "few": np.array([0.3, 0.1]),
    }[kind]


@pytest.mark.parametrize("kind", ["spread", "rounded", "two", "outlier", "pair", "powers", "few"])
def test_quantiles_of_differences(build, kind):
    x = np.sort(values(kind))
    differences = np.abs(x[:, None] - x)[np.tril_indices(x.size, -1)]
    quantiles = np.array([0.0, 0.1, 0.5, 0.9])
    found = np.empty((2, quantiles.size))
    build.quantiles_of_differences(
        np.array([x, x]), np.tile(np.arange(x.size + 1.0), (2, 1)), 1e-200, quantiles, False, found
    )
    np.testing.assert_array_equal(found, [np.quantile(differences[differences > 0], quantiles)] * 2)
    weights = np.random.default_rng(8).integers(1, 5, x.size)
    repeated = np.repeat(differences, np.outer(weights, weights)[np.tril_indices(x.size, -1)])
    for unit in (1.0, 0.1):
        sums = np.cumsum(np.r_[0.0, unit * weights])
        build.quantiles_of_differences(np.array([x, x]), np.array([sums, sums]), 1e-200, quantiles, True, found)
        truth = np.quantile(repeated[repeated > 0], quantiles, method="inverted_cdf")
        np.testing.assert_array_equal(found, [truth] * 2)
    if kind != "few":
        squares = differences**2
        of_squares = features._quantiles_of_distances(np.r_[squares, np.zeros(9)])
        np.testing.assert_allclose(of_squares, np.quantile(differences[differences > 0], [0.1, 0.9]), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 37, 150])  # less and more pairs than are written at a time
def test_features_are_written_as_by_numpy_on_any_threads(build, dtype, n):
    rng = np.random.default_rng(3)
    x, size = rng.normal(size=(4, n)), n * (n + 1) // 2
    rates, scales = -rng.random((4, 2)) * 9, rng.random((4, 6))
    results = []
    for threads in (1, 2, 5):
        halves, total = np.full((24, size), np.nan, dtype), np.ones(size)
        build.fill_of_features(x, rates, scales, halves, total, threads)
        results.append((halves, total))
    for again, summed in results[1:]:
        np.testing.assert_array_equal(again, halves)
        np.testing.assert_array_equal(summed, total)
    np.testing.assert_allclose(total, 1 + halves.astype(float).sum(axis=0), rtol=1e-14, atol=1e-14)
    i, j = np.tril_indices(n)
    for f, group in enumerate(halves.reshape(4, 6, size)):
        kernels = [np.exp2(rate * (x[f][i] - x[f][j]) ** 2) for rate in rates[f]]
        kernels += [(1 + x[f][i] * x[f][j]) ** degree for degree in (1, 2, 3, 4)]
        tolerance = 1e-13 if dtype is np.float64 else 1e-6
        for scale, kernel, half in zip(scales[f], kernels, group, strict=True):
            np.testing.assert_allclose(half, scale * kernel, rtol=tolerance, atol=tolerance)


def test_sums_over_features(build):
    x = np.random.default_rng(4).normal(size=(5, 12))
    x[:, 3] = x[:, 7]
    squares, bases = np.empty(78), np.empty(78)
    build.pair_sums(x, 1.0, squares, bases)
    i, j = np.tril_indices(12)
    np.testing.assert_allclose(squares, ((x[:, i] - x[:, j]) ** 2).sum(axis=0), rtol=1e-14)
    np.testing.assert_allclose(bases, 1 + (x[:, i] * x[:, j]).sum(axis=0), rtol=0, atol=1e-14)
    assert squares[7 * 8 // 2 + 3] == 0.0  # equal points


def test_points_far_from_each_other_make_no_subnormal_entry():
    X = np.r_[np.random.default_rng(5).normal(size=(30, 1)), [[1e6]]]
    bank = uci_bank(X)
    entries = bank.entries([30], np.arange(30))
    assert entries.min(initial=1.0, where=entries > 0) > 1e-300
    np.testing.assert_allclose(bank.diagonal().sum(axis=0), 1.0, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sizes_are_those_of_the_diagonals_rounded_up(dtype):
    X = np.random.default_rng(6).normal(size=(50, 3)) * [1.0, 30.0, 0.1]
    bank = uci_bank(X, dtype=dtype)
    diagonal, (largest, trace) = bank.diagonal().astype(np.longdouble), bank.sizes
    for told, exact in ((largest, diagonal.max(axis=0)), (trace, diagonal.sum(axis=0))):
        assert (told >= exact).all()
        np.testing.assert_allclose(told, exact.astype(float), rtol=1e-13 if dtype is np.float64 else 2e-6)
    few = bank.subset([30, 2])
    np.testing.assert_array_equal(few.sizes[0], largest[[30, 2]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_known_sum_is_that_of_the_kernels(dtype):
    X = np.random.default_rng(7).normal(size=(90, 5))
    bank = uci_bank(X, dtype=dtype)
    p = bank.n_kernels
    every = bank.subset(np.arange(p))  # which does not know it
    for weight in (1.0 / p, 3.0, 0.0):
        known, summed = bank.combine(np.full(p, weight)), every.combine(np.full(p, weight))
        np.testing.assert_allclose(known, summed, rtol=0, atol=2 * bank.noise(p) * weight * bank.sizes[0].sum())
    again = pickle.loads(pickle.dumps(bank))
    np.testing.assert_array_equal(again.combine(np.ones(p)), bank.combine(np.ones(p)))
