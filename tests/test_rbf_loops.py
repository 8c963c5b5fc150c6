"""The compiled loops over kernels on the fly: their power of 2, their bounds against long double, their threads."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from oracle_opt.oracles import RBFBank
from oracle_opt.oracles._processor import AVX2, AVX512

BUILDS = ["kernels", *(["avx2"] if AVX2 else []), *(["avx512"] if AVX512 else [])]
LOOPS = {name: importlib.import_module(f"oracle_opt.oracles.{name}._rbf") for name in BUILDS}


def worst_of_floats(loops, first, last, step=1):
    """Largest error of a power of 2, relative to it, over the floats that have these bits, and the sign set."""
    worst, size = 0.0, 1 << 21
    for start in range(first, last, size * step):
        bits = np.arange(start, min(start + size * step, last), step, dtype=np.uint32)
        t = (bits | np.uint32(1 << 31)).view(np.float32)
        found, double, exact = np.empty_like(t), t.astype(float), np.empty(t.size)
        loops.exp2_of(t, found)
        loops.exp2_of(double, exact)
        worst = max(worst, float(np.abs(found / exact - 1.0)[t >= -125.0].max(initial=0.0)))
        assert (found[t < -125.0] == np.float32(2.0**-125)).all()
    return worst


@pytest.mark.parametrize("build", BUILDS)
def test_powers_of_two_of_floats(build) -> None:
    """Every float from -126 to -2^-26; nearer to 0, where the result is 1 or the number before it, every 64th."""
    bits = [int(np.float32(t).view(np.uint32)) for t in (2.0**-26, 126.0)]
    every = 1 if build == BUILDS[-1] else 16
    worst = worst_of_floats(LOOPS[build], bits[0], bits[1] + 1, every)
    worst = max(worst, worst_of_floats(LOOPS[build], 0, bits[0], 64 * every))
    assert worst <= 2.4 * 2.0**-24


@pytest.mark.parametrize("build", BUILDS)
def test_powers_of_two_of_doubles(build) -> None:
    rng = np.random.default_rng(0)
    t = -np.r_[
        0.0, np.arange(0, 1021, 0.5), rng.random(500_000), 1021 * rng.random(200_000), 2.0 ** -rng.integers(60, size=50)
    ]
    t = np.r_[t, np.nextafter(t[1:2000], -2000), np.nextafter(t[1:2000], 0)]
    t = t[t >= -1021]
    found = np.empty_like(t)
    LOOPS[build].exp2_of(t, found)
    exact = np.exp2(t.astype(np.longdouble))
    assert np.abs(found / exact - 1).max() <= 2.4 * 2.0**-53
    LOOPS[build].exp2_of(np.array([0.0, -1e4]), found[:2])
    assert found[:2].tolist() == [1.0, 2.0**-1021]


def cases():
    """Points and families that are hard on a kernel's digits."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(70, 37))
    every, few = range(37), [3, 1]
    yield "plain", X, [every, [0], few, range(5, 17)], [[6.0], [1.0, 0.3], [1.0], [2.0, 3.0]]
    yield (
        "many widths",
        X,
        [every, [2], few],
        [np.geomspace(2, 20, 60), np.geomspace(0.1, 3, 90), np.geomspace(1, 1.1, 40)],
    )
    yield "far away", X + 1e7, [every, few], [[6.0], [1.0]]
    yield "huge", X * 1e150, [every, few], [[6e150], [1e150]]
    yield "tiny", X * 1e-150, [every, few], [[6e-150], [1e-150]]
    yield "extreme widths", X, [every, few], [[1e-9, 1e-4, 1e4, 1e200], np.geomspace(1e-9, 1e9, 100)]
    outlier = X.copy()
    outlier[7], outlier[8] = 1e5, 1e5 + rng.normal(size=37)
    yield "outliers", outlier, [every, few], [[6.0, 7.0], np.geomspace(1.0, 9.0, 50)]
    equal = np.round(X, 1)
    equal[35:] = equal[:35]
    equal[:, 4] = 2.5  # constant
    yield "equal points", equal, [every, [4], [4, 0]], [[6.0], [1.0], np.geomspace(1.0, 9.0, 50)]
    thin = X * (rng.random(X.shape) < 0.1)
    yield "zeros", thin, [every, range(9)], [[2.0, 3.0], np.geomspace(1.0, 9.0, 50)]


