"""Journals of runs of every kind of oracle."""

import cvxpy as cp
import numpy as np
import pytest
from journal_cuts import assert_same_cut
from journal_runs import Counted, assert_same_history
from tiny_kernels import tiny_gmkl, tiny_mixed_norm, tiny_mkl

from oracle_opt import Box, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, NewtonBundle, ProximalBundle, SpectralBundle
from oracle_opt.oracles import CvxpyOracle, FacilityLocationOracle, MaxEigenvalueOracle, MKLOracle, uci_bank
from oracle_opt.oracles.benders import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.conic import ConicOracle, SecondOrder

pytestmark = pytest.mark.usefixtures("unflushed")


def small_mkl():
    """Kernels enough for some calls."""
    X = np.random.default_rng(2).normal(size=(60, 5))
    return MKLOracle(uci_bank(X), np.sign(X[:, 0] + X[:, 1] * X[:, 2]), C=100.0)


def journaled():
    """Oracles of all kinds, each with a generator for it."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(8, 3))
    cost = rng.uniform(1, 9, (4, 6))
    demand = RandomBlock([0.25, 0.5, 0.25], rows=[1], rhs=[[2.0], [6.0], [7.0]])
    shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [demand], x_upper=10)
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    weights = np.triu(rng.uniform(size=(5, 5)), 1)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    return {
        "mkl": (tiny_mkl, NewtonBundle()),
        "mixed norm": (tiny_mixed_norm, LevelSet(tune_accuracy=True)),
        "gmkl": (tiny_gmkl, Kelley()),
        "two-stage program": (lambda: BendersOracle(shop, n_summands=3), Kelley()),
        "cone program": (
            lambda: ConicOracle(
                [1, 1, 1], np.vstack([np.zeros(3), -A]), np.r_[2.0, np.ones(8)], [SecondOrder(9)], radius=1e4
            ),
            AnalyticCenter(),
        ),
        "eigenvalue": (
            lambda: MaxEigenvalueOracle(laplacian / 4, [np.diag(row) for row in np.eye(5)], np.ones(5), trace=5),
            SpectralBundle(proximal=100.0),
        ),
        "facilities": (lambda: FacilityLocationOracle(5 * np.ones(4), cost, multicut=True), ProximalBundle()),
        "cvxpy": (
            lambda: CvxpyOracle(
                cp.Problem(cp.Minimize(cp.norm(x - p)), [cp.norm(x) <= 1]), domain=Box([1, -2], [5, 7])
            ),
            Kelley(),
        ),
    }


@pytest.mark.parametrize("name", journaled())
def test_runs_of_every_kind_of_oracle_resume_as_they_were(tmp_path, name) -> None:
    make, generator = journaled()[name]
    options = {"rtol": 1e-7, "max_calls": 40, "keep_cuts": True, "probes": 0}
    whole = minimize(make(), generator, **options)
    assert whole.n_calls > 2
    for stop in sorted({1, whole.n_calls // 2, whole.n_calls - 1}):
        minimize(make(), generator, journal=tmp_path / f"{stop}", **(options | {"max_calls": stop}))
        oracle = Counted(make())
        oracle.convex, oracle.gives = oracle.inner.convex, oracle.inner.gives
        resumed = minimize(oracle, generator, journal=tmp_path / f"{stop}", **options)
        assert_same_history(whole, resumed)
        assert oracle.calls == whole.n_calls - stop + 1
        for one, other in zip(whole.history.cuts, resumed.history.cuts, strict=True):
            assert_same_cut(one, other)
