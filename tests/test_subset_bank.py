"""Kernels on subsets of the features, in single precision: within proven bounds of the same in extended precision."""

import importlib
import pickle
from math import inf

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import NewtonBundle
from oracle_opt.oracles import GramBank, MKLOracle, SubsetBank, solve_lp_mkl
from oracle_opt.oracles._processor import AVX2, AVX512
from oracle_opt.oracles.kernels import compiled_loops, subset_bank, subset_numbers
from oracle_opt.oracles.kernels.subset_numbers import OF_POWER, SINGLE

NAMES = ["kernels", *(["avx2"] if AVX2 else []), *(["avx512"] if AVX512 else [])]
BUILDS = [importlib.import_module(f"oracle_opt.oracles.{name}._subsets") for name in NAMES]

N = 41


def points(n_columns, seed=0):
    """Points of which some are equal, and a column that is constant."""
    X = np.random.default_rng(seed).normal(size=(N, n_columns)).round(2)
    X[30:34] = X[:4]
    X[:, 1] = 7.5
    return X


def kernels_of(bank, A, B):
    """The kernels between two lists of points in extended precision, shape (p, a, b)."""
    s = bank.widths.astype(np.longdouble)
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    found = []
    for k in range(bank.n_kernels):
        f = bank.features(k)
        D = ((A[:, None, f] - B[None][:, :, f]) ** 2).sum(axis=2)
        found.append(np.exp(-D / (2 * s[k] ** 2)) * np.longdouble(bank.scale))
    return np.array(found)


def check(bank, X, seed=0):
    """All operations are within what the bank says of itself, and that is not far from the truth."""
    rng, p = np.random.default_rng(seed), bank.n_kernels
    K = kernels_of(bank, X, X)
    rows, columns = rng.integers(N, size=9), np.arange(N)[::-2]
    exact = 1e-14 * bank.scale
    np.testing.assert_allclose(bank.entries(rows, columns), K[:, rows][:, :, columns].transpose(1, 2, 0), 0, exact)
    assert bank.exactness < 5e-7
    for share in (0.0, 0.3, 1.0):
        v = rng.normal(size=N) * (rng.random(N) < share) * 10.0 ** rng.integers(-3, 4)
        forms, products = bank.quadratic_forms(v), bank.row_products(rows, v)
        size = float(np.abs(v).sum())
        of_largest, of_trace = bank.form_error(v, v)
        largest, trace = bank.sizes
        error = np.abs(forms - np.einsum("i,kij,j->k", v, K, v).astype(float))
        assert (error <= np.minimum(of_largest * largest, of_trace * trace)).all()
        assert of_largest <= 1e-6 * size**2
        expected = (K[:, rows] @ v).T.astype(float)
        assert (np.abs(products - expected) <= 1e-6 * size * bank.scale).all()
        # as `MKLOracle` updates forms: entries of u at some points times products with v
        u = np.zeros(N)
        u[rows] = rng.normal(size=rows.size)
        some = np.unique(rows)
        error = np.abs(u[some] @ bank.row_products(some, v) - np.einsum("i,kij,j->k", u, K, v))
        assert (error.astype(float) <= bank.form_error(u, v)[0] * largest).all()
    for weights in (rng.random(p), rng.random(p) * (rng.random(p) < 0.2), np.geomspace(1e-30, 1e3, p)):
        total = np.tensordot(weights, K, 1)
        C, size = bank.combine(weights), bank.scale * weights.sum()
        np.testing.assert_array_equal(C, C.T)
        within = bank.noise(np.count_nonzero(weights)) * size
        assert (np.abs(C - total) <= within).all()
        assert within <= 1e-6 * size
        assert (np.abs(bank.block(weights, rows, columns) - total[np.ix_(rows, columns)]) <= within).all()
        assert (np.abs(bank.cross(X[rows], weights) - total[rows]) <= within).all()


