"""Kernels of all kinds are what scikit-learn and the formulas say; those that are none are refused by name."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from oracle_opt import InvalidArgument
from oracle_opt.oracles import PolynomialKernels, PrecomputedKernels
from oracle_opt.oracles.kernels import FunctionKernel, GaussianKernels, KernelList, MetricKernel, SklearnKernel


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_widths", [1, 2, 3, 4, 7])
def test_stored_gaussians_are_the_formula_for_any_number_of_widths(n_widths, dtype) -> None:
    rng = np.random.default_rng(n_widths)
    widths, Z = 10.0 ** rng.uniform(-1, 2, size=n_widths), rng.normal(size=(70, 4)) * 10.0 ** rng.uniform(-1, 1)
    bank = KernelList([GaussianKernels(widths)], dtype=dtype).fit(Z)
    squares = cdist(Z, Z, "sqeuclidean")
    error = 1e-15 if dtype == np.float64 else 1e-7
    for k, width in enumerate(widths):
        K = bank.combine(np.eye(n_widths)[k])
        assert np.abs(K - np.exp(-0.5 * squares / width**2)).max() <= 8 * error


@pytest.mark.parametrize("widths", [[1e-170], [1e-170, 1.0], [1e-160, 1e-155, 1.0]])
def test_widths_whose_squares_are_no_numbers_are_refused_and_not_called_constant(widths) -> None:
    with np.errstate(all="ignore"), pytest.raises(InvalidArgument, match="must be finite, got the trace"):
        KernelList([GaussianKernels(widths)]).fit(np.random.default_rng(0).normal(size=(10, 2)))
