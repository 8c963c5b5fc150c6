"""What feasibility cuts say: the nearest feasible point by Clarabel, emptiness in exact arithmetic."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, FunctionOracle, ObjectiveCut, Polyhedron, Status, minimize
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.feasible_points import nearest_feasible, prove_empty

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


@pytest.mark.parametrize(
    "generator",
    [Ellipsoid(), Ellipsoid(deep=False), Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()],
    ids=repr,
)
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_cuts_that_leave_one_point_leave_no_empty_set(generator, n, size):
    """Half-spaces that meet in the point are no proof that it is not there."""
    point = np.full(n, 0.3 * size)

    def function(z):
        away = z - point
        i = int(np.abs(away).argmax())
        if abs(away[i]) > 1e-12 * size:
            return FeasibilityCut(z, float(abs(away[i])), np.sign(away[i]) * np.eye(n)[i], error=1e-12 * size)
        return ObjectiveCut(z, float(z.sum()), np.ones(n))

    box = Box(-np.full(n, size), np.full(n, size))
    result = minimize(FunctionOracle(function, box, gives={FeasibilityCut}), generator, max_calls=250)
    assert result.status in (Status.CONVERGED, Status.EXHAUSTED, Status.STALLED, Status.MAX_CALLS)
    if result.point is not None:
        assert result.upper_bound == pytest.approx(0.3 * n * size)
    assert result.lower_bound <= 0.3 * n * size * (1 + 1e-9)


@pytest.mark.parametrize("generator", [Ellipsoid(), Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
@pytest.mark.parametrize("gap", [1e-3, 0.1])
def test_cuts_that_leave_nothing_are_proven_to(generator, gap):
    """A triangle of half-planes that miss each other by a gap."""
    rows = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])

    def function(z):
        depths = rows @ z + gap
        i = int(depths.argmax())
        return FeasibilityCut(z, float(depths[i]), rows[i])

    box = Box(-np.ones(2), np.ones(2))
    result = minimize(FunctionOracle(function, box, gives={FeasibilityCut}), generator, max_calls=500)
    assert result.status is Status.EMPTY
    assert result.point is None
