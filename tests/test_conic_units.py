"""Bounds that a user states are kept in full, in all units; the radius stands in for infinite ones, as a promise."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import Box, FreeSpace, InvalidArgument, Polyhedron, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, CvxpyOracle, Nonnegative, SecondOrder, SemiInfiniteOracle, Zero
from oracle_opt.study import Outcome, settle

UNITS = [float(unit) for unit in 10.0 ** np.linspace(-6, 9, 20)]


def program(seed, unit):
    """Cost, rows and a box that lies away from the origin, in a unit; the origin may be far outside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    lower = rng.uniform(-2, 5, n)
    upper = lower + rng.uniform(0.5, 3, n)
    A, middle = rng.normal(size=(3, n)), 0.5 * lower + 0.5 * upper
    return rng.normal(size=n) / unit, A, (A @ middle + rng.uniform(0.1, 0.5, 3)) * unit, lower * unit, upper * unit


def rows_of(A, b, lower, upper):
    eye = np.eye(len(lower))
    return np.vstack([A, eye, -eye]), np.r_[b, upper, -lower]


@pytest.mark.parametrize(("seed", "unit"), [*enumerate(UNITS)])
def test_linear_programs_in_all_units_have_the_default_radius_beside_the_point(seed, unit):
    c, A, b, lower, upper = program(seed, unit)
    known = linprog(c * unit, A, b / unit, bounds=list(zip(lower / unit, upper / unit, strict=True))).fun
    rows, sides = rows_of(A, b, lower, upper)
    oracle = ConicOracle(c, rows, sides, [Nonnegative(len(sides))])
    assert isinstance(oracle.domain, Box)
    assert np.array_equal(oracle.domain.lower, -sides[-len(lower) :])
    assert not oracle.domain.promise()
    run = minimize(oracle, Kelley(), rtol=1e-7)
    assert run.success
    assert not run.warnings
    assert run.lower_bound <= known + 1e-9 * (1 + abs(known))
    assert run.upper_bound >= known - 1e-7 * (1 + abs(known))
    assert run.gap <= 1e-6 * (1 + abs(known))
    assert run.certificate().verify(oracle).proven


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", [ProximalBundle(), LevelSet(), AnalyticCenter()], ids=repr)
@pytest.mark.parametrize(("seed", "unit"), [*enumerate(UNITS)][::4])
def test_quadratic_programs_in_all_units(seed, unit, generator):
    c, A, b, lower, upper = program(seed, unit)
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(len(c), len(c)))
    z = cp.Variable(len(c))
    inside = [A @ z <= b / unit, z >= lower / unit, z <= upper / unit]
    known = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ z) + c * unit @ z), inside).solve(solver=cp.CLARABEL)
    rows, sides = rows_of(A, b, lower, upper)
    oracle = ConicOracle(c, rows, sides, [Nonnegative(len(sides))], P=root.T @ root / unit**2)
    run = minimize(oracle, generator, rtol=1e-6, max_calls=400)
    size = 1e-6 * (1 + abs(known))
    assert run.lower_bound <= known + size
    assert run.upper_bound >= known - size
    assert run.gap <= (2.0 if unit > 1e-3 else 1e2) * size  # tolerances of 1e-9 are large beside a unit of 1e-6
    assert run.certificate().verify(oracle).proven


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e4, 1e9])
def test_no_radius_changes_what_is_bounded_on_both_sides(radius):
    c, A, b, lower, upper = program(3, 1e5)
    rows, sides = rows_of(A, b, lower, upper)
    default = ConicOracle(c, rows, sides, [Nonnegative(len(sides))], hold_rows=True)
    oracle = ConicOracle(c, rows, sides, [Nonnegative(len(sides))], domain=FreeSpace(len(c), radius), hold_rows=True)
    assert isinstance(oracle.domain, Polyhedron)
    assert oracle.domain.identity() == default.domain.identity()
    assert not oracle.domain.promise()


