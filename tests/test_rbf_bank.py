"""RBF kernels on the fly against the same kernels made beforehand."""

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import InvalidArgument, Status, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.learn import MKLClassifier
from oracle_opt.oracles import EntropyRegularizer, GMKLOracle, LpRegularizer, MKLOracle, SubsetBank
from oracle_opt.oracles.kernels import GaussianKernels, GramBank, KernelList, RBFBank, uci_bank
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_lp_mkl, solve_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive

# All features; one of many values with more widths than nodes; one of two values; some features with many widths.
FEATURES = (range(7), [0], [3], [1, 2, 4, 5, 6])
WIDTHS = (np.geomspace(1, 5, 3), np.geomspace(0.3, 3, 120), [1.0, 2.0], np.geomspace(0.5, 4, 9))


def points(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 7)), 1)
    X[:, 3] = rng.integers(0, 2, n)
    X[n // 2 : n // 2 + 5] = X[:5]  # points that are equal
    return X


def kernels_between(A, B, scale):
    found = []
    for features, widths in zip(FEATURES, WIDTHS, strict=True):
        D = ((A[:, None, list(features)] - B[None][:, :, list(features)]) ** 2).sum(axis=2)
        found += [scale * np.exp(-D / (2 * s**2)) for s in widths]
    return np.array(found)


@pytest.fixture(params=["dense", "sparse", "small blocks"])
def bank(request):
    X = points()
    given = sparse.csr_matrix(X) if request.param == "sparse" else X
    return RBFBank(given, FEATURES, WIDTHS, block_bytes=800 if request.param == "small blocks" else 1 << 26)


def test_operations_are_those_of_the_kernels(bank):
    rng = np.random.default_rng(1)
    K = kernels_between(points(), points(), 1 / 60)
    p, n = K.shape[:2]
    assert (bank.n_kernels, bank.n_points) == (p, n)
    weights = rng.normal(size=p)
    np.testing.assert_allclose(bank.combine(weights), np.tensordot(weights, K, 1), rtol=0, atol=1e-14)
    out = np.empty((n, n))
    assert bank.combine(weights, out=out) is out
    np.testing.assert_array_equal(out, out.T)
    rows, columns = rng.permutation(n)[:25], rng.permutation(n)[:40]
    expected = K[np.ix_(range(p), rows, columns)].transpose(1, 2, 0)
    np.testing.assert_allclose(bank.entries(rows, columns), expected, rtol=1e-12, atol=1e-17)
    np.testing.assert_array_equal(bank.diagonal(), np.full((n, p), 1 / 60))
    for share in (0.0, 0.1, 0.6, 1.0):
        v = rng.normal(size=n) * (rng.random(n) < share)
        np.testing.assert_allclose(bank.quadratic_forms(v), np.einsum("i,kij,j->k", v, K, v), rtol=0, atol=1e-13)
        np.testing.assert_allclose(bank.row_products(rows, v), (K @ v)[:, rows].T, rtol=0, atol=1e-13)
        np.testing.assert_allclose(bank.row_products(range(n), v), (K @ v).T, rtol=0, atol=1e-13)
    assert bank.row_products([], np.ones(n)).shape == (0, p)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_new_points(bank, form):
    new = points(11, seed=4)
    weights = np.random.default_rng(2).normal(size=bank.n_kernels)
    weights[:3] = 0.0
    expected = np.tensordot(weights, kernels_between(new, points(), 1 / 60), 1)
    np.testing.assert_allclose(bank.cross(form(new), weights), expected, rtol=0, atol=1e-14)


def test_widths_are_interpolated_where_that_is_proven():
    """The bound is for all distances: 1e-14 at points very near and very far from each other."""
    x = np.r_[0.0, np.geomspace(1e-8, 1e8, 200)][:, None]
    for low, high, count in ((1e-3, 1e3, 400), (1.0, 1.001, 50), (2.0, 20.0, 80)):
        widths = np.geomspace(low, high, count)
        bank = RBFBank(x, [[0]], [widths], scale=1.0)
        first = np.zeros(len(x))
        first[0] = 1.0
        expected = np.exp(-(x**2) / (2 * widths**2))
        np.testing.assert_allclose(bank.row_products(range(len(x)), first), expected, rtol=0, atol=3e-14)
        assert bank._families[0].nodes.size < count


def test_far_from_the_origin_no_digits_are_lost():
    X = points()
    near, far = (RBFBank(X + shift, FEATURES, WIDTHS) for shift in (0.0, 1e4))
    np.testing.assert_allclose(far.combine(np.ones(134)), near.combine(np.ones(134)), rtol=1e-9)


@pytest.mark.parametrize("p", [1.1, 1.33, 2.0, 3.0])
def test_lp_mkl_on_the_fly_is_lp_mkl(p):
    X = points()
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * np.random.default_rng(3).normal(size=60) > 0, 1.0, -1.0)
    bank, stored = RBFBank(X, FEATURES, WIDTHS), GramBank(kernels_between(X, X, 1 / 60))
    expected = solve_lp_mkl(stored, y, 1000.0, p)
    solvers = (NewtonMKL(), SMOMKL(), SMOMKL(cache_bytes=0), SMOMKL(polish_points=0, working_points=12))
    for solver in solvers:
        result = solve_lp_mkl(bank, y, 1000.0, p, solver=solver)
        assert result.status is Status.CONVERGED
        assert result.relative_gap <= 1e-6
        assert max(result.lower_bound, expected.lower_bound) <= min(result.upper_bound, expected.upper_bound) * (
            1 + 1e-12
        )


