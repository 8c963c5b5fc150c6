"""A model is what a run found, alone: the same decisions of support vectors and active kernels, and little else."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from oracle_opt import FunctionOracle, InvalidArgument, Query, Simplex, minimize
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.oracles import GMKLOracle, MixedNormOracle, MKLOracle
from oracle_opt.oracles.kernels import (
    GramBank,
    JoinedBank,
    KernelBank,
    KernelList,
    PolynomialBank,
    ProductBank,
    RBFBank,
    ShardedBank,
    simplemkl_bank,
    uci_bank,
    uci_bank_on_the_fly,
)
from oracle_opt.oracles.mkl import kernel_model
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(70, 4)), RNG.normal(size=(9, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, 1.0, -1.0)
STACK = [X @ X.T, np.exp(-cdist(X, X, "sqeuclidean")), np.exp(-cdist(X, X, "cityblock"))]
CROSS = [NEW @ X.T, np.exp(-cdist(NEW, X, "sqeuclidean")), np.exp(-cdist(NEW, X, "cityblock"))]


class Own(KernelBank):
    """A user's bank that knows nothing of models."""

    def __init__(self, bank):
        self.bank, self.n_kernels, self.n_points = bank, bank.n_kernels, bank.n_points

    combine = property(lambda self: self.bank.combine)
    quadratic_forms = property(lambda self: self.bank.quadratic_forms)
    row_products = property(lambda self: self.bank.row_products)
    entries = property(lambda self: self.bank.entries)
    diagonal = property(lambda self: self.bank.diagonal)
    cross = property(lambda self: self.bank.cross)
    digest = property(lambda self: self.bank.digest)


WIDTHS = [[0, 1], [1], [2, 3], [0, 1, 2, 3]]
BANKS = {
    "uci": (uci_bank, NEW),
    "simplemkl": (simplemkl_bank, NEW),
    "uci on the fly": (uci_bank_on_the_fly, NEW),
    "uci on the fly in single": (lambda X: uci_bank_on_the_fly(X, dtype=np.float32), NEW),
    "list": (KernelList.default().fit, NEW),
    "list on the fly": (KernelList.default(on_the_fly=True).fit, NEW),
    "list of a frame": (
        lambda X: KernelList(["linear", ("b", ["rbf", "laplacian"], ["a", "b"])]).fit(
            pd.DataFrame(X, columns=list("abcd"))
        ),
        pd.DataFrame(NEW, columns=list("abcd"))[list("badc")],
    ),
    "given": (lambda X: GramBank(STACK), CROSS),
    "given, normalized, subset": (lambda X: GramBank(STACK, normalize=True).subset([2, 0]), CROSS),
    "rbf": (lambda X: RBFBank(X, WIDTHS, [[1.0, 2.0]] * 4), NEW),
    "rbf of sparse": (lambda X: RBFBank(sparse.csr_array(X), WIDTHS, [[1.0, 2.0]] * 4), sparse.csr_array(NEW)),
    "rbf in single": (lambda X: RBFBank(X + 100.0, WIDTHS, [[1.0, 2.0]] * 4, dtype=np.float32), NEW + 100.0),
    "rbf, mixed up": (lambda X: RBFBank(X, WIDTHS, [[1.0, 2.0]] * 4).subset([7, 0, 4, 1, 5]), NEW),
    "polynomial": (lambda X: PolynomialBank(X, WIDTHS, [[1, 2]] * 4), NEW),
    "polynomial, mixed up": (lambda X: PolynomialBank(X, WIDTHS, [[1, 2]] * 4, scale=0.1).subset([6, 1, 3, 0]), NEW),
    "joined": (lambda X: JoinedBank([RBFBank(X, [[1]], [[1.0]]), uci_bank(X), RBFBank.from_quantiles(X, 20)]), NEW),
    "joined, mixed up": (
        lambda X: JoinedBank([RBFBank(X, [[1]], [[1.0]]), uci_bank(X), RBFBank.from_quantiles(X, 20)]).subset(
            [70, 0, 3, 66]
        ),
        NEW,
    ),
    "sharded": (lambda X: ShardedBank(RBFBank.from_quantiles(X, 50), parts=2), NEW),
    "some of sharded": (lambda X: ShardedBank(RBFBank.from_quantiles(X, 50), parts=2).subset([30, 2, 7]), NEW),
    "own": (lambda X: Own(uci_bank(X)), NEW),
    "some of own": (lambda X: Own(uci_bank(X)).subset([30, 2, 7]), NEW),
}


