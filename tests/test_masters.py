"""The masters against independent solvers: level projection, nonnegative quadratic, analytic center, linear program."""

import copy
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
from highspy import HighsModelStatus
from scipy import sparse

from oracle_opt import Box, FeasibilityCut, FunctionOracle, ObjectiveCut, ProductOfSimplices, Simplex, Status, minimize
from oracle_opt._highs_model import HighsProgram, units_of
from oracle_opt.domains._multipliers import nonnegative_quadratic
from oracle_opt.domains.projection import Projection, project_on_cuts
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet
from oracle_opt.generators.masters import level_projection
from oracle_opt.generators.masters.barrier import Polytope, analytic_center
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.highs import LPFailure, WarmLP
from oracle_opt.generators.masters.interior_point import minimize_epigraph
from oracle_opt.generators.masters.level_projection import LevelProjection
from oracle_opt.generators.masters.linear_program import ChebyshevLP, ModelLP

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
    pool = CutPool(domain)
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
    proven = minorant.minimum(domain)
    assert proven == pytest.approx(minimum.value, abs=1e-8)


@pytest.mark.parametrize("make", [ModelLP, ChebyshevLP])
def test_dropping_cuts_keeps_rows_in_step_with_the_pool(make) -> None:
    domain = Simplex(8)
    pool, lp = filled_pool(domain, 3), make(domain)
    minimum = lp.solve(pool)
    lp.keep(*pool.shrink(6, minimum.objective, minimum.feasibility))
    rng = np.random.default_rng(9)
    z = domain.project(rng.normal(size=8))
    pool.add(ObjectiveCut(z, float(z @ z), 2 * z))
    warm, cold = lp.solve(pool), make(domain).solve(pool)
    twin = copy.deepcopy(lp).solve(pool)
    for other in (cold, twin):
        one, two = (pool.minorant(m.objective, m.feasibility) for m in (warm, other))
        bounds = [m.minimum(domain) for m in (one, two)]
        assert bounds[0] == pytest.approx(bounds[1], abs=1e-8)