def test_many_points_on_the_fly_are_not_combined():
    class Uncombined(RBFBank):
        def combine(self, weights, out=None):
            raise AssertionError("asked for a combined kernel")

    X = np.random.default_rng(0).normal(size=(1001, 2))
    bank = Uncombined(X, [[0], [1]], [[1.0], [1.0]])
    budget = 8 * 1001**2 - 1
    assert solve_lp_mkl(bank, np.where(X[:, 0] > 0, 1.0, -1.0), rtol=1e-3, memory_budget=budget).success


@pytest.mark.parametrize("regularizer", [LpRegularizer(1.5), EntropyRegularizer(1.0, 0.1)])
def test_regression_on_the_fly(regularizer):
    X = points()
    y, loss = np.sin(X[:, 0]) + X[:, 3], EpsilonInsensitive(50.0, 0.1)
    bank, stored = RBFBank(X, FEATURES, WIDTHS), GramBank(kernels_between(X, X, 1 / 60))
    expected = solve_mkl(stored, y, regularizer, loss=loss)
    result = solve_mkl(bank, y, regularizer, loss=loss, solver=SMOMKL(cache_bytes=0))
    assert result.status is expected.status is Status.CONVERGED
    assert max(result.lower_bound, expected.lower_bound) <= min(result.upper_bound, expected.upper_bound) * (1 + 1e-12)


def test_oracles_on_the_fly():
    X = points()
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    bank, stored = RBFBank(X, FEATURES, WIDTHS), GramBank(kernels_between(X, X, 1 / 60))
    for make in (
        lambda kernels: MKLOracle(kernels, y, 100.0),
        lambda kernels: GMKLOracle(kernels, y, LpRegularizer(2), C=100.0, radius=100.0),
    ):
        ours, theirs = (minimize(make(kernels), LevelSet(), rtol=1e-5) for kernels in (bank, stored))
        assert ours.status is theirs.status is Status.CONVERGED
        assert max(ours.lower_bound, theirs.lower_bound) <= min(ours.upper_bound, theirs.upper_bound) * (1 + 1e-12)
    oracle = MKLOracle(bank, y, 100.0)
    result = minimize(oracle, LevelSet(), rtol=1e-5)
    assert (oracle.predict(result.cut, X) == y).mean() > 0.9


