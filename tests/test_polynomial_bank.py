"""Polynomial kernels on the fly, banks joined, and the kernels of `uci_bank` on the fly."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import InvalidArgument, Status, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, JoinedBank, MKLOracle, PolynomialBank, RBFBank, uci_bank, uci_bank_on_the_fly
from oracle_opt.oracles.mkl import solve_lp_mkl

FEATURES, DEGREES = (range(9), [4], [0, 8, 2]), ([1, 2, 7], [3], [1, 2])


def points(n=57, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = np.round(scale * rng.normal(size=(n, 9)), 2) * (rng.random((n, 9)) < 0.7)
    X[n - 4 :] = X[:4]
    return X


def exact_kernels(A, B):
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    products = [A[:, list(f)] @ B[:, list(f)].T for f in FEATURES]
    return np.array([(1 + xy) ** t for xy, of in zip(products, DEGREES, strict=True) for t in of])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_kernels_are_as_exact_as_stated(form, scale) -> None:
    X, rng = points(scale=scale), np.random.default_rng(1)
    K, n = exact_kernels(X, X), len(X)
    K /= np.einsum("kii->k", K)[:, None, None]
    bank = PolynomialBank(form(X), FEATURES, DEGREES)
    roots = np.sqrt(np.einsum("kii->ik", K))
    rows, columns = rng.permutation(n)[:40], rng.permutation(n)[:33]
    wrong = bank.entries(rows, columns) - K[np.ix_(range(6), rows, columns)].transpose(1, 2, 0)
    # The factor of a kernel, one over its trace, is as wrong as its entries.
    assert (np.abs(wrong) <= 2.1 * bank.exactness * roots[rows][:, None] * roots[columns]).all()
    assert bank.exactness < 1e-13
    np.testing.assert_allclose(bank.diagonal(), np.einsum("kii->ik", K).astype(float), rtol=1e-13)
    largest, trace = bank.sizes
    assert (largest >= np.einsum("kii->ik", K).max(axis=0)).all()
    assert (trace >= np.einsum("kii->ik", K).sum(axis=0)).all()
    np.testing.assert_allclose(trace, 1.0, rtol=1e-12)
    v, d = rng.normal(size=n) * (rng.random(n) < 0.7), rng.random(6)
    forms = np.einsum("i,kij,j->k", v, K, v)
    assert (np.abs(bank.quadratic_forms(v) - forms) <= 2.1 * bank.form_error(v, v)[1] * trace).all()
    for some in (rows, rows[:3]):
        np.testing.assert_allclose(bank.row_products(some, v), (K[:, some] @ v).T.astype(float), rtol=0, atol=1e-13)
    total = np.tensordot(d, K, 1).astype(float)
    np.testing.assert_allclose(bank.combine(d), total, rtol=0, atol=1e-14)
    np.testing.assert_allclose(bank.block(d, rows, columns), total[np.ix_(rows, columns)], rtol=0, atol=1e-14)
    new = points(7, seed=3, scale=scale)
    expected = np.tensordot(d * bank.scales, exact_kernels(new, X), 1).astype(float)
    np.testing.assert_allclose(bank.cross(form(new), d), expected, rtol=1e-12, atol=1e-13)
    assert bank.subset([5, 0]).digest() == pickle.loads(pickle.dumps(bank)).subset([5, 0]).digest()


def test_a_factor_of_all_kernels() -> None:
    X = points()
    bank = PolynomialBank(X, FEATURES, DEGREES, scale=0.5)
    np.testing.assert_allclose(bank.entries([3], [8])[0, 0], 0.5 * exact_kernels(X, X)[:, 3, 8].astype(float))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_of_the_literature_on_the_fly(dtype) -> None:
    X, new, rng = points(), points(11, seed=2), np.random.default_rng(4)
    X[:, 3], new[:, 3] = 1.0, 7.0  # dropped
    bank, stored = uci_bank_on_the_fly(X, dtype=dtype), uci_bank(X)
    d, v = rng.random(bank.n_kernels), rng.normal(size=57)
    allowed = 1e-12 + bank.exactness
    assert bank.n_kernels == stored.n_kernels == 13 * 9
    assert np.abs(bank.combine(d) - stored.combine(d)).max() <= allowed * d.sum() / 20
    np.testing.assert_allclose(bank.quadratic_forms(v), stored.quadratic_forms(v), rtol=0, atol=50 * allowed)
    np.testing.assert_allclose(bank.cross(new, d), stored.cross(new, d), rtol=0, atol=allowed * d.sum())
    np.testing.assert_allclose(np.array(bank.sizes), np.array(stored.sizes), rtol=1e-6)
    some = rng.permutation(bank.n_kernels)[:20]
    np.testing.assert_allclose(
        bank.subset(some).cross(new, d[some]),
        stored.cross(new, np.bincount(some, d[some], 117)),
        rtol=0,
        atol=allowed * d.sum(),
    )
    with pytest.raises(InvalidArgument, match=r"`new` must be finite points of shape \(m, 9\)"):
        bank.cross(new[:, :4], d)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    rtol = 3e-4 if dtype is np.float32 else 1e-4  # single precision leaves about 1e-4 of the bounds open
    results = [minimize(MKLOracle(of, y, 10.0), LevelSet(), rtol=rtol) for of in (bank, stored)]
    results += [solve_lp_mkl(of, y, 10.0, rtol=rtol) for of in (bank, stored)]
    for ours, theirs in (results[:2], results[2:]):
        assert ours.status is theirs.status is Status.CONVERGED
        # Both bound the optimum of the exact kernels, the single precision of one of them being counted.
        slack = 1.0 + 1e-12
        assert max(ours.lower_bound, theirs.lower_bound) <= min(ours.upper_bound, theirs.upper_bound) * slack


def test_more_points_than_pairs() -> None:
    X = points(90)
    sampled, exact = uci_bank_on_the_fly(X, n_pairs=2000, seed=1), uci_bank_on_the_fly(X)
    for few, every in zip(sampled.banks[0].widths, exact.banks[0].widths, strict=True):
        np.testing.assert_allclose(few, every, rtol=0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: PolynomialBank(X, [[0]], [[0]]), "`degrees` must be whole numbers from 1 to 64 in each entry, got"),
        (lambda X: PolynomialBank(X, [[0]], [[1.5]]), "`degrees` must be whole numbers"),
        (lambda X: PolynomialBank(X, [[0]], [[65]]), "`degrees` must be whole numbers"),
        (lambda X: PolynomialBank(X, [[0]], [[]]), "`degrees` must be whole numbers"),
        (lambda X: PolynomialBank(X, [[0]], [[1], [2]]), "`features` and `degrees` must have one entry per family"),
        (lambda X: PolynomialBank(X, [[0]], "a"), "`degrees` must be a sequence, one entry per family"),
        (lambda X: PolynomialBank(1e30 * X, [[0], [1]], [[1], [1, 64]]), "kernel 2 has entries beyond"),
        (lambda X: JoinedBank([]), "`banks` must be a sequence of banks, at least one"),
        (lambda X: JoinedBank([GramBank([np.eye(3)]), GramBank([np.eye(4)])]), r"same points, got \[3, 4\] points"),
        (lambda X: JoinedBank([GramBank([np.eye(3)])]).cross([np.ones((1, 3))], [0.0]), "`weights` must not be all"),
        (lambda X: uci_bank_on_the_fly(np.ones((4, 2))), "`X` must have a column that is not constant"),
        (lambda X: uci_bank_on_the_fly(X, n_pairs=0), "`n_pairs` must be a whole number of at least 1"),
        (lambda X: uci_bank_on_the_fly(X, dtype=int), "`dtype` must be float64 or float32"),
    ],
)
def test_bad_arguments(call, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        call(points())


def test_joined_banks_are_asked_for_what_is_used_alone() -> None:
    class Silent(GramBank):
        def combine(self, weights, out=None):
            raise AssertionError("asked for a sum of weights that are all zero")

    banks = [Silent([np.eye(4)]), RBFBank(np.eye(4), [[0]], [[1.0]])]
    bank = JoinedBank(banks)
    np.testing.assert_array_equal(bank.combine([0.0, 2.0]), banks[1].combine([2.0]))
    assert not bank.subset([1]).combine([0.0]).any()
    assert repr(bank) == "JoinedBank(n_kernels=2, n_points=4, 2 banks)"
    new = np.zeros((3, 4))
    assert JoinedBank(banks[1:], prepare=lambda x: x + 1.0).cross(new, [1.0]) == pytest.approx(
        banks[1].cross(new + 1.0, [1.0])
    )
