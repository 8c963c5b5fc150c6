"""Domains: projections against a QP solver and by hypothesis, linear minimization, containment, misuse."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracle_opt import InvalidArgument
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex

finite = st.floats(-100, 100, allow_nan=False, width=32)
points = arrays(np.float64, 6, elements=finite)
metrics = arrays(np.float64, 6, elements=st.floats(0.015625, 64, width=32))
DOMAINS = [
    Simplex(6),
    Simplex(6, 3.5),
    ProductOfSimplices([1, 3, 2]),
    ProductOfSimplices([2, 2, 2], radius=0.5),
    Box(-np.ones(6), np.arange(1.0, 7.0)),
    NonnegativeOrthant(6, radius=200.0),
    Ball(6, 2.0, np.arange(6.0)),
    FreeSpace(6, radius=1000.0),
]
EUCLIDEAN_ONLY = (Ball,)
each_domain = pytest.mark.parametrize("domain", DOMAINS, ids=repr)


@pytest.mark.campaign(2)
@each_domain
@settings(max_examples=60, deadline=None)
@given(point=points, other=points)
def test_projection_is_the_nearest_point(domain, point, other) -> None:
    """Kolmogorov's criterion against other points of the set, and idempotence."""
    nearest = domain.project(point)
    assert domain.contains(nearest, 1e-12)
    np.testing.assert_allclose(domain.project(nearest), nearest, atol=1e-10)
    inside = domain.project(other)
    assert (point - nearest) @ (inside - nearest) <= 1e-8 * (1 + np.abs(point).max()) ** 2


@each_domain
@settings(max_examples=40, deadline=None)
@given(point=points, other=points, metric=metrics)
def test_projection_in_a_diagonal_metric(domain, point, other, metric) -> None:
    if isinstance(domain, EUCLIDEAN_ONLY):
        with pytest.raises(InvalidArgument, match="Euclidean only"):
            domain.project(point, metric)
        return
    nearest = domain.project(point, metric)
    assert domain.contains(nearest, 1e-11)
    inside = domain.project(other)
    assert (metric * (point - nearest)) @ (inside - nearest) <= 1e-7 * metric.max() * (1 + np.abs(point).max()) ** 2


@each_domain
@settings(max_examples=60, deadline=None)
@given(slope=points, other=points)
def test_linear_minimum_is_below_every_point_and_attained(domain, slope, other) -> None:
    value, point = domain.minimize_linear(slope)
    scale = 1e-9 * (1 + np.abs(slope).max()) * 1e4
    assert slope @ point == pytest.approx(value, abs=scale)
    inside = domain.project(other)
    if isinstance(domain, NonnegativeOrthant):
        inside = np.minimum(inside, domain.radius)
    assert value <= slope @ inside + scale


