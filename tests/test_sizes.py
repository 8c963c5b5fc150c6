"""Models of thousands of rows: nothing of them is made dense, and what is proven is what is proven of few."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import minimize
from oracle_opt.oracles import ConicOracle, ConicProblem, Nonnegative, Zero
from oracle_opt.oracles.conic.lagrangian import DENSE, Lagrangian


def cvar(rng, size):
    """The mean of the worst twentieth: each scenario has a variable of its own, and two rows hold them all."""
    losses, w, level = rng.standard_t(4, (size, 15)) / 50, cp.Variable(15, nonneg=True), cp.Variable()
    return cp.Problem(cp.Minimize(level + cp.sum(cp.pos(losses @ w - level)) / (size / 20)), [cp.sum(w) == 1])


def transport(rng, size):
    """Rows as long as a side of the table, whose products are half full."""
    k = int(np.sqrt(size))
    x, load, cost = cp.Variable((k, k), nonneg=True), rng.uniform(1, 2, k), rng.uniform(1, 9, (k, k))
    return cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(cost, x))), [cp.sum(x, 1) <= load, cp.sum(x, 0) >= load.mean() / 2]
    )


@pytest.mark.parametrize("model", [cvar, transport])
@pytest.mark.parametrize("seed", range(2))
def test_no_matrix_of_all_rows_is_dense(model, seed):
    problem = model(np.random.default_rng(seed), 3000)
    value = problem.solve(solver=cp.CLARABEL)
    oracle = ConicOracle.from_cvxpy(problem)
    tracemalloc.start()
    result = minimize(oracle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.success
    assert result.n_calls == 1
    assert abs(result.value - value) <= 1e-5 * abs(value)
    assert result.bound <= value + 1e-6 * abs(value)
    assert peak <= 10_000 * sum(oracle.problem.A.shape)  # a dense matrix takes 8 bytes times their product


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", ["as it is", "dependent", "empty rows", "zero column", "long rows alone", "many long"])
def test_multipliers_are_refined_whatever_the_rows(case, seed):
    rng = np.random.default_rng(seed)
    m, n, long = 400, DENSE + 50, 5
    A = sparse.vstack([rng.normal(size=(long, n)), sparse.random(m, n, 0.01, random_state=seed)]).tolil()
    if case == "dependent":
        A[1], A[long + 1] = A[0], 3.0 * A[long]
    elif case == "empty rows":
        A[1] = A[long + 1] = 0.0
    elif case == "zero column":
        A[:, 0] = 0.0
    elif case == "long rows alone":
        A[long:, 0] = 0.0
    elif case == "many long":
        A = sparse.vstack([A, rng.normal(size=(n, n))])
    A = sparse.csr_array(A)
    y = np.abs(rng.normal(size=A.shape[0]))  # of the last rows, inequalities
    y[:20] *= rng.choice([-1.0, 1.0], 20)
    problem = ConicProblem(-A.T @ y, A, np.zeros(len(y)), [Zero(20), Nonnegative(len(y) - 20)])
    near, lagrangian = y + 1e-6 * rng.normal(size=len(y)), Lagrangian(problem)
    found = lagrangian.refined(np.zeros(n), near, np.ones(len(y)))
    assert (found[20:] >= 0.0).all()
    missed, before = (np.abs(problem.c + A.T @ one).sum() for one in (found, near))
    assert missed <= 1e-5 * before
