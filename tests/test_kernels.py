"""Kernel banks against plain NumPy."""

import pickle

import numpy as np
import pytest

from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles import GramBank, simplemkl_bank, uci_bank
from oracle_opt.oracles.kernels import KernelBank, KernelKind, KernelSpec
from oracle_opt.oracles.kernels import gram_bank as bank_module
from oracle_opt.oracles.kernels._packed import asymmetry


def stack(p=7, n=33, rank=5, seed=0):
    factors = np.random.default_rng(seed).normal(size=(p, n, rank))
    return factors @ factors.transpose(0, 2, 1)


def points(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.01, 1.0] + [0.0, 5.0, 1.0, 0.0]
    X[:, 2] = np.round(X[:, 2], 2)  # many equal values
    return np.c_[X, np.full(n, 0.1)]  # a constant column whose mean is not exact


def sparse(size, count, seed=1):
    rng = np.random.default_rng(seed)
    v = np.zeros(size)
    v[rng.permutation(size)[:count]] = rng.normal(size=count)
    return v


TOLERANCE = {np.float64: 1e-13, np.float32: 1e-6}


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 70])
@pytest.mark.parametrize("p", [1, 3, 4, 9])
def test_combine_is_the_weighted_sum(p, n, dtype):
    kernels = stack(p, n)
    bank = GramBank(kernels, dtype=dtype)
    for count in range(p + 1):
        weights = sparse(p, count)
        K = bank.combine(weights)
        assert K.dtype == np.float64
        np.testing.assert_allclose(K, np.tensordot(weights, kernels, 1), rtol=0, atol=TOLERANCE[dtype] * 200)
        np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("n", [1, 2, 17, 70])
