"""The model's dual against HiGHS on the whole linear program: points, bounds, empty sets, copies."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.optimize import linprog

from oracle_opt import Box, FeasibilityCut, FunctionOracle, ObjectiveCut, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet
from oracle_opt.generators.masters import CutPool, CuttingPlaneModel
from oracle_opt.generators.masters.linear_program import ModelLP
from oracle_opt.generators.masters.model_dual import ENOUGH, ModelDual, ascent_step
from oracle_opt.problems import max_affine


def truth(pool, domain):
    """Minimum of the model by HiGHS through scipy; `None` where no point satisfies the feasibility cuts."""
    rows, halves = pool.objective, pool.feasibility
    A = np.vstack(
        [np.column_stack([rows.matrix, -np.ones(len(rows))]), np.column_stack([halves.matrix, np.zeros(len(halves))])]
    )
    b = -np.r_[rows.constant, halves.constant]
    bounds = [*zip(domain.lower, domain.upper, strict=True), (None, None)]
    found = linprog(np.r_[np.zeros(domain.dimension), 1.0], A, b, bounds=bounds, method="highs")
    return None if found.status == 2 else float(found.fun)


def check(pool, domain, dual):
    """The point lies in the domain and the feasibility cuts, its value and the multipliers' bound at the minimum."""
    found, least = dual.solve(pool), truth(pool, domain)
    assert dual._program is None  # it needed no help of HiGHS
    if least is None:
        assert found is None
        return
    assert domain.contains(found.point)
    normals = pool.feasibility.matrix
    violation = normals @ found.point + pool.feasibility.constant
    assert (violation <= 1e-8 * np.abs(normals).max(axis=1, initial=0.0)).all()
    bound = pool.minorant(found.objective, found.feasibility).minimum(domain)
    rounding = 1e-9 * float(pool.objective.size.max())
    allowed = 1.01 * ENOUGH * (pool.upper - least) + rounding
    assert bound <= least + rounding
    assert bound >= least - allowed
    assert found.value == pool.value(found.point)
    assert least - rounding <= found.value <= least + allowed


def cut(point, slope, value):
    return ObjectiveCut(point, float(value), slope)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("halves", [0, 3])
def test_minimum_and_bound_of_a_growing_model(seed, halves):
    rng = np.random.default_rng(seed)
    n = 60 + 40 * seed
    lower = rng.normal(size=n) - rng.uniform(0.0, 3.0, n)
    domain = Box(lower, lower + rng.uniform(0.1, 4.0, n) * (rng.random(n) > 0.1))  # a tenth of them fixed
    pool, dual = CutPool(domain), ModelDual(domain)
    middle = domain.interior_point()
    for _ in range(halves):
        normal = rng.normal(size=n)
        point = middle + normal * rng.uniform(0.0, 0.3)
        pool.add(FeasibilityCut(point, float(normal @ (point - middle)) + 0.1, normal))
    for i in range(12):
        point = domain.project(middle + rng.normal(size=n))
        slope = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2) + 2.0 * (point - middle)
        pool.add(cut(point, slope, 5.0 + rng.normal()))
        if i % 3 == 2:
            check(pool, domain, deepcopy(dual))
            check(pool, domain, dual)


def slopes_of(kind, rng, n):
    base = rng.normal(size=n)
    if kind == "one":
        return [base]
    if kind == "equal":
        return [base, base, base]
    if kind == "parallel":
        return [base + 1e-7 * rng.normal(size=n) for _ in range(6)]
    if kind == "opposite":
        return [base, -base, base + 1e-3, -base + 1e-3]
    if kind == "range":
        return [base * 10.0 ** rng.uniform(-6, 3, n) for _ in range(8)]
    return [np.where(rng.random(n) < 0.05, base, 0.0) for _ in range(30)]


