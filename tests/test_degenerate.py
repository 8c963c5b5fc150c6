"""Sets without interior, gaps at rounding, points far away: each run ends in words that are true."""

import numpy as np
import pytest
from affine_pieces import largest

from oracle_opt import FeasibilityCut, FunctionOracle, ObjectiveCut, Status, minimize
from oracle_opt.bounds import BoundTracker
from oracle_opt.domains import Box, FreeSpace, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import AnalyticCenter, Ellipsoid, Kelley, LevelSet, ProximalBundle, SpectralBundle
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.feasible_points import nearest_feasible, prove_empty
from oracle_opt.generators.masters.spectral_master import minimize_spectral
from oracle_opt.generators.masters.spectral_models import SpectralModel
from oracle_opt.oracles import MaxEigenvalueOracle

TAKE_CUTS = [AnalyticCenter, Kelley, lambda: Kelley(chebyshev=True), LevelSet, ProximalBundle, Ellipsoid]
NAMES = ["analytic center", "kelley", "chebyshev", "level set", "proximal bundle", "ellipsoid"]


@pytest.mark.parametrize("seed", range(40))
def test_the_projection_of_a_point_far_away_adds_up_to_the_radius(seed) -> None:
    """The multiplier of the sum is as large as the point; what it leaves must not drown in its rounding."""
    rng = np.random.default_rng(seed)
    radius, far = 10.0 ** rng.uniform(-4, 4), 10.0 ** rng.uniform(4, 16)
    n = int(rng.integers(1, 8))
    metric = None if seed % 2 else np.exp(3 * rng.normal(size=n))
    point = far * rng.normal(size=n)
    for domain in (Simplex(n, radius), ProductOfSimplices([n], radius)):
        nearest = domain.project(point, metric)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(radius, rel=1e-12)
    common = domain.project(rng.normal(size=n), metric)  # a multiple of 1 / metric changes nothing but rounding
    shift = 1e6 / (np.ones(n) if metric is None else metric)
    np.testing.assert_allclose(domain.project(common + shift, metric), common, atol=1e-9 * (radius + shift.max()))


def rows_of(domain, matrix, sides) -> Rows:
    pool = CutPool(domain)
    pool.add_inequalities(matrix, sides)
    return pool.feasibility


def domain_of(name, rng):
    if name == "polyhedron":
        normals = rng.normal(size=(2, 4))
        return Polyhedron(normals[:1], [0.5], equality_matrix=normals[1:], equality_rhs=[0.0], lower=-1, upper=1)
    return {"box": Box(-np.ones(4), np.ones(4)), "simplex": Simplex(4), "product": ProductOfSimplices([1, 3])}[name]


@pytest.mark.parametrize("name", ["box", "simplex", "product", "polyhedron"])
@pytest.mark.parametrize("seed", range(6))
def test_an_empty_set_is_proven_empty_and_one_of_a_single_point_is_not(name, seed) -> None:
    """Opposite rows that meet in a plane through a point of the domain, or miss each other by a little."""
    rng = np.random.default_rng(seed)
    domain = domain_of(name, rng)
    common = 0.5 * (domain.interior_point() + domain.project(rng.normal(size=4)))
    normals = rng.normal(size=(3, 4))
    matrix = np.vstack([normals, -normals])
    touching = nearest_feasible(domain, rows := rows_of(domain, matrix, matrix @ common), domain.interior_point())
    assert not prove_empty(domain, rows, touching.multipliers)
    assert (matrix @ (touching.point - common)).max() <= 1e-6
    apart = rows_of(domain, matrix, matrix @ common - 1e-3)
    missed = nearest_feasible(domain, apart, domain.interior_point())
    assert not missed.converged
    assert prove_empty(domain, apart, missed.multipliers)
    assert domain.contains(missed.point)


def walls(width, offset=0.0):
    """Minimize the second variable where the first lies between two walls, which cuts tell; empty if width < 0."""

    def function(z):
        for beyond, normal in ((z[0] - 0.3 - width, np.array([1.0, 0.0])), (0.3 - z[0], np.array([-1.0, 0.0]))):
            if beyond > 1e-9:
                return FeasibilityCut(z, float(beyond), normal, error=1e-9)
        return ObjectiveCut(z, float(z[1]) + offset, np.array([0.0, 1.0]))

    return FunctionOracle(function, Box(-np.ones(2), np.ones(2)), gives={FeasibilityCut})


@pytest.mark.parametrize("make", TAKE_CUTS, ids=NAMES)
@pytest.mark.parametrize("width", [0.0, 1e-12, 1e-10, 1e-8, 1e-6])
def test_a_set_without_interior_is_never_called_empty(make, width) -> None:
    result = minimize(walls(width), make(), max_calls=100, max_seconds=20)
    assert result.status not in (Status.EMPTY, Status.CONTRADICTION, Status.MAX_SECONDS)
    assert result.lower_bound <= -1.0 <= result.upper_bound + 1e-12
    # Within the oracle's tolerance of 1e-9 a unit in the last place decides whether projections go on; a linear program
    # does not mind. The other two live on a ball and a volume.
    if make is Kelley or (width > 1e-9 and make not in (TAKE_CUTS[2], Ellipsoid)):
        assert result.upper_bound <= -1.0 + 1e-5


@pytest.mark.parametrize("make", TAKE_CUTS, ids=NAMES)
@pytest.mark.parametrize("width", [-1e-3, -0.3])
def test_an_empty_set_is_called_so(make, width) -> None:
    result = minimize(walls(width), make(), max_calls=200, max_seconds=20)
    assert result.status is Status.EMPTY
    assert result.point is None
    assert "multipliers of the cuts prove" in result.message