@pytest.mark.parametrize("domain", [Simplex(400), ProductOfSimplices([150, 1, 249], radius=2.0)], ids=repr)
@pytest.mark.parametrize("make", [ModelLP, ChebyshevLP])
@pytest.mark.parametrize("n_feasibility", [0, 3])
def test_programs_over_few_columns_reach_the_optimum_over_all(domain, make, n_feasibility) -> None:
    """Also where feasibility cuts exclude every point of the first columns."""
    rng = np.random.default_rng(n_feasibility)
    n, pool, lp = domain.dimension, CutPool(domain), make(domain)
    inside = domain.project(rng.exponential(size=n) / n)
    for _ in range(n_feasibility):
        normal = rng.normal(size=n) - 1.0
        normal[np.argsort(normal)[: n // 4]] = 5.0
        pool.add(FeasibilityCut(inside + normal, float(normal @ normal) - 1e-3, normal))
    pieces, constants, z = 30.0 + rng.normal(size=(60, n)), rng.uniform(size=60), inside
    for _ in range(60):
        values = pieces @ z + constants
        pool.add(ObjectiveCut(z, float(values.max()), pieces[values.argmax()]))
        minimum = lp.solve(pool)
        z = minimum.point
    rows, described = np.vstack([pool.objective.matrix, pool.feasibility.matrix]), domain.linear_constraints()
    sides = np.r_[-pool.objective.constant, -pool.feasibility.constant]
    m = len(pool.objective)
    depth = np.r_[-np.ones(m), np.zeros(n_feasibility)]
    if make is ChebyshevLP:
        normals = np.linalg.qr(described.equality_matrix.T)[0]
        depth = np.linalg.norm(rows - (rows @ normals) @ normals.T, axis=1)
        sides[:m] += pool.upper
    equality = np.column_stack([described.equality_matrix, np.zeros(len(described.equality_rhs))])
    cost = np.r_[np.zeros(n), 1.0 if make is ModelLP else -1.0]
    bounds = [(0, None)] * n + [(None, None)]
    truth = scipy.optimize.linprog(
        cost, np.column_stack([rows, depth]), sides, equality, described.equality_rhs, bounds
    )
    assert truth.status == 0
    assert (rows[m:] @ minimum.point - sides[m:]).max(initial=0.0) <= 1e-6
    if make is ModelLP:
        assert minimum.value == pytest.approx(truth.fun, abs=1e-7)
        minorant = pool.minorant(minimum.objective, minimum.feasibility)
        assert minorant.minimum(domain) == pytest.approx(truth.fun, abs=1e-7)
    else:
        radius = ((sides - rows @ minimum.point) / depth).min()
        assert radius == pytest.approx(-truth.fun, abs=1e-7)


@pytest.mark.parametrize("domain", [Simplex(8), Simplex(300)], ids=repr)
@pytest.mark.parametrize("scales", [(1e-8,), (1e8,), (1e8, 1.0, 1e-8), (1e-8, 1.0, 1e8)])
def test_model_minimum_is_exact_for_steep_and_flat_cuts(domain, scales) -> None:
    """The value at the point and the proof enclose the minimum, so their difference is the error of both."""
    rng = np.random.default_rng(5)
    pool, lp = CutPool(domain), ModelLP(domain)
    common = domain.project(rng.exponential(size=domain.dimension) / domain.dimension)
    for i in range(24):
        scale = scales[i % len(scales)]
        pool.add(ObjectiveCut(common, scale * rng.uniform(0, 1e-3), scale * rng.normal(size=domain.dimension)))
        minimum = lp.solve(pool)
        minorant = pool.minorant(minimum.objective, minimum.feasibility)
        proven = minorant.minimum(domain)
        largest = max(scales[: i + 1])
        assert -1e-12 * largest <= minimum.value - proven <= 1e-9 * largest


@pytest.mark.parametrize("entropic", [False, True])
def test_level_projection_of_a_thousand_repeated_and_nearly_parallel_cuts_agrees_with_clarabel(entropic) -> None:
    rng, domain = np.random.default_rng(1), Simplex(60)
    center, allowed = domain.project(rng.exponential(size=60) / 60), domain.project(rng.exponential(size=60) / 60)
    metric = domain.entropic_metric(center) if entropic else np.ones(60)
    base = 100.0 + rng.normal(size=(50, 60))
    rhs = base @ allowed + rng.uniform(0, 0.01, 50)
    chosen = rng.integers(0, 50, 1000)
    matrix = base[chosen] + (rng.uniform(size=1000) < 0.5)[:, None] * 1e-9 * rng.normal(size=(1000, 60))
    done = project_on_cuts(domain, center, metric, matrix, rhs[chosen], np.zeros(1000))
    assert done.converged
    assert (matrix @ done.point - rhs[chosen]).max() <= 1e-6
    z = cp.Variable(60)
    distance = cp.sum_squares(cp.multiply(np.sqrt(metric), z - center))
    # the constant 100 of the rows is 100 on the simplex; it costs Clarabel its accuracy
    rows = [(base - 100.0) @ z <= rhs - 100.0, cp.sum(z) == 1, z >= 0]
    cp.Problem(cp.Minimize(distance), rows).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(done.point, z.value, atol=1e-5)


@pytest.mark.parametrize("entropic", [False, True])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_level_point_does_not_depend_on_the_scale_of_the_function(entropic, scale) -> None:
    rng, domain = np.random.default_rng(2), Simplex(30)
    model = CuttingPlaneModel(domain)
    levels = LevelProjection(model, entropic)
    for _ in range(40):
        z = domain.project(rng.exponential(size=30) / 30)
        model.add(ObjectiveCut(z, scale * float(z @ z), scale * 2 * z))
        point = levels.project(z, 0.3)
    metric = domain.entropic_metric(z) if entropic else np.ones(30)
    slopes, constants = model.pool.objective.matrix / scale, model.pool.objective.constant / scale
    v = cp.Variable(30)
    distance = cp.sum_squares(cp.multiply(np.sqrt(metric), v - z))
    level = (model.lower + 0.3 * model.gap) / scale
    rows = [(slopes @ v + constants - level) / (model.gap / scale) <= 0, cp.sum(v) == 1, v >= 0]
    cp.Problem(cp.Minimize(distance), rows).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(point, v.value, atol=1e-5)


def test_level_projection_ends_where_the_half_spaces_leave_nothing() -> None:
    domain = Simplex(5)
    matrix = np.vstack([np.eye(5), -np.eye(5)])
    done = project_on_cuts(domain, domain.interior_point(), np.ones(5), matrix, np.full(10, -0.5), np.zeros(10))
    assert not done.converged
    assert domain.contains(done.point)


def distance_oracle(n):
    target = np.linspace(0, 1, n) ** 3
    target /= target.sum()
    return FunctionOracle(
        lambda z: (
            float(np.abs(z - target).max()),
            (lambda k: np.sign(z - target)[k] * np.eye(n)[k])(int(np.abs(z - target).argmax())),
        ),
        Simplex(n),
    )


@pytest.mark.parametrize("generator", [Kelley(), Kelley(chebyshev=True), LevelSet()], ids=repr)
@pytest.mark.parametrize("raises", [True, False], ids=["raises", "calls the rows contradictory"])
def test_a_failing_linear_program_costs_calls_and_no_proof(generator, raises, monkeypatch) -> None:
    solve, calls = WarmLP.solve, []

    def failing(self):
        calls.append(None)
        if len(calls) % 4 != 0 and len(calls) != 1:
            return solve(self)
        if raises:
            raise LPFailure("made to fail")
        return None

    monkeypatch.setattr(WarmLP, "solve", failing)
    result = minimize(distance_oracle(12), generator, atol=1e-6, max_calls=400)
    assert result.success, result.message
    assert result.lower_bound <= 1e-12
    assert result.upper_bound <= 1e-6


def test_cuts_are_dropped_though_the_linear_program_took_up_none_of_the_last(monkeypatch) -> None:
    add, calls = WarmLP.add_rows, []

    def failing(self, *rows):
        calls.append(None)
        if len(calls) > 8:
            raise LPFailure("made to fail")
        return add(self, *rows)

    monkeypatch.setattr(WarmLP, "add_rows", failing)
    model, rng = CuttingPlaneModel(Simplex(3), 14), np.random.default_rng(0)
    for _ in range(60):
        z = rng.dirichlet(np.ones(3))
        model.add(ObjectiveCut(z, float(z @ z), 2 * z))
    assert model.failed
    assert len(model.pool.objective) <= 14
    assert model.lower <= 1 / 3 <= model.pool.upper


@pytest.mark.parametrize("generator", [Kelley(), Kelley(chebyshev=True), LevelSet(), AnalyticCenter()], ids=repr)
@pytest.mark.parametrize("feasible", [True, False])
def test_linear_programs_that_fail_from_the_start_cost_neither_the_run_nor_a_proof(
    generator, feasible, monkeypatch
) -> None:
    """The nearest point of the feasibility cuts stands in, and multipliers of theirs prove that there is none."""

    def failing(self):
        raise LPFailure("made to fail")

    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    sides = np.array([0.2, 0.3, 0.6 if feasible else 0.4])

    def function(z):
        beyond = rows @ z - sides
        i = int(beyond.argmax())
        if beyond[i] > 1e-12:
            return FeasibilityCut(z, beyond[i], rows[i])
        return ObjectiveCut(z, float(z[2]), rows[2])

    monkeypatch.setattr(WarmLP, "solve", failing)
    result = minimize(FunctionOracle(function, Simplex(3), gives={FeasibilityCut}), generator, max_calls=60)
    if feasible:
        assert result.status is not Status.EMPTY
        assert result.lower_bound <= 0.5 <= result.upper_bound + 1e-9
    else:
        assert result.status is Status.EMPTY
        assert result.point is None


def test_a_failing_projection_gives_a_point_of_the_level_set(monkeypatch) -> None:
    def failing(domain, center, metric, matrix, rhs, start, unit, n_equations):
        return Projection(center, start, False)

    monkeypatch.setattr(level_projection, "project_on_cuts", failing)
    model = CuttingPlaneModel(Simplex(30), 100)
    rng = np.random.default_rng(2)
    for _ in range(20):
        z = model.domain.project(rng.exponential(size=30) / 30)
        model.add(ObjectiveCut(z, float(z @ z), 2 * z))
    point = LevelProjection(model).project(z, 0.3)
    value = (model.pool.objective.constant + model.pool.objective.matrix @ point).max()
    assert value <= model.lower + (0.3 + 1e-9) * model.gap
    assert minimize(distance_oracle(12), LevelSet(), atol=1e-6, max_calls=400).success


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


def test_linear_programs_print_nothing():
    """HiGHS writes past sys.stdout, so only a process of its own shows it."""
    code = "from oracle_opt._highs_model import HighsProgram; HighsProgram({}).run()"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_run_of_somebody_elses_linear_program_changes_nothing(threads):
    """HiGHS has one scheduler in a process, which whoever runs first sets up."""
    code = (
        "import highspy, numpy as np\n"
        "from oracle_opt import Box, FunctionOracle, minimize\n"
        "from oracle_opt.generators import Kelley\n"
        "other = highspy.Highs()\n"
        "other.setOptionValue('output_flag', False)\n"
        f"other.setOptionValue('threads', {threads})\n"
        "other.addVar(0.0, 1.0)\n"
        "other.run()\n"
        "target = np.array([0.3, -0.2, 0.1])\n"
        "f = lambda z: (float(np.abs(z - target).sum()), np.sign(z - target))\n"
        "result = minimize(FunctionOracle(f, Box(-np.ones(3), np.ones(3))), Kelley(), atol=1e-6)\n"
        "print(result.status.name)\n"
        "other.run()\n"
        "print(other.getModelStatus().name)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["CONVERGED", "kOptimal"], done.stdout


def test_units_bring_back_a_program_whose_rows_and_variables_were_counted_otherwise():
    """Of random programs in other units HiGHS finds the same minimum, and multipliers of the same value."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        m, n = rng.integers(1, 6, 2)
        A, x = rng.normal(size=(m, n)), rng.uniform(0.5, 1.5, n)
        b, cost = A @ x + rng.random(m), rng.normal(size=n)
        lower, upper = np.zeros(n), np.full(n, 3.0)
        rows, columns = 10.0 ** rng.uniform(-10, 10, m), 10.0 ** rng.uniform(-10, 10, n)
        found = []
        for r, c in ((np.ones(m), np.ones(n)), (rows, columns)):
            A_, b_, cost_, lower_, upper_ = A * r[:, None] * c, b * r, cost * c, lower / c, upper / c
            program, matrix = HighsProgram({}), sparse.csr_array(A_)
            units = units_of(matrix, b_, lower_, upper_)
            program.add_columns(lower_, upper_, units=units[1])
            program.add_rows(matrix, np.full(m, -np.inf), b_, units[0])
            program.change_costs(cost_)
            assert program.run() == HighsModelStatus.kOptimal
            point, duals = program.solution()
            assert (A_ @ point - b_ <= 1e-6 * (np.abs(A_) @ np.abs(point) + np.abs(b_))).all()
            reduced = cost_ - duals @ A_
            proven = duals @ b_ + np.minimum(reduced * lower_, reduced * upper_).sum()
            assert proven == pytest.approx(cost_ @ point, rel=1e-6, abs=1e-6)
            found.append(cost_ @ point)
        assert found[1] == pytest.approx(found[0], rel=1e-6, abs=1e-6)