@pytest.mark.parametrize("copies", [1, 2])
def test_quadratic_forms_in_both_layouts(n, copies, dtype):
    kernels = stack(9, n)
    one_copy = 9 * n * (n + 1) // 2 * np.dtype(dtype).itemsize
    bank = GramBank(kernels, dtype=dtype, memory_limit=copies * one_copy)
    assert bank.nbytes == one_copy
    for count in {0, 1, n // 2, n}:
        v = sparse(n, count)
        expected = np.array([v @ K @ v for K in kernels])
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(bank.quadratic_forms(v), expected, rtol=0, atol=TOLERANCE[dtype] * 50 * scale)
    bank.quadratic_forms(np.ones(n))
    assert bank.nbytes == copies * one_copy


@pytest.mark.parametrize("n", [1, 2, 17, 70])
@pytest.mark.parametrize("copies", [1, 2])
def test_row_products_in_both_layouts(n, copies, dtype):
    kernels = stack(9, n)
    bank = GramBank(kernels, dtype=dtype, memory_limit=copies * 9 * n * (n + 1) // 2 * np.dtype(dtype).itemsize)
    for count in {0, 1, n // 2, n}:
        v = sparse(n, count)
        rows = np.random.default_rng(count).permutation(n)[: n // 2 + 1]
        expected = (kernels @ v)[:, rows].T
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(bank.row_products(rows, v), expected, rtol=0, atol=TOLERANCE[dtype] * 50 * scale)
    assert bank.row_products([], v).shape == (0, 9)
    np.testing.assert_allclose(v @ bank.row_products(np.arange(n), v), bank.quadratic_forms(v), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", [[-1], [33], [[0, 1]]])
def test_row_products_refuse_rows_that_are_none(rows):
    with pytest.raises(InvalidArgument, match="`rows` must be indices from 0 to 32"):
        GramBank(stack()).row_products(rows, np.ones(33))


@pytest.mark.parametrize(
    ("memory", "copies"), [(None, 2), (2 * 8 * 7 * 561, 2), (2 * 8 * 7 * 561 - 1, 1), (8 * 7 * 561, 1)]
)
def test_second_layout_is_made_where_the_machine_has_room(monkeypatch, memory, copies):
    monkeypatch.setattr("oracle_opt.oracles.kernels.gram_bank.most_of_memory", lambda: memory)
    bank = GramBank(stack())
    bank.quadratic_forms(np.ones(33))
    assert bank.nbytes == copies * 8 * 7 * 561


def test_forms_do_not_depend_on_what_was_asked_before():
    kernels, rng = stack(), np.random.default_rng(4)
    old, vectors = GramBank(kernels), [sparse(33, count, seed) for seed, count in enumerate((5, 20, 33, 9))]
    for v in vectors:
        old.quadratic_forms(v)
    for v in vectors:
        new, rows = GramBank(kernels), rng.permutation(33)[:7]
        np.testing.assert_array_equal(old.quadratic_forms(v), new.quadratic_forms(v))
        np.testing.assert_array_equal(old.row_products(rows, v), GramBank(kernels).row_products(rows, v))
        assert new.nbytes < 2 * 8 * 7 * 561 or np.count_nonzero(v) == 33


def test_a_copy_of_a_bank_and_of_a_subset():
    bank = uci_bank(points())
    few, v = bank.subset([40, 3, 17]), sparse(40, 20)
    forms = bank.quadratic_forms(v)
    for one, expected in ((bank, forms), (few, forms[[40, 3, 17]])):
        again = pickle.loads(pickle.dumps(one))
        assert (again.digest(), again.nbytes) == (one.digest(), 8 * one.n_kernels * 820)
        np.testing.assert_array_equal(again.quadratic_forms(v), one.quadratic_forms(v))
        np.testing.assert_allclose(again.quadratic_forms(v), expected, rtol=1e-13)
        weights = np.ones(one.n_kernels)
        np.testing.assert_array_equal(again.cross(points(), weights), one.cross(points(), weights))
        np.testing.assert_array_equal(again.scales, one.scales)
    every = np.zeros(65)
    every[[40, 3, 17]] = 1.0
    np.testing.assert_allclose(few.cross(points(), np.ones(3)), bank.cross(points(), every), rtol=1e-13)


def test_a_subset_is_the_bank_of_its_kernels():
    kernels = stack()
    few = GramBank(kernels).subset([4, 0, 6, 1]).subset([2, 0])
    assert few.digest() == GramBank(kernels[[6, 4]]).digest()
    assert GramBank(kernels).subset(np.arange(7)).digest() == GramBank(kernels).digest()
    limited = GramBank(kernels, memory_limit=8 * 7 * 561).subset([6, 4])
    v, rows = sparse(33, 20), [3, 1]
    np.testing.assert_allclose(limited.quadratic_forms(v), few.quadratic_forms(v), rtol=1e-12)
    np.testing.assert_allclose(limited.row_products(rows, v), few.row_products(rows, v), rtol=1e-12, atol=1e-13)
    cross = np.random.default_rng(2).normal(size=(7, 5, 33))
    np.testing.assert_allclose(few.cross(cross, [1.0, 2.0]), cross[6] + 2 * cross[4])


def test_more_columns_than_a_cache_block():
    kernels = np.random.default_rng(0).uniform(1, 2, size=(5000, 1, 1)) * np.eye(2)
    bank = GramBank(kernels)
    v = np.array([1.0, -2.0])
    np.testing.assert_allclose(bank.quadratic_forms(v), 5.0 * kernels[:, 0, 0], rtol=1e-14)


def test_float32_store_is_exactly_a_bank_of_rounded_kernels():
    kernels = stack().astype(np.float32)
    single, double = GramBank(kernels), GramBank(kernels, dtype=np.float32)
    weights, v = sparse(7, 7), sparse(33, 20)
    np.testing.assert_allclose(double.combine(weights), single.combine(weights), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(double.quadratic_forms(v), single.quadratic_forms(v), rtol=1e-13)


def test_combine_writes_where_told():
    bank = GramBank(stack())
    out = np.empty((33, 33))
    assert bank.combine(np.ones(7), out=out) is out
    np.testing.assert_array_equal(out, bank.combine(np.ones(7)))


def test_normalized_kernels_have_unit_trace_and_cross_kernels_follow():
    kernels, cross = stack(), np.random.default_rng(2).normal(size=(7, 5, 33))
    bank = GramBank(kernels, normalize=True)
    traces = np.trace(kernels, axis1=1, axis2=2)
    np.testing.assert_allclose(bank.scales, 1 / traces)
    for k in range(7):
        assert np.trace(bank.combine(np.eye(7)[k])) == pytest.approx(1.0)
    weights = sparse(7, 4)
    np.testing.assert_allclose(bank.cross(cross, weights), np.tensordot(weights / traces, cross, 1), atol=1e-14)


def test_cross_kernels_of_weight_zero_may_be_missing():
    bank = GramBank(stack(2))
    np.testing.assert_array_equal(bank.cross([None, np.ones((3, 33))], [0.0, 2.0]), np.full((3, 33), 2.0))
    for new, words in [
        ([np.ones((3, 33))], "`new` must hold 2"),
        ([None, np.ones((3, 4))], "kernel 1 of `new` must have shape"),
        ([None, None], "kernel 1 of `new` must be given, as its weight is 2"),
        ([None, "text"], "`new\\[1\\]` must be a matrix"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            bank.cross(new, [0.0, 2.0])
    with pytest.raises(InvalidArgument, match="not be all zero"):
        bank.cross([None, None], [0.0, 0.0])


def test_digest_tells_contents_apart():
    kernels = stack()
    digest = GramBank(kernels).digest()
    assert digest == GramBank(list(kernels)).digest()
    assert len(digest) == 16
    kernels[3, 2, 1] = kernels[3, 1, 2] = np.nextafter(kernels[3, 2, 1], 10)
    assert digest != GramBank(kernels).digest()
    assert digest != GramBank(kernels, dtype=np.float32).digest()


def with_kernel(index, kernel):
    kernels = [np.eye(3), 2 * np.eye(3), np.ones((3, 3))]
    kernels[index] = np.array(kernel, dtype=float)
    return kernels


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (with_kernel(1, np.eye(4)), r"kernel 1 of `kernels` must have shape \(3, 3\) like kernel 0"),
        (with_kernel(2, np.ones((3, 2))), r"kernel 2 of `kernels` must have shape \(n, n\)"),
        (with_kernel(0, np.diag([1, np.nan, 1])), "kernel 0 of `kernels` must be finite"),
        (with_kernel(1, np.triu(np.ones((3, 3)))), "kernel 1 of `kernels` must be symmetric"),
        (with_kernel(2, np.diag([1, 1, -0.1])), "kernel 2 .* positive semidefinite, got the eigenvalue -0.1 at trace"),
        (with_kernel(2, np.zeros((3, 3))), "kernel 2 of `kernels` must have a positive trace, got 0.0"),
        (np.eye(3), r"`kernels` must have shape \(p, n, n\)"),
        ([], r"`kernels` must have shape \(p, n, n\)"),
    ],
)
def test_bad_kernels_are_refused_by_index(kernels, words):
    with pytest.raises(InvalidArgument, match=words):
        GramBank(kernels)


def test_rounding_is_no_reason_to_refuse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    noise = rng.normal(size=(50, 50)) * 1e-12
    GramBank([X @ X.T + noise + noise.T])
    GramBank([(X @ X.T).astype(np.float32)])
    GramBank([np.diag([1.0, -1.0])], check=False)


@pytest.mark.parametrize("position", [(0, 0), (20, 3), (3, 20), (36, 36)])
def test_asymmetry_sees_every_entry(position):
    K = np.ones((37, 37))
    assert asymmetry(K) == (1.0, 0.0, 0, 0)
    K[position] = 1.5
    largest, difference, row, column = asymmetry(K)
    assert difference == (0.0 if position[0] == position[1] else 0.5)
    assert position in ((row, column), (column, row)) or position[0] == position[1]
    assert largest == 1.5 or position[0] < position[1]
    K[position] = np.inf
    assert np.isnan(asymmetry(K)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda bank: bank.combine(np.ones(6)), r"`weights` must be 7 finite numbers, got shape \(6,\)"),
        (lambda bank: bank.combine(np.full(7, np.nan)), "`weights` must be 7 finite"),
        (lambda bank: bank.combine(np.ones(7), out=np.empty((32, 33))), r"`out` must be .* of shape \(33, 33\)"),
        (lambda bank: bank.combine(np.ones(7), out=np.empty((33, 33), np.float32)), "`out` must be .* got float32"),
        (lambda bank: bank.combine(np.ones(7), out=np.empty((33, 33), order="F")), "`out` must be C-contiguous"),
        (lambda bank: bank.quadratic_forms(np.ones(7)), "`v` must be 33 finite"),
        (lambda bank: GramBank(stack(), dtype=int), "`dtype` must be float32 or float64"),
        (lambda bank: GramBank(stack(), memory_limit=7 * 561 * 8 - 1), "`memory_limit` must be at least 31416 bytes"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call(GramBank(stack()))


def recipe(X, widths=None):
    """The 13 (d + 1) kernels as the papers write them: the stack, unit trace."""
    X = X[:, np.ptp(X, axis=0) > 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    kernels = []
    for features in [slice(None)] + [[f] for f in range(Z.shape[1])]:
        A = Z[:, features]
        D = np.sqrt(((A[:, None] - A[None]) ** 2).sum(axis=2))
        upper = D[np.triu_indices(len(A), 1)]
        for s in np.geomspace(*np.quantile(upper[upper > 0], [0.1, 0.9]), 10) if widths is None else widths:
            kernels.append(np.exp(-(D**2) / (2 * s**2)))
        kernels += [(1 + A @ A.T) ** k for k in (1, 2, 3)]
    return np.array([K / np.trace(K) for K in kernels])


def test_uci_bank_is_the_recipe(dtype):
    X = points()
    bank, kernels = uci_bank(X, dtype=dtype), recipe(X)
    assert bank.n_kernels == len(kernels) == 13 * (4 + 1)
    for k in range(bank.n_kernels):
        np.testing.assert_allclose(bank.combine(np.eye(65)[k]), kernels[k], rtol=0, atol=TOLERANCE[dtype])


def test_simplemkl_bank_is_that_of_fixed_widths(dtype):
    X, widths = points(), (0.5, 1, 2, 5, 7, 10, 12, 15, 17, 20)
    bank, kernels = simplemkl_bank(X, dtype=dtype), recipe(X, widths)
    for k in range(bank.n_kernels):
        np.testing.assert_allclose(bank.combine(np.eye(65)[k]), kernels[k], rtol=0, atol=TOLERANCE[dtype])
    new, weights = points(7, seed=3) * 2, sparse(65, 20)
    np.testing.assert_allclose(bank.cross(X, weights), bank.combine(weights), atol=1e-6)
    kept = np.flatnonzero(np.ptp(X, axis=0) > 0)
    first = 13 + 4  # width 7 on the first feature alone
    A, B = ((Z[:, kept[0]] - X[:, kept[0]].mean()) / X[:, kept[0]].std() for Z in (new, X))
    known = np.exp(-((A[:, None] - B) ** 2) / 98) / len(X)
    np.testing.assert_allclose(bank.cross(new, np.eye(65)[first]), known, rtol=1e-6)


def test_uci_bank_on_its_own_points_and_on_others():
    X = points()
    bank = uci_bank(X)
    weights = sparse(65, 20)
    np.testing.assert_allclose(bank.cross(X, weights), bank.combine(weights), atol=1e-13)
    new = points(7, seed=3) * 2
    np.testing.assert_allclose(bank.cross(new, weights)[2:3], bank.cross(new[2:3], weights), atol=1e-15)
    # the standardization is that of the bank's points: a new point alone would be all zeros
    assert not np.allclose(bank.cross(new[:1], weights), bank.cross(new[1:2], weights))


@pytest.mark.parametrize("make", [uci_bank, simplemkl_bank])
def test_kernels_beyond_the_memory_are_refused_before_anything_is_built(make, monkeypatch):
    monkeypatch.setattr(bank_module, "most_of_memory", lambda: 10**9)
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    words = (
        r"at least 390007800000 bytes for 39 kernels on 50000 points in float64, got None, which is 70 % .*on_the_fly"
    )
    with pytest.raises(InvalidArgument, match=words):
        make(X)
    with pytest.raises(InvalidArgument, match="float32"):
        make(X, dtype=np.float32)


def test_uci_bank_within_a_memory_limit():
    X = points()
    both, v = uci_bank(X), sparse(40, 20)
    one = uci_bank(X, memory_limit=both.nbytes)
    np.testing.assert_allclose(one.quadratic_forms(v), both.quadratic_forms(v), rtol=1e-12)
    assert one.nbytes < both.nbytes
    with pytest.raises(InvalidArgument, match="`memory_limit` must be at least"):
        uci_bank(X, memory_limit=1000)


@pytest.mark.parametrize("X", [np.ones((4, 2)), [[1.0, 2.0]], [1.0, 2.0], [[1.0], [np.nan]], np.empty((0, 2))])
def test_uci_bank_refuses_points_that_make_no_kernel(X):
    with pytest.raises(InvalidArgument, match="`X` must"):
        uci_bank(X)


@pytest.mark.parametrize("new", [np.ones((2, 4)), np.ones(5), np.full((1, 5), np.inf)])
def test_uci_bank_refuses_bad_new_points(new):
    with pytest.raises(InvalidArgument, match=r"`new` must be finite points(, got inf in row 0, column 0| of shape)"):
        uci_bank(points()).cross(new, np.ones(65))


def test_kernel_spec():
    A, B = np.array([[0.0, 9.0, 1.0]]), np.array([[1.0, 9.0, 3.0], [0.0, 0.0, 1.0]])
    rbf, polynomial = KernelSpec((0, 2), KernelKind.RBF, 2.0), KernelSpec((2,), KernelKind.POLYNOMIAL, 3)
    np.testing.assert_allclose(rbf.evaluate(A, B), [[np.exp(-5 / 8), 1.0]])
    np.testing.assert_allclose(polynomial.evaluate(A, B), [[64.0, 8.0]])


def test_kernels_without_labels_are_told_by_their_numbers():
    bank = GramBank([np.eye(3), np.ones((3, 3))])
    for label in (bank.label, lambda k: KernelBank.label(bank, k)):  # and as a bank of a user's own tells them
        assert [label(k) for k in range(2)] == [("kernel 0", ""), ("kernel 1", "")]
