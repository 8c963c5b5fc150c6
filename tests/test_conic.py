"""Cones, their separation, and the conic oracle against Clarabel."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracle_opt import Box, FeasibilityCut, FreeSpace, InvalidArgument, NonnegativeOrthant, Query, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, Exponential, Nonnegative, PositiveSemidefinite, Power, SecondOrder, Zero

CONES = [Nonnegative(4), SecondOrder(4), SecondOrder(1), PositiveSemidefinite(3), Exponential(), Power(0.3), Power(0.9)]
SELF_DUAL = (Nonnegative, SecondOrder, PositiveSemidefinite)


def members(cone, rng, count=40):
    """Points of the cone, some on its boundary."""
    for _ in range(count):
        match cone:
            case Nonnegative():
                yield np.maximum(rng.normal(size=cone.dimension), 0.0) + 1e-9
            case SecondOrder():
                u = rng.normal(size=cone.dimension - 1)
                yield np.r_[np.linalg.norm(u) * rng.choice([1.0, 1.5]) + (not u.size), u]
            case PositiveSemidefinite():
                factor = rng.normal(size=(cone.order, rng.integers(1, cone.order + 1)))
                yield cone.vector(factor @ factor.T)
            case Exponential():
                x, y = 5 * rng.normal(), rng.exponential()
                yield np.array([x, y, y * np.exp(x / y) * rng.choice([1.0, 2.0])]) * np.exp(-max(x / y, 0.0))
            case Power():
                x, y = rng.exponential(size=2)
                yield np.array([x, y, rng.choice([-1, 0.5, 1]) * x**cone.exponent * y ** (1 - cone.exponent)])


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_separation_cuts_off_and_keeps_the_cone(cone):
    rng = np.random.default_rng(0)
    inside = list(members(cone, rng))
    cut_off = 0
    for _ in range(200):
        v = rng.normal(size=cone.dimension) * 10.0 ** rng.integers(-3, 4, size=cone.dimension)
        rows = cone.separate(v)
        cut_off += bool(len(rows))
        for y in rows:
            assert np.linalg.norm(y) == pytest.approx(1.0)
            assert y @ v < 0
            assert cone.dual_contains(y)
            for z in inside:
                assert y @ z >= -1e-12 * np.linalg.norm(z)
    assert cut_off > 20
    for z in inside:
        assert all(y @ z >= -1e-13 * np.linalg.norm(z) for y in cone.separate(z))


@pytest.mark.campaign(2)
@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_dual_test_refuses_what_a_member_contradicts(cone):
    rng = np.random.default_rng(1)
    inside = list(members(cone, rng, 300))
    refused = 0
    for _ in range(300):
        y = rng.normal(size=cone.dimension)
        if min(y @ z / np.linalg.norm(z) for z in inside) < -1e-6:
            refused += 1
            assert not cone.dual_contains(y, 1e-9)
        if isinstance(cone, SELF_DUAL):
            assert cone.dual_contains(y) == (not len(cone.separate(y)))
    assert refused > 30


def test_limits_of_the_exponential_cone():
    cone = Exponential()
    for v in ([-1.0, 0.0, 0.0], [0.0, 0.0, 3.0], [-2.0, 0.0, 1.0]):
        assert not len(cone.separate(np.array(v)))
    for v in ([1.0, 0.0, 0.0], [1.0, 0.0, 5.0], [0.0, -1.0, 1.0], [0.0, 1.0, -1.0], [900.0, 1.0, 1.0], [0.0, 1.0, 0.0]):
        rows = cone.separate(np.array(v))
        assert len(rows)
        assert rows[0] @ v < 0
        assert cone.dual_contains(rows[0])


def test_matrix_and_vector_are_inverse_and_keep_inner_products():
    cone, rng = PositiveSemidefinite(4), np.random.default_rng(2)
    A, B = (S + S.T for S in rng.normal(size=(2, 4, 4)))
    assert np.allclose(cone.matrix(cone.vector(A)), A)
    assert cone.vector(A) @ cone.vector(B) == pytest.approx(np.trace(A @ B))


def problems():
    """One problem a kind of cone, with cvxpy's own form."""
    rng = np.random.default_rng(3)
    x = cp.Variable(4, name="x")
    X = cp.Variable((3, 3), symmetric=True, name="X")
    A, b, M = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(3, 3))
    yield "lp", cp.Problem(cp.Minimize(cp.norm1(A @ x - b)), [cp.sum(x) == 1, x >= 0])
    yield "socp", cp.Problem(cp.Minimize(cp.norm(A @ x - b)), [cp.norm(x) <= 0.7])
    yield "qp", cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + cp.sum(x)), [x >= 0.1])
    yield "sdp", cp.Problem(cp.Minimize(cp.trace((M + M.T) @ X)), [X >> 0, cp.trace(X) <= 2, X[0, 0] >= 0.3])
    yield "exp", cp.Problem(cp.Minimize(cp.log_sum_exp(A @ x) + cp.sum_squares(x)), [x <= 2])
    yield "power", cp.Problem(cp.Maximize(cp.geo_mean(x[:2]) - cp.power(x[2], 3) - x[3]), [cp.norm(x) <= 1, x >= 0])
    yield "max", cp.Problem(cp.Maximize(cp.min(A @ x) + 7), [cp.norm_inf(x) <= 1])


