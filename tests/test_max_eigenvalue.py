"""The eigenvalue oracle against Clarabel, against LAPACK, and along a journal."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, InvalidArgument, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, LevelSet, ProximalBundle
from oracle_opt.oracles import MaxEigenvalueOracle


def laplacian(order, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((order, order)) < density, 1) * rng.integers(1, 5, (order, order))
    weights = weights + weights.T
    return (np.diag(weights.sum(axis=1)) - weights) / 4.0


def max_cut(order, **options):
    diagonals = [sparse.csr_array(([1.0], ([i], [i])), shape=(order, order)) for i in range(order)]
    return MaxEigenvalueOracle(laplacian(order), diagonals, np.ones(order), trace=order, **options)


@pytest.mark.parametrize("generator", [LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
def test_max_cut_relaxation_agrees_with_clarabel(generator):
    order = 12
    run = minimize(max_cut(order, domain=FreeSpace(order, 100.0)), generator, rtol=1e-5)
    X = cp.Variable((order, order), PSD=True)
    known = cp.Problem(cp.Maximize(cp.trace(laplacian(order) @ X)), [cp.diag(X) == 1]).solve(solver=cp.CLARABEL)
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-5 <= known <= run.upper_bound + 1e-5


def test_several_eigenvectors_save_calls():
    one, ten = (minimize(max_cut(12, n_vectors=k, domain=FreeSpace(12, 100.0)), LevelSet(), rtol=1e-4) for k in (1, 10))
    assert ten.n_calls < one.n_calls


def test_every_further_cut_is_a_minorant():
    oracle, rng = max_cut(15, within=1.0), np.random.default_rng(1)
    cut = oracle.query(Query(rng.normal(size=15)))
    assert len(cut.further) == 9
    for _ in range(20):
        z = 3 * rng.normal(size=15)
        value = oracle.query(Query(z)).upper
        for one in (cut, *cut.further):
            assert one.value + one.subgradient @ (z - cut.point) <= value + 1e-10


def test_lanczos_agrees_with_lapack():
    y = np.random.default_rng(2).normal(size=60)
    dense, lanczos = max_cut(60).query(Query(y)), max_cut(60, lanczos_from=1).query(Query(y))
    assert lanczos.value <= dense.upper + 1e-12
    assert dense.value <= lanczos.upper
    assert lanczos.value == pytest.approx(dense.value, rel=1e-8)
    assert lanczos.error < 1e-7 * lanczos.value


def test_lanczos_that_misses_the_largest_eigenvalue_is_caught():
    # the start is an eigenvector of another eigenvalue: Lanczos sees an invariant subspace without the largest
    A = [sparse.eye_array(40)]
    oracle = MaxEigenvalueOracle(np.diag(np.arange(40.0)), A, [1.0], n_vectors=1, lanczos_from=1)
    oracle._last = np.eye(40)[3]
    cut = oracle.query(Query(np.zeros(1)))
    assert cut.value <= 39.0 + 1e-9
    assert cut.upper >= 39.0


def test_a_journal_keeps_the_further_cuts(tmp_path):
    domain = FreeSpace(10, 100.0)
    path = tmp_path / "run.journal"
    minimize(max_cut(10, domain=domain), LevelSet(), max_calls=5, journal=path)
    again = minimize(max_cut(10, domain=domain), LevelSet(), rtol=1e-5, journal=path, keep_cuts=True)
    straight = minimize(max_cut(10, domain=domain), LevelSet(), rtol=1e-5, keep_cuts=True)
    assert again.n_calls == straight.n_calls
    assert len(again.history.cuts[2].further) == len(straight.history.cuts[2].further)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": np.ones((2, 3))}, "`C` must be square"),
        ({"C": [[0.0, 1.0], [0.0, 0.0]]}, "`C` must be symmetric"),
        ({"C": [[np.nan, 0.0], [0.0, 0.0]]}, "`C` must be finite"),
        ({"A": [np.eye(3)]}, r"`A\[0\]` must be of shape"),
        ({"b": [1.0, 2.0]}, "`b` must have shape"),
        ({"trace": 0.0}, "`trace`"),
        ({"n_vectors": 0}, "`n_vectors`"),
        ({"within": 2.0}, "`within`"),
        ({"domain": FreeSpace(3, 1.0)}, "`domain` must have dimension 1"),
    ],
)
def test_bad_input_is_named(change, words):
    good = {"C": np.eye(2), "A": [np.eye(2)], "b": [1.0]} | change
    C, A, b = (good.pop(name) for name in ("C", "A", "b"))
    with pytest.raises(InvalidArgument, match=words):
        MaxEigenvalueOracle(C, A, b, **good)