@pytest.mark.parametrize("n_columns", [2, 8, 9, 15, 24, 39, 55, 60, 64, 65, 131])
def test_operations_are_those_of_the_kernels(n_columns):
    X = points(n_columns)
    bank = SubsetBank.random(X, 90, largest=n_columns - 1)
    check(bank, X)
    assert bank.nbytes == 90 * (-(-n_columns // 8) + 4)


@pytest.mark.parametrize(
    "kind", ["tiny widths", "huge widths", "far away", "one point far", "large", "small", "mixed columns"]
)
def test_nasty_points_and_widths(kind):
    rng = np.random.default_rng(3)
    X, features = points(12), rng.random((60, 12)) < 0.5
    features[:, 0] = True
    widths = rng.uniform(0.5, 3.0, 60)
    if kind == "tiny widths":
        widths *= np.geomspace(1e-11, 1.0, 60)
        X[5] = X[6] + 1e-9
    elif kind == "huge widths":
        widths *= np.geomspace(1.0, 1e200, 60)
    elif kind == "far away":
        X += 1e9
    elif kind == "one point far":
        X[3] = 1e8
    elif kind in ("large", "small"):
        factor = 1e150 if kind == "large" else 1e-150
        X, widths = X * factor, widths * factor
    else:
        X *= np.geomspace(1e-8, 1e8, 12)
        widths *= np.geomspace(1e-3, 1e8, 60)
    check(SubsetBank(X, features, widths, scale=2.5), X)


def test_many_kernels_on_many_columns():
    """More kernels than distances are kept of at a time, and masks longer than are tabulated at a time."""
    X = points(70)
    bank = SubsetBank.random(X, 1200)
    some = np.random.default_rng(0).permutation(1200)[:700]
    v = np.random.default_rng(1).normal(size=N)
    expected = np.einsum("i,kij,j->k", v, bank.entries(range(N), range(N)).transpose(2, 0, 1), v)
    np.testing.assert_allclose(bank.quadratic_forms(v), expected, rtol=0, atol=bank.form_error(v, v)[0] / N)
    weights = np.zeros(1200)
    weights[some] = 1.0
    full = bank.entries(range(N), range(N)) @ weights
    np.testing.assert_allclose(bank.combine(weights), full, rtol=0, atol=bank.noise(700) * full.max())


@pytest.mark.campaign(inf)
@pytest.mark.parametrize("build", BUILDS, ids=NAMES)
def test_powers_of_two_on_all_numbers(build):
    """All single numbers from -1 to -2**-25; below -1 what is left after rounding counts, and that is among these."""
    worst = 0.0
    for binade in range(-25, 0):
        first = np.float32(-(2.0**binade)).view(np.uint32)
        t = np.arange(first, first + 2**23, dtype=np.uint32).view(np.float32)
        power = np.empty_like(t)
        build.powers_of_two(t, power)
        exact = np.exp2(t, dtype=float)
        exact -= power
        exact /= power
        worst = max(worst, float(np.abs(exact, out=exact).max()))
    assert SINGLE < worst <= OF_POWER


@pytest.mark.parametrize("build", BUILDS, ids=NAMES)
def test_powers_of_two_elsewhere(build):
    rng = np.random.default_rng(0)
    t = -rng.uniform(1.0, 125.0, 100_000).astype(np.float32)
    whole = np.rint(t)
    power, of_rest = np.empty_like(t), np.empty_like(t)
    build.powers_of_two(t, power)
    rest = t - whole
    np.testing.assert_array_equal(rest.astype(float), t.astype(float) - whole)  # without rounding
    build.powers_of_two(np.where(rest > 0, rest - 1, rest), of_rest)
    exact = rest <= 0  # a rest above 0 is that of a number between -1 and -1/2, if that is one of single precision
    np.testing.assert_array_equal(power[exact], np.ldexp(of_rest, whole.astype(int))[exact])
    np.testing.assert_allclose(power, np.exp2(t.astype(float)), rtol=OF_POWER, atol=0)
    t = np.r_[np.linspace(-126, -125, 1001), 0.0, -(2.0 ** -np.arange(20, 149.0))].astype(np.float32)
    power = np.empty_like(t)
    build.powers_of_two(t, power)
    np.testing.assert_allclose(power, np.exp2(t.astype(float)), rtol=OF_POWER, atol=2.0**-126)
    assert power[1001] == 1.0


@pytest.mark.parametrize("build", BUILDS, ids=NAMES)
def test_all_builds(build, monkeypatch):
    for name in ("add_weighted_pairs", "products", "weighted_sum"):
        monkeypatch.setattr(compiled_loops.subset_loops, name, getattr(build, name))
    for n_columns in (20, 64, 70):
        check(SubsetBank.random(points(n_columns), 90), points(n_columns))


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    bank = SubsetBank.random(points(20), 700)
    rng = np.random.default_rng(0)
    v, d = rng.normal(size=N), rng.random(700)
    found = []
    for threads in (1, 2, 3, 5):
        monkeypatch.setattr(subset_numbers, "thread_count", lambda entries, threads=threads: threads)
        found.append(
            np.concatenate([bank.quadratic_forms(v), bank.combine(d).ravel(), bank.row_products(range(N), v).ravel()])
        )
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_small_blocks(monkeypatch):
    bank = SubsetBank.random(points(20), 100)
    rng = np.random.default_rng(0)
    v, d, n = rng.normal(size=N), rng.random(100), np.arange(N)
    before = bank.quadratic_forms(v), bank.combine(d), bank.cross(points(20), d), bank.entries(n, n)
    monkeypatch.setattr(subset_numbers, "PAIRS", 50)
    monkeypatch.setattr(subset_bank, "PAIRS", 50)
    monkeypatch.setattr(subset_bank, "NUMBERS", 1000)
    monkeypatch.setattr(subset_bank, "KERNELS", 30)
    after = bank.quadratic_forms(v), bank.combine(d), bank.cross(points(20), d), bank.entries(n, n)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_random_kernels():
    X = points(60)
    bank = SubsetBank.random(X, 16_384 + 500, largest=25, widths=(0.5, 1.5))
    assert bank.nbytes == 12 * bank.n_kernels
    sizes = np.array([bank.features(k).size for k in range(2000)])
    assert sizes.min() == 1
    assert sizes.max() == 25
    np.testing.assert_allclose(np.bincount(sizes)[1:], 80, atol=45)  # 5 standard deviations
    used = np.bincount(np.concatenate([bank.features(k) for k in range(2000)]), minlength=60)
    assert used[1] == 0  # it is constant
    assert used[np.arange(60) != 1].min() > 300
    for k in (0, 1, 16_500):
        some = X[:, bank.features(k)]
        typical = np.sqrt(2.0 * some.var(axis=0).sum())
        assert 0.5 <= bank.widths[k] / typical <= 1.5
    fewer = SubsetBank.random(X, 100, largest=25, widths=(0.5, 1.5))
    np.testing.assert_array_equal(fewer.widths, bank.widths[:100])
    other = SubsetBank.random(X, 100, largest=25, widths=(0.5, 1.5), seed=1)
    assert not np.array_equal(other.widths, fewer.widths)
    assert fewer.digest() != other.digest()
    assert SubsetBank.random(X, 3).features(0).size <= 30


def test_forms_of_giving_features():
    X = points(9)
    lists = [[0, 8], [3], [5, 2, 7]]
    marks = np.zeros((3, 9), bool)
    for k, f in enumerate(lists):
        marks[k, f] = True
    bank = SubsetBank(X, lists, [1.0, 2.0, 2.0])
    assert bank.digest() == SubsetBank(sparse.csr_array(X), marks, [1.0, 2.0, 2.0]).digest()
    assert [bank.features(k).tolist() for k in range(3)] == [sorted(f) for f in lists]
    np.testing.assert_allclose(bank.widths, [1.0, 2.0, 2.0], rtol=1e-7)
    np.testing.assert_array_equal(SubsetBank(X, lists, 2.0).widths, np.full(3, bank.widths[1]))
    assert pickle.loads(pickle.dumps(bank)).digest() == bank.digest()
    diagonal = bank.diagonal()
    assert diagonal.strides == (0, 0)  # one number
    np.testing.assert_array_equal(diagonal, np.full((N, 3), 1 / N))


def test_subsets(monkeypatch):
    X = points(30)
    bank = SubsetBank.random(X, 400)
    which = np.random.default_rng(0).permutation(400)[:20]
    K = kernels_of(bank, X, X)[which]
    stored = bank.subset(which)
    assert isinstance(stored, GramBank)
    np.testing.assert_allclose(stored.entries(range(N), range(N)).transpose(2, 0, 1), K.astype(float), 0, 1e-15)
    assert 0 < stored.exactness < 1e-14
    assert stored.noise(3) > stored.exactness
    new, weights = points(30, seed=5)[:7], np.random.default_rng(1).random(20) * (np.arange(20) > 4)
    every = np.zeros(400)
    every[which] = weights
    np.testing.assert_allclose(stored.cross(new, weights), bank.cross(new, every), rtol=1e-5)
    monkeypatch.setattr(subset_bank, "STORED_BYTES", 1000)
    computed = bank.subset(which)
    assert isinstance(computed, SubsetBank)
    assert computed.n_kernels == 20
    check(computed, X)
    np.testing.assert_array_equal(computed.widths, bank.widths[which])
    assert computed.sizes[0].shape == (20,)
    assert computed.digest() != bank.digest()
    assert isinstance(bank.subset(range(26)), SubsetBank)  # more than a sixteenth
    np.testing.assert_array_equal(computed.quadratic_forms(X[:, 0]), bank.quadratic_forms(X[:, 0])[which])


def test_bounds_hold_for_the_exact_kernels():
    """The gaps of l1 and lp contain the optimum of the same kernels in double precision."""
    X = points(10)
    y = np.where(X[:, 0] + X[:, 2] * X[:, 3] > 0, 1.0, -1.0)
    bank = SubsetBank.random(X, 40)
    exact = GramBank(bank.entries(range(N), range(N)).transpose(2, 0, 1).copy())
    for C in (1.0, 100.0, 1e4):
        known = minimize(MKLOracle(exact, y, C=C), NewtonBundle(), rtol=1e-9)
        found = minimize(MKLOracle(bank, y, C=C), NewtonBundle(), rtol=1e-3)
        assert found.success or C == 1e4
        assert found.lower_bound <= known.upper_bound
        assert found.upper_bound >= known.lower_bound
    known, found = (solve_lp_mkl(one, y, p=1.33, rtol=rtol) for one, rtol in ((exact, 1e-9), (bank, 1e-3)))
    assert found.success
    assert found.lower_bound <= known.upper_bound
    assert found.upper_bound >= known.lower_bound
    decisions = bank.cross(X, found.point) @ found.cut.extras["signed_dual"] + found.cut.extras["bias"]
    assert (np.sign(decisions) == y).mean() > 0.9


def test_a_large_number_of_points_takes_no_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    bank = SubsetBank.random(X, 20)
    v = np.zeros(3000)
    v[rng.permutation(3000)[:900]] = rng.normal(size=900)
    where = np.flatnonzero(v)
    small = SubsetBank(X[where], [bank.features(k) for k in range(20)], bank.widths, scale=1 / 3000)
    np.testing.assert_allclose(bank.quadratic_forms(v), small.quadratic_forms(v[where]), rtol=1e-6)
    monkeypatch.setattr("oracle_opt.oracles.kernels.bank_checks.most_of_memory", lambda: 1000)
    with pytest.raises(InvalidArgument, match="would take 72000000 bytes"):
        bank.combine(np.ones(20))


GOOD = {"X": np.arange(12.0).reshape(4, 3), "features": [[0, 1], [2]], "widths": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.ones(3)}, "`X`"),
        ({"X": [[np.nan, 1, 2]] * 4}, "`X`"),
        ({"features": []}, "`features` must be a sequence"),
        ({"features": "ab"}, "`features` must be a sequence"),
        ({"features": [[0, 1], []]}, "`features` must have a column for each kernel, got none for kernel 1"),
        ({"features": [[0, 1], [1, 1]]}, "`features` must name no column twice.* for kernel 1"),
        ({"features": [[0, 3], [1]]}, r"`features` must be columns from 0 to 2, got \[0, 3\] for kernel 0"),
        ({"features": [[0], [-1]]}, "`features` must be columns from 0 to 2"),
        ({"features": [[0.5], [1]]}, "`features` must be columns from 0 to 2"),
        ({"features": [0, 1]}, "`features` must be columns from 0 to 2"),
        ({"features": np.ones((2, 4), bool)}, r"`features` must have shape \(p, 3\)"),
        ({"features": np.eye(2, 3, 2, dtype=bool)}, "got none for kernel 1"),
        ({"widths": [1.0]}, r"`widths` must be one number per kernel, 2, got shape \(1,\)"),
        ({"widths": [1.0, 0.0]}, r"`widths` must be positive and finite, got .*0\.0.* for kernel 1"),
        ({"widths": [np.inf, 1.0]}, "for kernel 0"),
        ({"widths": [1.0, 1e-13]}, "`widths` must be at least .* for kernel 1; with RBFBank"),
        ({"widths": "ab"}, "`widths`"),
        ({"scale": 0.0}, "`scale`"),
    ],
)
def test_what_makes_no_bank_is_refused(change, words):
    with pytest.raises(InvalidArgument, match=words):
        SubsetBank(**(GOOD | change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.ones((4, 3))}, "`X` must have a column that is not constant"),
        ({"n_kernels": 0}, "`n_kernels`"),
        ({"largest": 4}, "`largest` must be at most 3, the number of columns that vary"),
        ({"largest": 0}, "`largest`"),
        ({"widths": (2.0, 1.0)}, "`widths` must be two positive numbers in order"),
        ({"widths": (0.0, 1.0)}, r"`widths\[0\]`"),
        ({"widths": 1.0}, "`widths` must be two positive numbers in order"),
        ({"widths": (1e-14, 1e-14)}, "`widths` must be at least"),
        ({"seed": -1}, "`seed`"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, words):
    with pytest.raises(InvalidArgument, match=words):
        SubsetBank.random(**({"X": GOOD["X"], "n_kernels": 5} | change))


def test_arguments_of_the_operations_are_checked():
    bank = SubsetBank(**GOOD)
    with pytest.raises(InvalidArgument, match="`weights`"):
        bank.combine([1.0])
    with pytest.raises(InvalidArgument, match="`v`"):
        bank.quadratic_forms([np.nan] * 4)
    with pytest.raises(InvalidArgument, match="`rows`"):
        bank.row_products([4], np.ones(4))
    with pytest.raises(InvalidArgument, match="`new` must have 3 columns"):
        bank.cross(np.ones((2, 2)), np.ones(2))
    with pytest.raises(InvalidArgument, match="`kernels`"):
        bank.subset([0, 0])
    with pytest.raises(InvalidArgument, match="`kernel`"):
        bank.features(2)
    assert not bank.combine(np.zeros(2)).any()
    assert not bank.cross(np.ones((2, 3)), np.zeros(2)).any()
