"""Every bank, seen through every view, is its kernels: sums and forms against long double, errors as stated."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import InvalidArgument, minimize
from oracle_opt.oracles import FunctionKernel, KernelBank, MKLOracle, PolynomialBank, ShardedBank, uci_bank_on_the_fly
from oracle_opt.oracles.kernels import Bank, GramBank, JoinedBank, KernelList, RBFBank, Source, uci_bank

RNG = np.random.default_rng(7)
N = 24
X = RNG.normal(size=(N, 4)).round(2)
X[20] = X[3]  # points that are equal
FEATURES, WIDTHS = [[0, 1], [1], [2, 3], [0, 1, 2, 3]], [[1.0, 2.0], [0.5], np.geomspace(0.2, 9, 12), [3.0]]
STACK = [X @ X.T, np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), np.exp(-np.abs(X[:, None] - X).sum(axis=2))]


class Cauchy(Source):
    """A user's own source: ``1 / (1 + |x - z|**2 / s**2)``."""

    entry_error = 1e-14

    def __init__(self, points, scales):
        self.points, self.scales, self.n_kernels = points, np.asarray(scales, dtype=float), len(scales)

    def entries(self, left, right, kernels):
        D = ((left[:, None] - right) ** 2).sum(axis=2)
        return 1 / (1 + D[:, :, None] / self.scales[kernels] ** 2)


class Entries(KernelBank):
    """A user's own bank that knows its entries alone: all sums are made of them."""

    def __init__(self, bank):
        self.bank, self.n_kernels, self.n_points = bank, bank.n_kernels, bank.n_points

    def entries(self, rows, columns):
        return self.bank.entries(rows, columns)

    def diagonal(self):
        return self.bank.diagonal()

    def cross(self, new, weights):
        return self.bank.cross(new, weights)

    def digest(self):
        return self.bank.digest()


class Own(Entries):
    """A user's own bank, which knows nothing of views."""

    def combine(self, weights, out=None):
        return self.bank.combine(weights, out)

    def quadratic_forms(self, v):
        return self.bank.quadratic_forms(v)

    def row_products(self, rows, v):
        return self.bank.row_products(rows, v)


def cauchy(A, B):
    return 1 / (1 + ((A[:, None] - B) ** 2).sum(axis=2))


def given(rows):
    """Cross-kernels of rows of the stack, which stand for new points."""
    return [K[rows] for K in STACK]


def raw(rows):
    return X[rows]