@pytest.mark.parametrize("kind", ["one", "equal", "parallel", "opposite", "range", "sparse"])
def test_hard_corners(kind):
    rng = np.random.default_rng(1)
    domain = Box(-np.ones(1200), rng.uniform(0.5, 1.5, 1200))
    pool, dual = CutPool(domain), ModelDual(domain)
    for slope in slopes_of(kind, rng, 1200):
        pool.add(cut(domain.interior_point(), slope, 1.0 + 1e-3 * rng.random()))
        check(pool, domain, dual)


def test_contradictory_feasibility_cuts_are_proven_empty():
    domain = Box(-np.ones(2500), np.ones(2500))
    normal = np.random.default_rng(0).normal(size=2500)
    model = CuttingPlaneModel(domain)
    assert isinstance(model._lp, ModelDual)
    origin = np.zeros(2500)
    model.add(cut(origin, np.ones(2500), 1.0))
    model.add(FeasibilityCut(origin, 2.0, normal))
    assert not model.empty
    assert model.minorant.minimum(domain) <= model.minimum.value
    model.add(FeasibilityCut(-normal / (normal @ normal) * 2.0, 1.0, -normal))
    assert model.empty
    before = CuttingPlaneModel(domain)  # the same without an objective cut
    before.add(FeasibilityCut(origin, 2.0, normal))
    assert (normal @ before.minimum.point <= -2.0 + 1e-6).all()
    before.add(FeasibilityCut(-normal / (normal @ normal) * 2.0, 1.0, -normal))
    assert before.empty


def test_simplices_and_few_variables_stay_with_the_warm_program():
    assert isinstance(CuttingPlaneModel(Box(-np.ones(1999), np.ones(1999)))._lp, ModelLP)
    assert isinstance(CuttingPlaneModel(Box(-np.ones(2000), np.ones(2000)))._lp, ModelDual)


@pytest.mark.parametrize("generator", [LevelSet(), AnalyticCenter(), Kelley(), LevelSet(max_cuts=15)])
def test_bounds_hold_in_a_run_of_many_variables(generator):
    made = max_affine.draw(n=2000, pieces=30, active=0.3, seed=3)
    result = minimize(made.oracle, generator, rtol=1e-4, max_calls=60)
    history = result.history
    assert (history.lower_bound <= made.optimum + 1e-9).all()
    assert (history.upper_bound >= made.optimum - 1e-9).all()
    assert isinstance(generator._model._lp, ModelDual)
    assert result.success or isinstance(generator, Kelley | AnalyticCenter) or generator.max_cuts == 15


@pytest.mark.parametrize("seed", range(300))
def test_steps_of_multipliers_keep_their_sum_where_rounding_takes_all_of_them(seed):
    """Nearly all weight is on one row that is flat but for rounding, and the others are steep."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    root = rng.normal(size=(m, 15)) * 10.0 ** np.where(rng.random(m) < 0.5, rng.uniform(-12, -8, m), 0.0)[:, None]
    root[rng.integers(m)] = 0.0
    start = np.where(rng.random(m) < 0.5, 10.0 ** rng.uniform(-12, -8, m), 0.0)
    start[int(np.linalg.norm(root, axis=1).argmin())] = 1.0
    count = m - int(rng.random() < 0.3)
    gradient = -(10.0 ** rng.uniform(-9, 0, m))
    step = ascent_step(root @ root.T, gradient, start, count, np.full(m, 1e-6))
    assert (start + step >= 0).all()
    assert abs(step[:count].sum()) <= 1e-9


def test_a_kink_in_every_variable():
    """Sum of absolute values: each call gives another vertex, and the minimum 0 is found and proven."""
    center = np.random.default_rng(5).uniform(-0.5, 0.5, 3000)
    oracle = FunctionOracle(
        lambda z: (float(np.abs(z - center).max()), _unit(z - center)), Box(-np.ones(3000), np.ones(3000))
    )
    result = minimize(oracle, LevelSet(), atol=1e-1, rtol=0.0, max_calls=40)
    assert result.lower_bound <= 0.0 <= result.upper_bound


def _unit(away):
    slope = np.zeros(len(away))
    j = int(np.abs(away).argmax())
    slope[j] = np.sign(away[j])
    return slope
