"""Statistics of weighted points, constant columns, recipes of a user: what a list of kernels makes of its points."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from oracle_opt import InvalidArgument
from oracle_opt.oracles import GaussianKernels, PolynomialKernels
from oracle_opt.oracles.kernels import ConstantKernels, FittedKernels, KernelList, KernelRecipe, MetricKernel
from oracle_opt.oracles.kernels.points import positive_distances, weighted_moments, weighted_quantiles
from oracle_opt.oracles.kernels.recipes import recipe_banks


def drawn(seed, n=12, d=3):
    return np.random.default_rng(seed).random((n, d))


X, NEW = drawn(0), drawn(1, 5)


def test_quantiles_of_weighted_values_are_those_of_repeated_ones():
    rng = np.random.default_rng(5)
    for _ in range(50):
        values, weights = rng.integers(0, 9, 7) + 0.0, rng.integers(0, 4, 7)
        weights[0] = 1
        levels = rng.integers(0, 21, 5) / 20
        truth = np.quantile(np.repeat(values, weights), levels, method="inverted_cdf")
        assert np.array_equal(weighted_quantiles(values, weights, levels), truth)
        assert np.array_equal(weighted_quantiles(values, 0.1 * weights, levels), truth)
        truth = np.quantile(values, levels, method="inverted_cdf")
        assert np.array_equal(weighted_quantiles(values, np.full(7, 0.3), levels), truth)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_moments_and_distances_of_weighted_points_are_those_of_repeated_ones(make):
    rng = np.random.default_rng(6)
    Z, weights = np.where(rng.random((15, 3)) < 0.5, 0.0, rng.normal(size=(15, 3))), rng.integers(1, 4, 15)
    many = np.repeat(Z, weights, axis=0)
    center, spread = weighted_moments(make(Z), weights + 0.0)
    assert np.allclose(center, many.mean(axis=0))
    assert np.allclose(spread, many.std(axis=0))
    distances, of_pairs = positive_distances(make(Z), weights + 0.0, 10_000, rng)
    assert np.allclose(
        weighted_quantiles(distances, of_pairs, [0.1, 0.5, 0.9]),
        np.quantile(pdist(many)[pdist(many) > 0], [0.1, 0.5, 0.9], method="inverted_cdf"),
    )
    some, drawn_weights = positive_distances(make(Z), weights + 0.0, 50, np.random.default_rng(0))
    again, _ = positive_distances(make(many), np.ones(len(many)), 50, np.random.default_rng(0))
    assert np.array_equal(some, again)
    assert (drawn_weights == 1.0).all()


def test_pairs_are_drawn_in_proportion_to_their_weights():
    """Of 40 points on a line two are heavy: most of the pairs that are drawn are theirs."""
    Z, weights = np.arange(40.0)[:, None], np.ones(40)
    weights[[3, 20]] = 1000.0
    distances, of_pairs = positive_distances(Z, weights, 500, np.random.default_rng(0))
    assert (of_pairs == 1.0).all()
    assert np.mean(distances == 17.0) > 0.9
    even, _ = positive_distances(Z, np.ones(40), 500, np.random.default_rng(0))
    assert np.mean(even == 17.0) < 0.1


def test_a_function_that_is_almost_one_of_two_points():
    def scaled(size):
        return lambda A, B: (A @ B.T) * (1.0 + size * (len(A) - len(B)) / 12)

    assert KernelList([scaled(1e-9)]).fit(X).n_kernels == 1
    with pytest.raises(InvalidArgument, match="must be a function of two points"):
        KernelList([scaled(1e-4)]).fit(X)


def test_the_default_is_weighted_whatever_the_order():
    Z, rng = drawn(7, 30), np.random.default_rng(8)
    weights = rng.integers(1, 4, 30)
    order = rng.permutation(weights.sum())
    many = np.repeat(Z, weights, axis=0)[order]
    one, repeated = KernelList.default(n_pairs=200).fit(Z, weights), KernelList.default(n_pairs=200).fit(many)
    assert one.names == repeated.names
    d = rng.random(one.n_kernels)
    assert np.allclose(one.cross(NEW, d), repeated.cross(NEW, d)[:, np.argsort(order)][:, np.cumsum(weights) - 1])
    for k in (0, 12, 40):
        diagonal = np.diagonal(one.combine(np.eye(one.n_kernels)[k]))
        assert np.average(diagonal, weights=weights) == pytest.approx(1.0, abs=1e-12)


def test_weights_that_do_not_serve():
    for weights, words in (
        (np.ones(3), "must have shape (12,)"),
        ([0.0] + [1.0] * 11, "got 0 for row 0; drop rows of weight 0"),
        ([-1.0] + [1.0] * 11, "got -1 for row 0"),
        ([np.nan] + [1.0] * 11, "got nan for row 0"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(words)):
            KernelList(["linear"]).fit(X, weights)


def test_constant_columns_are_left_out_by_name():
    Z = np.column_stack([X, np.full(12, 3.0)])
    frame = pd.DataFrame(Z, columns=["a", "b", "c", "same"])
    for given in (frame, Z, sparse.csr_array(Z)):
        name = "same" if given is frame else "x3"
        with pytest.warns(ConstantKernels, match=f"constant are '{name}': all training points are the same there"):
            bank = KernelList([GaussianKernels([1.0]), PolynomialKernels([2], each=True)]).fit(given)
        assert bank.n_kernels == 4
        assert name not in bank.groups
    with pytest.warns(ConstantKernels, match=r"constant are 'still', 'x3'"):
        bank = KernelList([("still", ["linear", gp.RBF()], [3, 4]), GaussianKernels([1.0], each=True)]).fit(
            np.column_stack([Z[:, :3], Z[:, 3], Z[:, 3]])[:, :5]
        )
    with pytest.warns(ConstantKernels, match=r"constant are the kernels 'cosine of x0'"):
        bank = KernelList([MetricKernel("cosine", each=True), "linear"]).fit(X[:, [0]])
    assert bank.names == ("linear of all columns",)
    with pytest.raises(InvalidArgument, match=r"is not constant, got 4 samples, all the same on the columns of"):
        KernelList.default().fit(np.ones((4, 2)))
    with pytest.raises(InvalidArgument, match=r"column that is not constant, got 1 sample on the columns of"):
        KernelList.default().fit(np.ones((1, 2)))
    with pytest.raises(InvalidArgument, match=r"kernels are constant on the training points: cosine of all columns"):
        KernelList(["cosine"]).fit(X[:, [0]])


def test_a_standardized_constant_column_moves_no_new_point():
    Z = np.column_stack([X, np.full(12, 3.0)])
    bank = KernelList([GaussianKernels()], standardize=True).fit(Z)
    far = np.column_stack([NEW, np.linspace(0, 1e6, 5)])
    near = np.column_stack([NEW, np.full(5, 3.0)])
    assert np.array_equal(bank.cross(far, np.ones(10)), bank.cross(near, np.ones(10)))
    center, spread = X.mean(axis=0), X.std(axis=0)
    truth = pairwise.rbf_kernel((NEW - center) / spread, (X - center) / spread, gamma=0.5)
    at_one = KernelList([GaussianKernels([1.0])], standardize=True).fit(Z)
    assert np.allclose(at_one.cross(far, [1.0]), truth, atol=1e-13)


def test_widths_that_rounding_swamps_are_checked(monkeypatch):
    """Distances of sparse points far away are differences of large norms: narrow kernels on them may be none."""
    checked = []
    truth = recipe_banks.checked_matrix
    monkeypatch.setattr(recipe_banks, "checked_matrix", lambda *a: checked.append(a[-1]) or truth(*a))
    far = sparse.csr_array(1e4 + drawn(0, d=6))
    KernelList([GaussianKernels([20.0]), GaussianKernels([2e-4], each=True), GaussianKernels([2e-4])]).fit(far)
    assert checked == ["gaussian(width=0.0002) of all columns"]
    assert KernelList([GaussianKernels([2e-4])], on_the_fly=True).fit(far).exactness > 1e-3


def test_distances_too_small_to_square_are_named():
    with pytest.raises(InvalidArgument, match=r"no two training points differ by more than 1e-150"):
        KernelList([GaussianKernels()]).fit(1e-200 * X)
    assert KernelList([GaussianKernels()], standardize=True).fit(1e-100 * X).n_kernels == 10


def test_entries_beyond_floating_point_numbers_are_named():
    with pytest.raises(InvalidArgument, match=r"'polynomial\(degree=3\) of all columns' must be finite"):
        KernelList([PolynomialKernels([3])]).fit(1e150 * X)


class Cauchy(KernelRecipe):
    """A user's own."""

    def __init__(self, labels=("one",)):
        self.labels = labels

    def count(self):
        return 1

    def fit(self, Z, weights, rng):
        return FittedCauchy(self.labels) if self.labels else None