@pytest.mark.campaign(7)
@pytest.mark.parametrize("generator", [Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
@pytest.mark.parametrize(
    ("name", "problem"), list(problems()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_cvxpy_problems_agree_with_clarabel(name, problem, generator):
    oracle = ConicOracle.from_cvxpy(problem, tolerance=1e-8).within(30.0)
    run = minimize(oracle, generator, rtol=1e-5, atol=1e-5, max_calls=800)
    known = problem.solve(solver=cp.CLARABEL)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-6 <= sign * known <= run.upper_bound + 1e-6
    expected = {variable.name(): variable.value for variable in problem.variables()}
    values = oracle.variables(run.point)
    assert values.keys() == expected.keys()
    for variable in problem.variables():
        variable.save_value(values[variable.name()])
    assert problem.objective.value == pytest.approx(known, abs=1e-4, rel=1e-4)
    assert all(constraint.violation().max() <= 1e-5 for constraint in problem.constraints)


def test_infeasible_linear_program_has_a_farkas_proof():
    # x + y >= 3 with x <= 1, y <= 1
    A, b = [[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]], [-3.0, 1.0, 1.0]
    oracle = ConicOracle([1.0, 1.0], A, b, [Nonnegative(3)], domain=FreeSpace(2, 100.0))
    run = minimize(oracle, Kelley(), keep_cuts=True)
    assert run.status is Status.EMPTY
    proof = oracle.infeasibility(run.history.cuts)
    assert proof.in_dual_cone
    assert proof.reach > 1e10
    assert np.allclose(oracle.problem.A.T @ proof.dual, 0)
    assert oracle.problem.b @ proof.dual < 0


def test_infeasible_semidefinite_program_states_how_far_its_proof_reaches():
    # [[x, 1], [1, 0]] is never positive semidefinite, but nearly so for large x: a weak infeasibility
    cone = PositiveSemidefinite(2)
    A = sparse.csr_array(cone.vector(np.array([[-1.0, 0.0], [0.0, 0.0]]))[:, None])
    oracle = ConicOracle([1.0], A, cone.vector(np.array([[0.0, 1.0], [1.0, 0.0]])), [cone], domain=FreeSpace(1, 10.0))
    run = minimize(oracle, Kelley(), keep_cuts=True, max_calls=200)
    assert run.status is Status.EMPTY
    proof = oracle.infeasibility(run.history.cuts)
    assert proof.in_dual_cone
    assert 9.9 <= proof.reach < np.inf


def test_a_direction_of_recession_proves_unboundedness():
    # min -x - y with norm(x, y) <= 2 x: falls along (1, 1)
    A, b = [[-2.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0, 0.0]
    oracle = ConicOracle([-1.0, -1.0], A, b, [SecondOrder(3)], domain=FreeSpace(2, 1e3))
    run = minimize(oracle.recession(), Kelley(), rtol=1e-4)
    assert run.upper_bound < -0.5
    direction = run.point
    assert np.linalg.norm(direction[:]) <= 2 * direction[0] + 1e-8
    bounded = ConicOracle([1.0, 0.0], A, b, [SecondOrder(3)], domain=FreeSpace(2, 1e3))
    assert minimize(bounded.recession(), Kelley(), atol=1e-7).lower_bound > -1e-6
    orthant = ConicOracle([-1.0, 1.0], A, b, [SecondOrder(3)], domain=NonnegativeOrthant(2, 1e3))
    assert minimize(orthant.recession(), Kelley(), rtol=1e-4).point.min() >= 0
    # x / 2 - y falls along (1 / sqrt(3), 1); where y has an end it does not recede, and nothing falls
    for upper, slope in ((np.inf, 0.5 / np.sqrt(3.0) - 1.0), (5.0, 0.0)):
        half = ConicOracle([0.5, -1.0], A, b, [SecondOrder(3)], domain=Box([0.0, 0.0], [np.inf, upper]))
        assert minimize(half.recession(), Kelley(), atol=1e-6).upper_bound == pytest.approx(slope, abs=1e-5)
    closed = ConicOracle([0.5, -1.0], A, b, [SecondOrder(3)], domain=Box([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(InvalidArgument, match="bounds alone, and not all finite, to recede in"):
        closed.recession()


def test_a_contradiction_without_x_is_told_at_once():
    oracle = ConicOracle([1.0], [[0.0], [-1.0]], [-1.0, 0.0], [Nonnegative(2)])
    run = minimize(oracle, Kelley())
    assert run.status is Status.EMPTY
    assert run.n_calls == 0


def test_several_cuts_of_one_call_are_capped():
    oracle = ConicOracle(
        np.ones(6), -np.eye(6), -np.arange(1.0, 7.0), [Nonnegative(6)], hold_rows=False, max_half_spaces=3
    )
    cut = oracle.query(Query(np.zeros(6)))
    assert isinstance(cut, FeasibilityCut)
    assert cut.violation == pytest.approx(6.0)
    assert [part.violation for part in cut.further] == pytest.approx([5.0, 4.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A": np.eye(2)}, "`A` must have shape"),
        ({"b": [1.0]}, "`b` must have shape"),
        ({"c": [np.nan, 0.0]}, "`c` must be finite"),
        ({"A": [[np.inf, 0.0]] * 3}, "`A` must be finite"),
        ({"tolerance": -1.0}, "`tolerance`"),
        ({"max_half_spaces": 0}, "`max_half_spaces`"),
        ({"domain": Box([0.0], [1.0])}, "`domain` must have dimension 2"),
    ],
)
def test_bad_input_is_named(change, words):
    good = {"c": [1.0, 0.0], "A": np.ones((3, 2)), "b": np.ones(3), "cones": [SecondOrder(3)]}
    with pytest.raises(InvalidArgument, match=words):
        ConicOracle(**(good | change))


def test_cvxpy_problems_that_cannot_be_used_are_refused_with_the_reason():
    x, p, k = cp.Variable(2), cp.Parameter(name="p"), cp.Variable(integer=True)
    for problem, words in (
        (cp.Problem(cp.Minimize(cp.sqrt(cp.sum(x)))), "DCP"),
        (cp.Problem(cp.Minimize(p * cp.sum(x)), [x >= 0]), "values for all parameters, got none for p"),
        (cp.Problem(cp.Minimize(k), [k >= 0.5]), "continuous"),
        (x, "cvxpy.Problem"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            ConicOracle.from_cvxpy(problem)
    with pytest.raises(InvalidArgument, match="from_cvxpy"):
        ConicOracle([1.0], [[1.0]], [0.0], [Nonnegative(1)]).variables(np.ones(1))
    for make, words in ((lambda: Power(1.0), "exponent"), (lambda: Zero(0), "dimension")):
        with pytest.raises(InvalidArgument, match=words):
            make()
