"""The compiled loops on packed halves: each against its NumPy twin, in both builds, on any number of threads."""

import os
import subprocess
import sys

import numpy as np
import pytest

from oracle_opt.oracles._processor import AVX2
from oracle_opt.oracles.kernels import _packed, _pair_rows

BUILDS = [(_packed, _pair_rows)]
if AVX2:
    from oracle_opt.oracles.avx2 import _packed as _packed_avx2
    from oracle_opt.oracles.avx2 import _pair_rows as _pair_rows_avx2

    BUILDS.append((_packed_avx2, _pair_rows_avx2))

THREADS = (1, 2, 3, 5)


@pytest.fixture(params=BUILDS, ids=["plain", "avx2"][: len(BUILDS)])
def builds(request):
    return request.param


@pytest.fixture
def build(builds):
    return builds[0]


@pytest.fixture
def pair_build(builds):
    return builds[1]


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


def stack(p, n, dtype, seed=0):
    """Halves of p symmetric matrices, and the matrices, in float64."""
    packed = np.random.default_rng(seed).normal(size=(p, n * (n + 1) // 2)).astype(dtype)
    K = np.zeros((p, n, n))
    i, j = np.tril_indices(n)
    K[:, i, j] = K[:, j, i] = packed
    return packed, K


def on_any_threads(call):
    """What the call wrote on one thread, after making sure that more write the same bits."""
    first, *others = [call(threads) for threads in THREADS]
    for other in others:
        np.testing.assert_array_equal(other, first)
    return first


@pytest.mark.parametrize(("p", "n"), [(1, 1), (5, 2), (3, 90), (9, 91), (6, 150)])
def test_combine_halves(build, dtype, p, n):
    packed, K = stack(p, n, dtype)
    for which in (np.arange(p), np.arange(p)[::-2].copy()):
        weights = np.random.default_rng(1).normal(size=which.size)

        def call(threads, which=which, weights=weights):
            out = np.full((n, n), np.nan)
            build.combine_halves(packed, which, weights, out, threads)
            return out

        np.testing.assert_allclose(on_any_threads(call), np.tensordot(weights, K[which], 1), rtol=0, atol=1e-13)


# Rows of less and of more than a piece; columns of less and of more than a block of sums.
@pytest.mark.parametrize(("count", "columns"), [(1, 3), (511, 117), (513, 7), (1500, 4100), (9001, 33)])
def test_weighted_rows(pair_build, dtype, count, columns):
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(600, columns)).astype(dtype)
    which, weights = rng.integers(0, 600, count), rng.normal(size=count)
    pieces = pair_build.piece_count(count)
    assert 1 <= pieces <= 16

    def call(threads):
        shares = np.full((pieces, columns), np.nan)
        pair_build.weighted_rows(rows, which, weights, shares, threads)
        return shares

    per_row = np.bincount(which, weights, minlength=600)
    np.testing.assert_allclose(on_any_threads(call).sum(axis=0), per_row @ rows.astype(float), rtol=0, atol=1e-10)


@pytest.mark.parametrize("count", [1, 512, 513, 1024, 1025, 8192, 8193, 16 * 8192 + 1, 10**7])
def test_no_piece_is_empty(count):
    pieces = _pair_rows.piece_count(count)
    assert pieces <= 16
    assert (pieces - 1) * -(-count // pieces) < count


@pytest.mark.parametrize(("p", "n"), [(1, 2), (7, 40), (4100, 5), (2, 300)])
def test_row_products(builds, dtype, p, n):
    packed, K = stack(p + 1, n, dtype)
    kernels = np.random.default_rng(4).permutation(p + 1)[:p]
    rng = np.random.default_rng(2)
    rows, support = rng.permutation(n)[: n // 2 + 1], np.sort(rng.permutation(n)[: max(1, n - 2)])
    weights = rng.normal(size=support.size)
    pairs, places, kept, found = *empty_pairs(packed, kernels), np.empty((rows.size, support.size), np.intp)
    builds[1].row_pairs(packed, kernels, rows, support, pairs, places, kept, found)

    def of_pairs(threads):
        out = np.full((rows.size, p), np.nan)
        builds[1].pair_products(pairs, found, weights, out, threads)
        return out

    def of_halves(threads):
        out = np.full((rows.size, p), np.nan)
        builds[0].row_products(packed, kernels, rows, support, weights, out, threads)
        return out

    expected = (K[kernels][:, rows][:, :, support] @ weights).T
    np.testing.assert_allclose(on_any_threads(of_pairs), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(on_any_threads(of_halves), expected, rtol=0, atol=1e-12)


def empty_pairs(packed, kernels):
    """Room for all pairs, of which none is kept."""
    m = packed.shape[1]
    return np.full((m, kernels.size), np.nan, packed.dtype), np.full(m, -1, np.int32), np.zeros(1, np.intp)


@pytest.mark.parametrize(("p", "n"), [(1, 1), (7, 40), (17, 70), (2, 150)])
def test_packed_forms(build, dtype, p, n):
    packed, K = stack(p, n, dtype)
    kernels, support = np.arange(p)[::-1].copy(), np.arange(0, n, 2)
    v = np.zeros(n)
    v[support] = np.random.default_rng(3).normal(size=support.size)

    def call(threads):
        out = np.full(p, np.nan)
        build.packed_forms(packed, kernels, support, v, out, threads)
        return out

    np.testing.assert_allclose(on_any_threads(call), [v @ K[k] @ v for k in kernels], rtol=0, atol=1e-11)


# Kernels of less than, just, and more than what is copied at a time; pairs likewise.
@pytest.mark.parametrize(("p", "n"), [(1, 1), (8, 40), (17, 70), (23, 33)])
def test_pairs_are_kept_once(pair_build, dtype, p, n):
    packed, _ = stack(p + 2, n, dtype)
    kernels = np.random.default_rng(5).permutation(p + 2)[:p]
    pairs, places, kept = empty_pairs(packed, kernels)
    rng, seen, v = np.random.default_rng(6), set(), np.zeros(n)
    for count in (n // 3, n // 2, 0, n):
        support = np.sort(rng.permutation(n)[:count])
        v[:] = 0.0
        v[support] = rng.normal(size=count)
        found, weights = np.empty(count * (count + 1) // 2, np.intp), np.empty(count * (count + 1) // 2)
        pair_build.support_pairs(packed, kernels, support, v, pairs, places, kept, found, weights)
        a, b = np.tril_indices(count)
        i, j = support[a], support[b]
        seen |= set((i * (i + 1) // 2 + j).tolist())
        assert kept[0] == len(seen) == np.count_nonzero(places >= 0)
        np.testing.assert_array_equal(pairs[found], packed[kernels][:, i * (i + 1) // 2 + j].T)
        np.testing.assert_array_equal(weights, v[i] * v[j] * np.where(i == j, 1, 2))
        rows, columns = rng.integers(n, size=3), rng.integers(n, size=4)
        found = np.empty((3, 4), np.intp)
        pair_build.row_pairs(packed, kernels, rows, columns, pairs, places, kept, found)
        i, j = np.maximum.outer(rows, columns), np.minimum.outer(rows, columns)
        seen |= set((i * (i + 1) // 2 + j).ravel().tolist())
        assert kept[0] == len(seen)
        np.testing.assert_array_equal(pairs[found], packed[kernels][:, i * (i + 1) // 2 + j].transpose(1, 2, 0))


@pytest.mark.parametrize(("p", "n"), [(1, 1), (7, 40), (9, 90)])
def test_combine_block(build, dtype, p, n):
    packed, K = stack(p, n, dtype)
    rng = np.random.default_rng(7)
    for count in range(1, p + 1):
        which, weights = rng.permutation(p)[:count], rng.normal(size=count)
        rows, columns = rng.integers(n, size=n // 2 + 1), rng.integers(n, size=n)

        def call(threads, which=which, weights=weights, rows=rows, columns=columns):
            out = np.full((rows.size, columns.size), np.nan)
            build.combine_block(packed, which, weights, rows, columns, out, threads)
            return out

        expected = np.tensordot(weights, K[which][:, rows][:, :, columns], 1)
        np.testing.assert_allclose(on_any_threads(call), expected, rtol=0, atol=1e-13)


# A bank large enough for threads, used on two, then in a forked process, where they are gone.
THREADED = """
import os
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from oracle_opt.oracles import GramBank
from oracle_opt.oracles.kernels._packed import thread_count
from oracle_opt.oracles.kernels.kept_kernels import GivenCrossKernels

many = 1 << 24
counts = [thread_count(many), thread_count(1000)]
with threadpool_limits(2):
    counts.append(thread_count(many))
n, p = 300, 190
store = np.random.default_rng(0).normal(size=(p, n * (n + 1) // 2)).astype(np.float32)
bank = GramBank.from_packed(store, np.ones(p), GivenCrossKernels(p, n))
weights, v = np.arange(1.0, p + 1), np.sin(np.arange(1.0, n + 1))


def answers():
    return bank.combine(weights), bank.quadratic_forms(v), bank.row_products(np.arange(n), v)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other))


with threadpool_limits(1):
    alone = answers()
with threadpool_limits(2):
    assert same(alone, answers())
    child = os.fork()
    if child == 0:
        os._exit(0 if thread_count(many) == 1 and same(alone, answers()) else 1)
    assert os.waitpid(child, 0)[1] == 0
print(any(library["user_api"] == "openmp" for library in threadpool_info()), *counts)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_threads_are_those_allowed_and_move_no_bit():
    environment = os.environ | {"OMP_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", THREADED], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    openmp, *counts = done.stdout.split()
    assert counts == (["3", "1", "2"] if openmp == "True" else ["1", "1", "1"])
