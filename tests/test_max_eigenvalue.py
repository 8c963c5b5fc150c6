"""The eigenvalue oracle and the spectral bundle against Clarabel, against LAPACK, and along a journal."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from oracle_opt import Box, CapabilityMismatch, FreeSpace, InvalidArgument, Query, Status, minimize
from oracle_opt.answers.eigenpairs import AffineMatrix, Eigenpairs
from oracle_opt.generators import AnalyticCenter, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.generators.masters.spectral_master import flattened, minimize_spectral
from oracle_opt.generators.masters.spectral_models import SpectralModel
from oracle_opt.generators.masters.spectral_subspace import coupled_pairs
from oracle_opt.oracles import MaxEigenvalueOracle


def laplacian(order, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((order, order)) < density, 1) * rng.integers(1, 5, (order, order))
    weights = weights + weights.T
    return (np.diag(weights.sum(axis=1)) - weights) / 4.0


def max_cut(order, **options):
    diagonals = [sparse.csr_array(([1.0], ([i], [i])), shape=(order, order)) for i in range(order)]
    return MaxEigenvalueOracle(laplacian(order), diagonals, np.ones(order), trace=order, **options)


@pytest.mark.parametrize("generator", [LevelSet(), AnalyticCenter(), ProximalBundle(), SpectralBundle()], ids=repr)
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


def theta(order, seed=0):
    """The theta function of a random graph: J in place of C, and a matrix an edge."""
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((order, order)) < 0.4, 1))
    A = [sparse.csr_array(([1.0, 1.0], ([i, j], [j, i])), shape=(order, order)) for i, j in edges]
    return np.ones((order, order)), A, np.zeros(len(A))


def dense(order, m, seed=0):
    """Dense matrices, with b that of a definite X of trace 1."""
    rng = np.random.default_rng(seed)
    C, *A = (G + G.T for G in rng.normal(size=(m + 1, order, order)))
    root = rng.normal(size=(order, order))
    X = root @ root.T / np.sum(root**2)
    return C, A, np.array([np.vdot(one, X) for one in A])


def by_clarabel(C, A, b):
    """``max <C, X>`` with ``<A_i, X> = b_i``, trace 1."""
    X = cp.Variable(C.shape, PSD=True)
    equations = [cp.trace(np.asarray(one @ np.eye(len(C))) @ X) == side for one, side in zip(A, b, strict=True)]
    problem = cp.Problem(cp.Maximize(cp.trace(C @ X)), [cp.trace(X) == 1, *equations])
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


@pytest.mark.parametrize(("C", "A", "b"), [theta(12), theta(15, 1), dense(12, 8), dense(9, 20, 1)])
def test_spectral_bundle_agrees_with_clarabel(C, A, b):
    known = by_clarabel(C, A, b)
    oracle = MaxEigenvalueOracle(C, A, b, domain=FreeSpace(len(b), 100.0))
    run = minimize(oracle, SpectralBundle(), rtol=1e-7, max_calls=60)
    assert run.status is Status.CONVERGED
    assert (run.history.upper_bound >= known - 1e-7 * abs(known)).all()
    assert (run.history.lower_bound <= known + 1e-7 * abs(known)).all()


def bordered(m, inequalities, order=0, seed=0):
    """Dense matrices beside a diagonal, with b that of a definite X of trace 1: inequalities of the dual."""
    rng = np.random.default_rng(seed)
    C, A = np.diag(rng.normal(size=order + inequalities)), []
    for _ in range(m):
        one = np.diag(rng.normal(size=order + inequalities))
        one[:order, :order] += np.triu(rng.normal(size=(order, order)))
        A.append(one + one.T)
    X = np.full(order + inequalities, 1.0 / (order + inequalities))
    return C, A, np.array([one.diagonal() @ X for one in A])


@pytest.mark.parametrize(("lanczos_from", "rtol"), [(1000, 1e-7), (1, 1e-5)])
def test_blocks_of_order_one_are_known_whole(lanczos_from, rtol):
    """More of them are active than P may have vectors, and the end is fast all the same."""
    C, A, b = bordered(12, 30, order=8)
    oracle = MaxEigenvalueOracle(C, A, b, domain=FreeSpace(12, 100.0), lanczos_from=lanczos_from)
    assert oracle.matrix.single.tolist() == list(range(8, 38))
    run = minimize(oracle, SpectralBundle(min_order=3, max_order=6), rtol=rtol, max_calls=40)
    known = by_clarabel(C, A, b)
    assert run.status is Status.CONVERGED
    assert (run.history.upper_bound >= known - 1e-7 * abs(known)).all()
    assert (run.history.lower_bound <= known + 1e-7 * abs(known)).all()


def test_diagonal_matrices_alone_are_a_linear_program():
    C, A, b = bordered(5, 20)
    run = minimize(MaxEigenvalueOracle(C, A, b, domain=FreeSpace(5, 100.0)), SpectralBundle(), rtol=1e-7)
    rows = np.vstack([one.diagonal() for one in A])
    known = -linprog(-C.diagonal(), A_eq=np.vstack([rows, np.ones(20)]), b_eq=np.r_[b, 1.0]).fun
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-9 <= known <= run.upper_bound + 1e-9
    assert run.n_calls <= 10


def test_an_eigenvalue_that_blocks_of_order_one_share_mixes_nothing_in():
    """Of the edges of a graph and its nodes without any, max-cut has one eigenvalue, and LAPACK any basis."""
    C = np.zeros((7, 7))
    C[:2, :2] = C[2:4, 2:4] = [[0.25, -0.25], [-0.25, 0.25]]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    part = Eigenpairs(AffineMatrix.of(sparse.csr_array(C), [sparse.eye_array(7)]), 1.0, np.ones(1), np.zeros(7), turn)
    values, vectors = coupled_pairs(part, np.zeros(1))
    np.testing.assert_allclose(values, [0.5, 0.5, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(vectors[4:], 0.0)


def test_the_diagonal_of_an_affine_matrix():
    C, A, _ = bordered(4, 3, order=2)
    A[1][4, 4] = 0.0
    matrix = AffineMatrix.of(sparse.csr_array(C), [sparse.csr_array(one) for one in A])
    constants, slopes = matrix.diagonal(matrix.single)
    np.testing.assert_array_equal(constants, C.diagonal()[2:])
    np.testing.assert_array_equal(slopes, np.array([one.diagonal()[2:] for one in A]).T)


def test_spectral_bundle_needs_a_fraction_of_the_calls():
    runs = [
        minimize(max_cut(40, domain=FreeSpace(40, 100.0)), one, rtol=1e-5) for one in (SpectralBundle(), LevelSet())
    ]
    assert runs[0].success
    assert 4 * runs[0].n_calls < runs[1].n_calls


@pytest.mark.parametrize("options", [{"lanczos_from": 1, "n_vectors": 15}, {"n_vectors": 1}])
def test_spectral_bundle_with_some_of_the_eigenpairs(options):
    run = minimize(max_cut(40, domain=FreeSpace(40, 100.0), **options), SpectralBundle(), rtol=1e-5, max_calls=100)
    straight = minimize(max_cut(40, domain=FreeSpace(40, 100.0)), SpectralBundle(), rtol=1e-8)
    assert run.success
    assert run.lower_bound <= straight.upper_bound
    assert run.upper_bound >= straight.lower_bound


def test_the_spectral_part_is_what_it_says():
    rng = np.random.default_rng(3)
    C, A, b = dense(7, 4)
    oracle, y = MaxEigenvalueOracle(C, A, b, trace=2.0), rng.normal(size=4)
    assert oracle.query(Query(y)).answers == ()
    part = oracle.query(Query(y, wishes=frozenset({Eigenpairs}))).answer(Eigenpairs)
    M = C - np.tensordot(y, A, 1)
    np.testing.assert_allclose(part.matrix.at(y).toarray(), M, atol=1e-12)
    np.testing.assert_allclose(M @ part.vectors, part.vectors * part.values, atol=1e-12)
    assert (np.diff(part.values) <= 0).all()
    P, K = rng.normal(size=(7, 3)), M @ M
    np.testing.assert_allclose(part.matrix.restrict(P), [P.T @ one @ P for one in A], atol=1e-12)
    np.testing.assert_allclose(part.matrix.forms(P), [np.diag(P.T @ one @ P) for one in A], atol=1e-12)
    W = P @ P.T
    coupled = [[np.trace(one @ W @ other @ K) for other in A] for one in A]
    np.testing.assert_allclose(part.matrix.pairs(W, K), coupled, rtol=1e-10)
    entries = W[part.matrix.rows, part.matrix.columns]
    np.testing.assert_allclose(part.matrix.gathered(entries), [np.vdot(one, W) for one in A], atol=1e-12)
    sizes = [np.vdot(np.abs(one), W) for one in A]
    np.testing.assert_allclose(part.matrix.gathered(entries, absolute=True), sizes, atol=1e-12)
    np.testing.assert_allclose(part.matrix.moved(y).toarray(), np.tensordot(y, A, 1), atol=1e-12)


def test_the_small_master_agrees_with_clarabel():
    rng = np.random.default_rng(4)
    F = rng.normal(size=(6, 4, 4))
    F = F + F.transpose(0, 2, 1)
    root = rng.normal(size=(4, 4))
    model = SpectralModel(-root @ root.T, F, np.array([-0.5, -0.1]), rng.normal(size=(2, 6)))
    done = minimize_spectral(model, np.diag(np.arange(1.0, 7.0)), tolerance=1e-10)
    s, t = cp.Variable(6), cp.Variable()
    matrix = model.center + sum(s[i] * F[i] for i in range(6))
    inside = [matrix << t * np.eye(4), model.constants + model.slopes @ s <= t]
    quadratic = 0.5 * cp.sum(cp.multiply(np.arange(1.0, 7.0), cp.square(s)))
    known = cp.Problem(cp.Minimize(t + quadratic), inside).solve(solver=cp.CLARABEL)
    assert -done.decrease == pytest.approx(known, abs=1e-7)
    np.testing.assert_allclose(done.s, s.value, atol=1e-5)
    assert np.trace(done.V) + done.eta.sum() == pytest.approx(1.0)
    V, eta = flattened(model, done.V, done.eta)
    assert np.linalg.norm(model.slope(V, eta)) < np.linalg.norm(model.slope(done.V, done.eta))
    assert np.linalg.eigvalsh(V)[0] > 0
    assert (eta > 0).all()
    assert np.trace(V) + eta.sum() == pytest.approx(1.0)


def test_the_spectral_bundle_is_replayed_from_a_journal(tmp_path):
    domain, path = FreeSpace(10, 100.0), tmp_path / "run.journal"
    minimize(max_cut(10, domain=domain), SpectralBundle(), max_calls=3, journal=path)
    again = minimize(max_cut(10, domain=domain), SpectralBundle(), journal=path)
    straight = minimize(max_cut(10, domain=domain), SpectralBundle())
    assert again.success
    assert again.n_calls == straight.n_calls
    assert again.upper_bound == straight.upper_bound


def test_the_spectral_bundle_goes_on_from_old_cuts():
    oracle = max_cut(12, domain=FreeSpace(12, 100.0))
    first = minimize(oracle, SpectralBundle(), max_calls=4, keep_cuts=True)
    second = minimize(oracle, SpectralBundle(), cuts=first.history.cuts)
    assert second.success
    assert second.n_calls < minimize(oracle, SpectralBundle()).n_calls
    plain = minimize(oracle, LevelSet(), max_calls=2, keep_cuts=True)
    with pytest.raises(InvalidArgument, match="must carry Eigenpairs"):
        minimize(oracle, SpectralBundle(), cuts=plain.history.cuts)


def test_what_the_spectral_bundle_refuses():
    box = max_cut(5, domain=Box(-np.ones(5), np.ones(5)))
    with pytest.raises(CapabilityMismatch, match="FreeSpace"):
        minimize(box, SpectralBundle())
    for name, value in (("descent", 0.7), ("proximal", -1.0), ("min_order", 0), ("max_order", 1)):
        with pytest.raises(InvalidArgument, match=f"`{name}`"):
            minimize(max_cut(5), SpectralBundle(**{name: value}))


def test_matrices_are_symmetric_up_to_rounding():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(4, 4))
    C = C + C.T
    for away, refused in ((0.0, False), (1e-14, False), (1e-10, True)):
        given = C.copy()
        given[0, 1] += away * np.abs(C).max()
        for matrices in ((given, [np.eye(4)]), (np.eye(4), [given])):
            if refused:
                with pytest.raises(InvalidArgument, match="must be symmetric, and differs from its transpose"):
                    MaxEigenvalueOracle(*matrices, [1.0])
            else:
                MaxEigenvalueOracle(*matrices, [1.0])
    MaxEigenvalueOracle(np.zeros((3, 3)), [np.zeros((3, 3))], [0.0])


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
