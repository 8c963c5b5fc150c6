"""A `Box` whose bounds are equal in some variables: every generator that serves boxes, against HiGHS and Clarabel."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
from affine_pieces import largest, least_of_pieces
from table import classes, serving

from oracle_opt import Box, FeasibilityCut, FunctionOracle, ObjectiveCut, QueryPointGenerator, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet

N = 6
GENERATORS: list[QueryPointGenerator] = [
    one
    for one in (
        *(entry.make() for entry in classes().values()),
        AnalyticCenter(epigraph=False, proximal=0.0),
        AnalyticCenter(proximal=0.0),
        Kelley(chebyshev=True),
        LevelSet(adaptive=False),
    )
    if one.refusal(Box(np.zeros(N), np.ones(N))) is None
]
BUNDLES = [one for one in GENERATORS if one.needs_convexity]
SMOOTH = ("LBFGS", "ProjectedGradient", "QuasiNewton", "SPG")
each_generator = pytest.mark.parametrize("generator", GENERATORS, ids=repr)


def box(rng: np.random.Generator, n_fixed: int) -> Box:
    lower = rng.normal(size=N)
    upper = lower + rng.uniform(0.5, 2.0, N)
    fixed = rng.permutation(N)[:n_fixed]
    upper[fixed] = lower[fixed]
    return Box(lower, upper)


def check(result, domain, truth, generator, certified):
    rounding = 1e-8 * max(1.0, abs(truth))
    assert (result.history.lower_bound <= truth + rounding).all()
    assert (result.history.upper_bound >= truth - rounding).all()
    fixed = domain.lower == domain.upper
    for cut in result.history.cuts:
        np.testing.assert_array_equal(cut.point[fixed], domain.lower[fixed])
        assert domain.contains(cut.point, 1e-9)
    if certified:
        assert result.status is Status.CONVERGED, f"{generator}: {result.message}"


def test_generators_that_serve_boxes() -> None:
    assert {type(one).__name__ for one in GENERATORS} == serving(Box)


@each_generator
@pytest.mark.parametrize("n_fixed", [1, 3, 5, 6])
def test_largest_of_affine_functions(generator: QueryPointGenerator, n_fixed: int) -> None:
    rng = np.random.default_rng(n_fixed)
    domain, slopes, constants = box(rng, n_fixed), rng.normal(size=(15, N)), rng.normal(size=15)
    truth = least_of_pieces(domain, slopes, constants)

    convex = generator.needs_convexity
    result = minimize(
        FunctionOracle(largest(slopes, constants), domain),
        generator,
        rtol=1e-6,
        max_calls=1000 if convex else 60,
        keep_cuts=True,
    )
    check(result, domain, truth, generator, convex or n_fixed == N)


@each_generator
@pytest.mark.parametrize("n_fixed", [2, 4])
def test_quadratic_functions(generator: QueryPointGenerator, n_fixed: int) -> None:
    rng = np.random.default_rng(n_fixed)
    domain, root, target = box(rng, n_fixed), np.eye(N) + 0.3 * rng.normal(size=(N, N)), 2.0 * rng.normal(size=N)
    z = cp.Variable(N)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ (z - target))), [z >= domain.lower, z <= domain.upper])
    truth = float(problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11))
    oracle = FunctionOracle(
        lambda z: (0.5 * float(np.sum((root @ (z - target)) ** 2)), root.T @ (root @ (z - target))), domain
    )
    result = minimize(oracle, generator, rtol=1e-6, max_calls=1000, keep_cuts=True)
    check(result, domain, truth, generator, generator.needs_convexity)
    if type(generator).__name__ in SMOOTH:
        assert result.upper_bound <= truth + 1e-5 * max(1.0, abs(truth))


@pytest.mark.parametrize("generator", BUNDLES, ids=repr)
@pytest.mark.parametrize("n_fixed", [2, 4, 6])
@pytest.mark.parametrize("feasible", [True, False])
def test_feasibility_cuts(generator: QueryPointGenerator, n_fixed: int, feasible: bool) -> None:
    """A half-space through the middle of the box, or beyond it; one in fixed variables alone is either true or not."""
    rng = np.random.default_rng(n_fixed)
    domain, slope, normal = box(rng, n_fixed), rng.normal(size=N), rng.normal(size=N)
    side = float(normal @ domain.interior_point()) + 1e-3
    if not feasible:
        side = float(np.minimum(normal * domain.lower, normal * domain.upper).sum()) - 0.1
    bounds = list(zip(domain.lower, domain.upper, strict=True))
    solved = scipy.optimize.linprog(slope, normal[None], [side], bounds=bounds)

    def function(z):
        violation = float(normal @ z) - side
        if violation > 1e-9:
            return FeasibilityCut(z, violation, normal)
        return ObjectiveCut(z, float(slope @ z), slope)

    oracle = FunctionOracle(function, domain, gives={FeasibilityCut})
    result = minimize(oracle, generator, rtol=1e-6, max_calls=500, keep_cuts=True)
    if not feasible:
        assert solved.status == 2
        assert result.status is Status.EMPTY
        return
    check(result, domain, float(solved.fun), generator, True)


CENTRAL = [one for one in BUNDLES if type(one).__name__ != "ProximalBundle"]  # whose first weight is that of all slopes


@pytest.mark.parametrize("generator", CENTRAL, ids=repr)
def test_a_fixed_variable_is_as_good_as_none(generator: QueryPointGenerator) -> None:
    """The same query points as on the box of the variables that are left."""
    rng = np.random.default_rng(9)
    domain, slopes, constants = box(rng, 3), rng.normal(size=(15, N)), rng.normal(size=15)
    free = domain.lower < domain.upper
    slopes[:, ~free] *= 100.0

    whole = largest(slopes, constants)

    def part(w):
        z = domain.lower.copy()
        z[free] = w
        value, slope = whole(z)
        return value, slope[free]

    constants -= slopes[:, ~free] @ domain.lower[~free]  # else one piece is the largest everywhere
    small = FunctionOracle(part, Box(domain.lower[free], domain.upper[free]))
    runs = [
        minimize(oracle, generator, rtol=1e-6, max_calls=200, keep_cuts=True)
        for oracle in (FunctionOracle(whole, domain), small)
    ]
    assert runs[0].n_calls == runs[1].n_calls
    for one, other in zip(*(run.history.cuts for run in runs), strict=True):
        np.testing.assert_allclose(one.point[free], other.point, atol=1e-6)


def test_a_box_of_one_point() -> None:
    domain = Box([1.0, -2.0], [1.0, -2.0])
    np.testing.assert_array_equal(domain.interior_point(), [1.0, -2.0])
    np.testing.assert_array_equal(domain.project(np.array([5.0, 5.0])), [1.0, -2.0])
    assert domain.minimize_linear(np.array([3.0, 1.0]))[0] == 1.0
    assert domain.enclosing_ellipsoid()[1].shape == (2, 0)
    assert domain.contains(np.array([1.0, -2.0]))
    assert not domain.contains(np.array([1.0, -1.9]))
    assert not Box([0.0], [0.0], promised=True).doubt(np.zeros(1))
