"""The low-rank start of the spectral bundle: against Clarabel, on hard corners of max-cut, and its count of work."""

from math import inf

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, InvalidArgument, Query, Status, minimize
from oracle_opt.answers.eigenpairs import Eigenpairs
from oracle_opt.generators import SpectralBundle
from oracle_opt.generators.masters.factor_rows import FactorRows
from oracle_opt.generators.masters.low_rank import LowRankStart
from oracle_opt.oracles import MaxEigenvalueOracle
from oracle_opt.oracles.leading_eigenpairs import _lanczos, absolute_norm, leading

ORDER = 34


def laplacian(weights):
    weights = np.triu(weights, 1)
    weights = weights + weights.T
    return 0.25 * (np.diag(weights.sum(axis=1)) - weights)


def matrices(kind, rng, n=ORDER):
    """C of a kind of max-cut."""
    edges = rng.random((n, n)) < 0.2
    weights = {
        "graph": edges * 1.0,
        "weights of many sizes": edges * np.exp(3.0 * rng.normal(size=(n, n))),
        "both signs": edges * rng.choice([-1.0, 1.0], (n, n)),
        "complete": rng.normal(size=(n, n)),
        "two components": edges * np.kron(np.eye(2), np.ones((n // 2, n // 2))),
        "isolated nodes": edges * (np.arange(n) < n - 7)[:, None] * (np.arange(n) < n - 7),
        "bipartite": edges * np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((n // 2, n // 2))),
    }
    if kind == "rank one":
        v = rng.normal(size=n)
        return np.outer(v, v)
    return laplacian(weights[kind])


def oracle_of(C, entries=None, sides=None, rows=None, trace=None, **options):
    """``max <C, X>`` with ``entries_i X_ii = sides_i`` for the rows."""
    n = len(C) if isinstance(C, np.ndarray) else C.shape[0]
    rows = np.arange(n) if rows is None else rows
    entries, sides = (np.ones(len(rows)) if one is None else one for one in (entries, sides))
    A = [sparse.csr_array(([a], ([i], [i])), shape=(n, n)) for i, a in zip(rows, entries, strict=True)]
    options = {"domain": FreeSpace(len(rows), 1e3)} | options
    trace = float(np.sum(sides / entries)) if trace is None else trace
    return MaxEigenvalueOracle(C, A, sides, trace=trace, **options)


def by_clarabel(C, rows, sides, trace):
    X = cp.Variable(C.shape, PSD=True)
    fixed = [X[i, i] == side for i, side in zip(rows, sides, strict=True)]
    return cp.Problem(cp.Maximize(cp.trace(C @ X)), [cp.trace(X) == trace, *fixed]).solve(solver=cp.CLARABEL)


KINDS = (
    "graph",
    "weights of many sizes",
    "both signs",
    "complete",
    "two components",
    "isolated nodes",
    "bipartite",
    "rank one",
)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_every_call_hold_the_optimum_of_max_cut(kind):
    C = matrices(kind, np.random.default_rng(KINDS.index(kind)))
    known = by_clarabel(C, range(ORDER), np.ones(ORDER), ORDER)
    for lanczos_from in (1000, 1):
        oracle = oracle_of(C, lanczos_from=lanczos_from, domain=FreeSpace(ORDER, 1e5))
        run = minimize(oracle, SpectralBundle(), rtol=1e-6)
        assert run.status is Status.CONVERGED
        assert (run.history.lower_bound <= known + 1e-6 * abs(known)).all()
        assert (run.history.upper_bound >= known - 1e-6 * abs(known)).all()
        assert run.n_calls <= 6


def test_where_nothing_is_to_be_gained_the_value_is_zero():
    run = minimize(oracle_of(np.zeros((ORDER, ORDER))), SpectralBundle(), atol=1e-8)
    assert run.status is Status.CONVERGED
    assert run.n_calls <= 2


@pytest.mark.campaign(3)
@pytest.mark.parametrize("fixed", [ORDER, ORDER - 9, 3])
@pytest.mark.parametrize("seed", range(3))
def test_other_entries_and_sides_and_rows_that_share_the_rest(fixed, seed):
    rng = np.random.default_rng(100 + seed)
    C = matrices("complete", rng)
    rows, entries, sides = rng.permutation(ORDER)[:fixed], rng.uniform(-3, 3, fixed), rng.uniform(0.1, 3, fixed)
    entries = np.where(abs(entries) < 0.2, 1.0, entries)
    trace = float(sides.sum()) + (2.5 if fixed < ORDER else 0.0)
    known = by_clarabel(C, rows, sides, trace)
    run = minimize(oracle_of(C, entries, sides * entries, rows, trace), SpectralBundle(), rtol=1e-6)
    assert run.status is Status.CONVERGED
    assert run.lower_bound <= known + 1e-6 * abs(known)
    assert run.upper_bound >= known - 1e-6 * abs(known)


def halved(C, rng=None, domain=1e4):
    """The equations of an equipartition, or of a v v' of both signs, behind those of max-cut."""
    n = len(C)
    v = np.ones(n) if rng is None else rng.choice([-1.0, 0.0, 1.0], n) * np.sqrt(rng.uniform(0.5, 2.0))
    A = [sparse.csr_array(([1.0], ([i], [i])), shape=(n, n)) for i in range(n)]
    b, of_domain = np.r_[np.ones(n), 0.0], FreeSpace(n + 1, domain)
    return MaxEigenvalueOracle(C, [*A, np.outer(v, v)], b, trace=float(n), domain=of_domain), v


@pytest.mark.parametrize(
    ("kind", "signs"), [("graph", False), ("both signs", False), ("both signs", True), ("two components", False)]
)
def test_bounds_of_every_call_hold_the_optimum_where_a_graph_is_halved(kind, signs):
    """Clarabel has the program without the direction v, in which X has no interior."""
    rng = np.random.default_rng(KINDS.index(kind))
    C = -matrices(kind, rng)
    oracle, v = halved(C, rng if signs else None)
    beside = np.linalg.svd(v[None, :])[2][1:].T
    Y = cp.Variable((ORDER - 1, ORDER - 1), PSD=True)
    fixed = [cp.diag(beside @ Y @ beside.T) == 1]
    known = cp.Problem(cp.Maximize(cp.trace(beside.T @ C @ beside @ Y)), fixed).solve(solver=cp.CLARABEL)
    run = minimize(oracle, SpectralBundle(), rtol=1e-5, atol=1e-5, max_calls=50)
    assert run.status is Status.CONVERGED
    assert run.n_calls <= 4
    assert (run.history.lower_bound <= known + 1e-6 * (1.0 + abs(known))).all()
    assert (run.history.upper_bound >= known - 1e-6 * (1.0 + abs(known))).all()


def test_the_minorant_of_any_factor_of_a_halved_graph_lies_below_the_function():
    rng = np.random.default_rng(8)
    oracle, _ = halved(matrices("graph", rng), rng, 100.0)
    told = told_by(oracle, np.zeros(ORDER + 1)).answer(Eigenpairs)
    rows = FactorRows.of(told)
    for k in (1, 8):
        start = LowRankStart(told, rows, oracle.domain, rng.normal(size=(ORDER, k)))
        for _ in range(2):
            start._prove()
            for size in (0.0, 1.0, 30.0):
                y = size * rng.normal(size=ORDER + 1)
                value = start.minorant.constant - start.minorant.error + start.minorant.slope @ y
                assert value <= oracle.query(Query(y)).upper
            start.factor = rows.met(start.factor)
        if k > 1:
            assert np.linalg.norm(rows.zeros.excess(start.factor)) < 1e-10


def told_by(oracle, y):
    return oracle.query(Query(y, wishes=frozenset({Eigenpairs})))


@pytest.mark.parametrize(
    ("rows", "sides", "trace", "allowed"),
    [
        ([0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0], 4.0, True),
        ([0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0], 5.0, False),
        ([0, 1], [1.0, 1.0], 4.0, True),
        ([0, 1], [1.0, 3.0], 4.0, False),
        ([0, 1], [1.0, -1.0], 4.0, False),
        ([0, 1], [1.0, 0.0], 4.0, True),
        ([0, 0], [1.0, 1.0], 4.0, False),
    ],
)
def test_which_programs_begin_with_a_factor(rows, sides, trace, allowed):
    oracle = oracle_of(matrices("complete", np.random.default_rng(0), 4), None, np.array(sides), rows, trace)
    told = told_by(oracle, np.zeros(len(rows))).answer(Eigenpairs)
    assert (FactorRows.of(told) is not None) is allowed


def test_other_equations_are_left_to_the_bundle():
    C, rng = matrices("graph", np.random.default_rng(0)), np.random.default_rng(1)
    n = ORDER
    A = [sparse.csr_array(([1.0], ([i], [i])), shape=(n, n)) for i in range(n)]
    v = rng.normal(size=n)
    for more, side in ((np.outer(v, v), 1.0), (-np.outer(v, v), 0.0), (np.diag(v), 0.0), (np.zeros((n, n)), 0.0)):
        oracle = MaxEigenvalueOracle(C, [*A, more], np.r_[np.ones(n), side], trace=n, domain=FreeSpace(n + 1, 10.0))
        assert FactorRows.of(told_by(oracle, np.zeros(n + 1)).answer(Eigenpairs)) is None


def test_off_the_diagonal_the_bundle_begins_at_once():
    rng = np.random.default_rng(0)
    A = sparse.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(ORDER, ORDER))
    oracle = MaxEigenvalueOracle(matrices("complete", rng), [A], [0.1], domain=FreeSpace(1, 100.0))
    assert FactorRows.of(told_by(oracle, np.zeros(1)).answer(Eigenpairs)) is None
    assert minimize(oracle, SpectralBundle(), rtol=1e-6).success


@pytest.mark.parametrize("kind", ["graph", "weights of many sizes", "both signs"])
def test_the_minorant_of_any_factor_lies_below_the_function(kind):
    """Also of one that is no solution, at points everywhere in the ball."""
    rng = np.random.default_rng(3)
    oracle = oracle_of(matrices(kind, rng), entries=rng.uniform(0.5, 2.0, ORDER), sides=np.ones(ORDER))
    told = told_by(oracle, np.zeros(ORDER)).answer(Eigenpairs)
    rows = FactorRows.of(told)
    for k in (1, 3, 12):
        start = LowRankStart(told, rows, oracle.domain, rng.normal(size=(ORDER, k)))
        start._prove()
        for size in (0.0, 1.0, 30.0):
            y = size * rng.normal(size=ORDER)
            value = start.minorant.constant - start.minorant.error + start.minorant.slope @ y
            assert value <= oracle.query(Query(y)).upper


def test_a_factor_with_too_few_columns_grows():
    """A factor of one column is a cut: it is stationary, and no solution."""
    rng = np.random.default_rng(1)
    C = matrices("graph", rng)
    cut = rng.choice([-1.0, 1.0], (ORDER, 1))
    method = SpectralBundle(factor=cut)
    run = minimize(oracle_of(C), method, rtol=1e-6)
    assert run.success
    assert run.history.lower_bound[0] == pytest.approx(np.vdot(cut, C @ cut), rel=1e-6)
    assert method.primal_factor().shape[1] > 1


def work_of(monkeypatch):
    """A count that grows by the products of C with a column of a factor."""
    products, function = [], FactorRows.function

    def counted(self, columns):
        value = function(self, columns)

        def both(v):
            products.append(columns)
            return value(v)

        return both

    monkeypatch.setattr(FactorRows, "function", counted)
    return products


@pytest.mark.parametrize("change", ["edges come and go", "all weights change a little"])
def test_after_a_change_of_the_graph_the_last_factor_saves_calls_and_products(monkeypatch, change):
    products, rng, n = work_of(monkeypatch), np.random.default_rng(7), 150
    weights = np.triu(rng.random((n, n)) < 0.05, 1) * 1.0
    method = SpectralBundle()
    first = minimize(oracle_of(laplacian(weights)), method, rtol=1e-5)
    if change == "edges come and go":
        for i, j in rng.integers(0, n, (8, 2)):
            weights[min(i, j), max(i, j)] = 1.0 - weights[min(i, j), max(i, j)]
    else:
        weights = weights * np.exp(0.03 * rng.normal(size=(n, n)))
    oracle = oracle_of(laplacian(weights))
    products.clear()
    cold = minimize(oracle, SpectralBundle(), rtol=1e-5)
    of_cold = sum(products)
    products.clear()
    warm = minimize(oracle, SpectralBundle(factor=method.primal_factor()), point=first.point, rtol=1e-5)
    assert cold.success
    assert warm.success
    assert warm.lower_bound <= cold.upper_bound
    assert cold.lower_bound <= warm.upper_bound
    assert warm.n_calls <= cold.n_calls
    assert sum(products) <= 0.6 * of_cold
    assert warm.history.upper_bound[0] - cold.upper_bound < 0.3 * (cold.history.upper_bound[0] - cold.upper_bound)


def test_a_factor_of_another_order_is_refused():
    with pytest.raises(InvalidArgument, match="`factor` must have 34 rows, got 5"):
        minimize(oracle_of(matrices("graph", np.random.default_rng(1))), SpectralBundle(factor=np.ones((5, 2))))


def test_the_factor_is_the_primal_solution():
    C = matrices("graph", np.random.default_rng(2))
    method = SpectralBundle()
    assert method.primal_factor() is None
    run = minimize(oracle_of(C), method, rtol=1e-7)
    R = method.primal_factor()
    np.testing.assert_allclose((R * R).sum(axis=1), 1.0, rtol=1e-9)
    assert np.vdot(R, C @ R) == pytest.approx(run.upper_bound, rel=1e-6)


@pytest.mark.campaign(inf)
def test_a_cluster_of_eigenvalues_takes_few_products(monkeypatch):
    """Next to a solution the largest eigenvalues are one cluster: all of it comes, with a vector outside."""
    rng, n = np.random.default_rng(0), 1000
    i, j = rng.integers(0, n, (2, 4 * n))
    weights = sparse.coo_array((np.ones(4 * n), (i, j)), shape=(n, n)).tocsr()
    weights = weights + weights.T
    weights.setdiag(0.0)
    C = sparse.csr_array(sparse.diags_array(weights.sum(axis=1)) - weights) / 4.0
    oracle = oracle_of(C)
    run = minimize(oracle, SpectralBundle(), rtol=1e-6)
    products, eigsh = [], sparse.linalg.eigsh

    def counted(M, **options):
        def product(x):
            products.append(1)
            return M @ x

        return eigsh(sparse.linalg.LinearOperator(M.shape, matvec=product, dtype=float), **options)

    monkeypatch.setattr(sparse.linalg, "eigsh", counted)
    oracle.reset()
    told = told_by(oracle, run.point).answer(Eigenpairs)
    assert len(products) <= 3000
    assert told.values[0] - told.values[9] < 1e-3 * told.values[0] - 1e-3 * told.matrix.at(run.point).diagonal().mean()
    assert told.values[0] - told.values[-1] > 1e-2
    assert len(told.values) > 10
    products.clear()
    again = told_by(oracle, run.point).answer(Eigenpairs)
    assert len(again.values) == len(told.values)
    assert len(products) <= 1500


def test_weights_of_many_sizes_go_to_the_inverse():
    """Where Lanczos would need a hundred thousand products, and misses nothing."""
    rng, n = np.random.default_rng(2), 300
    values = np.r_[-np.logspace(-7, 3, n - 20), 1e-7 * rng.uniform(size=20)]
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    M = sparse.csr_array((turn * values) @ turn.T)
    M = 0.5 * (M + M.T)
    assert _lanczos(M, absolute_norm(M), 5, None, True) is None
    found = leading(M, 5, None, True)
    assert found is not None
    assert found[0][0] + found[2] >= np.linalg.eigvalsh(M.toarray())[-1] - 1e-12
    assert found[2] <= 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_a_ball_that_binds_is_said_to_cast_doubt(seed):
    """Bisections have no dual minimizer: the multiplier of the row of ones grows without end."""
    rng, n, bounds = np.random.default_rng(seed), 40, []
    weights = np.triu(rng.random((n, n)) < 0.2, 1).astype(float)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    A = [*(np.diag(row) for row in np.eye(n)), np.ones((n, n))]
    for radius in (1e2, 1e5):
        oracle = MaxEigenvalueOracle(-laplacian, A, np.r_[np.ones(n), 0.0], trace=n, domain=FreeSpace(n + 1, radius))
        bounds.append(minimize(oracle, SpectralBundle(), rtol=1e-6, max_calls=50))
    small, large = bounds
    assert small.lower_bound > large.upper_bound - 1e-6 * abs(large.upper_bound)  # more than there is
    assert any("edge of what is promised" in words for words in small.warnings)
