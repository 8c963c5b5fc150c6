"""The polyhedral domain against cvxpy."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from affine_pieces import largest, least_of_pieces
from scipy.optimize import linprog

from oracle_opt import FunctionOracle, InvalidArgument, Polyhedron, minimize
from oracle_opt.domains import polyhedron
from oracle_opt.generators import Kelley, LevelSet, ProximalBundle


def example(seed):
    """A random bounded polyhedron with equations, and its description for cvxpy."""
    rng = np.random.default_rng(seed)
    A, E = rng.normal(size=(8, 6)), rng.normal(size=(2, 6))
    inside = rng.uniform(-0.5, 0.5, size=6)
    b, f = A @ inside + rng.uniform(0.1, 1.0, size=8), E @ inside
    return Polyhedron(A, b, equality_matrix=E, equality_rhs=f, lower=-1.0, upper=np.full(6, 2.0))


def constraints(P, z):
    return [P.A @ z <= P.b, P.equality_matrix @ z == P.equality_rhs, z >= P.lower, z <= P.upper]


@pytest.mark.parametrize("seed", range(5))
def test_linear_minimum_is_proven_and_attained(seed):
    P, slope, z = example(seed), np.random.default_rng(seed + 9).normal(size=6), cp.Variable(6)
    known = cp.Problem(cp.Minimize(slope @ z), constraints(P, z)).solve(solver=cp.CLARABEL)
    value, vertex = P.minimize_linear(1e3 * slope)
    assert value == pytest.approx(1e3 * known, abs=1e-4)
    assert value <= 1e3 * slope @ vertex + 1e-9
    assert P.contains(vertex)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("metric", [None, np.array([1.0, 2.0, 1e3, 1.0, 0.1, 5.0])], ids=["Euclid", "diagonal"])
def test_projection_agrees_with_clarabel(seed, metric):
    P, point, z = example(seed), 3 * np.random.default_rng(seed).normal(size=6), cp.Variable(6)
    weights = np.ones(6) if metric is None else metric
    away = cp.sum(cp.multiply(weights, cp.square(z - point)))
    cp.Problem(cp.Minimize(away), constraints(P, z)).solve(solver=cp.CLARABEL)
    near = P.project(point, metric)
    assert P.contains(near)
    assert near == pytest.approx(z.value, abs=1e-4)
    assert weights @ (near - point) ** 2 <= away.value * (1 + 1e-7)
    assert P.project(near) == pytest.approx(near, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_interior_point_leaves_room(seed):
    P = example(seed)
    z = P.interior_point()
    assert (P.A @ z < P.b - 1e-3).all()
    assert ((z > P.lower) & (z < P.upper)).all()
    assert P.equality_matrix @ z == pytest.approx(P.equality_rhs)


@pytest.mark.parametrize("seed", range(3))
def test_interior_point_near_a_center_leaves_room_too(seed):
    P = example(seed)
    center = 3 * np.random.default_rng(seed).normal(size=6)
    near = Polyhedron(
        P.A, P.b, equality_matrix=P.equality_matrix, equality_rhs=P.equality_rhs, lower=-1.0, upper=2.0, center=center
    )
    z = near.interior_point()
    assert (P.A @ z < P.b).all()
    assert ((z > P.lower) & (z < P.upper)).all()
    assert P.equality_matrix @ z == pytest.approx(P.equality_rhs)
    assert np.linalg.norm(z - center) < np.linalg.norm(P.interior_point() - center)


def test_tightened_bounds_are_the_extent_of_the_set():
    wide = {"A": [[1.0, 1.0]], "b": [1.0], "lower": 0.0, "upper": 1e4}
    assert Polyhedron(**wide).upper.tolist() == [1e4, 1e4]
    tight = Polyhedron(**wide, tighten=True)
    assert tight.upper == pytest.approx([1.0, 1.0], abs=1e-8)
    assert (tight.upper >= 1.0).all()
    assert tight.lower.tolist() == [0.0, 0.0]


def test_extent_takes_the_place_of_missing_bounds():
    triangle = Polyhedron([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0, 0.0])
    assert triangle.lower == pytest.approx([0.0, 0.0], abs=1e-8)
    assert triangle.upper == pytest.approx([1.0, 1.0], abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0, 1.0]], None), "given together"),
        (([[1.0, 1.0]], [1.0, 2.0]), "shapes"),
        (([[np.nan, 1.0]], [1.0]), "finite"),
        (([[0.0, 0.0]], [-1.0]), "row 0 is 0 <= -1"),
        (([[1.0, 1.0]], [1.0]), "no bound"),
        (([[1.0], [-1.0]], [0.0, -1.0]), "no point"),
        ((None, None), "number of variables"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        Polyhedron(*arguments)
    with pytest.raises(InvalidArgument, match="at most"):
        Polyhedron(lower=[1.0], upper=[0.0])


def test_what_is_never_slack_becomes_an_equation():
    # x + y <= 1 and x + y >= 1, z <= 2 and z >= 2, and the first equation twice
    P = Polyhedron(
        [[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, 0.0, 0.0]],
        [1.0, -1.0, 0.8],
        equality_matrix=[[2.0, 2.0, 0.0]],
        equality_rhs=[2.0],
        lower=[0.0, 0.0, 2.0],
        upper=[5.0, 5.0, 2.0],
    )
    assert len(P.equality_rhs) == 2
    assert len(P.b) == 1
    assert P.interior_point() == pytest.approx([0.4, 0.6, 2.0])
    assert P.minimize_linear(np.array([1.0, 3.0, 1.0]))[0] == pytest.approx(0.8 + 0.6 + 2.0)
    assert P.project(np.array([5.0, 5.0, 5.0])) == pytest.approx([0.5, 0.5, 2.0], abs=1e-6)


@pytest.mark.parametrize(("seed", "n", "k", "calls"), [(2, 20, 8, 31), (2, 60, 30, 18), (1, 20, 8, 9)])
def test_proximal_bundle_starts_from_the_last_multipliers_of_equations(seed, n, k, calls):
    # badly scaled equations in a wide box; without a warm start the masters fail and the steps are short
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(k, n)) * (rng.random((k, n)) < 0.3) * 10 ** rng.uniform(-1, 1, size=(k, 1))
    E[np.arange(k), np.arange(k)] += 1
    point = rng.exponential(size=n) * (rng.random(n) < 0.6) * 100
    slopes, constants = rng.uniform(0, 5, size=(15, n)), 100 * rng.normal(size=15)

    domain = Polyhedron(equality_matrix=E, equality_rhs=E @ point, lower=0, upper=1e6)
    result = minimize(FunctionOracle(largest(slopes, constants), domain), ProximalBundle(), rtol=1e-6, max_calls=calls)
    known = least_of_pieces(domain, slopes, constants)
    assert result.success
    assert result.lower_bound <= known * (1 + 1e-9)
    assert result.upper_bound == pytest.approx(known, rel=2e-6)


def test_a_slope_of_rounding_size_proves_its_minimum_within_bounds_far_away() -> None:
    domain = Polyhedron(np.ones((1, 5)), np.ones(1), lower=0, upper=1e6)  # the simplex, in truth
    slope = np.array([1.0, -5e-8, 0.0, 2e-8, -1e-9])
    assert domain.minimize_linear(slope)[0] == pytest.approx(-5e-8, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [8, 1])
def test_the_minimum_is_a_bound_whatever_multipliers_and_vertex_the_solver_gives(seed, rows, monkeypatch):
    """A solver off by its tolerance, or far more, falsifies nothing: the bound is what its multipliers prove."""
    P, rng = example(seed), np.random.default_rng(seed)
    if rows == 1:
        P = Polyhedron(P.A[:1], P.b[:1], lower=-1.0, upper=2.0)
    described = P.A, P.b, P.equality_matrix, P.equality_rhs, list(zip(P.lower, P.upper, strict=True))
    solve = polyhedron.solved

    def sloppy(*given):
        primal, dual = solve(*given)
        return primal + size * rng.normal(size=primal.shape), dual + size * rng.normal(size=dual.shape)

    monkeypatch.setattr(polyhedron, "solved", sloppy)
    for size in (1e-6, 1e-2, 1.0):
        for _ in range(10):
            slope = rng.normal(size=6)
            solved = linprog(slope, *described)
            value = P.minimize_linear(slope)[0]
            assert value <= solved.fun + 1e-9
            assert value >= solved.fun - 200 * size  # and a small error costs little


@pytest.mark.parametrize("seed", range(3))
def test_osqp_projects_where_the_newton_method_does_not_end(seed, monkeypatch):
    P, point = example(seed), 3 * np.random.default_rng(seed).normal(size=6)
    weights = np.array([1.0, 2.0, 30.0, 1.0, 0.1, 5.0])
    near = P.project(point, weights)
    monkeypatch.setattr(P, "_projection", lambda *given: SimpleNamespace(converged=False, point=P.interior_point()))
    assert P.project(point, weights) == pytest.approx(near, abs=1e-6)


def test_a_metric_of_any_size_projects_alike():
    P, point = example(0), 3 * np.random.default_rng(0).normal(size=6)
    weights = np.array([1.0, 2.0, 30.0, 1.0, 0.1, 5.0])
    for size in (1e-6, 1e6):
        assert P.project(point, size * weights) == pytest.approx(P.project(point, weights), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_point_is_contained_up_to_a_share_of_the_terms_of_each_row(seed):
    """A row, an equation and a bound, each in its own unit, beside a variable as large as it may be."""
    rng = np.random.default_rng(seed)
    (p, q, r), (x, y) = 10.0 ** rng.uniform(-5, 5, 3), 10.0 ** rng.uniform(-5, 5, 2)
    P = Polyhedron(
        [[p / x, p / y, 0.0, 0.0]],
        [2 * p],
        equality_matrix=[[q / x, -q / y, 0.0, 0.0]],
        equality_rhs=[0.0],
        lower=[-9 * x, -9 * y, -r, -1e8],
        upper=[9 * x, 9 * y, 9 * r, 1e8],
    )
    center = np.array([x, y, r, 1e8])
    for tolerance in (1e-9, 1e-6):
        for point, away, terms in (
            (center, np.array([0.5 * x, 0.5 * y, 0.0, 0.0]), 4.0),  # at the inequality
            (0.5 * center, np.array([0.5 * x, -0.5 * y, 0.0, 0.0]), 1.0),  # the equation on both sides
            (0.5 * center, np.array([-0.5 * x, 0.5 * y, 0.0, 0.0]), 1.0),
            (np.array([0.0, 0.0, -r, 0.0]), np.array([0.0, 0.0, -r, 0.0]), 2.0),  # at a bound
        ):
            assert P.contains(point, tolerance)
            assert P.contains(point + 0.9 * tolerance * terms * away, tolerance)
            assert not P.contains(point + 1.1 * tolerance * terms * away, tolerance)


@pytest.mark.parametrize("tighten", [False, True])
@pytest.mark.parametrize("place", [-1e6, -3.0, 0.0, 1e6])
def test_extents_hold_the_whole_set_wherever_it_lies(place, tighten):
    """Bounds that take the place of the rows lie outside of these, by HiGHS' tolerance relative to their size."""
    rows = np.array([[-2.0, 0.0], [0.0, -0.5], [1.0, 1.0]])
    corner = np.array([place, 2 * place])
    sides = rows @ corner + np.array([0.0, 0.0, 5.0])
    given = {"lower": corner - 1e3, "upper": corner + 1e3} if tighten else {}
    P = Polyhedron(rows, sides, tighten=tighten, **given)
    for side, known, sign in ((P.lower, corner, 1.0), (P.upper, corner + 5.0, -1.0)):
        beyond = sign * (known - side)
        margin = 1e-9 * np.maximum(1.0, np.abs(known))
        assert (beyond >= 0.2 * margin).all()
        assert (beyond <= 3 * margin).all()