class FittedCauchy(FittedKernels):
    def __init__(self, labels):
        self.labels = labels

    def matrices(self, A, B, which):
        for _ in which:
            yield 1 / (1 + cdist(A, B, "sqeuclidean"))


def test_recipes_of_a_users_own():
    bank = KernelList([Cauchy()]).fit(X)
    assert bank.names == ("one of all columns",)
    assert np.allclose(bank.combine([1.0]), 1 / (1 + cdist(X, X) ** 2))
    for labels in ((), ("a", "b"), (1,), "a", None):
        with pytest.raises(InvalidArgument, match=r"fit must return"):
            KernelList([Cauchy(labels)]).fit(X)
    for wrong in (X, None, "text", np.eye(12) * 1j):
        words = r"the kernel 'one of all columns' must be an array of real numbers of shape \(12, 12\), one for each"
        with pytest.raises(InvalidArgument, match=words):
            KernelList([Given(wrong)]).fit(X)
    assert KernelList([Given(np.eye(12, dtype=np.int8))], normalize=None).fit(X).combine([1.0])[0, 0] == 1.0


class Given(KernelRecipe):
    """Yields what it was given."""

    def __init__(self, matrix):
        self.matrix = matrix

    def count(self):
        return 1

    def fit(self, Z, weights, rng):
        return FittedGiven(self.matrix)


class FittedGiven(FittedKernels):
    labels = ("one",)
    positive_semidefinite = True

    def __init__(self, matrix):
        self.matrix = matrix

    def matrices(self, A, B, which):
        if self.matrix is not None:
            yield self.matrix[: len(A), : len(B)] if isinstance(self.matrix, np.ndarray) else self.matrix


def test_a_column_of_two_values_has_one_width():
    columns = np.column_stack([X[:, 0] > 0.5, X[:, 1]])
    bank = KernelList([GaussianKernels(n_widths=4, each=True)]).fit(columns)
    assert bank.names[0] == "gaussian(width=1) of x0"
    assert bank.groups == ("x0", "x1", "x1", "x1", "x1")


def test_no_warning_where_nothing_is_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelList.default().fit(X)
