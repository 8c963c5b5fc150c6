"""Conic problems of many rows or cones: the same answers as from few, bounds that hold, and little memory."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from oracle_opt import Box, FeasibilityCut, FreeSpace, ObjectiveCut, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero

RADIUS = 10.0


def program(kind, n, m, seed):
    """Objective, rows and sides of ``min c @ x, A @ x <= b``, the origin strictly inside where `kind` allows."""
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(m, n)), rng.normal(size=n)
    b = rng.uniform(0.5, 1.5, m) * np.linalg.norm(A, axis=1)
    match kind:
        case "duplicates":
            first = np.arange(m) % (m // 20)
            scale = rng.uniform(0.01, 100.0, m)
            A, b = A[first] * scale[:, None], b[first] * scale
        case "parallel":  # the same normals with other sides, and their opposites
            first = np.arange(m) % (m // 10)
            A, b = A[first] * rng.choice([-1.0, 1.0], m)[:, None], rng.uniform(0.5, 5.0, m)
        case "zero rows":
            A[::3] = 0.0
            b[::3] = rng.choice([0.0, 1.0, 1e6], len(b[::3]))
        case "curved":  # the planes of a ball, whose rows are neighbors of each other
            A[:, :2] *= 10.0
            A /= np.linalg.norm(A, axis=1)[:, None]
            b = np.ones(m)
        case "lengths":
            scale = 10.0 ** rng.uniform(-6, 6, m)
            A, b = A * scale[:, None], b * scale
    return c, A, b


def known_optimum(c, A, b, equations=0):
    """By HiGHS, within the box around the radius."""
    rows = {"A_ub": A[equations:], "b_ub": b[equations:]}
    if equations:
        rows |= {"A_eq": A[:equations], "b_eq": b[:equations]}
    return linprog(c, **rows, bounds=(-RADIUS, RADIUS), method="highs")


@pytest.mark.campaign(3)
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kind", ["random", "duplicates", "parallel", "zero rows", "curved", "lengths"])
@pytest.mark.parametrize("n", [2, 12])
def test_bounds_hold_the_optimum_of_highs(n, kind, form):
    for seed, generator in enumerate([Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()]):
        c, A, b = program(kind, n, 900, seed)
        rows = A if form == "dense" else sparse.csr_array(A)
        domain = Box(np.full(n, -RADIUS), np.full(n, RADIUS))
        run = minimize(ConicOracle(c, rows, b, [Nonnegative(len(b))], domain=domain), generator, max_calls=400)
        known = known_optimum(c, A, b).fun
        assert run.status is Status.CONVERGED
        assert run.lower_bound <= known + 1e-7 * abs(known)
        assert run.upper_bound >= known - 1e-7 * (1.0 + abs(known))
        assert run.relative_gap <= 1e-6 or run.gap <= 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_equations_among_the_rows(seed):
    c, A, b = program("random", 10, 500, seed)
    b[:3] = A[:3] @ np.random.default_rng(seed).uniform(-0.1, 0.1, 10)
    domain = Box(np.full(10, -RADIUS), np.full(10, RADIUS))
    known = known_optimum(c, A, b, 3).fun
    for oracle in (
        ConicOracle(c, A, b, [Zero(3), Nonnegative(497)], domain=domain),
        ConicOracle(c, A, b, [Zero(1), Zero(2), *[Nonnegative(1)] * 497], domain=FreeSpace(10, RADIUS)),
    ):
        run = minimize(oracle, Kelley())
        assert run.status is Status.CONVERGED
        assert run.lower_bound <= known + 1e-7 * abs(known)
        assert run.upper_bound == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_infeasible_and_unbounded_programs_are_called_so(form):
    made = np.asarray if form == "dense" else sparse.csr_array
    c, A, b = program("random", 5, 3000, 1)
    A[1500] = -A[700]
    b[1500] = -b[700] - 1.0
    oracle = ConicOracle(c, made(A), b, [Nonnegative(3000)], domain=FreeSpace(5, 100.0))
    run = minimize(oracle, Kelley(), keep_cuts=True)
    assert run.status is Status.EMPTY
    assert linprog(c, A_ub=A, b_ub=b, bounds=(None, None)).status == 2
    proof = oracle.infeasibility(run.history.cuts)
    assert proof.in_dual_cone
    assert proof.dual.shape == b.shape
    assert proof.reach > 1e6
    assert np.linalg.norm(A.T @ proof.dual) <= 1e-6 * -(b @ proof.dual)
    half = A[A @ c > 0]  # all of them leave -c unbounded
    falling = ConicOracle(c, made(half), b[: len(half)], [Nonnegative(len(half))], domain=FreeSpace(5, 100.0))
    assert minimize(falling.recession(), Kelley(), atol=1e-9).upper_bound < -1e-3


def test_a_proof_needs_rows_that_no_cut_named():
    """The run ends early; the rows that prove the contradiction join by their reduced costs."""
    c, A, b = program("random", 4, 6000, 2)
    A[4000], b[4000] = -A[5000], -b[5000] - 10.0
    oracle = ConicOracle(c, A, b, [Nonnegative(6000)], domain=FreeSpace(4, 100.0))
    cut = oracle.query(Query(np.full(4, 50.0)))
    proof = oracle.infeasibility([cut])
    assert proof.in_dual_cone
    assert proof.reach > 1e6


def test_the_dual_of_each_cut_is_behind_its_half_space():
    rng = np.random.default_rng(5)
    cones = [
        Nonnegative(40),
        SecondOrder(4),
        Zero(2),
        PositiveSemidefinite(3),
        SecondOrder(4),
        Exponential(),
        Power(0.3),
    ]
    m = sum(cone.dimension for cone in cones)
    A, b = rng.normal(size=(m, 6)), rng.normal(size=m)
    for rows in (A, sparse.csr_array(A)):
        oracle = ConicOracle(np.ones(6), rows, b, cones, domain=Box(np.full(6, -9.0), np.full(6, 9.0)))
        for x in rng.uniform(-9, 9, (20, 6)):
            cut = oracle.query(Query(x))
            assert isinstance(cut, FeasibilityCut)
            assert cut.further
            for one in (cut, *cut.further):
                y = oracle.dual_vector(one)
                assert y.shape == (m,)
                assert np.array_equal(np.flatnonzero(y), one.extras["dual_rows"][one.extras["dual_values"] != 0])
                np.testing.assert_allclose(A.T @ y, one.normal, atol=1e-12)
                assert y @ (A @ x - b) == pytest.approx(one.violation, rel=1e-9)
                starts = np.cumsum([0, *(cone.dimension for cone in cones)])
                for cone, start in zip(cones, starts[:-1], strict=True):
                    assert cone.dual_contains(y[start : start + cone.dimension]) or isinstance(cone, Zero)


def test_the_cut_is_the_farthest_row_and_the_further_ones_point_elsewhere():
    c, A, b = program("duplicates", 6, 2000, 3)
    oracle = ConicOracle(c, A, b, [Nonnegative(2000)], domain=FreeSpace(6, 100.0), max_half_spaces=10)
    x = np.full(6, 5.0)
    cut = oracle.query(Query(x))
    lengths = np.linalg.norm(A, axis=1)
    assert cut.violation == pytest.approx(((A @ x - b) / lengths).max(), rel=1e-12)
    normals = np.array([one.normal for one in (cut, *cut.further)])
    assert len(normals) == 10
    assert (normals @ normals.T - np.eye(10)).max() < 0.9991
    violations = [one.violation for one in (cut, *cut.further)]
    assert violations == sorted(violations, reverse=True)


CURVED = [SecondOrder(1), SecondOrder(4), PositiveSemidefinite(2), PositiveSemidefinite(4), Exponential(), Power(0.3)]


@pytest.mark.parametrize("cone", CURVED, ids=repr)
def test_a_screen_is_zero_only_inside(cone):
    rng = np.random.default_rng(6)
    points = rng.normal(size=(500, cone.dimension)) * 10.0 ** rng.integers(-160, 160, size=(500, 1))
    points[::5] = rng.integers(-1, 2, size=(100, cone.dimension))
    points[::7] = [cone.project(point) for point in points[::7]]
    far = cone.screen(points)
    assert far.shape == (500,)
    assert (far >= 0.0).all()
    for point, distance in zip(points, far, strict=True):
        assert distance > 0.0 or cone.distance(point) <= 1e-14 * np.abs(point).max()
    assert 20 < np.sum(far == 0.0) < 480


@pytest.mark.parametrize("cone", CURVED[1:], ids=repr)
def test_many_cones_of_a_kind_are_the_same_as_each_alone(cone):
    """Points are feasible for all of them together where they are for each; the deepest half-space is that of one."""
    rng = np.random.default_rng(7)
    k, n, d = 60, 3, cone.dimension
    A = rng.normal(size=(k * d, n))
    inner = {Exponential: [0.0, 1.0, 3.0], Power: [1.0, 1.0, 0.0], SecondOrder: [2.0, *np.zeros(d - 1)]}
    middle = inner.get(type(cone), cone.vector(np.eye(cone.order)) if isinstance(cone, PositiveSemidefinite) else None)
    b = np.tile(middle, k)
    domain = Box(np.full(n, -2.0), np.full(n, 2.0))
    together = ConicOracle(np.ones(n), A, b, [cone] * k, domain=domain)
    alone = [ConicOracle(np.ones(n), A[i : i + d], b[i : i + d], [cone], domain=domain) for i in range(0, k * d, d)]
    seen = set()
    for scale in 10.0 ** np.linspace(-3, 0, 20):
        query = Query(scale * rng.uniform(-2, 2, n))
        whole, each = together.query(query), [one.query(query) for one in alone]
        cuts = [cut for cut in each if isinstance(cut, FeasibilityCut)]
        assert isinstance(whole, ObjectiveCut) == (not cuts)
        seen.add(bool(cuts))
        if cuts:
            assert len(whole.further) < 50
            stated = [one.violation for cut in cuts for one in (cut, *cut.further)]
            assert min(abs(whole.violation - violation) for violation in stated) <= 1e-9
            assert whole.violation >= 0.3 * max(stated)
    assert seen == {True, False}


def test_memory_is_a_small_multiple_of_the_data():
    """A copy of the matrix, vectors with an entry a row, also where the value is checked, and no rows times rows."""
    n, m = 20, 100_000
    c, A, b = program("random", n, m, 8)
    thin = sparse.csr_array(np.where(np.abs(A) > 1.4, A, 0.0))
    size = thin.data.nbytes + thin.indices.nbytes + thin.indptr.nbytes
    for rows, data in ((A, A.nbytes), (thin, size)):
        domain = FreeSpace(n, 1e3)
        tracemalloc.start()
        run = minimize(ConicOracle(c, rows, b, [Nonnegative(m)], domain=domain), Kelley(), keep_cuts=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert run.status is Status.CONVERGED
        assert peak <= 2.5 * (data + b.nbytes)