@pytest.mark.parametrize("name", BANKS)
def test_decisions_are_those_of_the_oracle(name):
    make, new = BANKS[name]
    bank = make(X)
    oracle = MKLOracle(bank, Y, C=10.0)
    result = minimize(oracle, LevelSet(), rtol=1e-3)
    model = pickle.loads(pickle.dumps(oracle.model(result)))
    n_bytes = model.nbytes
    values = oracle.decision_function(result.cut, new)
    single = "single" in name
    assert np.allclose(model.decision_function(new), values, rtol=0, atol=1e-5 if single else 1e-12)
    assert np.array_equal(model.predict(new), oracle.predict(result.cut, new))
    assert np.array_equal(oracle.model(result.cut).decision_function(new), model.decision_function(new))
    assert np.array_equal(model.kernels, np.flatnonzero(result.point))
    assert np.array_equal(model.support, np.flatnonzero(result.cut.extras["alpha"]))
    if "own" not in name:
        assert model.nbytes == n_bytes < 10_000  # what was computed meanwhile is not kept
    if not isinstance(new, list):
        rows = [new.iloc[[i]] if isinstance(new, pd.DataFrame) else new[[i]] for i in range(9)]
        one_by_one = np.concatenate([model.decision_function(row) for row in rows])
        assert np.allclose(one_by_one, model.decision_function(new), rtol=1e-10, atol=1e-12)
    names, groups = bank.names, bank.groups
    if len(set(groups)) > 1:  # elsewhere a number may tell equal names apart
        assert model.names == tuple(names[k] for k in model.kernels)
    assert model.groups == tuple(groups[k] for k in model.kernels)
    assert len(set(names)) == len(names) == len(groups) == bank.n_kernels
    assert all(isinstance(word, str) for word in (*names, *groups))
    chosen = [bank.n_kernels - 1, 0]
    assert bank.subset(chosen).names == (names[-1], names[0])


def test_names_are_those_of_the_kernels():
    raw = np.column_stack([X[:, 0], np.ones(70), X[:, 1]])  # the constant column keeps its number
    for make in (uci_bank, simplemkl_bank, uci_bank_on_the_fly):
        bank = make(raw)
        assert bank.groups == ("all columns",) * 13 + ("x0",) * 13 + ("x2",) * 13
        assert bank.names[12] == "polynomial(degree=3) of all columns"
        width = float(re.fullmatch(r"gaussian\(width=(.*)\) of x2", bank.names[26]).group(1))
        z = (raw[:, 2] - raw[:, 2].mean()) / raw[:, 2].std()
        K = bank.combine(np.eye(39)[26])
        assert np.allclose(K, np.exp(-(np.subtract.outer(z, z) ** 2) / (2 * width**2)) / 70, atol=1e-3 / 70)
    bank = RBFBank(X, [[0, 2], [0, 1, 2, 3]], [[0.5], [1.0, 2.0]])
    assert bank.names[:2] == ("gaussian(width=0.5) of x0, x2", "gaussian(width=1) of all columns")
    assert PolynomialBank(X, [[3]], [[2]]).names == ("polynomial(degree=2) of x3",)
    many = RBFBank(np.hstack([X, X]), [np.arange(6)], [[1.0]])
    assert many.groups == ("x0, x1 .. x5 (6 columns)",)
    assert GramBank(STACK).names == ("kernel 0", "kernel 1", "kernel 2")
    assert GramBank(STACK).groups == ("", "", "")
    twice = JoinedBank([GramBank(STACK), GramBank(STACK)])
    assert twice.names[2:5] == ("kernel 2", "kernel 0 (2)", "kernel 1 (2)")
    named = JoinedBank([GramBank(STACK)], labels=[("a", "x"), ("b", "x"), ("c", "y")])
    assert named.subset([2, 0]).names == ("c", "a")
    assert named.subset([2, 0]).groups == ("y", "x")
    with pytest.raises(InvalidArgument, match=r"`labels` must be 3 tuples"):
        JoinedBank([GramBank(STACK)], labels=[("a", "x")])