ON_THE_FLY = KernelList(["linear", ("b", ["rbf", "laplacian"], [0, 1]), FunctionKernel(cauchy, exactness=1e-12)])
BANKS = {
    "gram": (lambda: GramBank(STACK), given),
    "gram in single": (lambda: GramBank(STACK, normalize=True, dtype=np.float32), given),
    "gram by kernels": (lambda: GramBank(STACK, memory_limit=8 * 3 * N * (N + 1) // 2), given),
    "uci": (lambda: uci_bank(X), raw),
    "uci on the fly": (lambda: uci_bank_on_the_fly(X), raw),
    "list": (lambda: KernelList.default().fit(X), raw),
    "list on the fly": (lambda: KernelList(ON_THE_FLY.kernels, on_the_fly=True).fit(X), raw),
    "rbf": (lambda: RBFBank(X, FEATURES, WIDTHS), raw),
    "rbf in single": (lambda: RBFBank(X, FEATURES, WIDTHS, dtype=np.float32), raw),
    "rbf of sparse": (lambda: RBFBank(sparse.csr_array(X), FEATURES, WIDTHS), lambda rows: sparse.csr_array(X[rows])),
    "polynomial": (lambda: PolynomialBank(X, FEATURES, [[1, 2], [3], [2, 1], [4]]), raw),
    "joined": (lambda: JoinedBank([RBFBank(X, FEATURES, WIDTHS), uci_bank(X), RBFBank.from_quantiles(X, 9)]), raw),
    "sharded": (lambda: ShardedBank(RBFBank.from_quantiles(X, 40), parts=3), raw),
    "before rounding": (lambda: GramBank(STACK, dtype=np.float32).before_rounding(), given),
    "source": (lambda: Bank(Cauchy(X, [0.5, 1.0, 2.0, 4.0, 8.0])), raw),
    "own": (lambda: Own(uci_bank(X)), raw),
    "entries": (lambda: Entries(uci_bank(X)), raw),
}


def picks(p):
    """Kernels and points that a view shows, in orders of their own."""
    rng = np.random.default_rng(p)
    return rng.permutation(p)[: max(p // 2, 2)], rng.permutation(N)[:15]


VIEWS = {
    "whole": lambda bank, k, i: (bank, np.arange(bank.n_kernels), np.arange(N)),
    "kernels": lambda bank, k, i: (bank.subset(k), k, np.arange(N)),
    "points": lambda bank, k, i: (bank.on(i), np.arange(bank.n_kernels), i),
    "kernels, points": lambda bank, k, i: (bank.subset(k).on(i), k, i),
    "points, kernels": lambda bank, k, i: (bank.on(i).subset(k), k, i),
    "both at once": lambda bank, k, i: (Bank(bank, k, i), k, i),
    "kernels, kernels": lambda bank, k, i: (bank.subset(k).subset([1, 0]), k[[1, 0]], np.arange(N)),
    "points, points": lambda bank, k, i: (bank.on(i).on([4, 9, 0, 2]), np.arange(bank.n_kernels), i[[4, 9, 0, 2]]),
    "both, both": lambda bank, k, i: (Bank(Bank(bank, k, i), [1, 0], [8, 3, 5]), k[[1, 0]], i[[8, 3, 5]]),
    "both, then each": lambda bank, k, i: (Bank(bank, k, i).on([3, 1, 7]).subset([1]), k[[1]], i[[3, 1, 7]]),
    "precise": lambda bank, k, i: (bank.on(i).precise(1e9), np.arange(bank.n_kernels), i),
}
CASES = [pytest.param(bank, view, id=f"{bank}-{view}") for bank in BANKS for view in VIEWS]


@pytest.fixture(scope="module")
def wholes():
    """Of each bank itself, what makes new points of rows, and all its entries in long double."""
    made = {}
    for name, (make, new) in BANKS.items():
        bank = make()
        made[name] = bank, new, bank.entries(np.arange(N), np.arange(N)).astype(np.longdouble)
    return made


def roots(E, d, rows, columns):
    """Roots of the products of the diagonal entries of a weighted sum, all weights counted."""
    diagonal = np.einsum("iik->ik", E) @ np.abs(d)
    return np.sqrt(np.outer(diagonal[rows], diagonal[columns])).astype(float)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_all_operations_are_those_of_the_kernels(name, how, wholes) -> None:
    bank, _, whole = wholes[name]
    view, kernels, points = VIEWS[how](bank, *picks(bank.n_kernels))
    E = whole[np.ix_(points, points, kernels)]
    q, n = kernels.size, points.size
    assert (view.n_kernels, view.n_points) == (q, n)
    rng = np.random.default_rng(q)
    d, v = rng.random(q) * (rng.random(q) < 0.7), rng.normal(size=n) * (rng.random(n) < 0.8)
    d[0], v[0] = 0.5, -1.0
    rows, columns = rng.integers(n, size=6), rng.integers(n, size=4)
    largest = float(np.einsum("iik->ik", E).max())
    # what entries are wrong by, on both sides of a comparison
    slack = (2.0 * view.entry_error + 1e-13) * largest
    np.testing.assert_allclose(view.entries(rows, columns), E[np.ix_(rows, columns)].astype(float), 0, slack)
    np.testing.assert_allclose(view.diagonal(), np.einsum("iik->ik", E).astype(float), 0, slack)
    top, trace = view.sizes
    assert (top * (1 + 1e-6) >= np.einsum("iik->ik", E).max(axis=0).astype(float)).all()
    assert (trace * (1 + 1e-6) >= np.einsum("iik->k", E).astype(float)).all()
    off = view.noise(q) + view.entry_error + 1e-15
    every = np.arange(n)
    for found, some, others in (
        (view.combine(d), every, every),
        (view.block(d, rows, columns), rows, columns),
        (view.block(d, rows, rows), rows, rows),
    ):
        truth = (E[np.ix_(some, others)] @ d).astype(float)
        assert (np.abs(found - truth) <= off * roots(E, d, some, others)).all()
    out = np.empty((n, n))
    assert view.combine(d, out) is out
    assert np.array_equal(out, out.T)
    of_largest, of_trace = view.form_error(v, v)
    forms = np.einsum("i,ijk,j->k", v, E, v)
    wrong = np.abs(view.quadratic_forms(v) - forms).astype(float)
    entry_share = view.entry_error * np.abs(v).sum() ** 2 * top
    assert (wrong <= np.minimum(of_largest * top, of_trace * trace) + entry_share).all()
    products = np.einsum("ijk,j->ik", E, v)[rows].astype(float)
    np.testing.assert_allclose(view.row_products(rows, v), products, 0, 4 * off * np.abs(v).sum() * largest + slack)
    assert not view.quadratic_forms(np.zeros(n)).any()
    assert not view.block(np.zeros(q), rows, columns).any()


@pytest.mark.parametrize(("name", "how"), CASES)
def test_new_points_have_the_kernels_of_the_points_that_they_are(name, how, wholes) -> None:
    """New points that are points of the bank; kept kernels are the same, and a copy of them alone is."""
    bank, new, whole = wholes[name]
    view, kernels, points = VIEWS[how](bank, *picks(bank.n_kernels))
    these, q = np.array([5, 0, 17]), kernels.size
    d = np.random.default_rng(q).random(q)
    truth = (whole[np.ix_(these, points, kernels)] @ d).astype(float)
    top = float(whole.max()) * d.sum()
    # entries that were kept are as exact as ever, and those of new points as the sums of the bank
    close = 2 * (bank.noise(q) + view.entry_error + 1e-12) + bank.rounding * 4
    np.testing.assert_allclose(view.cross(new(these), d), truth, 0, close * top)
    of, some = [q - 1, *([0] if q > 1 else [])], np.array([2, 0, 1])
    kept = view.kept(of, some)
    assert (kept.n_kernels, kept.n_points) == (len(of), 3)
    weights = np.linspace(1, 2, len(of))
    truth = (whole[np.ix_(these, points[some], kernels[of])] @ weights).astype(float)
    for one in (kept, pickle.loads(pickle.dumps(kept))):
        np.testing.assert_allclose(one.cross(new(these), weights), truth, 0, close * float(whole.max()) * 3)


@pytest.mark.parametrize("name", BANKS)
def test_views_are_told_apart_by_what_they_show(name, wholes) -> None:
    bank = wholes[name][0]
    kernels, points = picks(bank.n_kernels)
    digests = [
        bank.digest(),
        bank.subset(kernels).digest(),
        bank.subset(kernels[::-1]).digest(),
        bank.on(points).digest(),
        bank.on(points[::-1]).digest(),
        bank.on(points).subset(kernels).digest(),
    ]
    assert len(set(digests)) == len(digests)
    assert bank.subset(kernels).digest() == bank.subset(kernels).digest()
    assert bank.on(points).digest() == bank.on(points).digest()
    view = Bank(bank, kernels, points)
    assert [view.label(k) for k in range(3 if kernels.size > 2 else 2)] == [
        bank.label(int(k)) for k in kernels[: 3 if kernels.size > 2 else 2]
    ]


def test_a_run_on_a_source_is_that_on_its_matrices() -> None:
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    source = Cauchy(X, [0.5, 1.0, 2.0])
    bank = Bank(source)
    matrices = source.entries(X, X, np.arange(3)).transpose(2, 0, 1)
    oracles = [MKLOracle(one, y, C=1.0) for one in (bank, GramBank(matrices))]
    runs = [minimize(oracle, rtol=1e-7) for oracle in oracles]
    assert all(run.success for run in runs)
    assert runs[0].upper_bound == pytest.approx(runs[1].upper_bound, rel=1e-7)
    runs[0].certificate().verify(oracles[0])
    model = oracles[0].model(runs[0])
    new = X[:5] + 0.1
    assert np.allclose(pickle.loads(pickle.dumps(model)).decision_function(new), model.decision_function(new))
    assert np.allclose(model.decision_function(new), oracles[0].decision_function(runs[0].cut, new))


def test_what_is_no_source_is_refused() -> None:
    class Flat(Cauchy):
        def entries(self, left, right, kernels):
            return super().entries(left, right, kernels)[:, :, 0]

    class Silent(Cauchy):
        entry_error = None

    for wrong, words in (
        ("rbf", "`source`"),
        (Cauchy, "`source`"),
        (Flat(X, [1.0]), "`source.entries`"),
        (Silent(X, [1.0]), "`source.entry_error`"),
        (Cauchy(X, []), "`source.n_kernels`"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            Bank(wrong)
    bank = Bank(Cauchy(X, [1.0, 2.0]))
    for options, words in (
        ({"kernels": [2]}, "`kernels`"),
        ({"kernels": [0, 0]}, "`kernels`"),
        ({"points": [N]}, "`points`"),
        ({"points": []}, "`points`"),
    ):
        for source in (bank, Cauchy(X, [1.0, 2.0])):
            with pytest.raises(InvalidArgument, match=words):
                Bank(source, **options)