def test_a_combined_kernel_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("oracle_opt.oracles.kernels.bank_checks.most_of_memory", lambda: 8 * 60**2 - 1)
    bank = RBFBank(points(), FEATURES, WIDTHS)
    with pytest.raises(InvalidArgument, match=r"combined kernel of 60 points would take 28800 bytes.*solve_lp_mkl"):
        bank.combine(np.ones(134))
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    assert solve_lp_mkl(bank, y, solver=SMOMKL(polish_points=0)).success


def test_widths_from_quantiles():
    X = points(50)
    X[:, 6] = 2.0  # constant
    bank = RBFBank.from_quantiles(X, 20)
    assert [list(f) for f in bank.features] == [[0, 1, 2, 3, 4, 5], [0], [1], [2], [3], [4], [5]]
    assert [w.size for w in bank.widths] == [3, 3, 3, 3, 3, 3, 2]
    assert bank.n_kernels == 20
    for features, widths in zip(bank.features, bank.widths, strict=True):
        D = np.sqrt(((X[:, None, features] - X[None][:, :, features]) ** 2).sum(axis=2))[np.triu_indices(50, 1)]
        expected = np.geomspace(*np.quantile(D[D > 0], [0.1, 0.9]), widths.size)
        np.testing.assert_allclose(widths, expected, rtol=1e-9)
    few = RBFBank.from_quantiles(X, 3)
    assert [list(f) for f in few.features] == [[0, 1, 2, 3, 4, 5], [0], [1]]
    sampled = RBFBank.from_quantiles(sparse.csr_array(X), 20, n_pairs=500, seed=1)
    for exact, rough in zip(bank.widths, sampled.widths, strict=True):
        np.testing.assert_allclose(rough, exact, rtol=0.5)


def test_widths_of_features_that_seldom_differ():
    X = np.zeros((3000, 2))
    X[0, 0] = 4.0
    X[:, 1] = np.arange(3000) % 2
    bank = RBFBank.from_quantiles(X, 2, [[0], [1]], n_pairs=10)
    assert [w.tolist() for w in bank.widths] == [[4.0], [1.0]]
    with pytest.raises(InvalidArgument, match=r"differ on the features \[0\]"):
        RBFBank.from_quantiles(np.ones((4, 2)), 2, [[0]])


def broken(X):
    given = sparse.csr_array(X)
    given.indices[3] = 7
    return given


def spoilt(X):
    given = X.copy()
    given[2, 5] = np.nan
    return given