@pytest.mark.parametrize("seed", range(5))
def test_a_gap_of_rounding_has_no_level_sets(seed) -> None:
    """Projections on the level sets of a gap of one unit in the last place took a hundred steps each, for nothing."""
    rng = np.random.default_rng(seed)
    scale, target, size = 1e5 * rng.uniform(0.5, 2), rng.normal(size=5), rng.uniform(0.1, 3, 5)

    def function(z):
        away = size * (z - target)
        return scale * float(np.abs(away).sum()) + scale, scale * np.sign(away) * size

    oracle = FunctionOracle(function, Box(target - 2, target + rng.choice([-1, 1], 5) * 0.5 + 1))
    result = minimize(oracle, LevelSet(), rtol=0.0, atol=0.0, max_calls=200)
    assert result.status in (Status.STALLED, Status.CONVERGED)
    assert result.relative_gap <= 1e-12
    assert result.n_calls < 100


@pytest.mark.parametrize("seed", range(4))
def test_proximal_bundle_asks_inside_a_polyhedron(seed) -> None:
    """Its master satisfies the rows to a tolerance that grows where it fails at the limit of precision."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 2
    slopes = rng.normal(size=(7, n))
    sides = rng.normal(size=7)

    domain = Polyhedron(np.abs(rng.normal(size=(1, n))), [0.8], lower=-50, upper=50)
    oracle = FunctionOracle(largest(slopes, sides), domain)
    result = minimize(oracle, ProximalBundle(max_cuts=8), rtol=0.0, atol=0.0, max_calls=60, keep_cuts=True)
    assert result.status is not Status.CONTRADICTION
    assert all(domain.contains(cut.point) for cut in result.history.cuts)


@pytest.mark.parametrize("make", TAKE_CUTS, ids=NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_may_miss_each_other_by_what_an_oracle_tolerates_and_by_no_more(make, seed) -> None:
    """A flat feasibility cut of a steep function has a large multiplier, and so often counts the cut's error."""
    rng = np.random.default_rng(seed)
    domain, edge, steep, flat = Box(-np.ones(2), np.ones(2)), rng.uniform(-0.5, 0.5), 10.0 ** rng.uniform(1, 3), 1e-2
    slope, normal, error = np.array([steep, 0.0]), np.array([-flat, 0.0]), 1e-6
    outside = np.array([edge - 0.3, 0.0])
    nearly = np.array([edge - 0.9 * error / flat, 0.0])
    for stated in (error, 0.0):
        generator, tracker = make(), BoundTracker(domain)
        generator.reset(domain, outside)
        for cut in (
            FeasibilityCut(outside, 0.3 * flat, normal, error=stated),
            ObjectiveCut(nearly, steep * float(nearly[0]), slope),
        ):
            generator.tell(cut)
            tracker.update(cut, generator.minorant(), generator.weight())
        minorant = generator.minorant()
        if tracker.lower > tracker.upper:  # the proof is the whole one
            assert minorant.tolerance == pytest.approx(stated * steep / flat, rel=1e-3)
        assert tracker.contradiction() == (stated == 0.0 and tracker.lower > tracker.upper)
        if make not in (TAKE_CUTS[2], Ellipsoid):  # whose first proofs are weaker
            assert tracker.lower == pytest.approx(steep * edge, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-12, 1e12])
@pytest.mark.parametrize("equal", [True, False])
def test_an_eigenvalue_as_multiple_as_can_be_is_a_proven_minimum_or_a_stall(order, scale, equal) -> None:
    """At the start the matrix is a multiple of the identity, or nothing: the barrier's slacks vanish with it."""
    rng = np.random.default_rng(order)
    A = rng.normal(size=(2, order, order))
    A += A.transpose(0, 2, 1)
    A -= np.trace(A, axis1=1, axis2=2)[:, None, None] / order * np.eye(order)
    A = scale * (A[[0, 0]] if equal else A)
    for level in (0.0, 1.0):
        oracle = MaxEigenvalueOracle(level * np.eye(order), list(A), np.zeros(2), domain=FreeSpace(2, 1.0))
        result = minimize(oracle, SpectralBundle(), np.array([0.1, 0.2]), max_calls=40, max_seconds=20)
        assert result.status in (Status.CONVERGED, Status.STALLED, Status.MAX_CALLS)
        assert result.lower_bound <= level + 1e-15 <= result.upper_bound + 2e-15
        assert result.relative_gap <= 1e-5 or result.gap <= 1e-5 * scale


@pytest.mark.parametrize("seed", range(5))
def test_the_spectral_master_takes_a_quadratic_that_rounding_made_indefinite(seed) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 2))
    hessian = root @ root.T
    hessian -= 1e-13 * np.eye(4)
    F = rng.normal(size=(4, 3, 3))
    model = SpectralModel(-np.eye(3), F + F.transpose(0, 2, 1), np.zeros(0), np.zeros((0, 4)))
    done = minimize_spectral(model, hessian)
    assert np.isfinite(done.s).all()
    assert np.trace(done.V) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(done.V).min() >= -1e-12


@pytest.mark.parametrize("make", TAKE_CUTS, ids=NAMES)
@pytest.mark.parametrize("miss", [1e-13, 1e-10, 5e-10])
def test_a_set_that_is_empty_by_less_than_the_tolerance_is_not_called_so(make, miss) -> None:
    """An oracle that takes 1e-9 for rounding finds points in it."""
    result = minimize(walls(-miss), make(), max_calls=60, max_seconds=20)
    assert result.status not in (Status.EMPTY, Status.CONTRADICTION)
