"""Centers of level sets: deep inside, and what is asked where there are none."""

import numpy as np
import pytest
from scipy.linalg import null_space

from oracle_opt import Box, FeasibilityCut, FunctionOracle, InvalidArgument, ObjectiveCut, Polyhedron, Simplex, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.generators.masters import CuttingPlaneModel, LevelCenter


def model_of(domain, seed, calls=12, summands=0):
    """A model of the largest of random affine functions, or of a sum of several, after some calls."""
    rng = np.random.default_rng(seed)
    n = domain.dimension
    pieces = [(rng.normal(size=(8, n)), rng.normal(size=8)) for _ in range(max(summands, 1))]
    model = CuttingPlaneModel(domain)

    def cut(point, slopes, constants):
        i = int(np.argmax(slopes @ point + constants))
        return ObjectiveCut(point, float(slopes[i] @ point + constants[i]), slopes[i])

    for _ in range(calls):
        point = domain.project(rng.normal(size=n))
        parts = [cut(point, *piece) for piece in pieces]
        whole = ObjectiveCut(point, sum(part.value for part in parts), sum(part.subgradient for part in parts))
        model.add(ObjectiveCut(point, whole.value, whole.subgradient, summands=tuple(parts)) if summands else whole)
    return model


DOMAINS = {
    "box": Box(-np.ones(5), np.ones(5)),
    "one variable fixed": Box([-1.0, -1.0, 0.5, -1.0, -1.0], [1.0, 1.0, 0.5, 2.0, 1.0]),
    "simplex": Simplex(5),
    "polyhedron": Polyhedron(np.ones((1, 5)), [1.0], lower=-np.ones(5), upper=np.ones(5)),
}


def decrement(model, height, point):
    """Least slack, and the length of a Newton step to the analytic center: root mean square of its relative slacks."""
    box, rows, cuts = model.domain.linear_constraints(), model.pool.objective, model.pool.feasibility
    free = np.flatnonzero(box.lower < box.upper)
    identity, n = np.eye(len(box.lower))[free], len(free)
    matrix = np.vstack([rows.matrix, cuts.matrix, -identity, identity])
    rhs = np.r_[height - rows.constant, -cuts.constant, -box.lower[free], box.upper[free]]
    bounded = np.isfinite(rhs)
    slack = (rhs - matrix @ point)[bounded]
    scaled = matrix[bounded][:, free] / slack[:, None]
    equations = box.equality_matrix[:, free]
    directions = null_space(equations) if len(equations) else np.eye(n)
    scaled = scaled @ directions
    gradient, hessian = scaled.sum(axis=0), scaled.T @ scaled
    return slack.min(), np.sqrt(gradient @ np.linalg.solve(hessian, gradient) / len(slack))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("summands", [0, 3])
@pytest.mark.parametrize("level", [0.1, 0.8])
def test_the_point_is_the_analytic_center_of_the_level_set(name, summands, level):
    domain, tried = DOMAINS[name], 0
    for seed in range(4):
        model = model_of(domain, seed, summands=summands)
        if not model.gap > 1e-6:
            continue
        tried += 1
        height = model.lower + level * model.gap
        point = LevelCenter(model).choose(level)
        assert domain.contains(point, 1e-9)
        assert model.pool.value(point) <= height + 0.011 * model.gap
        if not summands:  # else it is the center of more variables
            least, away = decrement(model, height, point)
            assert least > 0
            assert away <= 0.2
    assert tried


def test_a_gap_that_is_rounding_has_no_level_sets():
    model = CuttingPlaneModel(Box([0.0, 0.0], [1.0, 1.0]))
    model.add(ObjectiveCut(np.zeros(2), 0.0, np.ones(2)))
    assert LevelCenter(model).choose(0.5).tolist() == model.minimum.point.tolist()


def test_where_feasibility_cuts_leave_no_interior_a_point_is_asked_all_the_same():
    domain = Box([-1.0, -1.0], [1.0, 1.0])
    model = CuttingPlaneModel(domain)
    for sign in (1.0, -1.0):  # z_0 = 0.5, from both sides
        model.add(FeasibilityCut(np.array([sign, 0.0]), 1.0 - 0.5 * sign, np.array([sign, 0.0])))
    model.add(ObjectiveCut(np.array([0.5, 1.0]), 1.0, np.array([0.0, 1.0])))
    point = LevelCenter(model).choose(0.5)
    assert domain.contains(point)
    assert abs(point[0] - 0.5) <= 1e-6
    assert point[1] <= 0.0 + 1e-6


def test_runs_end_with_a_proven_gap():
    rng = np.random.default_rng(0)
    slopes, shifts = rng.normal(size=(30, 12)), rng.uniform(0.5, 1.5, 30)

    def valley(z):
        i = int(np.argmax(slopes @ z - shifts))
        return float(slopes[i] @ z - shifts[i]), slopes[i]

    oracle = FunctionOracle(valley, Box(np.full(12, -9.0), np.full(12, 7.0)))
    for generator in (LevelSet(interior=True), LevelSet(interior=True, level=0.3, adaptive=False)):
        result = minimize(oracle, generator, rtol=1e-7)
        assert result.success
        assert result.lower_bound <= minimize(oracle, LevelSet(), rtol=1e-7).upper_bound


def test_a_metric_belongs_to_the_projection():
    with pytest.raises(InvalidArgument, match="`interior` and `target` have no entropic metric"):
        LevelSet(interior=True, entropic=True)
    with pytest.raises(InvalidArgument, match="`interior` must be True or False"):
        LevelSet(interior="center")
