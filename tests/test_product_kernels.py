"""Products of RBF kernels: the bank's operations, gradients by finite differences, stationarity instead of bounds."""

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

import oracle_opt.generators as G
from oracle_opt import CapabilityMismatch, InvalidArgument, Query, Status, minimize
from oracle_opt.oracles import ElasticNet, GMKLOracle, LpRegularizer, ProductBank, Regularizer
from oracle_opt.proof.claim import ValueClaim


def problem(n=40, d=5, seed=0):
    """The sign of a product of two features; the others are noise, one is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1)
    X[:, -1] = 3.0
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


def distances(X):
    kept = X[:, :-1]
    Z = (kept - kept.mean(axis=0)) / kept.std(axis=0)
    return np.array([(Z[:, None, f] - Z[None, :, f]) ** 2 for f in range(Z.shape[1])])


def banks(X):
    return [ProductBank.from_points(X), ProductBank(distances(X))]


@pytest.mark.parametrize("which", [0, 1], ids=["points", "given"])
def test_operations_are_what_they_say(which) -> None:
    X, _ = problem()
    D, bank = distances(X), banks(X)[which]
    assert (bank.n_kernels, bank.n_points) == (4, 40)
    rng = np.random.default_rng(1)
    for d in (np.zeros(4), np.array([0.3, 0.0, 2.0, 0.01]), rng.uniform(0, 3, 4)):
        K = np.exp(-np.einsum("k,kij->ij", d, D))
        out = np.empty((40, 40))
        assert bank.combine(d, out=out) is out
        np.testing.assert_allclose(out, K, rtol=1e-11, atol=1e-15)
        np.testing.assert_array_equal(np.diag(out), 1.0)
        np.testing.assert_array_equal(out, out.T)
        for v in (rng.normal(size=40), np.r_[rng.normal(size=10), np.zeros(30)]):
            expected = np.einsum("i,kij,ij,j->k", v, D, K, v)
            np.testing.assert_allclose(bank.distance_forms(v, out), expected, rtol=1e-9, atol=1e-9)


def test_cross_kernels_agree_with_the_bank_and_with_each_other() -> None:
    X, _ = problem()
    of_points, given = banks(X)
    d = np.array([0.3, 0.0, 2.0, 0.01])
    np.testing.assert_allclose(of_points.cross(X[:7], d), of_points.combine(d)[:7], rtol=1e-9)
    new = [None if k == 1 else D[:7] for k, D in enumerate(distances(X))]
    np.testing.assert_allclose(given.cross(new, d), given.combine(d)[:7], rtol=1e-9)
    with pytest.raises(InvalidArgument, match="distance 1 of `new` must be given, as its weight is 1"):
        given.cross(new, np.ones(4))


@pytest.mark.parametrize("which", [0, 1], ids=["points", "given"])
def test_on_some_points_it_is_the_part_of_all(which) -> None:
    X, _ = problem()
    bank, d, points = banks(X)[which], np.array([0.3, 0.0, 2.0, 0.01]), [7, 3, 30]
    some, new = bank.on(points), X[:7] if which == 0 else distances(X)[:, :7]
    np.testing.assert_allclose(some.combine(d), bank.combine(d)[np.ix_(points, points)], rtol=1e-12)
    np.testing.assert_allclose(some.cross(new, d), bank.cross(new, d)[:, points], rtol=1e-12)
    np.testing.assert_array_equal(some.cross(new, np.zeros(4)), np.ones((7, 3)))
    np.testing.assert_allclose(some.kept([2], [1, 0]).cross(new, [2.0]), some.cross(new, [0, 0, 2.0, 0])[:, [1, 0]])


class Bounded(Regularizer):
    """sum(d / (1 + d)): one of a user's own, not convex."""

    convex = False

    def value(self, d):
        return float((d / (1 + d)).sum())

    def gradient(self, d):
        return 1 / (1 + d) ** 2


@pytest.mark.parametrize("r", [LpRegularizer(1, power=1), LpRegularizer(1.33), ElasticNet(), Bounded()], ids=repr)
@pytest.mark.parametrize("which", [0, 1], ids=["points", "given"])
def test_gradient_is_that_of_the_value(r, which) -> None:
    X, y = problem()
    oracle = GMKLOracle(banks(X)[which], y, r, C=10.0, accuracy=1e-13)
    assert not oracle.convex
    for d in (np.full(4, 0.5), np.array([0.1, 1.0, 0.01, 0.4])):
        cut = oracle.query(Query(d))
        assert cut.lower_bound == -np.inf
        for k, h in enumerate(1e-5 * d):
            step = h * np.eye(4)[k]
            difference = (oracle.query(Query(d + step)).value - oracle.query(Query(d - step)).value) / (2 * h)
            assert cut.subgradient[k] == pytest.approx(difference, rel=1e-4, abs=1e-4 * np.abs(cut.subgradient).max())


class Mine(GMKLOracle):
    """A subclass of a user's own, with a constructor of its own."""

    def __init__(self, bank, y, C):
        super().__init__(bank, y, LpRegularizer(1, power=1), C=C)