CASES = {name: rest for name, *rest in cases()}


def exact_kernels(A, B, features, widths):
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    found = []
    for f, of in zip(features, widths, strict=True):
        D = ((A[:, None, list(f)] - B[None][:, :, list(f)]) ** 2).sum(axis=2)
        found += [np.exp(-D / (2 * np.longdouble(s) ** 2)) / len(B) for s in of]
    return np.array(found)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_errors_are_as_stated(name, dtype, form) -> None:
    X, features, widths = CASES[name]
    if form is sparse.csr_array and name == "far away":
        pytest.skip("squared norms are of no use: the bound says so, it is 1")
    bank, rng = RBFBank(form(X), features, widths, dtype=dtype), np.random.default_rng(3)
    K, n = exact_kernels(X, X, features, widths), len(X)
    rows, columns = rng.permutation(n)[:45], rng.permutation(n)[:50]
    allowed = 1.0001 / n
    part = K[np.ix_(range(len(K)), rows, columns)]
    assert np.abs(bank.entries(rows, columns).transpose(2, 0, 1) - part).max() <= bank.entry_error * allowed
    for share in (0.05, 0.5, 1.0):
        v = rng.normal(size=n) * (rng.random(n) < share)
        v[3], size = 1.0, np.abs(v).sum() + 1.0
        off = np.abs(bank.quadratic_forms(v) - np.einsum("i,kij,j->k", v, K, v))
        assert (off <= bank.form_error(v, v)[0] * allowed).all()
        for some in (rows, rows[:3]):
            off = np.abs(bank.row_products(some, v) - (K[:, some] @ v).T).max()
            assert off <= bank.noise(1) * size * allowed
        d = rng.random(bank.n_kernels) * (rng.random(bank.n_kernels) < share)
        total = np.tensordot(d, K, 1)
        most = bank.noise(np.count_nonzero(d)) * (d.sum() + 1e-300) * allowed
        assert np.abs(bank.combine(d) - total).max() <= most
        assert np.abs(bank.block(d, rows, columns) - total[np.ix_(rows, columns)]).max() <= most
    np.testing.assert_array_equal(bank.combine(d), bank.combine(d).T)


def test_bounds_are_not_idle() -> None:
    """What is proven is within two decades of what is found, and small."""
    X, features, widths = CASES["plain"]
    K = exact_kernels(X, X, features, widths)
    for dtype, most in ((np.float64, 2e-15), (np.float32, 2e-6)):
        bank = RBFBank(X, features, widths, dtype=dtype)
        off = np.abs([bank.combine(one) for one in np.eye(len(K))] - K).max() * 70
        assert off <= bank.exactness <= min(100 * off, most)
        off = np.abs(bank.entries(range(70), range(70)).transpose(2, 0, 1) - K).max() * 70
        assert off <= bank.entry_error <= min(100 * off, 2e-14)


