"""Forms of the spectral master: products of sparse matrices, of dense ones, in the multipliers; the model whole."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, Query, Status, minimize
from oracle_opt.answers.eigenpairs import AffineMatrix, Eigenpairs
from oracle_opt.answers.pair_products import PairProducts
from oracle_opt.generators import SpectralBundle
from oracle_opt.generators.masters import spectral_subspace
from oracle_opt.generators.masters.spectral_master import flattened, minimize_spectral
from oracle_opt.generators.masters.spectral_models import ChosenRows, Span, SpectralModel, StructuredModel
from oracle_opt.generators.masters.spectral_multipliers import minimize_in_multipliers
from oracle_opt.oracles import MaxEigenvalueOracle

ORDER = 14


def symmetric(rng, order=ORDER):
    one = rng.normal(size=(order, order))
    return one + one.T


def diagonal(rng):
    return [np.diag(row) for row in np.eye(ORDER) * rng.normal(size=ORDER)]


def edges(rng):
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((ORDER, ORDER)), 1)))[:30]
    return [np.eye(ORDER)[[i]].T @ np.eye(ORDER)[[j]] + np.eye(ORDER)[[j]].T @ np.eye(ORDER)[[i]] for i, j in pairs]


def scattered(rng):
    """A few entries each, some of them in common."""
    return [np.where(rng.random((ORDER, ORDER)) < 0.05, symmetric(rng), 0.0) for _ in range(12)]


def low_rank(rng):
    """Dense, of rank one and two, beside those of a diagonal, as a partition into halves has."""
    some = [rng.normal(size=(ORDER, k)) for k in (1, 2)]
    return [*diagonal(rng), np.ones((ORDER, ORDER)), *(one @ one.T for one in some)]


def dense(rng):
    return [symmetric(rng) for _ in range(5)]


def blocks(rng):
    """Two blocks, rows of order one, and a matrix that is zero."""
    result = [np.zeros((ORDER, ORDER))]
    for _ in range(6):
        one = np.diag(rng.normal(size=ORDER))
        one[:5, :5], one[5:9, 5:9] = symmetric(rng, 5), symmetric(rng, 4)
        result.append(one)
    return result


FAMILIES = [diagonal, edges, scattered, low_rank, dense, blocks]


def affine(A):
    A = [0.5 * (one + one.T) for one in A]
    return A, AffineMatrix.of(sparse.eye_array(ORDER, format="csr"), [sparse.csr_array(one) for one in A])


@pytest.mark.parametrize("dear", ["as measured", "PAIR", "PLACE", "MATRIX"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.__name__)
def test_every_form_of_pair_products_is_that_of_dense_matrices(family, dear, monkeypatch):
    """Also those that are not the cheapest: one of the forms at a time is made too dear."""
    rng = np.random.default_rng(0)
    A, matrix = affine(family(rng))
    if dear != "as measured":
        monkeypatch.setattr(f"oracle_opt.answers.pair_products.{dear}", 1e9)
    products = PairProducts(ORDER, matrix.rows, matrix.columns, matrix.entries)
    V, K = symmetric(rng), symmetric(rng)
    known = np.array([[np.trace(one @ V @ other @ K) for other in A] for one in A])
    np.testing.assert_allclose(products(V, K), known, atol=1e-12 * np.abs(known).max())


def structured(family, whole, seed=0):
    """A model in both forms, at a point where it is at most zero."""
    rng = np.random.default_rng(seed)
    A, matrix = affine(family(rng))
    told = Eigenpairs(matrix, 1.7, rng.normal(size=len(A)), np.zeros(1), np.zeros((ORDER, 1)))
    coupled = np.setdiff1d(np.arange(ORDER), matrix.single)
    basis = ChosenRows(coupled, ORDER) if whole else Span(np.linalg.qr(rng.normal(size=(ORDER, 5)))[0])
    root = rng.normal(size=(len(coupled), len(coupled)) if whole else (5, 5))
    slopes = rng.normal(size=(3, len(A)))
    model = StructuredModel(told, basis, -root @ root.T, -rng.random(3), slopes)
    P = basis.columns
    F = [side * np.eye(P.shape[1]) - 1.7 * P.T @ one @ P for side, one in zip(told.b, A, strict=True)]
    return model, SpectralModel(model.center, np.array(F), model.constants, slopes), rng


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.__name__)
def test_the_structured_model_is_the_dense_one(family, whole):
    model, small, rng = structured(family, whole)
    r, m = len(model.center), model.slopes.shape[1]
    s, eta, V, K = rng.normal(size=m), rng.random(3), symmetric(rng, r), symmetric(rng, r)
    for one, other in zip(model.at(s), small.at(s), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(model.slope(V, eta), small.slope(V, eta), atol=1e-11)
    assert model.constant(V, eta) == pytest.approx(small.constant(V, eta))
    np.testing.assert_allclose(model.pairs(V, K), small.pairs(V, K), atol=1e-10)
    sizes, constant = model.sizes(V, eta)
    assert (sizes >= np.abs(model.slope(V, eta)) - 1e-9).all()
    assert constant >= abs(model.constant(V, eta)) - 1e-9
    np.testing.assert_allclose(spectral_subspace.restricted(model).matrices, small.matrices, atol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.__name__)
def test_all_forms_of_the_master_find_the_same(family, whole):
    """With an almost singular quadratic as with a stiff one; the form in multipliers may give up, and be right only."""
    for seed, power in enumerate((-6.0, -2.0, 2.0)):
        model, small, rng = structured(family, whole, seed)
        m = model.slopes.shape[1]
        factor = rng.normal(size=(m, 3))
        hessian = factor @ factor.T + 10.0**power * np.eye(m)
        known = minimize_spectral(small, hessian, tolerance=1e-8)
        others = [minimize_spectral(model, hessian, tolerance=1e-8), minimize_in_multipliers(small, hessian, 1e-8)]
        assert others[1] is not None or power == -6.0
        for other in others:
            if other is not None:
                assert other.decrease == pytest.approx(known.decrease, rel=1e-4)
                assert np.trace(other.V) + other.eta.sum() == pytest.approx(1.0)
                assert np.linalg.eigvalsh(other.V).min(initial=1.0) > 0
        V = flattened(model, known.V, known.eta)[0]
        np.testing.assert_allclose(V, flattened(small, known.V, known.eta)[0], atol=1e-5)


def random_theta(nodes, count, seed):
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.argwhere(np.triu(np.ones((nodes, nodes)), 1)))[:count]
    A = [sparse.csr_array(([1.0, 1.0], ([i, j], [j, i])), shape=(nodes, nodes)) for i, j in chosen]
    return MaxEigenvalueOracle(np.ones((nodes, nodes)), A, np.zeros(count), domain=FreeSpace(count, 1e3))


@pytest.mark.parametrize(("nodes", "count"), [(12, 25), (40, 150), (45, 260)])
def test_theta_of_random_graphs_takes_four_calls(nodes, count):
    """Also where the largest eigenvalue at the solution is as multiple as the model has vectors."""
    oracle = random_theta(nodes, count, nodes)
    X = cp.Variable((nodes, nodes), PSD=True)
    at = oracle.matrix.rows < oracle.matrix.columns
    zeros = [X[oracle.matrix.rows[at], oracle.matrix.columns[at]] == 0, cp.trace(X) == 1]
    known = cp.Problem(cp.Maximize(cp.sum(X)), zeros).solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_feas=1e-9)
    run = minimize(oracle, SpectralBundle(), rtol=1e-6, max_calls=20)
    assert run.status is Status.CONVERGED
    assert run.n_calls <= 5
    assert run.lower_bound - 1e-6 * known <= known <= run.upper_bound + 1e-6 * known


@pytest.mark.parametrize("form", ["sparse", "dense", "multipliers"])
def test_a_run_in_each_form_proves_the_same(form, monkeypatch):
    """Each form is made the cheapest, of a model on a subspace."""
    places = ["sparse", "dense", "multipliers"]
    dear = tuple(1.0 if name == form else 1e6 for name in places)
    monkeypatch.setattr(spectral_subspace, "nanoseconds", lambda told, r, n, whole=False: dear)
    monkeypatch.setattr(spectral_subspace, "DEARER", 0.0)
    oracle = random_theta(24, 60, 3)
    run = minimize(oracle, SpectralBundle(min_order=12), rtol=1e-6, max_calls=60)
    whole = minimize(random_theta(24, 60, 3), SpectralBundle(), rtol=1e-8, max_calls=60)
    assert run.success
    assert whole.success
    assert run.lower_bound <= whole.upper_bound
    assert whole.lower_bound <= run.upper_bound


def test_the_model_whole_stays_in_the_ball():
    """Without an interior no minimizer exists: points are those of the ball, and so is what is proven."""
    rng = np.random.default_rng(0)
    C, order = symmetric(rng, 40), 40
    A = [np.diag(row) for row in np.eye(order)] + [np.ones((order, order))]
    sides = np.r_[np.ones(order), 0.0]
    # X is of the complement of the ones, where it has an interior
    Q = np.linalg.qr(np.c_[np.ones(order), rng.normal(size=(order, order - 1))])[0][:, 1:]
    Y = cp.Variable((order - 1, order - 1), PSD=True)
    fixed = [cp.diag(Q @ Y @ Q.T) == 1]
    known = cp.Problem(cp.Maximize(cp.trace(Q.T @ C @ Q @ Y)), fixed).solve(solver=cp.CLARABEL)
    for radius in (1e2, 1e3, 1e4):
        oracle = MaxEigenvalueOracle(C, A, sides, trace=order, domain=FreeSpace(order + 1, radius))
        run = minimize(oracle, SpectralBundle(), rtol=1e-5, max_calls=60, keep_cuts=True)
        assert all(np.linalg.norm(cut.point) <= radius for cut in run.history.cuts)
        assert run.upper_bound >= known - 1e-5 * abs(known)
        assert run.status in (Status.CONVERGED, Status.EDGE)
        assert run.n_calls <= 8


def test_bounds_of_a_model_in_sparse_form_hold_exactly():
    """The minorant of any multipliers, against the largest eigenvalue at random points of the ball."""
    rng = np.random.default_rng(1)
    for seed in range(4):
        oracle = random_theta(35, 120, seed)
        generator = SpectralBundle()
        run = minimize(oracle, generator, max_calls=2)
        minorant = generator.minorant()
        assert run.n_calls == 2
        for _ in range(20):
            z = rng.normal(size=120)
            z *= 1e3 * rng.random() / np.linalg.norm(z)
            value = np.linalg.eigvalsh(oracle.matrix.at(z).toarray())[-1] + oracle.b @ z
            assert minorant.constant + minorant.slope @ z - minorant.error <= value + 1e-12 * abs(value)
        assert oracle.query(Query(np.zeros(120))).value == pytest.approx(35.0)
