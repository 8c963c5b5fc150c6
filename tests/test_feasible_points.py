"""What feasibility cuts say: the nearest feasible point by Clarabel, emptiness in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, Polyhedron
from oracle_opt.generators._cuts import CutPool
from oracle_opt.generators._feasible import nearest_feasible, prove_empty

N = 4


def cuts_of(rows, sides, at):
    """The cuts ``rows @ z <= sides``, each as the answer at a point."""
    return [FeasibilityCut(at, float(row @ at) - side, row) for row, side in zip(rows, sides, strict=True)]


def rows_of(domain, cuts):
    pool = CutPool(domain)
    for cut in cuts:
        pool.add(cut)
    return pool.feasibility


@pytest.mark.parametrize("equations", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_point_within_the_domain_and_all_cuts(seed, equations):
    rng = np.random.default_rng(seed)
    inside = rng.uniform(-0.5, 0.5, N)
    rows = rng.normal(size=(6, N)) * 10.0 ** rng.uniform(-3, 3, (6, 1))
    sides = rows @ inside + 0.1 * np.abs(rows).max(axis=1)
    E = rng.normal(size=(equations, N)) * 50.0
    box = {"lower": -np.ones(N), "upper": np.ones(N)}
    domain = Polyhedron(equality_matrix=E, equality_rhs=E @ inside, **box) if equations else Box(**box)
    point = 3 * rng.normal(size=N)
    found = nearest_feasible(domain, rows_of(domain, cuts_of(rows, sides, np.zeros(N))), point)
    assert found.converged
    assert (rows @ found.point <= sides).all()  # not only up to a tolerance
    assert domain.contains(found.point, 1e-9)
    z = cp.Variable(N)
    among = [rows @ z <= sides, z >= -1, z <= 1, E @ z == E @ inside]
    cp.Problem(cp.Minimize(cp.sum_squares(z - point)), among[: 3 + equations]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    np.testing.assert_allclose(found.point, z.value, atol=1e-6)


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e4])
def test_of_a_set_without_interior_a_point_is_found_to_rounding(length):
    rows = length * np.array([[1.0, 1.0, 0, 0], [-1.0, -1.0, 0, 0], [0, 0, 1.0, -2.0]])
    sides = length * np.array([1.0, -1.0, 0.5])
    domain = Box(-np.ones(N), np.ones(N))
    cuts = cuts_of(rows, sides, np.full(N, 0.25))
    found = nearest_feasible(domain, rows_of(domain, cuts), np.array([0.9, 0.9, 0.8, 0.1]))
    assert found.converged
    assert (rows @ found.point - sides <= 1e-11 * length).all()
    assert found.point == pytest.approx([0.5, 0.5, 0.78, 0.14], abs=1e-9)


def least(domain, cuts, u):
    """Exact minimum over a box of ``u @ (violation + normal @ (z - point))``, for the numbers given."""
    slope, value = [Fraction(0)] * N, Fraction(0)
    for one, cut in zip(map(Fraction, u.tolist()), cuts, strict=True):
        normal, at = map(Fraction, cut.normal.tolist()), map(Fraction, cut.point.tolist())
        terms = [(one * a, p) for a, p in zip(normal, at, strict=True)]
        value += one * Fraction(float(cut.violation)) - sum(a * p for a, p in terms)
        slope = [total + a for total, (a, _) in zip(slope, terms, strict=True)]
    return value + sum(
        min(g * Fraction(low), g * Fraction(high))
        for g, low, high in zip(slope, domain.lower.tolist(), domain.upper.tolist(), strict=True)
    )


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_emptiness_is_proven_in_exact_arithmetic_or_not_at_all(scale):
    """Cuts that touch in one point, but for rounding: multipliers that cancel their normals prove nothing, or truly."""
    rng, proven = np.random.default_rng(0), []
    for trial in range(400):
        gap = (0.0, 1e-16, 1e-15, -1e-15, 1e-14, 1e-9)[trial % 6] * scale
        rows, u, z = rng.normal(size=(4, N)), rng.uniform(0.5, 2, 4), scale * rng.normal(size=N)
        rows[3] = -(u[:3] @ rows[:3]) / u[3]
        domain = Box(z - scale, z + scale)
        cuts = cuts_of(rows, rows @ z - gap, z + scale * rng.normal(size=N))
        said = prove_empty(domain, rows_of(domain, cuts), 7.0 * u)
        if said:
            assert least(domain, cuts, 7.0 * u / (7.0 * u).max()) > 0
            proven.append(trial % 6)
        assert not prove_empty(domain, rows_of(domain, cuts), -u)
        assert not prove_empty(domain, rows_of(domain, cuts), np.r_[u[:3], np.inf])
    assert set(proven) <= {4, 5}
    assert proven.count(5) == 66
