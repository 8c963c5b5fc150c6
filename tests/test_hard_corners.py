"""Quadratic programs with many equations that depend on each other nearly, are degenerate or badly scaled."""

import cvxpy as cp
import numpy as np
import pytest
from provers import FAST

from oracle_opt import Box, FreeSpace, FunctionOracle, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, ProximalBundle, proximal_bundle
from oracle_opt.oracles import ConicOracle, Nonnegative, Zero


def quadratic_program(n, n_equations, rank, seed, nearly=False, scale=0.0):
    """Data of ``min 1/2 x P x + c x`` with equations and bounds, and the optimum by Clarabel.

    Half of the equations are `nearly` the other half, or rows and columns have lengths of 10**-scale to 10**scale.
    """
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, rank)))[0]
    roots = np.sqrt(10.0 ** rng.uniform(-2, 2, rank))[:, None] * Q.T
    E = np.where(rng.random((n_equations, n)) < 10.0 / n, rng.normal(size=(n_equations, n)), 0.0)
    E[np.arange(n_equations), rng.integers(0, n, n_equations)] += 1.0
    x = np.maximum(rng.normal(size=n), 0.0)
    if nearly:
        x *= rng.random(n) < 0.3
        half = n_equations // 2
        few = rng.random((n_equations - half, n)) < 0.05
        E[half:] = E[: n_equations - half] + np.where(few, rng.normal(size=few.shape), 0.0)
    f, c = E @ x, rng.normal(size=n) + 0.1 * E.T @ rng.normal(size=n_equations)
    z = cp.Variable(n)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(roots @ z) + c @ z), [E @ z == f, z >= 0, z <= 10])
    known = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    columns, rows = 10.0 ** rng.uniform(-scale, scale, n), 10.0 ** rng.uniform(-scale, scale, n_equations)
    roots, c, E, f = roots * columns, c * columns, rows[:, None] * E * columns, rows * f
    upper = 10.0 / columns
    A, b = np.vstack([E, -np.eye(n), np.eye(n)]), np.r_[f, np.zeros(n), upper]
    P = roots.T @ roots
    domain = FreeSpace(n, 2.0 * float(upper.max()) * np.sqrt(n))
    return ConicOracle(c, A, b, [Zero(n_equations), Nonnegative(2 * n)], P=(P + P.T) / 2, domain=domain), known


@pytest.mark.campaign(3)
@pytest.mark.parametrize("generator", FAST, ids=repr)
@pytest.mark.parametrize(
    ("n", "equations", "rank", "seed", "kind"),
    [
        (40, 25, 10, 1, {"nearly": True}),
        (80, 50, 80, 0, {"nearly": True}),
        (20, 8, 20, 0, {"scale": 1.5}),
        (60, 40, 20, 2, {}),
    ],
)
def test_quadratic_programs_with_many_equations(n, equations, rank, seed, kind, generator):
    if n == 80 and isinstance(generator, AnalyticCenter):
        pytest.skip("it takes minutes beside equations that are nearly dependent")
    oracle, known = quadratic_program(n, equations, rank, seed, **kind)
    run = minimize(oracle, generator, max_calls=400)
    assert run.lower_bound <= known + 1e-6 * (1.0 + abs(known))
    assert run.upper_bound >= known - 1e-6 * (1.0 + abs(known))
    assert run.status is Status.CONVERGED


@pytest.mark.parametrize("most", [1, 2])
def test_tangents_of_the_summands_that_are_more_than_are_asked_for(most, monkeypatch):
    """The last piece of the summands' model that a call adds is in the program that is solved last, or is not added."""
    monkeypatch.setattr(proximal_bundle, "TANGENTS", most)
    oracle, known = quadratic_program(30, 10, 30, 0)
    run = minimize(oracle, ProximalBundle(), max_calls=200)
    assert run.lower_bound - 1e-6 <= known <= run.upper_bound + 1e-6
    assert run.relative_gap < 1e-4


@pytest.mark.parametrize(("generator", "spread"), [(Kelley(), 1e8), (AnalyticCenter(), 1e8), (ProximalBundle(), 1e4)])
def test_absolute_deviations_with_columns_of_different_lengths(generator, spread):
    """Slopes from 1 down to 1 / spread: HiGHS must not take the small ones for zeros."""
    rng = np.random.default_rng(0)
    n, m = 10, 60
    lengths = np.geomspace(1.0, spread, n)
    B = rng.normal(size=(m, n)) / lengths
    d = B @ (rng.uniform(-0.5, 0.5, n) * lengths) + 0.1 * rng.standard_t(2, m)

    def function(x):
        residuals = B @ x - d
        return float(np.abs(residuals).mean()), B.T @ np.sign(residuals) / m

    z = cp.Variable(n)  # x over the lengths
    problem = cp.Problem(cp.Minimize(cp.norm1((B * lengths) @ z - d) / m))
    known = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    run = minimize(FunctionOracle(function, Box(np.full(n, -4 * spread), np.full(n, 4 * spread))), generator)
    assert run.status is Status.CONVERGED
    assert run.lower_bound <= known + 1e-8
    assert run.upper_bound >= known - 1e-8
    assert run.upper_bound == pytest.approx(known, rel=2e-6)
