"""Kernels computed on the fly are those that are kept, and what they take is known before anything is built."""

import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GaussianKernels, MKLOracle, PolynomialBank, PolynomialKernels, PrecomputedKernels
from oracle_opt.oracles.kernels import FunctionKernel, GramBank, JoinedBank, KernelList, MetricKernel, RBFBank
from oracle_opt.oracles.kernels.recipes import kernel_list, list_plan
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine
from oracle_opt.oracles.svm import Logistic
from oracle_opt.words import shown


def shared(A, B):
    """Histogram intersection."""
    return np.minimum(A[:, None], B[None]).sum(axis=2)


def drawn(seed, n=40, d=4):
    return np.random.default_rng(seed).random((n, d))


KERNELS = [
    "linear",
    GaussianKernels(),
    ("left", ["cosine", MetricKernel("laplacian", {"gamma": 2.0}), "rbf", PolynomialKernels((1, 2))], [2, 0]),
    PolynomialKernels((1, 3), constant=0.5, each=True),
    GaussianKernels(n_widths=3, each=True),
    PolynomialKernels((2,), constant=0.0),
    MetricKernel("polynomial", {"degree": 2, "gamma": 0.5}),
]
DENSE = ["chi2", FunctionKernel(shared, exactness=1e-14)]
LISTS = {
    "all kinds": (KERNELS + DENSE, {}, np.asarray),
    "scaled columns": (KERNELS, {"standardize": True}, np.asarray),
    "as they are": (KERNELS + DENSE, {"normalize": None}, np.asarray),
    "sparse": (KERNELS, {}, sparse.csr_array),
    "sparse, scaled": (KERNELS, {"standardize": True}, sparse.csr_array),
    "names": (KERNELS, {}, lambda X: pd.DataFrame(X, columns=list("abcd"))),
}


@pytest.mark.parametrize("name", LISTS)
def test_kernels_are_those_that_are_kept(name):
    kernels, options, make = LISTS[name]
    rng = np.random.default_rng(1)
    X, new, weights = drawn(2), drawn(3, 6), rng.integers(1, 4, 40) + 0.0
    if name.startswith("sparse"):
        X[X < 0.4] = 0.0
    kept = KernelList(kernels, **options).fit(make(X), weights)
    fly = KernelList(kernels, on_the_fly=True, **options).fit(make(X), weights)
    assert isinstance(kept, GramBank)
    assert isinstance(fly, JoinedBank)
    assert fly.names == kept.names
    assert fly.groups == kept.groups
    assert fly.n_kernels == kept.n_kernels
    d, v = rng.random(kept.n_kernels), np.where(rng.random(40) < 0.5, rng.normal(size=40), 0.0)
    some, others = np.array([3, 17, 5]), np.array([0, 39, 5, 20])
    size = {"rtol": 1e-10, "atol": 1e-10}
    assert np.allclose(fly.combine(d), kept.combine(d), **size)
    assert np.allclose(fly.block(d, some, others), kept.block(d, some, others), **size)
    assert np.allclose(fly.quadratic_forms(v), kept.quadratic_forms(v), **size)
    assert np.allclose(fly.row_products(some, v), kept.row_products(some, v), **size)
    assert np.allclose(fly.entries(some, others), kept.entries(some, others), **size)
    assert np.allclose(fly.diagonal(), kept.diagonal(), **size)
    assert np.allclose(fly.cross(make(new), d), kept.cross(make(new), d), **size)
    which = rng.permutation(kept.n_kernels)[:9]
    few, point = fly.subset(which), kept.subset(which)
    assert few.names == point.names
    assert np.allclose(few.combine(d[:9]), point.combine(d[:9]), **size)
    assert np.allclose(
        fly.kept(which, some).cross(make(new), d[:9]), kept.kept(which, some).cross(make(new), d[:9]), **size
    )
    copy = pickle.loads(pickle.dumps(fly))
    assert copy.digest() == fly.digest()
    assert copy.names == fly.names
    assert np.array_equal(copy.cross(make(new), d), fly.cross(make(new), d))
    assert fly.digest() == KernelList(kernels, on_the_fly=True, **options).fit(make(X), weights).digest()