def test_wide_bounds_cost_a_proof_little():
    """Where bounds are far, each remainder of a reduced slope is multiplied by their width."""
    rng, losses = np.random.default_rng(0), []
    for _ in range(100):
        n, m = int(rng.integers(3, 40)), int(rng.integers(1, 30))
        A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.4)
        A[:, 0] += 0.1
        E, inside = rng.normal(size=(int(rng.integers(0, max(1, n // 3))), n)), rng.normal(size=n)
        width = 10 ** rng.uniform(4, 7)
        domain = Polyhedron(
            A, A @ inside + rng.random(m), equality_matrix=E, equality_rhs=E @ inside, lower=-width, upper=width
        )
        slope = rng.normal(size=len(E)) @ E - (rng.random(m) * (rng.random(m) < 0.3)) @ A
        proven, vertex = domain.minimize_linear(slope)
        size = abs(proven) + float(np.abs(slope).max())
        assert proven <= slope @ vertex + 1e-9 * size
        losses.append((slope @ vertex - proven) / max(size, 1e-300))
    assert np.quantile(losses, 0.95) <= 1e-8
    assert max(losses) <= 1e-6


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e-6, 1e-3, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_a_set_has_the_same_equations_in_all_units(unit, seed):
    """What is slack in plain units is no equation in others, and what never is stays one."""
    rng = np.random.default_rng(seed)
    n = 3
    row, other = rng.uniform(0.2, 1.0, (2, n))
    rows, sides = [row, -row, other, -other], [2.0, -1.0, 1.5, -1.5]  # 1 <= row <= 2, and other == 1.5
    set_ = Polyhedron(np.array(rows) / unit, sides, lower=0.0, upper=9.0 * unit)
    assert len(set_.equality_rhs) == 1
    slope = rng.normal(size=n)
    plain = Polyhedron(rows, sides, lower=0.0, upper=9.0)
    assert set_.minimize_linear(slope / unit)[0] == pytest.approx(plain.minimize_linear(slope)[0], rel=1e-6, abs=1e-6)


@pytest.mark.campaign(4)
@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e-5, 1e-2, 1e3, 1e9])
@pytest.mark.parametrize("seed", range(8))
def test_points_are_feasible_and_bounds_true_in_any_unit(unit, seed) -> None:
    """Tolerances of solvers are absolute: in units of 1e-9 a point missed its rows by a tenth of the set, a success."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    A, b, c = rng.normal(size=(m, n)), rng.uniform(0.2, 1.0, m), rng.normal(size=n)
    E, middle = rng.normal(size=(seed % 2, n)), rng.uniform(-0.1, 0.1, n)
    f = E @ middle
    z = cp.Variable(n)
    constraints = [A @ z <= b, z <= 1, z >= -1] + ([E @ z == f] if len(E) else [])
    truth = cp.Problem(cp.Minimize(c @ z + 2 * cp.norm1(z - 0.1)), constraints).solve(solver=cp.CLARABEL)
    domain = Polyhedron(A, unit * b, equality_matrix=E, equality_rhs=unit * f, lower=-unit, upper=np.full(n, unit))

    def function(x):
        away = x / unit - 0.1
        return float(c @ x) / unit + 2 * float(np.abs(away).sum()), (c + 2 * np.sign(away)) / unit

    for generator in (Kelley(), LevelSet(), ProximalBundle()):
        result = minimize(FunctionOracle(function, domain), generator, rtol=1e-6, max_calls=200)
        assert result.lower_bound - 1e-7 <= truth <= result.upper_bound + 1e-7
        assert domain.contains(result.point)
        missed = np.r_[
            A @ result.point / unit - b, np.abs(E @ result.point / unit - f), np.abs(result.point) / unit - 1
        ]
        assert missed.max() <= 1e-7
        result.certificate().verify()