@pytest.mark.parametrize("make", [Mine, lambda bank, y, C: GMKLOracle(bank, y, LpRegularizer(1, power=1), C=C)])
@pytest.mark.parametrize("seed", range(3))
def test_products_are_answered_whatever_the_class(make, seed) -> None:
    """Value and gradient are those of scikit-learn's machine on the product; an oracle keeps its class and its name."""
    X, y = problem(seed=seed)
    D, d, v = distances(X), np.random.default_rng(seed).uniform(0.01, 1.0, 4), np.zeros(len(y))
    K = np.exp(-np.einsum("k,kij->ij", d, D))
    machine = SVC(C=10.0, kernel="precomputed", tol=1e-10).fit(K, y)
    v[machine.support_] = machine.dual_coef_[0]
    expected = 1.0 + 0.5 * np.einsum("i,kij,ij,j->k", v, D, K, v)
    for bank in banks(X):
        oracle = make(bank, y, 10.0)
        assert type(oracle) is (Mine if make is Mine else GMKLOracle)
        assert f"{type(oracle).__qualname__}, not convex, on " in oracle.identity()
        for one in (oracle, pickle.loads(pickle.dumps(oracle))):
            cut = one.query(Query(d))
            assert cut.value == pytest.approx(d.sum() + np.abs(v).sum() - 0.5 * v @ K @ v, rel=1e-6)
            np.testing.assert_allclose(cut.subgradient, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
            assert cut.lower_bound == -np.inf
            assert one.prove_value(ValueClaim(d, cut.upper, {"signed_dual": v, "bias": cut.extras["bias"]})) is None


@pytest.mark.parametrize("bank", [None, "RBF", np.eye(2), [np.eye(2)], LpRegularizer(2)], ids=str)
def test_what_is_no_bank_is_refused(bank) -> None:
    with pytest.raises(InvalidArgument, match="`bank` must be a KernelBank"):
        GMKLOracle(bank, [1, -1])


@pytest.mark.parametrize(
    "generator",
    [G.SPG(), G.SPG(entropic=False), G.SPG(tune_accuracy=True), G.SPG(nonmonotone=False), G.ProjectedGradient()],
    ids=repr,
)
def test_ends_at_a_stationary_point_without_claiming_a_bound(generator) -> None:
    X, y = problem()
    oracle = GMKLOracle(ProductBank.from_points(X), y, LpRegularizer(1.33), C=10.0)
    result = minimize(oracle, generator, np.full(4, 0.25), gtol=1e-3, max_calls=2000)
    assert result.status is Status.GRADIENT
    assert result.lower_bound == -np.inf
    cut = oracle.query(Query(result.point, accuracy=1e-12))
    assert np.linalg.norm(np.maximum(cut.point - cut.subgradient, 0) - cut.point) < 2e-3
    # the product of the first two features decides
    assert result.point[:2].min() > 2 * result.point[2:].max()


def test_predicts_new_points() -> None:
    X, y = problem(n=120)
    oracle = GMKLOracle(ProductBank.from_points(X[:80]), y[:80], LpRegularizer(1, power=1), C=10.0)
    cut = minimize(oracle, G.SPG(), np.full(4, 0.25), gtol=1e-2).cut
    assert (oracle.predict(cut, X[80:]) == y[80:]).mean() > 0.8


@pytest.mark.parametrize(
    "generator",
    [G.Kelley(), G.LevelSet(), G.AnalyticCenter(), G.NewtonBundle(), G.ProximalBundle(), G.Ellipsoid()],
    ids=lambda g: type(g).__name__,
)
def test_methods_that_need_convexity_are_refused(generator) -> None:
    X, y = problem()
    oracle = GMKLOracle(ProductBank.from_points(X), y, LpRegularizer(2), C=10.0, radius=5.0)
    with pytest.raises(CapabilityMismatch, match="needs a convex function"):
        minimize(oracle, generator)


def test_digest_tells_banks_apart() -> None:
    X, _ = problem()
    of_points, given = banks(X)
    assert of_points.digest() != given.digest() != ProductBank(2 * distances(X)).digest()
    assert ProductBank.from_points(X).digest() == of_points.digest()


def bad(change):
    X, _ = problem(n=5)
    D = distances(X)[:2]
    change(D)
    return D


def negative(D):
    D[1, 0, 1] = D[1, 1, 0] = -0.5


def unsymmetric(D):
    D[1, 0, 1] += 1


def not_finite(D):
    D[1, 0, 1] = D[1, 1, 0] = np.nan


def on_the_diagonal(D):
    D[1, 2, 2] = 0.1


def no_negative_type(D):
    D[1] = D[1] ** 2


def zero(D):
    D[1] = 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (negative, r"distance 1 of `distances` must be nonnegative, got -0.5 at \(0, 1\)"),
        (unsymmetric, "distance 1 of `distances` must be symmetric"),
        (not_finite, "distance 1 of `distances` must be finite"),
        (on_the_diagonal, "distance 1 of `distances` must be zero on its diagonal"),
        (no_negative_type, "-1/2 D of distance 1 of `distances` must be positive semidefinite"),
        (zero, "distance 1 of `distances` must have a positive trace"),
    ],
)
def test_bad_distances_are_named(change, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        ProductBank(bad(change))


def test_other_bad_arguments() -> None:
    X, _ = problem()
    bank = ProductBank.from_points(X)
    with pytest.raises(InvalidArgument, match="`weights` must be 4 finite numbers >= 0"):
        bank.combine([1.0, 1.0, 1.0, -1.0])
    with pytest.raises(InvalidArgument, match="`v` must be 40 finite numbers"):
        bank.distance_forms(np.ones(3), np.eye(40))
    with pytest.raises(InvalidArgument, match=r"`new` must be finite points of shape \(m, 5\)"):
        bank.cross(X[:, :4], np.ones(4))
    with pytest.raises(InvalidArgument, match="`X` must have a column that is not constant"):
        ProductBank.from_points(np.ones((4, 2)))
    with pytest.raises(InvalidArgument, match="`distances` must have shape"):
        ProductBank([])
