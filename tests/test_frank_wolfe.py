"""Conditional gradients: what theorems say of every run, and that queries are the mixes they are meant to be."""

from itertools import product

import numpy as np
import pytest
from tiny_kinds import mkl_kinds_optimum, tiny_mkl_squared_hinge

from oracle_opt import CapabilityMismatch, FunctionOracle, InvalidArgument, Query, Status, minimize
from oracle_opt.domains import Ball, Box, FreeSpace, ProductOfSimplices, Simplex
from oracle_opt.errors import Exhausted
from oracle_opt.generators import FrankWolfe
from oracle_opt.testing import check_generator

STEPS, RULES = ("pairwise", "away", "blended-pairwise", "classic"), ("measured", "adaptive", "open-loop")
FORMS = [FrankWolfe(step, rule) for step, rule in product(STEPS, RULES)]
each_form = pytest.mark.parametrize("generator", FORMS, ids=lambda one: f"{one.step}-{one.rule}")


def quadratic(seed):
    """A quadratic whose least value is 0, by its slope at the minimizer; its smoothness and the domain's diameter."""
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(3, 40)), seed % 3
    if kind == 0:
        domain, diameter = Box(-np.ones(n), np.ones(n)), 2.0 * np.sqrt(n)
        best = np.clip(rng.normal(size=n), -1.0, 1.0)
        slope = -best * (np.abs(best) == 1.0) * rng.exponential(size=n)
    else:
        domain, diameter = ProductOfSimplices([n] * kind), np.sqrt(2.0 * kind)
        weights = rng.exponential(size=(kind, n)) * (rng.random((kind, n)) < 0.5) + np.eye(1, n)
        best = np.ravel(weights / weights.sum(axis=1, keepdims=True))
        slope = (best == 0.0) * rng.exponential(size=kind * n)
    root = rng.normal(size=(len(best), len(best))) * np.geomspace(1, 0.1, len(best))
    matrix = root.T @ root

    def function(z):
        turned = matrix @ (z - best)
        return 0.5 * (z - best) @ turned + slope @ (z - best), turned + slope

    return FunctionOracle(function, domain), np.linalg.eigvalsh(matrix)[-1], diameter


@each_form
def test_the_contract_is_kept(generator) -> None:
    assert len(check_generator(generator)) >= 26


@pytest.mark.parametrize("seed", range(20))
def test_open_loop_steps_keep_the_guarantee(seed: int) -> None:
    """Theorems 1 and 2 of Jaggi (2013); the least value is 0."""
    oracle, smoothness, diameter = quadratic(seed)
    run = minimize(oracle, FrankWolfe("classic", "open-loop"), rtol=0, atol=1e-13, max_calls=120, keep_cuts=True)
    cuts = run.history.cuts
    assert len(cuts) == 120
    heights = np.array([cut.value for cut in cuts])
    gaps = [cut.subgradient @ cut.point - oracle.domain.minimize_linear(cut.subgradient)[0] for cut in cuts]
    k, curvature = np.arange(120), smoothness * diameter**2
    assert heights.min() >= -1e-12
    assert (heights <= gaps + 1e-12 * np.abs(heights).max()).all()
    assert (heights[1:] <= 2 * curvature / (k[1:] + 2)).all()
    assert (np.minimum.accumulate(gaps)[1:] <= 6.75 * curvature / (k[1:] + 2)).all()


@each_form
def test_a_mix_of_few_vertices_is_resisted(generator) -> None:
    """On a simplex the sum of squares of a mix of k vertices is at least 1 / k; a method of sense comes near."""
    n, calls = 200, 60
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(n))
    run = minimize(oracle, generator, np.eye(n)[0], rtol=1e-9, max_calls=calls, keep_cuts=True)
    values = np.array([cut.value for cut in run.history.cuts])
    assert (values * np.arange(1, calls + 1) >= 1 - 1e-12).all()
    assert values.min() * calls <= 2.5


