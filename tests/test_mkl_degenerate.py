"""l1-MKL where something is as small, as large, or as much the same as it can be; scikit-learn's SVC is the truth."""

import numpy as np
import pytest
from sklearn.svm import SVC

from oracle_opt import Curvature, Query, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MKLOracle


def kernel(n, width=1.0, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def labels(n):
    return np.where(np.arange(n) % 2, 1.0, -1.0)


def objective(K, y, C):
    """Optimum of the C-SVC dual."""
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    b = np.zeros(len(y))
    b[svc.support_] = svc.dual_coef_[0]
    return np.abs(b).sum() - 0.5 * b @ K @ b


def assert_answers(kernels, y, C, point, dtype=np.float64, memory_limit=None):
    """Query one point, compare with SVC and with plain sums, and return the cut."""
    bank = GramBank(kernels, dtype=dtype, memory_limit=memory_limit)
    cut = MKLOracle(bank, y, C).query(Query(np.array(point, dtype=float), wishes=frozenset({Curvature})))
    K = np.tensordot(point, kernels, 1)
    tolerance = 1e-7 if dtype == np.float64 else 1e-4
    assert cut.value == pytest.approx(objective(K, y, C), rel=tolerance)
    b = y * cut.extras["alpha"]
    S = np.array([b @ k @ b for k in kernels])
    np.testing.assert_allclose(cut.extras["quadratic_forms"], S, rtol=0, atol=tolerance * np.abs(b).sum() * S.max())
    return cut


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.mark.to_the_bit
def test_duplicated_kernels_have_equal_slopes(dtype):
    K, other, y = kernel(30), kernel(30, 0.3), labels(30)
    for point in ([0.2, 0.3, 0.5], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]):
        cut = assert_answers([K, K, other], y, 10.0, point, dtype)
        assert cut.subgradient[0] == cut.subgradient[1]
        R = cut.answer(Curvature).factor
        np.testing.assert_array_equal(R[:, 0], R[:, 1])


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_a_kernel_that_is_a_multiple_of_another(factor):
    K, y = kernel(30), labels(30)
    cut = assert_answers([K, factor * K], y, 10.0, [0.5, 0.5])
    assert cut.subgradient[1] == pytest.approx(factor * cut.subgradient[0], rel=1e-12)
    result = minimize(MKLOracle(GramBank([K, factor * K]), y, 10.0), LevelSet(), rtol=1e-6)
    assert result.success
    # A larger kernel serves a lower objective: all the weight goes there.
    assert result.point.argmax() == (1 if factor > 1 else 0)
    assert result.upper_bound == pytest.approx(objective(max(1.0, factor) * K, y, 10.0), rel=1e-5)


@pytest.mark.campaign(2)
@pytest.mark.parametrize(("p", "n"), [(3, 80), (500, 4), (5000, 3), (1, 40), (1, 2), (4, 2)])
@pytest.mark.parametrize("copies", [1, 2])
def test_many_kernels_few_points_and_the_other_way_round(p, n, copies, dtype):
    kernels, y = np.array([kernel(n, 0.2 + k / p, seed=k) for k in range(p)]), labels(n)
    limit = copies * p * n * (n + 1) // 2 * np.dtype(dtype).itemsize
    for point in (np.full(p, 1 / p), np.eye(p)[p // 2]):
        assert_answers(kernels, y, 10.0, point, dtype, memory_limit=limit)


def test_one_kernel_needs_no_search():
    K, y = kernel(40), labels(40)
    result = minimize(MKLOracle(GramBank([K]), y, 10.0), LevelSet(), rtol=1e-6)
    assert result.success
    assert result.n_calls == 1
    assert result.upper_bound == pytest.approx(objective(K, y, 10.0), rel=1e-7)


def test_two_points():
    y, kernels = labels(2), [np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]])]
    # alpha is the same a for both points: 2 a - a**2 / 2 * (K11 + K22 - 2 K12) is largest at a = 2 / that, or at C.
    cut = assert_answers(kernels, y, 10.0, [0.5, 0.5])
    np.testing.assert_allclose(cut.extras["alpha"], 1.0)
    np.testing.assert_allclose(assert_answers(kernels, y, 0.25, [0.5, 0.5]).extras["alpha"], 0.25)


def test_all_points_at_the_upper_bound():
    y, kernels = labels(30), [kernel(30), kernel(30, 0.3)]
    bank = GramBank(kernels)
    oracle = MKLOracle(bank, y, 1e-3)
    for point in ([0.5, 0.5], [1.0, 0.0], [0.3, 0.7]):
        cut = oracle.query(Query(np.array(point), wishes=frozenset({Curvature})))
        np.testing.assert_array_equal(cut.extras["alpha"], 1e-3)
        np.testing.assert_allclose(cut.extras["quadratic_forms"], [1e-6 * y @ K @ y for K in kernels], rtol=1e-12)
        assert cut.answers == ()
    # No dual variable ever changes, so the quadratic forms are never summed again.
    assert cut.extras["n_updates"] == 2