@pytest.mark.parametrize("build", BUILDS[1:])
def test_builds_agree(build) -> None:
    rng = np.random.default_rng(0)
    A, B, w, rates = (
        rng.normal(size=(70, 13)),
        rng.normal(size=(41, 13)),
        rng.normal(size=41),
        np.array([0.1, 0.3, 1.0]),
    )
    for single, polynomial in ((False, False), (True, False), (False, True)):
        of = np.arange(1.0, 4.0) if polynomial else rates
        found = []
        for loops in (LOOPS["kernels"], LOOPS[build]):
            out = np.zeros((41, 70))
            loops.add_combined(A, B, rates, of, single, polynomial, out, 1)
            entries = np.empty((3, 41, 70)).transpose(1, 2, 0)
            loops.write_entries(A, B, of, single, polynomial, 1.0, entries, 1)
            down = loops.products(A, B, w, of, single, polynomial, 1)
            across = loops.products_across(B, A, w, of, single, polynomial, 1)
            forms = loops.forms(B, w, of, single, polynomial, 1)
            np.testing.assert_allclose(down, np.einsum("jik,j->ik", entries, w), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(across, down, rtol=1e-12, atol=1e-10)
            np.testing.assert_allclose(out, entries @ rates, rtol=1e-12)
            found.append(np.r_[out.ravel(), down.ravel(), across.ravel(), forms])
        np.testing.assert_allclose(*found, rtol=0, atol=(1e-5 if single else 1e-11) * np.abs(found[0]).max())


def test_the_number_of_threads_moves_no_bit() -> None:
    code = """
import numpy as np
from scipy import sparse
from oracle_opt.arrays import digest
from oracle_opt.oracles import RBFBank
from oracle_opt.oracles.kernels.compiled_loops import thread_count
rng = np.random.default_rng(0)
X = rng.normal(size=(1300, 9)) * (rng.random((1300, 9)) < 0.5)
v = rng.normal(size=1300)
found = []
for given, dtype in ((X, np.float64), (X, np.float32), (sparse.csr_array(X), np.float64)):
    bank = RBFBank(given, [range(9), [1], range(1, 7)], [[1.0, 2.0, 3.0], [1.0], np.geomspace(1, 5, 40)], dtype=dtype)
    d = rng.random(bank.n_kernels)
    found += [bank.quadratic_forms(v), bank.row_products(range(1300), v), bank.row_products(range(20), v)]
    found.append(bank.combine(d))
print(thread_count(1 << 30), digest(found))
"""
    answers = []
    for threads in ("1", "2", "3"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        answers.append(done.stdout.split())
    assert [count for count, _ in answers] == ["1", "2", "3"]
    assert len({found for _, found in answers}) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_points_as_they_come(dtype) -> None:
    """Explicit zeros, unsorted indices, entries in parts: the points are what these add up to; they are not touched."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4), 1)
    X[20:] = X[:10]
    X[:, 5], X[:, 6] = 1.5, 0.0
    rows, columns = np.nonzero(np.ones_like(X))
    order = np.argsort(rows + rng.random(rows.size), kind="stable")
    rows, columns = rows[order], columns[order]
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    halves = np.stack([0.25 * X[rows[::2], columns[::2]], 0.75 * X[rows[::2], columns[::2]]], axis=1).ravel()
    starts = np.r_[0, np.cumsum(np.bincount(rows, minlength=30))]
    messy = sparse.csr_array((halves, columns, starts), shape=X.shape)
    before = messy.data.copy(), messy.indices.copy(), messy.indptr.copy()
    features, widths = [range(12), [5], [6, 7], [1, 8, 2, 9, 3, 11]], [[1.0, 2.0], [1.0], [1.0], np.geomspace(1, 4, 60)]
    banks = [RBFBank(given, features, widths, dtype=dtype) for given in (X, sparse.csr_array(X), messy)]
    for array, copy in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    allowed = sum(bank.exactness for bank in banks) / 30
    v, d = rng.normal(size=30), rng.random(banks[0].n_kernels)
    assert banks[1].digest() == banks[2].digest() != banks[0].digest()
    for bank in banks[1:]:
        assert np.abs(bank.combine(d) - banks[0].combine(d)).max() <= allowed * d.sum()
        off = np.abs(bank.row_products(range(30), v) - banks[0].row_products(range(30), v))
        assert off.max() <= allowed * np.abs(v).sum()
        for form in (np.asarray, sparse.csr_array, sparse.csc_matrix):
            off = np.abs(bank.cross(form(X[:4]), d) - banks[0].combine(d)[:4])
            assert off.max() <= 2 * allowed * d.sum()
