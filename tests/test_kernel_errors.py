"""Errors that banks state of sums, entries and stores: bounds hold, and certificates of honest runs are verified.

The truth of a run in single precision is the same problem in double precision, whose bounds are proven by themselves.
"""

import pickle
from math import inf

import numpy as np
import pytest

from oracle_opt import InvalidArgument, Query, Status, minimize
from oracle_opt.generators import SPG, AnalyticCenter, LevelSet
from oracle_opt.oracles import GMKLOracle, LpRegularizer, MixedNormOracle, MKLOracle, SharedWeightsOracle
from oracle_opt.oracles.kernels import GramBank, JoinedBank, PolynomialBank, RBFBank, ShardedBank
from oracle_opt.oracles.kernels.bank import BeforeRounding
from oracle_opt.oracles.kernels.bank_checks import check_positive_semidefinite
from oracle_opt.oracles.mkl import kernel_machine
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

METHODS = {"default": lambda: None, "spg": SPG, "level set": LevelSet, "center": AnalyticCenter}
SINGLE = 2.0**-24


def labels(rng, n):
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def rank_one(rng, n):
    """Kernels of which one has rank one: a free direction of it has a weight of 1e6."""
    v, u = rng.normal(size=(2, n, 1))
    X = rng.normal(size=(n, 2)) + rng.choice([0.0, 1e3])
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    return [np.eye(n), v @ v.T, near, 10.0 ** rng.uniform(-3, 3) * u @ u.T]


@pytest.mark.campaign(12)
@pytest.mark.parametrize("given", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [Hinge, SquaredHinge, EpsilonInsensitive])
def test_mixed_norms_of_kernels_in_single_precision(method, kind, given) -> None:
    """A store in single precision: the interval holds the optimum of the kernels that were passed in."""
    for seed in range(2):
        rng = np.random.default_rng([seed, len(method), len(kind.__name__)])
        n = int(rng.integers(8, 16))
        kernels, C = rank_one(rng, n), 10.0 ** rng.uniform(-1, 3)
        y, loss = (labels(rng, n), kind(C)) if kind is not EpsilonInsensitive else (rng.normal(size=n), kind(C, 0.1))
        parts, normalize = [[0, 2], [1], [3]], bool(seed % 2)
        scales = [1.0 / np.trace(K) if normalize else 1.0 for K in kernels]
        exact = GramBank([s * K for s, K in zip(scales, kernels, strict=True)])
        truth = minimize(MixedNormOracle(exact, y, loss, groups=parts), rtol=1e-8, max_calls=40)
        kept = np.float32 if given is np.float64 else np.float64
        bank = GramBank([K.astype(given) for K in kernels], dtype=kept, normalize=normalize)
        assert bank.rounding >= SINGLE
        oracle = MixedNormOracle(bank, y, loss, groups=parts)
        result = minimize(oracle, METHODS[method](), rtol=1e-6, max_calls=12)
        assert result.status not in (Status.CONTRADICTION, Status.FAILED, Status.EMPTY)
        assert result.lower_bound <= truth.upper_bound * (1 + 1e-12)
        assert result.upper_bound >= truth.lower_bound * (1 - 1e-12)
        result.certificate().verify(oracle)


def test_mixed_norms_in_double_precision_are_as_exact_as_before() -> None:
    """Kernels that are kept as they are given, and that are semidefinite up to rounding, are no others."""
    rng = np.random.default_rng(0)
    bank = GramBank(rank_one(rng, 15))
    assert bank.rounding == 0.0
    assert bank.before_rounding() is bank
    result = minimize(MixedNormOracle(bank, labels(rng, 15), 1.0, groups=[[0, 2], [1], [3]]), rtol=1e-5)
    assert result.success


def test_a_kernel_with_a_negative_eigenvalue_says_what_it_lacks() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 30))
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        scale = 10.0 ** rng.uniform(-1, 1, n)
        for lack in (0.0, 1e-11, 1e-10):
            values = np.r_[-lack, np.zeros(2), rng.random(n - 3)]
            K = (Q * values) @ Q.T * np.outer(scale, scale)
            K = (K + K.T) / 2
            lacks = check_positive_semidefinite(K, "K")
            assert (lacks == 0.0) == (lack == 0.0)
            grown = K + (lacks + n * 1e-15) * np.diag(np.diagonal(K))
            assert np.linalg.eigvalsh(grown)[0] >= -1e-14 * np.trace(K)
            assert lacks <= 1e3 * lack
            assert GramBank([K]).rounding == lacks


