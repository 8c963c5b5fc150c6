"""Models of thousands of rows: nothing of them is made dense, and what is proven is what is proven of few."""

import pickle
import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import Polyhedron, minimize
from oracle_opt.errors import InvalidArgument
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
    rows = [cp.sum(x, 1) <= load, cp.sum(x, 0) >= load.mean() / 2]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, x))), rows)


def huber(rng, size):
    """Equations as long as there are coefficients, and quadratic."""
    A, x = rng.normal(size=(size // 3, 20)), cp.Variable(20)
    return cp.Problem(cp.Minimize(cp.sum(cp.huber(A @ x - rng.standard_t(1.5, size // 3))) + cp.norm(x)))


@pytest.mark.parametrize("model", [cvar, transport, huber])
@pytest.mark.parametrize("seed", range(2))
def test_no_matrix_of_all_rows_is_dense(model, seed):
    problem = model(np.random.default_rng(seed), 3000)
    value = problem.solve(solver=cp.CLARABEL)
    tracemalloc.start()
    oracle = ConicOracle.from_cvxpy(problem)
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
    if case == "empty rows":
        A[1] = A[long + 1] = 0.0
    if case in ("zero column", "long rows alone"):
        A[long if "alone" in case else 0 :, 0] = 0.0
    if case == "many long":
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


def rows_and_point(rng, n):
    """Sparse inequalities and equations about a point, and another point."""
    A, E = (sparse.random(k, n, 3 / n, random_state=rng, format="csr") for k in (n, n // 4))
    A, E = (rows[np.diff(rows.indptr) > 0] for rows in (A, E))
    inside = rng.uniform(-1, 1, n)
    rows = {"A": A, "b": A @ inside + 0.1, "equality_matrix": E, "equality_rhs": E @ inside}
    return rows | {"lower": -2.0, "upper": 2.0}, inside, rng.normal(size=n)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("left", [(), ("A", "b"), ("equality_matrix", "equality_rhs")])
def test_sparse_rows_make_the_same_set(left, seed):
    rows, inside, point = rows_and_point(np.random.default_rng(seed), 30)
    rows = {name: value for name, value in rows.items() if name not in left}
    dense = {name: value.toarray() if sparse.issparse(value) else value for name, value in rows.items()}
    ours, theirs = Polyhedron(**rows), Polyhedron(**dense)
    assert pickle.loads(pickle.dumps(ours)).identity() == ours.identity()
    assert ours.stated_constraints().has_bounds_alone is False
    assert ours.contains(inside)
    assert ours.contains(point) is theirs.contains(point) is False
    assert np.array_equal(ours.project(point), theirs.project(point))
    assert ours.minimize_linear(point)[0] == theirs.minimize_linear(point)[0]
    assert np.array_equal(ours.interior_point(), theirs.interior_point())
    for one, other in zip(ours.described(point)["set"]["rows"], theirs.described(point)["set"]["rows"], strict=True):
        assert np.array_equal(one[0], other[0])


@pytest.mark.parametrize("seed", range(4))
def test_empty_sets_of_sparse_rows_are_found(seed):
    rows, inside, _ = rows_and_point(np.random.default_rng(seed), 400)
    E, f = rows["equality_matrix"], rows["equality_rhs"]
    Polyhedron(**rows)
    apart = {"equality_matrix": sparse.vstack([E, E[:1]]), "equality_rhs": np.r_[f, 9.0]}
    beyond = {"A": E, "b": f - 0.01}
    for change in (apart, beyond, {"lower": inside + 0.01, "equality_matrix": abs(E)}):
        with pytest.raises(InvalidArgument, match="no point satisfies them"):
            Polyhedron(**(rows | change))
