"""Optimal, infeasible, unbounded: each verdict with a proof that is checked here once more."""

import sys
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import Box, InvalidArgument, Status, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import ConicOracle, Infeasibility, Nonnegative, PositiveSemidefinite, SecondOrder, Zero
from oracle_opt.study import Outcome, settle


def far_linear_program():
    """min x + y with x + 2 y >= 11e5, 2 x + y >= 10e5, so at (3e5, 4e5): beyond the first radius."""
    return ConicOracle([1.0, 1.0], [[-1.0, -2.0], [-2.0, -1.0]], [-11e5, -10e5], [Nonnegative(2)])


@pytest.mark.parametrize("generator", [Kelley(), AnalyticCenter()], ids=repr)
def test_a_minimizer_beyond_the_first_radius_is_found(generator):
    verdict = settle(far_linear_program(), generator, rtol=1e-6)
    assert verdict.outcome is Outcome.OPTIMAL
    assert verdict.radius == 1e6
    assert verdict.result.upper_bound == pytest.approx(7e5, rel=1e-5)
    assert verdict.result.lower_bound <= 7e5 <= verdict.result.upper_bound * (1 + 1e-8)


def test_infeasible_with_a_farkas_vector():
    # in the disc around (3, 0) of radius 1, and x <= 1
    A = [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]
    oracle = ConicOracle([1.0, 0.0], A, [1.0, -3.0, 0.0, 1.0], [SecondOrder(3), Nonnegative(1)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    y = verdict.infeasibility.dual
    assert np.linalg.norm(y[1:3]) <= y[0] * (1 + 1e-9)
    assert y[3] >= 0
    assert oracle.problem.b @ y < 0
    assert np.linalg.norm(oracle.problem.A.T @ y) <= -(oracle.problem.b @ y) / verdict.infeasibility.reach * (1 + 1e-9)
    assert verdict.infeasibility.reach >= 1e7


def test_equations_take_part_in_the_proof():
    # x + y = 1 with x >= 1, y >= 1
    A = [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    oracle = ConicOracle([1.0, 0.0], A, [1.0, -1.0, -1.0], [Zero(1), Nonnegative(2)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    y = verdict.infeasibility.dual
    assert y[0] > 0
    assert np.allclose(oracle.problem.A.T @ y, 0)
    assert oracle.problem.b @ y < 0


def test_unbounded_with_a_direction():
    # x >= sqrt of y squared plus one: falls along (1, 1) and (1, -1)
    oracle = ConicOracle([-1.0, 0.5], [[-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]], [0.0, 0.0, 1.0], [SecondOrder(3)])
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.UNBOUNDED
    d = verdict.direction
    assert abs(d[1]) <= d[0] + 1e-8
    assert oracle.problem.c @ d < 0


def test_a_limit_leaves_it_undecided():
    cone = PositiveSemidefinite(8)
    rng = np.random.default_rng(0)
    A = np.column_stack([cone.vector(M + M.T) for M in rng.normal(size=(10, 8, 8))])
    oracle = ConicOracle(rng.normal(size=10), -A, cone.vector(np.eye(8)), [cone])
    verdict = settle(oracle, Kelley(), max_calls=3)
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.result.n_calls == 3


def test_another_domain_is_refused():
    oracle = ConicOracle([1.0], [[-1.0]], [0.0], [Nonnegative(1)], domain=Box([0.0], [1.0]))
    with pytest.raises(InvalidArgument, match="FreeSpace"):
        settle(oracle, Kelley())


@pytest.mark.parametrize("generator", [Kelley(), LevelSet(), AnalyticCenter(), ProximalBundle()], ids=repr)
def test_what_is_feasible_far_from_the_origin_is_not_infeasible(generator):
    """Feasible from 2e6 on: empty within the first two radii, by cuts that prove nothing of the third."""
    rows, sides = -np.eye(3), -2e6 * np.arange(1.0, 4.0)
    verdict = settle(ConicOracle(np.ones(3), rows, sides, [Nonnegative(3)]), generator)
    assert verdict.outcome is not Outcome.INFEASIBLE
    assert verdict.outcome is Outcome.OPTIMAL
    assert verdict.result.upper_bound == pytest.approx(12e6, rel=1e-5)


@pytest.mark.parametrize("cone", [SecondOrder(2), PositiveSemidefinite(1)], ids=repr)
def test_the_words_say_how_far_the_proof_reaches(cone):
    """Feasible from x >= 1.2e4 on: outside the box around the ball, not outside the ball around the box."""
    size = cone.dimension
    A = np.zeros((size, 2))
    A[0, 0] = -1.0
    oracle = ConicOracle([1.0, 1.0], A, np.r_[-1.2e4, np.zeros(size - 1)], [cone])
    verdict = settle(oracle, Kelley(), radii=(1e2, 1e4))
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.infeasibility.reach == pytest.approx(1.2e4)
    assert verdict.infeasibility.reach <= 1.2e4
    assert "within a radius of 10000" in verdict.message
    assert "farther out nothing is proven" in verdict.message
    assert settle(oracle, Kelley(), radii=(1e2, 1e3)).outcome is Outcome.INFEASIBLE  # in all that was asked for


@pytest.mark.parametrize(("cone", "side"), [(Zero(1), 1e-3), (Zero(1), -1.0), (Nonnegative(1), -1e-3)], ids=str)
@pytest.mark.parametrize("hold_rows", [None, True, False])
def test_a_row_without_variables_may_contradict_itself(cone, side, hold_rows):
    """side - 0 x in the cone, beside rows that the domain takes up."""
    A = [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [-1.0, -1.0]]
    cones = [cone, Nonnegative(2), Zero(1)]
    oracle = ConicOracle([1.0, 1.0], A, [side, 5.0, 5.0, -1.0], cones, hold_rows=hold_rows)
    assert minimize(oracle, Kelley()).status is Status.EMPTY
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.INFEASIBLE
    assert verdict.infeasibility.reach == np.inf
    assert not (oracle.problem.A.T @ verdict.infeasibility.dual).any()
    assert oracle.problem.b @ verdict.infeasibility.dual < 0
    harmless = ConicOracle([1.0, 1.0], A, [0.0, 5.0, 5.0, -1.0], cones, hold_rows=hold_rows)
    assert settle(harmless, Kelley()).outcome is Outcome.OPTIMAL


class Liar(SecondOrder):
    """Cuts off half of its points, by a vector outside its dual cone."""

    def separate(self, v, most=None):
        return np.array([[0.0, 0.0, -1.0]])[: int(v[2] > 0)]


def test_vectors_outside_the_dual_cone_prove_nothing():
    oracle = ConicOracle([1.0, 0.0], -np.eye(3)[:, :2], [0.0, 1.0, 1.0], [Liar(3)])
    verdict = settle(oracle, Kelley())
    assert verdict.result.status is Status.EMPTY
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.infeasibility is None


def test_a_vector_outside_the_dual_cone_is_called_so():
    """x >= 1 in the second-order cone: -e_1 would prove that nothing is."""
    oracle = ConicOracle([1.0], -np.eye(3)[:, :1], [-1.0, 0.0, 0.0], [SecondOrder(3)])
    run = minimize(oracle, Kelley(), max_calls=1, keep_cuts=True)
    cut = run.history.cuts[0]
    assert oracle.infeasibility([cut]).in_dual_cone
    for slope in (1.0 + 1e-6, 1.1, 100.0):
        proof = oracle.infeasibility(
            [replace(cut, extras={"dual_rows": np.arange(2), "dual_values": np.array([1.0, slope])})]
        )
        assert not proof.in_dual_cone
        assert proof.reach <= 1.0  # where (1, 0, 0) is feasible


@pytest.mark.parametrize("curvature", [1e-5, 1e-7])
def test_a_quadratic_objective_alone_may_bound_a_problem(curvature):
    """1/2 curvature x^2 - x falls until 1 / curvature, beyond the first radius, and along no direction without end."""
    P = np.diag([curvature, 0.0])
    oracle = ConicOracle([-1.0, 1.0], [[0.0, -1.0]], [0.0], [Nonnegative(1)], P=P)
    verdict = settle(oracle, Kelley())
    assert verdict.outcome is Outcome.OPTIMAL
    assert verdict.result.upper_bound == pytest.approx(-0.5 / curvature, rel=1e-5)
    away = minimize(oracle.recession(), Kelley())
    assert away.lower_bound >= -1e-6
    assert settle(ConicOracle([-1.0, -1.0], [[0.0, -1.0]], [0.0], [Nonnegative(1)], P=P), Kelley()).outcome is (
        Outcome.UNBOUNDED
    )


def test_of_several_proofs_the_one_that_reaches_farthest_is_kept(monkeypatch):
    """Runs of larger radii may prove less, or nothing."""
    oracle = ConicOracle([1.0], [[-1.0], [1.0]], [-2.0, 1.0], [Nonnegative(2)], hold_rows=False)
    proofs = iter([Infeasibility(np.zeros(2), reach, True) for reach in (5.0, 3.0, 0.5)])
    given = [next(proofs), None, next(proofs), next(proofs)]
    monkeypatch.setattr(sys.modules["oracle_opt.study.settle"], "_proof", lambda oracle, result: given.pop(0))
    verdict = settle(oracle, Kelley(), radii=(1e1, 1e2, 1e3, 1e4))
    assert not given
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.infeasibility.reach == 5.0
    assert "none of a norm below 5;" in verdict.message


@pytest.mark.parametrize("generator", [Kelley(), LevelSet(), AnalyticCenter()], ids=repr)
@pytest.mark.parametrize("radius", [1e4, 1e6])
def test_what_is_optimal_does_not_depend_on_values_as_far_away_as_the_radius(generator, radius):
    """min -x + 1e-3 t with norm(u) <= t over a disc: the decrease from far away is no scale of the gap."""
    A = [[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    b = [0.0, -0.1, 0.3, 0.5, 0.0, 0.0]
    oracle = ConicOracle([-1.0, 0.4, 1.0], A, b, [SecondOrder(3), SecondOrder(3)])
    verdict = settle(oracle, generator, radii=(radius,))
    assert verdict.outcome is Outcome.OPTIMAL
    x, t = cp.Variable(2), cp.Variable()
    rows = [cp.norm(x + np.array([-0.1, 0.3])) <= t, cp.norm(x) <= 0.5]
    known = cp.Problem(cp.Minimize(-x[0] + 0.4 * x[1] + t), rows).solve(solver=cp.CLARABEL)
    assert verdict.result.gap <= 2e-6
    assert verdict.result.upper_bound == pytest.approx(known, abs=2e-6)
    assert verdict.result.lower_bound <= known + 1e-8