@pytest.mark.parametrize("name", ["all kinds", "sparse"])
def test_what_is_stated_of_rounding_holds(name):
    """Entries are those in long double up to `exactness`."""
    X = drawn(4, 15)
    kernels = ["linear", "cosine", MetricKernel("laplacian", {"gamma": 3.0}), MetricKernel("polynomial", {"degree": 7})]
    if name == "all kinds":
        kernels.append("chi2")
    make = LISTS[name][2]
    fly = KernelList(kernels, on_the_fly=True, normalize=None).fit(make(X))
    Z = X.astype(np.longdouble)
    products, norms = Z @ Z.T, np.sqrt((Z * Z).sum(axis=1))
    sums, squares = Z[:, None] + Z[None], (Z[:, None] - Z[None]) ** 2
    truth = [
        products,
        products / norms[:, None] / norms,
        np.exp(-3 * np.abs(Z[:, None] - Z[None]).sum(axis=2)),
        (products / 4 + 1) ** 7,
        np.exp(-(squares / sums).sum(axis=2)),
    ]
    every = np.arange(15)
    found = fly.entries(every, every)
    for k in range(fly.n_kernels):
        scale = np.sqrt(np.diagonal(truth[k])[:, None] * np.diagonal(truth[k]))
        exactness = fly.subset([k]).exactness
        assert np.abs(found[:, :, k] - truth[k]).max() <= (exactness * scale).max()
        assert exactness < 1e-13


def test_a_run_on_the_fly_proves_the_same():
    X = drawn(5)
    y = np.where(X[:, 0] > X[:, 1] ** 2, 1.0, -1.0)
    runs = []
    for on_the_fly in (False, True):
        oracle = MKLOracle(KernelList(KERNELS + DENSE, on_the_fly=on_the_fly).fit(X), y, C=10.0)
        runs.append(minimize(oracle, LevelSet(), rtol=1e-6))
    assert all(run.success for run in runs)
    assert runs[0].lower_bound <= runs[1].upper_bound
    assert runs[1].lower_bound <= runs[0].upper_bound


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda A, B: A @ B.T, "the kernel 'function of all columns' cannot be computed on the fly"),
        (shared, "or say so: FunctionKernel(k, exactness=1e-12)"),
        (RBF(1.0), "the kernel 'RBF(length_scale=1) of all columns' cannot be computed on the fly"),
        (FunctionKernel(shared, exactness=0.1), "its entries may be wrong by 0.1 of the diagonal"),
        (FunctionKernel(lambda A, B: -shared(A, B) + 9, exactness=1e-14), "must be positive semidefinite, got the eig"),
        ("sigmoid", "cannot be computed on the fly: it is no kernel on all points"),
    ],
    ids=shown,
)
def test_kernels_that_cannot_be_computed_on_the_fly_are_named(kernel, words):
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        KernelList(["linear", kernel], on_the_fly=True).fit(drawn(0))


