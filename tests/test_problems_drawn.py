"""The minima of problems that are drawn, by solvers and enumerations that know nothing of how they were made."""

from itertools import permutations
from math import isfinite

import cvxpy as cp
import numpy as np
import pytest
from affine_pieces import least_of_pieces

from oracle_opt import FunctionOracle, Query, problems
from oracle_opt.oracles import BendersOracle, ConicOracle, FacilityLocationOracle, HeldKarpOracle, MaxEigenvalueOracle
from oracle_opt.problems import Instance
from oracle_opt.problems.scalable import FUNCTIONS

SEEDS = (1, 2, 3)
TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def instance_of(text: str, seed: int) -> Instance:
    """Drawn by the seed of a run."""
    (problem,) = problems.find(text)
    made = problem(seed)
    assert isfinite(made.optimum)
    assert made.optimum_error <= 1e-7 * max(1.0, abs(made.optimum))
    return made


def function_of(made: Instance):
    assert isinstance(made.oracle, FunctionOracle)
    return made.oracle.function


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("text", ["max-affine(n=6, pieces=15)", "matrix-game(n=7, m=5)", "max-affine(n=4, active=0.1)"])
def test_largest_of_affine_functions(text: str, seed: int) -> None:
    made = instance_of(text, seed)
    pieces = function_of(made)
    rhs = pieces.d + pieces.a @ pieces.center
    assert 1.0 + least_of_pieces(made.oracle.domain, pieces.a, -rhs) == pytest.approx(made.optimum, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_largest_of_quadratic_functions(seed: int) -> None:
    made = instance_of("max-quadratic(n=5, pieces=8, condition=100)", seed)
    pieces, x, t = function_of(made), cp.Variable(5), cp.Variable()
    away = x - pieces.center
    rows = [
        a @ away + 0.5 * cp.sum_squares(cp.multiply(np.sqrt(c), away)) - d <= t
        for a, c, d in zip(pieces.a, pieces.c, pieces.d, strict=True)
    ]
    program = cp.Problem(cp.Minimize(1.0 + t), [*rows, x >= -1, x <= 1])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("groups", [1, 4])
def test_least_absolute_deviations(seed: int, groups: int) -> None:
    made = instance_of(f"least-absolute(n=10, m=16, groups={groups})", seed)
    data, box, x = function_of(made), made.oracle.domain, cp.Variable(10)
    value = cp.sum(cp.abs(data.B @ x - data.d)) / 16 + data.weight * cp.norm1(x)
    program = cp.Problem(cp.Minimize(value), [x >= box.lower, x <= box.upper])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-7)
    cut = made.oracle.query(Query(np.full(10, 0.1)))
    assert len(cut.summands) == (groups if groups > 1 else 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_separable_functions(seed: int) -> None:
    made = instance_of("separable(n=8)", seed)
    data, x = function_of(made), cp.Variable(8)
    value = (0.5 * cp.sum(cp.multiply(data.h, cp.square(x - data.c))) + data.u @ cp.abs(x)) / 8
    assert cp.Problem(cp.Minimize(value), [cp.abs(x) <= 1]).solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(
        made.optimum, abs=1e-8
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_robust_linear_programs(seed: int) -> None:
    made = instance_of("robust-lp(n=5, m=6, rank=2)", seed)
    assert isinstance(made.oracle, ConicOracle)
    data, x = made.oracle.problem, cp.Variable(5)
    sides = data.b - data.A @ x
    cones = [cp.SOC(sides[3 * i], sides[3 * i + 1 : 3 * i + 3]) for i in range(6)]
    program = cp.Problem(cp.Minimize(data.c @ x + data.offset), [*cones, cp.abs(x) <= 1])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_max_cut_by_its_primal_program(seed: int) -> None:
    made = instance_of("max-cut(n=8, rank=2)", seed)
    assert isinstance(made.oracle, MaxEigenvalueOracle)
    L = made.oracle.C.toarray()
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12)  # a Laplacian
    X = cp.Variable((8, 8), PSD=True)
    program = cp.Problem(cp.Maximize(cp.trace(L @ X)), [cp.diag(X) == 1])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_theta_by_its_primal_program(seed: int) -> None:
    made = instance_of("theta(n=9, nodes=7)", seed)
    assert isinstance(made.oracle, MaxEigenvalueOracle)
    edges = [np.argwhere(np.triu(made.oracle.matrix.at(-row).toarray() - 1)) for row in np.eye(9)]
    X = cp.Variable((7, 7), PSD=True)
    zeros = [X[int(i), int(j)] == 0 for ((i, j),) in edges]
    program = cp.Problem(cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, *zeros])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_stage_programs_in_extensive_form(seed: int) -> None:
    made = instance_of("two-stage(n=4, rows=3, scenarios=5)", seed)
    assert isinstance(made.oracle, BendersOracle)
    data = made.oracle.problem
    (block,) = data.blocks
    x, ys = cp.Variable(4), [cp.Variable(6, nonneg=True) for _ in range(5)]
    rows = [data.T.toarray() @ x + data.W.toarray() @ y == demand for y, demand in zip(ys, block.rhs, strict=True)]
    later = sum(p * (data.q @ y) for p, y in zip(block.probabilities, ys, strict=True))
    program = cp.Problem(cp.Minimize(data.c @ x + later + data.offset), [*rows, x >= 0, x <= 1])
    assert program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tour_around_the_circle_is_the_shortest(seed: int) -> None:
    made = instance_of("one-tree(n=7)", seed)
    assert isinstance(made.oracle, HeldKarpOracle)
    d = made.oracle.distances
    lengths = [
        sum(d[a, b] for a, b in zip((0, *order), (*order, 0), strict=True)) for order in permutations(range(1, 7))
    ]
    assert -made.optimum == min(lengths)


@pytest.mark.parametrize("seed", SEEDS)
def test_facility_location_by_its_linear_relaxation(seed: int) -> None:
    made = instance_of("random-facilities(n=6, facilities=4)", seed)
    assert isinstance(made.oracle, FacilityLocationOracle)
    x, y = cp.Variable((4, 6), nonneg=True), cp.Variable(4)
    cost = made.oracle.opening @ y + cp.sum(cp.multiply(made.oracle.costs, x))
    program = cp.Problem(cp.Minimize(cost), [cp.sum(x, axis=0) == 1, *(x[:, j] <= y for j in range(6))])
    assert -program.solve(solver=cp.CLARABEL, **TIGHT) == pytest.approx(made.optimum, abs=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_any_size_have_their_minimum(name: str) -> None:
    """At the minimizer known by hand, and by the subgradient inequality nowhere less."""
    n, known = 9, {"nesterov": -1 / 9, "chained_lq": np.sqrt(0.5), "chained_cb3": 1.0, "chained_cb3_ii": 1.0}
    made = instance_of(f"scalable(function={name}, n={n})", 0)
    at = made.oracle.query(Query(np.full(n, known.get(name, 0.0))))
    assert at.value == pytest.approx(made.optimum, abs=1e-13)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert made.oracle.query(Query(made.oracle.domain.project(rng.normal(size=n)))).value >= made.optimum