def test_a_bound_on_one_side_has_the_radius_beyond_it():
    free = FreeSpace(3, 10.0, [0.0, 0.0, 5.0])
    rows, sides = [[-1, 0, 0], [0, 1.0, 0], [0, 0, 2.0]], [-5e4, -100.0, 8.0]
    oracle = ConicOracle([1.0, -1.0, 1.0], rows, sides, [Nonnegative(3)], domain=free)
    assert oracle.domain.lower.tolist() == [5e4, -110.0, -6.0]
    assert oracle.domain.upper.tolist() == [5e4 + 10.0, -100.0, 4.0]
    assert oracle.domain.promised.tolist() == [[False, True, True], [True, False, False]]
    run = minimize(oracle, Kelley())
    assert not run.success
    assert "promised" in run.warnings[0]
    assert "variable 2" in run.warnings[0]


def test_settle_ends_within_finite_bounds_beyond_every_radius():
    oracle = ConicOracle([1.0, 1.0], -np.eye(2), [-3e9, -5e9], [Nonnegative(2)])
    assert settle(oracle, Kelley()).outcome is Outcome.OPTIMAL
    both = ConicOracle([1.0], [[-1.0], [1.0]], [-3e9, 5e9], [Nonnegative(2)])
    assert settle(both, Kelley()).result.upper_bound == pytest.approx(3e9)
    falls = settle(ConicOracle([-1.0], [[-1.0]], [-3e9], [Nonnegative(1)]), Kelley())
    assert falls.outcome is Outcome.UNBOUNDED


def test_parameters_keep_their_declared_bounds():
    x, p = cp.Variable(2), cp.Parameter(2, name="p", bounds=[5e4, np.array([1e6, 2e6])])
    oracle = CvxpyOracle(cp.Problem(cp.Minimize(cp.sum(x)), [x >= p]), radius=1.0)
    assert oracle.domain.lower.tolist() == [5e4, 5e4]
    assert oracle.domain.upper.tolist() == [1e6, 2e6]
    assert not oracle.domain.promise()
    q = cp.Parameter(2, name="q", nonneg=True, bounds=[np.array([-3.0, 7.0]), None])
    half = CvxpyOracle(cp.Problem(cp.Minimize(cp.sum(x)), [x >= q]), radius=2.0)
    assert half.domain.lower.tolist() == [0.0, 7.0]
    assert half.domain.upper.tolist() == [2.0, 9.0]
    assert half.domain.promised.tolist() == [[False, False], [True, True]]
    bad = cp.Parameter(name="r", nonpos=True, bounds=[1.0, 2.0])
    with pytest.raises(InvalidArgument, match="`parameters` must declare"):
        CvxpyOracle(cp.Problem(cp.Minimize(cp.square(x[0] - bad))))


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("hold", [None, True, False])
@pytest.mark.parametrize("domain", [None, Box([-1.0, -1.0], [1.0, 1.0])])
@pytest.mark.parametrize(("kind", "side"), [(Nonnegative, -3.0), (Zero, 1.0), (Zero, -1e-3)])
def test_a_row_of_zeros_that_no_x_satisfies_is_empty(kind, side, domain, hold, quadratic):
    """Whatever else the program has, as a side that is 1e12 times as large."""
    rows, sides = [[0.0, 0.0], [-1.0, -1.0]], [side, 1e11]
    P = np.eye(2) if quadratic else None
    oracle = ConicOracle([1.0, 1.0], rows, sides, [kind(1), Nonnegative(1)], P=P, domain=domain, hold_rows=hold)
    run = minimize(oracle, max_calls=20)
    assert run.status is Status.EMPTY
    assert oracle.prove_infeasible(oracle.infeasibility(())) > 0


def test_zeros_in_cones_and_in_rows_without_number_are_empty():
    box = Box([-1.0, -1.0], [1.0, 1.0])
    cone = ConicOracle([1.0, 1.0], np.zeros((3, 2)), [1.0, 2.0, 0.0], [SecondOrder(3)], domain=box)
    assert minimize(cone).status is Status.EMPTY
    x = cp.Variable(2)
    for rows in ([cp.Constant(1) <= 0], [0 * x[0] == 1], [cp.norm(0 * x + 3) <= 1]):
        oracle = ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, *rows]))
        assert minimize(oracle).status is Status.EMPTY
    many = SemiInfiniteOracle([1.0, 1.0], lambda x: (np.array([[0.0, 0.0], [1.0, 1.0]]), [-3.0, 1e12]), box)
    assert minimize(many).status is Status.EMPTY