def test_digest_tells_banks_apart():
    X = points()
    digest = RBFBank(X, FEATURES, WIDTHS).digest()
    assert digest == RBFBank(X.copy(), FEATURES, WIDTHS).digest()
    changed = X.copy()
    changed[3, 3] += 1
    others = [
        RBFBank(changed, FEATURES, WIDTHS),
        RBFBank(X, FEATURES, (2.0 * WIDTHS[0], *WIDTHS[1:])),
        RBFBank(X, FEATURES, WIDTHS, scale=1.0),
        RBFBank(X, FEATURES, WIDTHS, dtype=np.float32),
    ]
    assert len({digest, *(bank.digest() for bank in others)}) == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda X: RBFBank(X[0], [[0]], [[1.0]]),
            r"`X` must be finite points of shape \(n, columns\), got shape \(7,\)",
        ),
        (lambda X: RBFBank(spoilt(X), [[0]], [[1.0]]), "`X` must be finite points, got nan in row 2, column 5, both"),
        (
            lambda X: RBFBank(sparse.csr_array(spoilt(X)), [[0]], [[1.0]]),
            "got nan in row 2, column 5, both counted from 0",
        ),
        (lambda X: uci_bank(spoilt(X)), "got nan in row 2, column 5, both counted from 0"),
        (lambda X: RBFBank(broken(X), [[0]], [[1.0]]), "`X` must be a valid sparse array: indices must be < 7"),
        (lambda X: RBFBank(X, [[0]], [[1.0]], dtype=int), "`dtype` must be float64 or float32, got int64"),
        (lambda X: RBFBank(X, [[0]], [[1.0]], dtype="real"), "`dtype` must be float64 or float32, got 'real'"),
        (lambda X: RBFBank(X, [], []), "`features` and `widths` must have one entry per family, got 0 and 0"),
        (lambda X: RBFBank(X, [[0]], [[1.0], [2.0]]), "one entry per family, got 1 and 2"),
        (lambda X: RBFBank(X, [[7]], [[1.0]]), "`features` must be indices from 0 to 6"),
        (lambda X: RBFBank(X, [[]], [[1.0]]), "`features` must have a column in each entry"),
        (lambda X: RBFBank(X, [[0]], [[0.0]]), "`widths` must be positive and finite"),
        (lambda X: RBFBank(X, [[0]], [[]]), "`widths` must be positive and finite"),
        (lambda X: RBFBank(X, [[0]], [[1.0]], scale=0.0), "`scale` must be positive, got 0.0"),
        (
            lambda X: RBFBank(X, [[0]], [[1.0]], block_bytes=0),
            "`block_bytes` must be a whole number of at least 1, got 0",
        ),
        (lambda X: RBFBank(X, [[0]], [[1.0]]).cross(X[:, :2], [1.0]), "`new` must have 7 columns"),
        (lambda X: RBFBank(X, [[0]], [[1.0]]).entries([60], [0]), "`rows` must be indices from 0 to 59"),
        (lambda X: RBFBank(X, [[0]], [[1.0]]).entries([0], [-1]), "`columns` must be indices from 0 to 59"),
        (lambda X: RBFBank(X, [[0]], [[1.0]]).quadratic_forms(np.ones(3)), "`v` must be 60 finite numbers"),
        (lambda X: RBFBank.from_quantiles(X, 0), "`n_kernels` and `n_pairs` must be at least 1, got 0"),
        (lambda X: RBFBank.from_quantiles(X, 2, []), "`features` must have an entry, got none"),
        (lambda X: RBFBank.from_quantiles(X, 2, quantiles=(0.9, 0.1)), "`quantiles` must be two numbers"),
        (lambda X: RBFBank.from_quantiles(np.ones((3, 2)), 2), "`X` must have a column that is not constant"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call(points())


@pytest.mark.parametrize("size", [1e157, 1e200, 1e308])
@pytest.mark.parametrize("where", [slice(None), 3])
def test_columns_whose_squares_overflow_are_named(size, where):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X[where, 1] = size * rng.uniform(-0.5, 0.5, 20)[where]
    for make in (
        lambda: RBFBank.from_quantiles(X, 6),
        lambda: KernelList([GaussianKernels()]).fit(X),
        lambda: KernelList([GaussianKernels(each=True)], standardize=True).fit(X),
        lambda: MKLClassifier().fit(X, np.arange(20) % 2),
    ):
        with pytest.raises(InvalidArgument, match=r"`X` must have entries whose squares are finite, .* divide"):
            make()


def test_kernels_on_random_subsets_are_those_of_their_features():
    X = np.random.default_rng(3).normal(size=(9, 5))
    X[:, 4] = 1.0  # a constant column is never drawn
    bank = SubsetBank.random(X, 6, seed=2, scale=1.0)
    again = SubsetBank.random(X, 6, seed=2, scale=1.0)
    assert bank.n_kernels == 6
    entries = bank.entries(np.arange(9), np.arange(9))
    assert (entries == again.entries(np.arange(9), np.arange(9))).all()
    masks = np.array([[True, False, True, False, False], [False, True, False, False, False]])
    of_masks = SubsetBank(X, masks, [0.5, 2.0], scale=1.0).entries(np.arange(9), np.arange(9))
    for k, (mask, s) in enumerate(zip(masks, (0.5, 2.0), strict=True)):
        D = ((X[:, None, mask] - X[None, :, mask]) ** 2).sum(axis=2)
        assert np.allclose(np.moveaxis(of_masks, -1, 0)[k], np.exp(-D / (2 * s * s)), rtol=1e-12)
