"""What cuts of a largest eigenvalue state, in rational arithmetic; runs on the edge of what is promised."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import FreeSpace, FunctionOracle, Minorant, ObjectiveCut, Query, Status, minimize
from oracle_opt.bounds import BoundTracker
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.oracles import MaxEigenvalueOracle


def exact(array):
    """The same numbers as fractions."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def definite(M):
    """Whether a symmetric matrix of fractions is positive definite, by elimination."""
    M = M.copy()
    while len(M):
        if M[0, 0] <= 0:
            return False
        M = M[1:, 1:] - np.outer(M[1:, 0], M[0, 1:]) / M[0, 0]
    return True


def program(rng, order, m, scale):
    """Symmetric matrices with integer, random or badly scaled entries."""
    C, *A = rng.normal(size=(m + 1, order, order)) * 10.0 ** rng.uniform(-scale, scale, (m + 1, 1, 1))
    return C + C.T, [one + one.T for one in A], rng.normal(size=m)


@pytest.mark.parametrize("lanczos_from", [1000, 1])
@pytest.mark.parametrize("scale", [0.0, 3.0])
def test_cuts_hold_exactly_on_the_whole_domain(scale, lanczos_from):
    """Value and error enclose f, and each cut lies below it, with the largest eigenvalue proven by elimination."""
    rng = np.random.default_rng(int(scale))
    for _ in range(8):
        order, m, trace = int(rng.integers(3, 6)), int(rng.integers(1, 4)), float(10.0 ** rng.uniform(-3, 6))
        C, A, b = program(rng, order, m, scale)
        domain = FreeSpace(m, float(10.0 ** rng.uniform(0, 4)), rng.normal(size=m))
        oracle = MaxEigenvalueOracle(
            C, A, b, trace=trace, domain=domain, n_vectors=2, within=1.0, lanczos_from=lanczos_from
        )
        y = domain.center + rng.normal(size=m) * domain.radius / 10.0
        cut = oracle.query(Query(y))
        exact_C, exact_A, exact_b = exact(C), [exact(one) for one in A], exact(b)

        def beyond(number, z, C=exact_C, A=exact_A, b=exact_b, trace=trace):
            """Whether a number exceeds f(z) = trace lambda_max(M(z)) + b z."""
            M = sum((one * entry for one, entry in zip(A, z, strict=True)), -C)
            M[np.diag_indices(len(M))] += (number - b @ z) / Fraction(trace)
            return definite(M)

        at = exact(y)
        assert not beyond(Fraction(cut.value), at)
        assert beyond(Fraction(cut.value) + Fraction(cut.error), at)
        assert cut.error <= 1e-6 * (trace * max(np.abs(C).max(), *(np.abs(one).max() for one in A)) * domain.radius)
        for one in (cut, *cut.further):
            for sign in (1.0, -1.0):
                z = exact(domain.center + sign * domain.radius * one.subgradient / np.linalg.norm(one.subgradient))
                assert not beyond(Fraction(one.value) + exact(one.subgradient) @ (z - at), z)


def test_lanczos_that_misses_the_top_states_it_as_an_error(monkeypatch):
    """Also if it finds other eigenvalues, or too small ones, to any accuracy."""
    rng = np.random.default_rng(3)
    eigsh = sparse.linalg.eigsh
    for miss in range(1, 4):

        def missing(M, k, miss=miss, **options):
            values, vectors = eigsh(M, k=k + miss, **options | {"v0": None})
            order = np.argsort(-values)[miss:]
            return values[order], vectors[:, order]

        monkeypatch.setattr(sparse.linalg, "eigsh", missing)
        for _ in range(5):
            C, A, b = program(rng, 30, 3, 0.0)
            oracle = MaxEigenvalueOracle(C, A, b, trace=2.0, n_vectors=2, lanczos_from=1, domain=FreeSpace(3, 10.0))
            y = rng.normal(size=3)
            cut = oracle.query(Query(y))
            truth = 2.0 * np.linalg.eigvalsh(C - np.tensordot(y, A, 1))[-1] + b @ y
            assert cut.value <= truth <= cut.upper
            assert cut.value == pytest.approx(truth, rel=1e-6)  # LAPACK took over


def test_a_rough_eigenvector_shows_in_the_error(monkeypatch):
    """The right eigenvalue with a vector that is not quite its own: the cut is lower, the error larger."""
    rng = np.random.default_rng(4)
    eigsh = sparse.linalg.eigsh

    def rough(M, **options):
        values, vectors = eigsh(M, **options | {"v0": None})
        vectors = vectors + 1e-3 * rng.normal(size=vectors.shape)
        return values, vectors

    monkeypatch.setattr(sparse.linalg, "eigsh", rough)
    C, A, b = program(rng, 30, 3, 0.0)
    oracle = MaxEigenvalueOracle(C, A, b, n_vectors=2, lanczos_from=1, domain=FreeSpace(3, 10.0))
    y = rng.normal(size=3)
    cut = oracle.query(Query(y))
    truth = np.linalg.eigvalsh(C - np.tensordot(y, A, 1))[-1] + b @ y
    assert cut.value < truth - 1e-6
    assert truth <= cut.upper <= truth + 1e-6