def test_precomputed_kernels_on_the_fly():
    stack = np.array([np.outer(v, v) + np.eye(9) for v in drawn(0, 3, 9)])
    indices = np.array([[2], [5], [7], [1]])
    kept, fly = (KernelList([PrecomputedKernels(stack)], on_the_fly=fly).fit(indices) for fly in (False, True))
    assert np.allclose(kept.combine([1, 2, 3]), fly.combine([1, 2, 3]), atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bytes_are_known_before(dtype):
    X = drawn(0, 50, 3)
    recipe = KernelList.default(dtype=dtype, on_the_fly=False)
    bank = recipe.fit(X)
    assert recipe.n_bytes(X) == bank._packed.nbytes == 52 * 1275 * np.dtype(dtype).itemsize
    exact = KernelList.default(dtype=dtype, on_the_fly=False, memory_budget=recipe.n_bytes(X)).fit(X)
    assert exact.nbytes <= recipe.n_bytes(X)  # pairs are not kept besides
    less = KernelList.default(dtype=dtype, on_the_fly=False, memory_budget=recipe.n_bytes(X) - 1)
    words = (
        f"`memory_budget` must be at least {recipe.n_bytes(X)} bytes for 52 kernels on 50 points in "
        f"{np.dtype(dtype)}, got {recipe.n_bytes(X) - 1}; pass `on_the_fly=True`, which keeps no entries"
    )
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        less.fit(X)
    auto = KernelList.default(dtype=dtype, memory_budget=recipe.n_bytes(X) - 1)
    assert auto.n_bytes(X) == 16 * 50 * (3 + 4)
    assert isinstance(auto.fit(X), JoinedBank)
    with pytest.raises(InvalidArgument, match=r"at least 5600 bytes for 52 kernels on 50 points in float\d\d computed"):
        KernelList.default(dtype=dtype, memory_budget=5599).fit(X)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "kernels", [KernelList.default, lambda **o: KernelList(["laplacian", "linear", "cosine"], **o)]
)
def test_banks_on_the_fly_take_no_more_than_was_said(make, kernels):
    X = drawn(0, 4000, 12)
    X[X < 0.5] = 0.0
    recipe = kernels(on_the_fly=True)
    recipe.fit(make(X))  # whatever is loaded on first use
    tracemalloc.start()
    try:
        bank = recipe.fit(make(X))
        assert tracemalloc.get_traced_memory()[0] < recipe.n_bytes(make(X)) + 500_000
    finally:
        tracemalloc.stop()
    assert bank.n_points == 4000


def test_a_list_that_can_neither_be_kept_nor_computed_anew():
    words = r"'shared of all columns' cannot be computed on the fly.*\. Kept, these 2 kernels take 13120 bytes"
    with pytest.raises(InvalidArgument, match=words):
        KernelList([shared, "linear"], on_the_fly="auto", memory_budget=12_000).fit(drawn(0))


def test_a_refusal_builds_nothing(monkeypatch):
    """A million points: half an exabyte of kernels, and no distance is taken."""
    X = np.broadcast_to(np.arange(1000.0)[:, None], (1000, 1))
    X = np.tile(X, (1000, 1))
    monkeypatch.setattr(list_plan, "_fitted", None)
    monkeypatch.setattr(kernel_list, "kept_bank", None)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match=r"at least 104000104000000 bytes for 26 kernels on 1000000 points"):
            KernelList.default(on_the_fly=False).fit(X)
        assert tracemalloc.get_traced_memory()[1] < 10 * X.nbytes
    finally:
        tracemalloc.stop()


def test_columns_that_are_left_out_take_no_bytes():
    X = np.column_stack([drawn(0, 50, 2), np.ones(50)])
    assert KernelList.default().n_bytes(X) == 39 * 1275 * 8


@pytest.mark.parametrize(
    ("make", "n", "by_sets"),
    [
        (lambda X: RBFBank(X, [[0]], [[1.0]]), 4000, True),
        (lambda X: RBFBank(X, [[0]], [[1.0]]), 3999, False),
        (lambda X: RBFBank(X, [[0]], [[1.0]], dtype=np.float32), 4000, False),
        (lambda X: JoinedBank([RBFBank(X, [[0]], [[1.0]]), PolynomialBank(X, [[0]], [[1]])]), 4000, True),
        (lambda X: RBFBank(X, [[0]], [[1.0]]).subset([0]), 4000, True),
    ],
)
def test_many_points_are_solved_on_working_sets_where_no_entry_is_kept(make, n, by_sets) -> None:
    X = np.linspace(0, 1, n)[:, None]
    machine = KernelMachine(make(X), np.where(X[:, 0] > 0.5, 1.0, -1.0), None, C=1.0).solver()
    assert isinstance(machine, MatrixFreeMachine if by_sets else DenseMachine)


def test_a_loss_that_is_not_piecewise_forms_the_combined_kernel() -> None:
    X = np.linspace(0, 1, 4000)[:, None]
    machine = KernelMachine(RBFBank(X, [[0]], [[1.0]]), np.where(X[:, 0] > 0.5, 1.0, -1.0), Logistic(1.0))
    assert isinstance(machine.solver(), DenseMachine)
