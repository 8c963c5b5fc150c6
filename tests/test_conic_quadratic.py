"""Quadratic objectives of the conic oracle against Clarabel and OSQP, and the rows its domain takes up."""

import json
import os
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from provers import FAST
from scipy import sparse

from oracle_opt import Curvature, FeasibilityCut, InvalidArgument, ObjectiveCut, Query, Status, minimize
from oracle_opt.domains import Box, FreeSpace, Polyhedron, Simplex
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, NewtonBundle
from oracle_opt.oracles import ConicOracle, Nonnegative, SecondOrder, Zero
from oracle_opt.study import Outcome, settle


def quadratic_program(seed, n=8):
    """P, c, equations, inequalities and bounds as rows ``b - A @ x`` in K; of random rank, so with a flat part."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(rng.integers(2, n + 1), n))
    inside = rng.uniform(0.2, 0.8, size=n)
    E, G = rng.normal(size=(2, n)), rng.normal(size=(6, n))
    A = -np.vstack([E, G, np.eye(n), -np.eye(n)])
    b = np.r_[-E @ inside, rng.uniform(0.05, 0.5, size=6) - G @ inside, np.zeros(n), np.ones(n)]
    return factor.T @ factor, rng.normal(size=n), A, b, [Zero(2), Nonnegative(6 + 2 * n)]


def solved(P, c, A, b, solver):
    """Optimal value by another solver."""
    x = cp.Variable(len(c))
    rows = [A[:2] @ x == b[:2], A[2:] @ x <= b[2:]]
    return cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, P, assume_PSD=True) + c @ x), rows).solve(solver=solver)


@pytest.mark.campaign(3)
@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_quadratic_programs_agree_with_other_solvers(seed, generator):
    P, c, A, b, cones = quadratic_program(seed)
    known = solved(P, c, A, b, cp.CLARABEL)
    assert solved(P, c, A, b, cp.OSQP) == pytest.approx(known, abs=1e-3)
    oracle = ConicOracle(c, A, b, cones, P=P)
    run = minimize(oracle, generator, rtol=1e-6, atol=1e-6, max_calls=400)
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-7 <= known <= run.upper_bound + 1e-7
    assert FeasibilityCut not in oracle.gives
    v = b - A @ run.point
    assert np.abs(v[:2]).max() <= 1e-8
    assert v[2:].min() >= -1e-8


@pytest.mark.parametrize("arguments", [{}, {"multicut": False}, {"hold_rows": False}, {"hold_rows": True}], ids=repr)
def test_the_options_change_the_way_and_not_the_end(arguments):
    P, c, A, b, cones = quadratic_program(5)
    known = solved(P, c, A, b, cp.CLARABEL)
    oracle = ConicOracle(c, A, b, cones, P=sparse.csc_array(P), domain=FreeSpace(8, 10.0), **arguments)
    run = minimize(oracle, AnalyticCenter(), rtol=1e-6, atol=1e-6, max_calls=400, keep_cuts=True)
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-7 <= known <= run.upper_bound + 1e-7
    cuts = run.history.cuts
    assert any(isinstance(cut, FeasibilityCut) for cut in cuts) == (arguments.get("hold_rows") is False)
    split = arguments.get("multicut", True)
    assert all(bool(cut.summands) == split for cut in cuts if isinstance(cut, ObjectiveCut))
    assert oracle.identity() == ConicOracle(c, A, b, cones, P=P, domain=FreeSpace(8, 10.0), **arguments).identity()


@pytest.mark.parametrize("seed", range(3))
def test_the_level_method_needs_fewer_calls_with_the_squares_as_parts(seed):
    rng, n = np.random.default_rng(seed), 12
    root = rng.normal(size=(n, n)) * np.logspace(0, 2, n)[:, None]
    P, A, b = root.T @ root, np.vstack([np.ones(n), -np.eye(n)]), np.r_[1.0, np.zeros(n)]
    c, domain = -P @ rng.random(n), FreeSpace(n, 10.0)
    split, whole = (
        minimize(ConicOracle(c, A, b, [Zero(1), Nonnegative(n)], P=P, domain=domain, multicut=it), LevelSet())
        for it in (True, False)
    )
    assert split.success
    assert split.n_calls < whole.n_calls


def test_with_a_curved_cone_beside_the_rows():
    # the point of the unit disc, with x + y >= 1 and 3 x <= y, that is nearest to (2, 0)
    A = [[-1.0, -1.0], [3.0, -1.0], [0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]
    oracle = ConicOracle(
        [-2.0, 0.0], A, [-1.0, 0.0, 1.0, 0.0, 0.0], [Nonnegative(2), SecondOrder(3)], P=np.eye(2), offset=2.0
    )
    assert isinstance(oracle.domain, Polyhedron)
    assert FeasibilityCut in oracle.gives
    run = minimize(oracle, LevelSet(), rtol=1e-6, max_calls=300)
    x = cp.Variable(2)
    rows = [cp.sum(x) >= 1, 3 * x[0] <= x[1], cp.norm(x) <= 1]
    known = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - np.array([2.0, 0.0]))), rows).solve(solver=cp.CLARABEL)
    assert run.status is Status.CONVERGED
    assert run.lower_bound - 1e-7 <= known <= run.upper_bound + 1e-7


def test_cuts_are_exact_and_their_parts_and_curvature_add_up_to_the_whole():
    P, c, A, b, cones = quadratic_program(7)
    P[:, 3] = P[3, :] = 0.0  # a block of its own, without curvature
    oracle = ConicOracle(c, A, b, cones, P=P, offset=3.0)
    x = np.random.default_rng(0).normal(size=8)
    cut = oracle.query(Query(x, wishes=frozenset({Curvature})))
    assert cut.value == pytest.approx(0.5 * x @ P @ x + c @ x + 3.0)
    assert cut.subgradient == pytest.approx(P @ x + c)
    assert sum(part.value for part in cut.summands) == pytest.approx(cut.value)
    assert sum(part.subgradient for part in cut.summands) == pytest.approx(cut.subgradient)
    assert cut.answer(Curvature).factor.T @ cut.answer(Curvature).factor == pytest.approx(P)
    assert len(cut.summands) == 1 + np.linalg.matrix_rank(P)
    assert oracle.query(Query(x)).answers == ()
    diagonal = ConicOracle(c, A, b, cones, P=sparse.diags_array([1.0, 0.0] * 4))
    assert diagonal.quadratic.squares.roots.nnz == 4


def test_negative_eigenvalues_that_are_rounding_do_not_make_it_concave():
    rng = np.random.default_rng(2)
    factor, flat = rng.normal(size=(3, 6)), 1e6 * np.linalg.svd(rng.normal(size=(3, 6)))[2][-1]
    oracle = ConicOracle(np.zeros(6), np.zeros((0, 6)), [], [], P=factor.T @ factor - 1e-10 * np.eye(6))
    kernel = np.linalg.svd(factor)[2][-1]
    assert oracle.query(Query(1e6 * kernel)).value >= 0
    cut = oracle.query(Query(flat))
    assert cut.value - cut.subgradient @ flat <= 1e-9 * cut.value  # at the origin the function is 0


def test_curvature_serves_the_newton_bundle():
    rng = np.random.default_rng(1)
    R, c = rng.normal(size=(30, 20)), rng.normal(size=20)
    oracle = ConicOracle(c, np.zeros((0, 20)), [], [], P=R.T @ R, domain=Simplex(20), multicut=False)
    x = cp.Variable(20, nonneg=True)
    objective = 0.5 * cp.sum_squares(R @ x) + c @ x
    known = cp.Problem(cp.Minimize(objective), [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    newton, level = (
        minimize(oracle, generator, rtol=1e-8, max_calls=500) for generator in (NewtonBundle(), LevelSet())
    )
    assert newton.success
    assert newton.lower_bound - 1e-7 <= known <= newton.upper_bound + 1e-7
    assert newton.n_calls < level.n_calls


@pytest.mark.parametrize(
    ("P", "words"),
    [
        (np.eye(3), "`P` must have shape"),
        ([[np.nan, 0.0], [0.0, 1.0]], "`P` must be finite"),
        ([[1.0, 0.5], [0.0, 1.0]], "`P` must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "`P` must be positive semidefinite, .* eigenvalue -1"),
        (sparse.diags_array([1.0, -0.5]), "`P` must be positive semidefinite"),
    ],
)
def test_what_is_not_convex_is_refused(P, words):
    with pytest.raises(InvalidArgument, match=words):
        ConicOracle([1.0, 0.0], np.eye(2), np.ones(2), [Nonnegative(2)], P=P)


def test_cvxpy_keeps_the_quadratic_objective():
    rng = np.random.default_rng(3)
    M, x, y = rng.normal(size=(5, 4)), cp.Variable(4, name="x"), cp.Variable(name="y")
    objective = cp.sum_squares(M @ x - 1) + cp.quad_form(x, np.eye(4)) + cp.exp(y) + 2.0
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(x) == y, x >= 0.1])
    oracle = ConicOracle.from_cvxpy(problem, tolerance=1e-8).within(50.0)
    assert oracle.quadratic is not None
    assert not any(isinstance(cone, SecondOrder) for cone in oracle.problem.cones)
    run = minimize(oracle, LevelSet(), rtol=1e-6, max_calls=500)
    known = problem.solve(solver=cp.CLARABEL)
    assert run.success
    assert run.lower_bound - 1e-5 <= known <= run.upper_bound + 1e-5
    values = oracle.variables(run.point)
    assert values["x"] == pytest.approx(x.value, abs=5e-3)
    assert values["y"] == pytest.approx(y.value, abs=5e-3)


def test_bounds_alone_make_a_box_and_rows_that_leave_nothing_stay_cuts():
    rows, b = [[-2.0, 0.0], [0.0, -1.0], [1.0, 0.0], [-1.0, -1.0]], [2.0, 0.5, 3.0, 0.0]
    bounded = ConicOracle([1.0, 1.0], rows, b, [Nonnegative(4)], domain=FreeSpace(2, 10.0))
    assert isinstance(bounded.domain, Box)
    assert bounded.domain.lower.tolist() == [-1.0, -0.5]
    assert bounded.domain.upper.tolist() == [3.0, 10.0]
    cut = bounded.query(Query(np.array([-1.0, 0.0])))
    assert isinstance(cut, FeasibilityCut)
    assert cut.normal == pytest.approx(-np.ones(2) / np.sqrt(2))
    contradictory = ConicOracle([1.0], [[-1.0], [1.0]], [-2.0, 1.0], [Nonnegative(2)])
    assert isinstance(contradictory.domain, FreeSpace)
    free = ConicOracle([1.0, 1.0], rows, b, [Nonnegative(4)], hold_rows=False)
    assert isinstance(free.domain, FreeSpace)
    assert isinstance(ConicOracle([1.0, 1.0], rows, b, [Nonnegative(4)], hold_rows=True).domain, Polyhedron)


def test_settle_tells_a_flat_direction_from_a_curved_one():
    # min (x - y)^2 / 2 - x - y falls along (1, 1) unless x + y <= 6
    P = [[1.0, -1.0], [-1.0, 1.0]]
    falls = settle(ConicOracle([-1.0, -1.0], [[-1.0, 0.0]], [0.0], [Nonnegative(1)], P=P), Kelley())
    assert falls.outcome is Outcome.UNBOUNDED
    assert falls.direction[0] == pytest.approx(falls.direction[1], abs=1e-6)
    held = settle(ConicOracle([-1.0, -1.0], [[1.0, 1.0]], [6.0], [Nonnegative(1)], P=P), Kelley())
    assert held.outcome is Outcome.OPTIMAL
    assert held.result.upper_bound == pytest.approx(-6.0, abs=1e-5)


def test_infeasible_with_rows_that_the_domain_holds():
    # the disc of radius 1 around (3, 0), and x + y <= 1, x - y <= 1: held, and not violated by any query point
    A = [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 1.0], [1.0, -1.0]]
    oracle = ConicOracle(
        [0.0, 1.0], A, [1.0, -3.0, 0.0, 1.0, 1.0], [SecondOrder(3), Nonnegative(2)], P=np.diag([1.0, 1.0])
    )
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    y = verdict.infeasibility.dual
    assert y[3:].min() >= 0
    assert np.linalg.norm(y[1:3]) <= y[0] * (1 + 1e-9)
    assert oracle.problem.b @ y < 0
    assert verdict.infeasibility.reach >= 1e7


def instances():
    """Small programs of Maros and Meszaros, where ORACLE_OPT_PROBLEMS names their folder."""
    folder = os.environ.get("ORACLE_OPT_PROBLEMS")
    if not folder or not (Path(folder) / "qp").exists():
        return [pytest.param(None, marks=pytest.mark.skip("ORACLE_OPT_PROBLEMS names no folder"))]
    entries = json.loads((Path(folder) / "qp" / "optima.json").read_text())["instances"]
    small = {"HS21", "HS35", "HS76", "HS118", "DUALC1"}
    return [pytest.param(entry, id=entry["name"]) for entry in entries if entry["name"] in small]


@pytest.mark.campaign(5)
@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize("entry", instances())
def test_public_programs_are_proven(entry, generator):
    data = np.load(Path(os.environ["ORACLE_OPT_PROBLEMS"]) / "qp" / entry["file"])
    n, m = int(data["n"]), int(data["m"])
    P = sparse.csc_array((data["P_data"], data["P_indices"], data["P_indptr"]), shape=(n, n))
    A = sparse.csr_array(sparse.csc_array((data["A_data"], data["A_indices"], data["A_indptr"]), shape=(m, n)))
    lower, upper = data["l"], data["u"]
    x = cp.Variable(n)
    below, above = np.isfinite(lower), np.isfinite(upper)
    rows = [A[below] @ x >= lower[below], A[above] @ x <= upper[above]]
    objective = cp.Minimize(0.5 * cp.quad_form(x, P, assume_PSD=True) + data["q"] @ x + float(data["r"]))
    oracle = ConicOracle.from_cvxpy(cp.Problem(objective, rows), multicut=not isinstance(generator, LevelSet))
    verdict = settle(oracle, generator, max_calls=2000)
    known = entry["resolved"]
    assert verdict.outcome is Outcome.OPTIMAL
    assert verdict.result.lower_bound <= known + 1e-8 * abs(known)
    assert known <= verdict.result.upper_bound + 1e-7 * abs(known)
