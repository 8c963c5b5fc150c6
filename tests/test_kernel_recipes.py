"""Kernels of all kinds are what scikit-learn and the formulas say; those that are none are refused by name."""

import copy
import pickle
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
from oracle_opt.oracles import (
    ConstantKernels,
    FittedKernels,
    FunctionKernel,
    GaussianKernels,
    KernelList,
    KernelRecipe,
    MetricKernel,
    PolynomialKernels,
    PrecomputedKernels,
    SklearnKernel,
)
from oracle_opt.oracles.kernels.recipes import recipe_gram
from oracle_opt.oracles.kernels.recipes.weighted import positive_distances, weighted_moments, weighted_quantiles


def drawn(seed, n=12, d=3):
    return np.random.default_rng(seed).random((n, d))


X, NEW = drawn(0), drawn(1, 5)

NAMED = [
    ("linear", {}),
    ("cosine", {}),
    ("polynomial", {}),
    ("poly", {"degree": 2, "gamma": 0.5, "coef0": 2.0}),
    ("rbf", {}),
    ("rbf", {"gamma": 0.7}),
    ("laplacian", {"gamma": 0.5}),
    ("laplacian", {}),
    ("chi2", {}),
    ("chi2", {"gamma": 2.0}),
]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("name", "parameters"), NAMED, ids=str)
def test_names_are_those_of_scikit_learn(name, parameters, make):
    A, B = X, NEW
    if name == "chi2" and make is sparse.csr_array:
        with pytest.raises(InvalidArgument, match=r"the kernel 'chi2' takes no sparse `X`; pass X.toarray\(\)"):
            KernelList([MetricKernel(name, parameters)]).fit(make(A))
        return
    bank = KernelList([MetricKernel(name, parameters)], normalize=None).fit(make(A))
    truth = pairwise.pairwise_kernels(A, metric=name, **parameters)
    assert np.allclose(bank.combine([1.0]), truth, rtol=1e-12, atol=1e-13)
    assert np.allclose(
        bank.cross(make(B), [1.0]), pairwise.pairwise_kernels(B, A, metric=name, **parameters), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize(("name", "parameters"), [("sigmoid", {"gamma": 0.1, "coef0": 0.5}), ("additive_chi2", {})])
def test_names_of_formulas_that_may_be_no_kernels(name, parameters):
    fitted = MetricKernel(name, parameters).fit(X, np.ones(12), np.random.default_rng(0))
    (matrix,) = fitted.matrices(NEW, X, [0])
    assert np.allclose(matrix, pairwise.pairwise_kernels(NEW, X, metric=name, **parameters), rtol=1e-12)
    assert not fitted.positive_semidefinite
    with pytest.raises(InvalidArgument, match=r"must be positive semidefinite, got the eigenvalue -"):
        KernelList([MetricKernel("sigmoid", {"gamma": 3.0, "coef0": -2.0})]).fit(X)


def test_names_and_parameters_that_are_not_there():
    for name, parameters, words in (
        ("laplacien", {}, "did you mean 'laplacian'?"),
        ("RBF", {}, "did you mean 'rbf'?"),
        ("matern", {}, "there are 'linear', 'cosine'"),
        ("precomputed", {}, "take PrecomputedKernels(stack)"),
        ("gaussian", {}, "take GaussianKernels(widths)"),
        ("rbf", {"gama": 1.0}, "have no 'gama'; did you mean 'gamma'?"),
        ("linear", {"gamma": 1.0}, "have no 'gamma'; it has none"),
        ("rbf", {"gamma": -1.0}, "`parameters['gamma']` must be positive"),
        ("polynomial", {"degree": 1.5}, "`parameters['degree']` must be a whole number"),
        ("polynomial", {"coef0": -1.0}, "`parameters['coef0']` must be at least 0"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(words)):
            MetricKernel(name, parameters)
    with pytest.raises(InvalidArgument, match=r"`kernels\[1\]` cannot be used: .*did you mean 'laplacian'\?"):
        KernelList(["linear", "laplacian2"])
    with pytest.raises(InvalidArgument, match=r"'chi2' takes numbers that are not negative.*got -"):
        KernelList(["chi2"]).fit(X - 0.5)
    with pytest.raises(InvalidArgument, match=r"'additive_chi2 of all columns' is zero on all.*take chi2"):
        KernelList(["additive_chi2"]).fit(X)


@pytest.mark.parametrize(
    "kernel",
    [
        gp.RBF(0.5),
        gp.RationalQuadratic(alpha=0.5),
        gp.Matern([0.5, 1.0, 2.0], nu=1.5),
        2.0 * gp.DotProduct() + gp.RBF(1.0) * gp.ConstantKernel(0.3),
        gp.PairwiseKernel(metric="laplacian"),
    ],
    ids=str,
)
def test_kernel_objects_of_scikit_learn(kernel):
    before = kernel.get_params()
    bank = KernelList([kernel], normalize=None).fit(X)
    assert np.allclose(bank.combine([1.0]), kernel(X), rtol=1e-13, atol=1e-14)
    assert np.allclose(bank.cross(NEW, [1.0]), kernel(NEW, X), rtol=1e-13, atol=1e-14)
    assert bank.names == (f"{' '.join(str(kernel).split())} of all columns",)
    assert str(before) == str(kernel.get_params())


def test_kernel_objects_that_do_not_serve():
    for kernel, words in (
        (gp.WhiteKernel(0.1) + gp.RBF(), "adds 0.1 to the diagonal of the training points alone; leave WhiteKernel"),
        (gp.RBF([1.0, 2.0]), "raised ValueError for tables of shapes"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(words)):
            KernelList([kernel]).fit(X)
    with pytest.raises(InvalidArgument, match=r"takes no sparse `X`; pass X.toarray\(\)"):
        KernelList([gp.RBF()]).fit(sparse.csr_array(X))
    with pytest.raises(InvalidArgument, match=r"got the class RBF"):
        KernelList([gp.RBF])
    with pytest.raises(InvalidArgument, match=r"must be an object of sklearn"):
        SklearnKernel("rbf")


def shared(A, B):
    """Histogram intersection."""
    return np.minimum(A[:, None], B[None]).sum(axis=2)


def test_functions_are_kernels():
    bank = KernelList([shared, FunctionKernel(lambda A, B: A @ B.T, each=True)], normalize=None).fit(X)
    assert bank.names == ("shared of all columns", "function of x0", "function of x1", "function of x2")
    assert np.allclose(bank.combine([1, 0, 0, 0]), shared(X, X))
    assert np.allclose(bank.cross(NEW, [1, 0, 0, 2]), shared(NEW, X) + 2 * NEW[:, [2]] @ X[:, [2]].T)
    assert KernelList([lambda A, B: (A @ B.T).toarray()]).fit(sparse.csr_array(X)).n_kernels == 1


class Calls:
    """An object that can be called."""

    def __call__(self, A, B):
        return A @ B.T


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A, B: A @ A.T if len(A) < 12 else A[:, :2], "must return an array of shape (12, 12), one row for each"),
        (
            lambda x, z: float(np.dot(x[0], z[0])),
            "seems to take two single points: let it return the entries of all pairs",
        ),
        (lambda A, B: "text", "must return a matrix of real numbers, got 'text'"),
        (lambda A, B: A @ B.T * 1j, "must return a matrix of real numbers"),
        (lambda A, B: 1 / 0, "raised ZeroDivisionError for tables of shapes (12, 3) and (12, 3): division by zero"),
        (lambda A, B: A @ B.T + np.nan, "the kernel 'function of all columns' must be finite, got nan at (0, 0)"),
        (lambda A, B: A[:, :1] - B[:, 0], "must be symmetric, got "),  # and zero on the diagonal
        (lambda A, B: np.triu(A @ B.T), "must be symmetric, got "),
        (lambda A, B: np.triu(A @ B.T), "let it return (K + K.T) / 2, if that is rounding; else it is no kernel"),
        (lambda A, B: cdist(A, B) + 0.01, "must be positive semidefinite, got the eigenvalue -"),
        (lambda A, B: cdist(A, B) + 0.01, "with others no gap would be proven"),
        (lambda A, B: -A @ B.T, "must have a positive trace, got -"),
        (lambda A, B: cdist(A, B), "is zero on all training points"),
        (lambda A, B: (A - A.mean(0)) @ (B - B.mean(0)).T + 1e-3, "must be a function of two points, got "),
        (lambda A, B: (A - A.mean(0)) @ (B - B.mean(0)).T + 1e-3, "center, scale or count before, in a pipeline"),
    ],
)
def test_functions_that_are_no_kernels(function, words):
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        KernelList([function]).fit(X)