def test_names_of_a_million_kernels_are_not_made_before_they_are_asked_for(monkeypatch):
    bank = RBFBank.from_quantiles(X, 100_000)
    asked, label = [], RBFBank.label
    monkeypatch.setattr(RBFBank, "label", lambda self, k: asked.append(k) or label(self, k))
    oracle = MKLOracle(bank, Y, C=1.0)
    point = np.zeros(100_000)
    point[777] = 1.0
    cut = oracle.query(Query(point))
    assert oracle.model(cut).names == (label(bank, 777)[0],)
    bank.subset([5, 6]).kept([1], [0])
    assert asked == [777]


def test_decisions_are_those_of_scikit_learn():
    weights = np.array([0.3, 0.0, 0.7])
    cut = MKLOracle(GramBank(STACK), Y, C=2.0, accuracy=1e-12).query(Query(weights))
    model = MKLOracle(GramBank(STACK), Y, C=2.0).model(cut)
    truth = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(np.tensordot(weights, STACK, 1), Y)
    assert np.allclose(
        model.decision_function(CROSS), truth.decision_function(np.tensordot(weights, CROSS, 1)), atol=1e-6
    )
    assert model.weights.tolist() == [0.3, 0.7]
    assert model.kernels.tolist() == [0, 2]
    only = [CROSS[0], None, CROSS[2]]  # kernels of weight 0 need not be evaluated
    assert np.array_equal(model.decision_function(only), model.decision_function(CROSS))


def test_a_regression_predicts_its_targets():
    y = X[:, 0] ** 2
    oracle = MKLOracle(uci_bank(X), y, loss=EpsilonInsensitive(C=10.0, epsilon=0.01))
    result = minimize(oracle, LevelSet(), rtol=1e-3)
    model = oracle.model(result)
    assert np.allclose(model.predict(X), oracle.predict(result.cut, X), atol=1e-10)
    assert np.abs(model.predict(X) - y).mean() < 0.1


def test_every_oracle_has_models_and_tables():
    bank = uci_bank(X)
    groups = [np.flatnonzero(np.array(bank.groups) == g).tolist() for g in dict.fromkeys(bank.groups)]
    for oracle in (GMKLOracle(bank, Y, C=10.0), MixedNormOracle(bank, Y, Hinge(10.0), groups=groups[::-1])):
        result = minimize(oracle, rtol=1e-2, max_calls=30)
        assert np.allclose(
            oracle.model(result).decision_function(NEW), oracle.decision_function(result.cut, NEW), atol=1e-10
        )
        table = oracle.weights(result)
        assert table["name"].tolist() == list(bank.names)
        K = bank.combine(table["weight"].to_numpy())
        cut = result.cut
        assert np.allclose(
            K @ cut.extras["signed_dual"] + cut.extras["bias"], oracle.decision_function(cut, X), atol=1e-9
        )


