"""Cones: what was once called feasible, what half-spaces and distances mean, and which vectors are in the dual cone."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from oracle_opt import Box, FeasibilityCut, FreeSpace, ObjectiveCut, Query
from oracle_opt.errors import Refuted
from oracle_opt.oracles import ConicOracle, Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero
from oracle_opt.oracles.conic import conic_value_proof, half_spaces
from oracle_opt.proof.enclosure import Enclosure

CONES = [
    Zero(3),
    Nonnegative(4),
    SecondOrder(4),
    SecondOrder(1),
    PositiveSemidefinite(3),
    Exponential(),
    Power(0.3),
    Power(0.02),
]
OUTSIDE = [
    (Exponential(), [300, 1, 1e-100]),
    (Exponential(), [5, 1, -1e-12]),
    (Exponential(), [1, 0, 0]),
    (Exponential(), [0, 1, 0]),
    (Exponential(), [1, 0, 1e300]),
    (Exponential(), [-700, 1, -1e-20]),
    (Exponential(), [-1e300, 1e-300, -1]),
    (Exponential(), [5e-324, -1, 1]),
    (Power(0.3), [-1e-12, -1e-13, 100]),
    (Power(0.3), [0, 1, 1]),
    (Power(0.3), [1, 0, -1]),
    (Power(0.3), [5e-324, 1e300, 1e300]),
    (Power(0.02), [1, -1, 1e-3]),
]
EDGE = [
    (Exponential(), [0, 1, 1]),
    (Exponential(), [-1, 0, 0]),
    (Exponential(), [-5, 0, 1e-300]),
    (Exponential(), [0, 0, 0]),
    (Power(0.3), [1, 0, 0]),
    (Power(0.3), [1, 1, -1]),
    (Power(0.3), [0, 0, 0]),
    (SecondOrder(3), [5, 3, -4]),
]


@pytest.mark.parametrize(("cone", "v"), OUTSIDE, ids=str)
def test_points_outside_are_cut_off(cone, v):
    v = np.array(v, dtype=float)
    rows = cone.separate(v)
    assert len(rows) == 1
    assert np.linalg.norm(rows[0]) == pytest.approx(1.0, abs=1e-13)
    assert rows[0] @ v < 0
    assert cone.dual_contains(rows[0], 1e-14)
    assert cone.distance(v) == pytest.approx(-float(rows[0] @ v))


@pytest.mark.parametrize(("cone", "v"), EDGE, ids=str)
def test_points_of_the_edge_are_kept(cone, v):
    v = np.array(v, dtype=float)
    assert not len(cone.separate(v))
    assert cone.distance(v) == 0.0
    np.testing.assert_array_equal(cone.project(v), v)


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_projections_satisfy_moreau(cone):
    rng = np.random.default_rng(0)
    for _ in range(200):
        v = rng.normal(size=cone.dimension) * 10.0 ** rng.uniform(-6, 6, cone.dimension)
        p, rows = cone.project(v), cone.separate(v)
        size = np.linalg.norm(v)
        assert cone.distance(p) <= 1e-13 * size
        assert cone.dual_distance(p - v) <= 1e-13 * size
        assert abs(p @ (v - p)) <= 1e-13 * size**2
        assert cone.distance(v) == pytest.approx(np.linalg.norm(p - v), abs=1e-13 * size)
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-13)
        np.testing.assert_array_equal(cone.separate(v, 1), rows[:1])
        # the cone of another scale is the same
        np.testing.assert_allclose(cone.project(v * 2.0**200), p * 2.0**200, rtol=0, atol=1e-13 * size * 2.0**200)


@pytest.mark.parametrize(
    ("cone", "v"),
    [(SecondOrder(3), [1.0, 1.0, 0.0]), (Exponential(), [1.0, 1.0, np.e]), (Power(0.5), [1.0, 4.0, 2.0])],
    ids=str,
)
def test_a_point_is_feasible_within_the_stated_distance(cone, v):
    """The identity as A: the distance in x is the distance from the cone, relative to the terms from 1 on."""
    v = np.array(v)
    outward = cone.separate(v + np.array([0.1, 0, 0] if isinstance(cone, Exponential) else [-0.1, 0, 0]))
    oracle = ConicOracle(np.ones(3), -np.eye(3), np.zeros(3), [cone], domain=Box(-np.full(3, 9.0), np.full(3, 9.0)))
    answers = []
    for step in (0.5e-9, 20e-9):
        answers.append(oracle.query(Query(v - step * outward[0])))
    assert isinstance(answers[0], ObjectiveCut)
    assert isinstance(answers[1], FeasibilityCut)
    assert answers[1].violation == pytest.approx(20e-9, rel=0.2)


def test_small_half_spaces_of_large_points_count():
    """Next to x = -1e4 the other entries still mean what they say."""
    oracle = ConicOracle(np.ones(3), -np.eye(3), np.zeros(3), [Exponential()], domain=FreeSpace(3, 1e5))
    assert isinstance(oracle.query(Query(np.array([-1e4, 1.0, -1e-6]))), FeasibilityCut)
    assert isinstance(oracle.query(Query(np.array([-1e4, 1.0, 1e-6]))), ObjectiveCut)


@pytest.mark.parametrize("cone", [SecondOrder(3), Exponential(), Power(0.4), PositiveSemidefinite(2)], ids=repr)
def test_what_counts_as_feasible_violates_no_half_space_by_more_than_its_error(cone):
    """Also with columns of very different lengths, and a tolerance that shows."""
    rng = np.random.default_rng(1)
    domain = Box(-np.ones(4), np.ones(4))
    middle = {SecondOrder: [1.0, 0.0, 0.0], Exponential: [0.0, 1.0, 2.0], Power: [1.0, 1.0, 0.0]}
    b = np.array(middle.get(type(cone), [1.0, 0.0, 1.0]))
    for scale in (1.0, 1e-4):
        kept, cuts = [], []
        A = rng.normal(size=(3, 4)) * np.array([1.0, scale, scale, 1e-3])
        oracle = ConicOracle(np.ones(4), -A, b, [cone], domain=domain, tolerance=1e-2)
        for x in rng.uniform(-1, 1, (300, 4)):
            cut = oracle.query(Query(x))
            (cuts if isinstance(cut, FeasibilityCut) else kept).append(cut)
        assert kept
        assert cuts
        for cut in cuts:
            for one in (cut, *cut.further):
                for other in kept:
                    assert one.violation + one.normal @ (other.point - one.point) <= one.error * (1 + 1e-9)


@pytest.mark.parametrize("order", [2, 20])
def test_the_error_of_a_feasibility_cut_holds_what_a_cone_takes_for_rounding(order):
    """Matrices of norm 1e6 whose least eigenvalue is negative by rounding, more or less, along one vector."""
    cone, rng = PositiveSemidefinite(order), np.random.default_rng(order)
    n = cone.dimension
    domain = Box(np.full(n, -1e6), np.full(n, 1e6))
    oracle = ConicOracle(np.ones(n), -np.eye(n), np.zeros(n), [cone], domain=domain, tolerance=0.0)
    turn = np.linalg.qr(rng.normal(size=(order, order)))[0]
    kept, cuts = [], []
    for share in 10.0 ** rng.uniform(-16, -11, 60):
        values = np.r_[-share, np.ones(order - 1)] * 5e5
        cut = oracle.query(Query(cone.vector((turn * values) @ turn.T)))
        (cuts if isinstance(cut, FeasibilityCut) else kept).append(cut)
    assert kept
    assert cuts
    claims = [one.violation + one.normal @ (other.point - one.point) for one in cuts for other in kept]
    assert max(claims) > 0.0
    errors = [one.error for one in cuts for _ in kept]
    assert all(claim <= error for claim, error in zip(claims, errors, strict=True))
    assert max(errors) <= 1e-12 * order**2 * 1e6


def points_of_all_sizes(cone, seed):
    """Random points, points at the boundary and beside it, zeros and what is next to nothing or huge."""
    rng, k = np.random.default_rng(seed), cone.dimension
    drawn = rng.normal(size=(40, k)) * 10.0 ** rng.integers(-6, 6, size=(40, 1))
    at = np.array([cone.project(one) for one in drawn])
    away = 10.0 ** rng.integers(-16, -6, size=(40, 1)) * np.abs(at).max(axis=1, keepdims=True)
    beside = at + away * rng.normal(size=at.shape)
    corners = np.vstack([np.zeros(k), np.eye(k), -np.eye(k)])
    rows = np.vstack([drawn, at, beside, corners])
    return np.vstack([rows, *(unit * rows[::7] for unit in (1e-300, 1e-160, 1e150, 1e290))])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cone", [SecondOrder(1), SecondOrder(2), SecondOrder(7), Exponential()], ids=repr)
def test_points_of_many_cones_are_in_them_in_fractions_and_as_near_as_those_of_one(cone, seed):
    points = points_of_all_sizes(cone, seed)
    near = cone.nearby(points)
    known = np.isfinite(near).all(axis=1)
    assert known.mean() > (0.99 if isinstance(cone, SecondOrder) else 0.2)
    for v, p in zip(points[known], near[known], strict=True):
        if isinstance(cone, SecondOrder):
            t, *u = map(Fraction, p.tolist())
            assert t >= 0
            assert sum(one**2 for one in u) <= t**2
        else:
            x, y, z = p.tolist()
            assert y > 0
            assert z > 0
            logs = [Enclosure.of(np.array(one), exact=True).log() for one in (z, y)]
            assert Fraction(x) <= ((logs[0] - logs[1]) * Fraction(y)).lower.item()
        size = float(np.abs(v).max())
        distance = float(np.linalg.norm((p - v) / size)) if size else 0.0
        one_by_one = cone.distance(v) / size if size else 0.0
        if isinstance(cone, SecondOrder) or one_by_one < 1e-9:
            assert distance <= 1.01 * one_by_one + 1e-12 * max(1.0, distance)
        assert distance >= 0.999 * one_by_one - 1e-15


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_many_cones_accept_the_points_that_each_of_them_accepts(seed, sparse_rows, monkeypatch):
    """Points beyond boundaries by more and by less than is allowed, in many units: all cones at once, or each."""
    rng, n, unit = np.random.default_rng(seed), 6, 10.0 ** np.random.default_rng(seed).integers(-6, 6)
    cones = [*[SecondOrder(4)] * 10, *[Exponential()] * 10, *[SecondOrder(2)] * 3]
    rng.shuffle(cones)
    x, parts = unit * rng.normal(size=n), []
    for cone in cones:
        inside = cone.project(unit * rng.normal(size=cone.dimension))
        parts.append(inside + unit * 10.0 ** rng.uniform(-18, -7) * rng.normal(size=cone.dimension))
    v = np.concatenate(parts)
    A = rng.normal(size=(len(v), n)) * (rng.random((len(v), n)) < 0.4)
    oracle = ConicOracle(np.ones(n), sparse.csr_array(A) if sparse_rows else A, v + A @ x, cones)
    told = {}
    for way in ("together", "each"):
        if way == "each":
            for module in (half_spaces, conic_value_proof):
                monkeypatch.setattr(module, "near_enough", lambda A, rows, *given: np.zeros(len(rows), dtype=bool))
        halves = [half_spaces.HalfSpaces(oracle.problem, oracle._held, tolerance, 50) for tolerance in (1e-9, 0.0)]
        cuts = [(cut.violation, *cut.normal) for one in halves for cut in one.at(x, oracle._extent)]
        refused = []
        for k, (cone, start) in enumerate(zip(cones, np.cumsum([0, *(len(p) for p in parts)]), strict=False)):
            rows = slice(start, start + cone.dimension)
            alone = ConicOracle(np.ones(n), A[rows], oracle.problem.b[rows], [cone]).problem
            try:
                conic_value_proof.refuse_infeasible(alone, oracle._held, 1e-9, oracle._extent, x)
            except Refuted:
                refused.append(k)
        told[way] = cuts, refused
    assert told["together"] == told["each"]


def test_a_projection_at_fault_is_moved_into_the_cone(monkeypatch):
    cone, rng = PositiveSemidefinite(4), np.random.default_rng(0)
    monkeypatch.setattr(PositiveSemidefinite, "project", lambda self, v: v.copy())
    for _ in range(20):
        v = rng.normal(size=cone.dimension)
        near = cone.point_near(v)
        assert np.linalg.eigvalsh(cone.matrix(near))[0] >= -1e-14
