"""Vertices that are proven in floats or in fractions: never below the truth, and close to it in all units."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_benders_pool import VARY, distinct, truth

from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import scenario_values
from oracle_opt.oracles.benders.exact_stage import ExactStage
from oracle_opt.oracles.benders.proven_vertices import ProvenVertices
from oracle_opt.oracles.benders.scenario_points import Programs
from oracle_opt.oracles.benders.vertices import BASIC
from oracle_opt.proof.claim import ValueClaim


def sides_of(oracle, x):
    """Sides of all scenarios, in floats, and their doubt."""
    (sides,) = scenario_values._sides_at(oracle._data, x)
    eps = np.finfo(float).eps
    return sides.members, *sides.floats(), sides.error.astype(float) + eps * sides.size.astype(float)


@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_costs_of_vertices_are_those_of_each_scenario(vary):
    problem = distinct(1, vary)
    oracle, rng = BendersOracle(problem), np.random.default_rng(1)
    x = rng.uniform(problem.x_lower, problem.x_upper)
    members, lower, upper, doubt = sides_of(oracle, x)
    bound, near = ProvenVertices(oracle._data).costs(members, lower, upper, doubt)
    assert np.isfinite(bound).mean() > 0.9
    data = oracle._data
    for member in np.flatnonzero(np.isfinite(bound)).tolist():
        W, cost = data.matrix(member).toarray(), data.costs(np.array([member]))[0]
        low, high = lower[member], upper[member]
        above, below = np.isfinite(high), np.isfinite(low)
        known = linprog(
            cost, np.vstack([W[above], -W[below]]), np.r_[high[above], -low[below]],
            bounds=np.c_[problem.y_lower, problem.y_upper],
        )  # fmt: skip
        size = 1.0 + abs(known.fun)
        assert known.fun - 1e-9 * size <= bound[member] <= known.fun + 1e-7 * size
        assert near[member] == pytest.approx(known.fun, abs=1e-6 * size)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_is_that_of_a_point_in_exact_arithmetic(seed, unit):
    """Where the vertex of the last basis is exact it costs no more than the bound, and the bound not much more."""
    rng = np.random.default_rng(seed)
    m, k, count = 3, 4, 30
    W = np.hstack([np.round(rng.normal(size=(m, k)), 2), np.eye(m)])
    demand = unit * np.round(rng.uniform(0.1, 5.0, (count, m)), 2)
    q = np.r_[rng.uniform(0.1, 1.0, k), np.full(m, 5.0)]
    block = RandomBlock(np.full(count, 1 / count), rows=np.arange(m), rhs=demand)
    problem = TwoStageProblem([1.0], q, np.zeros((m, 1)), W, np.zeros(m), np.zeros(m), [block], x_upper=1.0)
    oracle = BendersOracle(problem)
    members, lower, upper, doubt = sides_of(oracle, np.zeros(1))
    bound, _ = ProvenVertices(oracle._data).costs(members, lower, upper, doubt)
    assert np.isfinite(bound).all()
    y, bases = Programs(q, sparse.csr_array(W), problem.y_lower, problem.y_upper).solved(lower, upper)
    exact = 0
    for i in range(count):
        sides = [(Fraction(a), Fraction(b)) for a, b in zip(lower[i].tolist(), upper[i].tolist(), strict=True)]
        point = ExactStage(sparse.csr_array(W), problem.y_lower, problem.y_upper, sides).vertex(
            bases.at[bases.which[i]]
        )
        if point is None:
            continue
        exact += 1
        cost = sum(Fraction(c) * v for c, v in zip(q.tolist(), point, strict=True))
        assert [float(v) for v in point] == pytest.approx(y[i], abs=1e-9 * (1 + unit))
        assert cost <= Fraction(bound[i])
        assert float(bound[i] - cost) <= 1e-6 * (float(cost) + 1e-3)
    assert exact == count


@pytest.mark.parametrize("seed", range(8))
def test_vertices_in_fractions_are_points_of_their_basis(seed):
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(2, 7)), int(rng.integers(3, 8))
    W = rng.integers(-3, 4, (m, k)) * (rng.random((m, k)) < 0.6) * 0.1
    inside = rng.integers(0, 3, k).astype(float)
    lower = np.where(rng.random(m) < 0.5, W @ inside - rng.integers(0, 3, m), W @ inside)
    upper = np.where(rng.random(m) < 0.5, W @ inside, W @ inside + rng.integers(0, 3, m))
    y_upper = np.full(k, 2.0)
    y, bases = Programs(rng.normal(size=k), sparse.csr_array(W), np.zeros(k), y_upper).solved(lower[None], upper[None])
    assert bases.which[0] == 0
    sides = [(Fraction(a), Fraction(b)) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]
    at = bases.at[0]
    assert (at == BASIC).sum() == m
    found = ExactStage(sparse.csr_array(W), np.zeros(k), y_upper, sides).vertex(at)
    wide = [(a - 1, b + 1) if basic else (a, b) for (a, b), basic in zip(sides, at[k:] == BASIC, strict=True)]
    near = ExactStage(
        sparse.csr_array(W), np.where(at[:k] == BASIC, -9.0, 0.0), y_upper + 9 * (at[:k] == BASIC), wide
    ).vertex(at)
    assert [float(v) for v in near] == pytest.approx(y[0], abs=1e-8)
    if found is not None:
        assert found == near
        for row, (a, b) in zip(W.tolist(), sides, strict=True):
            assert a <= sum(Fraction(v) * one for v, one in zip(row, found, strict=True)) <= b


@pytest.mark.parametrize("vary", VARY, ids="+".join)
def test_values_need_no_fractions_where_recourse_has_room(vary, monkeypatch):
    """A run's value is proven in floats: elimination in fractions is for scenarios that these fail for."""
    problem = distinct(2, vary)
    rng = np.random.default_rng(3)
    asked = []
    monkeypatch.setattr(scenario_values, "_exact_cost", lambda *_: asked.append(1))
    oracle = BendersOracle(problem)
    for _ in range(5):
        x = rng.uniform(problem.x_lower, problem.x_upper)
        known = truth(problem, x)
        proven = oracle.prove_value(ValueClaim(x, known + 1e-9 * (1 + abs(known))))
        assert known - 1e-9 * (1 + abs(known)) <= proven <= known + 1e-7 * (1 + abs(known))
    assert not asked