@pytest.mark.campaign(inf)
def test_mixed_norms_count_what_a_kernel_lacks() -> None:
    """Passed in double precision with an eigenvalue of -1e-9: bounds meet those of the kernel without."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 12
        v, y = rng.normal(size=(n, 1)), labels(rng, n)
        w = rng.normal(size=(n, 1))
        w -= v * (v.T @ w) / (v.T @ v)
        K = v @ v.T - 3e-10 * w @ w.T
        ends = []
        for one in (K, v @ v.T):
            oracle = MixedNormOracle(GramBank([np.eye(n), one]), y, SquaredHinge(0.15), groups=[[0], [1]])
            result = minimize(oracle, rtol=1e-6, max_calls=60)
            result.certificate().verify(oracle)
            ends.append((result.lower_bound, result.upper_bound))
        (low, high), (least, most) = ends
        assert low <= most
        assert high >= least


ORACLES = {
    "l1": lambda bank, y, loss: MKLOracle(bank, y, loss),
    "lp": lambda bank, y, loss: GMKLOracle(bank, y, LpRegularizer(2), loss=loss),
    "mixed": lambda bank, y, loss: MixedNormOracle(bank, y, loss, groups=[[0, 2, 1], [*range(3, bank.n_kernels)]]),
    "shared": lambda bank, y, loss: SharedWeightsOracle([MKLOracle(bank, y, loss), MKLOracle(bank, y, loss)]),
}


@pytest.mark.campaign(11)
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("kind", [Hinge, SquaredHinge, OneClass, EpsilonInsensitive])
@pytest.mark.parametrize("kept", [0, 1 << 26])
def test_certificates_of_coarse_sums_are_verified(name, kind, kept, monkeypatch) -> None:
    """Values were bounded for the optimum, and the hyperplane that was named is worse where C is large."""
    monkeypatch.setattr(kernel_machine, "KEPT_BYTES", kept)
    for seed, C in enumerate((1e2, 1e4, 1e7)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(16, 3)) + np.array([0.0, 1e3, 1e6])
        loss = {Hinge: Hinge(C), SquaredHinge: SquaredHinge(C), OneClass: OneClass(0.4)}.get(kind)
        loss = EpsilonInsensitive(1e-3 * C, 0.1) if loss is None else loss
        y = None if kind is OneClass else rng.normal(size=16) if kind is EpsilonInsensitive else labels(rng, 16)
        bank = RBFBank(X, [range(3), [0]], [np.geomspace(0.3, 5.0, 9), [1.0]], dtype=np.float32)
        oracle = ORACLES[name](bank, y, loss)
        result = minimize(oracle, rtol=1e-6, max_calls=12)
        assert result.status not in (Status.CONTRADICTION, Status.FAILED)
        result.certificate().verify(oracle)


@pytest.mark.parametrize("seed", range(4))
def test_sums_over_few_entries_are_as_exact_as_these(seed) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), labels(rng, 15)
    bank = JoinedBank([RBFBank(X, [[0], [1, 2]], [np.geomspace(0.3, 5.0, 5)] * 2, dtype=np.float32)])
    for C in (1e2, 1e5):
        oracle = GMKLOracle(bank, y, LpRegularizer(2), C=C)
        result = minimize(oracle, rtol=1e-6, max_calls=60)
        assert result.success
        result.certificate().verify(oracle)
    assert bank.precise(1e9) is bank.precise(1e9)
    assert bank.precise(1e3) is bank
    assert pickle.loads(pickle.dumps(bank))._precise is None
    assert bank.subset([0, 1])._precise is None


def views():
    """A bank of each kind, whose sums, entries and store state an error."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4)) + 1e3
    gram = GramBank([np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / s) for s in (1.0, 9.0)], dtype=np.float32)
    rbf = RBFBank(X, [range(4), [0]], [np.geomspace(0.5, 5.0, 19), [1.0]], dtype=np.float32)
    yield "gram", gram, gram
    yield "rbf", rbf, rbf
    yield "some kernels of gram", gram.subset([1]), gram
    yield "some kernels", rbf.subset([1, 5, 7, 9, 11]), None
    yield "some points", gram.on(range(20)), gram
    yield "sharded", ShardedBank(gram, parts=2), gram
    yield "some of sharded", ShardedBank(rbf, parts=2).subset([2, 3, 4]), None
    yield "joined", JoinedBank([gram, PolynomialBank(X - 1e3, [range(4)], [[2]])]), gram
    yield "points of rbf", rbf.on(range(20)), rbf
    yield "joined points", JoinedBank([gram, rbf]).on(range(20)), gram


