"""The kernels of a bank on some of its points are those kernels, cut down: whatever is asked of them."""

import numpy as np
import pytest

from oracle_opt import InvalidArgument, minimize
from oracle_opt.oracles import GaussianKernels, GramBank, KernelList, MKLOracle, PolynomialKernels

RNG = np.random.default_rng(4)
X, NEW = RNG.normal(size=(25, 3)), RNG.normal(size=(4, 3))
SOME = np.array([20, 3, 7, 11, 0, 24, 15, 9])


@pytest.fixture(scope="module", params=[False, True], ids=["kept", "on the fly"])
def banks(request):
    """All points, some of them, and the same entries in a bank of their own."""
    recipe = KernelList([GaussianKernels([0.5, 2.0]), PolynomialKernels((1, 2))], on_the_fly=request.param)
    whole = recipe.fit(X)
    copy = GramBank([whole.combine(unit)[np.ix_(SOME, SOME)] for unit in np.eye(4)])
    return whole, whole.on(SOME), copy


def test_all_operations_are_those_of_a_bank_of_these_entries(banks) -> None:
    whole, some, copy = banks
    d, v, rows = RNG.random(4), RNG.normal(size=8), np.array([5, 0, 2])
    assert np.allclose(some.combine(d), copy.combine(d), atol=1e-12)
    assert np.array_equal(some.combine(d), some.combine(d).T)
    assert np.allclose(some.quadratic_forms(v), copy.quadratic_forms(v), atol=1e-11)
    assert np.allclose(some.row_products(rows, v), copy.row_products(rows, v), atol=1e-11)
    assert np.allclose(some.entries(rows, [1, 7]), copy.entries(rows, [1, 7]), atol=1e-12)
    assert np.allclose(some.block(d, rows, [1, 7]), copy.block(d, rows, [1, 7]), atol=1e-12)
    assert np.allclose(some.diagonal(), copy.diagonal(), atol=1e-12)
    assert np.allclose(some.sizes, copy.sizes, atol=1e-11)
    assert np.allclose(some.cross(NEW, d), whole.cross(NEW, d)[:, SOME], atol=1e-12)
    assert np.allclose(some.subset([2, 0]).combine([1.0, 3.0]), copy.combine([3.0, 0.0, 1.0, 0.0]), atol=1e-12)
    assert np.allclose(some.kept([3, 1], rows).cross(NEW, [1.0, 2.0]), whole.cross(NEW, [0, 2, 0, 1])[:, SOME[rows]])
    assert (some.names, some.groups) == (whole.names, whole.groups)
    assert (some.n_kernels, some.n_points) == (4, 8)


def test_errors_stated_cover_those_that_are_made(banks) -> None:
    whole, some, copy = banks
    v = RNG.normal(size=8)
    of_largest, of_trace = some.form_error(v, v)
    wrong = np.abs(some.quadratic_forms(v) - copy.quadratic_forms(v))
    largest, trace = some.sizes
    assert (wrong <= 2.0 * np.minimum(of_largest * largest, of_trace * trace)).all()
    assert some.noise(3) == whole.noise(3)
    assert some.digest() not in (whole.digest(), whole.on(SOME[::-1]).digest())


def test_a_run_on_some_points_is_the_run_on_a_bank_of_them(banks) -> None:
    _, some, copy = banks
    y = np.tile([1.0, -1.0], 4)
    runs = [minimize(MKLOracle(bank, y, C=1.0), rtol=1e-7) for bank in (some, copy)]
    assert runs[0].upper_bound == pytest.approx(runs[1].upper_bound, rel=1e-6)
    assert runs[0].lower_bound <= runs[1].upper_bound


def test_points_that_are_none_are_refused(banks) -> None:
    for wrong in ([], [1, 1], [25], [-1]):
        with pytest.raises(InvalidArgument, match="`points`"):
            banks[0].on(wrong)