@each_form
@pytest.mark.parametrize("seed", range(8))
def test_the_weights_of_the_vertices_make_the_query(generator, seed: int) -> None:
    """Each vertex is the start or minimizes a cut, and no query is the one before."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    box = Box(-rng.exponential(size=n), rng.exponential(size=n))
    domain = (Simplex(n), box, ProductOfSimplices([n, 2 * n]), Ball(n))[seed // 2]
    walls, slope = rng.normal(size=(domain.dimension, domain.dimension)), rng.normal(size=domain.dimension)
    start = domain.interior_point()

    def affine_up_to_walls(z):
        if seed % 2 and slope @ (z - start) < -0.3 * np.abs(slope).max():
            return np.inf, None
        beyond = np.maximum(walls @ z - 0.3, 0.0)
        return slope @ z + 1e3 * beyond @ beyond, slope + 2e3 * walls.T @ beyond

    oracle = FunctionOracle(affine_up_to_walls, domain)
    generator.reset(domain, start)
    known, last, serious = {start.tobytes()}, None, 0
    for _ in range(40):
        try:
            point = generator.ask()
        except Exhausted:
            break
        assert last is None or (point != last).any()
        cut, last = oracle.query(Query(point)), point
        generator.tell(cut)
        if generator.center is cut:
            serious += 1
            weights, vertices = generator._weights, generator._vertices
            np.testing.assert_allclose(weights @ vertices, point, rtol=0, atol=1e-12)
            assert (weights >= 0).all()
            assert weights.sum() == pytest.approx(1.0, abs=1e-14)
            assert {vertex.tobytes() for vertex in vertices[weights > 0]} <= known
            known.add(domain.minimize_linear(cut.subgradient)[1].tobytes())
    assert serious >= 3


@pytest.mark.parametrize(
    "generator", [one for one in FORMS if one.rule != "open-loop" and one.step != "classic"], ids=repr
)
def test_three_weights_take_few_calls(generator) -> None:
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), Simplex(3))
    run = minimize(oracle, generator, [1.0, 0.0, 0.0], rtol=0, atol=1e-7, max_calls=30)
    assert run.success, run.message
    assert run.upper_bound == pytest.approx(1 / 3, abs=1e-7)


@pytest.mark.parametrize("rule", RULES[:2])
@pytest.mark.parametrize("seed", range(3))
def test_gains_that_drown_in_the_value_end_no_run(rule: str, seed: int) -> None:
    """Where rounding hides the gains the slopes still tell a step that is too long."""
    rng = np.random.default_rng(seed)
    weights, target = rng.uniform(1.0, 2.0, 15), rng.uniform(-0.5, 0.5, 15)
    oracle = FunctionOracle(lambda z: (1e3 + weights @ (z - target) ** 2, 2 * weights * (z - target)), Simplex(15))
    run = minimize(oracle, FrankWolfe(rule=rule), rtol=0, atol=1e-11, max_calls=1000)
    assert run.success, run.message


@pytest.mark.parametrize("step", STEPS[:3])
def test_smooth_kernel_learning_is_solved(step: str) -> None:
    """Of the squared hinge, against a cone program."""
    oracle = tiny_mkl_squared_hinge()
    run = minimize(oracle, FrankWolfe(step), rtol=1e-6, max_calls=300)
    assert run.success, run.message
    assert run.upper_bound == pytest.approx(mkl_kinds_optimum(oracle), rel=2e-6)


@each_form
@pytest.mark.parametrize(
    ("domain", "least"),
    [
        (Simplex(1), 1.0),
        (Box([0.5, -2.0], [0.5, -2.0]), 4.25),
        (Box([0.5, -1.0, 3.0], [0.5, 1.0, 3.0]), 9.25),
        (ProductOfSimplices([1, 3, 1]), 7 / 3),
        (Simplex(3, radius=1e-9), 3e-19),
    ],
    ids=repr,
)
@pytest.mark.parametrize("factor", [0.0, 1.0], ids=["constant", "squares"])
def test_flat_domains_and_functions_end(generator, domain, least: float, factor: float) -> None:
    run = minimize(FunctionOracle(lambda z: (5.0 + factor * z @ z, 2 * factor * z), domain), generator, rtol=1e-4)
    assert run.status is Status.CONVERGED, run.message
    assert run.lower_bound - 1e-12 <= 5.0 + factor * least <= run.upper_bound + 1e-12


@each_form
@pytest.mark.parametrize("seed", range(4))
def test_steps_come_back_from_where_the_function_is_infinite(generator, seed: int) -> None:
    """A logarithmic barrier on a simplex, of which one vertex at least lies outside."""
    normal = np.random.default_rng(seed).normal(size=6)
    normal = 3.0 * (normal - normal.min()) / np.ptp(normal) - 1.5
    outside = []

    def barrier(z):
        left = 0.1 - normal @ z
        outside.append(left <= 0)
        return (-np.log(left) - z @ normal, normal / left - normal) if left > 0 else (np.inf, None)

    start = np.eye(6)[normal.argmin()]
    run = minimize(FunctionOracle(barrier, Simplex(6)), generator, start, rtol=1e-3, max_calls=300)
    assert run.success, run.message
    assert run.lower_bound <= 0.9 + 1e-12
    assert 0.9 - 1e-12 <= run.upper_bound <= 0.901  # -log 1 + 0.9
    assert any(outside)


def test_what_cannot_be_served_is_told() -> None:
    oracle = FunctionOracle(lambda z: (z @ z, 2 * z), FreeSpace(3, np.inf))
    with pytest.raises(CapabilityMismatch, match="it needs a bounded domain"):
        minimize(oracle, FrankWolfe())
    with pytest.raises(InvalidArgument, match=r"`step` must be one of 'pairwise', .* got 'corrective'"):
        FrankWolfe("corrective")
    with pytest.raises(InvalidArgument, match=r"`rule` must be one of 'measured', .* got 'exact'"):
        FrankWolfe(rule="exact")