def test_a_small_asymmetry_is_taken_out_and_a_wrong_shape_of_new_points_named():
    noise = np.random.default_rng(0).normal(size=(12, 12)) * 1e-12
    bank = KernelList([lambda A, B: A @ B.T + np.eye(3, 3)[0, 0] * (noise if len(A) == len(B) == 12 else 0.0)]).fit(X)
    K = bank.combine([1.0])
    assert (K == K.T).all()
    short = KernelList([lambda A, B: A @ B.T if len(B) == 12 and len(A) != 5 else (A @ B.T)[:, :2]]).fit(X)
    with pytest.raises(InvalidArgument, match=r"must return an array of shape \(5, 12\).*got shape \(5, 2\)"):
        short.cross(NEW, [1.0])


STACK = np.array([np.outer(v, v) + 0.1 * np.eye(12) for v in np.random.default_rng(4).normal(size=(3, 12))])


def rows(*indices):
    return np.array(indices)[:, None]


def test_precomputed_kernels_are_bound_to_row_indices():
    recipe = KernelList([PrecomputedKernels(STACK, ["a", "b", "c"])], normalize=None)
    train, test = rows(3, 1, 4, 9), rows(2, 6)
    bank = recipe.fit(train)
    assert bank.names == ("a of all columns", "b of all columns", "c of all columns")
    for k, d in enumerate(np.eye(3)):
        assert np.array_equal(bank.combine(d), STACK[k][np.ix_(train[:, 0], train[:, 0])])
        assert np.array_equal(bank.cross(test, d), STACK[k][np.ix_(test[:, 0], train[:, 0])])
    assert copy.deepcopy(recipe).kernels[0].kernels is recipe.kernels[0].kernels is STACK
    kept = bank.kept([2, 0], [1, 3])
    assert np.array_equal(kept.cross(test, [0, 1]), STACK[0][np.ix_([2, 6], [1, 9])])
    assert len(pickle.dumps(kept)) < 8 * 2 * 12 * 2 + 3000
    mixed = KernelList([("given", PrecomputedKernels(STACK), [0]), ("point", "linear", slice(1, None))])
    assert mixed.fit(np.hstack([np.arange(12.0)[:, None], X])).groups == ("given",) * 3 + ("point",)


