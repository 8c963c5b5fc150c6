"""The masters against independent solvers: level projection, nonnegative quadratic, analytic center, linear program."""

from __future__ import annotations

import copy

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, ObjectiveCut, ProductOfSimplices, Simplex
from oracle_opt.generators._barrier import Polytope, analytic_center
from oracle_opt.generators._chebyshev import ChebyshevLP
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._interior_point import minimize_epigraph
from oracle_opt.generators._lp import ModelLP
from oracle_opt.generators._nonnegative import nonnegative_quadratic
from oracle_opt.generators._projection import project_on_cuts

DOMAINS = [Simplex(8), ProductOfSimplices([3, 5]), Box(-np.ones(8), np.linspace(0.5, 2, 8))]


def constraints_of(domain, z):
    described = domain.linear_constraints()
    rows = [z >= described.lower]
    if len(described.equality_rhs):
        rows.append(described.equality_matrix @ z == described.equality_rhs)
    if np.isfinite(described.upper).all():
        rows.append(z <= described.upper)
    return rows


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("seed", range(12))
def test_level_projection_agrees_with_clarabel_from_any_start(domain, seed) -> None:
    rng = np.random.default_rng(seed)
    center, metric = domain.project(rng.normal(size=8)), rng.uniform(0.2, 5, 8)
    matrix = rng.normal(size=(6, 8))
    allowed = domain.project(rng.normal(size=8))
    rhs = matrix @ allowed + rng.uniform(0.0, 0.1, 6)
    z = cp.Variable(8)
    distance = cp.sum_squares(cp.multiply(np.sqrt(metric), z - center))
    cp.Problem(cp.Minimize(distance), [matrix @ z <= rhs, *constraints_of(domain, z)]).solve(solver=cp.CLARABEL)
    for start in (np.zeros(6), rng.exponential(size=6), 100 * rng.exponential(size=6)):
        done = project_on_cuts(domain, center, metric, matrix, rhs, start)
        assert done.converged
        assert (matrix @ done.point - rhs).max() <= 1e-6
        np.testing.assert_allclose(done.point, z.value, atol=2e-4)


def test_level_projection_does_not_stop_at_an_infeasible_point_passed_on_the_way() -> None:
    """A start that overshoots into the level set, from where the model steps back to zero multipliers."""
    domain, center = Simplex(3), np.array([0.2, 0.3, 0.5])
    matrix, rhs = np.array([[1.0, -1.0, 0.5]]), np.array([0.0])
    for start in np.geomspace(1e-3, 1e3, 25):
        done = project_on_cuts(domain, center, np.ones(3), matrix, rhs, np.array([start]))
        assert done.converged
        assert (matrix @ done.point - rhs).max() <= 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_nonnegative_quadratic_satisfies_the_optimality_conditions(seed) -> None:
    rng = np.random.default_rng(seed)
    root, linear = rng.normal(size=(12, 9)), rng.normal(size=9)
    hessian = root.T @ root
    for start in (np.zeros(9), np.maximum(rng.normal(size=9), 0)):
        v = nonnegative_quadratic(hessian, linear, start, 1e-12)
        slope = hessian @ v - linear
        assert (v >= 0).all()
        assert slope.min() >= -1e-9
        assert np.abs(v * slope).max() <= 1e-9