@pytest.mark.parametrize("seed", range(5))
def test_weighted_simplex_projection_agrees_with_clarabel(seed) -> None:
    rng = np.random.default_rng(seed)
    point, metric = 3 * rng.normal(size=9), rng.uniform(0.1, 10, 9)
    domain = ProductOfSimplices([4, 5], radius=2.0)
    z = cp.Variable(9, nonneg=True)
    distance = cp.sum_squares(cp.multiply(np.sqrt(metric), z - point))
    cp.Problem(cp.Minimize(distance), [cp.sum(z[:4]) == 2, cp.sum(z[4:]) == 2]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(domain.project(point, metric), z.value, atol=1e-6)


@each_domain
def test_interior_point_is_inside_and_linear_constraints_describe_the_set(domain) -> None:
    middle = domain.interior_point()
    assert domain.contains(middle)
    constraints = domain.linear_constraints()
    if constraints is None:
        assert isinstance(domain, Ball)
        return
    np.testing.assert_allclose(constraints.equality_matrix @ middle, constraints.equality_rhs)
    assert (middle > constraints.lower).all()
    assert (middle < constraints.upper).all() or isinstance(domain, ProductOfSimplices)


def test_unbounded_directions_have_minimum_minus_infinity() -> None:
    assert NonnegativeOrthant(2).minimize_linear(np.array([1.0, -1.0]))[0] == -np.inf
    assert NonnegativeOrthant(2).minimize_linear(np.array([1.0, 0.0]))[0] == 0.0
    assert FreeSpace(2, radius=np.inf).minimize_linear(np.array([1.0, 0.0]))[0] == -np.inf
    assert FreeSpace(2, radius=np.inf).minimize_linear(np.zeros(2))[0] == 0.0


@pytest.mark.parametrize("domain", [d for d in DOMAINS if isinstance(d, ProductOfSimplices)], ids=repr)
@settings(max_examples=60, deadline=None)
@given(point=points, distance=st.sampled_from([0.0, 1e-13, 1e-8, 1e-3]), direction=points)
def test_simplices_contain_what_is_near_enough(domain, point, distance, direction) -> None:
    """The short cut for nonnegative points gives the answer of the distance to the projection."""
    near = domain.project(point) + distance * direction
    for candidate in (near, np.abs(near)):
        away = float(np.linalg.norm(domain.project(candidate) - candidate))
        if abs(away - 1e-9) > 1e-12:
            assert domain.contains(candidate) == (away <= 1e-9 * max(1.0, float(np.linalg.norm(candidate))))
    with pytest.raises((ValueError, IndexError)):
        domain.contains(np.append(near, 0.0))


def test_tied_slopes_put_the_whole_block_on_one_variable() -> None:
    value, point = ProductOfSimplices([2, 3]).minimize_linear(np.array([1.0, 1.0, 5.0, 2.0, 2.0]))
    assert value == 3.0
    np.testing.assert_array_equal(point, [1, 0, 0, 1, 0])
    value, point = Simplex(3, 2.0).minimize_linear(np.array([2.0, 1.0, 1.0]))
    assert value == 2.0
    np.testing.assert_array_equal(point, [0, 2, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Simplex(0), "`dimension` must be a whole number of at least 1, got 0"),
        (lambda: Simplex(3, -1.0), "`radius` must be positive"),
        (lambda: Simplex(3, np.inf), "positive and finite"),
        (lambda: ProductOfSimplices([]), "`sizes` must name at least one block"),
        (
            lambda: Box([0.0, 1.5], [1.0, 1.0]),
            "at most `upper`, with a number between them, got 1.5 and 1.0 at index 1",
        ),
        (lambda: Box([0.0, np.inf], [1.0, np.inf]), "with a number between them, got inf and inf at index 1"),
        (lambda: Box([-np.inf, 0.0], [-np.inf, 1.0]), "with a number between them, got -inf and -inf at index 0"),
        (lambda: Box([np.nan], [1.0]), "with a number between them, got nan and 1.0 at index 0"),
        (lambda: Box([[0.0]], [[1.0]]), "must have shape"),
        (lambda: Ball(2, center=[1.0]), "`center` must be 2 finite numbers"),
        (lambda: FreeSpace(2, radius=0.0), "`radius` must be positive"),
    ],
)
def test_misuse_is_named(make, message) -> None:
    with pytest.raises(InvalidArgument, match=message.replace("(", r"\(")):
        make()


def test_repr_tells_domains_apart() -> None:
    one, other = Box(np.zeros(2000), np.arange(1.0, 2001.0)), Box(np.zeros(2000), np.arange(2.0, 2002.0))
    assert repr(one) != repr(other)
    assert repr(Simplex(3)) == "Simplex(3, radius=1)"


PLACED = [
    FreeSpace(6, 3.0, 2.0 - np.arange(6.0)),
    FreeSpace(6, 40.0, np.full(6, 7.0)),
    Ball(6, 0.7, 5.0 - np.arange(6.0)),
    NonnegativeOrthant(6, radius=0.3),
    NonnegativeOrthant(6, radius=2.5),
    Box(np.arange(6.0) - 9.0, np.arange(6.0) - 8.5),
    ProductOfSimplices([2, 1, 3], radius=4.0),
]