@pytest.mark.parametrize(
    ("bank", "new"),
    [
        (ProductBank.from_points(np.column_stack([X, np.ones(70)])), np.column_stack([NEW, np.zeros(9)])),
        (
            ProductBank([np.subtract.outer(x, x) ** 2 for x in X.T]),
            [np.subtract.outer(a, b) ** 2 for a, b in zip(NEW.T, X.T, strict=True)],
        ),
    ],
    ids=["points", "given"],
)
def test_products(bank, new):
    oracle = GMKLOracle(bank, Y, C=10.0)
    for point in ([0.5, 0.0, 0.2, 0.0], [0.0] * 4):
        cut = oracle.query(Query(np.array(point)))
        model = pickle.loads(pickle.dumps(oracle.model(cut)))
        assert np.allclose(model.decision_function(new), oracle.decision_function(cut, new), atol=1e-10)
        assert oracle.weights(cut)["weight"].tolist() == point
    assert oracle.model(cut).kernels.size == 1
    kept = bank.kept([2, 0], [5, 9, 0])
    assert np.allclose(kept.cross(new, [1.0, 0.5]), bank.cross(new, [0.5, 0, 1.0, 0])[:, [5, 9, 0]], atol=1e-14)
    assert len(set(bank.names)) == 4
    assert bank.names[1] in ("squared difference of x1", "distance 1")


@pytest.mark.parametrize("name", ["uci", "uci on the fly", "list of a frame", "rbf of sparse", "joined", "given"])
def test_many_new_points_are_taken_in_parts(name, monkeypatch):
    make, new = BANKS[name]
    oracle = MKLOracle(make(X), Y, C=10.0)
    model = oracle.model(minimize(oracle, LevelSet(), rtol=1e-2))
    whole = model.decision_function(new)
    monkeypatch.setattr(kernel_model, "ENTRIES_AT_ONCE", 2 * model.support.size + 1)
    crossed = []
    cross = type(model._kept).cross
    monkeypatch.setattr(type(model._kept), "cross", lambda self, *a: crossed.append(cross(self, *a)) or crossed[-1])
    assert np.allclose(model.decision_function(new), whole, rtol=0, atol=1e-12)
    assert [K.shape[0] for K in crossed] == ([9] if name == "given" else [2, 2, 2, 2, 1])


def test_no_kernel_and_no_support_vector():
    oracle = GMKLOracle(uci_bank(X), Y, C=1.0)
    cut = oracle.query(Query(np.zeros(65)))
    assert np.allclose(oracle.model(cut).decision_function(NEW), cut.extras["bias"])
    flat = MKLOracle(uci_bank(X), np.full(70, 2.0), loss=EpsilonInsensitive(C=1.0, epsilon=0.1))
    cut = flat.query(Query(np.eye(65)[0]))
    assert not cut.extras["alpha"].any()
    assert np.allclose(flat.model(cut).predict(NEW), cut.extras["bias"])


def test_tables_of_weights():
    bank = uci_bank(X)
    oracle = MKLOracle(bank, Y, C=10.0)
    result = minimize(oracle, LevelSet(), rtol=1e-3)
    table = oracle.weights(result)
    assert list(table.columns) == ["name", "group", "weight"]
    assert np.array_equal(table["weight"], result.point)
    assert table["group"].tolist() == list(bank.groups)
    table.loc[0, "weight"] = 7.0
    assert oracle.weights(result.cut)["weight"].sum() == pytest.approx(1.0)
    first = oracle.weights(result, largest_first=True)
    assert first["weight"].is_monotonic_decreasing
    assert np.array_equal(first.sort_index()["weight"], result.point)
    other = minimize(FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(65)), Kelley(), max_calls=2)
    few = minimize(MKLOracle(GramBank(STACK), Y), LevelSet(), max_calls=2)
    for wrong, words in (
        (3.0, "`result` must be a cut of this oracle"),
        (other, "`result` must be one of this oracle, with `signed_dual`"),
        (few, "of 65 weights and 70 points, got 3 weights and 70 points"),
    ):
        for ask in (oracle.weights, oracle.model):
            with pytest.raises(InvalidArgument, match=re.escape(words)):
                ask(wrong)


def test_two_hundred_points_take_little():
    """As docs/performance.md says: a pickle of oracle and bank takes a thousand times as much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    oracle = MKLOracle(uci_bank(X), y)
    model = oracle.model(minimize(oracle, LevelSet(), rtol=1e-3))
    assert model.nbytes < 2 * X.nbytes
    assert len(pickle.dumps(oracle)) > 500 * model.nbytes