@pytest.mark.parametrize(("name", "view", "of"), [pytest.param(*one, id=one[0]) for one in views()])
def test_views_state_the_errors_of_what_they_show(name, view, of) -> None:
    """Sums of every view are within its `noise` and `form_error` of its entries, and its errors are its bank's."""
    rng, n = np.random.default_rng(0), view.n_points
    if of is not None:
        assert view.rounding == of.rounding
        assert view.entry_error >= of.entry_error
        assert view.exactness >= (of.exactness if view.exactness > 1e-10 else of.entry_error)
    meant = view.before_rounding()
    assert isinstance(meant, BeforeRounding) == (view.rounding > 0)
    assert meant.rounding == 0.0
    assert meant.entry_error == view.entry_error + view.rounding
    d, v = rng.random(view.n_kernels), rng.normal(size=n)
    assert meant.noise(3) >= view.noise(3) + view.rounding
    assert all(np.greater_equal(meant.form_error(v, v), view.form_error(v, v)))
    for one in (view, meant, view.precise(1e9), meant.precise(1e9)):
        E = one.entries(range(n), range(n))
        roots = np.sqrt(np.outer(one.diagonal() @ d, np.ones(n)) * (one.diagonal() @ d))
        slack = one.noise(d.size) + one.entry_error
        assert (np.abs(one.combine(d) - E @ d) <= slack * roots).all()
        wrong = np.abs(one.quadratic_forms(v) - np.einsum("i,ijk,j->k", v, E, v))
        assert (wrong <= 2 * one.form_error(v, v)[0] * one.sizes[0]).all()


def test_rounding_covers_what_a_store_does() -> None:
    """Forms of the kernels that were passed in are within the errors of `before_rounding`."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kernels = rank_one(rng, 12)
        meant = GramBank(kernels, dtype=np.float32).before_rounding()
        for v in rng.normal(size=(20, 12)):
            exact = np.array([v @ K @ v for K in kernels])
            off = np.abs(meant.quadratic_forms(v) - exact)
            of_largest, of_trace = meant.form_error(v, v)
            assert (off <= np.minimum(of_largest * meant.sizes[0], of_trace * meant.sizes[1])).all()


def test_kernels_that_do_not_fit_into_single_precision_are_refused() -> None:
    for size in (1e-45, 1e-35, 1e39):
        with pytest.raises(InvalidArgument, match="kernel 1 of `kernels` must have diagonal entries from"):
            GramBank([np.eye(3), size * np.eye(3)], dtype=np.float32)
        assert GramBank([np.eye(3), size * np.eye(3)]).rounding == 0.0
    assert GramBank([np.eye(3), np.diag([1.0, 0.0, 2.0])], dtype=np.float32).rounding > 0


def test_weights_beyond_all_numbers_are_refused() -> None:
    oracle = GMKLOracle(GramBank([np.eye(3)]), [1, -1, 1], LpRegularizer(2))
    with pytest.raises(InvalidArgument, match=r"`query.point` must have weights up to"):
        oracle.query(Query(np.array([1e150])))


@pytest.mark.filterwarnings("ignore:The weights of the kernels are not optimal")
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_a_classifier_with_a_mixed_norm(far) -> None:
    """The estimator states a gap; in single precision its bounds are those of the double one's problem."""
    pytest.importorskip("sklearn")
    from oracle_opt.learn import MKLClassifier
    from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels

    rng, ends = np.random.default_rng(0), []
    X = rng.normal(size=(24, 3)) + far
    y = (X[:, 0] - far + 0.3 * rng.normal(size=24) > 0).astype(int)
    for dtype in (np.float32, np.float64):
        kernels = KernelList([GaussianKernels([0.3, 1.0], each=True), PolynomialKernels((1,))], dtype=dtype)
        fitted = MKLClassifier(kernels, norm="mixed", C=10.0, max_calls=15).fit(X, y)
        (history,) = fitted.history_
        ends.append((np.max(history.lower_bound), np.min(history.upper_bound)))
    (low, high), (least, most) = ends
    assert least - 1e-12 * most <= high
    assert low <= most * (1 + 1e-12)