def test_lanczos_that_cannot_begin_gives_way_to_lapack():
    """The last eigenvector is of the eigenvalue zero, or there are as many vectors wanted as there are rows."""
    C = np.diag([0.0, *-np.arange(1.0, 13.0)])
    A = [np.diag(np.arange(13.0))]
    oracle = MaxEigenvalueOracle(C, A, [1.0], n_vectors=3, lanczos_from=1, domain=FreeSpace(1, 10.0))
    for y in (0.5, 0.6, -3.0):
        cut = oracle.query(Query(np.array([y])))
        truth = (np.diag(C) - y * np.arange(13.0)).max() + y
        assert cut.value <= truth <= cut.upper
        oracle._last = np.eye(13)[0]
    for n_vectors in (12, 13):
        oracle = MaxEigenvalueOracle(C, A, [1.0], n_vectors=n_vectors, lanczos_from=1)
        assert oracle.query(Query(np.zeros(1))).upper >= 0.0


@pytest.mark.parametrize("generator", [SpectralBundle(), SpectralBundle(min_order=3)], ids=repr)
def test_a_promise_that_is_false_ends_without_a_contradiction(generator):
    """Matrices whose f falls without end, as the trace is too small: bounds are those of the ball, points too."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        C, A, b = program(rng, 8, 5, 0.0)
        b = b * 100.0
        oracle = MaxEigenvalueOracle(C, A, b, domain=FreeSpace(5, 50.0))
        run = minimize(oracle, generator, max_calls=40, keep_cuts=True)
        assert run.status is not Status.CONTRADICTION
        assert run.lower_bound <= run.upper_bound
        assert all(np.linalg.norm(cut.point) <= 50.0 for cut in run.history.cuts)
        assert np.linalg.norm(run.point) >= 49.0


@pytest.mark.parametrize(
    "generator", [SpectralBundle(), ProximalBundle(), LevelSet(), AnalyticCenter(), Kelley()], ids=repr
)
def test_bounds_of_a_ball_are_withdrawn_where_a_point_outside_has_a_lower_value(generator):
    """Points in the corners of the box around the ball, or far away: nothing is proven, and no cut is wrong."""
    seen = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        C, A, b = program(rng, 8, 6, 0.0)
        oracle = MaxEigenvalueOracle(C, A, b * 100.0, domain=FreeSpace(6, 5.0))
        run = minimize(oracle, generator, max_calls=60)
        seen.add(run.status)
        assert run.status is not Status.CONTRADICTION
        assert run.lower_bound <= run.upper_bound
        if run.status is Status.OUTSIDE:
            assert np.linalg.norm(run.point) > 5.0
            assert run.lower_bound == -np.inf
            assert not run.success
            assert "larger radius" in run.message
    assert (Status.OUTSIDE in seen) == (not isinstance(generator, SpectralBundle))


def test_wrong_cuts_are_called_so_in_the_ball_and_outside():
    """Slopes of the wrong sign contradict each other wherever the points lie."""
    for radius in (0.5, 10.0):
        concave = FunctionOracle(lambda z: (float(-z @ z), -2 * z), FreeSpace(1, radius))
        for generator in (ProximalBundle(), Kelley()):
            assert minimize(concave, generator, [0.4]).status is Status.CONTRADICTION


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("source", ["model", "oracle"])
def test_only_bounds_over_the_ball_are_withdrawn_and_only_by_a_point_outside(outside, source):
    bounds = BoundTracker(FreeSpace(2, 1.0, [3.0, 0.0]))
    point = np.array([3.0, 1.1 if outside else 0.9])
    cut = ObjectiveCut(point, 0.0, np.zeros(2), error=2.0, lower_bound=1.0 if source == "oracle" else -np.inf)
    minorant = Minorant(1.0, np.zeros(2)) if source == "model" else None
    bounds.update(cut, minorant, 0.0)
    assert bounds.lower == pytest.approx(1.0)
    assert not bounds.refuted
    bounds.update(ObjectiveCut(point, 0.0, np.zeros(2)), minorant, 0.0)
    assert bounds.refuted == (outside and source == "model")
    assert bounds.contradiction() != bounds.refuted
    assert bounds.lower == (-np.inf if bounds.refuted else pytest.approx(1.0))
