"""Recipes of kernels: what they make is what the formulas say, weights count points, and little is kept."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from oracle_opt import InvalidArgument
from oracle_opt.oracles import GaussianKernels, KernelList, PolynomialKernels, uci_bank


def points(seed, n=20, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: pd.DataFrame(X, columns=list("abc"))])
def test_kernels_are_those_of_the_formulas(make):
    X, new = points(0), points(1, 5)
    recipe = KernelList([GaussianKernels([0.5, 2.0]), ("b", PolynomialKernels((2,)), [1])], normalize=None)
    bank = recipe.fit(make(X))
    truth = [rbf_kernel, lambda A, B, **_: polynomial_kernel(A[:, [1]], B[:, [1]], degree=2, gamma=1, coef0=1)]
    for at, (A, K) in enumerate([(X, bank.combine), (new, lambda w: bank.cross(make(new), w))]):
        assert np.allclose(K([1, 0, 0]), truth[0](A, X, gamma=1 / (2 * 0.25)), atol=1e-13), at
        assert np.allclose(K([0, 1, 0]), truth[0](A, X, gamma=1 / 8), atol=1e-13)
        assert np.allclose(K([0, 0, 1]), truth[1](A, X), atol=1e-12)


def test_a_point_of_weight_two_is_two_points():
    X, rng = points(2), np.random.default_rng(3)
    weights = rng.integers(1, 4, size=len(X))
    one, many = (
        KernelList.default().fit(*given) for given in [(X, weights.astype(float)), (np.repeat(X, weights, axis=0),)]
    )
    assert one.names == many.names
    first = np.cumsum([0, *weights[:-1]])
    d = rng.random(one.n_kernels)
    assert np.allclose(one.combine(d), many.combine(d)[np.ix_(first, first)], atol=1e-9)
    new = points(4)
    assert np.allclose(one.cross(new, d), many.cross(new, d)[:, first], atol=1e-9)
    assert np.average(np.diagonal(one.combine(np.eye(52)[5])), weights=weights) == pytest.approx(1.0)


@pytest.mark.parametrize("make", [uci_bank, KernelList.default().fit])
def test_little_is_kept(make):
    X, new = points(5, 200, 6), points(6, 7, 6)
    bank = make(X)
    kernels, some = np.array([60, 3, 17]), np.array([5, 190, 33])
    kept = pickle.loads(pickle.dumps(bank.kept(kernels, some)))
    d = np.zeros(bank.n_kernels)
    d[kernels] = [1.0, 2.0, 0.5]
    assert np.allclose(kept.cross(new, d[kernels]), bank.cross(new, d)[:, some], atol=1e-14)
    assert len(pickle.dumps(kept)) < 10_000
    assert len(set(bank.names)) == bank.n_kernels == len(bank.groups)
    assert bank.groups[0] == "all columns"
    assert bank.subset(kernels).names == tuple(bank.names[k] for k in kernels)


def test_too_many_bytes_are_refused_before_they_are_taken():
    with pytest.raises(InvalidArgument, match=r"2080020800000 bytes for 52 kernels on 100000 points in float64.*fly"):
        KernelList.default(on_the_fly=False).fit(points(7, 100_000))