@pytest.mark.parametrize("domain", PLACED, ids=repr)
def test_linear_minima_agree_with_clarabel_wherever_the_set_lies(domain) -> None:
    """The promise of a minimizer within the radius is the set that a bound is taken over."""
    z, slope = cp.Variable(6), cp.Parameter(6)
    if isinstance(domain, FreeSpace | Ball):
        inside = [cp.norm(z - domain.center) <= domain.radius]
    elif isinstance(domain, Box | NonnegativeOrthant):
        lower, upper = domain.bounding_box()
        inside = [z >= lower, z <= upper]
    else:
        inside = [z >= 0, cp.sum(z[:2]) == 4, z[2] == 4, cp.sum(z[3:]) == 4]
    program = cp.Problem(cp.Minimize(slope @ z), inside)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1.0, 1e3):
        slope.value = size * rng.normal(size=6)
        known = program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        value, point = domain.minimize_linear(slope.value)
        assert value == pytest.approx(known, rel=1e-6)
        assert slope.value @ point == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(point, z.value, atol=1e-3)


@pytest.mark.parametrize("radius", [0.5, 3.0, np.inf])
def test_the_radius_of_an_orthant_cuts_no_point_off(radius) -> None:
    """It is a promise on the minimizer: points beyond it are of the set, and stay where they are."""
    domain = NonnegativeOrthant(3, radius)
    for point in (np.array([7.0, 0.2, -1.0]), np.array([0.0, 1e9, 4.0])):
        np.testing.assert_array_equal(domain.project(point), np.maximum(point, 0.0))
        np.testing.assert_array_equal(domain.project(point, np.array([1.0, 5.0, 0.1])), np.maximum(point, 0.0))
        assert domain.contains(np.maximum(point, 0.0))
        assert domain.contains(point) == (point.min() >= 0)


@pytest.mark.parametrize("domain", [*DOMAINS, *PLACED], ids=repr)
def test_what_a_domain_gives_is_the_callers_own(domain) -> None:
    """A caller that changes a point in place changes no later answer."""
    given, slope = np.linspace(-1.0, 3.0, 6), np.array([1.0, 0.0, -2.0, 0.0, 3.0, 1.0])
    asked = (
        domain.interior_point,
        lambda: domain.project(given),
        lambda: domain.project(domain.interior_point()),
        lambda: domain.minimize_linear(slope)[1],
        lambda: domain.minimize_linear(np.zeros(6))[1],
    )
    for ask in asked:
        kept = ask().copy()
        ask()[:] = 99.0
        np.testing.assert_array_equal(ask(), kept)
    np.testing.assert_array_equal(given, np.linspace(-1.0, 3.0, 6))


@pytest.mark.parametrize("seed", range(20))
def test_promised_bounds_of_a_polyhedron_are_told_and_are_no_constraints_of_a_certificate(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    radius = 10.0 ** rng.uniform(-3, 6)
    A, b = rng.normal(size=(2, n)), radius * rng.uniform(2.0, 3.0, 2)  # the rows leave room around 0
    promised = rng.random((2, n)) < 0.5
    domain = Polyhedron(A, b, lower=-np.full(n, radius), upper=np.full(n, radius), promised=promised)
    inside, edge = domain.interior_point(), domain.minimize_linear(rng.normal(size=n))[1]
    touched = promised & (np.array([edge + radius, radius - edge]) <= 1e-6 * radius)
    assert not touched.any() or "promised" in domain.doubt(edge)
    assert not domain.doubt(np.zeros(n))
    assert bool(domain.promise()) == promised.any()
    described = domain.described(rng.normal(size=n))
    assert ("promised" in described) == promised.any()
    own = described["set"]
    assert (np.isinf([own["lower"], own["upper"]]) == promised).all() or not promised.any()
    assert domain.contains(inside)
    with_none = Polyhedron(A, b, lower=-np.full(n, radius), upper=np.full(n, radius))
    assert (domain.identity() == with_none.identity()) == (not promised.any())