def test_points_that_are_no_row_indices():
    recipe = KernelList([PrecomputedKernels(STACK)])
    for given, words in (
        (rows(0, 12), "must be whole numbers from 0 to 11, got 12 in row 1"),
        (rows(0, -1), "got -1 in row 1"),
        (rows(0, 0.5), "got 0.5 in row 1"),
        (X, "take one column of row indices, got 3 columns; pass a column of row indices"),
        (STACK, "kernels that were computed before go into KernelList([PrecomputedKernels(stack)])"),
        (sparse.csr_array(rows(0, 1)), "takes no sparse `X`"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(words)):
            recipe.fit(given)
    for wrong in ([np.eye(2), np.eye(3)], np.eye(3), [], [np.zeros((2, 3))]):
        with pytest.raises(InvalidArgument, match=r"`kernels` must be"):
            PrecomputedKernels(wrong)
    with pytest.raises(InvalidArgument, match=r"kernel 1 of all columns' must be symmetric"):
        KernelList([PrecomputedKernels([np.eye(3), np.triu(np.ones((3, 3)))])]).fit(rows(0, 1, 2))
    with pytest.raises(InvalidArgument, match=r"`names` must be 3 different texts"):
        PrecomputedKernels(STACK, ["a", "a", "b"])


def test_groups_names_and_single_columns():
    frame = pd.DataFrame(X, columns=["red", "green", "blue"])
    bank = KernelList(
        [
            "linear",
            ("warm", ["cosine", GaussianKernels([1.0, 1.00001]), gp.RBF(), shared], ["red", "green"]),
            ("cold", PolynomialKernels([1, 3], each=True), ["blue", "green"]),
            ("warm", ["cosine"], ["red", "green"]),
        ]
    ).fit(frame)
    assert bank.names == (
        "linear of all columns",
        "cosine of warm",
        "gaussian(width=1) of warm",
        "gaussian(width=1.00001) of warm",
        "RBF(length_scale=1) of warm",
        "shared of warm",
        "polynomial(degree=1) of blue",
        "polynomial(degree=3) of blue",
        "polynomial(degree=1) of green",
        "polynomial(degree=3) of green",
        "cosine of warm (2)",
    )
    assert bank.groups == ("all columns", *["warm"] * 5, *["blue"] * 2, *["green"] * 2, "warm")
    assert KernelList([GaussianKernels([2.0, 2.0], each=True)]).fit(X).names[:3] == (
        "gaussian(width=2) of x0",
        "gaussian(width=2) (2) of x0",
        "gaussian(width=2) of x1",
    )


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ([], "must be a list of kernels, at least one"),
        ("linear", "put it into a list: ['linear']"),
        (GaussianKernels(), "put it into a list: [GaussianKernels()]"),
        (("petal", "linear", ["a"]), "got one tuple (group, kernels, columns); put it into a list"),
        ([GaussianKernels], "got the class GaussianKernels; call it: GaussianKernels(...)"),
        ([3.0], "`kernels[0]` must be a recipe such as GaussianKernels(), the name"),
        ([("petal", "linear")], "`kernels[0]` must be a tuple (group, kernels, columns) with a name"),
        ([(3, "linear", [0])], "`kernels[0]` must be a tuple (group, kernels, columns) with a name"),
        ([("petal", [], [0])], "`kernels[0]` must have a kernel for 'petal' at least"),
        ([("petal", ["linear", None], [0])], "`kernels[0]` must be a recipe"),
    ],
    ids=str,
)
def test_lists_that_are_none(kernels, words):
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        KernelList(kernels)


def test_a_list_is_a_recipe():
    recipe = KernelList([GaussianKernels(), ("one", ["linear", gp.RBF()], [0])], standardize=True, seed=3)
    assert (
        repr(recipe)
        == "KernelList([GaussianKernels(), ('one', ['linear', RBF(length_scale=1)], [0])], standardize=True, seed=3)"
    )
    first = recipe.fit(X)
    for again in (recipe, copy.deepcopy(recipe), pickle.loads(pickle.dumps(recipe))):
        assert again.fit(X).digest() == first.digest()
    assert len(pickle.dumps(recipe)) < 2000


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
    with pytest.raises(
        InvalidArgument, match=r"column that is not constant, got 4 samples, all the same on the columns of"
    ):
        KernelList.default().fit(np.ones((4, 2)))
    with pytest.raises(InvalidArgument, match=r"column that is not constant, got 1 sample on the columns of"):
        KernelList.default().fit(np.ones((1, 2)))
    with pytest.raises(
        InvalidArgument, match=r"all kernels are constant on the training points: cosine of all columns"
    ):
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
    truth = recipe_gram.checked_matrix
    monkeypatch.setattr(recipe_gram, "checked_matrix", lambda *a: checked.append(a[-1]) or truth(*a))
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