@pytest.mark.parametrize(("m", "n"), [(4, 9), (20, 5)])
def test_analytic_center_agrees_with_clarabel(m, n) -> None:
    """Few rows (Woodbury) and many (direct)."""
    rng = np.random.default_rng(m)
    matrix, inside = rng.normal(size=(m, n)), rng.dirichlet(np.ones(n))
    rhs, weights = matrix @ inside + rng.uniform(0.1, 1, m), rng.uniform(1, 3, m)
    none = np.zeros(n)
    polytope = Polytope(
        matrix, rhs, weights, none, np.full(n, 0.1), np.full(n, np.inf), none, np.ones((1, n)), none, none
    )
    center, converged = analytic_center(polytope, inside, tolerance=1e-10)
    assert converged
    z = cp.Variable(n)
    barrier = -weights @ cp.log(rhs - matrix @ z) - 0.1 * cp.sum(cp.log(z))
    cp.Problem(cp.Minimize(barrier), [cp.sum(z) == 1]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(center, z.value, atol=1e-4)  # Clarabel on exponential cones
    assert center.sum() == pytest.approx(1.0, abs=1e-12)


def filled_pool(domain, seed, feasibility=True) -> CutPool:
    rng = np.random.default_rng(seed)
    pool = CutPool(8)
    for _ in range(10):
        z = domain.project(rng.normal(size=8))
        pool.add(ObjectiveCut(z, float(z @ z), 2 * z))
    if feasibility:
        middle = domain.interior_point()
        normal = rng.normal(size=8)
        pool.add(FeasibilityCut(middle + normal, float(normal @ normal) - 0.01, normal))
    return pool


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_model_minimum_agrees_with_clarabel_and_its_multipliers_prove_it(domain, seed) -> None:
    pool = filled_pool(domain, seed)
    minimum = ModelLP(domain).solve(pool)
    z, theta = cp.Variable(8), cp.Variable()
    rows = [
        pool.objective.matrix @ z + pool.objective.constant <= theta,
        pool.feasibility.matrix @ z + pool.feasibility.constant <= 0,
        *constraints_of(domain, z),
    ]
    problem = cp.Problem(cp.Minimize(theta), rows)
    problem.solve(solver=cp.CLARABEL)
    assert minimum.value == pytest.approx(problem.value, abs=1e-6)
    minorant = pool.minorant(minimum.objective, minimum.feasibility)
    proven = minorant.constant + domain.minimize_linear(minorant.slope)[0]
    assert proven == pytest.approx(minimum.value, abs=1e-8)


@pytest.mark.parametrize("make", [ModelLP, ChebyshevLP])
def test_dropping_cuts_keeps_rows_in_step_with_the_pool(make) -> None:
    domain = Simplex(8)
    pool, lp = filled_pool(domain, 3), make(domain)
    minimum = lp.solve(pool)
    mask = pool.shrink(6, minimum.objective, minimum.feasibility)
    lp.keep(mask)
    rng = np.random.default_rng(9)
    z = domain.project(rng.normal(size=8))
    pool.add(ObjectiveCut(z, float(z @ z), 2 * z))
    warm, cold = lp.solve(pool), make(domain).solve(pool)
    twin = copy.deepcopy(lp).solve(pool)
    for other in (cold, twin):
        one, two = (pool.minorant(m.objective, m.feasibility) for m in (warm, other))
        bounds = [m.constant + domain.minimize_linear(m.slope)[0] for m in (one, two)]
        assert bounds[0] == pytest.approx(bounds[1], abs=1e-8)


@pytest.mark.parametrize(("m", "rank"), [(1, 3), (7, 4), (30, 20)])
def test_epigraph_program_agrees_with_clarabel(m, rank) -> None:
    rng = np.random.default_rng(m)
    root, linear = rng.normal(size=(rank, 12)), rng.normal(size=12)
    slopes, constants = 50 * rng.normal(size=(m, 12)), rng.normal(size=m)
    solved = minimize_epigraph(root.T @ root, linear, slopes, constants, total=2.0)
    assert solved.converged
    x, t = cp.Variable(12, nonneg=True), cp.Variable()
    objective = 0.5 * cp.sum_squares(root @ x) + linear @ x + t
    problem = cp.Problem(cp.Minimize(objective), [slopes @ x + constants <= t, cp.sum(x) == 2])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    value = 0.5 * np.sum((root @ solved.x) ** 2) + linear @ solved.x + (slopes @ solved.x + constants).max()
    assert value == pytest.approx(problem.value, abs=1e-6)
    assert (solved.x >= 0).all()
    assert solved.x.sum() == pytest.approx(2.0)
    assert solved.multipliers.sum() == pytest.approx(1.0)
    # the multipliers prove it: the slope of the Lagrangian is nonnegative, and zero where x is positive
    reduced = root.T @ (root @ solved.x) + linear + solved.multipliers @ slopes + solved.sum_multiplier
    assert reduced.min() >= -1e-6
    assert np.abs(reduced * solved.x).max() <= 1e-6
