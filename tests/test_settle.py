"""Optimal, infeasible, unbounded: each verdict with a proof that is checked here once more."""

import numpy as np
import pytest

from oracle_opt import Box, InvalidArgument
from oracle_opt.generators import AnalyticCenter, Kelley
from oracle_opt.oracles import ConicOracle, Nonnegative, PositiveSemidefinite, SecondOrder, Zero
from oracle_opt.study import Outcome, settle


def far_linear_program():
    """min x + y with x >= 3e5, y >= 4e5: beyond the first radius."""
    return ConicOracle([1.0, 1.0], np.eye(2), [-3e5, -4e5], [Nonnegative(2)])


@pytest.mark.parametrize("generator", [Kelley(), AnalyticCenter()], ids=repr)
def test_a_minimiser_beyond_the_first_radius_is_found(generator):
    verdict = settle(far_linear_program(), generator, rtol=1e-6)
    assert verdict.outcome is Outcome.OPTIMAL
    assert verdict.radius == 1e6
    assert verdict.result.upper_bound == pytest.approx(7e5, rel=1e-5)
    assert verdict.result.lower_bound <= 7e5 <= verdict.result.upper_bound * (1 + 1e-8)


def test_infeasible_with_a_farkas_vector():
    # in the disc around (3, 0) of radius 1, and x <= 1
    A = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    oracle = ConicOracle([1.0, 0.0], A, [1.0, -3.0, 0.0, 1.0], [SecondOrder(3), Nonnegative(1)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    y = verdict.infeasibility.dual
    assert np.linalg.norm(y[1:3]) <= y[0] * (1 + 1e-9)
    assert y[3] >= 0
    assert oracle.b @ y < 0
    assert np.linalg.norm(oracle.A.T @ y) <= -(oracle.b @ y) / verdict.infeasibility.reach * (1 + 1e-9)
    assert verdict.infeasibility.reach >= 1e7


def test_equations_take_part_in_the_proof():
    # x + y = 1 with x >= 1, y >= 1
    A = [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    oracle = ConicOracle([1.0, 0.0], A, [-1.0, -1.0, -1.0], [Zero(1), Nonnegative(2)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    y = verdict.infeasibility.dual
    assert y[0] < 0
    assert np.allclose(oracle.A.T @ y, 0)
    assert oracle.b @ y < 0


def test_unbounded_with_a_direction():
    # x >= sqrt of y squared plus one: falls along (1, 1) and (1, -1)
    oracle = ConicOracle([-1.0, 0.5], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 1.0], [SecondOrder(3)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.UNBOUNDED
    d = verdict.direction
    assert abs(d[1]) <= d[0] + 1e-8
    assert oracle.c @ d < 0


def test_a_limit_leaves_it_undecided():
    cone = PositiveSemidefinite(8)
    rng = np.random.default_rng(0)
    A = np.column_stack([cone.vector(M + M.T) for M in rng.normal(size=(10, 8, 8))])
    oracle = ConicOracle(rng.normal(size=10), A, cone.vector(np.eye(8)), [cone])
    verdict = settle(oracle, Kelley(), max_calls=3)
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.result.n_calls == 3


def test_another_domain_is_refused():
    oracle = ConicOracle([1.0], [[1.0]], [0.0], [Nonnegative(1)], domain=Box([0.0], [1.0]))
    with pytest.raises(InvalidArgument, match="FreeSpace"):
        settle(oracle, Kelley())
